/*
 * attributes.h - turns a record into the attributes of its slice: interned texts and patterns.
 *
 * Threads: the recorder thread. Memory: see read.h.
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

/* Call when the program has named a category; `name` is the number of a registered string. */
void sl_nvtx_attributes_category(struct sl_nvtx_attributes *l, unsigned domain, uint32_t category,
                                 uint32_t name);

/* Writes the attributes of a new range or mark to *out. `more` holds further JSON members for the
 * slice's args (NULL: none). Sets *id to the range's id if the record has one. */
void sl_nvtx_attributes_make(struct sl_nvtx_attributes *l, const struct sl_lane_record *r,
                             const char *more, struct sl_range_look *out, uint64_t *id);
/* Adds the attributes from the record of a range's end. The end's payload is appended to the
 * range's payload. Any other attribute of the end replaces the attribute of the range. Category and
 * color are replaced together. */
void sl_nvtx_attributes_add(struct sl_nvtx_attributes *l, const struct sl_lane_record *r,
                            struct sl_range_look *look);
/* Like sl_nvtx_attributes_add(), but uses attributes that were made from the end's record
 * before. */
void sl_nvtx_attributes_join(struct sl_nvtx_attributes *l, struct sl_range_look *look,
                             const struct sl_range_look *end);
/* Adds JSON members to the payload. */
void sl_nvtx_attributes_add_payload(struct sl_nvtx_attributes *l, struct sl_range_look *look,
                                    const char *json, size_t length);

/* Returns the intern id of a registered string, or 0 if no string has this number. */
uint32_t sl_nvtx_attributes_string(struct sl_nvtx_attributes *l, uint32_t string);
uint32_t sl_nvtx_attributes_text(struct sl_nvtx_attributes *l, const char *text, size_t length);

uint64_t sl_nvtx_attributes_lost(const struct sl_nvtx_attributes *l);

#endif
