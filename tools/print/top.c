/*
 * top.c - a heap of the largest values.
 *
 * Threads, memory: see top.h.
 */
#include "print/top.h"

#include <errno.h>
#include <stdlib.h>

int sl_top_create(struct sl_top *t, size_t most)
{
    *t = (struct sl_top){.item = calloc(most ? most : 1, sizeof(*t->item)), .most = most};
    return t->item ? 0 : -ENOMEM;
}

void sl_top_free(struct sl_top *t)
{
    free(t->item);
    t->item = NULL;
}

/* Compares two items, largest first. */
static int largest_first(const void *x, const void *y)
{
    const struct sl_top_item *a = x, *b = y;

    if (a->value != b->value)
        return a->value > b->value ? -1 : 1;
    return (a->order > b->order) - (a->order < b->order);
}

static int is_smaller(const struct sl_top *t, size_t a, size_t b)
{
    return largest_first(&t->item[a], &t->item[b]) > 0;
}

static void swap(struct sl_top *t, size_t a, size_t b)
{
    struct sl_top_item item = t->item[a];

    t->item[a] = t->item[b];
    t->item[b] = item;
}

static void rise(struct sl_top *t, size_t at)
{
    for (; at && is_smaller(t, at, (at - 1) / 2); at = (at - 1) / 2)
        swap(t, at, (at - 1) / 2);
}

static void sink(struct sl_top *t, size_t at)
{
    for (size_t below = 2 * at + 1; below < t->count; below = 2 * at + 1) {
        if (below + 1 < t->count && is_smaller(t, below + 1, below))
            below++;
        if (!is_smaller(t, below, at))
            return;
        swap(t, at, below);
        at = below;
    }
}

size_t sl_top_put(struct sl_top *t, uint64_t value)
{
    struct sl_top_item item = {value, t->put++, t->count};

    if (t->count < t->most) {
        t->item[t->count++] = item;
        rise(t, t->count - 1);
        return item.slot;
    }
    if (!t->count || value <= t->item[0].value)
        return SL_TOP_NONE;
    item.slot = t->item[0].slot;
    t->item[0] = item;
    sink(t, 0);
    return item.slot;
}

void sl_top_sort(struct sl_top *t)
{
    qsort(t->item, t->count, sizeof(*t->item), largest_first);
}
