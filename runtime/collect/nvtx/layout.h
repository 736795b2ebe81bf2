/*
 * layout.h - finds the fields of a payload by its schema, for payload.c and payload_event.c.
 *
 * No function reads memory outside the payload. sl_nvtx_layout_follow() returns an address outside
 * the payload, and the number of bytes there that belong to the value. Any thread. The functions
 * only read the payload and the registered schemas.
 */
#ifndef SL_NVTX_LAYOUT_H
#define SL_NVTX_LAYOUT_H

#include <stddef.h>
#include <stdint.h>

#include <nvtx3/nvToolsExtPayload.h>

#include "collect/nvtx/schema.h"

enum {
    SL_NVTX_PAYLOADS = 16, /* maximum number of payloads of an event */
    SL_NVTX_PAYLOAD_STEPS = 20000,
};

/* Flags that make a field an array. Each flag says where the array's length is stored. */
#define SL_NVTX_IS_ARRAY (7u << 4)

/* The bytes of one payload, and the event's other payloads, to which the fields of this payload may
 * refer. */
struct sl_nvtx_blob {
    const char *data;
    size_t size;
    unsigned domain;
    const nvtxPayloadData_t *all; /* all payloads of the event */
    size_t count;
    unsigned *left; /* number of decoding steps that are left for the event */
};

/* Returns payload `i` of an event. If the payload's size is not given, the schema's size is
 * used. */
struct sl_nvtx_blob sl_nvtx_blob(unsigned domain, const nvtxPayloadData_t *all, size_t count,
                                 size_t i, unsigned *left);

/* Uses one step of the event's budget of steps. Returns 0 if the budget is used up. The budget
 * limits the time, because schemas may refer to each other, even in circles. */
int sl_nvtx_layout_may_go_on(const struct sl_nvtx_blob *b);

/* Size in bytes of a value of the type. A struct whose schema gives no size has the size that a
 * compiler would choose. Returns 0 if the size is not known. */
size_t sl_nvtx_layout_size(const struct sl_nvtx_blob *b, uint64_t type);

/* Returns the offset of field `i` of a struct. If the offset is not known, the result is beyond the
 * payload's end. */
size_t sl_nvtx_layout_offset(const struct sl_nvtx_blob *b, const struct sl_nvtx_schema *s,
                             size_t i);

/* Writes the integer in field `i` of the struct to *out. Returns 0 if the field holds no
 * integer. */
int sl_nvtx_layout_integer(const struct sl_nvtx_blob *b, const struct sl_nvtx_schema *s, size_t i,
                           int64_t *out);

/* Returns the number of items of an array, or of characters of a text, according to the field's
 * declaration. */
size_t sl_nvtx_layout_count(const struct sl_nvtx_blob *b, const struct sl_nvtx_schema *s,
                            const struct sl_nvtx_field *f, const char *from, size_t room);

/* sl_nvtx_layout_is_indirect() returns whether the value is stored outside the payload.
 * sl_nvtx_layout_follow() returns the value's address there, or NULL if the address is not
 * known. */
int sl_nvtx_layout_is_indirect(const struct sl_nvtx_field *f);
const char *sl_nvtx_layout_follow(const struct sl_nvtx_blob *b, const struct sl_nvtx_field *f,
                                  size_t offset, size_t *room);

#endif
