/*
 * event_sort.h - events put in order, however many.
 *
 * Events are collected in runs; a full run is sorted and goes to a file without a name in TMPDIR
 * (/tmp), and at the end the runs are merged. A trace that fits one run never touches the disk.
 *
 * Threads: one owner. Memory: `run_events` of 64 bytes, twice that while a run is sorted.
 */
#ifndef SL_EVENT_SORT_H
#define SL_EVENT_SORT_H

#include <stddef.h>
#include <stdint.h>

#include "event/event.h"

/* As qsort's, over struct sl_event. Equal events come in any order. */
typedef int (*sl_event_order_fn)(const void *a, const void *b);

struct sl_event_sort;

/* 0 or -ENOMEM. */
int sl_event_sort_create(struct sl_event_sort **out, size_t run_events, sl_event_order_fn order);
void sl_event_sort_destroy(struct sl_event_sort *s); /* NULL is fine */

/* 0, or the sticky error: what TMPDIR gave (-ENOSPC...), -EFBIG past 4096 runs. */
int sl_event_sort_put(struct sl_event_sort *s, const struct sl_event *ev);

/* After the last put. 0 or the sticky error. */
int sl_event_sort_end(struct sl_event_sort *s);

/* 1: the next event; 0: there is none; or the sticky error. */
int sl_event_sort_next(struct sl_event_sort *s, struct sl_event *out);

uint64_t sl_event_sort_count(const struct sl_event_sort *s); /* events put */

#endif
