/*
 * metric_graphs.c - what the nodes of CUDA graphs cost, by graph and name.
 *
 * Threads, memory: see metric.h. For each operation of a graph 16 bytes are needed while replays
 * are counted.
 */
#include <stdlib.h>
#include <string.h>

#include "read/grow.h"
#include "report/metric.h"

enum {
    RANK,
    GRAPH,
    REPLAYS,
    NAME,
    CLASS,
    COUNT,
    SUM,
    MEAN,
    PER_REPLAY,
    SHARE
};

static const struct sl_column columns[] = {
    [RANK] = {"rank", SL_COLUMN_COUNT, "rank of the process; none if the file does not name it"},
    [GRAPH] =
        {"graph", SL_COLUMN_COUNT,
         "CUDA's number of the graph; none: launched by a replay, and the file has no number"},
    [REPLAYS] = {"replays", SL_COLUMN_COUNT, "number of replays of the graph"},
    [NAME] = {"name", SL_COLUMN_TEXT,
              "name of the kernel, copy or memset; none: a whole replay, "
              "whose nodes were not recorded"},
    [CLASS] = {"class", SL_COLUMN_TEXT, "compute, communication or copy; none: a whole replay"},
    [COUNT] = {"count", SL_COLUMN_COUNT, "number of executions in all replays"},
    [SUM] = {"sum_ns", SL_COLUMN_NS, "their length together"},
    [MEAN] = {"mean_ns", SL_COLUMN_REAL_NS, "mean length"},
    [PER_REPLAY] = {"per_replay_ns", SL_COLUMN_REAL_NS, "sum_ns divided by the replays"},
    [SHARE] = {"share_ratio", SL_COLUMN_RATIO, "sum_ns divided by the sum of the graph"},
    {NULL, SL_COLUMN_TEXT, NULL},
};

static const char *const class_name[SL_WORK_COUNT] = {"compute", "communication", "copy"};

enum {
    KEY_GRAPH,
    KEY_NAME,
    KEY_WORK,
    KEY_WHOLE /* 1: a replay whose nodes were not recorded */
};

struct replay {
    uint64_t correlation;
    uint32_t graph, recording;
};

struct graphs {
    struct sl_sums nodes, whole, count; /* `whole` and `count`, the replays, are by graph */
    struct replay *replay;
    size_t replays, slots;
};

static int by_graph(const void *a, const void *b)
{
    const struct replay *x = a, *y = b;

    if (x->graph != y->graph)
        return x->graph < y->graph ? -1 : 1;
    if (x->recording != y->recording)
        return x->recording < y->recording ? -1 : 1;
    return (x->correlation > y->correlation) - (x->correlation < y->correlation);
}

static const struct sl_sum *of_graph(const struct sl_sums *sums, uint32_t graph)
{
    size_t i = 0;

    while (sums->sum[i].key[0] != graph)
        i++;
    return &sums->sum[i];
}

static int add_op(struct graphs *g, uint32_t recording, const struct sl_report_op *op)
{
    const uint32_t whole = (uint32_t)sl_report_is_whole_replay(op);
    const uint32_t key[SL_SUM_KEYS] = {op->graph, op->name, op->work, whole};
    const uint32_t graph[SL_SUM_KEYS] = {op->graph};
    struct replay *last = g->replays ? &g->replay[g->replays - 1] : NULL;
    uint64_t ns = op->end_ns - op->start_ns;

    sl_sums_add(&g->nodes, key, ns);
    sl_sums_add(&g->whole, graph, ns);
    if (last && last->correlation == op->correlation && last->graph == op->graph &&
        last->recording == recording)
        return 0;
    last = sl_grow((void **)&g->replay, &g->replays, &g->slots, sizeof(*last));
    if (!last)
        return -1;
    *last = (struct replay){op->correlation, op->graph, recording};
    return 0;
}

/* Counts the replays. Operations of several replays may alternate, so each is sorted out once. */
static void count_replays(struct graphs *g)
{
    if (g->replays)
        qsort(g->replay, g->replays, sizeof(*g->replay), by_graph);
    for (size_t i = 0; i < g->replays; i++) {
        const uint32_t key[SL_SUM_KEYS] = {g->replay[i].graph};

        if (i == 0 || by_graph(&g->replay[i], &g->replay[i - 1]) != 0)
            sl_sums_add(&g->count, key, 0);
    }
}

static void add_rows(const struct sl_report *report, int64_t rank, const struct graphs *g,
                     struct sl_table *out)
{
    for (size_t i = 0; i < g->nodes.count; i++) {
        const struct sl_sum *node = &g->nodes.sum[i];
        uint32_t graph = node->key[KEY_GRAPH];
        uint64_t replays = of_graph(&g->count, graph)->count;
        struct sl_cell *row = sl_table_row(out);

        row[RANK] = sl_cell_id(rank);
        row[GRAPH] = sl_cell_nonzero(graph);
        row[REPLAYS] = sl_cell_number(replays);
        if (node->key[KEY_WHOLE]) {
            out->note[0] = sl_report_whole_replays;
        } else {
            row[NAME] = sl_cell_text(sl_report_name(report, node->key[KEY_NAME]));
            row[CLASS] = sl_cell_text(class_name[node->key[KEY_WORK]]);
        }
        row[COUNT] = sl_cell_number(node->count);
        row[SUM] = sl_cell_number(node->total_ns);
        row[MEAN] = sl_cell_real(sl_sum_mean(node));
        row[PER_REPLAY] = sl_cell_real((double)node->total_ns / (double)replays);
        row[SHARE] = sl_cell_ratio(node->total_ns, of_graph(&g->whole, graph)->total_ns);
    }
}

static void add_rank(const struct sl_report *report, size_t first, size_t end, struct sl_table *out)
{
    struct graphs g = {.replay = NULL};

    for (size_t at = first; at < end; at++) {
        const struct sl_recording *r = &report->recordings.of[at];

        for (size_t i = 0; i < r->ops; i++)
            if (sl_report_counts_op(report, r, &r->op[i]) &&
                sl_report_is_replayed(report, r, &r->op[i]))
                out->failed |= add_op(&g, (uint32_t)at, &r->op[i]) != 0;
    }
    count_replays(&g);
    out->failed |= g.nodes.failed || g.whole.failed || g.count.failed;
    sl_sums_sort(&g.nodes);
    if (!out->failed)
        add_rows(report, sl_report_rank(&report->recordings.of[first]), &g, out);
    sl_sums_free(&g.nodes);
    sl_sums_free(&g.whole);
    sl_sums_free(&g.count);
    free(g.replay);
}

static void make(const struct sl_report *report, struct sl_table *out)
{
    sl_report_each_rank(report, add_rank, out);
}

const struct sl_metric sl_metric_graphs = {
    .name = "graphs",
    .title = "the nodes of CUDA graphs",
    .columns = columns,
    .is_by_stream = 1,
    .formula = "Sums over the operations of the chosen steps that a replay launched: those with "
               "the number of a graph, and those of a call whose name contains GraphLaunch. All "
               "operations with one correlation id are one replay.",
    .source = "syncline",
    .make = make,
};
