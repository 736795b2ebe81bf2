/*
 * overheads.c - finds the calls that rows of overhead belong to (overheads.h).
 *
 * Threads, memory: see overheads.h.
 */
#include "read/overheads.h"

#include <stdlib.h>

enum {
    FIRST_SLOTS = 64,
    ROWS_MOST = 1 << 20
};

void sl_overheads_free(struct sl_overheads *o)
{
    free(o->row);
    *o = (struct sl_overheads){0};
}

void sl_overheads_put(struct sl_overheads *o, const struct sl_event *ev)
{
    size_t slots = o->slots ? 2 * o->slots : FIRST_SLOTS;
    struct sl_overhead *row;

    if (o->count == ROWS_MOST)
        return;
    if (o->count == o->slots) {
        row = realloc(o->row, slots * sizeof(*row));
        if (!row)
            return;
        o->row = row;
        o->slots = slots;
    }
    o->row[o->count++] = (struct sl_overhead){.start_ns = ev->start_ns,
                                              .end_ns = ev->end_ns,
                                              .thread = ev->thread,
                                              .type = ev->u.overhead.type};
}

static int by_start(const void *x, const void *y)
{
    const struct sl_overhead *a = x, *b = y;

    return (a->start_ns > b->start_ns) - (a->start_ns < b->start_ns);
}

void sl_overheads_call(struct sl_overheads *o, const struct sl_event *call)
{
    size_t low = 0, high = o->count;

    if (!o->sorted && o->count)
        qsort(o->row, o->count, sizeof(*o->row), by_start);
    o->sorted = 1;
    while (low < high) {
        size_t middle = (low + high) / 2;

        if (o->row[middle].start_ns < call->start_ns)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < o->count && o->row[low].start_ns < call->end_ns; low++) {
        struct sl_overhead *row = &o->row[low];

        if (row->end_ns > call->end_ns || (row->thread && row->thread != call->thread))
            continue;
        if (row->correlation == 0 || row->correlation == call->correlation)
            row->correlation = call->correlation;
        else
            row->correlation = UINT64_MAX;
    }
}

int sl_overheads_next(const struct sl_overheads *o, size_t *at, struct sl_event *out)
{
    const struct sl_overhead *row;

    while (*at < o->count) {
        row = &o->row[(*at)++];
        if (row->correlation == 0 || row->correlation == UINT64_MAX)
            continue;
        *out = (struct sl_event){.kind = SL_EV_OVERHEAD,
                                 .start_ns = row->start_ns,
                                 .end_ns = row->end_ns,
                                 .correlation = row->correlation,
                                 .thread = row->thread};
        out->u.overhead.type = row->type;
        return 1;
    }
    return 0;
}
