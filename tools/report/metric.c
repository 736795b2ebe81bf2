/*
 * metric.c - the list of metrics, and their tables.
 *
 * Threads, memory: see metric.h.
 */
#include "report/metric.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define COLUMNS_MAX 32

const struct sl_metric *const sl_metrics[] = {&sl_metric_parts,
                                              &sl_metric_idle,
                                              &sl_metric_streams,
                                              &sl_metric_waits,
                                              &sl_metric_steps,
                                              &sl_metric_ranks,
                                              &sl_metric_kernels,
                                              &sl_metric_overlap,
                                              &sl_metric_launch,
                                              &sl_metric_launch_outliers,
                                              &sl_metric_queue,
                                              &sl_metric_queue_series,
                                              &sl_metric_copies,
                                              &sl_metric_bandwidth,
                                              &sl_metric_bandwidth_series,
                                              &sl_metric_annotations,
                                              &sl_metric_annotation_kernels,
                                              &sl_metric_delay,
                                              &sl_metric_sequences,
                                              &sl_metric_busy,
                                              &sl_metric_short_kernels,
                                              &sl_metric_graphs,
                                              &sl_metric_flops,
                                              &sl_metric_collectives,
                                              &sl_metric_stragglers,
                                              &sl_metric_cost,
                                              &sl_metric_scaled,
                                              NULL};

const struct sl_metric *sl_metric_find(const char *name, size_t size)
{
    for (int i = 0; sl_metrics[i]; i++)
        if (strlen(sl_metrics[i]->name) == size && memcmp(sl_metrics[i]->name, name, size) == 0)
            return sl_metrics[i];
    return NULL;
}

int sl_metric_make(const struct sl_metric *metric, const struct sl_report *report,
                   struct sl_table *out)
{
    *out = (struct sl_table){.metric = metric};
    while (metric->columns[out->columns].name)
        out->columns++;
    metric->make(report, out);
    if (report->streams && !metric->is_by_stream)
        sl_table_note(out, "--stream has no effect on this table, which is about whole devices or "
                           "about calls.");
    if (!out->failed)
        return 0;
    sl_table_free(out);
    return -ENOMEM;
}

void sl_table_note(struct sl_table *t, const char *note)
{
    for (size_t i = 0; i < sizeof(t->note) / sizeof(t->note[0]); i++)
        if (!t->note[i]) {
            t->note[i] = note;
            return;
        }
}

void sl_table_free(struct sl_table *t)
{
    free(t->cell);
    t->cell = NULL;
    t->rows = t->slots = 0;
}

struct sl_cell *sl_table_row(struct sl_table *t)
{
    static struct sl_cell nowhere[COLUMNS_MAX]; /* written, never read */
    struct sl_cell *row;

    if (t->rows == t->slots) {
        size_t more = t->slots ? t->slots + t->slots / 2 : 64;
        struct sl_cell *grown = realloc(t->cell, more * t->columns * sizeof(*grown));

        if (!grown) {
            t->failed = 1;
            return nowhere;
        }
        t->cell = grown;
        t->slots = more;
    }
    row = &t->cell[t->rows++ * t->columns];
    return memset(row, 0, t->columns * sizeof(*row));
}

void sl_cells_summary(struct sl_cell *cell, const struct sl_summary *summary)
{
    const double value[SL_SUMMARY_CELLS] = {summary->mean, summary->std,    summary->min,
                                            summary->p25,  summary->median, summary->p75,
                                            summary->max};

    for (int i = 0; i < SL_SUMMARY_CELLS; i++)
        cell[i] = sl_cell_real(value[i]);
}
