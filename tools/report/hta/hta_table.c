/*
 * hta_table.c - the list of HTA's tables, and what they share.
 *
 * Threads, memory: see hta_table.h.
 */
#include "report/hta/hta_table.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

const struct sl_metric *const sl_hta_metrics[] = {&sl_hta_temporal,
                                                  &sl_hta_idle,
                                                  &sl_hta_intervals,
                                                  &sl_hta_types,
                                                  &sl_hta_kernels,
                                                  &sl_hta_annotated,
                                                  &sl_hta_annotations,
                                                  &sl_hta_overlap,
                                                  &sl_hta_queue_summary,
                                                  &sl_hta_queue_series,
                                                  &sl_hta_queue_full,
                                                  &sl_hta_bandwidth_summary,
                                                  &sl_hta_bandwidth_series,
                                                  &sl_hta_launches,
                                                  &sl_hta_operators,
                                                  &sl_hta_sequences,
                                                  &sl_hta_stragglers,
                                                  &sl_hta_steps,
                                                  NULL};

/* ---- numbers ---- */

double sl_hta_round(double value, int decimals)
{
    double scale = pow(10, decimals);

    return rint(value * scale) / scale;
}

double sl_hta_quantile(const double *sorted, size_t count, double q)
{
    double place = (double)(count - 1) * q, below = floor(place), part = place - below;
    double a = sorted[(size_t)below],
           b = sorted[(size_t)below + 1 < count ? (size_t)below + 1 : count - 1];

    return part >= 0.5 ? b - (b - a) * (1 - part) : a + (b - a) * part;
}

static double mean_of(const double *values, size_t count)
{
    long double sum = 0;

    for (size_t i = 0; i < count; i++)
        sum += values[i];
    return (double)sum / (double)count;
}

double sl_hta_deviation(const double *values, size_t count)
{
    long double squares = 0;
    double mean;

    if (count < 2)
        return NAN;
    mean = mean_of(values, count);
    for (size_t i = 0; i < count; i++) {
        long double distance = values[i] - mean;

        squares += distance * distance;
    }
    return sqrt((double)(squares / (long double)(count - 1)));
}

static int order_of_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

void sl_hta_sort_values(double *values, size_t count)
{
    if (count)
        qsort(values, count, sizeof(*values), order_of_doubles);
}

struct sl_cell sl_hta_float(double value)
{
    return (struct sl_cell){.has = isfinite(value), .real = value};
}

void sl_hta_describe(struct sl_cell *cells, double *values, size_t count, int decimals)
{
    double of[SL_HTA_DESCRIBED] = {(double)count, NAN, NAN, NAN, NAN, NAN, NAN, NAN};

    if (count) {
        of[1] = mean_of(values, count);
        of[2] = sl_hta_deviation(values, count);
        sl_hta_sort_values(values, count);
        of[3] = values[0];
        for (int i = 1; i < 4; i++)
            of[3 + i] = sl_hta_quantile(values, count, 0.25 * i);
        of[7] = values[count - 1];
    }
    cells[0] = sl_cell_integer((int64_t)count);
    for (int i = 1; i < SL_HTA_DESCRIBED; i++)
        cells[i] = sl_hta_float(decimals < 0 ? of[i] : sl_hta_round(of[i], decimals));
}

/* ---- rows ---- */

int sl_hta_is_work(const struct sl_hta *h, const struct sl_hta_row *row)
{
    (void)h;
    return row->stream != -1;
}

struct sl_hta_list sl_hta_select(const struct sl_hta *h, const struct sl_hta_rank *r,
                                 int (*wants)(const struct sl_hta *h, const struct sl_hta_row *row))
{
    struct sl_hta_list list = {.row = malloc((r->rows + 1) * sizeof(*list.row))};

    for (size_t i = 0; list.row && i < r->rows; i++)
        if (wants(h, &r->row[i]))
            list.row[list.count++] = (uint32_t)i;
    return list;
}

struct timed {
    int64_t ts;
    uint32_t at; /* place in the list before */
    uint32_t row;
};

static int order_of_timed(const void *a, const void *b)
{
    const struct timed *x = a, *y = b;

    if (x->ts != y->ts)
        return x->ts < y->ts ? -1 : 1;
    return (x->at > y->at) - (x->at < y->at);
}

int sl_hta_sort(const struct sl_hta_rank *r, struct sl_hta_list *list)
{
    struct timed *timed = malloc((list->count + 1) * sizeof(*timed));
    int is_sorted = 1;

    if (!timed)
        return -ENOMEM;
    for (size_t i = 0; i < list->count; i++) {
        timed[i] = (struct timed){r->row[list->row[i]].ts, (uint32_t)i, list->row[i]};
        is_sorted &= i == 0 || timed[i - 1].ts <= timed[i].ts;
    }
    if (!is_sorted)
        qsort(timed, list->count, sizeof(*timed), order_of_timed);
    for (size_t i = 0; i < list->count; i++)
        list->row[i] = timed[i].row;
    free(timed);
    return 0;
}

void sl_hta_merged_free(struct sl_hta_merged *m)
{
    free(m->begin);
    free(m->end);
    *m = (struct sl_hta_merged){0};
}

/* A row belongs to the rows before it if it begins by the latest end of them. A row that is shorter
 * than nothing ends before it begins. */
int sl_hta_merge(const struct sl_hta *h, const struct sl_hta_rank *r, int work,
                 struct sl_hta_merged *out)
{
    struct sl_hta_list list = sl_hta_select(h, r, sl_hta_is_work);
    size_t kept = 0;
    int64_t latest = INT64_MIN;

    for (size_t i = 0; list.row && work >= 0 && i < list.count; i++)
        if ((int)sl_hta_work(h, &r->row[list.row[i]]) == work)
            list.row[kept++] = list.row[i];
    if (work >= 0)
        list.count = kept;
    *out = (struct sl_hta_merged){malloc((list.count + 1) * sizeof(*out->begin)),
                                  malloc((list.count + 1) * sizeof(*out->end)), 0};
    if (!list.row || !out->begin || !out->end || sl_hta_sort(r, &list) != 0) {
        sl_hta_merged_free(out);
        free(list.row);
        return -ENOMEM;
    }
    for (size_t i = 0; i < list.count; i++) {
        const struct sl_hta_row *row = &r->row[list.row[i]];
        int64_t end = row->ts + row->dur;

        if (i == 0 || row->ts > latest) {
            out->begin[out->count] = row->ts;
            out->end[out->count++] = end;
        } else if (end > out->end[out->count - 1]) {
            out->end[out->count - 1] = end;
        }
        latest = end > latest ? end : latest;
    }
    free(list.row);
    return 0;
}

int64_t sl_hta_merged_time(const struct sl_hta_merged *m)
{
    int64_t time = 0;

    for (size_t i = 0; i < m->count; i++)
        time += m->end[i] - m->begin[i];
    return time;
}

void sl_hta_each_rank(const struct sl_report *report,
                      int (*add)(const struct sl_report *report, const struct sl_hta_rank *r,
                                 struct sl_table *out),
                      struct sl_table *out)
{
    for (size_t i = 0; i < report->hta->count && !out->failed; i++)
        if (add(report, &report->hta->of[i], out) != 0)
            out->failed = 1;
}
