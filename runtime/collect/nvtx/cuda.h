/*
 * cuda.h - handles of CUDA's as CUPTI's ids, for streams and contexts that are named.
 *
 * Threads: prepared once, by the thread that initialises CUDA; the functions are called by any.
 */
#ifndef SL_NVTX_CUDA_H
#define SL_NVTX_CUDA_H

#include "collect/cupti/api.h"
#include "collect/nvtx/nvtx.h"

/* NULL: CUPTI or the driver lacks what it takes. */
const struct sl_nvtx_ids *sl_nvtx_cuda_ids(const struct sl_cupti_api *cupti);

#endif
