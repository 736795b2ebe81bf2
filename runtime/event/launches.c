/*
 * launches.c - stores which library call made the kernel launches of a time span.
 *
 * Threads, memory: see launches.h.
 */
#include "event/launches.h"

#include <errno.h>
#include <stddef.h>

#include "base/pages.h"

struct span {
    uint64_t start_ns, end_ns;
    struct sl_launch_about about;
};

struct thread {
    uint32_t id;    /* 0: free */
    uint64_t count; /* number of spans added so far; span n is at n % SL_LAUNCHES_SPANS */
    struct span span[SL_LAUNCHES_SPANS];
};

struct sl_launches {
    int any;
    struct thread thread[SL_LAUNCHES_THREADS];
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

/* Returns the thread's entry, or a free entry (`id` is 0), or NULL if the table is full. */
static const struct thread *find_thread(const struct sl_launches *l, uint32_t id)
{
    for (uint32_t i = 0, at = id * 2654435761u >> 8; i < SL_LAUNCHES_THREADS; i++, at++) {
        const struct thread *t = &l->thread[at % SL_LAUNCHES_THREADS];

        if (t->id == id || t->id == 0)
            return t;
    }
    return NULL;
}

/* Returns the thread whose last span is the oldest. Programs may start a thread for each request.
 */
static struct thread *oldest(struct sl_launches *l)
{
    struct thread *oldest = NULL;
    uint64_t ns = UINT64_MAX;

    for (uint32_t i = 0; i < SL_LAUNCHES_THREADS; i++) {
        struct thread *t = &l->thread[i];
        uint64_t last_ns = t->span[(t->count - 1) % SL_LAUNCHES_SPANS].end_ns;

        if (last_ns < ns) {
            ns = last_ns;
            oldest = t;
        }
    }
    return oldest;
}

struct sl_launch_about *sl_launches_add(struct sl_launches *l, uint32_t thread, uint64_t start_ns,
                                        uint64_t end_ns)
{
    struct thread *t = (struct thread *)(uintptr_t)find_thread(l, thread);
    struct span *s;

    if (!thread)
        return NULL;
    if (!t)
        t = oldest(l);
    if (t->id != thread) {
        t->id = thread;
        t->count = 0;
    }
    s = &t->span[t->count++ % SL_LAUNCHES_SPANS];
    *s = (struct span){start_ns, end_ns, {.thread = thread, .number = UINT64_MAX}};
    l->any = 1;
    return &s->about;
}

const struct sl_launch_about *sl_launches_find(const struct sl_launches *l, uint32_t thread,
                                               uint64_t ns)
{
    const struct thread *t = thread && l->any ? find_thread(l, thread) : NULL;
    uint64_t low, high;
    const struct span *s;

    if (!t || t->id != thread || !t->count)
        return NULL;
    high = t->count;
    low = high > SL_LAUNCHES_SPANS ? high - SL_LAUNCHES_SPANS : 0;
    while (high - low > 1) {
        uint64_t middle = low + (high - low) / 2;

        if (t->span[middle % SL_LAUNCHES_SPANS].start_ns <= ns)
            low = middle;
        else
            high = middle;
    }
    s = &t->span[low % SL_LAUNCHES_SPANS];
    return s->start_ns <= ns && ns <= s->end_ns ? &s->about : NULL;
}

int sl_launches_any(const struct sl_launches *l)
{
    return l->any;
}
