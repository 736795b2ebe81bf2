/*
 * chakra.c - opens and ends files, holds rows, and writes them in order. (A row is an event that is
 * a slice in the trace.)
 *
 * Rows are held until sl_chakra_advance() reports a time up to which all events have arrived. Rows
 * that ended by then are written, sorted by start. A row that ended later is still held, even if it
 * began earlier. The file still contains the parents of every node, because a row that waited for
 * the held row also ended later.
 *
 * Threads: one owner. Memory: one area, mapped at creation and divided among the tables. Pages of
 * the area that were never used take no memory.
 */
#include <errno.h>
#include <string.h>

#include "base/pages.h"
#include "write/chakra/chakra_internal.h"
#include "write/chakra/wire.h"

#define DEFAULT_CAP_BYTES (24u << 20)
#define LEAST_CAP_BYTES   (12u << 20)

/* Maximum size of a node without its name, dependencies and texts. */
#define NODE_BYTES 1024u

/* Bytes that a held row needs, for the row and for its two entries in the sort. */
#define HELD_BYTES (sizeof(struct sl_event) + 2 * sizeof(struct sl_chakra_turn))

/* Divides `memory` among the tables and returns the bytes used. If `memory` is NULL, only returns
 * the number of bytes. */
static size_t divide(struct sl_chakra *c, char *memory)
{
    size_t at = 0;

#define TAKE(member, bytes)                                                                        \
    do {                                                                                           \
        c->member = (void *)(memory + at);                                                         \
        at += sl_pages_round(bytes);                                                               \
    } while (0)
    TAKE(block, SL_CHAKRA_BLOCK);
    TAKE(node, NODE_BYTES * 16 + SL_CHAKRA_NAME_MAX + SL_CHAKRA_MORE_MAX +
                   SL_CHAKRA_DEPS * SL_WIRE_VARINT_MAX);
    TAKE(name, 2 * SL_CHAKRA_NAME_MAX);
    TAKE(dep, SL_CHAKRA_DEPS * sizeof(*c->dep));
    /* The areas from edge_bucket to `held` contain data of one file, and are cleared for the next
     * file. */
    TAKE(edge_bucket, SL_CHAKRA_EDGE_BUCKETS * sizeof(*c->edge_bucket));
    TAKE(op, SL_CHAKRA_OPS * sizeof(*c->op));
    TAKE(launch, SL_CHAKRA_LAUNCHES * sizeof(*c->launch));
    TAKE(launch_bucket, SL_CHAKRA_LAUNCHES * sizeof(*c->launch_bucket));
    TAKE(thread, SL_CHAKRA_THREADS * sizeof(*c->thread));
    TAKE(thread_at, SL_CHAKRA_THREAD_PLACES * sizeof(*c->thread_at));
    TAKE(open, SL_CHAKRA_OPEN * sizeof(*c->open));
    TAKE(forward, SL_CHAKRA_SEQUENCES * sizeof(*c->forward));
    TAKE(number, SL_CHAKRA_NUMBERS * sizeof(*c->number));
    TAKE(stream, SL_CHAKRA_STREAMS * sizeof(*c->stream));
    TAKE(stream_at, SL_CHAKRA_STREAM_PLACES * sizeof(*c->stream_at));
    TAKE(called, SL_CHAKRA_CALLED * sizeof(*c->called));
    TAKE(held, c->held_max * sizeof(*c->held));
    TAKE(turn, c->held_max * sizeof(*c->turn));
    TAKE(turn_spare, c->held_max * sizeof(*c->turn_spare));
    TAKE(edge, c->edges_max * sizeof(*c->edge));
#undef TAKE
    return at;
}

int sl_chakra_create(struct sl_chakra **out, const struct sl_chakra_options *opt)
{
    size_t cap = opt->cap_bytes ? opt->cap_bytes : DEFAULT_CAP_BYTES;
    struct sl_chakra *c;

    if (cap < LEAST_CAP_BYTES)
        return -EINVAL;
    c = sl_pages_map(sizeof(*c));
    if (!c)
        return -ENOMEM;
    c->opt = *opt;
    if (!c->opt.correlation_mask)
        c->opt.correlation_mask = UINT64_MAX;
    /* An eighth of the memory left by the fixed areas is for edges. */
    cap -= divide(c, NULL) + SL_CHAKRA_NAMES_BYTES;
    c->held_max = cap / 8 * 7 / HELD_BYTES;
    c->edges_max = cap / 8 / sizeof(*c->edge);
    c->area_bytes = divide(c, NULL);
    c->area = sl_pages_map(c->area_bytes);
    if (!c->area || sl_text_cache_init(&c->names, SL_CHAKRA_NAMES_BYTES) != 0) {
        sl_chakra_destroy(c);
        return -ENOMEM;
    }
    divide(c, c->area);
    *out = c;
    return 0;
}

