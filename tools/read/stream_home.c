/*
 * stream_home.c - finds the context of a stream and the device of a context.
 *
 * Threads, memory: see stream_home.h.
 */
#include "read/stream_home.h"

#include <errno.h>

#include "event/event.h"
#include "sync/stream_state.h"

#define HOME_BYTES    (8u << 20)
#define HOME_STREAMS  100000u /* with these limits the maps stay at most half full */
#define HOME_CONTEXTS 10000u
#define HOME_HANDLES  10000u
#define FIRST_NUMBER  0x40000000u /* of streams with a handle; above CUDA's numbers */
#define SEVERAL       UINT64_MAX

void sl_stream_home_init(struct sl_stream_home *h)
{
    *h = (struct sl_stream_home){.store = {.cap_bytes = HOME_BYTES}};
    sl_map_init(&h->of, &h->store);
    sl_map_init(&h->device, &h->store);
    sl_map_init(&h->handle, &h->store);
}

void sl_stream_home_free(struct sl_stream_home *h)
{
    sl_map_free(&h->of);
    sl_map_free(&h->device);
    sl_map_free(&h->handle);
}

/* Returns the map key of an id. 0 is an empty entry of the map, so keys begin at 1. */
static uint64_t key_of(uint32_t id)
{
    return (uint64_t)id + 1;
}

/* Stores a value for an id. If the id has another value already, the value becomes SEVERAL. The
 * value `unknown` never replaces another value and never counts as different. */
static void note(struct sl_map *m, size_t most, uint32_t id, uint64_t value, uint64_t unknown)
{
    uint64_t *place = m->used < most ? sl_map_put(m, key_of(id)) : sl_map_find(m, key_of(id));

    if (!place || (*place && value == unknown))
        return;
    *place = *place && *place != unknown && *place != value ? SEVERAL : value;
}

void sl_stream_home_see(struct sl_stream_home *h, uint32_t context, uint32_t stream)
{
    uint64_t key = key_of(context);

    if (stream == SL_STREAM_NONE) {
        h->first = h->first ? h->first : key;
        return;
    }
    if (key == h->last && stream == h->last_stream)
        return;
    h->several |= h->has_stream && h->first != key;
    h->first = h->has_stream ? h->first : key;
    h->has_stream = 1;
    h->last = key;
    h->last_stream = stream;
    note(&h->of, HOME_STREAMS, stream, key, 0);
}

void sl_stream_home_see_operation(struct sl_stream_home *h, uint8_t device, uint32_t context,
                                  uint32_t stream)
{
    uint64_t place = key_of(device) << 32 | context;

    sl_stream_home_see(h, context, stream);
    if (place == h->last_place)
        return;
    h->last_place = place;
    note(&h->device, HOME_CONTEXTS, context, key_of(device), key_of(SL_DEVICE_NONE));
}

uint32_t sl_stream_home_number(struct sl_stream_home *h, int64_t stream)
{
    uint64_t *number;

    if (stream < SL_STREAM_NONE)
        return (uint32_t)stream;
    number = h->handle.used < HOME_HANDLES ? sl_map_put(&h->handle, (uint64_t)stream)
                                           : sl_map_find(&h->handle, (uint64_t)stream);
    if (!number)
        return SL_STREAM_NONE;
    if (!*number)
        *number = FIRST_NUMBER + h->handle.used;
    return (uint32_t)*number;
}

int sl_stream_home_find(const struct sl_stream_home *h, uint32_t stream, uint32_t *context)
{
    uint64_t key = h->first;
    const uint64_t *home;

    if (h->several) {
        home = sl_map_find(&h->of, key_of(stream));
        /* The legacy default stream exists in every context, so its number does not identify a
         * context. */
        key = home && stream != SL_STREAM_LEGACY ? *home : SEVERAL;
    }
    if (key == 0 || key == SEVERAL)
        return -ENOENT;
    *context = (uint32_t)(key - 1);
    return 0;
}

int sl_stream_home_find_device(const struct sl_stream_home *h, uint32_t context, uint8_t *device)
{
    const uint64_t *key = sl_map_find(&h->device, key_of(context));

    if (!key || *key == SEVERAL)
        return -ENOENT;
    *device = (uint8_t)(*key - 1);
    return 0;
}

int sl_stream_home_next(const struct sl_stream_home *h, size_t *at, uint32_t *context,
                        uint8_t *device)
{
    while (*at < h->device.slots) {
        const struct sl_map_slot *slot = &h->device.slot[(*at)++];

        if (slot->key == 0 || slot->value == SEVERAL)
            continue;
        *context = (uint32_t)(slot->key - 1);
        *device = (uint8_t)(slot->value - 1);
        return 1;
    }
    return 0;
}
