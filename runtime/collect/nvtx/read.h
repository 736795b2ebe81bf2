/*
 * read.h - turns the NVTX records in the lanes (collect/lane/lane.h) into ranges, marks and names.
 *
 * Threads: the recorder thread. Memory: fixed tables. The texts that this module interns have a
 * limit of their own. So even a program that keeps making new names leaves room for kernel names.
 */
#ifndef SL_NVTX_READ_H
#define SL_NVTX_READ_H

#include <stdint.h>

#include "base/intern.h"
#include "collect/lane/lane.h"
#include "collect/nvtx/names.h"
#include "event/range.h"

struct sl_nvtx_read;

struct sl_nvtx_read_options {
    struct sl_intern *intern;
    struct sl_ranges *ranges;
    size_t texts_bytes; /* maximum bytes of texts that this module interns */
    void *user;
    /* Receives SL_EV_NVTX_RANGE_MARK events, and SL_EV_META_THREAD events of tracks that belong to
     * no thread. */
    void (*sink)(void *user, const struct sl_event *ev);
    /* Called when the program has named a thread, device, context, stream or event. */
    void (*named)(void *user, const struct sl_named *what, uint32_t name);
};

/* Returns 0 or -ENOMEM. */
int sl_nvtx_read_create(struct sl_nvtx_read **out, const struct sl_nvtx_read_options *opt);
void sl_nvtx_read_destroy(struct sl_nvtx_read *r); /* NULL is fine */

/* Reads names that were given since the last call. Call before reading records. */
void sl_nvtx_read_names(struct sl_nvtx_read *r);
/* Call with each record of a thread (collect/lane/lane_read.h). Skips records of other sources. */
void sl_nvtx_read_record(struct sl_nvtx_read *r, uint32_t thread,
                         const struct sl_lane_record *record, uint64_t ns);

/* Call after each pass over all lanes. */
void sl_nvtx_read_done(struct sl_nvtx_read *r);

/* Returns the number of texts that were dropped. */
uint64_t sl_nvtx_read_texts_lost(const struct sl_nvtx_read *r);

#endif
