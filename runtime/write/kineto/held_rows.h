/*
 * held_rows.h - stores calls whose rows are written once the edge engine has found the sources of
 * their waits.
 *
 * Threads: one owner. Memory: one mapping of at most the requested size.
 */
#ifndef SL_HELD_ROWS_H
#define SL_HELD_ROWS_H

#include <stddef.h>
#include <stdint.h>

#include "event/event.h"

/* A ring of rows in the order of arrival. A hash table finds a row by correlation id. */
struct sl_held_rows {
    struct sl_event *row; /* the rows of the ring; a removed row has the kind SL_EV_NONE */
    uint32_t *next;       /* next row in the same bucket: index + 1; 0 if there is none */
    uint32_t *bucket;
    uint64_t head, tail; /* the ring holds the rows [head, tail) */
    size_t slots;        /* a power of two */
    size_t map_bytes;
};

/* Returns 0 or -ENOMEM. */
int sl_held_rows_init(struct sl_held_rows *h, size_t cap_bytes);
void sl_held_rows_free(struct sl_held_rows *h);

/* Returns 0. If the ring is full, returns -ENOBUFS, and the caller must remove the oldest row
 * first. */
int sl_held_rows_put(struct sl_held_rows *h, const struct sl_event *ev);

/* sl_held_rows_find() returns the row with this correlation id, sl_held_rows_oldest() the oldest
 * row. Both return NULL if there is no such row. */
struct sl_event *sl_held_rows_find(const struct sl_held_rows *h, uint64_t correlation);
struct sl_event *sl_held_rows_oldest(const struct sl_held_rows *h);

/* Iterates over rows with a lower correlation id, oldest first. Start with *at = 0. Returns NULL at
 * the end. */
struct sl_event *sl_held_rows_below(const struct sl_held_rows *h, uint64_t correlation,
                                    uint64_t *at);

void sl_held_rows_drop(struct sl_held_rows *h, struct sl_event *row);

#endif
