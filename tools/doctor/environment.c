/*
 * environment.c - checks the library file, options, output folder, memory limits and other tools.
 *
 * Threads: main only. Memory: none after a function returns.
 */
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "control/config_value.h"
#include "control/identity.h"
#include "control/memory_limit.h"
#include "doctor/host.h"

#define INJECTION "CUDA_INJECTION64_PATH"
#define SPACE_LOW (1ull << 30)

/* Loads the library. Returns 0, or -EINVAL with the loader's message in `why`. */
static int try_library(const char *path, char *why, size_t why_size)
{
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);

    if (!library) {
        snprintf(why, why_size, "%s", dlerror());
        return -EINVAL;
    }
    if (!dlsym(library, "InitializeInjection") || !dlsym(library, "sl_status")) {
        snprintf(why, why_size, "it is not libsyncline.so");
        return -EINVAL;
    }
    return 0;
}

int sl_doctor_beside(char *path, size_t size)
{
    static const char *const place[] = {"../lib/libsyncline.so", "../lib64/libsyncline.so",
                                        "../lib/x86_64-linux-gnu/libsyncline.so",
                                        "../lib/aarch64-linux-gnu/libsyncline.so",
                                        "../runtime/libsyncline.so"};
    char self[PATH_MAX], candidate[PATH_MAX + 64], resolved[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 1);
    char *slash;

    if (length < 0)
        return -ENOENT;
    self[length] = '\0';
    slash = strrchr(self, '/');
    if (!slash)
        return -ENOENT;
    slash[1] = '\0';
    for (size_t i = 0; i < sizeof(place) / sizeof(place[0]); i++) {
        snprintf(candidate, sizeof(candidate), "%s%s", self, place[i]);
        if (access(candidate, R_OK) == 0 && realpath(candidate, resolved)) {
            snprintf(path, size, "%s", resolved);
            return 0;
        }
    }
    return -ENOENT;
}

void sl_doctor_library(struct sl_doctor *h, char *const *environment)
{
    const char *injected = sl_config_lookup(environment, INJECTION);
    char path[PATH_MAX] = "", why[300];

    if (injected && injected[0]) {
        if (realpath(injected, path))
            memcpy(h->library, path, sizeof(path));
        if (try_library(injected, why, sizeof(why)) == 0)
            sl_doctor_add(h, SL_DOCTOR_OK, "library", "", INJECTION "=%s", injected);
        else
            sl_doctor_add(h, SL_DOCTOR_PROBLEM, "library",
                          "point " INJECTION " to libsyncline.so (the driver loads only one "
                          "library, so another profiler's cannot stay)",
                          INJECTION "=%s cannot be used: %s", injected, why);
        return;
    }
    if (sl_doctor_beside(path, sizeof(path)) != 0)
        sl_doctor_add(h, SL_DOCTOR_PROBLEM, "library",
                      "install syncline, or set " INJECTION " to it",
                      "no libsyncline.so beside this command");
    else if (try_library(path, why, sizeof(why)) != 0)
        sl_doctor_add(h, SL_DOCTOR_PROBLEM, "library", "reinstall syncline",
                      "%s cannot be loaded: %s", path, why);
    else
        sl_doctor_add(h, SL_DOCTOR_OK, "library", "", "%s (to record: " INJECTION "=%s COMMAND)",
                      path, path);
    snprintf(h->library, sizeof(h->library), "%s", path);
}

static void unknown_options(struct sl_doctor *h, char *const *environment)
{
    int count = 0;

    for (char *const *at = environment; (at = sl_config_unknown(at)); at++) {
        char name[128], remedy[256];

        if (++count > SL_CONFIG_UNKNOWN_SHOWN)
            continue;
        snprintf(name, sizeof(name), "%.*s", (int)strcspn(*at, "="), *at);
        snprintf(remedy, sizeof(remedy), "did you mean %s?", sl_config_nearest(name));
        sl_doctor_add(h, SL_DOCTOR_PROBLEM, "options", remedy,
                      "%s is not an option of syncline and is ignored", name);
    }
    if (count > SL_CONFIG_UNKNOWN_SHOWN)
        sl_doctor_add(h, SL_DOCTOR_PROBLEM, "options", "unset them",
                      "%d more SYNCLINE_* variables are not options and are ignored",
                      count - SL_CONFIG_UNKNOWN_SHOWN);
}

