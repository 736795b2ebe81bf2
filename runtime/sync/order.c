/*
 * order.c - what came, put in order of correlation id.
 *
 * Entered by its owner alone. CUPTI's buffers are nearly in order, so the sort looks for what is
 * in order already (a natural merge sort), and only what lies above the lowest new id is moved.
 */
#include "sync/order.h"

#include <errno.h>
#include <string.h>

enum {
    FIRST_SLOTS = 1024
};

void sl_order_init(struct sl_order *o, struct sl_store *store)
{
    *o = (struct sl_order){.store = store};
}

void sl_order_free(struct sl_order *o)
{
    sl_store_unmap(o->store, o->item, o->slots * sizeof *o->item);
    sl_store_unmap(o->store, o->scratch, o->scratch_slots * sizeof *o->scratch);
    sl_order_init(o, o->store);
}

static int make_room(struct sl_order *o)
{
    size_t slots = o->slots ? o->slots * 2 : FIRST_SLOTS;
    struct sl_item *item;

    if (o->first > o->slots / 2) {
        memmove(o->item, o->item + o->first, (o->count - o->first) * sizeof *o->item);
        o->sorted -= o->first;
        o->count -= o->first;
        o->first = 0;
        return 0;
    }
    item = sl_store_map(o->store, slots * sizeof *item);
    if (!item)
        return -ENOMEM;
    if (o->count)
        memcpy(item, o->item, o->count * sizeof *item);
    sl_store_unmap(o->store, o->item, o->slots * sizeof *item);
    o->item = item;
    o->slots = slots;
    return 0;
}

int sl_order_put(struct sl_order *o, const struct sl_item *item)
{
    if (o->count == o->slots && make_room(o) != 0)
        return -ENOMEM;
    o->item[o->count++] = *item;
    return 0;
}

static int make_scratch(struct sl_order *o, size_t wanted)
{
    size_t slots = o->scratch_slots ? o->scratch_slots : FIRST_SLOTS;
    struct sl_item *scratch;

    if (wanted <= o->scratch_slots)
        return 0;
    while (slots < wanted)
        slots *= 2;
    scratch = sl_store_map(o->store, slots * sizeof *scratch);
    if (!scratch)
        return -ENOMEM;
    sl_store_unmap(o->store, o->scratch, o->scratch_slots * sizeof *scratch);
    o->scratch = scratch;
    o->scratch_slots = slots;
    return 0;
}

static int in_order(const struct sl_item *a, const struct sl_item *b)
{
    if (a->correlation != b->correlation)
        return a->correlation < b->correlation;
    return a->start_ns <= b->start_ns;
}

static size_t run_end(const struct sl_item *item, size_t from, size_t end)
{
    while (++from < end && in_order(&item[from - 1], &item[from]))
        ;
    return from;
}

/* [low, middle) and [middle, end) are in order. The upper half goes aside and the merge runs from
 * the back, so that of the lower only what is above the lowest of the upper moves. */
static int merge(struct sl_order *o, size_t low, size_t middle, size_t end)
{
    struct sl_item *item = o->item;
    size_t upper = end - middle, at = end;

    if (middle == low || upper == 0 || in_order(&item[middle - 1], &item[middle]))
        return 0;
    if (make_scratch(o, upper) != 0)
        return -ENOMEM;
    memcpy(o->scratch, item + middle, upper * sizeof *item);
    while (upper) {
        if (middle > low && !in_order(&item[middle - 1], &o->scratch[upper - 1]))
            item[--at] = item[--middle];
        else
            item[--at] = o->scratch[--upper];
    }
    return 0;
}

int sl_order_sort(struct sl_order *o)
{
    int merged;

    do {
        merged = 0;
        for (size_t low = o->sorted; low < o->count;) {
            size_t middle = run_end(o->item, low, o->count);
            size_t end = middle < o->count ? run_end(o->item, middle, o->count) : middle;

            if (merge(o, low, middle, end) != 0)
                return -ENOMEM;
            merged |= end > middle;
            low = end;
        }
    } while (merged);
    if (merge(o, o->first, o->sorted, o->count) != 0)
        return -ENOMEM;
    o->sorted = o->count;
    return 0;
}

const struct sl_item *sl_order_peek(const struct sl_order *o, size_t skip, size_t *count)
{
    size_t from = o->first + skip, end = from;

    if (from >= o->sorted)
        return NULL;
    while (end < o->sorted && o->item[end].correlation == o->item[from].correlation)
        end++;
    *count = end - from;
    return o->item + from;
}

void sl_order_take(struct sl_order *o, size_t count)
{
    o->first += count;
    if (o->first == o->count)
        o->first = o->sorted = o->count = 0;
}
