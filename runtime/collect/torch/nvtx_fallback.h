/*
 * nvtx_fallback.h - records PyTorch operators from NVTX ranges, if there is no observer for this
 * PyTorch version. python_hook/syncline/_strings.py starts PyTorch's own profiler in a mode in
 * which the profiler pushes an NVTX range for each operator.
 *
 * An NVTX pop always closes the innermost range. Operators and the program's own ranges are nested
 * in each other. So the lane of each thread (collect/lane/lane.h) stores which of the thread's open
 * ranges are operators.
 *
 * Threads: any thread that runs operators. Nothing blocks or allocates. Memory: only the lanes.
 */
#ifndef SL_TORCH_NVTX_FALLBACK_H
#define SL_TORCH_NVTX_FALLBACK_H

#include <stddef.h>

#include "collect/lane/lane.h"

/* Call when a text is pushed in NVTX's default domain. Returns 1 if the text described an operator.
 * Then the caller need not handle the push. */
int sl_nvtx_fallback_begin(struct sl_lane *lane, const char *text, size_t length);

/* Call when a range is popped in the default domain and lane->told is not 0. Returns 1 if the range
 * was an operator. */
int sl_nvtx_fallback_end(struct sl_lane *lane);

#endif
