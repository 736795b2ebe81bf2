/*
 * sample.h - chooses every N-th collective (SYNCLINE_NCCL_SAMPLE).
 *
 * All ranks of a communicator must keep the same collectives. So NCCL's own number decides, which
 * is equal on all ranks. Messages, AlltoAll, Gather, Scatter and, from 2.29 on, Broadcast have no
 * number. These are counted here, messages for each pair of ranks. The counts agree between ranks
 * if their windows have the same calls.
 *
 * Threads: one owner, the recorder thread. Memory: part of the owner's mapping.
 */
#ifndef SL_NCCL_SAMPLE_H
#define SL_NCCL_SAMPLE_H

#include <stdint.h>

enum {
    SL_NCCL_SAMPLE_COUNTS = 4096, /* number of counts; a power of two */
};

/* All zero, except for `every`: nothing was counted. */
struct sl_nccl_sample {
    uint64_t every; /* N; 0 and 1: all collectives are kept */
    struct {
        uint64_t key; /* 0: free */
        uint64_t count;
    } counts[SL_NCCL_SAMPLE_COUNTS];
};

/* Returns 1 if the collective with this number is kept. */
static inline int sl_nccl_sample_keeps(const struct sl_nccl_sample *s, uint64_t number)
{
    return s->every < 2 || number % s->every == 0;
}

/* Counts a collective without a number. `func` is the number of a text, 0 for messages; `peer` is
 * the other rank, 0 for collectives. Returns 1 if it is kept. */
int sl_nccl_sample_count(struct sl_nccl_sample *s, uint32_t comm, uint32_t func, uint32_t peer);

#endif
