/*
 * read.h - turns NCCL's events in the lanes into what each launched kernel does.
 *
 * The result of an event is a span of its thread (event/launches.h) with JSON members for the args
 * of the launching call and of its kernel.
 *
 * Threads: one owner, the recorder thread. Memory: a mapping, and texts in the table of names up to
 * a limit.
 */
#ifndef SL_NCCL_READ_H
#define SL_NCCL_READ_H

#include <stddef.h>
#include <stdint.h>

#include "base/intern.h"
#include "collect/lane/lane.h"
#include "event/event.h"
#include "event/launches.h"
#include "event/range.h"

struct sl_nccl_read;

struct sl_nccl_read_options {
    struct sl_intern *names;
    struct sl_launches *launches;
    size_t texts_bytes;       /* maximum bytes of texts that this reader interns */
    struct sl_ranges *ranges; /* receives rows; NULL: none are wanted */
    int shows_launches; /* 1: the file has no kernels, so each launch of collectives is a row */
    uint64_t sample;    /* N: only every N-th collective is told (sample.h); 0 and 1: each */
    void *user;
    /* Receives SL_NODE_WORK facts about nodes of CUDA graphs, and SL_EV_NVTX_RANGE_MARK events of
     * calls without an NVTX range; NULL: neither is wanted. */
    void (*sink)(void *user, const struct sl_event *ev);
};

/* Returns 0 or -ENOMEM. */
int sl_nccl_read_create(struct sl_nccl_read **out, const struct sl_nccl_read_options *opt);
void sl_nccl_read_destroy(struct sl_nccl_read *r); /* NULL is fine */

/* Call with each record of a thread. `is_nccl_range`: the record belongs to the NVTX domain
 * SL_NCCL_RANGE_DOMAIN (ranges.h). Skips other records of other sources. */
void sl_nccl_read_record(struct sl_nccl_read *r, uint32_t thread,
                         const struct sl_lane_record *record, uint64_t ns, int is_nccl_range);

/* Call after each pass over all lanes, which are read up to the same time. The results are complete
 * only then. */
void sl_nccl_read_done(struct sl_nccl_read *r);

/* Returns the number of collectives and messages that no launched kernel shows. */
uint64_t sl_nccl_read_lost(const struct sl_nccl_read *r);

/* Returns the number of calls that NCCL's profiler and its NVTX ranges describe differently. */
uint64_t sl_nccl_read_odd(const struct sl_nccl_read *r);

#endif
