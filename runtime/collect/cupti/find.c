/*
 * find.c - finds libcupti.
 *
 * Threads: one, at injection. Memory: none. The accepted libcupti stays in the process for good,
 * because closing libcupti crashes on 13.0 and 13.1.
 */
#include "collect/cupti/find.h"

#include <errno.h>
#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/loader.h"
#include "base/log.h"
#include "collect/cupti/cuda_facts.h"

#define NEWEST_MAJOR 13
#define OLDEST_MAJOR 12
/* RTLD_LOCAL keeps the library's symbols from satisfying references of other libraries. */
#define OPEN_FLAGS (RTLD_LAZY | RTLD_LOCAL | RTLD_NODELETE)

struct search {
    sl_cupti_accept_fn accept;
    void *user;
    void **handle;
    char *path, *why;
    size_t path_size, why_size;
    int found; /* 1: a library was found, which may be unusable */
};

struct in_process {
    char cudart[PATH_MAX]; /* folder of the loaded libcudart; "": no libcudart is loaded */
    int major;             /* major version of the loaded libcudart; 0: unknown */
};

/* Accepts an opened library if it can be used. Returns 0 or -errno. */
static int take(struct search *s, void *handle)
{
    const char *file = sl_loader_file(handle);
    int result;

    s->found = 1;
    snprintf(s->path, s->path_size, "%s", file ? file : "libcupti");
    result = s->accept(s->user, handle, s->why, s->why_size);
    if (result == 0)
        *s->handle = handle;
    return result;
}

static int try_name(struct search *s, const char *name)
{
    void *handle;

    handle = sl_loader_open(name, OPEN_FLAGS);
    if (!handle) {
        sl_log(SL_LOG_DEBUG, "CUPTI could not be loaded: %s", dlerror());
        return -ENOENT;
    }
    return take(s, handle);
}

/* Tries every file that matches the pattern, in reverse order of names, because the newest version
 * has the last name. */
static int try_pattern(struct search *s, const char *pattern)
{
    int result = -ENOENT;
    glob_t found;

    if (glob(pattern, 0, NULL, &found) != 0)
        return -ENOENT;
    for (size_t i = found.gl_pathc; i-- > 0 && result != 0;)
        result = try_name(s, found.gl_pathv[i]);
    globfree(&found);
    return result;
}

/* Tries the subfolders of a folder in which NVIDIA's installers and packages install libcupti. */
static int try_below(struct search *s, const char *folder, const char *const *places, int major)
{
    char pattern[2 * PATH_MAX];
    int result = -ENOENT;

    if (!folder || folder[0] != '/')
        return -ENOENT;
    for (; *places && result != 0; places++) {
        int n = snprintf(pattern, sizeof pattern, "%s/%s/libcupti.so.%d", folder, *places, major);

        if (n > 0 && (size_t)n < sizeof pattern)
            result = try_pattern(s, pattern);
    }
    return result;
}

static int note_cudart(struct dl_phdr_info *info, size_t size, void *user)
{
    const char *file = info->dlpi_name ? strrchr(info->dlpi_name, '/') : NULL;
    struct in_process *p = user;

    (void)size;
    if (!file || strncmp(file, "/libcudart.so.", 14) != 0)
        return 0;
    p->major = atoi(file + 14);
    snprintf(p->cudart, sizeof p->cudart, "%.*s", (int)(file - info->dlpi_name), info->dlpi_name);
    return 1;
}

/* Finds the CUDA version in the process. This is the version of the loaded runtime or, without a
 * runtime, the driver's version. */
static void look_around(struct in_process *p)
{
    uint32_t driver, runtime;

    *p = (struct in_process){0};
    sl_loader_look(note_cudart, p);
    if (p->major)
        return;
    sl_cuda_facts_versions(&driver, &runtime);
    p->major = (int)(driver / 1000);
}

