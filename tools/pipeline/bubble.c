/*
 * bubble.c - walks the time of each stage from one begin or end of a kernel or phase to the next.
 *
 * Threads, memory: see bubble.h.
 */
#include "pipeline/bubble.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "event/device.h"
#include "report/spans.h"

/* The lists of spans; those from KERNEL on are in the order in which they decide. */
enum list {
    SPAN,   /* phases of work */
    KERNEL, /* kernels of phases of work */
    OTHER,  /* kernels of no phase */
    TRANSFER,
    COMMUNICATION,
    COPY,
    RECEIVE, /* the CPU is in a range that receives */
    LISTS
};

const char *sl_theory_name(enum sl_theory theory)
{
    static const char *const names[SL_THEORY_COUNT] = {"1F1B", "interleaved", "ZB-H1", "ZB-H2"};

    return names[theory];
}

int sl_bubble_has(const struct sl_bubble *b, const struct sl_pipeline *p, size_t iteration)
{
    const struct sl_iteration *it = &p->iteration[iteration];

    if (b->is_partial)
        return it->end_ns > it->begin_ns;
    return it->is_complete && (it->follows || !b->has_follower);
}

/* ---- what ran on a lane in a recording ---- */

struct walk {
    const struct sl_schedule *s;
    const struct sl_lane *lane;
    uint32_t recording;
    struct sl_spans list[LISTS];
    const struct sl_gap *gap, *gap_end; /* the gaps of the device that are not over yet */
    uint64_t at_ns;                     /* how far the walk has come */
};

static int add_op(struct walk *w, size_t i)
{
    const struct sl_report_op *op = &w->s->report->recordings.of[w->recording].op[i];
    const struct sl_phases *phases = &w->s->phases[w->recording];
    const struct sl_peers *peers = &w->s->report->peers[w->recording];
    const struct sl_phase *p = phases->of_op[i] ? &phases->phase[phases->of_op[i] - 1] : NULL;
    uint64_t ready_ns = peers->last_start_ns ? peers->last_start_ns[i] : 0;

    if (op->work == SL_WORK_COPY)
        return sl_spans_add(&w->list[COPY], op->start_ns, op->end_ns);
    if (op->work != SL_WORK_COMMUNICATION)
        return sl_spans_add(&w->list[p ? KERNEL : OTHER], op->start_ns, op->end_ns);
    if (p && p->ready_ns > ready_ns)
        ready_ns = p->ready_ns;
    if (phases->ready_ns && phases->ready_ns[i] > ready_ns)
        ready_ns = phases->ready_ns[i];
    ready_ns = ready_ns > op->start_ns ? ready_ns : op->start_ns;
    if (sl_spans_add(&w->list[COMMUNICATION], op->start_ns, op->end_ns) != 0)
        return -ENOMEM;
    return ready_ns < op->end_ns ? sl_spans_add(&w->list[TRANSFER], ready_ns, op->end_ns) : 0;
}

static int fill(struct walk *w)
{
    const struct sl_recording *r = &w->s->report->recordings.of[w->recording];
    const struct sl_parts *parts = &w->s->report->parts[w->recording];
    size_t first = 0, end;
    int rc = 0;

    for (size_t i = 0; i < r->ops && rc == 0; i++)
        if (r->op[i].device == w->lane->device)
            rc = add_op(w, i);
    for (size_t i = 0; i < w->lane->phases && rc == 0; i++) {
        const struct sl_phase *p = w->lane->phase[i].phase;

        if (w->lane->phase[i].recording != w->recording)
            continue;
        if (p->kernels && p->id.kind < SL_PHASE_COMPUTES)
            rc = sl_spans_add(&w->list[SPAN], p->begin_ns, p->done_ns);
        if (p->id.kind == SL_PHASE_RECV_FORWARD || p->id.kind == SL_PHASE_RECV_BACKWARD)
            rc = sl_spans_add(&w->list[RECEIVE], p->start_ns, p->end_ns);
    }
    for (int i = 0; i < LISTS; i++)
        sl_spans_merge(&w->list[i]);
    while (first < parts->gaps &&
           (!parts->gap[first].next || parts->gap[first].next->device != w->lane->device))
        first++;
    for (end = first; end < parts->gaps &&
                      (!parts->gap[end].next || parts->gap[end].next->device == w->lane->device);
         end++)
        ;
    w->gap = parts->gap + first;
    w->gap_end = parts->gap + end;
    return rc;
}

