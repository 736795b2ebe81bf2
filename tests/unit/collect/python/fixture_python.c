/* fixture_python.c - what a process has that has CPython in it, as collect.python.*_test wants it.
 *
 * Every name is CPython's but for fixture_python, by which the test says what they give. */
#include "unit/collect/python/fixture_python.h"

#include <stddef.h>

struct fixture_python fixture_python;

/* Of type objects the name and the size are looked at, of the runtime's table of offsets all. */
struct fixture_type PyCode_Type = {.name = "code"}, PyUnicode_Type = {.name = "str"},
                    PyBytes_Type = {.name = "bytes"};
char _PyRuntime[FIXTURE_RUNTIME];

const char *Py_GetVersion(void);
int Py_IsInitialized(void);
void *PyGILState_GetThisThreadState(void);

const char *Py_GetVersion(void)
{
    return fixture_python.version;
}

int Py_IsInitialized(void)
{
    return fixture_python.is_initialized;
}

void *PyGILState_GetThisThreadState(void)
{
    return fixture_python.thread;
}
