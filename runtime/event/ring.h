/*
 * ring.h - single-producer, single-consumer ring of events.
 *
 * The recorder thread pushes events, and the writer thread pops events. The ring never blocks, and
 * allocates only when it is created. A full ring drops the event and counts it.
 */
#ifndef SL_RING_H
#define SL_RING_H

#include <stddef.h>
#include <stdint.h>

#include "event/event.h"

struct sl_ring;

/* `slots` is rounded up to a power of two. A page of slots is not touched before its first slot is
 * used. Returns 0 or -ENOMEM. */
int sl_ring_create(struct sl_ring **out, size_t slots);
void sl_ring_destroy(struct sl_ring *r); /* NULL is allowed */

/* Producer only. Returns 0. If the ring is full, counts the event as dropped and returns -ENOBUFS.
 */
int sl_ring_push(struct sl_ring *r, const struct sl_event *ev);

/* Producer only. Like sl_ring_push(), but may also use some slots that sl_ring_push() leaves free.
 * So control events (window open and close) find room even if the ring is full of other events. */
int sl_ring_push_control(struct sl_ring *r, const struct sl_event *ev);

/* Consumer only. Returns the next events, at most `max`, as an array. The events stay valid until
 * sl_ring_release(). If the ring is empty, returns NULL and a count of 0. */
const struct sl_event *sl_ring_peek(struct sl_ring *r, size_t max, size_t *count);
void sl_ring_release(struct sl_ring *r, size_t count);

/* Any thread. The number may have changed when the function returns. */
size_t sl_ring_used(const struct sl_ring *r);
size_t sl_ring_slots(const struct sl_ring *r);
uint64_t sl_ring_dropped(const struct sl_ring *r);

#endif
