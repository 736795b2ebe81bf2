/*
 * must.h - ends a bench program that cannot continue, with a message and status 1.
 */
#ifndef BENCH_MUST_H
#define BENCH_MUST_H

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Ends the program if `result`, which is 0 or -errno, is an error. */
static inline void must(int result, const char *what)
{
    if (result == 0)
        return;
    fprintf(stderr, "%s: %s: %s\n", program_invocation_short_name, what, strerror(-result));
    exit(1);
}

static inline void *need(void *memory)
{
    must(memory ? 0 : -ENOMEM, "memory");
    return memory;
}

#endif
