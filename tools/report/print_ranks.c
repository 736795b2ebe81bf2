/*
 * print_ranks.c - prints where the steps of each rank went. Of many ranks, prints those that stand
 * for all.
 *
 * Threads, memory: see print.h.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "read/grow.h"
#include "report/print.h"
#include "report/screen.h"

#define BAR   12
#define RANKS 8
#define MUCH  2 /* percent of a step */

/* ---- where the step of each rank went ---- */

static void put_bar(FILE *f, const struct sl_report_time *t)
{
    /* computing and copying, communication, idle */
    static const char mark[SL_PART_COUNT + 1] = "#==#......";
    char bar[BAR + 1];
    int at = 0;

    for (int part = 0; part < SL_PART_COUNT; part++) {
        uint64_t until_ns = 0;

        for (int i = 0; i <= part; i++)
            until_ns += t->part_ns[i];
        while (at < BAR &&
               (double)at + 0.5 < (double)BAR * sl_screen_percent(until_ns, t->length_ns) / 100)
            bar[at++] = mark[part];
    }
    while (at < BAR)
        bar[at++] = '.';
    bar[at] = '\0';
    fprintf(f, " %s", bar);
}

/* A column without a value on any rank is left out, but all together must fit into 100 columns. */
static int column_width(int part)
{
    int width = (int)strlen(sl_part_name((enum sl_part)part));

    return width > 5 ? width : 5;
}

/* A device of a rank, with its chosen steps. */
struct row {
    size_t first, end; /* recordings */
    uint8_t device;
    int several; /* 1: the rank has several devices */
    struct sl_report_time time;
};

struct rows {
    const struct sl_report *report;
    struct row *row;
    size_t count, slots;
};

static void add_row(struct rows *rows, size_t first, size_t end, uint8_t device, int several)
{
    struct sl_report_time t = sl_report_time(rows->report, first, end, device);
    struct row *row =
        t.length_ns ? sl_grow((void **)&rows->row, &rows->count, &rows->slots, sizeof(*row)) : NULL;

    if (row)
        *row = (struct row){first, end, device, several, t};
}

static void add_rows(struct rows *rows)
{
    size_t end;

    for (size_t first = 0; first < rows->report->recordings.count; first = end) {
        uint8_t seen[UINT8_MAX + 1];
        int devices;

        end = sl_report_rank_end(rows->report, first);
        devices = sl_report_devices(rows->report, first, end, seen);
        for (int device = 0; device <= UINT8_MAX; device++)
            if (seen[device])
                add_row(rows, first, end, (uint8_t)device, devices > 1);
    }
}

static void name_row(char to[40], const struct sl_report *report, const struct row *row)
{
    int64_t rank = sl_report_rank(&report->recordings.of[row->first]);
    int at;

    if (rank < 0)
        at = snprintf(to, 40, row->several ? "f%zu" : "file %zu", row->first + 1);
    else
        at = snprintf(to, 40, row->several ? "r%" PRId64 : "rank %" PRId64, rank);
    if (row->several && at > 0 && at < 30)
        snprintf(to + at, 40 - (size_t)at, " GPU %u", row->device);
}

static void put_row(FILE *f, const char *who, const struct sl_report_time *t,
                    const struct sl_report_time *all)
{
    fprintf(f, "  %-10.10s", who);
    put_bar(f, t);
    for (int part = 0; part < SL_PART_COUNT; part++)
        if (all->part_ns[part])
            fprintf(f, " %*.1f", column_width(part),
                    sl_screen_percent(t->part_ns[part], t->length_ns));
    fputs("\n", f);
}

static int by_part(const void *a, const void *b, void *part)
{
    const struct row *x = a, *y = b;
    const enum sl_part *by = part;
    double of_x = sl_screen_percent(x->time.part_ns[*by], x->time.length_ns),
           of_y = sl_screen_percent(y->time.part_ns[*by], y->time.length_ns);

    if (of_x != of_y)
        return of_x < of_y ? -1 : 1;
    return x->first != y->first ? (x->first > y->first) - (x->first < y->first)
                                : (int)x->device - (int)y->device;
}

/* Names the rank with the most of each part, if that is much more than the median rank has. */
static void put_worst(FILE *f, struct rows *rows)
{
    char text[1024] = "most";
    size_t named = 0, at = strlen(text);

    for (enum sl_part part = SL_PART_COMPUTE + 1; part < SL_PART_COUNT; part++) {
        const struct sl_report_time *worst, *median;
        double most, usual;
        char who[40];

        qsort_r(rows->row, rows->count, sizeof(*rows->row), by_part, &part);
        worst = &rows->row[rows->count - 1].time;
        median = &rows->row[(rows->count - 1) / 2].time;
        most = sl_screen_percent(worst->part_ns[part], worst->length_ns);
        usual = sl_screen_percent(median->part_ns[part], median->length_ns);
        if (most < usual + MUCH)
            continue;
        name_row(who, rows->report, &rows->row[rows->count - 1]);
        at += (size_t)snprintf(text + at, sizeof(text) - at, "%s %s: %s %.1f (median %.1f)",
                               named++ ? "," : "", sl_part_name(part), who, most, usual);
    }
    if (named)
        sl_screen_lines(f, 1, text);
}

/* Prints the ranks with the least, the median and the greatest part of computing. */
static void put_summary(FILE *f, struct rows *rows, const struct sl_report_findings *findings)
{
    enum sl_part part = SL_PART_COMPUTE;

    qsort_r(rows->row, rows->count, sizeof(*rows->row), by_part, &part);
    fprintf(f, "  (of %zu GPUs, those that compute the least, median and most part of a step)\n",
            rows->count);
    for (size_t i = 0; i < 3; i++) {
        const struct row *row = &rows->row[i * (rows->count - 1) / 2];
        char who[40];

        name_row(who, rows->report, row);
        put_row(f, who, &row->time, &findings->time);
    }
    put_worst(f, rows);
}

void sl_screen_ranks(FILE *f, const struct sl_report *report,
                     const struct sl_report_findings *findings)
{
    struct rows rows = {.report = report};

    fprintf(f, "\n %-*s", BAR + 12, "% of a step: #run =comm");
    for (int part = 0; part < SL_PART_COUNT; part++)
        if (findings->time.part_ns[part])
            fprintf(f, " %*s", column_width(part), sl_part_name((enum sl_part)part));
    fputs("\n", f);
    add_rows(&rows);
    if (rows.count > RANKS)
        put_summary(f, &rows, findings);
    for (size_t i = 0; i < rows.count && rows.count <= RANKS; i++) {
        char who[40];

        name_row(who, report, &rows.row[i]);
        put_row(f, who, &rows.row[i].time, &findings->time);
    }
    free(rows.row);
}
