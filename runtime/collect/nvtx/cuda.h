/*
 * cuda.h - turns CUDA handles into CUPTI ids, for streams and contexts that the program names.
 *
 * Threads: prepared once, by the thread that initialises CUDA; any thread calls them. Memory:
 * static.
 */
#ifndef SL_NVTX_CUDA_H
#define SL_NVTX_CUDA_H

#include "collect/nvtx/nvtx.h"

/* `cupti`: the loaded library, as dlopen() gave it; NULL: there is none. Returns NULL if CUPTI or
 * the driver lacks a needed function. */
const struct sl_nvtx_ids *sl_nvtx_cuda_ids(void *cupti);

#endif
