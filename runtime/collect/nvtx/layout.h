/*
 * layout.h - where the fields of a payload stand, by its schema: what the decoding of payloads
 * (payload.c) and of what they say about their event (payload_event.c) share.
 *
 * Nothing outside a payload is read but by sl_nvtx_layout_follow(), whose result says how far is
 * known. Pure functions but for the registered schemas; any thread.
 */
#ifndef SL_NVTX_LAYOUT_H
#define SL_NVTX_LAYOUT_H

#include <stddef.h>
#include <stdint.h>

#include <nvtx3/nvToolsExtPayload.h>

#include "collect/nvtx/schema.h"

enum {
    SL_NVTX_PAYLOADS = 16, /* of an event */
    SL_NVTX_PAYLOAD_STEPS = 20000,
};

/* The flags that make a field an array, one value for each way to tell its length. */
#define SL_NVTX_IS_ARRAY (7u << 4)

/* One payload: its bytes, and what its fields may refer to. */
struct sl_nvtx_blob {
    const char *data;
    size_t size;
    unsigned domain;
    const nvtxPayloadData_t *all; /* of the event */
    size_t count;
    unsigned *left; /* steps that may be taken for the event */
};

/* Payload `i` of an event's. A size that is not told is its schema's. */
struct sl_nvtx_blob sl_nvtx_blob(unsigned domain, const nvtxPayloadData_t *all, size_t count,
                                 size_t i, unsigned *left);

/* A step; 0: enough were taken. Schemas may refer to each other as they like: bounds the time. */
int sl_nvtx_layout_may_go_on(const struct sl_nvtx_blob *b);

/* Bytes of a type's value; of a struct whose schema does not tell, as a compiler has it; 0: not
 * known. */
size_t sl_nvtx_layout_size(const struct sl_nvtx_blob *b, uint64_t type);

/* Where field `i` of a struct begins; beyond the payload: nowhere that is known. */
size_t sl_nvtx_layout_offset(const struct sl_nvtx_blob *b, const struct sl_nvtx_schema *s,
                             size_t i);

/* The integer in field `i` of the struct; 0: none. */
int sl_nvtx_layout_integer(const struct sl_nvtx_blob *b, const struct sl_nvtx_schema *s, size_t i,
                           int64_t *out);

/* Items of an array, or characters of a text, as far as the field tells. */
size_t sl_nvtx_layout_count(const struct sl_nvtx_blob *b, const struct sl_nvtx_schema *s,
                            const struct sl_nvtx_field *f, const char *from, size_t room);

/* Whether the value stands elsewhere; where; NULL: nowhere that is known. */
int sl_nvtx_layout_is_indirect(const struct sl_nvtx_field *f);
const char *sl_nvtx_layout_follow(const struct sl_nvtx_blob *b, const struct sl_nvtx_field *f,
                                  size_t offset, size_t *room);

#endif
