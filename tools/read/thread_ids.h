/*
 * thread_ids.h - a file's thread ids as the 32 bits that events have room for.
 *
 * The system's are below 2^22 and stay what they are, as do all of 1 to 2^31 - 1. Others may take
 * pthread_self(), of 47 bits, and torch.profiler's of threads that PyTorch does not know may be
 * below 0: these get numbers of their own from 2^31 on.
 *
 * Threads: one owner. Memory: at most 8 MiB.
 */
#ifndef SL_THREAD_IDS_H
#define SL_THREAD_IDS_H

#include <stdint.h>

#include "sync/store.h"

#define SL_THREAD_IDS_MOST 100000u /* that get a number of their own */

struct sl_thread_ids {
    struct sl_store store;
    struct sl_map of; /* what an id's key is -> its number */
    int64_t *id;      /* by number, from 2^31 on; NULL: none yet */
    uint32_t count;
};

void sl_thread_ids_init(struct sl_thread_ids *t);
void sl_thread_ids_free(struct sl_thread_ids *t);

/* Never 0, which is no thread; but for ids without a number when there is room for no more. */
uint32_t sl_thread_ids_put(struct sl_thread_ids *t, int64_t id);

/* As the file has it, of a number that was given. */
int64_t sl_thread_ids_get(const struct sl_thread_ids *t, uint32_t thread);

#endif
