/*
 * embed.c - a program with a Python interpreter of its own: embed before|after|never
 *
 * The word says when the interpreter begins: before CUDA, after it (then a window opens, with
 * SYNCLINE_WINDOW=demand), or not at all. Built with FREE_THREADED, it has the library believe that
 * its Python is one without the lock.
 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <dlfcn.h>
#include <string.h>
#include <unistd.h>

#include "syncline/syncline.h"

#ifdef FREE_THREADED
/* What a build without the lock says of itself. */
const char *Py_GetVersion(void)
{
    return "3.14.0 free-threading build (main)";
}
#endif

static int init_cuda(void)
{
    void *cuda = dlopen("libcuda.so.1", RTLD_NOW);
    int (*init)(unsigned) = cuda ? (int (*)(unsigned))dlsym(cuda, "cuInit") : NULL;

    return init ? init(0) : -1;
}

/* Back when it is open. */
static int open_window(void)
{
    struct sl_status status = {.size = sizeof(status)};

    if (sl_start() != 0)
        return -1;
    do {
        usleep(1000);
        if (sl_status(&status) != 0)
            return -1;
    } while (status.state != SL_STATE_RECORDING);
    return 0;
}

/* The sleep gives the lock away: only then Python sees what another thread has queued. */
static void report(void)
{
    PyRun_SimpleString("import sys, time\n"
                       "time.sleep(0)\n"
                       "print('hooked', 'syncline._hook' in sys.modules)\n");
}

int main(int argc, char **argv)
{
    const char *order = argc > 1 ? argv[1] : "";

    if (strcmp(order, "before") == 0)
        Py_Initialize();
    if (init_cuda() != 0)
        return 3;
    if (strcmp(order, "after") == 0)
        Py_Initialize();
    if (strcmp(order, "never") != 0)
        report();
    if (strcmp(order, "after") == 0) {
        if (open_window() != 0)
            return 4;
        report();
    }
    if (strcmp(order, "never") != 0)
        Py_FinalizeEx();
    puts("end");
    return 0;
}
