/*
 * et_ids.h - the ids of a Chakra trace as numbers below 2^29, so that sets of them are bits.
 *
 * A small id is its own slot. Of the large ones (some writers count from 2^32 on, or take hashes)
 * each has the next of the topmost slots, until there is none left.
 *
 * Threads: one owner. Memory: none for small ids; 40 to 72 bytes for a large one, 160 MiB at the
 * very most, and 64 more for a moment.
 */
#ifndef SL_CHECK_ET_IDS_H
#define SL_CHECK_ET_IDS_H

#include "sync/store.h"

#define SL_ET_IDS       (1ull << 29)
#define SL_ET_IDS_LARGE (1ull << 22) /* of large ids */
#define SL_ET_IDS_SMALL (SL_ET_IDS - SL_ET_IDS_LARGE)
#define SL_ET_IDS_NONE  UINT64_MAX

struct sl_et_ids {
    struct sl_store store;
    struct sl_map place; /* key of a large id -> 1 + its place in `large` */
    uint64_t *large;
    uint64_t used;
};

/* 0 or -ENOMEM. */
int sl_et_ids_init(struct sl_et_ids *ids);
void sl_et_ids_free(struct sl_et_ids *ids); /* one of zeroes is fine */

/* The id's slot, the same each time; SL_ET_IDS_NONE: it is new, and none is left. */
uint64_t sl_et_ids_slot(struct sl_et_ids *ids, uint64_t id);
/* The same, but SL_ET_IDS_NONE for one that never had a slot. */
uint64_t sl_et_ids_find(const struct sl_et_ids *ids, uint64_t id);
/* Of a slot that was given. */
uint64_t sl_et_ids_id(const struct sl_et_ids *ids, uint64_t slot);

#endif
