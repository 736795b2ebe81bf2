/*
 * python.c - checks the Python package, PyTorch's observer, and NCCL.
 *
 * Threads: main only; python3 runs in a child process. Memory: none after a function returns.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/home.h"
#include "base/log.h"
#include "doctor/host.h"

#define PYTHON_TIMEOUT_MS 20000
#define NCCL_2_27         22700
#define NCCL_PATH_MOST    254 /* longest path of a plugin, in bytes */

/* Prints the interpreter, and the versions of PyTorch and of its NCCL. PyTorch is not imported,
 * because the import takes seconds. */
static const char script[] = "import sys, re, importlib.util as u\n"
                             "print(sys.executable)\n"
                             "s = u.find_spec('torch')\n"
                             "p = s and s.submodule_search_locations\n"
                             "t = open(list(p)[0] + '/version.py').read() if p else ''\n"
                             "m = re.search('^__version__.*?= [\\'\"](.*)[\\'\"]', t, re.M)\n"
                             "print(m.group(1) if m else '')\n"
                             "import importlib.metadata as d\n"
                             "n = [x.version for x in d.distributions() if "
                             "(x.metadata['Name'] or '').startswith('nvidia-nccl')]\n"
                             "print(n[0] if n else '')\n";

struct python {
    char program[256], torch[64], nccl[64];
};

static void become_python(int out)
{
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    char *const argv[] = {"python3", "-B", "-c", (char *)script, NULL};

    unsetenv("CUDA_INJECTION64_PATH");
    if (null >= 0) {
        dup2(null, 0);
        dup2(null, 2);
    }
    dup2(out, 1);
    execvp(argv[0], argv);
    _exit(127);
}

/* Reads what the child writes until it ends. Returns 0 or -ETIMEDOUT. */
static int read_all(int fd, char *text, size_t size)
{
    uint64_t deadline = sl_clock_monotonic() + PYTHON_TIMEOUT_MS * 1000000ull;
    struct pollfd wait = {.fd = fd, .events = POLLIN};
    size_t used = 0;

    for (;;) {
        uint64_t now = sl_clock_monotonic();
        ssize_t got;

        text[used] = '\0';
        if (now >= deadline || poll(&wait, 1, (int)((deadline - now) / 1000000 + 1)) == 0)
            return -ETIMEDOUT;
        got = read(fd, text + used, size - 1 - used);
        if (got <= 0)
            return 0;
        used += (size_t)got;
    }
}

/* Returns 0, -ENOENT if there is no python3, or -ETIMEDOUT. */
static int ask_python(struct python *out)
{
    char text[1024], *line[3], *at = text;
    int pipe_fd[2], rc;
    pid_t child;

    if (pipe2(pipe_fd, O_CLOEXEC) != 0)
        return -ENOENT;
    fflush(NULL);
    child = fork();
    if (child == 0)
        become_python(pipe_fd[1]);
    close(pipe_fd[1]);
    rc = child < 0 ? -ENOENT : read_all(pipe_fd[0], text, sizeof(text));
    close(pipe_fd[0]);
    if (child > 0) {
        kill(child, SIGKILL);
        waitpid(child, NULL, 0);
    }
    if (rc)
        return rc;
    for (size_t i = 0; i < 3; i++) {
        line[i] = at;
        at += strcspn(at, "\n");
        if (*at)
            *at++ = '\0';
    }
    snprintf(out->program, sizeof(out->program), "%s", line[0]);
    snprintf(out->torch, sizeof(out->torch), "%s", line[1]);
    snprintf(out->nccl, sizeof(out->nccl), "%s", line[2]);
    return *out->program ? 0 : -ENOENT;
}

/* ---- the package and the observer ---- */

