/*
 * nvtx.c - libnvToolsExt, which PyTorch calls up to 2.4: NVTX's own header, exported. It asks for a
 * tool as every object with that header does (NVTX_INJECTION64_PATH).
 *
 * Application threads.
 */
#define NVTX_EXPORT_API
#include <nvtx3/nvToolsExt.h>
