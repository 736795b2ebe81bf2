/*
 * window_file.h - opens, syncs and closes a file that an output writes for a window.
 *
 * Its name is FOLDER/WINDOW<ending>. If that name is taken, it is FOLDER/WINDOW-OPENED_NS<ending>,
 * because in containers another process may have the same host name, rank and pid.
 *
 * Threads: one owner. Memory: the owner's, and that of the sink.
 */
#ifndef SL_WINDOW_FILE_H
#define SL_WINDOW_FILE_H

#include <limits.h>
#include <stddef.h>
#include <stdint.h>

#include "write/disk.h"
#include "write/sink/sink.h"
#include "write/trace_meta.h"

struct sl_window_file_options {
    const char *folder; /* <output>/<job>/<host>-<rank>-<pid>; borrowed */
    enum sl_compression compression;
    int level;
    char ending[32];      /* without the compression's */
    struct sl_disk *disk; /* told of complete files; NULL: nobody is */
};

struct sl_window_file {
    struct sl_sink *sink; /* NULL: not open */
    struct sl_disk *disk;
    uint32_t window;
    int is_unsynced;
    uint64_t unsynced_ns;
    unsigned syncs; /* how many there were; counts up to those that come early */
    size_t stem;    /* length of the path before the ending */
    char path[PATH_MAX];
};

/* Returns 0 or -errno; the path is set in both cases. */
int sl_window_file_open(struct sl_window_file *f, const struct sl_window_file_options *opt,
                        const struct sl_trace_meta *meta);

/* Notes that data was written but is not on the disk. The file is then due for a sync in a second;
 * for the first data of a file at once, then in 50 and in 200 ms. */
void sl_window_file_touch(struct sl_window_file *f);

/* Returns 1 if a sync is due now. Otherwise returns 0 and writes the time left in ns to *due_ns,
 * UINT64_MAX if all data is on the disk. */
int sl_window_file_is_due(struct sl_window_file *f, uint64_t *due_ns);

/* Bytes in the file so far; 0: it is not open. */
uint64_t sl_window_file_bytes(const struct sl_window_file *f);

/* 1: the file was closed before it was complete, and keeps a part of the window as .part. */
int sl_window_file_has_part(const struct sl_window_file *f);

/* As the close function of struct sl_sink. Does nothing if no file is open. */
int sl_window_file_close(struct sl_window_file *f, int complete);

#endif