void sl_chakra_destroy(struct sl_chakra *c)
{
    if (!c)
        return;
    sl_text_cache_destroy(&c->names);
    sl_pages_unmap(c->area, c->area_bytes);
    sl_pages_unmap(c, sizeof(*c));
}

/* Node ids are valid in one file only, so this function clears all data that refers to node ids. */
static void forget(struct sl_chakra *c)
{
    /* The areas with the data of one file are adjacent in memory, so one call clears all of
     * them. */
    sl_pages_clear(c->edge_bucket, (size_t)((char *)c->held - (char *)c->edge_bucket));
    memset(&c->unseen, 0, sizeof(c->unseen));
    memset(&c->forgotten, 0, sizeof(c->forgotten));
    memset(c->first_context, 0, sizeof(c->first_context));
    memset(&c->count, 0, sizeof(c->count));
    c->next_launch = 0;
    c->threads = 0;
    c->open_free = NULL;
    c->opened = 0;
    c->streams = 0;
    c->held_count = 0;
    c->edges = 0;
    c->deps = 0;
    c->used = 0;
}

int sl_chakra_begin(struct sl_chakra *c, struct sl_sink *sink, const struct sl_trace_meta *meta)
{
    if (c->sink)
        return -EBUSY;
    forget(c);
    c->meta = *meta;
    c->sink = sink;
    c->error = 0;
    c->header_out = 0;
    c->ending = 0;
    c->last_ns = 0;
    c->has_launched = 0;
    c->host_ns = 0;
    c->done_ns = 0;
    return 0;
}

/* ---- which rows are written, and when ---- */

/* Writes the header, which is the first message of the file. The header contains the base time, and
 * the device if it is known already. */
static void put_header(struct sl_chakra *c)
{
    uint32_t thread = 0;
    size_t i;

    c->base_ns = c->meta.opened_ns ? c->meta.opened_ns : UINT64_MAX;
    c->device = SL_STREAM_NONE;
    for (i = 0; i < c->held_count; i++) {
        const struct sl_event *ev = &c->held[i];

        if (ev->start_ns < c->base_ns)
            c->base_ns = ev->start_ns;
        if (c->device == SL_STREAM_NONE && !sl_chakra_is_cpu(ev))
            c->device = ev->device;
    }
    if (c->base_ns == UINT64_MAX)
        c->base_ns = 0;
    c->from_ns = c->base_ns;
    if (c->opt.base_ns && c->opt.base_ns < c->base_ns)
        c->base_ns = c->opt.base_ns;
    sl_chakra_put_header(c);
    c->header_out = 1;
    c->offset_id = 0;
    for (i = 0; i < c->held_count && !thread; i++)
        if (sl_chakra_is_cpu(&c->held[i]))
            thread = c->held[i].thread;
    if (c->from_ns > c->base_ns)
        sl_chakra_put_offset(c, thread);
}

/* Lowers `complete_ns` to the start of a held launch that has not ended, because the launch must be
 * written before its operations. */
static uint64_t with_launches(const struct sl_chakra *c, uint64_t complete_ns)
{
    uint64_t until = complete_ns;
    size_t i;

    for (i = 0; i < c->held_count; i++) {
        const struct sl_event *ev = &c->held[i];

        if (ev->end_ns > complete_ns && ev->flags & SL_EVF_LAUNCH && sl_chakra_is_cpu(ev) &&
            ev->start_ns < until)
            until = ev->start_ns;
    }
    return until;
}

/* Returns the time from which a row may be processed. A row that encloses other rows is written
 * piece by piece, so it is processed from its begin on. */
static uint64_t ready_ns(const struct sl_event *ev)
{
    return sl_chakra_is_outer(ev) ? ev->start_ns : ev->end_ns;
}

static void put_row(struct sl_chakra *c, const struct sl_event *ev)
{
    if (sl_chakra_is_end(ev))
        sl_chakra_take_end(c, ev);
    else if (sl_chakra_is_cpu(ev))
        sl_chakra_take_row(c, ev);
    else
        sl_chakra_take_op(c, ev);
}

