/* Replaces the CUDA runtime, and reports each call to the test. */
#include "unit/collect/torch/fixture_waits.h"

int (*fixture_cuda)(const char *name, void *object);

int cudaDeviceSynchronize(void)
{
    return fixture_cuda("cudaDeviceSynchronize", 0);
}

int cudaStreamSynchronize(void *stream)
{
    return fixture_cuda("cudaStreamSynchronize", stream);
}

int cudaEventQuery(void *event)
{
    return fixture_cuda("cudaEventQuery", event);
}

int cudaFree(void *memory)
{
    return fixture_cuda("cudaFree", memory);
}
