/*
 * launches.c - stores which library call made the kernel launches of a time span.
 *
 * The spans of all threads are in one ring, in the order of their ends. A span that contains a time
 * ends at that time or later, but not later than the longest span lasts.
 *
 * Threads, memory: see launches.h.
 */
#include "event/launches.h"

#include <errno.h>
#include <stddef.h>

#include "base/pages.h"

#define THREAD_BITS 4096 /* a power of two */

struct span {
    uint64_t start_ns, end_ns;
    uint64_t order_ns; /* the end, or the largest end before it if that is later */
    struct sl_launch_about about;
};

struct sl_launches {
    uint64_t count;                       /* spans so far; span n is at n % SL_LAUNCHES_SPANS */
    uint64_t longest_ns;                  /* largest difference of order_ns and start_ns */
    uint64_t has_added[THREAD_BITS / 64]; /* a bit for each hash of a thread that has added spans */
    struct span span[SL_LAUNCHES_SPANS];
};

int sl_launches_create(struct sl_launches **out)
{
    struct sl_launches *l = sl_pages_map(sizeof(*l));

    if (!l)
        return -ENOMEM;
    *out = l;
    return 0;
}

void sl_launches_destroy(struct sl_launches *l)
{
    if (l)
        sl_pages_unmap(l, sizeof(*l));
}

static unsigned bit_of(uint32_t thread)
{
    return thread * 2654435761u >> 16 & (THREAD_BITS - 1);
}

struct sl_launch_about *sl_launches_add(struct sl_launches *l, uint32_t thread, uint64_t start_ns,
                                        uint64_t end_ns)
{
    uint64_t order_ns = end_ns;
    struct span *s;

    if (!thread)
        return NULL;
    if (l->count && order_ns < l->span[(l->count - 1) % SL_LAUNCHES_SPANS].order_ns)
        order_ns = l->span[(l->count - 1) % SL_LAUNCHES_SPANS].order_ns;
    if (order_ns - start_ns > l->longest_ns)
        l->longest_ns = order_ns - start_ns;
    l->has_added[bit_of(thread) / 64] |= 1ull << bit_of(thread) % 64;
    s = &l->span[l->count++ % SL_LAUNCHES_SPANS];
    *s = (struct span){start_ns, end_ns, order_ns, {.thread = thread, .number = UINT64_MAX}};
    return &s->about;
}

/* Returns the number of the first span with this order or a later one. */
static uint64_t first_from(const struct sl_launches *l, uint64_t ns)
{
    uint64_t high = l->count, low = high > SL_LAUNCHES_SPANS ? high - SL_LAUNCHES_SPANS : 0;

    while (low < high) {
        uint64_t middle = low + (high - low) / 2;

        if (l->span[middle % SL_LAUNCHES_SPANS].order_ns < ns)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

const struct sl_launch_about *sl_launches_find(const struct sl_launches *l, uint32_t thread,
                                               uint64_t ns)
{
    const struct span *s;

    if (!(l->has_added[bit_of(thread) / 64] >> bit_of(thread) % 64 & 1))
        return NULL;
    for (uint64_t i = first_from(l, ns); i < l->count; i++) {
        s = &l->span[i % SL_LAUNCHES_SPANS];
        if (s->order_ns - ns > l->longest_ns)
            return NULL;
        if (s->about.thread == thread && s->end_ns >= ns)
            return s->start_ns <= ns ? &s->about : NULL;
    }
    return NULL;
}

int sl_launches_any(const struct sl_launches *l)
{
    return l->count > 0;
}
