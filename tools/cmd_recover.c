/*
 * cmd_recover.c - `syncline recover`: completes the traces that a killed job left.
 *
 * This source file finds the traces, and the functions in convert/ complete each trace.
 *
 * Threads: main. Memory: none.
 */
#include <dirent.h>
#include <errno.h>
#include <fts.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "command.h"
#include "convert/request.h"
#include "print/format.h"
#include "read/et_file.h"

enum {
    OPT_FORCE
};

/* A job writes its trace once a second. If a trace of another machine was last written more than
 * this number of seconds ago, its job has ended. */
#define QUIET_S 60

static const struct sl_flag options[] = {
    [OPT_FORCE] = {"force", 'f', NULL, "also complete files that may still be written"},
    {NULL, 0, NULL, NULL},
};

struct recovery {
    const struct sl_command *command;
    int force;
    uint64_t completed, removed;
    int status; /* the worst exit status so far */
};

static void note_status(struct recovery *r, int status)
{
    if (status > r->status)
        r->status = status;
}

static int ends_with(const char *text, const char *end)
{
    size_t size = strlen(text), end_size = strlen(end);

    return size >= end_size && strcmp(text + size - end_size, end) == 0;
}

/* ---- test whether a job still writes a file ---- */

/* Returns 1 if the process has the file open. Returns 0 if the process has not opened the file or
 * has ended. Returns -1 if the process cannot be inspected. */
static int is_open_in(long pid, const struct stat *file)
{
    char folder[64], path[sizeof(folder) + NAME_MAX + 2];
    struct dirent *entry;
    struct stat st;
    int found = 0;
    DIR *d;

    if (kill((pid_t)pid, 0) != 0 && errno == ESRCH)
        return 0;
    snprintf(folder, sizeof(folder), "/proc/%ld/fd", pid);
    d = opendir(folder);
    if (!d)
        return -1;
    while (!found && (entry = readdir(d)) != NULL) {
        snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name);
        found = stat(path, &st) == 0 && st.st_dev == file->st_dev && st.st_ino == file->st_ino;
    }
    closedir(d);
    return found;
}

/* Returns whether a job still writes the file. The folder of the file is called HOST-RANK-PID or
 * HOST-RANK-PID-N, after the process that writes it. If this is a process of this host, its open
 * descriptors give the answer. Otherwise the time of the last write gives the answer. */
static int is_written(const char *path, const struct stat *file)
{
    char real[PATH_MAX], host[256], *slash;
    size_t length;
    long pid;
    int is_open;

    if (!realpath(path, real))
        return 0;
    slash = strrchr(real, '/');
    *slash = '\0';
    slash = strrchr(real, '/');
    length = slash && gethostname(host, sizeof(host)) == 0 ? strlen(host) : 0;
    if (length && strncmp(slash + 1, host, length) == 0 &&
        sscanf(slash + 1 + length, "-%*d-%ld", &pid) == 1 && pid > 0) {
        is_open = is_open_in(pid, file);
        if (is_open >= 0)
            return is_open;
    }
    return time(NULL) - file->st_mtime < QUIET_S;
}

/* ---- completing of one file ---- */

/* Writes `output` from `input`, with the compression that the suffix of `name` means. Returns the
 * exit status: SL_EXIT_PROBLEM if the input was truncated. */
static int complete(const struct recovery *r, const char *input, const char *name,
                    const char *output)
{
    struct sl_convert_request request = {.command = r->command, .input = input, .output = output};

    if (ends_with(name, ".zst")) {
        request.compression = SL_COMPRESS_ZSTD;
        request.level = 3;
    } else if (ends_with(name, ".gz")) {
        request.compression = SL_COMPRESS_GZIP;
        request.level = 6;
    }
    return sl_et_is_file(input) ? sl_convert_et(&request) : sl_convert_kineto(&request);
}

