/* fixture_python.c - the symbols of a process that contains CPython, for collect.python.*_test. The
 * symbols have the same names as in CPython, except fixture_python, through which the test sets
 * their values. */
#include "unit/collect/python/fixture_python.h"

#include <stddef.h>

struct fixture_python fixture_python;

/* syncline reads only the name and the size of type objects, but all of the runtime's table of
 * offsets. */
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
