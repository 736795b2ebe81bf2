/*
 * metric_flops.c - how many floating-point operations a second matrix products and convolutions
 * reach, by operator and sizes.
 *
 * Threads, memory: see metric.h. 8 bytes for each product are needed while kernels are added up.
 */
#include <stdlib.h>

#include "report/metric.h"
#include "report/product.h"

enum {
    RANK,
    OP,
    SIZES,
    VALUES,
    CALLS,
    FLOP,
    KERNEL_NS,
    RATE,
    SHARE
};

static const struct sl_column columns[] = {
    [RANK] = {"rank", SL_COLUMN_COUNT, "rank of the process; none if the file does not name it"},
    [OP] = {"op", SL_COLUMN_TEXT, "operator of PyTorch"},
    [SIZES] = {"sizes", SL_COLUMN_TEXT, "sizes of its inputs, up to the last tensor"},
    [VALUES] = {"values", SL_COLUMN_TEXT,
                "of a convolution: stride, padding and other inputs that are no tensors"},
    [CALLS] = {"calls", SL_COLUMN_COUNT, "calls that launched a kernel"},
    [FLOP] = {"flop_per_call", SL_COLUMN_COUNT, "floating-point operations of a call"},
    [KERNEL_NS] = {"kernel_ns", SL_COLUMN_NS, "length of the kernels of all calls together"},
    [RATE] = {"tflop_per_s", SL_COLUMN_REAL,
              "10^12 floating-point operations in a second: flop_per_call times calls, divided by "
              "kernel_ns"},
    [SHARE] = {"share_ratio", SL_COLUMN_RATIO,
               "kernel_ns divided by the sum of all kernels that are not communication"},
    {NULL, SL_COLUMN_TEXT, NULL},
};

enum {
    KEY_OP,
    KEY_SIZES,
    KEY_VALUES
};

/* Adds the kernels of a recording to their products, and the products to the groups. Returns the
 * length of all kernels. */
static uint64_t add_recording(const struct sl_report *report, const struct sl_recording *r,
                              struct sl_sums *groups)
{
    uint64_t *kernel_ns = calloc(r->products + 1, sizeof(*kernel_ns)), all_ns = 0;

    if (!kernel_ns) {
        groups->failed = 1;
        return 0;
    }
    for (size_t i = 0; i < r->ops; i++) {
        const struct sl_report_op *op = &r->op[i];
        const struct sl_report_launch *l = op->launch ? &r->launch[op->launch - 1] : NULL;
        const struct sl_report_product *p;

        if (op->work != SL_WORK_COMPUTE || !sl_report_counts_op(report, r, op))
            continue;
        all_ns += op->end_ns - op->start_ns;
        p = l ? sl_product_at(r, l->thread, l->start_ns) : NULL;
        if (p)
            kernel_ns[p - r->product] += op->end_ns - op->start_ns;
    }
    for (size_t i = 0; i < r->products; i++) {
        const struct sl_report_product *p = &r->product[i];
        const uint32_t key[SL_SUM_KEYS] = {p->name, p->sizes, p->values};

        if (kernel_ns[i])
            sl_sums_add(groups, key, kernel_ns[i]);
    }
    free(kernel_ns);
    return all_ns;
}

static void add_rank(const struct sl_report *report, size_t first, size_t end, struct sl_table *out)
{
    struct sl_sums groups = {0};
    uint64_t all_ns = 0;

    for (size_t at = first; at < end; at++)
        all_ns += add_recording(report, &report->recordings.of[at], &groups);
    out->failed |= groups.failed;
    sl_sums_sort(&groups);
    for (size_t i = 0; i < groups.count; i++) {
        const struct sl_sum *g = &groups.sum[i];
        const char *op = sl_report_name(report, g->key[KEY_OP]),
                   *sizes = sl_report_name(report, g->key[KEY_SIZES]),
                   *values = sl_report_name(report, g->key[KEY_VALUES]);
        uint64_t flop = sl_product_count(op, sizes, values);
        struct sl_cell *row = sl_table_row(out);

        row[RANK] = sl_cell_id(sl_report_rank(&report->recordings.of[first]));
        row[OP] = sl_cell_text(op);
        row[SIZES] = sl_cell_text(sizes);
        row[VALUES] = sl_cell_text(values);
        row[CALLS] = sl_cell_number(g->count);
        row[KERNEL_NS] = sl_cell_number(g->total_ns);
        row[SHARE] = sl_cell_ratio(g->total_ns, all_ns);
        if (!flop)
            continue;
        row[FLOP] = sl_cell_number(flop);
        row[RATE] = sl_cell_real((double)flop * (double)g->count / (double)g->total_ns / 1000);
    }
    sl_sums_free(&groups);
}

static void make(const struct sl_report *report, struct sl_table *out)
{
    sl_report_each_rank(report, add_rank, out);
    if (out->rows == 0)
        out->note[0] = "The files have no sizes of inputs: record with record_shapes=True of "
                       "torch.profiler, or with SYNCLINE_OPS=full.";
}

const struct sl_metric sl_metric_flops = {
    .name = "flops",
    .title = "the speed of matrix products and convolutions",
    .columns = columns,
    .is_by_stream = 1,
    .needs = SL_NEED_PRODUCTS,
    .formula =
        "A kernel belongs to the innermost of these operators around its launch: aten::mm, addmm, "
        "_addmm_activation, bmm, baddbmm, linear, convolution and convolution_backward. A "
        "multiplication and an addition are two operations, and additions of a bias are left out. "
        "[b, m, k] times [b, k, n]: 2 b m k n. linear, [..., k] with weight [n, k]: 2 n times the "
        "elements of the input. convolution: 2 times batch, points of the output and elements of "
        "the weight; if it is transposed, points of the input. A point of the output is (width + 2 "
        "padding - dilation (kernel - 1) - 1) / stride + 1, rounded down, in each dimension. "
        "convolution_backward: as the convolution, for each of the gradients of input and weight. "
        "Replays of CUDA graphs have no operators, so they are not here.",
    .source = "syncline; counts as in torch.utils.flop_counter",
    .make = make,
};
