/*
 * payload.h - decodes payloads of the extension by their registered schemas.
 *
 * Decoding happens inside the application's call, because memory that a payload points to may be
 * freed afterwards. Limits apply to each payload's size, the output, the nesting, and the length of
 * texts and arrays. Pointers are followed where the schema declares them: a program that registers
 * a schema guarantees that its pointers are valid.
 *
 * Pure functions except for the registered schemas and strings; any thread.
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

/* Facts about the event itself that a payload may hold besides values to show. */
struct sl_nvtx_payload_event {
    int has_message, has_category, has_color, has_start, has_end;
    uint32_t string; /* the message if it is a registered string; 0: the message is `text` */
    char text[SL_LANE_TEXT_MAX];
    size_t length;
    uint32_t category, color;
    struct sl_nvtx_moment start, end; /* first and last timestamp of a deferred event */
};

/* Reads these facts from payloads (nvtxPayloadData_t) of a domain. */
void sl_nvtx_payload_event(struct sl_nvtx_payload_event *out, unsigned domain, const void *payloads,
                           size_t count);

/* Returns the event that the payloads describe. It points into `said`, which this function fills,
 * and into `payloads` (may be NULL). */
struct sl_nvtx_event sl_nvtx_payload_as_event(struct sl_nvtx_payload_event *said, unsigned domain,
                                              const void *payloads, size_t count);

#endif
