/*
 * et_ids.c - maps the ids of a Chakra trace to slots below 2^29.
 *
 * Threads, memory: see et_ids.h.
 */
#include "check/et_ids.h"

#include <errno.h>
#include <string.h>

#include "base/pages.h"

#define LARGE_BYTES (SL_ET_IDS_LARGE * sizeof(uint64_t))
/* The memory for the map of all large ids, and for the old map of half the size while the map
 * grows. */
#define MAP_BYTES (SL_ET_IDS_LARGE * 2 * sizeof(struct sl_map_slot) * 3 / 2)

int sl_et_ids_init(struct sl_et_ids *ids)
{
    memset(ids, 0, sizeof(*ids));
    ids->store.cap_bytes = MAP_BYTES;
    sl_map_init(&ids->place, &ids->store);
    ids->large = sl_pages_map(LARGE_BYTES);
    return ids->large ? 0 : -ENOMEM;
}

void sl_et_ids_free(struct sl_et_ids *ids)
{
    if (!ids->large)
        return;
    sl_map_free(&ids->place);
    sl_pages_unmap(ids->large, LARGE_BYTES);
}

/* Returns the map key of an id, which is unique and never 0. The map hashes a key by the middle
 * bits of a product. Without mixing, the upper half of an id would hardly affect these bits. */
static uint64_t key_of(uint64_t id)
{
    return id ^ id >> 32;
}

uint64_t sl_et_ids_find(const struct sl_et_ids *ids, uint64_t id)
{
    const uint64_t *place;

    if (id < SL_ET_IDS_SMALL)
        return id;
    place = sl_map_find(&ids->place, key_of(id));
    return place ? SL_ET_IDS_SMALL + *place - 1 : SL_ET_IDS_NONE;
}

uint64_t sl_et_ids_slot(struct sl_et_ids *ids, uint64_t id)
{
    uint64_t slot = sl_et_ids_find(ids, id), *place;

    if (slot != SL_ET_IDS_NONE || ids->used == SL_ET_IDS_LARGE)
        return slot;
    place = sl_map_put(&ids->place, key_of(id));
    if (!place)
        return SL_ET_IDS_NONE;
    ids->large[ids->used] = id;
    *place = ++ids->used;
    return SL_ET_IDS_SMALL + *place - 1;
}

uint64_t sl_et_ids_id(const struct sl_et_ids *ids, uint64_t slot)
{
    return slot < SL_ET_IDS_SMALL ? slot : ids->large[slot - SL_ET_IDS_SMALL];
}
