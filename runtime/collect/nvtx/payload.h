/*
 * payload.h - payloads of the extension, by the schemas that were registered for them.
 *
 * Decoded inside the application's call, since what a payload points to may be gone after it.
 * Bounds: of each payload's size, of the output, of nesting, of the length of texts and arrays.
 * Pointers in a payload are followed as its schema says: it promises that they are good.
 *
 * Pure functions but for the registered schemas and strings; any thread.
 */
#ifndef SL_NVTX_PAYLOAD_H
#define SL_NVTX_PAYLOAD_H

#include <stddef.h>
#include <stdint.h>

#include "collect/nvtx/calls.h"

/* A timestamp, and the time domain it is in; 0: not told. */
struct sl_nvtx_moment {
    int64_t at;
    uint64_t clock;
};

/* What a payload may say besides its values. */
struct sl_nvtx_payload_event {
    int has_message, has_category, has_color, has_start, has_end;
    uint32_t string; /* the message, if it is a registered one; else the text */
    char text[SL_LANE_TEXT_MAX];
    size_t length;
    uint32_t category, color;
    struct sl_nvtx_moment start, end; /* of a deferred event: its first and last timestamp */
};

/* Reads those out of payloads (nvtxPayloadData_t) of a domain. */
void sl_nvtx_payload_event(struct sl_nvtx_payload_event *out, unsigned domain, const void *payloads,
                           size_t count);

/* The event that they are. Borrows `said`, which it fills, and the payloads; `payloads` may be
 * NULL. */
struct sl_nvtx_event sl_nvtx_payload_as_event(struct sl_nvtx_payload_event *said, unsigned domain,
                                              const void *payloads, size_t count);

#endif
