/*
 * ring.c - single-producer, single-consumer ring of events.
 *
 * The producer's fields, the consumer's fields and the constant fields are on separate cache lines.
 * The producer keeps a copy of the consumer's position, and refreshes the copy only if the ring
 * seems to be full. The consumer keeps a copy of the producer's position, and refreshes it only if
 * the ring seems to be empty. So most pushes and pops touch no cache line that the other thread
 * writes. Memory: the creator of the ring owns it.
 */
#include "event/ring.h"

#include <errno.h>
#include <stdalign.h>
#include <stdatomic.h>

#include "base/pages.h"

#define CACHE_LINE 64
/* Number of slots that only sl_ring_push_control() may use. These slots suffice for the open and
 * close events of two windows, and metadata. */
#define CONTROL_SLOTS 16
#define SLOTS_MIN     64

struct sl_ring {
    /* Fields that are constant. */
    uint64_t mask;
    size_t map_bytes;

    /* the producer writes the following fields */
    alignas(CACHE_LINE) _Atomic uint64_t head;
    uint64_t tail_cache;
    _Atomic uint64_t dropped;

    /* the consumer writes the following fields */
    alignas(CACHE_LINE) _Atomic uint64_t tail;
    uint64_t head_cache;

    alignas(CACHE_LINE) struct sl_event slot[];
};

int sl_ring_create(struct sl_ring **out, size_t slots)
{
    size_t rounded = SLOTS_MIN, map_bytes;
    struct sl_ring *r;

    while (rounded < slots) {
        if (rounded > SIZE_MAX / sizeof(struct sl_event) / 4)
            return -ENOMEM;
        rounded *= 2;
    }
    map_bytes = sizeof(*r) + rounded * sizeof(struct sl_event);
    r = sl_pages_map(map_bytes);
    if (!r)
        return -ENOMEM;
    r->mask = rounded - 1;
    r->map_bytes = map_bytes;
    *out = r;
    return 0;
}

void sl_ring_destroy(struct sl_ring *r)
{
    if (r)
        sl_pages_unmap(r, r->map_bytes);
}

static int push(struct sl_ring *r, const struct sl_event *ev, uint64_t usable)
{
    uint64_t head = atomic_load_explicit(&r->head, memory_order_relaxed);

    if (head - r->tail_cache >= usable) {
        /* This acquire pairs with the release in sl_ring_release(), so that slots before `tail` are
         * free. */
        r->tail_cache = atomic_load_explicit(&r->tail, memory_order_acquire);
        if (head - r->tail_cache >= usable) {
            atomic_fetch_add_explicit(&r->dropped, 1, memory_order_relaxed);
            return -ENOBUFS;
        }
    }
    r->slot[head & r->mask] = *ev;
    /* This release pairs with the acquire in sl_ring_peek(), so that a consumer that sees the new
     * position also sees the whole event. */
    atomic_store_explicit(&r->head, head + 1, memory_order_release);
    return 0;
}

int sl_ring_push(struct sl_ring *r, const struct sl_event *ev)
{
    return push(r, ev, r->mask + 1 - CONTROL_SLOTS);
}

int sl_ring_push_control(struct sl_ring *r, const struct sl_event *ev)
{
    return push(r, ev, r->mask + 1);
}

const struct sl_event *sl_ring_peek(struct sl_ring *r, size_t max, size_t *count)
{
    uint64_t tail = atomic_load_explicit(&r->tail, memory_order_relaxed);
    uint64_t ready = r->head_cache - tail, until_end = r->mask + 1 - (tail & r->mask);

    if (!ready) {
        /* This acquire pairs with the release in push(), so that all events before `head` are
         * complete. */
        r->head_cache = atomic_load_explicit(&r->head, memory_order_acquire);
        ready = r->head_cache - tail;
    }
    if (ready > until_end)
        ready = until_end;
    if (ready > max)
        ready = max;
    *count = (size_t)ready;
    return ready ? &r->slot[tail & r->mask] : NULL;
}

void sl_ring_release(struct sl_ring *r, size_t count)
{
    uint64_t tail = atomic_load_explicit(&r->tail, memory_order_relaxed);

    /* This release pairs with the acquire in push(), so that slots are reused only after they were
     * read. */
    atomic_store_explicit(&r->tail, tail + count, memory_order_release);
}

size_t sl_ring_used(const struct sl_ring *r)
{
    /* `tail` is read before `head`. `tail` never passes `head`, so the difference cannot be
     * negative. */
    uint64_t tail = atomic_load_explicit(&r->tail, memory_order_acquire);

    return (size_t)(atomic_load_explicit(&r->head, memory_order_acquire) - tail);
}

size_t sl_ring_slots(const struct sl_ring *r)
{
    return (size_t)r->mask + 1;
}

uint64_t sl_ring_dropped(const struct sl_ring *r)
{
    return atomic_load_explicit(&r->dropped, memory_order_relaxed);
}
