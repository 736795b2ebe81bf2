/* fixture_python.h - sets the values in fixture_python.c to the layout of any CPython version. */
#ifndef SL_PYTHON_FIXTURE_PYTHON_H
#define SL_PYTHON_FIXTURE_PYTHON_H

#include <stdint.h>

#define FIXTURE_RUNTIME 1024

struct fixture_python {
    const char *version;
    int is_initialized;
    void *thread; /* the thread's state */
};

/* The beginning of a type object, which is the same in CPython 3.9 to 3.15. */
struct fixture_type {
    char object[24];
    const char *name;
    uint64_t size;
};

#endif
