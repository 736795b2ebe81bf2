/* fixture_python.h - a CPython of any version, as far as its layout goes: fixture_python.c, loaded.
 */
#ifndef SL_PYTHON_FIXTURE_PYTHON_H
#define SL_PYTHON_FIXTURE_PYTHON_H

#include <stdint.h>

#define FIXTURE_RUNTIME 1024

struct fixture_python {
    const char *version;
    int is_initialized;
    void *thread; /* its state */
};

/* As far as 3.9 to 3.15 have it in common. */
struct fixture_type {
    char object[24];
    const char *name;
    uint64_t size;
};

#endif
