/*
 * boot.c - starts our Python package in the interpreter of the process.
 *
 * Threads: the thread that initialises CUDA queues a call in the interpreter. The recorder thread
 * queues the call again if there was no interpreter yet, or if it finds a PyTorch without an
 * observer. Python's main thread runs the call with the GIL. Memory: static. Python's functions are
 * looked up by name, because the process may have no Python, and because we use no Python version's
 * headers.
 */
#include "collect/python/boot.h"

#include <errno.h>
#include <limits.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "base/home.h"
#include "base/loader.h"
#include "base/log.h"

#define PY_FILE_INPUT 257

/* The file that this script runs reports its own failures. The only exceptions that leave the
 * script are exceptions of the program's signal handlers, such as KeyboardInterrupt. The program
 * must get these exceptions. */
static const char script[] = "try:\n"
                             "    with open(path, 'rb') as file:\n"
                             "        code = compile(file.read(), path, 'exec')\n"
                             "    scope = {'__name__': 'syncline._boot', '__file__': path}\n"
                             "    exec(code, scope)\n"
                             "    said = scope['start']()\n"
                             "except Exception as error:\n"
                             "    said = f'{type(error).__name__}: {error}'\n";

enum state {
    IDLE,
    QUEUED,
    RUN
};

static struct {
    _Atomic int state;
    _Atomic int pid; /* id of the process that called first; 0: none yet */
    char path[PATH_MAX];
} boot;

/* Functions of Python's interface that we use. */
static struct {
    int (*IsInitialized)(void);
    const char *(*GetVersion)(void);
    int (*AddPendingCall)(int (*call)(void *), void *argument);
    void *(*InterpreterGet)(void);
    void *(*InterpreterMain)(void);
    void *(*Builtins)(void);
    void *(*NewDict)(void);
    int (*SetItem)(void *dict, const char *key, void *value);
    void *(*GetItem)(void *dict, const char *key);
    void *(*FromText)(const char *text);
    const char *(*Text)(void *unicode);
    void *(*Compile)(const char *text, const char *file, int start);
    void *(*Evaluate)(void *code, void *globals, void *locals);
    void (*Clear)(void);
    void (*Drop)(void *object);
} python;

static int find(void *function, const char *name)
{
    void *found = sl_loader_symbol(RTLD_DEFAULT, name);

    memcpy(function, &found, sizeof(found));
    return found ? 0 : -ENOENT;
}

static int find_python(void)
{
    if (find(&python.IsInitialized, "Py_IsInitialized") ||
        find(&python.GetVersion, "Py_GetVersion") ||
        find(&python.AddPendingCall, "Py_AddPendingCall") ||
        find(&python.InterpreterGet, "PyInterpreterState_Get") || /* available from 3.9 on */
        find(&python.InterpreterMain, "PyInterpreterState_Main") ||
        find(&python.Builtins, "PyEval_GetBuiltins") || find(&python.NewDict, "PyDict_New") ||
        find(&python.SetItem, "PyDict_SetItemString") ||
        find(&python.GetItem, "PyDict_GetItemString") ||
        find(&python.FromText, "PyUnicode_FromString") || find(&python.Text, "PyUnicode_AsUTF8") ||
        find(&python.Compile, "Py_CompileString") || find(&python.Evaluate, "PyEval_EvalCode") ||
        find(&python.Clear, "PyErr_Clear") || find(&python.Drop, "Py_DecRef"))
        return -ENOENT;
    return 0;
}

/* ---- on Python's main thread, with the GIL ---- */

static void tell(void *scope)
{
    void *said = python.GetItem(scope, "said");
    const char *text = said ? python.Text(said) : NULL;

    if (!text)
        python.Clear();
    else if (*text)
        sl_log(SL_LOG_DEBUG, "Python: %s", text);
}

/* Returns 0, or -1 with an exception of the program set. */
static int run_script(void *scope)
{
    void *path = python.FromText(boot.path), *code, *result;

    if (!path || python.SetItem(scope, "path", path) ||
        python.SetItem(scope, "__builtins__", python.Builtins())) {
        python.Clear();
        if (path)
            python.Drop(path);
        return 0;
    }
    python.Drop(path);
    code = python.Compile(script, "syncline", PY_FILE_INPUT);
    if (!code) {
        python.Clear();
        return 0;
    }
    /* PyRun_String() is not used, because it handles a KeyboardInterrupt itself. The program would
     * not get the exception. */
    result = python.Evaluate(code, scope, scope);
    python.Drop(code);
    if (!result)
        return -1;
    python.Drop(result);
    tell(scope);
    return 0;
}

static int run(void *unused)
{
    void *scope;
    int result;

    (void)unused;
    if (getpid() != atomic_load(&boot.pid))
        return 0; /* this is a forked child that has inherited the queued call */
    if (python.InterpreterGet() != python.InterpreterMain()) {
        sl_log(SL_LOG_DEBUG, "Python: steps and modules are not recorded in sub-interpreters");
        atomic_store(&boot.state, IDLE);
        return 0;
    }
    atomic_store(&boot.state, RUN);
    scope = python.NewDict();
    if (!scope) {
        python.Clear();
        return 0;
    }
    result = run_script(scope);
    python.Drop(scope);
    return result;
}

/* ---- queueing ---- */

static int is_free_threaded(void)
{
    return strstr(python.GetVersion(), "free-threading") != NULL;
}

static int queue(const char *home)
{
    int err;

    if (find_python() || !python.IsInitialized())
        return -ENOENT;
    if (is_free_threaded()) {
        sl_log(SL_LOG_DEBUG, "Python without the GIL is not supported: steps are not recorded, and "
                             "the gap while torch.profiler records is a little longer");
        return -ENOTSUP;
    }
    err = sl_home_path(boot.path, sizeof(boot.path), home, "python/syncline/_boot.py");
    if (!err && access(boot.path, R_OK))
        err = -ENOENT;
    if (!err && !sl_home_is_trusted(boot.path))
        return -ENOTSUP;
    if (err) {
        sl_log(SL_LOG_DEBUG, "Python: the package syncline was not found beside libsyncline.so: "
                             "steps are not recorded");
        return -ENOTSUP;
    }
    return python.AddPendingCall(run, NULL) ? -EAGAIN : 0;
}

int sl_python_boot_again(const char *home)
{
    int run = RUN;

    atomic_compare_exchange_strong(&boot.state, &run, IDLE);
    return sl_python_boot(home);
}

int sl_python_boot(const char *home)
{
    int expected = IDLE, no_pid = 0, saved = errno, err;

    atomic_compare_exchange_strong(&boot.pid, &no_pid, getpid());
    if (atomic_load(&boot.pid) != getpid() ||
        !atomic_compare_exchange_strong(&boot.state, &expected, QUEUED))
        return -EALREADY;
    err = queue(home);
    /* We never try an unsupported interpreter again. */
    if (err)
        atomic_store(&boot.state, err == -ENOTSUP ? RUN : IDLE);
    errno = saved;
    return err;
}
