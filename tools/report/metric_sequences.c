/*
 * metric_sequences.c - sequences of GPU operations that operators launch again and again.
 *
 * Threads, memory: see metric.h; also 16 bytes for each operation and 8 for each operator.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "print/short_name.h"
#include "report/metric.h"
#include "report/sums.h"

#define SHOWN      32 /* names of a sequence that are shown */
#define NAME_WIDTH 120

enum {
    RANK,
    NAME,
    COUNT,
    LENGTH,
    GPU,
    MEAN,
    CPU,
    SEQUENCE
};

static const struct sl_column columns[] = {
    [RANK] = {"rank", SL_COLUMN_COUNT, "rank of the process; none if the file does not name it"},
    [NAME] = {"operator", SL_COLUMN_TEXT, "name of the operator"},
    [COUNT] = {"count", SL_COLUMN_COUNT, "calls that launched this sequence"},
    [LENGTH] = {"operations", SL_COLUMN_COUNT, "length of the sequence"},
    [GPU] = {"gpu_ns", SL_COLUMN_NS, "length of all its operations together"},
    [MEAN] = {"gpu_mean_ns", SL_COLUMN_REAL_NS, "mean of a call"},
    [CPU] = {"cpu_ns", SL_COLUMN_NS, "length of the calls on the CPU together"},
    [SEQUENCE] = {"sequence", SL_COLUMN_TEXT,
                  "the operations in order of launch; \"x 3\": three in a row"},
    {NULL, SL_COLUMN_TEXT, NULL},
};

enum {
    OPERATOR,
    MIN_LENGTH,
    TOP
};

static const struct sl_setting settings[] = {
    [OPERATOR] = {"operator", "", "only outermost operators whose name has this text", 0, 0, 0, ""},
    [MIN_LENGTH] = {"min_length", "", "shortest sequence", 1, 1e6, 3, NULL},
    [TOP] = {"top", "", "most rows of a rank", 1, 1e6, 10, NULL},
    {NULL, NULL, NULL, 0, 0, 0, NULL},
};

/* The operations of a recording, in order of root and launch. */
struct walk {
    const struct sl_report *report;
    const struct sl_recording *r;
    const char *text; /* of the setting */
    uint32_t *root;   /* of each range: the outermost chosen operator around it, plus 1; 0: none */
    uint32_t *op;     /* index of each operation with a root */
    size_t ops;
};

static int is_chosen(const struct walk *w, uint32_t name)
{
    return !*w->text || strstr(sl_report_name(w->report, name), w->text) != NULL;
}

/* A range's outer ranges come before it. */
static void find_roots(struct walk *w)
{
    for (size_t i = 0; i < w->r->ranges; i++) {
        const struct sl_report_range *range = &w->r->range[i];

        w->root[i + 1] = w->root[range->around];
        if (!w->root[i + 1] && range->is_operator && is_chosen(w, range->name))
            w->root[i + 1] = (uint32_t)i + 1;
    }
}

static uint32_t root_of(const struct walk *w, const struct sl_report_op *op)
{
    return op->launch ? w->root[w->r->launch[op->launch - 1].range] : 0;
}

/* Puts the operations in the order of a key below `keys`. Operations with equal keys keep their
 * order. `by_root`: the key is the root, else the launch. */
static int sort_ops(struct walk *w, size_t keys, int by_root)
{
    size_t *place = calloc(keys + 1, sizeof(*place));
    uint32_t *sorted = calloc(w->ops + 1, sizeof(*sorted));

    for (size_t i = 0; place && sorted && i < w->ops; i++) {
        const struct sl_report_op *op = &w->r->op[w->op[i]];

        place[(by_root ? root_of(w, op) : op->launch) + 1]++;
    }
    for (size_t i = 1; place && sorted && i <= keys; i++)
        place[i] += place[i - 1];
    for (size_t i = 0; place && sorted && i < w->ops; i++) {
        const struct sl_report_op *op = &w->r->op[w->op[i]];

        sorted[place[by_root ? root_of(w, op) : op->launch]++] = w->op[i];
    }
    free(place);
    if (!place || !sorted) {
        free(sorted);
        return -ENOMEM;
    }
    free(w->op);
    w->op = sorted;
    return 0;
}

static int begin(struct walk *w)
{
    const struct sl_recording *r = w->r;

    w->root = calloc(r->ranges + 1, sizeof(*w->root));
    w->op = calloc(r->ops + 1, sizeof(*w->op));
    if (!w->root || !w->op)
        return -ENOMEM;
    find_roots(w);
    for (size_t i = 0; i < r->ops; i++)
        if (root_of(w, &r->op[i]) && sl_report_counts_op(w->report, r, &r->op[i]))
            w->op[w->ops++] = (uint32_t)i;
    return sort_ops(w, r->launches + 2, 0) != 0 || sort_ops(w, r->ranges + 2, 1) != 0 ? -ENOMEM : 0;
}

/* Returns the end of the call whose operations begin at `first`. */
static size_t call_end(const struct walk *w, size_t first)
{
    uint32_t root = root_of(w, &w->r->op[w->op[first]]);
    size_t end = first + 1;

    while (end < w->ops && root_of(w, &w->r->op[w->op[end]]) == root)
        end++;
    return end;
}

/* Adds the sequence of a call, the operations [first, end). In its group, `bytes` are the lengths
 * of the calls, and `most_bytes` is the place of the first. */