/* Divides an idle time among the causes of the gap around it, which may be longer. */
static void add_idle(struct walk *w, struct sl_stage_bubble *out, uint64_t begin_ns,
                     uint64_t end_ns)
{
    uint64_t length_ns = end_ns - begin_ns, left_ns = length_ns;
    double share;

    while (w->gap < w->gap_end && w->gap->end_ns <= begin_ns)
        w->gap++;
    if (w->gap < w->gap_end && w->gap->begin_ns <= begin_ns && w->gap->end_ns >= end_ns) {
        share = (double)length_ns / (double)(w->gap->end_ns - w->gap->begin_ns);
        for (int i = 0; i < SL_PART_COUNT; i++) {
            uint64_t ns = (uint64_t)(share * (double)w->gap->part_ns[i]);

            ns = ns < left_ns ? ns : left_ns;
            out->part_ns[i] += ns;
            left_ns -= ns;
        }
        /* What rounding left. */
        if (left_ns < 32) {
            for (int i = SL_PART_SYNC; i < SL_PART_COUNT && left_ns; i++)
                if (w->gap->part_ns[i]) {
                    out->part_ns[i] += left_ns;
                    left_ns = 0;
                }
        }
    }
    out->part_ns[SL_PART_UNKNOWN] += left_ns;
}

static void walk_interval(struct walk *w, struct sl_stage_bubble *out, uint64_t begin_ns,
                          uint64_t end_ns)
{
    static const enum sl_part part_of[LISTS] = {[OTHER] = SL_PART_COMPUTE,
                                                [TRANSFER] = SL_PART_TRANSFER,
                                                [COMMUNICATION] = SL_PART_WAITING,
                                                [COPY] = SL_PART_COPY,
                                                [RECEIVE] = SL_PART_WAITING};
    uint64_t ns = begin_ns > w->at_ns ? begin_ns : w->at_ns, until;

    for (; ns < end_ns; ns = until) {
        uint32_t running;

        until = end_ns;
        running = sl_spans_at(w->list, LISTS, ns, &until);
        if (running & 1u << SPAN)
            out->span_ns += until - ns;
        running &= ~(1u << SPAN);
        out->length_ns += until - ns;
        if (running & 1u << KERNEL)
            out->kernel_ns += until - ns;
        else if (running)
            out->part_ns[part_of[__builtin_ctz(running)]] += until - ns;
        else
            add_idle(w, out, ns, until);
    }
    w->at_ns = ns;
}

/* ---- a stage ---- */

void sl_bubble_interval(const struct sl_schedule *s, const struct sl_pipeline *p, size_t iteration,
                        size_t stage, uint64_t *begin_ns, uint64_t *end_ns)
{
    const struct sl_lane *lane = &s->lane[p->lane[stage]];
    const struct sl_iteration *it = &p->iteration[iteration];
    const struct sl_lane_iteration *of = sl_schedule_of(s, p, iteration, stage);
    int64_t from, to;

    *begin_ns = *end_ns = 0;
    if (!of)
        return;
    if (p->is_comparable) {
        from = sl_schedule_own_ns(s, lane, it->begin_ns);
        to = sl_schedule_own_ns(s, lane, it->end_ns);
    } else {
        /* Each stage has its own clock, so each has its own iteration. */
        const struct sl_lane_iteration *last =
            iteration ? sl_schedule_of(s, p, iteration - 1, stage) : NULL;

        from = last && last->recording == of->recording && last->end_ns < of->end_ns ? last->end_ns
                                                                                     : of->begin_ns;
        to = of->end_ns;
    }
    *begin_ns = sl_schedule_recording_ns(s, of->recording, from);
    *end_ns = sl_schedule_recording_ns(s, of->recording, to);
}

static void add_phases(const struct sl_lane *lane, const struct sl_lane_iteration *it,
                       struct sl_stage_bubble *out)
{
    for (size_t i = it->first; i < it->end; i++) {
        const struct sl_phase *p = lane->phase[i].phase;

        if (!p->kernels)
            out->guessed++;
        if (p->id.kind >= SL_PHASE_COMPUTES || !p->kernels)
            continue;
        out->of[p->id.kind].count++;
        out->of[p->id.kind].span_ns += p->done_ns - p->begin_ns;
        out->of[p->id.kind].kernel_ns += p->kernel_ns;
    }
}

