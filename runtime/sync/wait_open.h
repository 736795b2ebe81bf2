/*
 * wait_open.h - waits whose return is still to come, in order of it: one for each thread that waits
 * at the same time.
 *
 * Threads: one owner. Memory: of the store, as many as there ever were at once.
 */
#ifndef SL_WAIT_OPEN_H
#define SL_WAIT_OPEN_H

#include "sync/wait.h"

/* 0, or -ENOMEM. Takes the wait. */
int sl_open_add(struct sl_open *o, struct sl_store *store, const struct sl_wait *wait);
/* The first to return, if it did by `ns`. 1: it is taken out, and the caller's. */
int sl_open_take(struct sl_open *o, uint64_t ns, struct sl_wait *out);
/* None is open any more; their sets are the caller's to clear before. */
void sl_open_forget(struct sl_open *o, struct sl_store *store);

/* When the first of them began, or earlier; UINT64_MAX: there is none. */
uint64_t sl_open_since(const struct sl_open *o);
/* One of them may have come before the second of two operations was tied (0: not known when), and
 * returns when the first was over and the second was not; 0: an end that is not known. */
int sl_open_between(const struct sl_open *o, uint64_t second_tied_ns, uint64_t first_end_ns,
                    uint64_t second_end_ns);

#endif
