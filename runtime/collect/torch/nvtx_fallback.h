/*
 * nvtx_fallback.h - records PyTorch operators from NVTX ranges, if there is no observer for this
 * PyTorch version. PyTorch's own profiler makes these ranges when python_hook/syncline/_strings.py
 * starts it in that mode.
 *
 * An NVTX pop does not say which range it closes. Operators and the program's own ranges form one
 * nesting, so each lane keeps which of its levels are operators.
 *
 * Threads: the operators' threads; each has its own lane. Nothing blocks or allocates. Memory: the
 * lanes'.
 */
#ifndef SL_TORCH_NVTX_FALLBACK_H
#define SL_TORCH_NVTX_FALLBACK_H

#include <stddef.h>

#include "collect/lane/lane.h"

/* A text is pushed in NVTX's default domain. 1: the text was an operator's, and is handled. */
int sl_nvtx_fallback_begin(struct sl_lane *lane, const char *text, size_t length);

/* A range is popped there; lane->told is not 0. 1: the range was an operator. */
int sl_nvtx_fallback_end(struct sl_lane *lane);

#endif
