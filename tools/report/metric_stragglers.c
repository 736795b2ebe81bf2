/*
 * metric_stragglers.c - which rank comes late to collectives, so that the others wait for it.
 *
 * Threads, memory: see metric.h; also 32 bytes for each rank.
 */
#include <stdlib.h>

#include "report/metric.h"

enum {
    RANK,
    COLLECTIVES,
    LAST,
    LAST_RATIO,
    STEPS,
    LATE,
    LATE_RATIO,
    WAITED,
    SCORE,
    PATTERN
};

static const struct sl_column columns[] = {
    [RANK] = {"rank", SL_COLUMN_COUNT, "rank of the process"},
    [COLLECTIVES] = {"collectives", SL_COLUMN_COUNT, "matched collectives of the rank"},
    [LAST] = {"last", SL_COLUMN_COUNT, "how many of them it began last"},
    [LAST_RATIO] = {"last_ratio", SL_COLUMN_RATIO, "last divided by collectives"},
    [STEPS] = {"late_steps", SL_COLUMN_COUNT,
               "steps in which the others waited longer for it than for any other rank"},
    [LATE] = {"late_ns", SL_COLUMN_NS, "time that the other ranks together waited for it"},
    [LATE_RATIO] = {"late_ratio", SL_COLUMN_RATIO, "late_ns divided by that of all ranks"},
    [WAITED] = {"waited_ns", SL_COLUMN_NS, "time that it waited for other ranks"},
    [SCORE] = {"score_ratio", SL_COLUMN_RATIO,
               "part of their time that the other ranks do not wait for it"},
    [PATTERN] = {"pattern", SL_COLUMN_TEXT,
                 "recurring: late in most steps; rotating: late in some, as others are"},
    {NULL, SL_COLUMN_TEXT, NULL},
};

/* The sums over the matched collectives. */
struct facts {
    struct sl_sums own;  /* by rank: how long it waited; `bytes` counts those that it began last */
    struct sl_sums late; /* by rank: how long each other rank waited for it, in each collective */
    struct sl_sums of_step; /* the same by step (two keys) and rank, the largest first */
    struct sl_sums step;    /* by step: the rank that was waited for longest (`bytes`) */
    uint64_t late_ns;       /* of all ranks together */
    uint64_t length_ns;     /* of the chosen steps of all ranks */
};

static void add_recording(const struct sl_report *report, size_t at, struct facts *facts)
{
    const struct sl_recording *r = &report->recordings.of[at];
    const struct sl_peers *peers = &report->peers[at];
    uint32_t rank = (uint32_t)sl_report_rank(r);

    for (size_t i = 0; peers->last_start_ns && i < r->ops; i++) {
        const struct sl_report_op *op = &r->op[i];
        uint32_t last = (uint32_t)peers->last_rank[i];
        uint64_t step, wait_ns;
        struct sl_sum *own;

        if (!peers->last_start_ns[i] || !sl_report_counts_part(report, r, op->part))
            continue;
        wait_ns = peers->last_start_ns[i] - op->start_ns;
        own = sl_sums_add(&facts->own, (const uint32_t[SL_SUM_KEYS]){rank}, wait_ns);
        if (own)
            own->bytes += last == rank;
        if (last == rank)
            continue;
        step = r->step[op->part / 2].number;
        sl_sums_add(&facts->late, (const uint32_t[SL_SUM_KEYS]){last}, wait_ns);
        sl_sums_add(&facts->of_step,
                    (const uint32_t[SL_SUM_KEYS]){(uint32_t)step, (uint32_t)(step >> 32), last},
                    wait_ns);
    }
}

/* Finds for each step the rank that was waited for longest. */
static void find_late_of_steps(struct facts *facts)
{
    sl_sums_sort(&facts->of_step);
    for (size_t i = 0; i < facts->of_step.count && facts->of_step.sum[i].total_ns; i++) {
        const struct sl_sum *sum = &facts->of_step.sum[i];
        struct sl_sum *step = sl_sums_add(
            &facts->step, (const uint32_t[SL_SUM_KEYS]){sum->key[0], sum->key[1]}, sum->total_ns);

        if (step && step->count == 1)
            step->bytes = sum->key[2];
    }
}

