/*
 * cmd_recover.c - `syncline recover`: completes the traces that a killed job left.
 *
 * This source file finds the traces, and the functions in convert/ complete each trace.
 *
 * Threads: main. Memory: none.
 */
#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <limits.h>
#include <linux/magic.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#include "command.h"
#include "convert/request.h"
#include "print/format.h"
#include "read/et_file.h"

enum {
    OPT_FORCE
};

/* If a trace on a network file system was last written more than this number of seconds ago, its
 * job counts as ended. A job without GPU work writes nothing. */
#define QUIET_S 600

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

/* Returns whether the file system is of this machine, so that a lock of any process on it shows. */
static int is_local(int fd)
{
    static const long kinds[] = {EXT4_SUPER_MAGIC, XFS_SUPER_MAGIC,       BTRFS_SUPER_MAGIC,
                                 TMPFS_MAGIC,      OVERLAYFS_SUPER_MAGIC, F2FS_SUPER_MAGIC};
    struct statfs st;

    if (fstatfs(fd, &st) != 0)
        return 0;
    for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
        if (st.f_type == kinds[i])
            return 1;
    return 0;
}

enum claim {
    CLAIMED,
    WRITTEN, /* a job writes the file, or another command completes it */
    GONE     /* another command has completed or removed the file */
};

/* Locks the file against other commands, and returns whether a process still uses the file. A job
 * holds a lock on the file while it writes. A network file system may not show the lock of another
 * machine. There, the time of the last write decides, if the file is not locked. Writes a
 * descriptor to *fd, which the caller closes if it is not negative. */
static enum claim claim(const char *path, const struct stat *file, int *fd)
{
    int failed, is_locked;
    struct stat st;

    *fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (*fd < 0)
        return errno == ENOENT ? GONE : CLAIMED; /* the error is reported when the file is read */
    failed = flock(*fd, LOCK_EX | LOCK_NB);
    if (failed && errno == EBADF) /* NFS locks only files that are open for writing */
        failed = flock(*fd, LOCK_SH | LOCK_NB);
    is_locked = failed && errno == EWOULDBLOCK;
    if (fstat(*fd, &st) == 0 && st.st_nlink == 0)
        return GONE;
    if (is_locked)
        return WRITTEN;
    return (failed || !is_local(*fd)) && time(NULL) - file->st_mtime < QUIET_S ? WRITTEN : CLAIMED;
}

static void release(int fd)
{
    if (fd >= 0)
        close(fd);
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

/* Gives the new file the mode and, if we may, the owner of the old one. */
static void keep_owner(const char *name, const struct stat *old)
{
    if (geteuid() == 0 && chown(name, old->st_uid, old->st_gid) != 0)
        return;
    (void)chmod(name, old->st_mode & 0777);
}

/* Completes NAME.part, which no other process uses, as NAME. */
static void complete_part(struct recovery *r, const char *path, const struct stat *file)
{
    char name[PATH_MAX];
    int status;

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
    keep_owner(name, file);
    if (unlink(path) != 0)
        note_status(r, sl_args_problem(r->command, "%s is complete, but %s cannot be removed: %s",
                                       name, path, strerror(errno)));
    printf("%s is complete\n", name);
    r->completed++;
}

static void recover_part(struct recovery *r, const char *path, const struct stat *file)
{
    int fd;
    enum claim claimed = claim(path, file, &fd);

    if (claimed == GONE) {
        printf("%s was completed by another command meanwhile\n", path);
        r->completed++;
    } else if (claimed == WRITTEN && !r->force) {
        note_status(r, sl_args_problem(r->command,
                                       "%s is still being written: its job runs, or another "
                                       "`syncline recover` completes it; try again when that has "
                                       "ended (--force completes it now)",
                                       path));
    } else {
        complete_part(r, path, file);
    }
    release(fd);
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

/* Returns whether the first `size` bytes are the name of a trace. */
static int is_trace(const char *name, size_t size)
{
    static const char *const ends[] = {".pt.trace.json", ".et"};
    static const char *const packed[] = {"", ".zst", ".gz"};
    char copy[NAME_MAX + 1], end[32];

    snprintf(copy, sizeof(copy), "%.*s", (int)size, name);
    for (size_t i = 0; i < 6; i++) {
        snprintf(end, sizeof(end), "%s%s", ends[i / 3], packed[i % 3]);
        if (ends_with(copy, end))
            return 1;
    }
    return 0;
}

static int is_trace_part(const char *name)
{
    return ends_with(name, ".part") && is_trace(name, strlen(name) - strlen(".part"));
}

/* Returns whether the file is NAME.PID.part, which an interrupted `syncline` command left beside
 * the trace that it read. */
static int is_left_over(const char *name)
{
    size_t size = ends_with(name, ".part") ? strlen(name) - strlen(".part") : 0, digits = 0;

    while (digits < size && name[size - digits - 1] >= '0' && name[size - digits - 1] <= '9')
        digits++;
    return digits && digits + 1 < size && name[size - digits - 1] == '.' &&
           is_trace(name, size - digits - 1);
}

static void remove_left_over(struct recovery *r, const char *path, const struct stat *file)
{
    int fd;

    if (claim(path, file, &fd) == CLAIMED && unlink(path) == 0) {
        printf("%s was left by an interrupted command and is removed\n", path);
        r->removed++;
    }
    release(fd);
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
        if (is_left_over(entry->fts_name))
            remove_left_over(r, entry->fts_accpath, entry->fts_statp);
        else if (is_trace_part(entry->fts_name) ||
                 (entry->fts_level == FTS_ROOTLEVEL && ends_with(entry->fts_name, ".part")))
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
