/*
 * sample.c - chooses every N-th collective (SYNCLINE_NCCL_SAMPLE).
 *
 * Threads, memory: see sample.h.
 */
#include "collect/nccl/sample.h"

#define PROBES 8

static uint64_t mix(uint64_t value)
{
    value *= 0x9e3779b97f4a7c15u;
    return (value ^ value >> 32) * 0xd6e8feb86659fd93u;
}

int sl_nccl_sample_count(struct sl_nccl_sample *s, uint32_t comm, uint32_t func, uint32_t peer)
{
    uint64_t key = (mix((uint64_t)comm << 32 | peer) ^ mix(func + 1)) | 1;
    uint64_t first = key >> 32, at = first;

    if (s->every < 2)
        return 1;
    for (unsigned i = 0; i < PROBES; i++) {
        uint64_t there = s->counts[(first + i) % SL_NCCL_SAMPLE_COUNTS].key;

        at = there == key || !there ? first + i : at;
        if (there == key || !there)
            break;
    }
    at %= SL_NCCL_SAMPLE_COUNTS;
    if (s->counts[at].key != key)
        s->counts[at].count = 0;
    s->counts[at].key = key;
    return s->counts[at].count++ % s->every == 0;
}
