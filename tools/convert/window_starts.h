/*
 * window_starts.h - finds the time at which a window began on the first of a job's ranks.
 *
 * Execution traces of several ranks are replayed together only if their times have one base. A
 * window has the same file name on all ranks. It begins at the same step or time on all of them,
 * but not in the same nanosecond.
 *
 * Threads: main only. Memory: one number a file; the paths are borrowed.
 */
#ifndef SL_CONVERT_WINDOW_STARTS_H
#define SL_CONVERT_WINDOW_STARTS_H

#include <stddef.h>
#include <stdint.h>

struct sl_window_starts {
    char *const *path;
    int64_t *start_ns; /* in ns since the epoch; 0: not a syncline trace */
    size_t count;
};

/* Reads the headers of the traces. Returns 0 or -ENOMEM. */
int sl_window_starts_read(struct sl_window_starts *w, char *const *path, size_t count);
void sl_window_starts_free(struct sl_window_starts *w);

/* Returns the earliest start among the traces with the file name of `path`, or 0 if none has one.
 */
int64_t sl_window_starts_earliest(const struct sl_window_starts *w, const char *path);

#endif
