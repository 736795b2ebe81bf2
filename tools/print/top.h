/*
 * top.h - keeps the N largest of many values, and where the caller stores what belongs to them.
 *
 * Threads: one owner. Memory: 24 bytes for each of the N values. With n values the cost is n log N.
 */
#ifndef SL_TOP_H
#define SL_TOP_H

#include <stddef.h>
#include <stdint.h>

#define SL_TOP_NONE SIZE_MAX

struct sl_top_item {
    uint64_t value;
    uint64_t order; /* of two equal values, the one that was put first is larger */
    size_t slot;
};

struct sl_top {
    struct sl_top_item *item; /* a heap with the smallest first, until sl_top_sort() */
    size_t count, most;
    uint64_t put;
};

/* 0 or -ENOMEM. */
int sl_top_create(struct sl_top *t, size_t most);
void sl_top_free(struct sl_top *t);

/* Adds a value. Returns the slot, below `most`, where the caller may store what belongs to the
 * value. If the slot was in use, its old value is no longer kept. Returns SL_TOP_NONE if the value
 * itself is not kept. */
size_t sl_top_put(struct sl_top *t, uint64_t value);

/* Sorts the items, largest value first. No value may be put afterwards. */
void sl_top_sort(struct sl_top *t);

#endif
