/*
 * order.c - sorts records by correlation id.
 *
 * The records in CUPTI buffers are nearly in order. So the sort merges runs of items that are
 * already in order (a natural merge sort). It moves only items whose id is above the lowest new id.
 *
 * Threads: only the thread that owns the engine (edge.h). Memory: the array of items and the array
 * for sorting.
 */
#include "sync/order.h"

#include <errno.h>
#include <string.h>

enum {
    FIRST_SLOTS = 1024,
    STATE_PART = 16, /* at least 1/STATE_PART of the store is left for streams and operations */
    /* arrays above 1/LARGE_PART of the store are freed as soon as they are empty */
    LARGE_PART = 4,
    /* number of items to search for a call that began even earlier than the last call found */
    AHEAD = 12,
    /* maximum number of items in front of such a call; a limit is needed because all these items
     * are moved */
    BROUGHT = 64
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

/* Returns 1 if enough memory is left for the scratch array. A merge copies the shorter of two runs,
 * at most half of all items, to the scratch array. */
static int leaves_scratch(const struct sl_order *o, size_t slots)
{
    size_t left = o->store->cap_bytes - o->store->used_bytes;
    size_t scratch = slots / 2 > o->scratch_slots ? slots / 2 - o->scratch_slots : 0;
    size_t wanted = (slots - o->slots + scratch) * sizeof *o->item;

    return wanted + o->store->cap_bytes / STATE_PART <= left;
}

/* Doubles the array of items. Near the store's cap the array grows in smaller steps. */
static int make_room(struct sl_order *o)
{
    size_t more = o->slots ? o->slots : FIRST_SLOTS;
    struct sl_item *item;

    if (o->first > o->slots / 2) {
        memmove(o->item, o->item + o->first, (o->count - o->first) * sizeof *o->item);
        o->sorted -= o->first;
        o->count -= o->first;
        o->first = 0;
        return 0;
    }
    while (more > FIRST_SLOTS && !leaves_scratch(o, o->slots + more))
        more /= 2;
    if (!leaves_scratch(o, o->slots + more))
        return -ENOMEM;
    item =
        sl_store_grow(o->store, o->item, o->slots * sizeof *item, (o->slots + more) * sizeof *item);
    if (!item)
        return -ENOMEM;
    o->item = item;
    o->slots += more;
    return 0;
}

struct sl_item *sl_order_next(struct sl_order *o)
{
    if (o->count == o->slots && make_room(o) != 0)
        return NULL;
    return &o->item[o->count];
}

/* Grows the scratch array. The old contents of the array are discarded. */
static int make_scratch(struct sl_order *o, size_t wanted)
{
    size_t slots = 2 * wanted > FIRST_SLOTS ? 2 * wanted : FIRST_SLOTS;

    if (wanted <= o->scratch_slots)
        return 0;
    sl_store_unmap(o->store, o->scratch, o->scratch_slots * sizeof *o->scratch);
    o->scratch_slots = 0;
    o->scratch = sl_store_map(o->store, slots * sizeof *o->scratch);
    if (!o->scratch) {
        slots = wanted;
        o->scratch = sl_store_map(o->store, slots * sizeof *o->scratch);
    }
    if (!o->scratch)
        return -ENOMEM;
    o->scratch_slots = slots;
    return 0;
}

static int in_order(const struct sl_item *a, const struct sl_item *b)
{
    if (a->correlation != b->correlation)
        return a->correlation < b->correlation;
    /* a start of 0 means that there is no time, and is sorted last */
    return a->start_ns - 1 <= b->start_ns - 1;
}

static size_t run_end(const struct sl_item *item, size_t from, size_t end)
{
    while (++from < end && in_order(&item[from - 1], &item[from]))
        ;
    return from;
}

/* Merges two runs, starting at their ends. Items of the lower run that belong before all items of
 * the upper run are not moved. */
static void merge_down(struct sl_order *o, size_t low, size_t middle, size_t end)
{
    struct sl_item *item = o->item;
    size_t upper = end - middle, at = end;

    memcpy(o->scratch, item + middle, upper * sizeof *item);
    while (upper) {
        if (middle > low && !in_order(&item[middle - 1], &o->scratch[upper - 1]))
            item[--at] = item[--middle];
        else
            item[--at] = o->scratch[--upper];
    }
}

static void merge_up(struct sl_order *o, size_t low, size_t middle, size_t end)
{
    struct sl_item *item = o->item;
    size_t lower = middle - low, taken = 0, at = low;

    memcpy(o->scratch, item + low, lower * sizeof *item);
    while (taken < lower) {
        if (middle < end && !in_order(&o->scratch[taken], &item[middle]))
            item[at++] = item[middle++];
        else
            item[at++] = o->scratch[taken++];
    }
}

/* Merges the runs [low, middle) and [middle, end). Each run is in order. */
static int merge(struct sl_order *o, size_t low, size_t middle, size_t end)
{
    size_t lower = middle - low, upper = end - middle;

    if (lower == 0 || upper == 0 || in_order(&o->item[middle - 1], &o->item[middle]))
        return 0;
    if (make_scratch(o, lower < upper ? lower : upper) != 0)
        return -ENOMEM;
    if (lower < upper)
        merge_up(o, low, middle, end);
    else
        merge_down(o, low, middle, end);
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

static const struct sl_item *call_of(const struct sl_item *item, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (sl_item_is_call(&item[i]))
            return &item[i];
    return NULL;
}

/* Returns 1 if `a` began first. Calls of one thread are compared by their ids alone, because the
 * clock may be set back. */
static int came_before(const struct sl_item *a, const struct sl_item *b)
{
    return a->end_ns <= b->start_ns && sl_item_is_call(a) && a->where != b->where &&
           a->start_ns < b->start_ns;
}

/* Returns all items with the same correlation id as this item. */
static const struct sl_item *whole_call(const struct sl_order *o, const struct sl_item *item,
                                        size_t *skip, size_t *count)
{
    const struct sl_item *first = o->item + o->first;

    while (item > first && item[-1].correlation == item->correlation)
        item--;
    *skip = (size_t)(item - first);
    return sl_order_peek(o, *skip, count);
}

const struct sl_item *sl_order_first(const struct sl_order *o, size_t *skip, size_t *count)
{
    const struct sl_item *item = sl_order_peek(o, 0, count);
    const struct sl_item *own = item ? call_of(item, *count) : NULL, *call = own;
    size_t left = o->sorted - o->first, until;

    *skip = 0;
    if (!own)
        return item;
    left = left < BROUGHT ? left : BROUGHT;
    until = *count + AHEAD;
    for (size_t i = *count; i < until && i < left; i++) {
        if (!came_before(&item[i], call))
            continue;
        call = &item[i];
        until = i + AHEAD;
    }
    return call == own ? item : whole_call(o, call, skip, count);
}

static void reverse(struct sl_item *item, size_t count)
{
    for (size_t i = 0; i < count / 2; i++) {
        struct sl_item other = item[i];

        item[i] = item[count - 1 - i];
        item[count - 1 - i] = other;
    }
}

const struct sl_item *sl_order_bring(struct sl_order *o, size_t skip, size_t count)
{
    struct sl_item *item = o->item + o->first;

    if (skip) {
        reverse(item, skip);
        reverse(item + skip, count);
        reverse(item, skip + count);
    }
    return item;
}

void sl_order_take(struct sl_order *o, size_t count)
{
    o->first += count;
    if (o->first < o->count)
        return;
    o->first = o->sorted = o->count = 0;
    if ((o->slots + o->scratch_slots) * sizeof *o->item > o->store->cap_bytes / LARGE_PART)
        sl_order_free(o);
}
