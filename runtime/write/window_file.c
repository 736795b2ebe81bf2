/*
 * window_file.c - opens, syncs and closes a file that an output writes for a window.
 *
 * Threads, memory: see window_file.h.
 */
#include "write/window_file.h"

#include <errno.h>
#include <stdio.h>

#include "base/clock.h"

#define SYNC_NS 1000000000u /* a killed process loses at most the data of this time */

static int open_chain(struct sl_window_file *f, const struct sl_window_file_options *opt)
{
    static const char *const suffix[] = {
        [SL_COMPRESS_NONE] = "", [SL_COMPRESS_ZSTD] = ".zst", [SL_COMPRESS_GZIP] = ".gz"};
    struct sl_sink *file;
    int error;

    if (f->stem < sizeof(f->path))
        snprintf(f->path + f->stem, sizeof(f->path) - f->stem, "%s%s", opt->ending,
                 suffix[opt->compression]);
    error = sl_sink_file_open(&file, f->path);
    if (error)
        return error;
    error = sl_sink_compress_open(&f->sink, file, opt->compression, opt->level);
    if (error) {
        f->sink = NULL;
        file->close(file, 0);
    }
    return error;
}

int sl_window_file_open(struct sl_window_file *f, const struct sl_window_file_options *opt,
                        const struct sl_trace_meta *meta)
{
    int error;

    f->is_unsynced = 0;
    f->stem = (size_t)snprintf(f->path, sizeof(f->path), "%s/%u", opt->folder, meta->window);
    error = open_chain(f, opt);
    if (error != -EEXIST)
        return error;
    f->stem = (size_t)snprintf(f->path, sizeof(f->path), "%s/%u-%llu", opt->folder, meta->window,
                               (unsigned long long)meta->opened_ns);
    return open_chain(f, opt);
}

void sl_window_file_touch(struct sl_window_file *f)
{
    if (!f->sink || f->is_unsynced)
        return;
    f->is_unsynced = 1;
    f->unsynced_ns = sl_clock_monotonic();
}

int sl_window_file_is_due(struct sl_window_file *f, uint64_t *due_ns)
{
    uint64_t age = f->is_unsynced ? sl_clock_monotonic() - f->unsynced_ns : 0;

    *due_ns = UINT64_MAX;
    if (!f->sink || !f->is_unsynced)
        return 0;
    if (age < SYNC_NS) {
        *due_ns = SYNC_NS - age;
        return 0;
    }
    f->is_unsynced = 0;
    return 1;
}

int sl_window_file_close(struct sl_window_file *f, int complete)
{
    int error = f->sink ? f->sink->close(f->sink, complete) : 0;

    f->sink = NULL;
    return error;
}
