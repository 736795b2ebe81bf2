/*
 * range.c - the user's ranges: which were open on a thread at a time.
 *
 * A thread's ranges are a list by start. The parent of a range is the one that began last of those
 * open at its start, so that whatever is open at a time is found from the last that began before
 * it, upwards. Ranges of two domains, and those that are started and ended, need not be nested:
 * a parent may end before what began in it.
 *
 * Threads, memory: see range.h.
 */
#include "event/range.h"

#include <errno.h>
#include <string.h>

#include "base/pages.h"
#include "event/range_impl.h"

#define DEFAULT_CAP_BYTES ((size_t)4 << 20)
/* How long a graph's later operations may follow those that have come. */
#define GRAPH_NS 1000000000u

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

/* Leaves out threads of which nothing is known any more (and, past a quarter of the table, some of
 * the others: what they have open stays open to the window's end). */
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

static struct sl_range_thread *find_thread(const struct sl_ranges *r, uint32_t id)
{
    struct sl_range_thread *t = probe(r, id);

    return t->taken ? t : NULL;
}

/* ---- places ---- */

static uint32_t index_of(const struct sl_ranges *r, const struct sl_range *x)
{
    return (uint32_t)(x - r->range);
}

static int is_open(const struct sl_range *x)
{
    return x->end_ns == UINT64_MAX;
}

/* Forgets a range that has ended and is on no list. */
static void forget(struct sl_ranges *r, struct sl_range *x)
{
    struct sl_range_thread *t = find_thread(r, x->thread);

    sl_range_put_spans(r, x);
    if (x->newer)
        r->range[x->newer].older = x->older;
    if (x->older)
        r->range[x->older].newer = x->newer;
    if (t && t->newest == index_of(r, x))
        t->newest = x->older;
    if (t && t->cursor == index_of(r, x))
        t->cursor = x->older;
    if (t)
        t->ranges--;
    x->stamp = 0;
    x->next = r->free;
    r->free = index_of(r, x);
}

static void append_ended(struct sl_ranges *r, uint32_t index)
{
    r->range[index].next = 0;
    if (r->ended_last)
        r->range[r->ended_last].next = index;
    else
        r->ended_first = index;
    r->ended_last = index;
}

static uint32_t take_first_ended(struct sl_ranges *r)
{
    uint32_t index = r->ended_first;

    if (index) {
        r->ended_first = r->range[index].next;
        if (!r->ended_first)
            r->ended_last = 0;
    }
    return index;
}

/* 0: all places are open ranges'. */
static uint32_t take_place(struct sl_ranges *r)
{
    uint32_t index;

    if (!r->free && r->used < r->ranges)
        return r->used++;
    if (!r->free) {
        index = take_first_ended(r);
        if (!index)
            return 0;
        forget(r, &r->range[index]);
    }
    index = r->free;
    r->free = r->range[index].next;
    return index;
}

/* ---- rows ---- */

static struct sl_event row_of(const struct sl_range *x)
{
    struct sl_event ev = {.kind = SL_EV_NOTE,
                          .start_ns = x->start_ns,
                          .end_ns = SL_END_UNKNOWN,
                          .name = x->look.name,
                          .correlation = x->look.numbers,
                          .thread = x->row,
                          .stream = x->stamp};

    return ev;
}

/* It is open: a part of it is in the window, if that is open too. Ranges that any thread may end
 * are around nothing. */
static void tell_begin(struct sl_ranges *r, struct sl_range *x)
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

/* The part of a range that ends at `end_ns`, or later, in the window. */
static void show(struct sl_ranges *r, struct sl_range *x, uint64_t end_ns)
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
    if (ev.end_ns > r->until_ns || is_open(x)) {
        ev.end_ns = ev.end_ns < r->until_ns ? ev.end_ns : r->until_ns;
        ev.flags |= SL_EVF_CUT_END;
    }
    r->counts.cut += ev.flags != 0;
    if (x->begun)
        ev.flags |= SL_EVF_BEGUN;
    ev.shape = x->look.more;
    ev.context = x->look.payload;
    ev.device = x->look.value_type;
    ev.u.note.value = x->look.value;
    ev.u.note.payload = x->look.payload_numbers;
    r->opt.sink(r->opt.sink_user, &ev);
}

/* ---- begin and end ---- */