static void add_call(const struct walk *w, uint64_t number, size_t first, size_t end,
                     struct sl_sums *sums)
{
    const struct sl_report_range *range = &w->r->range[root_of(w, &w->r->op[w->op[first]]) - 1];
    uint64_t hash = 0, gpu_ns = 0;
    struct sl_sum *sum;

    for (size_t i = first; i < end; i++) {
        const struct sl_report_op *op = &w->r->op[w->op[i]];

        hash = (hash ^ op->name) * 0x9e3779b97f4a7c15u;
        hash ^= hash >> 29;
        gpu_ns += op->end_ns - op->start_ns;
    }
    sum = sl_sums_add(sums,
                      (const uint32_t[SL_SUM_KEYS]){range->name, (uint32_t)(end - first),
                                                    (uint32_t)hash, (uint32_t)(hash >> 32)},
                      gpu_ns);
    if (sum && sum->count == 1)
        sum->most_bytes = number << 32 | first;
    if (sum)
        sum->bytes += range->end_ns - range->start_ns;
}

/* Returns the names of the operations [first, first + length), as one text. */
static const char *text_of(const struct walk *w, size_t first, size_t length)
{
    char text[(SHOWN + 1) * (NAME_WIDTH + 32)], name[NAME_WIDTH + 1];
    const char *full;
    size_t at = 0, end, shown = 0;

    for (size_t i = first; i < first + length; i = end) {
        uint32_t id = w->r->op[w->op[i]].name;

        for (end = i + 1; end < first + length && w->r->op[w->op[end]].name == id; end++)
            ;
        if (shown++ == SHOWN) {
            at += (size_t)snprintf(text + at, sizeof(text) - at, " | and %zu more",
                                   first + length - i);
            break;
        }
        full = sl_report_name(w->report, id);
        at += (size_t)snprintf(text + at, sizeof(text) - at, "%s%s", at ? " | " : "",
                               sl_short_name(name, NAME_WIDTH, full, strlen(full)));
        if (end - i > 1)
            at += (size_t)snprintf(text + at, sizeof(text) - at, " x %zu", end - i);
    }
    return sl_report_name(w->report, sl_intern_put(w->report->recordings.names, text, at));
}

static void add_row(const struct walk *w, int64_t rank, const struct sl_sum *sum,
                    struct sl_table *out)
{
    struct sl_cell *row = sl_table_row(out);

    row[RANK] = sl_cell_id(rank);
    row[NAME] = sl_cell_text(sl_report_name(w->report, sum->key[0]));
    row[COUNT] = sl_cell_number(sum->count);
    row[LENGTH] = sl_cell_number(sum->key[1]);
    row[GPU] = sl_cell_number(sum->total_ns);
    row[MEAN] = sl_cell_real(sl_sum_mean(sum));
    row[CPU] = sl_cell_number(sum->bytes);
    row[SEQUENCE] = sl_cell_text(text_of(w, (uint32_t)sum->most_bytes, sum->key[1]));
}

static void add_rank(const struct sl_report *report, size_t first, size_t end, struct sl_table *out)
{
    const struct sl_settings *set = &report->settings;
    size_t least = (size_t)sl_setting(set, out->metric, MIN_LENGTH).number;
    size_t top = (size_t)sl_setting(set, out->metric, TOP).number;
    struct walk *walks = calloc(end - first, sizeof(*walks));
    struct sl_sums sums = {0};

    if (!walks) {
        out->failed = 1;
        return;
    }
    for (size_t i = first; i < end && !out->failed; i++) {
        struct walk *w = &walks[i - first];

        *w = (struct walk){.report = report,
                           .r = &report->recordings.of[i],
                           .text = sl_setting(set, out->metric, OPERATOR).text};
        out->failed |= begin(w) != 0;
        for (size_t k = 0, until; k < w->ops && !out->failed; k = until) {
            until = call_end(w, k);
            if (until - k >= least)
                add_call(w, i - first, k, until, &sums);
        }
    }
    sl_sums_sort(&sums);
    out->failed |= sums.failed;
    for (size_t i = 0; i < sums.count && i < top && !out->failed; i++) {
        const struct walk *w = &walks[sums.sum[i].most_bytes >> 32];

        if (w->r)
            add_row(w, sl_report_rank(w->r), &sums.sum[i], out);
    }
    for (size_t i = 0; i < end - first; i++) {
        free(walks[i].root);
        free(walks[i].op);
    }
    free(walks);
    sl_sums_free(&sums);
}

static void make(const struct sl_report *report, struct sl_table *out)
{
    sl_report_each_rank(report, add_rank, out);
}

const struct sl_metric sl_metric_sequences = {
    .name = "sequences",
    .title = "sequences of GPU operations that operators launch",
    .columns = columns,
    .settings = settings,
    .needs = SL_NEED_RANGES,
    .is_by_stream = 1,
    .formula = "The sequence of an operator's call is all GPU work that was launched inside, in "
               "order of launch. Only operators count that are not inside another (chosen) "
               "operator. Equal sequences of operators with one name are one row. The sequences "
               "with the most GPU time come first.",
    .source = "HTA get_frequent_cuda_kernel_sequences, which needs the name of an operator, orders "
              "by count, and looks only at the least depth at which the name occurs",
    .make = make,
};
