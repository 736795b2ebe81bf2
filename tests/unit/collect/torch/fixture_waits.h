/* fixture_waits.h - what stands for the CUDA runtime (fixture_cuda_runtime.c) and for the library
 * of PyTorch's that calls it (fixture_c10_cuda.c). */
#ifndef SL_TORCH_FIXTURE_WAITS_H
#define SL_TORCH_FIXTURE_WAITS_H

/* The CUDA runtime's functions. */
int cudaDeviceSynchronize(void);
int cudaStreamSynchronize(void *stream);
int cudaEventQuery(void *event);
int cudaFree(void *memory);

/* Called at each of them, with its name and what it was given. */
extern int (*fixture_cuda)(const char *name, void *object);

/* PyTorch's calls of them, in this order. */
struct fixture_c10 {
    int (*device_synchronize)(void);
    int (*stream_synchronize)(void *stream);
    int (*event_query)(void *event);
    int (*empty_cache)(void *memory);
};

#endif
