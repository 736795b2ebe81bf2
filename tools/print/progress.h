/*
 * progress.h - one line on the terminal while work takes longer than a second.
 *
 * Nothing is written when stderr is no terminal. The line overwrites itself and is gone when the
 * work is done.
 *
 * Threads: one owner. Memory: plain data.
 */
#ifndef SL_PROGRESS_H
#define SL_PROGRESS_H

#include <stdint.h>

struct sl_progress {
    const char *what; /* "checking FILE" */
    int on;           /* stderr is a terminal */
    int shown;
    uint64_t started_ns, next_ns;
};

void sl_progress_begin(struct sl_progress *p, const char *what);
/* `done` of `total` bytes (0 = unknown). Cheap: call it per block or per few thousand events. */
void sl_progress_step(struct sl_progress *p, uint64_t done, uint64_t total);
void sl_progress_end(struct sl_progress *p);

#endif
