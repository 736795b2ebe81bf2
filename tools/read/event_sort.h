/*
 * event_sort.h - sorts any number of events.
 *
 * Events are collected in runs. A full run is sorted and written to an unnamed file in TMPDIR
 * (default /tmp); at the end the runs are merged. A trace that fits one run never touches the disk.
 *
 * Threads: one owner. Memory: 64 bytes for each of `run_events` events, and twice as much while a
 * run is sorted.
 */
#ifndef SL_EVENT_SORT_H
#define SL_EVENT_SORT_H

#include <stddef.h>
#include <stdint.h>

#include "event/event.h"

/* A comparison function for qsort() on struct sl_event. Events that compare as equal are returned
 * in any order. */
typedef int (*sl_event_order_fn)(const void *a, const void *b);

struct sl_event_sort;

/* 0 or -ENOMEM. */
int sl_event_sort_create(struct sl_event_sort **out, size_t run_events, sl_event_order_fn order);
void sl_event_sort_destroy(struct sl_event_sort *s); /* NULL is fine */

/* Adds an event. Returns 0, or an error that all later calls return too: an error of the temporary
 * file (-ENOSPC...), or -EFBIG after 4096 runs. */
int sl_event_sort_put(struct sl_event_sort *s, const struct sl_event *ev);

/* Call after the last sl_event_sort_put(). Returns 0, or the error that sl_event_sort_put()
 * describes. */
int sl_event_sort_end(struct sl_event_sort *s);

/* Returns 1 and the next event in order, 0 at the end, or the error. */
int sl_event_sort_next(struct sl_event_sort *s, struct sl_event *out);

/* Makes sl_event_sort_next() return the first event again. Call after sl_event_sort_end(). Returns
 * 0, or the error. */
int sl_event_sort_rewind(struct sl_event_sort *s);

uint64_t sl_event_sort_count(const struct sl_event_sort *s); /* number of events that were added */

#endif