static uint64_t total_of(const struct sl_sums *sums, uint32_t rank)
{
    for (size_t i = 0; i < sums->count; i++)
        if (sums->sum[i].key[0] == rank)
            return sums->sum[i].total_ns;
    return 0;
}

/* Returns the length of the chosen steps of all ranks, or of one (not -1). */
static uint64_t length_of(const struct sl_report *report, int64_t rank)
{
    uint64_t length_ns = 0;

    for (size_t at = 0; at < report->recordings.count; at++) {
        const struct sl_recording *r = &report->recordings.of[at];
        const struct sl_parts *p = &report->parts[at];

        if (rank >= 0 && sl_report_rank(r) != rank)
            continue;
        for (size_t i = 0; i < p->intervals; i++)
            if (sl_report_counts_step(report, r, p->interval[i].step))
                length_ns += p->interval[i].end_ns - p->interval[i].begin_ns;
    }
    return length_ns;
}

static void add_row(const struct sl_report *report, const struct facts *facts,
                    const struct sl_sum *own, struct sl_table *out)
{
    uint32_t rank = own->key[0];
    uint64_t late_ns = total_of(&facts->late, rank), steps = 0;
    uint64_t others_ns = facts->length_ns - length_of(report, rank);
    double lost = others_ns ? (double)late_ns / (double)others_ns : 0;
    struct sl_cell *row = sl_table_row(out);

    for (size_t i = 0; i < facts->step.count; i++)
        steps += facts->step.sum[i].bytes == rank;
    row[RANK] = sl_cell_number(rank);
    row[COLLECTIVES] = sl_cell_number(own->count);
    row[LAST] = sl_cell_number(own->bytes);
    row[LAST_RATIO] = sl_cell_ratio(own->bytes, own->count);
    row[STEPS] = sl_cell_number(steps);
    row[LATE] = sl_cell_number(late_ns);
    row[LATE_RATIO] = sl_cell_ratio(late_ns, facts->late_ns);
    row[WAITED] = sl_cell_number(own->total_ns);
    row[SCORE] = sl_cell_real(lost < 1 ? 1 - lost : 0);
    if (steps && facts->step.count > 1)
        row[PATTERN] = sl_cell_text(2 * steps > facts->step.count ? "recurring" : "rotating");
}

static void make(const struct sl_report *report, struct sl_table *out)
{
    size_t count = report->recordings.count;
    struct facts facts = {.length_ns = length_of(report, -1)};

    if (!report->matched)
        out->note[0] = "No collective was matched: this needs the traces of all ranks of a group, "
                       "with PyTorch's description of collectives.";
    else if (count && sl_report_rank_end(report, 0) == count)
        out->note[0] = "This needs all ranks: leave out --rank.";
    if (out->note[0])
        return;
    for (size_t at = 0; at < count; at++)
        add_recording(report, at, &facts);
    find_late_of_steps(&facts);
    out->failed |=
        facts.own.failed || facts.late.failed || facts.of_step.failed || facts.step.failed;
    for (size_t i = 0; i < facts.late.count; i++)
        facts.late_ns += facts.late.sum[i].total_ns;
    for (size_t i = 0; i < facts.own.count && !out->failed; i++)
        add_row(report, &facts, &facts.own.sum[i], out);
    sl_sums_free(&facts.own);
    sl_sums_free(&facts.late);
    sl_sums_free(&facts.of_step);
    sl_sums_free(&facts.step);
}

const struct sl_metric sl_metric_stragglers = {
    .name = "stragglers",
    .title = "which rank comes late to collectives",
    .columns = columns,
    .formula =
        "Collectives are matched as for the part `waiting` (docs/report.md). A rank waits in one "
        "from its own begin to that of the last rank. score_ratio is 1 - late_ns / (length of the "
        "chosen steps of all other ranks): the part of their time that they do not wait for this "
        "rank. A rank is recurring if it is the one waited for longest in more than half of the "
        "steps in which any rank is waited for, and rotating if it is so in fewer.",
    .source = "HTA get_potential_stragglers, which compares the lengths of kernels of old names",
    .make = make,
};
