/*
 * sink_file.c - writes bytes to NAME.part, which is renamed to NAME when it is complete.
 *
 * Threads: one owner. Memory: the sink, which close frees.
 *
 * If a write fails, the file keeps the part that was readable after the last sync. If no part is
 * readable, the file is removed.
 */
#include "write/sink/sink.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/own_file.h"
#include "base/pages.h"

struct file_sink {
    struct sl_sink sink; /* must be first, because a sink is cast to this struct */
    struct sl_own_file file;
    int error;
    /* `bytes`: number of bytes written. `synced`: number of bytes that were readable after the last
     * sync. */
    uint64_t bytes, synced;
    char path[PATH_MAX]; /* the file's current name */
    size_t final_length; /* length of the name without .part */
};

static const char part[] = ".part";

/* Creates the folders above `path`, readable only by us. */
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

            /* Some file systems return another error than EEXIST for an existing folder, so the
             * code checks whether the folder exists. */
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
    struct iovec all = {(void *)(uintptr_t)data, size}; /* writev() only reads the data */

    if (!f->error && size > 0)
        f->error = sl_own_file_write(&f->file, &all, 1);
    if (!f->error)
        f->bytes += size;
    return f->error;
}

static int file_sync(struct sl_sink *sink)
{
    struct file_sink *f = (struct file_sink *)sink;

    if (!f->error)
        f->synced = f->bytes;
    return f->error;
}

/* Called after an error. Truncates the file, so that it does not end inside a frame. */
static void cut(struct file_sink *f)
{
    if (f->synced)
        sl_own_file_truncate(&f->file, f->synced);
    else
        sl_own_file_unlink(&f->file, f->path);
}

static int file_close(struct sl_sink *sink, int complete)
{
    struct file_sink *f = (struct file_sink *)sink;
    int closed, error;

    if (f->error && f->error != -EBADF) /* a file that the host closed or replaced is not changed */
        cut(f);
    else if ((f->error || !complete) && !f->bytes)
        sl_own_file_unlink(&f->file, f->path);
    closed = sl_own_file_close(&f->file);
    error = f->error ? f->error : closed;

    if (complete && !error) {
        char to[PATH_MAX];

        /* The rename never replaces an existing file, because processes in two containers may have
         * equal host names, ranks and pids. */
        memcpy(to, f->path, f->final_length);
        to[f->final_length] = 0;
        error = sl_own_file_rename(&f->file, f->path, to);
    }
    sl_pages_unmap(f, sizeof(*f));
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
    f = sl_pages_map(sizeof(*f));
    if (!f)
        return -ENOMEM;
    f->final_length = strlen(path);
    snprintf(f->path, sizeof(f->path), "%s%s", path, part);
    error = sl_own_file_open(&f->file, f->path);
    if (error)
        goto fail_open;
    /* A write beyond a limit on file sizes raises SIGXFSZ. The writer thread blocks this signal,
     * because it blocks every signal. */
    f->sink.write = file_write;
    f->sink.sync = file_sync;
    f->sink.close = file_close;
    *out = &f->sink;
    return 0;

fail_open:
    sl_pages_unmap(f, sizeof(*f));
    return error;
}
