/*
 * read.h - what NVTX's calls left in the lanes -> ranges, marks and names.
 *
 * Threads: the collector. Memory: fixed tables; texts are interned, up to a bound of their own, so
 * that a program that invents names for ever leaves room for those of kernels.
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
    size_t texts_bytes; /* most of the interned texts that are made here */
    void *user;
    /* SL_EV_NVTX_RANGE_MARK; SL_EV_META_THREAD of rows that are no thread's. */
    void (*sink)(void *user, const struct sl_event *ev);
    /* A thread, device, context, stream or event was named. */
    void (*named)(void *user, const struct sl_nvtx_name *what, uint32_t name);
};

/* 0 or -ENOMEM. */
int sl_nvtx_read_create(struct sl_nvtx_read **out, const struct sl_nvtx_read_options *opt);
void sl_nvtx_read_destroy(struct sl_nvtx_read *r); /* NULL is fine */

/* Names that were given since the last time. Before the records. */
void sl_nvtx_read_names(struct sl_nvtx_read *r);
/* A record of a thread (collect/lane/lane_read.h); those that are not NVTX's are passed over. */
void sl_nvtx_read_record(struct sl_nvtx_read *r, uint32_t thread,
                         const struct sl_lane_record *record, uint64_t ns);

/* All lanes were read, as far as they will be for now. */
void sl_nvtx_read_done(struct sl_nvtx_read *r);

/* Texts that were not kept. */
uint64_t sl_nvtx_read_texts_lost(const struct sl_nvtx_read *r);

#endif
