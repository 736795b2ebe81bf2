/*
 * work.h - what a GPU operation does, by the name of its kernel.
 *
 * Threads: pure functions.
 */
#ifndef SL_WORK_H
#define SL_WORK_H

#include <stddef.h>

/* The kind of work of a GPU operation. Communication is told by the kernel's name. */
enum sl_work {
    SL_WORK_COMPUTE,
    SL_WORK_COMMUNICATION,
    SL_WORK_COPY, /* a copy or a memset */
    SL_WORK_COUNT
};

/* Returns the kind of work of a kernel by its name. */
enum sl_work sl_work_of_kernel(const char *name, size_t size);

#endif
