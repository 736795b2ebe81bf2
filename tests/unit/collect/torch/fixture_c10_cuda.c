/* Replaces libc10_cuda, the PyTorch library that calls the CUDA runtime through its import slots
 * (GOT entries). */
#include "unit/collect/torch/fixture_waits.h"

static int device_synchronize(void)
{
    return cudaDeviceSynchronize();
}

static int stream_synchronize(void *stream)
{
    return cudaStreamSynchronize(stream);
}

static int event_query(void *event)
{
    return cudaEventQuery(event);
}

static int empty_cache(void *memory)
{
    return cudaFree(memory);
}

extern const struct fixture_c10 fixture_c10;

const struct fixture_c10 fixture_c10 = {device_synchronize, stream_synchronize, event_query,
                                        empty_cache};
