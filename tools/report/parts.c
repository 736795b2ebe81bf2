/*
 * parts.c - walks the time of each device once, from interval to interval of a few merged lists.
 *
 * For each class of work, the times in which an operation of the class runs are merged into a list
 * of spans that do not touch. The walk goes from one begin or end of a span to the next. Between
 * two of them nothing changes, so the slice of time belongs to one part.
 *
 * Threads, memory: see parts.h.
 */
#include "report/parts.h"

#include <errno.h>
#include <stdlib.h>

#include "read/grow.h"
#include "report/idle.h"
#include "report/spans.h"

/* The lists of spans, in the order in which they decide. */
enum list {
    COMPUTE,
    TRANSFER, /* communication that all ranks have begun, as far as is known */
    COMMUNICATION,
    COPY,
    LISTS
};

/* The operations that were launched in one part of the CPU's time. */
struct cpu_part {
    uint64_t end_ns; /* their latest end */
    uint64_t ops;
};

/* The walk over one device. */
struct walk {
    const struct sl_recording *recording;
    const struct sl_report_op *op; /* the operations of the device */
    const uint64_t *peer_ns;       /* see struct sl_peers; NULL: not known */
    size_t ops;
    struct sl_spans list[LISTS];
    struct cpu_part *part; /* the parts of the CPU's time (sl_recording_part()) */
    size_t parts;          /* number of them */
    struct sl_parts *out;
    size_t interval_slots, gap_slots;
    size_t next; /* the first operation that begins later than the walk has come */
};

const char *sl_part_name(enum sl_part part)
{
    static const char *const names[SL_PART_COUNT] = {"compute", "transfer", "waiting", "copy",
                                                     "sync",    "cpu",      "loader",  "launch",
                                                     "queued",  "unknown"};

    return names[part];
}

/* ---- the merged spans of each class ---- */

static int add_op(struct walk *w, const struct sl_report_op *op, uint64_t ready_ns)
{
    switch ((enum sl_work)op->work) {
    case SL_WORK_COMPUTE:
        return sl_spans_add(&w->list[COMPUTE], op->start_ns, op->end_ns);
    case SL_WORK_COMMUNICATION:
        if (sl_spans_add(&w->list[COMMUNICATION], op->start_ns, op->end_ns) != 0)
            return -ENOMEM;
        return sl_spans_add(&w->list[TRANSFER], ready_ns > op->start_ns ? ready_ns : op->start_ns,
                            op->end_ns);
    default:
        return sl_spans_add(&w->list[COPY], op->start_ns, op->end_ns);
    }
}

static int make_lists(struct walk *w)
{
    for (size_t i = 0; i < w->ops; i++)
        if (add_op(w, &w->op[i], w->peer_ns ? w->peer_ns[i] : 0) != 0)
            return -ENOMEM;
    for (int i = 0; i < LISTS; i++)
        sl_spans_merge(&w->list[i]);
    return 0;
}

/* ---- the intervals of the steps ---- */

static int make_cpu_parts(struct walk *w)
{
    w->parts = 2 * w->recording->steps + 1;
    w->part = calloc(w->parts, sizeof(*w->part));
    if (!w->part)
        return -ENOMEM;
    for (size_t i = 0; i < w->ops; i++) {
        struct cpu_part *part = &w->part[w->op[i].part];

        part->ops++;
        if (w->op[i].end_ns > part->end_ns)
            part->end_ns = w->op[i].end_ns;
    }
    return 0;
}

/* Adds the intervals of the device, from the first start on. */
static int make_intervals(struct walk *w)
{
    uint64_t begin_ns = w->op[0].start_ns;

    for (size_t at = 0; at < w->parts; at++) {
        const struct cpu_part *part = &w->part[at];
        struct sl_interval *i;

        if (part->ops == 0)
            continue;
        i = sl_grow((void **)&w->out->interval, &w->out->intervals, &w->interval_slots, sizeof(*i));
        if (!i)
            return -ENOMEM;
        i->step = at % 2 ? (uint32_t)(at / 2 + 1) : 0;
        i->ops = part->ops;
        i->device = w->op[0].device;
        i->begin_ns = begin_ns;
        i->end_ns = part->end_ns > begin_ns ? part->end_ns : begin_ns;
        begin_ns = i->end_ns;
    }
    return 0;
}

