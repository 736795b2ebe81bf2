/*
 * nvtx.c - the stand-in for libnvToolsExt, which PyTorch up to 2.4 calls. It exports the functions
 * of the NVTX header. It loads a tool as every object with that header does
 * (NVTX_INJECTION64_PATH). Application threads.
 */
#define NVTX_EXPORT_API
#include <nvtx3/nvToolsExt.h>
