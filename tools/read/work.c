/*
 * work.c - finds the kernels of communication libraries by their names.
 *
 * Threads: see work.h.
 */
#include "read/work.h"

#include <string.h>

static int begins(const char *name, size_t size, const char *with)
{
    size_t length = strlen(with);

    return size >= length && memcmp(name, with, length) == 0;
}

enum sl_work sl_work_of_kernel(const char *name, size_t size)
{
    static const char *const beginnings[] = {"nccl",    "rccl",        "multimem_",
                                             "nvshmem", "mscclKernel", "deep_ep"};

    for (size_t i = 0; i < sizeof(beginnings) / sizeof(beginnings[0]); i++)
        if (begins(name, size, beginnings[i]))
            return SL_WORK_COMMUNICATION;
    if (memmem(name, size, "deep_ep::", 9) != NULL || memmem(name, size, "multimem_", 9) != NULL)
        return SL_WORK_COMMUNICATION;
    return SL_WORK_COMPUTE;
}
