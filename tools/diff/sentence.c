/*
 * sentence.c - says whether B is slower, by how much and why, and what limits the comparison.
 *
 * Threads, memory: see diff.h.
 */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "diff/text.h"
#include "print/format.h"
#include "print/short_name.h"
#include "report/screen.h"

#define NAME_WIDTH 56

char *sl_diff_time(char *to, double ns)
{
    return sl_format_about(to, (uint64_t)(fabs(ns) + 0.5));
}

char *sl_diff_signed(char *to, double ns)
{
    *to = ns < 0 ? '-' : '+';
    sl_format_about(to + (fabs(ns) >= 0.5), (uint64_t)(fabs(ns) + 0.5));
    return to;
}

char *sl_diff_percent(char *to, const struct sl_diff_change *c)
{
    const double times = c->of[0].usual_ns < 0.5 ? 0 : c->of[1].usual_ns / c->of[0].usual_ns;

    if (c->of[0].usual_ns < 0.5)
        snprintf(to, SL_FORMAT_SIZE, "-");
    else if (times >= 10)
        snprintf(to, SL_FORMAT_SIZE, times < 1e6 ? "x %.0f" : "x %.2g", times);
    else
        snprintf(to, SL_FORMAT_SIZE, "%+.1f %%", 100 * c->change_ns / c->of[0].usual_ns);
    return to;
}

int sl_diff_has_steps(const struct sl_diff *d)
{
    return sl_report_has_steps(&d->side[0]) || sl_report_has_steps(&d->side[1]);
}

/* ---- the largest reason ---- */

/* Returns 1 if rows of this kind can explain a change of the part. */
static int explains(const struct sl_diff_row *row, enum sl_part part)
{
    switch (part) {
    case SL_PART_COMPUTE:
        return row->kind == SL_DIFF_KERNELS && row->work == SL_WORK_COMPUTE;
    case SL_PART_COPY:
        return row->kind == SL_DIFF_KERNELS && row->work == SL_WORK_COPY;
    case SL_PART_TRANSFER:
    case SL_PART_WAITING:
        return row->kind == SL_DIFF_COLLECTIVES;
    case SL_PART_SYNC:
        return row->kind == SL_DIFF_WAITS;
    case SL_PART_LAUNCH:
        return row->kind == SL_DIFF_LAUNCHES;
    default:
        return 0;
    }
}

/* Returns the part that changed most in the direction of the step. */
static enum sl_part largest_part(const struct sl_diff *d, double sign)
{
    enum sl_part largest = SL_PART_COMPUTE;

    for (int part = 1; part < SL_PART_COUNT; part++)
        if (sign * d->mean.part[part].change_ns > sign * d->mean.part[largest].change_ns)
            largest = (enum sl_part)part;
    return largest;
}

static const struct sl_diff_row *largest_row(const struct sl_diff *d, enum sl_part part,
                                             double sign)
{
    const struct sl_diff_row *largest = NULL;

    for (size_t i = 0; i < d->rows; i++) {
        const struct sl_diff_row *row = &d->row[i];

        if (explains(row, part) && sl_diff_is_told(row) && sign * row->change.change_ns > 0 &&
            (!largest || sign * row->change.change_ns > sign * largest->change.change_ns))
            largest = row;
    }
    return largest;
}

int sl_diff_is_told(const struct sl_diff_row *row)
{
    enum sl_diff_verdict verdict = sl_diff_row_verdict(row);

    return verdict != SL_DIFF_SAME && verdict != SL_DIFF_NOISE;
}

/* Shortens the line of a side without its folder. `to` has NAME_WIDTH / 2 + 1 bytes. */
static const char *short_line(char *to, const struct sl_diff *d, uint32_t line)
{
    const char *text = sl_report_name(&d->side[0], line), *base = strrchr(text, '/');

    base = base ? base + 1 : text;
    return sl_short_name(to, NAME_WIDTH / 2, base, strlen(base));
}

