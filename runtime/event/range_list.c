/*
 * range_list.c - stores all ranges, and lists them by thread.
 *
 * Threads, memory: see range.h.
 */
#include <string.h>

#include "event/range_impl.h"

/* ---- threads ---- */

static struct sl_range_thread *probe(const struct sl_ranges *r, uint32_t id)
{
    uint32_t at = (id * 2654435761u >> 8) & (SL_RANGE_THREADS - 1);

    while (r->thread[at].taken && r->thread[at].id != id)
        at = (at + 1) & (SL_RANGE_THREADS - 1);
    return &r->thread[at];
}

static void add_caller(struct sl_ranges *r, uint32_t id)
{
    if (r->callers < SL_RANGE_CALLERS)
        r->caller[r->callers] = id;
    r->callers++;
}

/* Removes the entries of threads that have no stored ranges. If more than a quarter of the table is
 * still used afterwards, also removes some threads with ranges. The open ranges of such a thread
 * stay open until the window ends. */
static void sweep_threads(struct sl_ranges *r)
{
    struct sl_range_thread kept[SL_RANGE_THREADS / 4];
    uint32_t count = 0;

    for (uint32_t i = 0; i < SL_RANGE_THREADS; i++) {
        if (r->thread[i].taken && r->thread[i].ranges && count < SL_RANGE_THREADS / 4)
            kept[count++] = r->thread[i];
    }
    memset(r->thread, 0, SL_RANGE_THREADS * sizeof(*r->thread));
    r->callers = 0;
    for (uint32_t i = 0; i < count; i++) {
        *probe(r, kept[i].id) = kept[i];
        add_caller(r, kept[i].id);
    }
    r->threads = count;
}

static struct sl_range_thread *get_thread(struct sl_ranges *r, uint32_t id)
{
    struct sl_range_thread *t = probe(r, id);

    if (t->taken)
        return t;
    if (r->threads >= SL_RANGE_THREADS / 2) {
        sweep_threads(r);
        t = probe(r, id);
    }
    *t = (struct sl_range_thread){.id = id, .taken = 1};
    r->threads++;
    add_caller(r, id);
    return t;
}

struct sl_range_thread *sl_range_find_thread(const struct sl_ranges *r, uint32_t id)
{
    struct sl_range_thread *t = probe(r, id);

    return t->taken ? t : NULL;
}

/* ---- entries ---- */

void sl_range_forget(struct sl_ranges *r, struct sl_range *x)
{
    struct sl_range_thread *t = sl_range_find_thread(r, x->thread);

    sl_range_put_spans(r, x);
    if (x->newer)
        r->range[x->newer].older = x->older;
    if (x->older)
        r->range[x->older].newer = x->newer;
    if (t && t->newest == sl_range_index(r, x))
        t->newest = x->older;
    if (t && t->cursor == sl_range_index(r, x))
        t->cursor = x->older;
    if (t)
        t->ranges--;
    x->stamp = 0;
    x->next = r->free;
    r->free = sl_range_index(r, x);
}

void sl_range_append_ended(struct sl_ranges *r, uint32_t index)
{
    r->range[index].next = 0;
    if (r->ended_last)
        r->range[r->ended_last].next = index;
    else
        r->ended_first = index;
    r->ended_last = index;
}

uint32_t sl_range_take_ended(struct sl_ranges *r)
{
    uint32_t index = r->ended_first;

    if (index) {
        r->ended_first = r->range[index].next;
        if (!r->ended_first)
            r->ended_last = 0;
    }
    return index;
}

/* Returns a free entry, or evicts an ended range. Returns 0 if all ranges are open. */
static uint32_t take_place(struct sl_ranges *r)
{
    uint32_t index;

    if (!r->free && r->used < r->ranges)
        return r->used++;
    if (!r->free) {
        index = sl_range_take_ended(r);
        if (!index)
            return 0;
        sl_range_forget(r, &r->range[index]);
    }
    index = r->free;
    r->free = r->range[index].next;
    return index;
}

struct sl_range *sl_range_begin(struct sl_ranges *r, uint32_t thread, uint64_t ns,
                                const struct sl_range_look *look)
{
    struct sl_range_thread *t = get_thread(r, thread);
    uint32_t index = take_place(r);
    struct sl_range *x = &r->range[index];

    if (!index) {
        r->counts.lost++;
        return NULL;
    }
    *x = (struct sl_range){.look = *look, .start_ns = ns, .end_ns = UINT64_MAX, .thread = thread};
    r->stamp = r->stamp + 1 ? r->stamp + 1 : 1;
    x->stamp = r->stamp;
    x->row = thread;
    x->parent = x->below = t->open;
    x->parent_stamp = r->range[t->open].stamp;
    x->older = t->newest;
    if (t->newest)
        r->range[t->newest].newer = index;
    t->newest = t->open = index;
    t->ranges++;
    return x;
}
