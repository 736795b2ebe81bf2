/*
 * embed.c - a program that embeds a Python interpreter: embed before|after|never
 *
 * The argument says when the interpreter starts: before CUDA, after CUDA, or not at all. After
 * CUDA, the program also opens a window (SYNCLINE_WINDOW=demand). Compiled with FREE_THREADED, the
 * program pretends that its Python is a free-threaded build.
 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <dlfcn.h>
#include <string.h>
#include <unistd.h>

#include "syncline/syncline.h"

#ifdef FREE_THREADED
/* Returns the version text of a free-threaded build. */
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

/* Waits until the window is open. */
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

/* Prints a report by Python code. The code sleeps first, because Python runs calls that other
 * threads have queued only when the interpreter's lock is released. */
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