/* Returns 1 if the operation's launch has not arrived. This is rare, because a launch begins before
 * its operation. */
static int lacks_launch(const struct sl_chakra *c, const struct sl_event *ev)
{
    return !sl_chakra_is_cpu(ev) && !sl_chakra_has_launch(c, ev->correlation);
}

/* Returns 1 if the writer must hold the row at turn[i], and all rows that began later, because
 * later rows decide what is written. */
static int must_wait(struct sl_chakra *c, const struct sl_chakra_turn *turn, size_t i, size_t ready,
                     uint64_t complete_ns)
{
    struct sl_event *ev = &c->held[turn[i].index];

    if (!sl_chakra_is_cpu(ev))
        return sl_chakra_must_wait(c, ev, complete_ns);
    return sl_chakra_is_call(ev) ? sl_chakra_may_be_cut(c, ev, complete_ns)
                                 : sl_chakra_lacks_sequence(c, turn + i, ready - i, complete_ns);
}

/* Writes the rows that are ready by `until_ns`, but stops at a row that must wait for later rows.
 */
static void put_held(struct sl_chakra *c, uint64_t until_ns)
{
    uint64_t complete_ns = until_ns;
    struct sl_chakra_turn *turn;
    size_t i, ready = 0, kept = 0;
    int looked = 0;

    c->unseen.until_ns = 0;
    for (i = 0; i < c->held_count; i++) {
        if (ready_ns(&c->held[i]) <= until_ns)
            c->turn[ready++] = (struct sl_chakra_turn){c->held[i].start_ns, (uint32_t)i};
    }
    if (ready && !c->header_out)
        put_header(c);
    turn = sl_chakra_order(c->held, c->turn, c->turn_spare, ready);
    for (i = 0; i < ready && !c->error; i++) {
        struct sl_event *ev = &c->held[turn[i].index];

        if (!looked && lacks_launch(c, ev)) {
            looked = 1;
            turn = sl_chakra_behind_calls(c, turn, i, &ready, &until_ns);
            if (i == ready)
                break;
            ev = &c->held[turn[i].index];
        }
        if (must_wait(c, turn, i, ready, complete_ns)) {
            until_ns = sl_chakra_before(ev->start_ns);
            break;
        }
        put_row(c, ev);
        /* marks the row as removed; its memory is reused when the remaining rows are moved together
         */
        ev->start_ns = 0;
    }
    for (i = 0; i < c->held_count; i++)
        if (c->held[i].start_ns)
            c->held[kept++] = c->held[i];
    c->held_count = kept;
    c->done_ns = until_ns;
    sl_chakra_settle_waits(c, until_ns);
    sl_chakra_sweep_edges(c, until_ns);
}

static int is_held(const struct sl_chakra_turn *call, size_t count, uint64_t correlation)
{
    size_t low = 0;

    while (count) {
        size_t half = count / 2;

        if (call[low + half].key == correlation)
            return 1;
        if (call[low + half].key < correlation) {
            low += half + 1;
            count -= half + 1;
        } else {
            count = half;
        }
    }
    return 0;
}

/* Returns `until_ns`, or the time of an earlier operation whose launch has not arrived. The
 * launch's row may still arrive, because the assembler holds a driver call until it is known that
 * the call is inside no runtime call. */
static uint64_t with_late_launches(struct sl_chakra *c, uint64_t until_ns)
{
    struct sl_chakra_turn *call;
    size_t i, calls = 0;

    for (i = 0; i < c->held_count; i++)
        if (sl_chakra_is_call(&c->held[i]))
            c->turn[calls++] = (struct sl_chakra_turn){c->held[i].correlation, (uint32_t)i};
    call = sl_chakra_sort(c->turn, c->turn_spare, calls);
    for (i = 0; i < c->held_count; i++) {
        const struct sl_event *ev = &c->held[i];

        if (!sl_chakra_is_cpu(ev) && ev->start_ns <= until_ns &&
            !sl_chakra_has_launch(c, ev->correlation) && !is_held(call, calls, ev->correlation))
            until_ns = ev->start_ns - 1;
    }
    return until_ns;
}

/* Returns 1 if too many rows are held. A pass over all held rows takes time, so each pass must free
 * a large number of rows. */
static int is_crowded(const struct sl_chakra *c)
{
    return c->held_count > c->held_max / 16 * 15;
}