/* Completes NAME.part as NAME. */
static void recover_part(struct recovery *r, const char *path, const struct stat *file)
{
    char name[PATH_MAX];
    int status;

    if (!r->force && is_written(path, file)) {
        note_status(r, sl_args_problem(r->command,
                                       "%s is still being written: its job runs; try again when "
                                       "it has ended (--force completes it now)",
                                       path));
        return;
    }
    snprintf(name, sizeof(name), "%.*s", (int)(strlen(path) - strlen(".part")), path);
    if (access(name, F_OK) == 0) {
        note_status(r, sl_args_problem(r->command,
                                       "%s exists already, so %s is left as it is: remove one of "
                                       "the two",
                                       name, path));
        return;
    }
    if (file->st_size == 0) {
        if (unlink(path) == 0) {
            printf("%s was empty and is removed\n", path);
            r->removed++;
        }
        return;
    }
    status = complete(r, path, name, name);
    if (status == SL_EXIT_USAGE) {
        note_status(r, status);
        return;
    }
    if (unlink(path) != 0)
        note_status(r, sl_args_problem(r->command, "%s is complete, but %s cannot be removed: %s",
                                       name, path, strerror(errno)));
    printf("%s is complete\n", name);
    r->completed++;
}

/* Handles a file whose name does not end in .part. An interrupted copy is completed in place. A
 * complete file stays unchanged. */
static void recover_in_place(struct recovery *r, const char *path)
{
    char output[PATH_MAX];
    int status;

    if (snprintf(output, sizeof(output), "%s.recovered", path) >= (int)sizeof(output)) {
        note_status(r, sl_args_complain(r->command, "%s: the name is too long", path));
        return;
    }
    status = complete(r, path, path, output);
    if (status == SL_EXIT_USAGE) {
        note_status(r, status);
        return;
    }
    if (status == SL_EXIT_OK) {
        unlink(output);
        printf("%s was complete already\n", path);
        return;
    }
    if (rename(output, path) != 0) {
        note_status(r, sl_args_complain(r->command, "cannot rename %s to %s: %s", output, path,
                                        strerror(errno)));
        return;
    }
    printf("%s is complete\n", path);
    r->completed++;
}

static int is_trace_part(const char *name)
{
    return ends_with(name, ".part") && (strstr(name, ".json") || strstr(name, ".et"));
}

/* ---- search for files in the given paths ---- */

static void recover_path(struct recovery *r, char *path)
{
    char *const paths[] = {path, NULL};
    FTS *walk = fts_open(paths, FTS_PHYSICAL | FTS_COMFOLLOW | FTS_NOCHDIR, NULL);
    FTSENT *entry;

    if (!walk) {
        note_status(r, sl_args_complain(r->command, "cannot search %s: %s", path, strerror(errno)));
        return;
    }
    while ((entry = fts_read(walk)) != NULL) {
        if (entry->fts_info == FTS_DNR || entry->fts_info == FTS_ERR || entry->fts_info == FTS_NS)
            note_status(r, sl_args_complain(r->command, "cannot read %s: %s", entry->fts_path,
                                            strerror(entry->fts_errno)));
        if (entry->fts_info != FTS_F)
            continue;
        if (is_trace_part(entry->fts_name))
            recover_part(r, entry->fts_accpath, entry->fts_statp);
        else if (entry->fts_level == FTS_ROOTLEVEL)
            recover_in_place(r, entry->fts_accpath);
    }
    fts_close(walk);
}

static int run(const struct sl_args *args)
{
    struct recovery r = {.command = args->command, .force = args->value[OPT_FORCE] != NULL};

    if (args->operands == 0)
        return sl_args_complain(r.command, "PATH is missing: syncline %s", r.command->usage);
    /* If the output exceeds the limit on file sizes (RLIMIT_FSIZE), the write fails with an error,
     * as on a full disk. Without this call a signal would end the process. */
    signal(SIGXFSZ, SIG_IGN);
    for (int i = 0; i < args->operands; i++)
        recover_path(&r, args->operand[i]);
    if (r.status == SL_EXIT_OK && !r.completed && !r.removed)
        printf("nothing to complete: no trace here ends in .part\n");
    return r.status;
}

const struct sl_command sl_cmd_recover = {
    .name = "recover",
    .summary = "complete the .part files that a killed job left",
    .usage = "recover PATH...",
    .help = sl_help_recover,
    .options = options,
    .operands_max = SL_ARGS_ANY,
    .run = run,
};
