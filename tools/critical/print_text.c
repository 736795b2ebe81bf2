/*
 * print_text.c - prints a critical path as text: its parts, its pieces in the order of time, and
 * the names that take most of it.
 *
 * Threads, memory: see print.h.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "critical/print.h"
#include "print/format.h"
#include "print/short_name.h"
#include "report/screen.h"

#define PIECES     24 /* lines of the path */
#define NAMES      10
#define NAME_WIDTH 42
#define RUN_WIDTH  30

const char *sl_critical_kind_title(enum sl_critical_kind kind)
{
    static const char *const titles[SL_CRITICAL_KINDS] = {
        "CPU in operators", "CPU in CUDA calls", "CPU outside of both", "launch delay",
        "kernels",          "communication",     "copies and memsets",  "queue gaps",
        "sync wake-up",     "unknown waits",     "earlier GPU work",    "launch not recorded"};

    return titles[kind];
}

/* `room` has NAME_WIDTH + 1 bytes. */
static const char *name_of(const struct sl_critical_view *view, uint32_t id, size_t width,
                           char *room)
{
    size_t size = 0;
    const char *name = id ? sl_intern_get(view->path->all->names, id, &size) : NULL;

    return name ? sl_short_name(room, width, name, size) : "";
}

/* ---- the head ---- */

static void put_window(FILE *f, const struct sl_critical_view *view)
{
    const struct sl_critical_window *w = &view->path->window;
    const struct sl_header *h = &view->path->recording->header;
    char room[NAME_WIDTH + 1];

    fputs("Critical path of ", f);
    if (w->what == SL_CRITICAL_STEP)
        fprintf(f, "step %" PRIu64, w->number);
    else if (w->what == SL_CRITICAL_RANGE)
        fprintf(f, "range %" PRIu64 " of \"%s\"", w->number,
                name_of(view, w->name, NAME_WIDTH, room));
    else
        fputs("the whole recording", f);
    if (h->has_rank)
        fprintf(f, ", rank %" PRId64, h->rank);
    if (w->is_middle)
        fprintf(f, " (median length of %zu%s)", w->candidates,
                w->what == SL_CRITICAL_STEP ? " full steps; --step N takes another" : "");
    fputs("\n", f);
}

static void put_total(FILE *f, const struct sl_critical_view *view)
{
    const struct sl_critical *c = view->path;
    char total[SL_FORMAT_SIZE], time[SL_FORMAT_SIZE];
    int is_gpu_last = c->last_gpu_ns > c->window.end_ns;

    if (view->options->hta) {
        fprintf(f, "%s by the rules of HolisticTraceAnalysis\n",
                sl_format_span(total, c->total_ns));
        return;
    }
    fprintf(f, "%s from the begin on the CPU to the end of %s\n",
            sl_format_span(total, c->total_ns),
            is_gpu_last ? "the last GPU work" : "the CPU's work");
    if (is_gpu_last)
        fprintf(f, "The GPU ends %s after the CPU.\n",
                sl_format_about(time, c->last_gpu_ns - c->window.end_ns));
}

static void put_scaled(FILE *f, const struct sl_critical_view *view)
{
    uint64_t was = view->path->total_ns, is;
    char old[SL_FORMAT_SIZE], new[SL_FORMAT_SIZE], change[SL_FORMAT_SIZE];

    if (!view->scaled)
        return;
    is = view->scaled->total_ns;
    fprintf(f, "With --scale: %s instead of %s (%s%s, %+.1f %%)\n", sl_format_span(new, is),
            sl_format_span(old, was), is < was ? "-" : "+",
            sl_format_about(change, is < was ? was - is : is - was),
            was ? 100 * ((double)is - (double)was) / (double)was : 0);
    for (size_t i = 0; i < view->options->scales; i++) {
        const struct sl_critical_scale *s = &view->options->scale[i];
        char room[NAME_WIDTH + 1];

        fprintf(f, "  %s x %g: ", sl_short_name(room, NAME_WIDTH, s->name, s->size), s->factor);
        if (s->ops)
            fprintf(f, "%" PRIu64 " GPU operation%s", s->ops, s->ops == 1 ? "" : "s");
        if (s->operators)
            fprintf(f, "%s%" PRIu64 " operator%s", s->ops ? ", " : "", s->operators,
                    s->operators == 1 ? "" : "s");
        fputs(s->ops || s->operators ? "\n" : "nothing has this name\n", f);
    }
}