/* Finds the folder with package and observers. Returns 0, or -ENOENT after a line in the report. */
static int find_home(struct sl_doctor *h, const struct sl_config *config, char *home, size_t size)
{
    const char *slash = strrchr(h->library, '/');

    if (*config->home && *config->home != '/') {
        sl_doctor_add(h, SL_DOCTOR_PROBLEM, "python", "give an absolute path",
                      "SYNCLINE_HOME=%s is a relative path and is not used", config->home);
        return -ENOENT;
    }
    if (*config->home)
        snprintf(home, size, "%s", config->home);
    else if (slash)
        snprintf(home, size, "%.*s/syncline", (int)(slash - h->library), h->library);
    else
        return -ENOENT; /* the library's own line says what is wrong */
    return 0;
}

static int is_there(char *path, size_t size, const char *home, const char *below)
{
    return snprintf(path, size, "%s/%s", home, below) < (int)size && access(path, R_OK) == 0;
}

/* Adds a problem if the file exists but is not loaded. Returns 1 if it is. */
static int is_loaded(struct sl_doctor *h, const char *topic, const char *path)
{
    int is_trusted;

    sl_log_set_level(SL_LOG_OFF); /* the report says it */
    is_trusted = sl_home_is_trusted(path);
    sl_log_set_level(SL_LOG_WARN);
    if (!is_trusted)
        sl_doctor_add(
            h, SL_DOCTOR_PROBLEM, topic,
            "let it and the folders above belong to root or to the job's user, and remove "
            "the write access of others (chmod go-w)",
            "%s is not loaded: other users can write it, or a folder above", path);
    return is_trusted;
}

static void check_package(struct sl_doctor *h, const struct sl_config *config, const char *home)
{
    char path[PATH_MAX];

    if (!config->python)
        sl_doctor_add(
            h, SL_DOCTOR_NOTE, "python", "",
            "SYNCLINE_PYTHON is 0: no steps of PyTorch, and no hand-over to torch.profiler");
    else if (!is_there(path, sizeof(path), home, "python/syncline/_boot.py"))
        sl_doctor_add(h, SL_DOCTOR_PROBLEM, "python",
                      *config->home ? "set SYNCLINE_HOME to the folder syncline/ of an install"
                                    : "install syncline, or set SYNCLINE_HOME",
                      "no Python package in %s: no steps of PyTorch are recorded", home);
    else if (is_loaded(h, "python", path))
        sl_doctor_add(h, SL_DOCTOR_OK, "python", "", "the package is in %s/python%s", home,
                      *config->home ? " (SYNCLINE_HOME)" : "");
}

/* The names that the library tries: the whole version, then MAJOR.MINOR. */
static int find_observer(char *path, size_t size, const char *home, const char *version)
{
    size_t minor = strcspn(version, ".");
    char below[128];

    minor += version[minor] == '.';
    minor += strspn(version + minor, "0123456789");
    for (int i = 0; i < 4; i++) {
        snprintf(below, sizeof(below), "observers/torch-%.*s%s.so",
                 i < 2 ? (int)strlen(version) : (int)minor, version, i % 2 ? "-old-abi" : "");
        if (is_there(path, size, home, below))
            return 1;
    }
    return 0;
}

static void check_observer(struct sl_doctor *h, const struct python *p, const char *home)
{
    char path[PATH_MAX], remedy[PATH_MAX + 400];

    if (!*p->torch) {
        sl_doctor_add(h, SL_DOCTOR_OK, "torch", "", "%s has no PyTorch", p->program);
        return;
    }
    if (find_observer(path, sizeof(path), home, p->torch)) {
        if (is_loaded(h, "torch", path))
            sl_doctor_add(h, SL_DOCTOR_OK, "torch", "", "PyTorch %s of %s: observer %s", p->torch,
                          p->program, path);
        return;
    }
    snprintf(remedy, sizeof(remedy), "python_hook/build_observers.sh --out %s/observers %s", home,
             p->program);
    sl_doctor_add(
        h, SL_DOCTOR_NOTE, "torch", remedy,
        "PyTorch %s of %s has no observer: operators are recorded through NVTX, with less "
        "information",
        p->torch, p->program);
}

