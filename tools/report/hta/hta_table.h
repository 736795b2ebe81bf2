/*
 * hta_table.h - what the tables of `report --hta` share: pandas' statistics, and lists of rows.
 *
 * Threads: one owner. Memory: see each function.
 */
#ifndef SL_REPORT_HTA_TABLE_H
#define SL_REPORT_HTA_TABLE_H

#include "report/hta/hta_rows.h"
#include "report/metric.h"

extern const struct sl_metric *const sl_hta_metrics[]; /* NULL-terminated */

extern const struct sl_metric sl_hta_temporal, sl_hta_overlap, sl_hta_types, sl_hta_kernels,
    sl_hta_idle, sl_hta_intervals, sl_hta_annotations, sl_hta_annotated, sl_hta_queue_summary,
    sl_hta_queue_series, sl_hta_queue_full, sl_hta_bandwidth_summary, sl_hta_bandwidth_series,
    sl_hta_launches, sl_hta_operators, sl_hta_sequences, sl_hta_stragglers, sl_hta_steps;

/* The setting of sl_hta_kernels that counts for sl_hta_types, too. */
#define SL_HTA_INCLUDE_MEMORY 2

/* Returns 1 if the user named the operator whose sequences are sought. */
int sl_hta_has_operator(const struct sl_report *report);

/* Returns 1 if the last step counts. */
int sl_hta_keeps_last(const struct sl_report *report);

/* ---- numbers ---- */

/* Rounds to some decimals as numpy does. */
double sl_hta_round(double value, int decimals);

void sl_hta_sort_values(double *values, size_t count);

/* Returns the value below which a part `q` of the sorted values lies, with pandas' interpolation.
 */
double sl_hta_quantile(const double *sorted, size_t count, double q);

/* Returns the standard deviation of the sample; NaN for less than two values. */
double sl_hta_deviation(const double *values, size_t count);

/* The cells of pandas' describe(): count, mean, std, min, 25%, 50%, 75%, max. */
#define SL_HTA_DESCRIBED 8

/* Fills the cells. Sorts the values. With `decimals` from 0 on, rounds to them. */
void sl_hta_describe(struct sl_cell *cells, double *values, size_t count, int decimals);

/* The columns of describe(), for a list of columns. */
#define SL_HTA_DESCRIBE_COLUMNS                                                                    \
    {"count", SL_COLUMN_INTEGER, "number of values"}, {"mean", SL_COLUMN_FLOAT, "mean"},           \
        {"std", SL_COLUMN_FLOAT, "standard deviation of the sample"},                              \
        {"min", SL_COLUMN_FLOAT, "least"}, {"25%", SL_COLUMN_FLOAT, "first quartile"},             \
        {"50%", SL_COLUMN_FLOAT, "median"}, {"75%", SL_COLUMN_FLOAT, "third quartile"},            \
    {                                                                                              \
        "max", SL_COLUMN_FLOAT, "greatest"                                                         \
    }

/* A value that is not a number gives none. */
struct sl_cell sl_hta_float(double value);

/* ---- rows ---- */

/* A list of numbers of rows. */
struct sl_hta_list {
    uint32_t *row;
    size_t count;
};

/* Returns the rows for which `wants` says 1, in order. The caller frees `row`; NULL if there is no
 * memory. */
struct sl_hta_list sl_hta_select(const struct sl_hta *h, const struct sl_hta_rank *r,
                                 int (*wants)(const struct sl_hta *h,
                                              const struct sl_hta_row *row));

/* Sorts by time. Rows of the same time keep their order. Returns 0 or -ENOMEM. */
int sl_hta_sort(const struct sl_hta_rank *r, struct sl_hta_list *list);

/* Returns 1 for GPU work in HTA's sense: any row with a stream. */
int sl_hta_is_work(const struct sl_hta *h, const struct sl_hta_row *row);

/* A change of a state at a time. */
struct sl_hta_change {
    int64_t ts;
    int32_t by;
};

/* The times at which work of a kind begins and ends, merged: overlapping and touching rows are one.
 * A struct of zeroes is empty. */
struct sl_hta_merged {
    int64_t *begin, *end;
    size_t count;
};

void sl_hta_merged_free(struct sl_hta_merged *m);

/* Merges the rows with a stream, of this kind or of any (-1). Returns 0 or -ENOMEM. */
int sl_hta_merge(const struct sl_hta *h, const struct sl_hta_rank *r, int work,
                 struct sl_hta_merged *out);

/* Returns the time that the merged rows take. */
int64_t sl_hta_merged_time(const struct sl_hta_merged *m);

/* Calls `add` for each rank of the report, until the table has failed. */
void sl_hta_each_rank(const struct sl_report *report,
                      int (*add)(const struct sl_report *report, const struct sl_hta_rank *r,
                                 struct sl_table *out),
                      struct sl_table *out);

#endif