void sl_diff_where(char to[SL_DIFF_WHERE], const struct sl_diff *d, const struct sl_diff_row *row)
{
    const char *place = sl_report_name(&d->side[0], row->place);
    char shorter[NAME_WIDTH / 2 + 1], a[NAME_WIDTH / 2 + 1], b[NAME_WIDTH / 2 + 1];
    const char *line = short_line(b, d, row->line[1] ? row->line[1] : row->line[0]);
    const int has_moved = row->line[0] && row->line[1] && row->line[0] != row->line[1];

    sl_short_name(shorter, NAME_WIDTH / 2, place, strlen(place));
    snprintf(to, SL_DIFF_WHERE, "%s%s%s%s%s%s", *place ? "in " : "", shorter,
             *place && *line ? ", " : "", has_moved ? short_line(a, d, row->line[0]) : "",
             has_moved ? " -> " : "", line);
}

static const char *thing(const struct sl_diff_row *row)
{
    switch (row->kind) {
    case SL_DIFF_WAITS:
        return "the wait in ";
    case SL_DIFF_LAUNCHES:
        return "the calls of ";
    default:
        return "";
    }
}

/* Finds the rank whose own time grew most, if another one waited about that much longer. A rank
 * that waits shows what is wrong, and not why. Returns NULL if there is none; else sets `part`. */
static const struct sl_diff_rank *late_rank(const struct sl_diff *d, enum sl_part *part)
{
    const struct sl_diff_rank *late = NULL;

    for (size_t i = 0; i < d->ranks; i++)
        for (int k = 0; k < SL_PART_COUNT; k++) {
            const struct sl_diff_change *own = &d->rank[i].part[k];

            if (d->rank[i].rank < 0 || k == SL_PART_WAITING || k == SL_PART_TRANSFER ||
                !own->is_change || own->change_ns <= (late ? late->part[*part].change_ns : 0))
                continue;
            late = &d->rank[i];
            *part = (enum sl_part)k;
        }
    for (size_t i = 0; late && i < d->ranks; i++) {
        const double waiting_ns = d->rank[i].part[SL_PART_WAITING].change_ns;

        if (&d->rank[i] != late && waiting_ns >= late->part[*part].change_ns / 2 &&
            waiting_ns <= late->part[*part].change_ns * 2)
            return late;
    }
    return NULL;
}

static void put_reason(FILE *f, const struct sl_diff *d)
{
    const double sign = d->mean.step.change_ns < 0 ? -1 : 1;
    enum sl_part part = largest_part(d, sign);
    const struct sl_diff_row *row = largest_row(d, part, sign);
    char time[SL_FORMAT_SIZE], name[NAME_WIDTH + 1], where[SL_DIFF_WHERE];
    const struct sl_diff_rank *late = NULL;
    enum sl_part own = part;
    const char *text;

    if (sign * d->mean.part[part].change_ns < 0.5)
        return;
    if (part == SL_PART_WAITING && sign > 0)
        late = late_rank(d, &own);
    own = late ? own : part;
    fprintf(f, ", most of all because of %s", sl_screen_part(own));
    if (late)
        fprintf(f, " on rank %" PRId64 " (%s), which makes others wait", late->rank,
                sl_diff_signed(time, late->part[own].change_ns));
    fprintf(f, " (%s", sl_diff_signed(time, d->mean.part[part].change_ns));
    if (row) {
        enum sl_diff_verdict verdict = sl_diff_row_verdict(row);

        text = sl_report_name(&d->side[0], row->name[row->name[1] != 0]);
        sl_diff_where(where, d, row);
        fprintf(f, "): %s%s%s%s%s, %s%s", thing(row),
                sl_short_name(name, NAME_WIDTH, text, strlen(text)), *where ? " (" : "", where,
                *where ? ")" : "", verdict >= SL_DIFF_ADDED ? sl_diff_verdict_name(verdict) : "",
                verdict >= SL_DIFF_ADDED ? ", " : "");
        fprintf(f, "%s", sl_diff_signed(time, row->change.change_ns));
    } else {
        fputs(")", f);
    }
}