static struct sl_range *begin(struct sl_ranges *r, uint32_t thread, uint64_t ns,
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

static void end(struct sl_ranges *r, struct sl_range *x, uint64_t ns)
{
    struct sl_range_thread *t = find_thread(r, x->thread);
    uint32_t *link = t ? &t->open : NULL;

    while (link && *link && *link != index_of(r, x))
        link = &r->range[*link].below;
    if (link && *link)
        *link = x->below;
    x->end_ns = ns > x->start_ns ? ns : x->start_ns;
    show(r, x, x->end_ns);
    append_ended(r, index_of(r, x));
}

void sl_ranges_push(struct sl_ranges *r, uint32_t thread, uint32_t domain, uint64_t ns,
                    const struct sl_range_look *look)
{
    struct sl_range *x = begin(r, thread, ns, look);

    if (!x)
        return;
    x->domain = domain;
    tell_begin(r, x);
}

static struct sl_range *innermost(struct sl_ranges *r, uint32_t thread, uint32_t domain)
{
    struct sl_range_thread *t = find_thread(r, thread);
    struct sl_range *x;

    for (uint32_t index = t ? t->open : 0; index; index = x->below) {
        x = &r->range[index];
        if (!x->id && x->domain == domain)
            return x;
    }
    return NULL;
}

struct sl_range_look *sl_ranges_innermost(struct sl_ranges *r, uint32_t thread, uint32_t domain)
{
    struct sl_range *x = innermost(r, thread, domain);

    return x ? &x->look : NULL;
}

void sl_ranges_pop(struct sl_ranges *r, uint32_t thread, uint32_t domain, uint64_t ns)
{
    struct sl_range *x = innermost(r, thread, domain);

    if (x)
        end(r, x, ns);
}

void sl_ranges_end_thread(struct sl_ranges *r, uint32_t thread, uint64_t ns)
{
    struct sl_range_thread *t = find_thread(r, thread);
    struct sl_range *x;

    for (uint32_t index = t ? t->open : 0, below; index; index = below) {
        x = &r->range[index];
        below = x->below;
        if (!x->id)
            end(r, x, ns);
    }
}

void sl_ranges_past(struct sl_ranges *r, uint32_t row, uint64_t start_ns, uint64_t end_ns,
                    const struct sl_range_look *look)
{
    struct sl_range x = {.look = *look, .start_ns = start_ns, .end_ns = end_ns, .row = row};

    if (end_ns >= start_ns)
        show(r, &x, end_ns);
}

static uint32_t *bucket_of(const struct sl_ranges *r, uint64_t id)
{
    return &r->bucket[id & (SL_RANGE_BUCKETS - 1)];
}

void sl_ranges_start(struct sl_ranges *r, uint32_t thread, uint64_t id, uint64_t ns, uint32_t row,
                     const struct sl_range_look *look)
{
    struct sl_range *x = begin(r, thread, ns, look);

    if (!x)
        return;
    x->id = id;
    x->row = row;
    x->same_bucket = *bucket_of(r, id);
    *bucket_of(r, id) = index_of(r, x);
}

static uint32_t *find_started(const struct sl_ranges *r, uint64_t id)
{
    uint32_t *link = bucket_of(r, id);

    while (*link && r->range[*link].id != id)
        link = &r->range[*link].same_bucket;
    return link;
}

struct sl_range_look *sl_ranges_started(struct sl_ranges *r, uint64_t id, uint32_t *row)
{
    struct sl_range *x = &r->range[*find_started(r, id)];

    if (x == r->range)
        return NULL;
    *row = x->row;
    return &x->look;
}

void sl_ranges_end(struct sl_ranges *r, uint64_t id, uint64_t ns)
{
    uint32_t *link = find_started(r, id);
    struct sl_range *x = &r->range[*link];

    if (!*link)
        return;
    *link = x->same_bucket;
    end(r, x, ns);
}

/* ---- the past ---- */

struct sl_range *sl_range_at(struct sl_ranges *r, uint32_t thread, uint64_t ns)
{
    struct sl_range_thread *t = find_thread(r, thread);
    uint32_t at = t ? t->cursor : 0;
    struct sl_range *x;

    if (!t)
        return NULL;
    /* Calls come nearly in the order of time: the last answer is near. */
    if (!at)
        at = t->newest;
    while (at && r->range[at].start_ns > ns)
        at = r->range[at].older;
    while (at && r->range[at].newer && r->range[r->range[at].newer].start_ns <= ns)
        at = r->range[at].newer;
    t->cursor = at;
    x = at ? &r->range[at] : NULL;
    while (x && x->end_ns <= ns)
        x = sl_range_parent(r, x);
    return x;
}

int sl_range_is_worker(const struct sl_ranges *r, uint32_t thread)
{
    for (uint32_t i = 0; i < r->workers; i++)
        if (r->worker[i] == thread)
            return 1;
    return 0;
}

void sl_ranges_worker(struct sl_ranges *r, uint32_t thread)
{
    if (r->workers < SL_RANGE_WORKERS && !sl_range_is_worker(r, thread))
        r->worker[r->workers++] = thread;
}

/* ---- windows ---- */

/* Of a thread the outermost first: turns the list of its open ranges round, and back. */
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
        each_open(r, tell_begin);
}

