/*
 * metric_collectives.c - how long collectives take, how much of it is waiting for the last rank,
 * and the bandwidth that they reach.
 *
 * Threads, memory: see metric.h. 64 bytes for each collective are needed while they are grouped.
 */
#include <stdlib.h>

#include "event/message.h"
#include "read/grow.h"
#include "report/metric.h"
#include "report/spread.h"

enum {
    RANK,
    TYPE,
    GROUP,
    RANKS,
    DTYPE,
    BYTES,
    COUNT,
    SUM,
    MEAN,
    MEDIAN,
    MATCHED,
    WAITING,
    TRANSFER,
    ALGORITHM,
    BUS,
    LATE_RANK,
    LATE_RATIO
};

static const struct sl_column columns[] = {
    [RANK] = {"rank", SL_COLUMN_COUNT, "rank of the process; none if the file does not name it"},
    [TYPE] =
        {"type", SL_COLUMN_TEXT,
         "such as all_reduce; none: the file does not describe these kernels of communication"},
    [GROUP] = {"group", SL_COLUMN_COUNT,
               "number of the group of ranks, the same on all ranks; 0: all ranks"},
    [RANKS] = {"ranks", SL_COLUMN_COUNT, "number of ranks of the group"},
    [DTYPE] = {"dtype", SL_COLUMN_TEXT, "type of the elements"},
    [BYTES] = {"input_bytes", SL_COLUMN_BYTES, "bytes of this rank's input"},
    [COUNT] = {"count", SL_COLUMN_COUNT, "number of kernels"},
    [SUM] = {"sum_ns", SL_COLUMN_NS, "length of the kernels together"},
    [MEAN] = {"mean_ns", SL_COLUMN_REAL_NS, "mean length"},
    [MEDIAN] = {"median_ns", SL_COLUMN_NS, "median length"},
    [MATCHED] = {"matched", SL_COLUMN_COUNT,
                 "how many of them were matched between all ranks of the group"},
    [WAITING] = {"waiting_ns", SL_COLUMN_NS,
                 "of the matched: time before the last rank began, together"},
    [TRANSFER] = {"transfer_ns", SL_COLUMN_NS, "of the matched: the other time, together"},
    [ALGORITHM] = {"algorithm_gb_per_s", SL_COLUMN_REAL,
                   "10^9 bytes in a second: of transfer_ns or, if none is matched, of sum_ns; "
                   "none for kernels that several calls share"},
    [BUS] = {"bus_gb_per_s", SL_COLUMN_REAL, "the same times the factor of the type"},
    [LATE_RANK] = {"late_rank", SL_COLUMN_COUNT,
                   "the rank that this rank waited longest for; none: it waited for none"},
    [LATE_RATIO] = {"late_ratio", SL_COLUMN_RATIO, "part of waiting_ns that was for late_rank"},
    {NULL, SL_COLUMN_TEXT, NULL},
};

struct call {
    uint32_t group, ranks; /* as in sl_report_op */
    uint8_t type, dtype;
    int is_matched, is_shared;
    uint64_t bytes, ns, waiting_ns;
    int64_t late_rank;
};

/* Calls that are in one row of the table. */
struct calls {
    struct call *call;
    size_t count;
    uint64_t sum_ns;
};

