/*
 * et_ids.h - maps the ids of a Chakra trace to slots below 2^29, so that a bit set can hold them.
 *
 * The slot of a small id is the id itself. Large ids occur because some writers count from 2^32 on
 * or use hashes. Each large id gets the next free slot of a range at the top, until no slot is
 * left.
 *
 * Threads: one owner. Memory: none for small ids; 40 to 72 bytes for each large id, at most 160
 * MiB, and another 64 MiB while the map grows.
 */
#ifndef SL_CHECK_ET_IDS_H
#define SL_CHECK_ET_IDS_H

#include "base/store.h"

#define SL_ET_IDS       (1ull << 29)
#define SL_ET_IDS_LARGE (1ull << 22) /* slots for large ids */
#define SL_ET_IDS_SMALL (SL_ET_IDS - SL_ET_IDS_LARGE)
#define SL_ET_IDS_NONE  UINT64_MAX

struct sl_et_ids {
    struct sl_store store;
    struct sl_map place; /* key of a large id -> 1 + its index in `large` */
    uint64_t *large;
    uint64_t used;
};

/* 0 or -ENOMEM. */
int sl_et_ids_init(struct sl_et_ids *ids);
void sl_et_ids_free(struct sl_et_ids *ids); /* a zeroed struct is fine */

/* Returns the slot of the id. An id has the same slot in all calls. Returns SL_ET_IDS_NONE if the
 * id is new and no slot is left. */
uint64_t sl_et_ids_slot(struct sl_et_ids *ids, uint64_t id);
/* Returns the slot of the id, or SL_ET_IDS_NONE if the id has no slot. */
uint64_t sl_et_ids_find(const struct sl_et_ids *ids, uint64_t id);
/* Returns the id of a slot that sl_et_ids_slot() returned. */
uint64_t sl_et_ids_id(const struct sl_et_ids *ids, uint64_t slot);

#endif
