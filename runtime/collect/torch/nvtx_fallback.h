/*
 * nvtx_fallback.h - PyTorch's operators where there is no observer for its version: by the ranges
 * that it gives NVTX when its own profiler is told to (python_hook/syncline/_strings.py does).
 *
 * NVTX's pops do not say what they end. Operators and the program's own ranges are one nesting, so
 * each lane keeps which of its levels are operators.
 *
 * Threads: the operators'; each has its own lane. Nothing blocks or allocates. Memory: the lanes'.
 */
#ifndef SL_TORCH_NVTX_FALLBACK_H
#define SL_TORCH_NVTX_FALLBACK_H

#include <stdatomic.h>
#include <stddef.h>

#include "collect/lane/lane.h"

extern _Atomic int sl_nvtx_fallback_on;

/* From now on texts that read like an operator's are one. For good. */
void sl_nvtx_fallback_take(void);

/* A text is pushed in NVTX's default domain. 1: it was an operator, and is dealt with. */
int sl_nvtx_fallback_begin(struct sl_lane *lane, const char *text, size_t length);

/* 1: what is popped there was one. */
int sl_nvtx_fallback_end(struct sl_lane *lane);

static inline int sl_nvtx_fallback_push(struct sl_lane *lane, const char *text, size_t length)
{
    return __builtin_expect(atomic_load_explicit(&sl_nvtx_fallback_on, memory_order_relaxed) &&
                                text != NULL,
                            0) &&
           sl_nvtx_fallback_begin(lane, text, length);
}

static inline int sl_nvtx_fallback_pop(struct sl_lane *lane)
{
    return __builtin_expect(lane->told != 0, 0) && sl_nvtx_fallback_end(lane);
}

#endif
