/*
 * wait_open.c - keeps the waits whose call has not returned yet.
 *
 * The waits are stored in a heap, with the wait that returns first on top. The earliest start of
 * all open waits is computed again once half of the waits were removed. Until then the stored value
 * may be too early, which is safe.
 *
 * Threads: only the thread that owns the engine (edge.h). Memory: the heap owns the waits. The
 * engine's store (base/store.h) provides the heap.
 */
#include <errno.h>

#include "sync/wait.h"

int sl_open_add(struct sl_open *o, struct sl_store *store, const struct sl_wait *wait)
{
    struct sl_wait *room = sl_store_more(store, o->wait, &o->slots, o->count + 1, sizeof *room);
    size_t at;

    if (!room)
        return -ENOMEM;
    o->wait = room;
    for (at = o->count++; at; at = (at - 1) / 2) {
        if (o->wait[(at - 1) / 2].when.to_ns <= wait->when.to_ns)
            break;
        o->wait[at] = o->wait[(at - 1) / 2];
    }
    o->wait[at] = *wait;
    if (o->count == 1 || wait->when.from_ns < o->since_ns)
        o->since_ns = wait->when.from_ns;
    return 0;
}

static void look_since(struct sl_open *o)
{
    o->gone = 0;
    o->since_ns = UINT64_MAX;
    for (size_t i = 0; i < o->count; i++)
        if (o->wait[i].when.from_ns < o->since_ns)
            o->since_ns = o->wait[i].when.from_ns;
}

int sl_open_take(struct sl_open *o, uint64_t ns, struct sl_wait *out)
{
    const struct sl_wait *last;
    size_t at = 0, next;

    if (o->count == 0 || o->wait[0].when.to_ns > ns)
        return 0;
    *out = o->wait[0];
    last = &o->wait[--o->count];
    while ((next = 2 * at + 1) < o->count) {
        next += next + 1 < o->count && o->wait[next + 1].when.to_ns < o->wait[next].when.to_ns;
        if (last->when.to_ns <= o->wait[next].when.to_ns)
            break;
        o->wait[at] = o->wait[next];
        at = next;
    }
    o->wait[at] = *last;
    if (++o->gone >= o->count)
        look_since(o);
    return 1;
}

void sl_open_forget(struct sl_open *o, struct sl_store *store)
{
    sl_store_unmap(store, o->wait, o->slots * sizeof *o->wait);
    *o = (struct sl_open){0};
}

uint64_t sl_open_since(const struct sl_open *o)
{
    return o->count ? o->since_ns : UINT64_MAX;
}

int sl_open_between(const struct sl_open *o, uint64_t second_tied_ns, uint64_t first_end_ns,
                    uint64_t second_end_ns)
{
    for (size_t i = 0; i < o->count; i++) {
        const struct sl_moment *when = &o->wait[i].when;

        if ((!second_tied_ns || second_tied_ns > when->from_ns) && first_end_ns <= when->to_ns &&
            (!second_end_ns || second_end_ns > when->to_ns))
            return 1;
    }
    return 0;
}