/* Adds whether NCCL would load our profiler plugin. `version` is such as 22809. */
static void check_nccl_plugin(struct sl_doctor *h, const struct sl_config *config, int version)
{
    const char *users = getenv("NCCL_PROFILER_PLUGIN");
    char named[PATH_MAX];
    void *other = NULL;

    if (config->nccl == SL_NCCL_OFF) {
        sl_doctor_add(h, SL_DOCTOR_OK, "nccl", "",
                      "SYNCLINE_NCCL is off: NCCL is not asked about collectives");
    } else if (version < NCCL_2_27) {
        sl_doctor_add(h, SL_DOCTOR_NOTE, "nccl", "use NCCL 2.27 or later",
                      "before 2.27, NCCL does not report collectives in a form that syncline "
                      "reads, so kernels lack its algorithm and protocol");
    } else if (users && *users && (!realpath(users, named) || strcmp(named, h->library) != 0)) {
        sl_doctor_add(h, SL_DOCTOR_NOTE, "nccl", "unset NCCL_PROFILER_PLUGIN",
                      "NCCL_PROFILER_PLUGIN=%s: NCCL does not load syncline's profiler plugin",
                      users);
    } else if (strlen(h->library) > NCCL_PATH_MOST) {
        sl_doctor_add(h, SL_DOCTOR_NOTE, "nccl", "install syncline in a folder with a short path",
                      "NCCL cuts paths of over %d bytes, so it cannot load %s", NCCL_PATH_MOST,
                      h->library);
    } else if ((other = dlopen("libnccl-profiler.so", RTLD_LAZY | RTLD_LOCAL))) {
        sl_doctor_add(
            h, SL_DOCTOR_NOTE, "nccl", "remove the file from the library path",
            "libnccl-profiler.so is on the library path: NCCL loads it and not syncline's "
            "profiler plugin");
        dlclose(other);
    } else {
        sl_doctor_add(h, SL_DOCTOR_OK, "nccl", "",
                      "NCCL loads syncline's profiler plugin, unless nccl.conf or a network plugin "
                      "names another");
    }
}

static void check_nccl(struct sl_doctor *h, const struct sl_config *config, const struct python *p)
{
    void *library = *p->nccl ? NULL : dlopen("libnccl.so.2", RTLD_LAZY | RTLD_LOCAL);
    int (*get_version)(int *) = NULL;
    int version = 0, part[3];

    if (library)
        *(void **)&get_version = dlsym(library, "ncclGetVersion");
    if (get_version && get_version(&version) == 0)
        sl_doctor_add(h, SL_DOCTOR_OK, "nccl", "",
                      "libnccl.so.2, version %d.%d.%d: kernels of collectives are recorded",
                      version / 10000, version / 100 % 100, version % 100);
    else if (*p->nccl)
        sl_doctor_add(h, SL_DOCTOR_OK, "nccl", "",
                      "PyTorch's NCCL %s: kernels of collectives are recorded, with PyTorch's "
                      "information about each",
                      p->nccl);
    else
        sl_doctor_add(h, SL_DOCTOR_OK, "nccl", "", "no NCCL found: jobs on one GPU need none");
    if (sscanf(p->nccl, "%d.%d.%d", &part[0], &part[1], &part[2]) == 3)
        version = part[0] * 10000 + part[1] * 100 + part[2];
    if (version)
        check_nccl_plugin(h, config, version);
}

void sl_doctor_python(struct sl_doctor *h, const struct sl_config *config)
{
    struct python python = {.program = ""};
    char home[PATH_MAX];
    int rc = ask_python(&python), has_home = find_home(h, config, home, sizeof(home)) == 0;

    if (has_home)
        check_package(h, config, home);
    if (rc == -ETIMEDOUT)
        sl_doctor_add(h, SL_DOCTOR_NOTE, "torch", "", "python3 did not answer within %d s",
                      PYTHON_TIMEOUT_MS / 1000);
    else if (rc)
        sl_doctor_add(h, SL_DOCTOR_OK, "torch", "", "there is no python3 on the path");
    else if (has_home)
        check_observer(h, &python, home);
    check_nccl(h, config, &python);
}
