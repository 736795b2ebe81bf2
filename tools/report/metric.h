/*
 * metric.h - the table of metrics. A metric turns the recordings of a report into one table.
 *
 * A metric is one file, metric_NAME.c, and one row of sl_metrics[] in metric.c. docs/metrics.md is
 * generated from these rows.
 *
 * Threads: one owner. Memory: a table owns its cells; texts in cells are borrowed from the report.
 */
#ifndef SL_REPORT_METRIC_H
#define SL_REPORT_METRIC_H

#include <stddef.h>
#include <stdint.h>

#include "report/report.h"
#include "report/setting.h"
#include "report/spread.h"

enum sl_column_type {
    SL_COLUMN_TEXT,
    SL_COLUMN_COUNT, /* a number of things, or an id */
    SL_COLUMN_NS,
    SL_COLUMN_BYTES,
    SL_COLUMN_RATIO,  /* 0 to 1 */
    SL_COLUMN_REAL,   /* any other number */
    SL_COLUMN_REAL_NS /* a mean of times */
};

/* The name of a column ends in its unit: _ns, _bytes or _ratio. */
struct sl_column {
    const char *name; /* NULL ends the list */
    enum sl_column_type type;
    const char *meaning;
};

/* A value. Which member holds it is the column's type: `text` for SL_COLUMN_TEXT, `real` for
 * ratios and SL_COLUMN_REAL*, `number` for the others. */
struct sl_cell {
    int has; /* 0: there is no such value */
    union {
        const char *text;
        uint64_t number;
        double real;
    };
};

struct sl_table {
    const struct sl_metric *metric;
    struct sl_cell *cell; /* row by row */
    size_t columns, rows, slots;
    const char *note[4]; /* sentences about the table as a whole; NULL after the last */
    int failed;          /* 1: there was not enough memory for all rows */
};

struct sl_metric {
    const char *name;
    const char *title;
    const struct sl_column *columns;
    const struct sl_setting *settings; /* NULL: none */
    uint32_t needs;                    /* flags of enum sl_need (recording.h) */
    int is_by_stream;                  /* 1: --stream restricts the table */
    const char *formula;
    const char *source; /* where the formula comes from */
    void (*make)(const struct sl_report *report, struct sl_table *out);
};

extern const struct sl_metric *const sl_metrics[]; /* NULL-terminated */

/* Returns 1 if the values of a column of this type are in the member `real`. */
static inline int sl_column_is_real(enum sl_column_type type)
{
    return type == SL_COLUMN_RATIO || type == SL_COLUMN_REAL || type == SL_COLUMN_REAL_NS;
}

extern const struct sl_metric sl_metric_annotation_kernels, sl_metric_annotations,
    sl_metric_bandwidth, sl_metric_bandwidth_series, sl_metric_busy, sl_metric_collectives,
    sl_metric_copies, sl_metric_cost, sl_metric_delay, sl_metric_flops, sl_metric_graphs,
    sl_metric_idle, sl_metric_kernels, sl_metric_launch, sl_metric_launch_outliers,
    sl_metric_overlap, sl_metric_parts, sl_metric_queue, sl_metric_queue_series, sl_metric_ranks,
    sl_metric_scaled, sl_metric_sequences, sl_metric_short_kernels, sl_metric_steps,
    sl_metric_stragglers, sl_metric_streams, sl_metric_waits;

/* Returns the metric of this name, or NULL. */
const struct sl_metric *sl_metric_find(const char *name, size_t size);

/* Makes the table of a metric. Returns 0 or -ENOMEM. */
int sl_metric_make(const struct sl_metric *metric, const struct sl_report *report,
                   struct sl_table *out);
void sl_table_free(struct sl_table *t);

/* Adds a sentence (borrowed) about the table, unless it has four already. */
void sl_table_note(struct sl_table *t, const char *note);

/* Adds a row without values, and returns its first cell. If there is no memory, returns a row that
 * is not in the table. */
struct sl_cell *sl_table_row(struct sl_table *t);

static inline struct sl_cell sl_cell_text(const char *text)
{
    return (struct sl_cell){.has = text && *text, .text = text};
}

static inline struct sl_cell sl_cell_number(uint64_t number)
{
    return (struct sl_cell){.has = 1, .number = number};
}

/* A number that is below 0 stands for none. */
static inline struct sl_cell sl_cell_id(int64_t id)
{
    return (struct sl_cell){.has = id >= 0, .number = (uint64_t)id};
}

/* 0 stands for none. */
static inline struct sl_cell sl_cell_nonzero(uint64_t number)
{
    return (struct sl_cell){.has = number != 0, .number = number};
}

/* `of` 0 gives no value. */
static inline struct sl_cell sl_cell_ratio(uint64_t part, uint64_t of)
{
    return (struct sl_cell){.has = of != 0, .real = of ? (double)part / (double)of : 0};
}

static inline struct sl_cell sl_cell_real(double real)
{
    return (struct sl_cell){.has = 1, .real = real};
}

/* The number of a device; none if it is not known. */
static inline struct sl_cell sl_cell_device(uint8_t device)
{
    return sl_cell_id(device == SL_DEVICE_NONE ? -1 : device);
}

/* A time of the file. */
static inline struct sl_cell sl_cell_time(uint64_t ns)
{
    return sl_cell_number(ns - SL_REPORT_ORIGIN_NS);
}

/* Columns for the statistics of a sample, from index `at` on. `unit` is the end of their names, and
 * `of` is the end of the first meaning. */
#define SL_SUMMARY_CELLS 7
#define SL_SUMMARY_COLUMNS(at, type, unit, of)                                                     \
    [(at)] = {"mean" unit, type, "mean " of},                                                      \
    [(at) + 1] = {"std" unit, type, "standard deviation of the sample; 0 if there is one value"},  \
    [(at) + 2] = {"min" unit, type, "the smallest"},                                               \
    [(at) + 3] = {"p25" unit, type, "first quartile"},                                             \
    [(at) + 4] = {"median" unit, type, "median"},                                                  \
    [(at) + 5] = {"p75" unit, type, "third quartile"},                                             \
    [(at) + 6] = {"max" unit, type, "the largest"}

/* Sets the cells of these columns. */
void sl_cells_summary(struct sl_cell *cell, const struct sl_summary *summary);

#endif
