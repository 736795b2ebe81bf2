/*
 * injected.c - a library for CUDA_INJECTION64_PATH. The library reports how often and when it was
 * initialised. It calls CUDA during its initialisation, as a profiler may do.
 */
#include <cuda.h>
#include <stdio.h>

int InitializeInjection(void);

int InitializeInjection(void)
{
    CUcontext context = NULL;
    int count = 0;

    printf("injected: init %d, devices %d", cuInit(0), cuDeviceGetCount(&count));
    printf(" (%d), context %s\n", count,
           cuCtxGetCurrent(&context) == CUDA_SUCCESS && !context ? "none" : "there");
    fflush(stdout);
    return 1;
}
