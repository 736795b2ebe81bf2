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

#include <stddef.h>

#include "collect/lane/lane.h"

/* A text is pushed in NVTX's default domain. 1: it was an operator, and is dealt with. */
int sl_nvtx_fallback_begin(struct sl_lane *lane, const char *text, size_t length);

/* What is popped there; lane->told is not 0. 1: it was one. */
int sl_nvtx_fallback_end(struct sl_lane *lane);

#endif
