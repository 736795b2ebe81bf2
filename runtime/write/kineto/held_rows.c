/*
 * held_rows.c - stores calls whose rows are written once the edge engine has found the sources of
 * their waits.
 *
 * Threads: one owner. If a row in the middle of the ring is removed, the entry stays in use until
 * it is the oldest entry.
 */
#include "write/kineto/held_rows.h"

#include <errno.h>

#include "base/pages.h"

int sl_held_rows_init(struct sl_held_rows *h, size_t cap_bytes)
{
    const size_t each = sizeof(*h->row) + sizeof(*h->next) + sizeof(*h->bucket);
    size_t slots = 1;
    char *memory;

    while (slots * 2 * each <= cap_bytes)
        slots *= 2;
    memory = sl_pages_map(slots * each);
    if (!memory)
        return -ENOMEM;
    *h = (struct sl_held_rows){.slots = slots, .map_bytes = slots * each};
    h->row = (struct sl_event *)memory;
    h->next = (uint32_t *)(memory + slots * sizeof(*h->row));
    h->bucket = h->next + slots;
    return 0;
}

void sl_held_rows_free(struct sl_held_rows *h)
{
    sl_pages_unmap(h->row, h->map_bytes);
}

/* Correlation ids count up. So consecutive ids have consecutive buckets, and collisions are rare.
 */
static uint32_t *bucket_of(const struct sl_held_rows *h, uint64_t correlation)
{
    return &h->bucket[correlation & (h->slots - 1)];
}

int sl_held_rows_put(struct sl_held_rows *h, const struct sl_event *ev)
{
    uint32_t *bucket = bucket_of(h, ev->correlation);
    size_t at = h->tail & (h->slots - 1);

    if (h->tail - h->head == h->slots)
        return -ENOBUFS;
    h->row[at] = *ev;
    h->next[at] = *bucket;
    *bucket = (uint32_t)at + 1;
    h->tail++;
    return 0;
}

struct sl_event *sl_held_rows_find(const struct sl_held_rows *h, uint64_t correlation)
{
    uint32_t at = *bucket_of(h, correlation);

    while (at && h->row[at - 1].correlation != correlation)
        at = h->next[at - 1];
    return at ? &h->row[at - 1] : NULL;
}

struct sl_event *sl_held_rows_oldest(const struct sl_held_rows *h)
{
    return h->head == h->tail ? NULL : &h->row[h->head & (h->slots - 1)];
}

struct sl_event *sl_held_rows_below(const struct sl_held_rows *h, uint64_t correlation,
                                    uint64_t *at)
{
    if (*at < h->head)
        *at = h->head;
    while (*at < h->tail) {
        struct sl_event *row = &h->row[(*at)++ & (h->slots - 1)];

        if (row->kind != SL_EV_NONE && row->correlation < correlation)
            return row;
    }
    return NULL;
}

void sl_held_rows_drop(struct sl_held_rows *h, struct sl_event *row)
{
    uint32_t place = (uint32_t)(row - h->row) + 1, *link = bucket_of(h, row->correlation);

    while (*link != place)
        link = &h->next[*link - 1];
    *link = h->next[place - 1];
    row->kind = SL_EV_NONE;
    while (h->head != h->tail && h->row[h->head & (h->slots - 1)].kind == SL_EV_NONE)
        h->head++;
}
