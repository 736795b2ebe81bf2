/*
 * nvtx.c - libnvToolsExt, which PyTorch up to 2.4 calls: the NVTX header, exported. It loads a tool
 * as every object with that header does (NVTX_INJECTION64_PATH).
 *
 * Application threads.
 */
#define NVTX_EXPORT_API
#include <nvtx3/nvToolsExt.h>