/* ---- the parts ---- */

static void put_part(FILE *f, const struct sl_critical_view *view, const char *title, uint64_t ns,
                     uint64_t pieces, uint64_t scaled_ns)
{
    char time[SL_FORMAT_SIZE], count[SL_FORMAT_SIZE], other[SL_FORMAT_SIZE];

    fprintf(f, "  %-22s%12s%7.1f %%%10s", title, sl_format_span(time, ns),
            sl_screen_percent(ns, view->path->total_ns), sl_format_count(count, pieces));
    if (view->scaled)
        fprintf(f, "%14s", sl_format_span(other, scaled_ns));
    fputs("\n", f);
}

static void put_parts(FILE *f, const struct sl_critical_view *view)
{
    const struct sl_critical *c = view->path, *s = view->scaled;
    uint64_t pieces = 0;

    fprintf(f, "\n  %-22s%12s%9s%10s%s\n", "part of the path", "time", "share", "pieces",
            s ? "  with --scale" : "");
    for (int kind = 0; kind < SL_CRITICAL_KINDS; kind++) {
        pieces += c->kind_edges[kind];
        if (c->kind_ns[kind] || (s && s->kind_ns[kind]))
            put_part(f, view, sl_critical_kind_title((enum sl_critical_kind)kind), c->kind_ns[kind],
                     c->kind_edges[kind], s ? s->kind_ns[kind] : 0);
    }
    put_part(f, view, "path", c->total_ns, pieces, s ? s->total_ns : 0);
}

/* ---- the pieces ---- */

static int longest_first(const void *a, const void *b)
{
    const struct sl_critical_run *x = *(const struct sl_critical_run *const *)a,
                                 *y = *(const struct sl_critical_run *const *)b;

    if (x->ns != y->ns)
        return x->ns < y->ns ? 1 : -1;
    return (x > y) - (x < y);
}

/* Returns the length from which a piece has a line, so that there are not too many lines. */
static int find_limit(const struct sl_critical_runs *runs, uint64_t *limit_ns)
{
    const struct sl_critical_run **run;

    *limit_ns = 0;
    if (runs->runs <= PIECES)
        return 0;
    run = malloc(runs->runs * sizeof(*run));
    if (!run)
        return -1;
    for (size_t i = 0; i < runs->runs; i++)
        run[i] = &runs->run[i];
    qsort(run, runs->runs, sizeof(*run), longest_first);
    *limit_ns = run[PIECES / 2]->ns + 1; /* a line between two others may sum up shorter ones */
    free(run);
    return 0;
}

static void put_where(FILE *f, const struct sl_critical_run *run)
{
    static const char *const words[SL_CAUSES] = {"CPU",  "wait", "launch",       "GPU",
                                                 "comm", "sync", "earlier work", "unknown"};

    fprintf(f, "%-7s", words[run->cause]);
    if (run->cause == SL_CAUSE_GPU || run->cause == SL_CAUSE_COMMUNICATION)
        fprintf(f, " stream %" PRIu32, run->lane);
}

static void put_run(FILE *f, const struct sl_critical_view *view, const struct sl_critical_run *run)
{
    char begin[SL_FORMAT_SIZE], time[SL_FORMAT_SIZE], most[SL_FORMAT_SIZE], room[NAME_WIDTH + 1];
    const char *name = name_of(view, run->name, RUN_WIDTH, room);
    const char *line = run->line ? sl_intern_get(view->path->all->names, run->line, NULL) : NULL;

    fprintf(f, "  %12s%12s  ",
            sl_format_span(begin, run->begin_ns > view->path->window.begin_ns
                                      ? run->begin_ns - view->path->window.begin_ns
                                      : 0),
            sl_format_span(time, run->ns));
    put_where(f, run);
    if (*name)
        fprintf(f, " %s", name);
    if (run->pieces > 1 && *name)
        fprintf(f, " (%s of %zu pieces)", sl_format_about(most, run->name_ns), run->pieces);
    else if (run->pieces > 1)
        fprintf(f, " %zu pieces", run->pieces);
    else if (run->kind == SL_CRITICAL_OUTSIDE)
        fputs(" outside of operators", f);
    fputs("\n", f);
    if (line)
        fprintf(f, "%31s%s\n", "at ", sl_short_name(room, NAME_WIDTH, line, strlen(line)));
}

