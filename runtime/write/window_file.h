/*
 * window_file.h - a file that an output writes for a window.
 *
 * FOLDER/WINDOW<ending>, or FOLDER/WINDOW-OPENED_NS<ending> if that name is taken: in containers
 * another process may have the same host name, rank and pid.
 *
 * Threads: one owner. Memory: the owner's; the sink's own.
 */
#ifndef SL_WINDOW_FILE_H
#define SL_WINDOW_FILE_H

#include <limits.h>
#include <stddef.h>
#include <stdint.h>

#include "write/sink/sink.h"
#include "write/trace_meta.h"

struct sl_window_file_options {
    const char *folder; /* <output>/<job>/<host>-<rank>-<pid>; borrowed */
    enum sl_compression compression;
    int level;
    char ending[32]; /* without the compression's */
};

struct sl_window_file {
    struct sl_sink *sink; /* NULL: not open */
    int is_unsynced;
    uint64_t unsynced_ns;
    size_t stem; /* length of the path before the ending */
    char path[PATH_MAX];
};

/* 0 or -errno; the path is set either way. */
int sl_window_file_open(struct sl_window_file *f, const struct sl_window_file_options *opt,
                        const struct sl_trace_meta *meta);

/* Something was given that is not on the disk: it is due for a sync in a second. */
void sl_window_file_touch(struct sl_window_file *f);

/* 1: sync now. 0: not yet; *due_ns: in so many ns, UINT64_MAX: nothing waits for it. */
int sl_window_file_is_due(struct sl_window_file *f, uint64_t *due_ns);

/* As sl_sink's close; nothing without an open file. */
int sl_window_file_close(struct sl_window_file *f, int complete);

#endif
