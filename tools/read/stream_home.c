/*
 * stream_home.c - in which context a file's streams are.
 *
 * Threads, memory: see stream_home.h.
 */
#include "read/stream_home.h"

#include <errno.h>

#include "event/event.h"
#include "sync/stream_state.h"

#define HOME_BYTES   (8u << 20)
#define HOME_STREAMS 100000u /* the map stays at most half full within those bytes */
#define SEVERAL      UINT64_MAX

void sl_stream_home_init(struct sl_stream_home *h)
{
    *h = (struct sl_stream_home){.store = {.cap_bytes = HOME_BYTES}};
    sl_map_init(&h->of, &h->store);
}

void sl_stream_home_free(struct sl_stream_home *h)
{
    sl_map_free(&h->of);
}

/* 0 is none. */
static uint64_t key_of(uint16_t device, uint32_t context)
{
    return ((uint64_t)device << 32 | context) + 1;
}

void sl_stream_home_see(struct sl_stream_home *h, uint16_t device, uint32_t context,
                        uint32_t stream)
{
    uint64_t key = key_of(device, context), *home;

    if (key == h->last && stream == h->last_stream)
        return;
    h->several |= h->first && h->first != key;
    h->first = h->first ? h->first : key;
    h->last = key;
    h->last_stream = stream;
    if (stream == SL_STREAM_NONE)
        return;
    home = h->of.used < HOME_STREAMS ? sl_map_put(&h->of, (uint64_t)stream + 1)
                                     : sl_map_find(&h->of, (uint64_t)stream + 1);
    if (home)
        *home = *home && *home != key ? SEVERAL : key;
}

int sl_stream_home_find(const struct sl_stream_home *h, uint32_t stream, uint16_t *device,
                        uint32_t *context)
{
    uint64_t key = h->first;
    const uint64_t *home;

    if (h->several) {
        home = sl_map_find(&h->of, (uint64_t)stream + 1);
        /* Every context has a legacy default stream, used or not. */
        key = home && stream != SL_STREAM_LEGACY ? *home : SEVERAL;
    }
    if (key == 0 || key == SEVERAL)
        return -ENOENT;
    *device = (uint16_t)((key - 1) >> 32);
    *context = (uint32_t)(key - 1);
    return 0;
}
