/* fixture_waits.h - the replacements for the CUDA runtime (fixture_cuda_runtime.c) and for the
 * PyTorch library that calls it (fixture_c10_cuda.c). */
#ifndef SL_TORCH_FIXTURE_WAITS_H
#define SL_TORCH_FIXTURE_WAITS_H

/* Functions of the CUDA runtime. */
int cudaDeviceSynchronize(void);
int cudaStreamSynchronize(void *stream);
int cudaEventQuery(void *event);
int cudaFree(void *memory);

/* Each of these functions calls this callback with the function's name and argument. */
extern int (*fixture_cuda)(const char *name, void *object);

/* Functions that call the CUDA runtime's functions of these names, as PyTorch does. */
struct fixture_c10 {
    int (*device_synchronize)(void);
    int (*stream_synchronize)(void *stream);
    int (*event_query)(void *event);
    int (*empty_cache)(void *memory);
};

#endif
