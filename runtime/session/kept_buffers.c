/*
 * kept_buffers.c - buffers of another client's that it has not asked for yet.
 *
 * See kept_buffers.h. A put that began while buffers were kept is over before the first is
 * delivered, so that none is left behind.
 */
#include "session/kept_buffers.h"

#include <errno.h>
#include <sched.h>
#include <stdatomic.h>

#include "base/clock.h"

/* For a thread that has no processor in the middle of a put, or is not there after a fork. */
#define WAIT_MOST_NS 1000000000ull

enum place_state {
    FREE,
    BUSY, /* some thread's */
    KEPT
};

static struct {
    _Atomic int is_open;
    _Atomic int putting; /* threads that may */
    struct place {
        _Atomic int state;
        uint32_t stream;
        sl_cupti_complete_fn complete;
        void *context;
        uint8_t *buffer;
        size_t size, valid_size;
    } place[SL_HELD_MOST];
} held;

void sl_held_open(void)
{
    atomic_store(&held.is_open, 1);
}

void sl_held_close(void)
{
    atomic_store(&held.is_open, 0);
}

/* A place in that state, which becomes the thread's; NULL: there is none from `at` on. */
static struct place *take(struct place *at, int state)
{
    for (; at < held.place + SL_HELD_MOST; at++) {
        int expected = state;

        /* Acquire pairs with the release of whoever had it. */
        if (atomic_compare_exchange_strong_explicit(&at->state, &expected, BUSY,
                                                    memory_order_acquire, memory_order_relaxed))
            return at;
    }
    return NULL;
}

int sl_held_put(sl_cupti_complete_fn complete, void *context, uint32_t stream, uint8_t *buffer,
                size_t size, size_t valid_size)
{
    struct place *p = NULL;

    /* Sequentially consistent with sl_held_deliver(): it waits for us, or we see it closed. */
    atomic_fetch_add(&held.putting, 1);
    if (atomic_load(&held.is_open))
        p = take(held.place, FREE);
    if (p) {
        p->complete = complete;
        p->context = context;
        p->stream = stream;
        p->buffer = buffer;
        p->size = size;
        p->valid_size = valid_size;
        atomic_store_explicit(&p->state, KEPT, memory_order_release);
    }
    atomic_fetch_sub(&held.putting, 1);
    return p ? 0 : -ENOENT;
}

void sl_held_deliver(void)
{
    uint64_t deadline = sl_clock_monotonic() + WAIT_MOST_NS;

    sl_held_close();
    while (atomic_load(&held.putting) && sl_clock_monotonic() < deadline)
        sched_yield();
    for (struct place *p = held.place; (p = take(p, KEPT)); p++) {
        sl_cupti_complete_fn complete = p->complete;
        void *context = p->context;
        uint8_t *buffer = p->buffer;
        size_t size = p->size, valid_size = p->valid_size;
        uint32_t stream = p->stream;

        atomic_store_explicit(&p->state, FREE, memory_order_release);
        complete(context, stream, buffer, size, valid_size);
    }
}
