/*
 * print_screen.c - prints the first screen of a comparison: the sentence, the parts of a step, and
 * the largest changes.
 *
 * Threads, memory: see diff.h.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "diff/text.h"
#include "print/format.h"
#include "print/short_name.h"
#include "report/print.h"
#include "report/screen.h"

#define LINES       40
#define TITLE_WIDTH 50
#define NAME_WIDTH  43
#define NOTE_LINES  6
#define ROWS        12

static void put_sentence(FILE *f, const struct sl_diff *d)
{
    struct sl_piece p;

    if (sl_piece_begin(&p))
        sl_diff_print_sentence(p.f, d);
    sl_piece_end(&p);
    if (p.text)
        sl_screen_lines(f, 1, p.text);
    free(p.text);
}

static void put_side(FILE *f, const struct sl_diff *d, int side)
{
    const struct sl_report *report = &d->side[side];
    const struct sl_header *h = &report->recordings.of[0].header;
    const char *title = sl_report_title(report);
    char shorter[TITLE_WIDTH + 1], device[24];

    fprintf(f, "%c: %s, %zu rank%s", 'A' + side,
            sl_short_name(shorter, TITLE_WIDTH, title, strlen(title)), d->ranks,
            d->ranks == 1 ? "" : "s");
    if (sl_report_has_steps(report))
        fprintf(f, ", %zu step%s", d->mean.steps[side], d->mean.steps[side] == 1 ? "" : "s");
    if (h->devices)
        fprintf(f, ", %s",
                sl_short_name(device, sizeof(device) - 1, h->device[0].name,
                              strlen(h->device[0].name)));
    fputs("\n", f);
}

static void put_ranks(FILE *f, const struct sl_diff *d)
{
    const struct sl_diff_rank *worst = &d->rank[d->worst];
    char time[SL_FORMAT_SIZE], percent[SL_FORMAT_SIZE];

    if (d->ranks < 2)
        return;
    fprintf(f, " Times are the mean of %zu ranks.", d->ranks);
    if (sl_diff_verdict(&worst->step) >= SL_DIFF_LESS)
        fprintf(f, " Rank %" PRId64 " changed most: %s (%s).", worst->rank,
                sl_diff_signed(time, worst->step.change_ns),
                sl_diff_percent(percent, &worst->step));
    fputs("\n", f);
}

/* ---- the parts ---- */

static void put_part(FILE *f, const char *name, const struct sl_diff_change *c)
{
    char a[SL_FORMAT_SIZE], b[SL_FORMAT_SIZE], change[SL_FORMAT_SIZE], percent[SL_FORMAT_SIZE],
        spread[2][SL_FORMAT_SIZE];

    fprintf(f, "  %-12s%11s%12s%13s%10s%12s%12s  %s\n", name, sl_diff_time(a, c->of[0].usual_ns),
            sl_diff_time(b, c->of[1].usual_ns), sl_diff_signed(change, c->change_ns),
            sl_diff_percent(percent, c), sl_diff_time(spread[0], c->of[0].spread_ns),
            sl_diff_time(spread[1], c->of[1].spread_ns), sl_diff_verdict_name(sl_diff_verdict(c)));
}

static void put_parts(FILE *f, const struct sl_diff *d)
{
    struct sl_diff_change mean = d->mean.step;

    fprintf(f, "\n %-13s%11s%12s%13s%10s%12s%12s\n", sl_diff_has_steps(d) ? "per step" : "", "A",
            "B", "change", "", "spread A", "spread B");
    put_part(f, "step", &mean);
    for (int part = 0; part < SL_PART_COUNT; part++)
        if (d->mean.part[part].of[0].usual_ns > 0 || d->mean.part[part].of[1].usual_ns > 0)
            put_part(f, sl_screen_part((enum sl_part)part), &d->mean.part[part]);
    if (mean.of[0].mean_ns == mean.of[0].median_ns && mean.of[1].mean_ns == mean.of[1].median_ns)
        return;
    mean.change_ns = mean.of[1].mean_ns - mean.of[0].mean_ns;
    fprintf(f, "  These are medians; the means of the steps are ");
    {
        char a[SL_FORMAT_SIZE], b[SL_FORMAT_SIZE], change[SL_FORMAT_SIZE];

        fprintf(f, "%s and %s (%s).\n", sl_diff_time(a, mean.of[0].mean_ns),
                sl_diff_time(b, mean.of[1].mean_ns), sl_diff_signed(change, mean.change_ns));
    }
}

/* ---- the largest changes ---- */

