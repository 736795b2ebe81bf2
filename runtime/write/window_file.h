/*
 * window_file.h - opens, syncs and closes a file that an output writes for a window.
 *
 * The file's name is FOLDER/WINDOW<ending>. WINDOW is `step-000000501` for a window that begins
 * with step 501, `20261125T183701.250Z` (its begin in UTC) for a window by time, and otherwise the
 * window's number. If somebody has put a file or link with this name into the folder, the name is
 * FOLDER/WINDOW-2<ending>, and so on.
 *
 * Threads: one owner. Memory: the struct belongs to the owner, and the sink has its own memory.
 */
#ifndef SL_WINDOW_FILE_H
#define SL_WINDOW_FILE_H

#include <limits.h>
#include <stddef.h>
#include <stdint.h>

#include "base/folder.h"
#include "write/disk.h"
#include "write/sink/sink.h"
#include "write/trace_meta.h"

struct sl_window_file_options {
    struct sl_folder *folder; /* borrowed; NULL: the output has no file */
    enum sl_compression compression;
    int level;
    int has_rank;    /* 1: the name has the rank before the ending: WINDOW.RANK<ending> */
    char ending[32]; /* ending of the name, without the ending that the compression adds */
    /* limits of the disk (write/disk.h), which count each complete file; NULL if there is no limit
     */
    struct sl_disk *disk;
};

struct sl_window_file {
    struct sl_sink *sink; /* the open file; NULL if no file is open */
    struct sl_folder *folder;
    struct sl_disk *disk;
    uint32_t window;
    int is_unsynced;
    uint64_t unsynced_ns;
    /* number of syncs so far; counted only as long as syncs are early (`wait_ns` in window_file.c)
     */
    unsigned syncs;
    size_t stem; /* length of the path without the ending */
    char path[PATH_MAX];
    const char *name; /* the file's name, at the end of `path` */
};

/* Returns 0 or -errno. The function sets the path in both cases. */
int sl_window_file_open(struct sl_window_file *f, const struct sl_window_file_options *opt,
                        const struct sl_trace_meta *meta);

/* Call after data was written that is not on the disk yet. A sync of the file is then due in 400
 * ms. The first sync of a file is due at once, the second in 50 ms and the third in 200 ms. */
void sl_window_file_touch(struct sl_window_file *f);

/* Returns 1 if a sync is due now. Otherwise returns 0 and writes the time left, in nanoseconds, to
 * *due_ns. Writes UINT64_MAX if all data is on the disk. */
int sl_window_file_is_due(struct sl_window_file *f, uint64_t *due_ns);

/* Returns the number of bytes in the file so far, or 0 if no file is open. */
uint64_t sl_window_file_bytes(const struct sl_window_file *f);

/* Returns 1 if the file was closed before it was complete. A part of the window is then in the file
 * with the .part name. */
int sl_window_file_has_part(const struct sl_window_file *f);

/* Closes the file as the close function of struct sl_sink does. Does nothing if no file is open. */
int sl_window_file_close(struct sl_window_file *f, int complete);

#endif
