/*
 * embed.c - a program with a Python interpreter of its own: embed before|after|never
 *
 * The word says when the interpreter begins: before CUDA, after it, or not at all. Built with
 * FREE_THREADED, it has the library believe that its Python is one without the lock.
 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <dlfcn.h>
#include <string.h>

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

int main(int argc, char **argv)
{
    const char *order = argc > 1 ? argv[1] : "";

    if (strcmp(order, "before") == 0)
        Py_Initialize();
    if (init_cuda() != 0)
        return 3;
    if (strcmp(order, "after") == 0)
        Py_Initialize();
    if (strcmp(order, "never") != 0) {
        PyRun_SimpleString("import sys\nprint('hooked', 'syncline._hook' in sys.modules)\n");
        Py_FinalizeEx();
    }
    puts("end");
    return 0;
}