void sl_diff_print_sentence(FILE *f, const struct sl_diff *d)
{
    const struct sl_diff_change *c = &d->mean.step;
    const char *of = sl_diff_has_steps(d) ? " a step" : "";
    char a[SL_FORMAT_SIZE], b[SL_FORMAT_SIZE], change[SL_FORMAT_SIZE], percent[SL_FORMAT_SIZE];

    if (!d->has_gpu[0] || !d->has_gpu[1]) {
        fprintf(f, "%s no GPU operation in the chosen steps, so there is nothing to compare.",
                d->has_gpu[0] || d->has_gpu[1] ? d->has_gpu[0] ? "B has" : "A has"
                                               : "A and B have");
        return;
    }
    sl_diff_time(a, c->of[0].usual_ns);
    sl_diff_time(b, c->of[1].usual_ns);
    sl_diff_time(change, c->change_ns);
    sl_diff_percent(percent, c);
    switch (sl_diff_verdict(c)) {
    case SL_DIFF_SAME:
        fprintf(f, "B is as fast as A: %s%s.", b, of);
        return;
    case SL_DIFF_NOISE:
        fprintf(f, "B is neither slower nor faster than A: %s%s instead of %s (%s); ", b, of, a,
                percent);
        fprintf(f, "the steps of A differ by %s,", sl_diff_time(a, c->of[0].spread_ns));
        fprintf(f, " those of B by %s.", sl_diff_time(b, c->of[1].spread_ns));
        return;
    default:
        fprintf(f, "B is %s than A by %s%s (%s): %s instead of %s",
                c->change_ns > 0 ? "slower" : "faster", change, of, percent, b, a);
        put_reason(f, d);
        fputs(".", f);
    }
}

/* ---- notes ---- */

static const char side_name[2] = {'A', 'B'};

static const char *device_of(const struct sl_report *report)
{
    const struct sl_header *h = &report->recordings.of[0].header;

    return h->devices ? h->device[0].name : "";
}

static const char *writer_of(const struct sl_report *report)
{
    return report->recordings.of[0].header.own_file ? "syncline"
                                                    : "another tool, as torch.profiler";
}

static void note_steps(FILE *f, const struct sl_diff *d, int side)
{
    const size_t ranks = d->ranks ? d->ranks : 1;

    if (!sl_report_has_steps(&d->side[side]))
        fprintf(f, "%c has no steps, so its whole trace counts as one step.\n", side_name[side]);
    else if (d->mean.steps[side] <= ranks && d->has_gpu[side])
        fprintf(f,
                "%c has one step, which has no spread: what differs counts as a change if the "
                "other side's steps differ less.\n",
                side_name[side]);
    for (size_t i = 0; i < d->side[side].recordings.count; i++)
        if (d->side[side].recordings.of[i].status) {
            fprintf(f, "Only a part of %c could be read.\n", side_name[side]);
            break;
        }
    if (d->alone[side])
        fprintf(f, "%zu rank%s only in %c, and left out.\n", d->alone[side],
                d->alone[side] == 1 ? " is" : "s are", side_name[side]);
    if (d->has_gpu[side] && !d->has_waits[side] && d->has_waits[!side])
        fprintf(f,
                "%c has no records of synchronization, so waits that %c alone has may not be "
                "new.\n",
                side_name[side], side_name[!side]);
    if (d->has_gpu[side] && !d->has_places[side] && d->has_places[!side])
        fprintf(f, "%c has no operators or ranges, so kernels are compared by their names alone.\n",
                side_name[side]);
}

/* A single rank is compared with whatever single rank the other side has. */
static void note_pair(FILE *f, const struct sl_diff *d)
{
    int64_t rank[2];

    for (int side = 0; side < 2; side++)
        rank[side] = sl_report_rank(&d->side[side].recordings.of[d->rank[0].first[side]]);
    if (rank[0] >= 0 && rank[1] >= 0 && rank[0] != rank[1])
        fprintf(f, "Rank %" PRId64 " of A is compared with rank %" PRId64 " of B.\n", rank[0],
                rank[1]);
}

void sl_diff_print_notes(FILE *f, const struct sl_diff *d)
{
    const char *a = device_of(&d->side[0]), *b = device_of(&d->side[1]);

    for (int side = 0; side < 2; side++)
        note_steps(f, d, side);
    if (d->ranks == 1)
        note_pair(f, d);
    if (*a && *b && strcmp(a, b) != 0)
        fprintf(f, "The GPUs differ: %s in A, %s in B.\n", a, b);
    if (d->side[0].recordings.of[0].header.own_file != d->side[1].recordings.of[0].header.own_file)
        fprintf(f,
                "A was recorded by %s, B by %s: their own costs and what they know of "
                "waits differ.\n",
                writer_of(&d->side[0]), writer_of(&d->side[1]));
}
