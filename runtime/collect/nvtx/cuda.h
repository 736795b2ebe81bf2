/*
 * cuda.h - turns CUDA handles into CUPTI ids, for streams and contexts that the program names.
 *
 * Threads: the thread that initialises CUDA calls sl_nvtx_cuda_ids() once; any thread calls the
 * returned functions. Memory: static.
 */
#ifndef SL_NVTX_CUDA_H
#define SL_NVTX_CUDA_H

#include "collect/nvtx/nvtx.h"

/* `cupti` is the handle that dlopen() returned for libcupti, or NULL. Returns NULL if CUPTI or the
 * driver lacks a needed function. */
const struct sl_nvtx_ids *sl_nvtx_cuda_ids(void *cupti);

#endif