static int measure_stage(struct sl_bubble *b, const struct sl_schedule *s,
                         const struct sl_pipeline *p, size_t stage)
{
    const struct sl_lane *lane = &s->lane[p->lane[stage]];
    int rc = 0;

    for (uint32_t r = lane->first; r < lane->last && rc == 0; r++) {
        struct walk w = {.s = s, .lane = lane, .recording = r};

        rc = fill(&w);
        for (size_t i = 0; i < p->iterations && rc == 0; i++) {
            const struct sl_lane_iteration *of = sl_schedule_of(s, p, i, stage);
            uint64_t begin_ns, end_ns;

            if (!of || of->recording != r || !sl_bubble_has(b, p, i))
                continue;
            sl_bubble_interval(s, p, i, stage, &begin_ns, &end_ns);
            walk_interval(&w, &b->stage[stage], begin_ns, end_ns);
            add_phases(lane, of, &b->stage[stage]);
        }
        for (int i = 0; i < LISTS; i++)
            sl_spans_free(&w.list[i]);
    }
    return rc;
}

/* ---- all stages ---- */

static void add_up(struct sl_bubble *b, const struct sl_pipeline *p)
{
    for (size_t i = 0; i < p->stages; i++) {
        const struct sl_stage_bubble *stage = &b->stage[i];

        b->all.length_ns += stage->length_ns;
        b->all.span_ns += stage->span_ns;
        b->all.kernel_ns += stage->kernel_ns;
        b->all.guessed += stage->guessed;
        for (int k = 0; k < SL_PART_COUNT; k++)
            b->all.part_ns[k] += stage->part_ns[k];
        for (int k = 0; k < SL_PHASE_COMPUTES; k++) {
            b->all.of[k].count += stage->of[k].count;
            b->all.of[k].span_ns += stage->of[k].span_ns;
            b->all.of[k].kernel_ns += stage->of[k].kernel_ns;
        }
    }
}

static void set_theory(struct sl_bubble *b, const struct sl_pipeline *p)
{
    const double others = (double)p->stages - 1, chunks = p->chunks;
    double f, back, w, work;

    for (int k = 0; k < SL_PHASE_COMPUTES; k++)
        b->mean_ns[k] =
            b->all.of[k].count ? (double)b->all.of[k].span_ns / (double)b->all.of[k].count : 0;
    f = b->mean_ns[SL_PHASE_F];
    back = b->mean_ns[SL_PHASE_B];
    w = b->mean_ns[SL_PHASE_W];
    /* A range may have the W of several micro-batches. */
    if (b->all.of[SL_PHASE_F].count)
        w = (double)b->all.of[SL_PHASE_W].span_ns / (double)b->all.of[SL_PHASE_F].count;
    work = p->mbs * chunks * (f + back + w);
    if (work <= 0 || p->lacks_ranks)
        return;
    b->theory[SL_THEORY_1F1B].is_known = 1;
    b->theory[SL_THEORY_1F1B].bubble_ns = others * chunks * (f + back + w);
    b->theory[SL_THEORY_INTERLEAVED].is_known = p->chunks > 1;
    b->theory[SL_THEORY_INTERLEAVED].bubble_ns = others * (f + back + w);
    b->theory[SL_THEORY_ZB_H1].is_known = b->theory[SL_THEORY_ZB_H2].is_known =
        p->chunks == 1 && w > 0;
    b->theory[SL_THEORY_ZB_H1].bubble_ns = others * (f + back - w);
    b->theory[SL_THEORY_ZB_H2].bubble_ns = others * (f + back - 2 * w);
    for (int i = 0; i < SL_THEORY_COUNT; i++) {
        if (b->theory[i].bubble_ns < 0)
            b->theory[i].bubble_ns = 0;
        b->theory[i].rate = b->theory[i].bubble_ns / (b->theory[i].bubble_ns + work);
    }
}

int sl_bubble_make(struct sl_bubble *out, const struct sl_schedule *s, const struct sl_pipeline *p)
{
    int rc = 0;

    *out = (struct sl_bubble){.is_partial = p->completes == 0};
    out->stage = calloc(p->stages + 1, sizeof(*out->stage));
    if (!out->stage)
        return -ENOMEM;
    for (size_t i = 0; i < p->iterations; i++)
        out->has_follower |= p->iteration[i].is_complete && p->iteration[i].follows;
    for (size_t i = 0; i < p->iterations; i++)
        out->measured += (size_t)sl_bubble_has(out, p, i);
    for (size_t i = 0; i < p->stages && rc == 0; i++) {
        if (s->lane[p->lane[i]].is_left_out)
            continue;
        rc = measure_stage(out, s, p, i);
        out->stages++;
    }
    add_up(out, p);
    set_theory(out, p);
    return rc;
}

void sl_bubble_free(struct sl_bubble *b)
{
    free(b->stage);
    b->stage = NULL;
}