/* ---- the walk ---- */

/* Returns the operation that begins at `ns`; of several, the one with the lowest correlation id. */
static const struct sl_report_op *op_at(struct walk *w, uint64_t ns)
{
    size_t i = w->next;

    while (i < w->ops && w->op[i].start_ns < ns)
        i++;
    w->next = i;
    while (i < w->ops && w->op[i].start_ns == ns && w->op[i].end_ns == ns)
        i++; /* an operation without length does not end a gap */
    return i < w->ops ? &w->op[i] : NULL;
}

static int add_gap(struct walk *w, size_t interval, uint64_t begin_ns, uint64_t end_ns)
{
    struct sl_interval *in = &w->out->interval[interval];
    struct sl_gap *gap = sl_grow((void **)&w->out->gap, &w->out->gaps, &w->gap_slots, sizeof(*gap));

    if (!gap)
        return -ENOMEM;
    gap->begin_ns = begin_ns;
    gap->end_ns = end_ns;
    gap->interval = (uint32_t)interval;
    gap->next = op_at(w, end_ns);
    if (gap->next)
        sl_idle_explain(w->recording, gap);
    else
        gap->part_ns[SL_PART_UNKNOWN] = end_ns - begin_ns;
    for (int i = 0; i < SL_PART_COUNT; i++)
        in->part_ns[i] += gap->part_ns[i];
    if (gap->is_after_sync)
        in->after_sync_ns += gap->part_ns[SL_PART_CPU];
    if (gap->is_between)
        in->between_ns += gap->part_ns[SL_PART_LAUNCH];
    return 0;
}

static int walk_interval(struct walk *w, size_t interval)
{
    static const enum sl_part part_of[LISTS] = {SL_PART_COMPUTE, SL_PART_TRANSFER, SL_PART_WAITING,
                                                SL_PART_COPY};
    uint64_t ns = w->out->interval[interval].begin_ns, until;
    const uint64_t end_ns = w->out->interval[interval].end_ns;

    for (; ns < end_ns; ns = until) {
        uint32_t running;

        until = end_ns;
        running = sl_spans_at(w->list, LISTS, ns, &until);
        if (running)
            w->out->interval[interval].part_ns[part_of[__builtin_ctz(running)]] += until - ns;
        else if (add_gap(w, interval, ns, until) != 0)
            return -ENOMEM;
    }
    return 0;
}

static int walk_device(struct walk *w)
{
    size_t first = w->out->intervals;
    int rc = make_lists(w);

    if (rc == 0)
        rc = make_cpu_parts(w);
    if (rc == 0)
        rc = make_intervals(w);
    for (size_t i = first; rc == 0 && i < w->out->intervals; i++)
        rc = walk_interval(w, i);
    for (int i = 0; i < LISTS; i++)
        sl_spans_free(&w->list[i]);
    free(w->part);
    return rc;
}

int sl_parts_make(struct sl_parts *out, const struct sl_recording *r, const struct sl_peers *peers)
{
    size_t interval_slots = 0, gap_slots = 0, end;
    int rc = 0;

    *out = (struct sl_parts){0};
    for (size_t i = 0; i < r->ops && rc == 0; i = end) {
        struct walk w = {.recording = r,
                         .op = &r->op[i],
                         .peer_ns = peers && peers->last_start_ns ? &peers->last_start_ns[i] : NULL,
                         .out = out,
                         .interval_slots = interval_slots,
                         .gap_slots = gap_slots};

        for (end = i; end < r->ops && r->op[end].device == r->op[i].device; end++)
            ;
        w.ops = end - i;
        rc = walk_device(&w);
        interval_slots = w.interval_slots;
        gap_slots = w.gap_slots;
    }
    if (rc)
        sl_parts_free(out);
    return rc;
}

void sl_parts_free(struct sl_parts *p)
{
    free(p->interval);
    free(p->gap);
    *p = (struct sl_parts){0};
}
