/*
 * layout.h - finds the fields of a payload by its schema, for payload.c and payload_event.c.
 *
 * Nothing outside a payload is read. Only sl_nvtx_layout_follow() leads outside; its result says
 * how many bytes are known there. Pure functions except for the registered schemas; any thread.
 */
#ifndef SL_NVTX_LAYOUT_H
#define SL_NVTX_LAYOUT_H

#include <stddef.h>
#include <stdint.h>

#include <nvtx3/nvToolsExtPayload.h>

#include "collect/nvtx/schema.h"

enum {
    SL_NVTX_PAYLOADS = 16, /* most per event */
    SL_NVTX_PAYLOAD_STEPS = 20000,
};

/* Flags that make a field an array; each value stands for one way to give the length. */
#define SL_NVTX_IS_ARRAY (7u << 4)

/* One payload: its bytes, and what its fields may refer to. */
struct sl_nvtx_blob {
    const char *data;
    size_t size;
    unsigned domain;
    const nvtxPayloadData_t *all; /* all payloads of the event */
    size_t count;
    unsigned *left; /* remaining step budget of the event */
};

/* Payload `i` of an event. If its size is not given, the schema's size is used. */
struct sl_nvtx_blob sl_nvtx_blob(unsigned domain, const nvtxPayloadData_t *all, size_t count,
                                 size_t i, unsigned *left);

/* Takes one step; 0: the budget is used up. Schemas may refer to each other in any way, so the
 * budget bounds the time. */
int sl_nvtx_layout_may_go_on(const struct sl_nvtx_blob *b);

/* Size in bytes of a value of the type. A struct whose schema gives no size gets the size that a
 * compiler would choose. 0: not known. */
size_t sl_nvtx_layout_size(const struct sl_nvtx_blob *b, uint64_t type);

/* Offset of field `i` of a struct; beyond the payload: not known. */
size_t sl_nvtx_layout_offset(const struct sl_nvtx_blob *b, const struct sl_nvtx_schema *s,
                             size_t i);

/* The integer in field `i` of the struct. Returns 0 if there is none. */
int sl_nvtx_layout_integer(const struct sl_nvtx_blob *b, const struct sl_nvtx_schema *s, size_t i,
                           int64_t *out);

/* Number of items of an array, or of characters of a text, as far as the field says. */
size_t sl_nvtx_layout_count(const struct sl_nvtx_blob *b, const struct sl_nvtx_schema *s,
                            const struct sl_nvtx_field *f, const char *from, size_t room);

/* Whether the value is stored elsewhere; its address, or NULL: not known. */
int sl_nvtx_layout_is_indirect(const struct sl_nvtx_field *f);
const char *sl_nvtx_layout_follow(const struct sl_nvtx_blob *b, const struct sl_nvtx_field *f,
                                  size_t offset, size_t *room);

#endif
