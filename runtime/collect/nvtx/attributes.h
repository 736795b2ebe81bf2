/*
 * attributes.h - what a record says about its range, as a row shows it: interned texts, patterns.
 *
 * Threads: the collector. Memory: see read.h.
 */
#ifndef SL_NVTX_ATTRIBUTES_H
#define SL_NVTX_ATTRIBUTES_H

#include <stddef.h>
#include <stdint.h>

#include "base/intern.h"
#include "collect/lane/lane.h"
#include "event/range.h"

struct sl_nvtx_attributes;

int sl_nvtx_attributes_create(struct sl_nvtx_attributes **out, struct sl_intern *intern,
                              size_t texts_bytes);
void sl_nvtx_attributes_destroy(struct sl_nvtx_attributes *l); /* NULL is fine */

/* A category was named; `name`: a registered string. */
void sl_nvtx_attributes_category(struct sl_nvtx_attributes *l, unsigned domain, uint32_t category,
                                 uint32_t name);

/* Of a new range or mark. `more`: further members of the row's args, NULL: none. `id` is that of
 * the range, if the record has one. */
void sl_nvtx_attributes_make(struct sl_nvtx_attributes *l, const struct sl_lane_record *r,
                             const char *more, struct sl_range_look *out, uint64_t *id);
/* Of the end of a range: its payload is one more, all else replaces what is known (category and
 * color together). */
void sl_nvtx_attributes_add(struct sl_nvtx_attributes *l, const struct sl_lane_record *r,
                            struct sl_range_look *look);
/* The same by a look that was made of the end. */
void sl_nvtx_attributes_join(struct sl_nvtx_attributes *l, struct sl_range_look *look,
                             const struct sl_range_look *end);
/* Members more of its payload. */
void sl_nvtx_attributes_add_payload(struct sl_nvtx_attributes *l, struct sl_range_look *look,
                                    const char *json, size_t length);

/* A registered string as an interned text; 0: none. */
uint32_t sl_nvtx_attributes_string(struct sl_nvtx_attributes *l, uint32_t string);
uint32_t sl_nvtx_attributes_text(struct sl_nvtx_attributes *l, const char *text, size_t length);

uint64_t sl_nvtx_attributes_lost(const struct sl_nvtx_attributes *l);

#endif
