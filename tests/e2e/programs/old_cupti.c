/*
 * old_cupti.c - a libcupti with the functions that syncline requires, which reports a version
 * before CUDA 12.0. Any thread. syncline must not call any other function of this library.
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