/* Makes room. If joining the runs of queries frees too little, writes the older half of the held
 * time span, even if later events could still change these rows. */
static void make_room(struct sl_chakra *c)
{
    uint64_t first = UINT64_MAX, last = 0, middle;
    size_t i;

    if (sl_chakra_join_held_polls(c) > c->held_max / 4)
        return;
    for (i = 0; i < c->held_count; i++) {
        uint64_t ns = ready_ns(&c->held[i]);

        first = ns < first ? ns : first;
        last = ns > last ? ns : last;
    }
    middle = first + (last - first) / 2;
    c->count.forced++;
    put_held(c, with_launches(c, with_late_launches(c, middle)));
    c->hurried = 1;
    if (is_crowded(c))
        put_held(c, middle);
    /* If one row is much older than all others, the first half of the time span may have contained
     * only that row. */
    if (is_crowded(c))
        put_held(c, last);
    c->hurried = 0;
}

static int is_row(const struct sl_event *ev)
{
    switch (ev->kind) {
    case SL_EV_KERNEL:
    case SL_EV_MEMCPY:
    case SL_EV_MEMSET:
    case SL_EV_GRAPH:
    case SL_EV_RUNTIME:
    case SL_EV_DRIVER:
        return 1;
    case SL_EV_CPU_OP:
    case SL_EV_RANGE:
        return !(ev->flags & SL_EVF_ASYNC);
    case SL_EV_NVTX_RANGE: /* a range that may end on any thread has no event at its begin */
        return ev->end_ns == SL_END_UNKNOWN || ev->flags & SL_EVF_BEGUN;
    default:
        return 0;
    }
}

static void hold(struct sl_chakra *c, const struct sl_event *ev)
{
    struct sl_event *held = &c->held[c->held_count++];

    *held = *ev;
    if (ev->end_ns != SL_END_UNKNOWN && ev->end_ns > c->last_ns)
        c->last_ns = ev->end_ns;
    if (sl_chakra_is_call(ev))
        sl_chakra_note_call(c, ev);
    if (sl_chakra_is_poll(ev))
        held->u.call.queries = 1;
    if (sl_chakra_is_end(ev))
        held->start_ns = ev->end_ns;
}

int sl_chakra_events(struct sl_chakra *c, const struct sl_event *ev, size_t count)
{
    size_t i;

    for (i = 0; c->sink && i < count && !c->error; i++) {
        if (!is_row(&ev[i]))
            continue;
        if (ev[i].start_ns == 0 || ev[i].end_ns < ev[i].start_ns ||
            ev[i].flags & (SL_EVF_NO_TIME | SL_EVF_STILL_RUNNING)) {
            c->count.rows_invalid++;
            continue;
        }
        if (c->held_count == c->held_max)
            make_room(c);
        hold(c, &ev[i]);
    }
    return c->error;
}

/* The header names the device, so the header is not written before the first operation as long as
 * there is room for the rows. */
static int is_too_early(const struct sl_chakra *c)
{
    size_t i;

    for (i = 0; !c->header_out && i < c->held_count; i++)
        if (!sl_chakra_is_cpu(&c->held[i]))
            return 0;
    return !c->header_out;
}

int sl_chakra_advance(struct sl_chakra *c, uint64_t complete_ns)
{
    /* Until the time unseen.until_ns, the writer holds an operation without a call, with all rows
     * that began after the operation (early.c). */
    if (c->sink && !c->error && complete_ns >= c->unseen.until_ns && !is_too_early(c))
        put_held(c, with_launches(c, complete_ns));
    return c->error;
}

int sl_chakra_flush(struct sl_chakra *c)
{
    if (c->sink)
        sl_chakra_hand_over(c);
    return c->error;
}

int sl_chakra_end(struct sl_chakra *c)
{
    int error;

    if (!c->sink)
        return -EINVAL;
    c->ending = 1;
    put_held(c, UINT64_MAX);
    sl_chakra_close_threads(c);
    if (!c->header_out)
        put_header(c);
    sl_chakra_hand_over(c);
    error = c->error;
    c->sink = NULL;
    c->error = 0;
    return error;
}

size_t sl_chakra_held(const struct sl_chakra *c)
{
    return c->held_count;
}

void sl_chakra_get_counts(const struct sl_chakra *c, struct sl_chakra_counts *out)
{
    *out = c->count;
}
