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

#include "base/folder.h"
#include "base/pages.h"

struct file_sink {
    struct sl_sink sink; /* must be first, because a sink is cast to this struct */
    struct sl_folder *folder;
    struct sl_own_file file;
    int is_created;
    int error;
    /* `bytes`: number of bytes written. `synced`: number of bytes that were readable after the last
     * sync. */
    uint64_t bytes, synced;
    char name[NAME_MAX + 1]; /* the file's current name */
    size_t final_length;     /* length of the name without .part */
};

static const char part[] = ".part";

/* Creates the file once its first bytes are there, so that a process that is killed early leaves no
 * empty file. */
static int create(struct file_sink *f)
{
    int error = sl_folder_create(f->folder, &f->file, f->name);

    f->is_created = error == 0;
    return error;
}

static int file_write(struct sl_sink *sink, const void *data, size_t size)
{
    struct file_sink *f = (struct file_sink *)sink;
    struct iovec all = {(void *)(uintptr_t)data, size}; /* writev() only reads the data */

    if (!f->error && size > 0 && !f->is_created)
        f->error = create(f);
    if (!f->error && size > 0)
        f->error = sl_own_file_write(&f->file, &all, 1);
    if (!f->error) {
        f->bytes += size;
        f->folder->written_bytes += size;
    }
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
        sl_folder_unlink(f->folder, &f->file, f->name);
}

static int file_close(struct sl_sink *sink, int complete)
{
    struct file_sink *f = (struct file_sink *)sink;
    int closed = 0, error;

    if (complete && !f->error && !f->is_created)
        f->error = create(f); /* a complete file may be empty */
    if (f->error && f->error != -EBADF && f->is_created)
        cut(f); /* a file that the host closed or replaced is not changed */
    if (f->is_created)
        closed = sl_own_file_close(&f->file);
    error = f->error ? f->error : closed;

    if (complete && !error) {
        char to[sizeof(f->name)];

        memcpy(to, f->name, f->final_length);
        to[f->final_length] = 0;
        error = sl_folder_rename(f->folder, &f->file, f->name, to); /* never replaces a file */
    }
    sl_pages_unmap(f, sizeof(*f));
    return error;
}

int sl_sink_file_open(struct sl_sink **out, struct sl_folder *folder, const char *name)
{
    struct file_sink *f;

    if (strlen(name) + sizeof(part) > sizeof(f->name))
        return -ENAMETOOLONG;
    f = sl_pages_map(sizeof(*f));
    if (!f)
        return -ENOMEM;
    f->folder = folder;
    f->final_length = strlen(name);
    snprintf(f->name, sizeof(f->name), "%s%s", name, part);
    /* A write beyond a limit on file sizes raises SIGXFSZ. The writer thread blocks this signal,
     * because it blocks every signal. */
    f->sink.write = file_write;
    f->sink.sync = file_sync;
    f->sink.close = file_close;
    *out = &f->sink;
    return 0;
}
