/*
 * python_row.c - recognises the Python function rows that torch.profiler writes with `with_stack`.
 *
 * Threads, memory: see python_row.h.
 */
#include "read/python_row.h"

#include <string.h>

/* Prefixes of the names of functions outside user code: PyTorch, and those files of Python's
 * standard library that call other code. */
static const char *const foreign[] = {
    "<",          "torch/",      "torchgen/",    "functorch/",      "triton/",
    "syncline/",  "nn.Module: ", "threading.py", "runpy.py",        "contextlib.py",
    "asyncio/",   "concurrent/", "functools.py", "queue.py",        "multiprocessing/",
    "selectors.", "importlib/",  "weakref.py",   "socketserver.py",
};

static int has(struct sl_text name, const char *word)
{
    return memmem(name.data, name.size, word, strlen(word)) != NULL;
}

int sl_python_row_is_users(struct sl_text name)
{
    if (!name.data || !has(name, "): "))
        return 0;
    for (size_t i = 0; i < sizeof(foreign) / sizeof(*foreign); i++)
        if (sl_text_begins(name, foreign[i]))
            return 0;
    return !has(name, "-packages/torch/") && !has(name, "-packages/triton/") &&
           (!has(name, "/lib/python3.") || has(name, "-packages/"));
}
