/*
 * sink_file.c - bytes into NAME.part, which becomes NAME when it is complete.
 *
 * Threads: one owner. Memory: the sink is the opener's until close, which frees it.
 *
 * When a write fails, what fitted stays: a reader takes a frame that was cut as it takes that of a
 * killed process.
 */
#include "write/sink/sink.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/new_file.h"

struct file_sink {
    struct sl_sink sink; /* first: a sink is cast to this */
    int fd;
    int error;
    char path[PATH_MAX]; /* the name the file has now */
    size_t final_length; /* of the name without .part */
};

static const char part[] = ".part";

/* Makes the folders above `path`, ours alone to read. */
static int make_parents(const char *path)
{
    char folder[PATH_MAX];
    char *slash;

    snprintf(folder, sizeof(folder), "%s", path);
    for (slash = strchr(folder + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = 0;
        if (mkdir(folder, 0700) != 0 && errno != EEXIST) {
            int error = errno;
            struct stat st;

            /* A read-only file system says so even for folders that exist. */
            if (stat(folder, &st) != 0 || !S_ISDIR(st.st_mode))
                return -error;
        }
        *slash = '/';
    }
    return 0;
}

static int file_write(struct sl_sink *sink, const void *data, size_t size)
{
    struct file_sink *f = (struct file_sink *)sink;
    const char *at = data;

    if (f->error)
        return f->error;
    while (size > 0) {
        ssize_t n = write(f->fd, at, size);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0) {
            f->error = n < 0 ? -errno : -ENOSPC;
            return f->error;
        }
        at += n;
        size -= (size_t)n;
    }
    return 0;
}

static int file_sync(struct sl_sink *sink)
{
    return ((struct file_sink *)sink)->error;
}

/* Never replaces a file: containers repeat host, rank and pid. */
static int rename_new(const char *from, const char *to)
{
    struct stat st;

    if (renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE) == 0)
        return 0;
    if (errno != EINVAL && errno != ENOSYS)
        return -errno;
    /* This file system cannot refuse to replace (NFS). */
    if (lstat(to, &st) == 0)
        return -EEXIST;
    return rename(from, to) == 0 ? 0 : -errno;
}

static int file_close(struct sl_sink *sink, int complete)
{
    struct file_sink *f = (struct file_sink *)sink;
    int error = f->error;

    /* Some file systems tell of a full disk only here. */
    if (close(f->fd) != 0 && errno != EINTR && !error)
        error = -errno;
    if (complete && !error) {
        char to[PATH_MAX];

        memcpy(to, f->path, f->final_length);
        to[f->final_length] = 0;
        error = rename_new(f->path, to);
    }
    free(f);
    return error;
}

int sl_sink_file_open(struct sl_sink **out, const char *path)
{
    struct file_sink *f;
    struct stat st;
    int error;

    if (strlen(path) + sizeof(part) > sizeof(f->path))
        return -ENAMETOOLONG;
    error = make_parents(path);
    if (error)
        return error;
    if (lstat(path, &st) == 0)
        return -EEXIST;
    f = calloc(1, sizeof(*f));
    if (!f)
        return -ENOMEM;
    f->final_length = strlen(path);
    snprintf(f->path, sizeof(f->path), "%s%s", path, part);
    f->fd = sl_new_file_open(f->path);
    if (f->fd < 0) {
        error = f->fd;
        goto fail_open;
    }
    /* A limit on file sizes raises SIGXFSZ; the writer thread blocks it like every signal. */
    f->sink.write = file_write;
    f->sink.sync = file_sync;
    f->sink.close = file_close;
    *out = &f->sink;
    return 0;

fail_open:
    free(f);
    return error;
}

const char *sl_sink_file_path(const struct sl_sink *sink)
{
    return ((const struct file_sink *)sink)->path;
}
