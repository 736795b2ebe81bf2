/*
 * launcher.c - walks from this process to its ancestors, until the launcher of the run is found.
 *
 * An ancestor whose environment has the launcher's variable is a wrapper around this rank (a shell
 * script, numactl), or the rank that started this process. The first ancestor without the variable
 * is the launcher. Without such a variable, the walk continues as long as a process is a copy of
 * its parent.
 *
 * Threads, memory: see launcher.h.
 */
#include "control/launcher.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/own_file.h"

#define DEPTH_MAX 64

/* One file of /proc at a time. A longer environment is read up to here. */
static char text[256 << 10];

struct process {
    uint32_t pid, parent;
    uint64_t start_ticks;
    uint64_t stack; /* address of the stack, which fork() keeps and exec() draws at random */
};

/* Reads a file of the process into `text`, and terminates the text. Returns its size, or 0. */
static size_t read_file(const char *proc, uint32_t pid, const char *name)
{
    char path[128];
    ssize_t got;

    snprintf(path, sizeof(path), "%s/%u/%s", proc, pid, name);
    got = sl_own_file_read(path, text, sizeof(text) - 1);
    text[got > 0 ? got : 0] = '\0';
    return got > 0 ? (size_t)got : 0;
}

/* Reads the fields 4, 22 and 28 of stat. The second field is the program's name in brackets, which
 * may contain anything. Returns 0 or -1. */
static int read_process(struct process *out, const char *proc, uint32_t pid)
{
    uint64_t field[29] = {0};
    const char *at;

    if (!read_file(proc, pid, "stat") || !(at = strrchr(text, ')')))
        return -1;
    for (int i = 3; i <= 28 && (at = strchr(at, ' ')) != NULL; i++)
        field[i] = strtoull(++at, NULL, 10);
    *out = (struct process){pid, (uint32_t)field[4], field[22], field[28]};
    return 0;
}

/* An environment that may not be read, such as that of another user, counts as one without the
 * variable. */
static int has_variable(const char *proc, uint32_t pid, const char *variable)
{
    size_t size = read_file(proc, pid, "environ"), length = strlen(variable);

    for (const char *at = text; at < text + size; at += strlen(at) + 1)
        if (strncmp(at, variable, length) == 0 && at[length] == '=')
            return 1;
    return 0;
}

/* Returns 1 if the child is a fork of the parent without exec(), or a process that Python's
 * multiprocessing started for the parent. */
static int is_copy(const char *proc, const struct process *child, const struct process *parent)
{
    size_t size;

    if (child->stack && child->stack == parent->stack)
        return 1;
    size = read_file(proc, child->pid, "cmdline");
    return memmem(text, size, "--multiprocessing-fork", 22) != NULL ||
           memmem(text, size, "from multiprocessing.forkserver import", 38) != NULL;
}

void sl_launcher_find(struct sl_launcher *out, const char *proc, uint32_t pid, const char *variable)
{
    struct process at = {.pid = pid}, parent;
    uint64_t rank_start_ticks = 0;
    int is_copied = 0;

    (void)read_process(&at, proc, pid);
    for (int depth = 0; depth < DEPTH_MAX && at.parent; depth++) {
        if (read_process(&parent, proc, at.parent) != 0)
            break;
        if (depth == 0)
            is_copied = is_copy(proc, &at, &parent);
        if (variable && !has_variable(proc, parent.pid, variable)) {
            rank_start_ticks = at.start_ticks;
            at = parent;
            break;
        }
        if (!variable && !is_copy(proc, &at, &parent))
            break;
        at = parent;
    }
    *out =
        (struct sl_launcher){.pid = at.pid, .is_copied = is_copied, .start_ticks = at.start_ticks};
    out->rank_start_ticks = rank_start_ticks ? rank_start_ticks : at.start_ticks;
}

static uint64_t now_ns(clockid_t clock)
{
    struct timespec t = {0, 0};

    clock_gettime(clock, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

uint64_t sl_launcher_start_ns(uint64_t start_ticks)
{
    uint64_t per_second = (uint64_t)sysconf(_SC_CLK_TCK), age_ns = now_ns(CLOCK_BOOTTIME);
    uint64_t start_ns = start_ticks * (1000000000 / (per_second ? per_second : 100));

    if (!start_ns || start_ns > age_ns)
        return 0;
    return now_ns(CLOCK_REALTIME) - (age_ns - start_ns);
}