void sl_doctor_options(struct sl_doctor *h, struct sl_config *config, char *const *environment)
{
    int defaults = 0;

    for (const struct sl_option *o = sl_config_table; o->name; o++) {
        const char *text = sl_config_lookup(environment, o->name);
        int set = text && text[0], err = sl_config_read_option(o, text, config);
        char line[600];

        if (err) {
            sl_config_explain(o, text, err, line, sizeof(line));
            sl_doctor_add(h, SL_DOCTOR_PROBLEM, "options", "fix the value or unset it", "%s", line);
            continue;
        }
        if (text)
            sl_doctor_add(h, SL_DOCTOR_OK, "options", "", "%s=%s%s", o->name,
                          set ? text : o->fallback, set ? "" : " (default)");
        defaults += !text;
    }
    sl_doctor_add(h, SL_DOCTOR_OK, "options", "", "%d options have their defaults", defaults);
    unknown_options(h, environment);
    if (!config->enabled)
        sl_doctor_add(h, SL_DOCTOR_PROBLEM, "options", "unset SYNCLINE_ENABLED, or set it to 1",
                      "SYNCLINE_ENABLED is not 1: nothing is recorded");
    else if (config->window_mode == SL_WINDOW_OFF)
        sl_doctor_add(
            h, SL_DOCTOR_PROBLEM, "options",
            "unset SYNCLINE_WINDOW, or choose when to record, for example SYNCLINE_WINDOW=demand",
            "SYNCLINE_WINDOW is off: nothing is recorded");
}

/* Finds the nearest existing folder, which is `path` or a folder above `path`. */
static void existing_folder(const char *path, char *folder, size_t size)
{
    struct stat st;
    char *slash;

    snprintf(folder, size, "%s", path);
    while (stat(folder, &st) != 0 && errno != EACCES && (slash = strrchr(folder, '/'))) {
        if (slash == folder) {
            slash[1] = '\0';
            return;
        }
        *slash = '\0';
    }
    if (stat(folder, &st) != 0 && !strchr(folder, '/'))
        snprintf(folder, size, ".");
}

void sl_doctor_output(struct sl_doctor *h, const struct sl_config *config, char *const *environment)
{
    static struct sl_identity identity;
    char folder[sizeof(identity.folder.path)];
    struct statvfs fs;
    struct stat st;

    sl_identity_read(&identity, config, environment);
    h->local_ranks = identity.local_ranks;
    existing_folder(identity.folder.path, folder, sizeof(folder));
    if (stat(folder, &st) == 0 && !S_ISDIR(st.st_mode))
        sl_doctor_add(h, SL_DOCTOR_PROBLEM, "output", "set SYNCLINE_OUTPUT to a folder",
                      "%s is not a folder", folder);
    else if (access(folder, W_OK | X_OK) != 0)
        sl_doctor_add(h, SL_DOCTOR_PROBLEM, "output",
                      "set SYNCLINE_OUTPUT to a folder that you can write to", "%s: %s", folder,
                      strerror(errno));
    else if (statvfs(folder, &fs) != 0)
        sl_doctor_add(h, SL_DOCTOR_OK, "output", "", "traces go to %s", identity.folder.output);
    else if ((uint64_t)fs.f_bavail * fs.f_frsize < SPACE_LOW)
        sl_doctor_add(h, SL_DOCTOR_NOTE, "output",
                      "free some space, or set SYNCLINE_OUTPUT elsewhere",
                      "less than 1 GiB is free below %s", folder);
    else
        sl_doctor_add(h, SL_DOCTOR_OK, "output", "",
                      "traces go to %s, which can be written and has %llu GiB free",
                      identity.folder.output,
                      (unsigned long long)((uint64_t)fs.f_bavail * fs.f_frsize >> 30));
}

