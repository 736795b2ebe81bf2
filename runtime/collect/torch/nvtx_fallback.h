/*
 * nvtx_fallback.h - records PyTorch operators from NVTX ranges, if there is no observer for this
 * PyTorch version. python_hook/syncline/_strings.py starts PyTorch's own profiler in a mode in
 * which it pushes an NVTX range for each operator.
 *
 * An NVTX pop does not say which range it closes: it closes the innermost. Operators and the
 * program's own ranges are nested in each other, so each lane remembers which of its open levels
 * are operators.
 *
 * Threads: the operators' threads; each has its own lane. Nothing blocks or allocates. Memory: that
 * of the lanes.
 */
#ifndef SL_TORCH_NVTX_FALLBACK_H
#define SL_TORCH_NVTX_FALLBACK_H

#include <stddef.h>

#include "collect/lane/lane.h"

/* Call when a text is pushed in NVTX's default domain. Returns 1 if the text was that of an
 * operator; then the push needs no other handling. */
int sl_nvtx_fallback_begin(struct sl_lane *lane, const char *text, size_t length);

/* Call when a range is popped in the default domain and lane->told is not 0. Returns 1 if the range
 * was an operator. */
int sl_nvtx_fallback_end(struct sl_lane *lane);

#endif
