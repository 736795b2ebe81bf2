/*
 * thread_ids.h - maps a file's thread ids to the 32 bits that an event holds.
 *
 * Ids from 1 to 2^31 - 1 stay unchanged; ids of the operating system are below 2^22. Other ids get
 * new numbers from 2^31 on. Some writers use pthread_self(), which has 47 bits, and torch.profiler
 * uses negative ids for threads that PyTorch does not know.
 *
 * Threads: one owner. Memory: at most 8 MiB.
 */
#ifndef SL_THREAD_IDS_H
#define SL_THREAD_IDS_H

#include <stdint.h>

#include "base/store.h"

#define SL_THREAD_IDS_MOST 100000u /* maximum number of ids that can get a new number */

struct sl_thread_ids {
    struct sl_store store;
    struct sl_map of; /* maps the key of a thread id to its 32-bit number */
    int64_t *id;      /* original id of each new number - 2^31; NULL until the first */
    uint32_t count;
};

void sl_thread_ids_init(struct sl_thread_ids *t);
void sl_thread_ids_free(struct sl_thread_ids *t);

/* Returns the 32-bit number for a thread id of the file. If the id needs a new number and the table
 * is full, returns 0, which is no thread. */
uint32_t sl_thread_ids_put(struct sl_thread_ids *t, int64_t id);

/* Returns the file's id for a number that sl_thread_ids_put() returned. */
int64_t sl_thread_ids_get(const struct sl_thread_ids *t, uint32_t thread);

#endif