static int compare(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

static int by_kind(const void *a, const void *b)
{
    const struct call *x = a, *y = b;

    if (x->group != y->group)
        return compare(x->group, y->group);
    if (x->type != y->type)
        return compare(x->type, y->type);
    return x->dtype != y->dtype ? compare(x->dtype, y->dtype) : compare(x->bytes, y->bytes);
}

static int by_time(const void *a, const void *b)
{
    const struct calls *x = a, *y = b;

    return x->sum_ns != y->sum_ns ? compare(y->sum_ns, x->sum_ns) : by_kind(x->call, y->call);
}

static int add_call(struct calls *all, size_t *slots, const struct sl_report *report, size_t at,
                    size_t i)
{
    const struct sl_recording *r = &report->recordings.of[at];
    const struct sl_report_op *op = &r->op[i];
    const struct sl_peers *peers = &report->peers[at];
    struct call *c = sl_grow((void **)&all->call, &all->count, slots, sizeof(*c));
    uint64_t last_ns = peers->last_start_ns ? peers->last_start_ns[i] : 0;

    if (!c)
        return -1;
    *c = (struct call){.ns = op->end_ns - op->start_ns, .late_rank = -1};
    if (!op->group)
        return 0;
    c->group = op->group;
    c->ranks = (uint32_t)sl_recording_group_size(r, op->group);
    c->type = op->collective;
    c->dtype = op->dtype;
    c->is_shared = op->is_shared;
    c->bytes = op->bytes;
    if (!last_ns)
        return 0;
    c->is_matched = 1;
    last_ns = last_ns < op->end_ns ? last_ns : op->end_ns;
    c->waiting_ns = last_ns > op->start_ns ? last_ns - op->start_ns : 0;
    c->late_rank = peers->last_rank[i];
    return 0;
}

/* Sets the bandwidths of calls that took `ns` together. */
static void put_bandwidth(struct sl_cell *row, const struct call *c, size_t count, uint64_t ns)
{
    uint64_t bytes = sl_message_size(c->type, c->bytes, SL_MESSAGE_UNKNOWN, c->ranks);
    double rate = ns ? (double)bytes * (double)count / (double)ns : 0;

    if (!ns || !c->ranks || !bytes || bytes == SL_MESSAGE_UNKNOWN)
        return;
    row[ALGORITHM] = sl_cell_real(rate);
    row[BUS] = sl_cell_real(rate * sl_message_bus_factor(c->type, c->ranks));
}

/* Sets the parts of the matched calls, and the rank that they waited longest for. */
static void put_parts(struct sl_cell *row, const struct calls *of, struct sl_table *out)
{
    uint64_t waiting_ns = 0, transfer_ns = 0, matched = 0, ns[2] = {0, 0}, count[2] = {0, 0};
    struct sl_sums late = {0};

    for (size_t i = 0; i < of->count; i++) {
        const struct call *c = &of->call[i];
        const uint32_t key[SL_SUM_KEYS] = {(uint32_t)c->late_rank};

        if (!c->is_shared) {
            count[c->is_matched]++;
            ns[c->is_matched] += c->ns - c->waiting_ns;
        }
        if (!c->is_matched)
            continue;
        matched++;
        waiting_ns += c->waiting_ns;
        transfer_ns += c->ns - c->waiting_ns;
        if (c->waiting_ns)
            sl_sums_add(&late, key, c->waiting_ns);
    }
    sl_sums_sort(&late);
    out->failed |= late.failed;
    row[MATCHED] = sl_cell_number(matched);
    if (matched) {
        row[WAITING] = sl_cell_number(waiting_ns);
        row[TRANSFER] = sl_cell_number(transfer_ns);
    }
    if (late.count) {
        row[LATE_RANK] = sl_cell_number(late.sum[0].key[0]);
        row[LATE_RATIO] = sl_cell_ratio(late.sum[0].total_ns, waiting_ns);
    }
    put_bandwidth(row, of->call, count[count[1] != 0], ns[count[1] != 0]);
    sl_sums_free(&late);
}

/* Adds a row. `ns` has room for the length of each call. */
static void add_row(int64_t rank, const struct calls *of, uint64_t *ns, struct sl_table *out)
{
    const struct call *c = of->call;
    struct sl_cell *row = sl_table_row(out);

    for (size_t i = 0; i < of->count; i++)
        ns[i] = of->call[i].ns;
    row[RANK] = sl_cell_id(rank);
    if (c->group) {
        row[TYPE] = sl_cell_text(sl_message_name(c->type));
        row[GROUP] = sl_cell_number(c->group - 1);
        row[RANKS] = sl_cell_nonzero(c->ranks);
        row[DTYPE] = sl_cell_text(sl_collective_dtype(c->dtype));
        row[BYTES] = sl_cell_number(c->bytes);
    }
    row[COUNT] = sl_cell_number(of->count);
    row[SUM] = sl_cell_number(of->sum_ns);
    row[MEAN] = sl_cell_real((double)of->sum_ns / (double)of->count);
    row[MEDIAN] = sl_cell_number(sl_spread_median(ns, of->count));
    if (c->group)
        put_parts(row, of, out);
}

/* Adds the rows of all calls, which are sorted by kind. */
static void add_rows(int64_t rank, const struct calls *all, struct sl_table *out)
{
    struct calls *group = calloc(all->count + 1, sizeof(*group));
    uint64_t *ns = calloc(all->count + 1, sizeof(*ns));
    size_t groups = 0;

    out->failed |= !group || !ns;
    for (size_t i = 0; i < all->count && !out->failed; i++) {
        if (i == 0 || by_kind(&all->call[i], &all->call[i - 1]) != 0)
            group[groups++].call = &all->call[i];
        group[groups - 1].count++;
        group[groups - 1].sum_ns += all->call[i].ns;
    }
    if (groups)
        qsort(group, groups, sizeof(*group), by_time);
    for (size_t i = 0; i < groups; i++)
        add_row(rank, &group[i], ns, out);
    free(group);
    free(ns);
}

static void add_rank(const struct sl_report *report, size_t first, size_t end, struct sl_table *out)
{
    struct calls all = {.call = NULL};
    size_t slots = 0;

    for (size_t at = first; at < end; at++) {
        const struct sl_recording *r = &report->recordings.of[at];

        for (size_t i = 0; i < r->ops; i++)
            if (r->op[i].work == SL_WORK_COMMUNICATION && sl_report_counts_op(report, r, &r->op[i]))
                out->failed |= add_call(&all, &slots, report, at, i) != 0;
    }
    if (all.count && !out->failed) {
        qsort(all.call, all.count, sizeof(*all.call), by_kind);
        add_rows(sl_report_rank(&report->recordings.of[first]), &all, out);
    }
    free(all.call);
}

static void make(const struct sl_report *report, struct sl_table *out)
{
    sl_report_each_rank(report, add_rank, out);
}

const struct sl_metric sl_metric_collectives = {
    .name = "collectives",
    .title = "collectives by type, group and size",
    .columns = columns,
    .is_by_stream = 1,
    .formula =
        "Collectives of the chosen steps are matched as for the part `waiting` (docs/report.md). "
        "With n ranks, the algorithm's bandwidth is S / t, where S is the input or, for all_gather "
        "and gather, n times the input. The bandwidth of the bus is that times 2 (n - 1) / n for "
        "all_reduce, 1 for broadcast, reduce, send and recv, and (n - 1) / n for the others. t is "
        "the transfer of the matched kernels. If no kernel is matched, it is the whole length, "
        "which includes waiting, so the bandwidth is at least this.",
    .source = "nccl-tests (doc/PERFORMANCE.md)",
    .make = make,
};
