/*
 * ring.h - single-producer, single-consumer ring of events.
 *
 * The recorder thread pushes, the writer thread pops. The ring never blocks, and allocates only
 * when it is created. A full ring drops the event and counts it.
 */
#ifndef SL_RING_H
#define SL_RING_H

#include <stddef.h>
#include <stdint.h>

#include "event/event.h"

struct sl_ring;

/* `slots` is rounded up to a power of two. Pages are not touched before use. 0 or -ENOMEM. */
int sl_ring_create(struct sl_ring **out, size_t slots);
void sl_ring_destroy(struct sl_ring *r); /* NULL is allowed */

/* Producer only. 0, or -ENOBUFS when full (counted). */
int sl_ring_push(struct sl_ring *r, const struct sl_event *ev);

/* Producer only. Like push, but may also use the slots that push leaves free. A flood of events
 * cannot displace control events (window open and close), which use these slots. */
int sl_ring_push_control(struct sl_ring *r, const struct sl_event *ev);

/* Consumer only. The next contiguous events, at most `max`; NULL and a count of 0: the ring is
 * empty. The events stay valid until sl_ring_release(). */
const struct sl_event *sl_ring_peek(struct sl_ring *r, size_t max, size_t *count);
void sl_ring_release(struct sl_ring *r, size_t count);

/* Any thread; a snapshot. */
size_t sl_ring_used(const struct sl_ring *r);
size_t sl_ring_slots(const struct sl_ring *r);
uint64_t sl_ring_dropped(const struct sl_ring *r);

#endif