void sl_doctor_memory(struct sl_doctor *h, const struct sl_config *config)
{
    struct sl_config lowered = *config;
    struct sl_memory_limit limit;
    uint64_t need;
    int fits;

    sl_memory_limit_read(&limit, "", h->local_ranks, NULL);
    if (!limit.source) {
        sl_doctor_add(h, SL_DOCTOR_OK, "memory", "", "no limit of a container, cgroup or ulimit");
        return;
    }
    fits = sl_memory_limit_apply(&lowered, limit.share_bytes, &need);
    sl_doctor_add(h,
                  fits == 0  ? SL_DOCTOR_OK
                  : fits > 0 ? SL_DOCTOR_NOTE
                             : SL_DOCTOR_PROBLEM,
                  "memory",
                  fits == 0  ? ""
                  : fits > 0 ? "a larger limit lets syncline keep more when the job is busy"
                             : "raise the limit, or start the job where more memory is left",
                  "%s is %.1f MB, and %.1f MB are in use: syncline %s at most %.1f MB%s",
                  limit.source, (double)limit.limit_bytes / 1e6, (double)limit.used_bytes / 1e6,
                  fits < 0 ? "may take" : "takes", (double)limit.share_bytes / 1e6,
                  fits < 0 ? ", which is too little to record" : "");
}

/* ---- other tools ---- */

static int is_same_file(const char *a, const char *b)
{
    struct stat x, y;

    return stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

void sl_doctor_nvtx(struct sl_doctor *h, const struct sl_config *config, char *const *environment)
{
    const char *there = sl_config_lookup(environment, "NVTX_INJECTION64_PATH");

    if (!config->nvtx)
        sl_doctor_add(h, SL_DOCTOR_OK, "nvtx", "", "SYNCLINE_NVTX is 0: no NVTX ranges");
    else if (!there || !*there || is_same_file(there, h->library))
        sl_doctor_add(h, SL_DOCTOR_OK, "nvtx", "", "NVTX ranges of the program are recorded");
    else
        sl_doctor_add(h, SL_DOCTOR_NOTE, "nvtx", "unset NVTX_INJECTION64_PATH",
                      "NVTX_INJECTION64_PATH=%s: another tool receives NVTX ranges", there);
}

void sl_doctor_profilers(struct sl_doctor *h, char *const *environment)
{
    static const struct {
        const char *prefix, *what;
    } known[] = {
        {"NSYS_PROFILING_SESSION_ID=", "Nsight Systems is profiling this session"},
        {"NV_COMPUTE_PROFILER_", "Nsight Compute is profiling this session"},
        {"NV_NSIGHT_INJECTION_", "an Nsight tool is injected"},
        {"KINETO_USE_DAEMON=", "torch.profiler waits for dynolog's requests"},
        {"KINETO_CONFIG=", "KINETO_CONFIG configures torch.profiler"},
        {"COMPUTE_PROFILE=", "the old command-line profiler is on"},
        {"LD_PRELOAD=", NULL},
    };
    int found = 0;

    for (; *environment; environment++) {
        for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
            if (strncmp(*environment, known[i].prefix, strlen(known[i].prefix)) != 0)
                continue;
            if (!known[i].what && !strstr(*environment, "ToolsInjection") &&
                !strstr(*environment, "nsys") && !strstr(*environment, "cupti"))
                continue;
            found++;
            sl_doctor_add(h, SL_DOCTOR_NOTE, "profilers",
                          "CUPTI serves one profiler at a time: while the other one records, "
                          "syncline may record nothing",
                          "%s (%.100s)",
                          known[i].what ? known[i].what : "a profiler's library is preloaded",
                          *environment);
        }
    }
    if (!found)
        sl_doctor_add(h, SL_DOCTOR_OK, "profilers", "", "no other profiler in the environment");
}
