/*
 * range_row.c - emits the slices of ranges, truncated to the window.
 *
 * Threads, memory: see range.h.
 */
#include "event/range_impl.h"

static struct sl_event row_of(const struct sl_range *x)
{
    struct sl_event ev = {.kind = SL_EV_NVTX_RANGE,
                          .start_ns = x->start_ns,
                          .end_ns = SL_END_UNKNOWN,
                          .name = x->look.name,
                          .name_numbers = x->look.numbers,
                          .thread = x->row,
                          .value_type = x->look.value_type,
                          .order = x->stamp};

    ev.u.note.value = x->look.value;
    return ev;
}

void sl_range_tell_begin(struct sl_ranges *r, struct sl_range *x)
{
    struct sl_event ev;

    if (!r->opt.begins || x->begun || x->id || x->start_ns >= r->until_ns ||
        r->from_ns >= r->until_ns)
        return;
    x->begun = 1;
    ev = row_of(x);
    if (ev.start_ns < r->from_ns)
        ev.start_ns = r->from_ns;
    r->opt.sink(r->opt.sink_user, &ev);
}

void sl_range_show(struct sl_ranges *r, struct sl_range *x, uint64_t end_ns)
{
    struct sl_event ev = row_of(x);

    if (x->shown || x->start_ns >= r->until_ns ||
        (end_ns <= r->from_ns && x->start_ns < r->from_ns && !x->begun))
        return;
    x->shown = 1;
    ev.end_ns = end_ns;
    if (ev.start_ns < r->from_ns) {
        ev.start_ns = r->from_ns;
        ev.end_ns = end_ns > r->from_ns ? end_ns : r->from_ns;
        ev.flags |= SL_EVF_CUT_START;
    }
    if (ev.end_ns > r->until_ns || sl_range_is_open(x)) {
        ev.end_ns = ev.end_ns < r->until_ns ? ev.end_ns : r->until_ns;
        ev.flags |= SL_EVF_CUT_END;
    }
    r->counts.cut += ev.flags != 0;
    if (x->begun)
        ev.flags |= SL_EVF_BEGUN;
    if (x->id)
        ev.flags |= SL_EVF_ASYNC;
    ev.more = x->look.more;
    ev.payload = x->look.payload;
    ev.u.note.payload_numbers = x->look.payload_numbers;
    r->opt.sink(r->opt.sink_user, &ev);
}

void sl_ranges_past(struct sl_ranges *r, uint32_t row, uint64_t start_ns, uint64_t end_ns,
                    const struct sl_range_look *look)
{
    struct sl_range x = {.look = *look, .start_ns = start_ns, .end_ns = end_ns, .row = row};

    if (end_ns >= start_ns)
        sl_range_show(r, &x, end_ns);
}

/* ---- windows ---- */

/* Reverses the list of a thread's open ranges, so that it starts with the outermost range. A second
 * call restores the list. */
static uint32_t turn_round(struct sl_ranges *r, uint32_t index)
{
    uint32_t below, above = 0;

    for (; index; index = below) {
        below = r->range[index].below;
        r->range[index].below = above;
        above = index;
    }
    return above;
}

static void each_open(struct sl_ranges *r, void (*take)(struct sl_ranges *r, struct sl_range *x))
{
    for (uint32_t i = 0; i < SL_RANGE_THREADS; i++) {
        uint32_t first = r->thread[i].taken ? turn_round(r, r->thread[i].open) : 0;

        for (uint32_t index = first; index; index = r->range[index].below)
            take(r, &r->range[index]);
        turn_round(r, first);
    }
}

void sl_ranges_window(struct sl_ranges *r, uint64_t from_ns, uint64_t until_ns)
{
    int opens = r->from_ns >= r->until_ns && from_ns < until_ns;

    r->from_ns = from_ns;
    r->until_ns = until_ns;
    if (opens && r->opt.begins)
        each_open(r, sl_range_tell_begin);
}

static void show_to_the_end(struct sl_ranges *r, struct sl_range *x)
{
    sl_range_show(r, x, r->until_ns);
}

void sl_ranges_close(struct sl_ranges *r, uint64_t closed_ns)
{
    uint32_t index;

    if (r->until_ns > closed_ns)
        r->until_ns = closed_ns;
    while ((index = sl_range_take_ended(r)))
        sl_range_forget(r, &r->range[index]);
    each_open(r, show_to_the_end);
    for (index = 1; index < r->used; index++) {
        struct sl_range *x = &r->range[index];

        if (!x->stamp)
            continue;
        sl_range_show(r, x, closed_ns);
        sl_range_put_spans(r, x);
        x->begun = x->shown = 0;
        x->launches = 0;
    }
    /* After this, no window is open. */
    r->from_ns = r->until_ns = UINT64_MAX;
}
