/*
 * payload.h - decodes payloads of the extension by their registered schemas.
 *
 * Decoding happens inside the application's call, because memory that a payload points to may be
 * gone afterwards. Bounded are: each payload's size, the output, the nesting, the length of texts
 * and arrays. Pointers are followed as the schema says, which promises that they are valid.
 *
 * Pure functions except for the registered schemas and strings; any thread.
 */
#ifndef SL_NVTX_PAYLOAD_H
#define SL_NVTX_PAYLOAD_H

#include <stddef.h>
#include <stdint.h>

#include "collect/nvtx/calls.h"

/* A timestamp and its time domain; clock 0: not given. */
struct sl_nvtx_moment {
    int64_t at;
    uint64_t clock;
};

/* Facts about the event that a payload may hold besides its values. */
struct sl_nvtx_payload_event {
    int has_message, has_category, has_color, has_start, has_end;
    uint32_t string; /* the message, if it is a registered string; otherwise 0 and the text below */
    char text[SL_LANE_TEXT_MAX];
    size_t length;
    uint32_t category, color;
    struct sl_nvtx_moment start, end; /* of a deferred event: its first and last timestamp */
};

/* Reads these from payloads (nvtxPayloadData_t) of a domain. */
void sl_nvtx_payload_event(struct sl_nvtx_payload_event *out, unsigned domain, const void *payloads,
                           size_t count);

/* The event that the payloads describe. Fills and borrows `said`; borrows `payloads` (may be
 * NULL). */
struct sl_nvtx_event sl_nvtx_payload_as_event(struct sl_nvtx_payload_event *said, unsigned domain,
                                              const void *payloads, size_t count);

#endif