static int is_done(const struct sl_range *x, uint64_t complete_ns)
{
    uint64_t more_ns = x->has_graph ? GRAPH_NS : 0;

    return x->end_ns < complete_ns && !x->launches && x->last_op_ns + more_ns < complete_ns;
}

void sl_ranges_complete(struct sl_ranges *r, uint64_t complete_ns)
{
    uint32_t index = r->ended_first, next;

    r->ended_first = r->ended_last = 0;
    for (; index; index = next) {
        next = r->range[index].next;
        if (is_done(&r->range[index], complete_ns))
            forget(r, &r->range[index]);
        else
            append_ended(r, index);
    }
}

static void show_to_the_end(struct sl_ranges *r, struct sl_range *x)
{
    show(r, x, r->until_ns);
}

void sl_ranges_close(struct sl_ranges *r, uint64_t closed_ns)
{
    uint32_t index;

    if (r->until_ns > closed_ns)
        r->until_ns = closed_ns;
    while ((index = take_first_ended(r)))
        forget(r, &r->range[index]);
    each_open(r, show_to_the_end);
    for (index = 1; index < r->used; index++) {
        struct sl_range *x = &r->range[index];

        if (!x->stamp)
            continue;
        show(r, x, closed_ns);
        sl_range_put_spans(r, x);
        x->begun = x->shown = 0;
        x->launches = 0;
    }
    /* Told again, it finds no window. */
    r->from_ns = r->until_ns = UINT64_MAX;
}

void sl_ranges_get_counts(const struct sl_ranges *r, struct sl_ranges_counts *out)
{
    *out = r->counts;
}

/* ---- life ---- */

/* Lays the tables out in the memory; gives the bytes they take. */
static size_t areas(struct sl_ranges *r, char *memory)
{
    size_t at = 0;

    r->thread = (struct sl_range_thread *)(memory + at);
    at += SL_RANGE_THREADS * sizeof(*r->thread);
    r->bucket = (uint32_t *)(memory + at);
    at += SL_RANGE_BUCKETS * sizeof(*r->bucket);
    r->range = (struct sl_range *)(memory + at);
    at += (size_t)r->ranges * sizeof(*r->range);
    r->span = (struct sl_range_span *)(memory + at);
    return at + (size_t)r->spans * sizeof(*r->span);
}

int sl_ranges_create(struct sl_ranges **out, const struct sl_ranges_options *opt)
{
    size_t cap = opt->cap_bytes ? opt->cap_bytes : DEFAULT_CAP_BYTES, fixed;
    struct sl_ranges *r = sl_pages_map(sizeof(*r));

    if (!r)
        return -ENOMEM;
    fixed = areas(r, NULL);
    if (cap < 2 * fixed) {
        sl_pages_unmap(r, sizeof(*r));
        return -EINVAL;
    }
    /* As many spans as ranges: most are on one stream, or none. */
    r->ranges = r->spans =
        (uint32_t)((cap - fixed) / (sizeof(struct sl_range) + sizeof(struct sl_range_span)));
    r->memory_bytes = areas(r, NULL);
    r->memory = sl_pages_map(r->memory_bytes);
    if (!r->memory) {
        sl_pages_unmap(r, sizeof(*r));
        return -ENOMEM;
    }
    areas(r, r->memory);
    r->opt = *opt;
    r->used = r->spans_used = 1;
    *out = r;
    return 0;
}

void sl_ranges_destroy(struct sl_ranges *r)
{
    if (!r)
        return;
    sl_pages_unmap(r->memory, r->memory_bytes);
    sl_pages_unmap(r, sizeof(*r));
}