static void put_row(FILE *f, const struct sl_diff *d, const struct sl_diff_row *row)
{
    static const char *const kinds[SL_DIFF_KINDS] = {"kernel", "operator", "launch", "wait",
                                                     "collective"};
    const struct sl_diff_change *c = &row->change;
    const char *name = sl_report_name(&d->side[0], row->name[row->name[0] == 0]),
               *other = sl_report_name(&d->side[0], row->name[1]);
    char shorter[NAME_WIDTH + 1], a[SL_FORMAT_SIZE], b[SL_FORMAT_SIZE], change[SL_FORMAT_SIZE],
        where[SL_DIFF_WHERE];

    fprintf(f, "  %-9s%-11s%-*s%10s%11s%12s\n", sl_diff_verdict_name(sl_diff_row_verdict(row)),
            row->work == SL_WORK_COPY ? "copy" : kinds[row->kind], NAME_WIDTH + 1,
            sl_short_name(shorter, NAME_WIDTH, name, strlen(name)),
            row->name[0] ? sl_diff_time(a, c->of[0].usual_ns) : "-",
            row->name[1] ? sl_diff_time(b, c->of[1].usual_ns) : "-",
            sl_diff_signed(change, c->change_ns));
    if (sl_diff_row_verdict(row) == SL_DIFF_REPLACED && row->name[0] != row->name[1])
        fprintf(f, "%22sby %s\n", "", sl_short_name(shorter, NAME_WIDTH, other, strlen(other)));
    sl_diff_where(where, d, row);
    if (*where)
        fprintf(f, "%22s%s\n", "", where);
}

static int by_change(const void *a, const void *b)
{
    const struct sl_diff_row *x = *(const struct sl_diff_row *const *)a,
                             *y = *(const struct sl_diff_row *const *)b;
    const double size_x = fabs(x->change.change_ns), size_y = fabs(y->change.change_ns);

    if (size_x != size_y)
        return size_x < size_y ? 1 : -1;
    return (x > y) - (x < y);
}

/* Prints as many of the largest changes as fit into `lines`. Operators are left out, because they
 * are the sums of their kernels. */
static void put_changes(FILE *f, const struct sl_diff *d, size_t lines)
{
    const struct sl_diff_row **row = malloc((d->rows + 1) * sizeof(*row));
    size_t count = 0, put = 0;

    if (!row || lines < 5)
        goto end;
    for (size_t i = 0; i < d->rows; i++)
        if (d->row[i].kind != SL_DIFF_OPERATORS && sl_diff_is_told(&d->row[i]) &&
            fabs(d->row[i].change.change_ns) >= 0.5)
            row[count++] = &d->row[i];
    if (count == 0)
        goto end;
    qsort(row, count, sizeof(*row), by_change);
    fprintf(f, "\n %-*s%10s%11s%12s\n", NAME_WIDTH + 22, "largest changes", "A", "B", "change");
    lines -= 2;
    for (; put < count && put < ROWS; put++) {
        struct sl_piece p;
        size_t size;

        if (sl_piece_begin(&p))
            put_row(p.f, d, row[put]);
        size = sl_piece_end(&p);
        if (size + 1 > lines) {
            free(p.text);
            break;
        }
        sl_piece_put(f, &p);
        lines -= size;
    }
    if (put < count)
        fprintf(f, "  and %zu smaller\n", count - put);
end:
    free(row);
}

/* ---- all of it ---- */

/* Prints as many notes as have room. */
static void put_notes(FILE *f, const struct sl_diff *d)
{
    size_t left = NOTE_LINES;
    struct sl_piece notes;
    char *next;

    if (sl_piece_begin(&notes))
        sl_diff_print_notes(notes.f, d);
    sl_piece_end(&notes);
    for (char *line = notes.text; line && *line; line = next) {
        struct sl_piece p;
        size_t size;

        next = strchr(line, '\n');
        if (!next)
            break;
        *next++ = '\0';
        if (sl_piece_begin(&p))
            sl_screen_lines(p.f, 1, line);
        size = sl_piece_end(&p);
        if (size > left) {
            free(p.text);
            continue;
        }
        left -= size;
        sl_piece_put(f, &p);
    }
    free(notes.text);
}

void sl_diff_print_screen(FILE *f, const struct sl_diff *d)
{
    struct sl_piece top, bottom;
    size_t used = 0;

    if (sl_piece_begin(&top)) {
        put_side(top.f, d, 0);
        put_side(top.f, d, 1);
        fputs("\n", top.f);
        put_sentence(top.f, d);
        if (d->has_gpu[0] && d->has_gpu[1]) {
            put_ranks(top.f, d);
            put_parts(top.f, d);
        }
    }
    used += sl_piece_end(&top);
    if (sl_piece_begin(&bottom)) {
        fputs("\n", bottom.f);
        put_notes(bottom.f, d);
        fputs(" more: --only kernels,operators,launches,waits,collectives,parts,steps | --json\n",
              bottom.f);
    }
    used += sl_piece_end(&bottom);
    sl_piece_put(f, &top);
    if (d->has_gpu[0] && d->has_gpu[1])
        put_changes(f, d, used < LINES ? LINES - used : 0);
    sl_piece_put(f, &bottom);
}