static void put_shorter(FILE *f, size_t count, uint64_t ns)
{
    char time[SL_FORMAT_SIZE];

    if (count)
        fprintf(f, "  %12s%12s  %zu shorter piece%s\n", "", sl_format_span(time, ns), count,
                count == 1 ? "" : "s");
}

static void put_path(FILE *f, const struct sl_critical_view *view)
{
    const struct sl_critical_runs *runs = view->runs;
    uint64_t limit_ns, shorter_ns = 0;
    size_t shorter = 0;

    if (find_limit(runs, &limit_ns) != 0 || runs->runs == 0)
        return;
    fprintf(f, "\n  %12s%12s  %s\n", "begins after", "time", "where, and what takes most of it");
    for (size_t i = 0; i < runs->runs; i++) {
        const struct sl_critical_run *run = &runs->run[i];

        if (run->ns < limit_ns) {
            shorter++;
            shorter_ns += run->ns;
            continue;
        }
        put_shorter(f, shorter, shorter_ns);
        shorter = 0;
        shorter_ns = 0;
        put_run(f, view, run);
    }
    put_shorter(f, shorter, shorter_ns);
}

/* ---- the names ---- */

static void put_names(FILE *f, const struct sl_critical_view *view)
{
    const struct sl_critical_runs *runs = view->runs;
    char time[SL_FORMAT_SIZE], count[SL_FORMAT_SIZE], room[NAME_WIDTH + 1];

    if (runs->names)
        fprintf(f, "\n  %12s%9s%8s  %-20s%s\n", "time", "share", "pieces", "part", "name");
    for (size_t i = 0; i < runs->names && i < NAMES; i++) {
        const struct sl_critical_name *name = &runs->name[i];

        fprintf(f, "  %12s%7.1f %%%8s  %-20s%s\n", sl_format_span(time, name->ns),
                sl_screen_percent(name->ns, view->path->total_ns),
                sl_format_count(count, name->pieces),
                sl_critical_kind_title((enum sl_critical_kind)name->kind),
                name_of(view, name->name, NAME_WIDTH, room));
    }
    if (runs->names > NAMES)
        fprintf(f, "  and %zu more: --json\n", runs->names - NAMES);
}

/* ---- all of it ---- */

void sl_critical_print_notes(FILE *f, const struct sl_critical_view *view)
{
    const struct sl_critical *c = view->path;
    const struct sl_recording *r = c->recording;

    if (r->steps == 0 && c->window.what == SL_CRITICAL_ALL)
        fputs("The recording has no steps (ProfilerStep), so all of it is taken; --range NAME "
              "takes a range.\n",
              f);
    if (c->ops == 0)
        fputs("No GPU work was launched in this time.\n", f);
    if (c->ops && !r->has_sync_rows)
        fputs("The recording has no rows of CUDA's synchronization: some waits are not known.\n",
              f);
    if (c->unexplained_waits)
        fprintf(f, "%zu long call%s waited for what is not known, so %s time stays as it is.\n",
                c->unexplained_waits, c->unexplained_waits == 1 ? "" : "s",
                c->unexplained_waits == 1 ? "its" : "their");
    if (c->no_launch)
        fprintf(f, "The launch of %zu GPU operation%s was not recorded.\n", c->no_launch,
                c->no_launch == 1 ? "" : "s");
    if (c->circles)
        fprintf(f, "%zu edges form a circle and were left out: the recording's times are wrong.\n",
                c->circles);
    if (r->status)
        fputs("Only a part of the file could be read.\n", f);
}

void sl_critical_print_text(FILE *f, const struct sl_critical_view *view)
{
    struct sl_piece notes;

    put_window(f, view);
    put_total(f, view);
    put_scaled(f, view);
    put_parts(f, view);
    put_path(f, view);
    put_names(f, view);
    if (sl_piece_begin(&notes))
        sl_critical_print_notes(notes.f, view);
    if (sl_piece_end(&notes))
        fputs("\n", f);
    for (char *line = notes.text, *next; line && (next = strchr(line, '\n')) != NULL;
         line = next + 1) {
        *next = '\0';
        sl_screen_lines(f, 1, line);
    }
    free(notes.text);
}
