/* fixture_python.h - the loaded fixture_python.c: the layout of a CPython of any version. */
#ifndef SL_PYTHON_FIXTURE_PYTHON_H
#define SL_PYTHON_FIXTURE_PYTHON_H

#include <stdint.h>

#define FIXTURE_RUNTIME 1024

struct fixture_python {
    const char *version;
    int is_initialized;
    void *thread; /* the thread's state */
};

/* The part that 3.9 to 3.15 have in common. */
struct fixture_type {
    char object[24];
    const char *name;
    uint64_t size;
};

#endif
