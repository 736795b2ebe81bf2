/*
 * nvtx.c - the stand-in for libnvToolsExt, which PyTorch up to 2.4 calls. It exports the functions
 * of the NVTX header. Like every object that includes this header, it loads the tool that
 * NVTX_INJECTION64_PATH names. Application threads.
 */
#define NVTX_EXPORT_API
#include <nvtx3/nvToolsExt.h>
