/*
 * old_cupti.c - a libcupti that has the functions that syncline requires, and reports a version
 * from before CUDA 12.0. syncline must call only cuptiGetVersion() of this library. Threads: any.
 */
#include <stdint.h>
#include <stdlib.h>

#define EXPORT    __attribute__((visibility("default")))
#define CUDA_11_8 17u

EXPORT int cuptiGetVersion(uint32_t *version);
EXPORT int cuptiActivityRegisterCallbacks(void *request, void *complete);
EXPORT int cuptiActivityEnable(int kind);
EXPORT int cuptiActivityDisable(int kind);
EXPORT int cuptiActivityFlushAll(uint32_t flag);
EXPORT int cuptiActivityGetNextRecord(uint8_t *buffer, size_t valid, void **record);

int cuptiGetVersion(uint32_t *version)
{
    *version = CUDA_11_8;
    return 0;
}

int cuptiActivityRegisterCallbacks(void *request, void *complete)
{
    abort();
}

int cuptiActivityEnable(int kind)
{
    abort();
}

int cuptiActivityDisable(int kind)
{
    abort();
}

int cuptiActivityFlushAll(uint32_t flag)
{
    abort();
}

int cuptiActivityGetNextRecord(uint8_t *buffer, size_t valid, void **record)
{
    abort();
}
