/*
 * progress.h - shows a progress line on the terminal while work takes longer than a second.
 *
 * Nothing is written if stderr is not a terminal. The line is updated in place and removed when the
 * work is done.
 *
 * Threads: one owner. Memory: plain data.
 */
#ifndef SL_PROGRESS_H
#define SL_PROGRESS_H

#include <stdint.h>

struct sl_progress {
    char what[128]; /* "checking FILE" */
    int on;         /* not 0 if stderr is a terminal */
    int shown;
    unsigned steps;
    uint64_t started_ns, next_ns;
};

/* `what` is a verb such as "reading". `path` is the path of the file, or "". */
void sl_progress_begin(struct sl_progress *p, const char *what, const char *path);
/* Call for each event. Returns 1 when sl_progress_step() is due. */
static inline int sl_progress_is_due(struct sl_progress *p)
{
    return p->on && ++p->steps % 4096 == 0;
}
/* `done` of `total` bytes (0 = unknown). */
void sl_progress_step(struct sl_progress *p, uint64_t done, uint64_t total);
void sl_progress_end(struct sl_progress *p);

#endif