static int try_major(struct search *s, const struct in_process *p, int major)
{
    /* Folders of libcupti, relative to the folder of libcudart. Some installations have both
     * libraries in nvidia/cu13/lib. Others have nvidia/cuda_runtime/lib and nvidia/cuda_cupti/lib,
     * or cuda/lib64 (or cuda/targets/ARCH/lib) and cuda/extras/CUPTI/lib64. */
    static const char *const beside[] = {".", "../../cuda_cupti/lib", "../extras/CUPTI/lib64",
                                         "../../../extras/CUPTI/lib64", NULL};
    static const char *const toolkit[] = {"extras/CUPTI/lib64", "lib64", "lib", "targets/*/lib",
                                          NULL};
    static const char *const python[] = {"lib/python3*/site-packages/nvidia/*/lib",
                                         "lib/python3*/dist-packages/nvidia/*/lib",
                                         "local/lib/python3*/dist-packages/nvidia/*/lib", NULL};
    static const char *const toolkit_variable[] = {"CUDA_HOME", "CUDA_PATH", NULL};
    static const char *const python_variable[] = {"VIRTUAL_ENV", "CONDA_PREFIX", NULL};
    char name[64], prefix[PATH_MAX];
    ssize_t length;

    snprintf(name, sizeof name, "libcupti.so.%d", major);
    if (try_name(s, name) == 0 || try_below(s, p->cudart, beside, major) == 0)
        return 0;
    /* secure_getenv() is used so that the environment cannot choose the code of a set-user-id
     * program */
    for (int i = 0; toolkit_variable[i]; i++)
        if (try_below(s, secure_getenv(toolkit_variable[i]), toolkit, major) == 0)
            return 0;
    snprintf(name, sizeof name, "/usr/local/cuda-%d*", major);
    if (try_below(s, name, toolkit, major) == 0 ||
        try_below(s, "/usr/local/cuda", toolkit, major) == 0 ||
        try_below(s, "/opt/cuda", toolkit, major) == 0)
        return 0;
    for (int i = 0; python_variable[i]; i++)
        if (try_below(s, secure_getenv(python_variable[i]), python, major) == 0)
            return 0;
    /* the path of the program, such as .../bin/python3 */
    length = readlink("/proc/self/exe", prefix, sizeof prefix - 1);
    for (int up = 0; length > 0 && up < 2; up++)
        while (length > 0 && prefix[--length] != '/')
            ;
    if (length > 0) {
        prefix[length] = '\0';
        if (try_below(s, prefix, python, major) == 0)
            return 0;
    }
    return -ENOENT;
}

int sl_cupti_find(sl_cupti_accept_fn accept, void *user, void **handle, char *path,
                  size_t path_size, char *why, size_t why_size)
{
    struct search s = {accept, user, handle, path, why, path_size, why_size, 0};
    struct in_process here;

    why[0] = path[0] = '\0';
    for (int major = NEWEST_MAJOR; major >= OLDEST_MAJOR; major--) {
        char name[32];
        void *loaded;

        snprintf(name, sizeof name, "libcupti.so.%d", major);
        loaded = sl_loader_open(name, OPEN_FLAGS | RTLD_NOLOAD);
        if (loaded)
            return take(&s, loaded); /* even if the loaded copy is unusable, a second copy must not
                                      * be loaded */
    }
    look_around(&here);
    if (here.major >= OLDEST_MAJOR && here.major <= NEWEST_MAJOR &&
        try_major(&s, &here, here.major) == 0)
        return 0;
    for (int major = NEWEST_MAJOR; major >= OLDEST_MAJOR; major--)
        if (major != here.major && try_major(&s, &here, major) == 0)
            return 0;
    if (s.found)
        return -ENOTSUP;
    path[0] = '\0';
    snprintf(why, why_size,
             "libcupti.so.%d was not found: install CUPTI from the CUDA toolkit or the Python "
             "package %s, or add its folder to LD_LIBRARY_PATH",
             here.major ? here.major : NEWEST_MAJOR,
             here.major == 12 ? "nvidia-cuda-cupti-cu12" : "nvidia-cuda-cupti");
    return -ENOENT;
}
