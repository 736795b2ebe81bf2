/*
 * kept_buffers.c - keeps completed buffers of the peer until the peer flushes.
 *
 * Threads and memory: see kept_buffers.h. A delivery first waits until every call of put() that has
 * begun is over, so that no buffer stays in the table.
 */
#include "session/kept_buffers.h"

#include <errno.h>
#include <sched.h>
#include <stdatomic.h>

#include "base/clock.h"

/* Limit of the wait for calls of put(). A thread may be descheduled in the middle of put(), or may
 * not exist after a fork. */
#define WAIT_MOST_NS 1000000000ull

enum place_state {
    FREE,
    BUSY, /* a thread works on the entry */
    KEPT
};

struct kept {
    sl_cupti_complete_fn complete;
    void *context;
    uint32_t stream;
    uint8_t *buffer;
    size_t size, valid_size;
};

static struct {
    _Atomic int is_open;
    _Atomic int putting; /* number of threads inside sl_kept_buffers_put() */
    struct place {
        _Atomic int state;
        struct kept kept;
    } place[SL_KEPT_BUFFERS_MOST];
} held;

void sl_kept_buffers_open(void)
{
    atomic_store(&held.is_open, 1);
}

void sl_kept_buffers_close(void)
{
    atomic_store(&held.is_open, 0);
}

/* Finds the first entry from `at` on that is in this state, and makes the entry BUSY. Returns NULL
 * if no entry is in this state. */
static struct place *take(struct place *at, int state)
{
    for (; at < held.place + SL_KEPT_BUFFERS_MOST; at++) {
        int expected = state;

        /* Acquire pairs with the release store of the thread that used the entry before. */
        if (atomic_compare_exchange_strong_explicit(&at->state, &expected, BUSY,
                                                    memory_order_acquire, memory_order_relaxed))
            return at;
    }
    return NULL;
}

int sl_kept_buffers_put(sl_cupti_complete_fn complete, void *context, uint32_t stream,
                        uint8_t *buffer, size_t size, size_t valid_size)
{
    struct place *p = NULL;

    /* Sequentially consistent with the delivery. So either the delivery waits for this thread, or
     * this thread sees that buffers are no longer kept. */
    atomic_fetch_add(&held.putting, 1);
    if (atomic_load(&held.is_open))
        p = take(held.place, FREE);
    if (p) {
        p->kept = (struct kept){complete, context, stream, buffer, size, valid_size};
        atomic_store_explicit(&p->state, KEPT, memory_order_release);
    }
    atomic_fetch_sub(&held.putting, 1);
    return p ? 0 : -ENOENT;
}

void sl_kept_buffers_deliver(void)
{
    uint64_t deadline = sl_clock_monotonic() + WAIT_MOST_NS;

    sl_kept_buffers_close();
    while (atomic_load(&held.putting) && sl_clock_monotonic() < deadline)
        sched_yield();
    for (struct place *p = held.place; (p = take(p, KEPT)); p++) {
        const struct kept k = p->kept;

        atomic_store_explicit(&p->state, FREE, memory_order_release);
        k.complete(k.context, k.stream, k.buffer, k.size, k.valid_size);
    }
}
