/*
 * held_rows.h - rows that wait for what the engine of edges says about them.
 *
 * Threads: one owner. Memory: one mapping of at most the size asked for.
 */
#ifndef SL_HELD_ROWS_H
#define SL_HELD_ROWS_H

#include <stddef.h>
#include <stdint.h>

#include "event/event.h"

/* A ring of rows in the order in which they came, found by correlation id. */
struct sl_held_rows {
    struct sl_event *row; /* kind SL_EV_NONE: taken out */
    uint32_t *next;       /* of the same bucket; 0 = none, else place + 1 */
    uint32_t *bucket;
    uint64_t head, tail; /* rows [head, tail) */
    size_t slots;        /* a power of two */
    size_t map_bytes;
};

/* 0 or -ENOMEM. */
int sl_held_rows_init(struct sl_held_rows *h, size_t cap_bytes);
void sl_held_rows_free(struct sl_held_rows *h);

/* 0, or -ENOBUFS: the oldest has to go first. */
int sl_held_rows_put(struct sl_held_rows *h, const struct sl_event *ev);

/* The row with this correlation id, the oldest row; NULL if there is none. */
struct sl_event *sl_held_rows_find(const struct sl_held_rows *h, uint64_t correlation);
struct sl_event *sl_held_rows_oldest(const struct sl_held_rows *h);

/* The oldest row with a lower correlation id, from place *at on, which is moved behind it; NULL.
 * Begin with *at 0. */
struct sl_event *sl_held_rows_below(const struct sl_held_rows *h, uint64_t correlation,
                                    uint64_t *at);

void sl_held_rows_drop(struct sl_held_rows *h, struct sl_event *row);

#endif
