/*
 * payload.h - decodes payloads of NVTX's payload extension according to their registered schemas.
 *
 * Decoding happens inside the application's call, because memory that a payload points to may be
 * freed afterwards. Limits apply to each payload's size, the output, the nesting, and the length of
 * texts and arrays. Pointers are followed only where the schema declares a pointer. A program that
 * registers a schema guarantees that such pointers are valid.
 *
 * Any thread. The functions only read the payloads and the registered schemas and strings.
 */
#ifndef SL_NVTX_PAYLOAD_H
#define SL_NVTX_PAYLOAD_H

#include <stddef.h>
#include <stdint.h>

#include "collect/nvtx/calls.h"

/* A timestamp and its time domain. `clock` is 0 if the domain is not given. */
struct sl_nvtx_moment {
    int64_t at;
    uint64_t clock;
};

/* The event that payloads describe. */
struct sl_nvtx_payload_event {
    struct sl_nvtx_event ev; /* borrows the payloads and `text` */
    int has_start, has_end;
    struct sl_nvtx_moment start, end; /* the first and last timestamp of a deferred event */
    char text[SL_LANE_TEXT_MAX];
};

/* Reads the event from payloads (nvtxPayloadData_t; may be NULL) of a domain. Returns
 * `&out->ev`. */
const struct sl_nvtx_event *sl_nvtx_payload_event(struct sl_nvtx_payload_event *out,
                                                  unsigned domain, const void *payloads,
                                                  size_t count);

#endif
