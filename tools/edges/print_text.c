/*
 * print_text.c - prints edges and their summary as text.
 *
 * The columns of numbers have fixed widths; names get the rest of the line.
 *
 * Threads, memory: see print.h.
 */
#include <inttypes.h>
#include <limits.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "edges/print.h"
#include "print/format.h"
#include "print/short_name.h"

#define WIDTH         100
#define WIDTH_LEAST   80
#define WIDTH_MOST    200
#define GROUP_ROWS    10u
#define LINE_ROWS     20u
#define SOURCE_ROWS   2u /* operations that one line of code waited for */
#define NUMBERS       39 /* columns of the three numbers in a row of a table, and of the indent */
#define LINE_NUMBERS  53 /* the same in a row of the table by line */
#define COUNT_COLUMNS 15 /* columns of the number of waits in that table */
#define EDGE_COLUMNS  42 /* columns before the names in the list of edges */
#define SHORT_LINE    28 /* a line of code needs this room to be understood */
#define SHORT_PLACE   10
#define CALL_WIDTH    40

static int width(void)
{
    struct winsize size;

    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || !size.ws_col)
        return WIDTH;
    return size.ws_col < WIDTH_LEAST  ? WIDTH_LEAST
           : size.ws_col > WIDTH_MOST ? WIDTH_MOST
                                      : size.ws_col;
}

/* Shortens a name by leaving out its middle. */
static char *shortened(char *to, int room, const struct sl_intern *names, uint32_t id,
                       const char *unknown)
{
    size_t size;
    const char *name = sl_intern_get(names, id, &size);

    return name ? sl_short_name(to, (size_t)room, name, size)
                : sl_short_name(to, (size_t)room, unknown, strlen(unknown));
}

/* Shortens a source line or a path by leaving out its beginning. */
static char *shortened_line(char *to, int room, const char *text)
{
    size_t size = strlen(text);
    const char *from = text;

    if (size <= (size_t)room) {
        memcpy(to, text, size + 1);
        return to;
    }
    from += size - (size_t)(room - 3);
    while (((unsigned char)*from & 0xc0) == 0x80)
        from++;
    snprintf(to, (size_t)room + 1, "...%s", from);
    return to;
}

static const char *line_text(const struct sl_intern *names, uint32_t id)
{
    const char *name = sl_intern_get(names, id, NULL);

    return name ? name : "(no line known)";
}

/* Prints a name in a column. printf() counts bytes, but a name may have longer characters. */
static void put_column(FILE *f, const char *name, int columns)
{
    for (const char *at = name; *at; at++)
        columns -= ((unsigned char)*at & 0xc0) != 0x80;
    fprintf(f, "%s%*s", name, columns > 0 ? columns : 0, "");
}

static const char *span(char *to, uint64_t ns)
{
    return ns ? sl_format_span(to, ns) : "-";
}

/* ---- edges ---- */

/* Formats device and stream, such as "0/7". */
static const char *stream_of(char *to, size_t size, const struct sl_edge_op *op)
{
    if (op->device == SL_DEVICE_NONE)
        snprintf(to, size, "?/%" PRIu32, op->stream);
    else
        snprintf(to, size, "%u/%" PRIu32, op->device, op->stream);
    return to;
}

/* Formats the time of a wait as seconds since the beginning of the trace. */
static const char *seconds(char *to, const struct sl_edge_where *where)
{
    uint64_t ns = where->at_ns > where->begin_ns ? where->at_ns - where->begin_ns : 0;

    if (!where->at_ns)
        return "-";
    snprintf(to, SL_FORMAT_SIZE, "%" PRIu64 ".%06" PRIu64, ns / 1000000000, ns / 1000 % 1000000);
    return to;
}

void sl_edges_print_title(FILE *f)
{
    fprintf(f, "%12s  %10s  %-14s  %s\n%12s  %10s  %-14s  %s\n", "at (seconds)", "waited", "kind",
            "who waits", "", "wake-up", "basis", "for which operation, on device/stream");
}

/* Formats a call with the place and the line around it, as much as fits. */
static const char *caller(char *to, int room, const struct sl_trace_events *t,
                          const struct sl_edge *edge, const struct sl_edge_where *where)
{
    char call[CALL_WIDTH + 1], place[CALL_WIDTH + 1], line[WIDTH_MOST + 1];
    int size;

    shortened(call, CALL_WIDTH, t->names, edge->dst_name, "?");
    shortened(place, CALL_WIDTH, t->names, where->place, "");
    size = snprintf(to, WIDTH_MOST, "%s%s%s%s%.*s", call, *place ? " in " : "", place,
                    where->line ? " at " : "", WIDTH_MOST / 2,
                    where->line ? line_text(t->names, where->line) : "");
    if (size <= room)
        return to;
    size = (int)strlen(call) + 4;
    if (where->line && room - size < SHORT_LINE)
        return shortened_line(to, room, line_text(t->names, where->line));
    if (where->line)
        snprintf(to, WIDTH_MOST, "%s at %s", call,
                 shortened_line(line, room - size, line_text(t->names, where->line)));
    else if (*place && room - size >= SHORT_PLACE)
        snprintf(to, WIDTH_MOST, "%s in %s", call,
                 shortened(place, room - size < CALL_WIDTH ? room - size : CALL_WIDTH, t->names,
                           where->place, ""));
    else
        shortened(to, room, t->names, edge->dst_name, "?");
    return to;
}

void sl_edges_print_text(FILE *f, const struct sl_trace_events *t, const struct sl_edge *edge,
                         const struct sl_edge_where *where)
{
    int room = width() - EDGE_COLUMNS;
    char at[SL_FORMAT_SIZE], wait[SL_FORMAT_SIZE], wake[SL_FORMAT_SIZE], stream[32];
    char who[WIDTH_MOST + 64], source[WIDTH_MOST + 1];

    if (edge->at_start) {
        stream_of(stream, sizeof(stream), &edge->dst_op);
        shortened(source, room - 4 - (int)strlen(stream), t->names, edge->dst_op.name, "?");
        snprintf(who, sizeof(who), "%s on %s", source, stream);
    } else {
        caller(who, room, t, edge, where);
    }
    stream_of(stream, sizeof(stream), &edge->source);
    fprintf(f, "%12s  %10s  %-14s  %s\n%12s  %10s  %-14s  for %s on %s\n", seconds(at, where),
            sl_format_span(wait, edge->wait_ns), sl_edge_kind_name((enum sl_edge_kind)edge->kind),
            who, "", sl_format_span(wake, edge->wake_ns),
            sl_edge_basis_name((enum sl_edge_basis)edge->basis),
            shortened(source, room - 8 - (int)strlen(stream), t->names, edge->source.name, "?"),
            stream);
}

/* Shortens a path to its last two folders, without the ending of a trace. */
static char *shortened_path(char *to, int room, const char *path)
{
    static const char *const endings[] = {".zst", ".gz", ".json", ".trace", ".pt"};
    const char *from = path + strlen(path);
    char text[PATH_MAX];
    size_t size;

    for (int folders = 0; from > path; from--) {
        folders += from[-1] == '/';
        if (folders == 2)
            break;
    }
    snprintf(text, sizeof(text), "%s", from);
    size = strlen(text);
    for (size_t i = 0; i < sizeof(endings) / sizeof(*endings); i++) {
        size_t end = strlen(endings[i]);

        if (size > end && strcmp(text + size - end, endings[i]) == 0)
            text[size -= end] = '\0';
    }
    return shortened_line(to, room, text);
}

void sl_edges_print_file(FILE *f, const char *path)
{
    char text[WIDTH_MOST + 1];

    fprintf(f, "%*sin %s\n", EDGE_COLUMNS, "",
            shortened_path(text, width() - EDGE_COLUMNS - 3, path));
}

/* ---- tables of the summary ---- */

static void put_row(FILE *f, const char *name, const struct sl_edge_waits *w)
{
    char count[SL_FORMAT_SIZE], total[SL_FORMAT_SIZE], longest[SL_FORMAT_SIZE];

    fputs("  ", f);
    put_column(f, name, width() - NUMBERS);
    fprintf(f, "  %11s  %10s  %10s\n", sl_format_count(count, w->count), span(total, w->total_ns),
            span(longest, w->longest_ns));
}

static void put_head(FILE *f, const char *title)
{
    fprintf(f, "\n%-*s  %11s  %10s  %10s\n", width() - NUMBERS + 2, title, "waits", "total",
            "longest");
}

static void put_table(FILE *f, const struct sl_edges_result *r, struct sl_edge_summary *s,
                      enum sl_edge_table table, const char *title, const char *unknown, size_t rows)
{
    struct sl_edge_waits rest = sl_edge_summary_totals(s)->rest[table];
    const struct sl_edge_group *group;
    size_t count = sl_edge_summary_sort(s, table, &group);
    char name[WIDTH_MOST + 1];

    /* No group has a name, so the table would be of no use. */
    if (count == 0 || (count == 1 && group[0].name == 0 && rest.count == 0))
        return;
    put_head(f, title);
    for (size_t i = 0; i < count; i++) {
        const struct sl_edge_waits *w = &group[i].waits;

        if (i < rows)
            put_row(f, shortened(name, width() - NUMBERS, r->names, group[i].name, unknown), w);
        else
            sl_edge_waits_add(&rest, w);
    }
    if (rest.count)
        put_row(f, "(all others)", &rest);
}

static void put_kinds(FILE *f, const struct sl_edge_totals *totals, const char *title)
{
    put_head(f, title);
    for (int i = 0; i < SL_EDGE_KIND_COUNT; i++) {
        const struct sl_edge_waits *w = &totals->kind[i];

        if (w->count)
            put_row(f, sl_edge_kind_name((enum sl_edge_kind)i), w);
    }
    put_row(f, "all", &totals->all);
}

/* ---- the table by line ---- */

static void put_times(FILE *f, const struct sl_edge_waits *w, uint64_t steps)
{
    char total[SL_FORMAT_SIZE], each[SL_FORMAT_SIZE], longest[SL_FORMAT_SIZE];

    fprintf(f, "  %10s  %10s", span(total, w->total_ns),
            steps ? span(each, w->in_steps_ns / steps) : "");
    fprintf(f, "  %10s\n", span(longest, w->longest_ns));
}

/* `calls`: how many calls were made at the line; 0: not printed. */
static void put_line_row(FILE *f, const char *name, const struct sl_edge_waits *w, uint64_t calls,
                         uint64_t steps)
{
    char waits[SL_FORMAT_SIZE], all[SL_FORMAT_SIZE], waited[2 * SL_FORMAT_SIZE];

    snprintf(waited, sizeof(waited), "%s%s%s", sl_format_count(waits, w->count), calls ? "/" : "",
             calls ? sl_format_count(all, calls) : "");
    fputs("  ", f);
    put_column(f, name, width() - LINE_NUMBERS);
    fprintf(f, "  %13s", waited);
    put_times(f, w, steps);
}

/* Prints an operation that a line of code waited for. The name may fill the column of counts. */
static void put_source(FILE *f, const char *name, const struct sl_edge_waits *w, uint64_t steps)
{
    fputs("    for ", f);
    put_column(f, name, width() - LINE_NUMBERS - 6 + COUNT_COLUMNS);
    put_times(f, w, steps);
}

/* Prints what a line of code waited for. */
static void put_sources(FILE *f, const struct sl_edges_result *r, const struct sl_edge_group *pair,
                        size_t count)
{
    int room = width() - LINE_NUMBERS - 6 + COUNT_COLUMNS;
    struct sl_edge_waits rest = {0, 0, 0, 0};
    char name[WIDTH_MOST + 1];
    size_t rows = count == SOURCE_ROWS + 1 ? count : SOURCE_ROWS;

    for (size_t i = 0; i < count; i++) {
        if (i < rows)
            put_source(f, shortened(name, room, r->names, pair[i].source, "?"), &pair[i].waits,
                       r->steps);
        else
            sl_edge_waits_add(&rest, &pair[i].waits);
    }
    if (!rest.count)
        return;
    snprintf(name, sizeof(name), "%zu others", count - rows);
    put_source(f, name, &rest, r->steps);
}

int sl_edges_print_lines(FILE *f, const struct sl_edges_result *r, size_t rows, const char *title)
{
    struct sl_edge_waits rest = sl_edge_summary_totals(r->cpu)->rest[SL_EDGE_BY_LINE], all;
    const struct sl_edge_group *pair;
    size_t pairs = sl_edge_summary_sort(r->cpu, SL_EDGE_BY_LINE, &pair), lines = 0;
    char line[WIDTH_MOST + 1];

    /* No wait has a source line, so the table would be of no use. */
    if (pairs == 0 || (sl_edge_summary_name(pair, pairs, &all) == pairs && pair->name == 0))
        return 0;
    fprintf(f, "%-*s  %13s  %10s  %10s  %10s\n", width() - LINE_NUMBERS + 2, title, "waits/calls",
            "total", r->steps ? "per step" : "", "longest");
    for (size_t i = 0, same; i < pairs; i += same) {
        same = sl_edge_summary_name(&pair[i], pairs - i, &all);
        if (lines++ >= (rows ? rows : LINE_ROWS)) {
            sl_edge_waits_add(&rest, &all);
            continue;
        }
        put_line_row(
            f, shortened_line(line, width() - LINE_NUMBERS, line_text(r->names, pair[i].name)),
            &all, sl_edge_summary_calls(r->cpu, pair[i].name), r->steps);
        put_sources(f, r, &pair[i], same);
    }
    if (rest.count)
        put_line_row(f, "(all others)", &rest, 0, r->steps);
    return 1;
}

/* ---- summary ---- */

static void put_longest(FILE *f, const struct sl_edges_result *r, struct sl_edge_summary *s,
                        const char *title, size_t rows, const struct sl_edges_part *files)
{
    int room = width() - EDGE_COLUMNS;
    size_t count = sl_edge_summary_longest(s);

    if (!count)
        return;
    fprintf(f, "\n%s\n%12s  %10s  %-14s  %s\n", title, "at (seconds)", "waited", "kind",
            "who waited, for what");
    for (size_t i = 0; i < count && i < rows; i++) {
        const struct sl_edge_long *wait = sl_edge_summary_long(s, i);
        const struct sl_edge_where *where = &wait->where;
        char at[SL_FORMAT_SIZE], ns[SL_FORMAT_SIZE], who[WIDTH_MOST + 1], what[WIDTH_MOST + 1];

        if (where->line)
            shortened_line(who, room, line_text(r->names, where->line));
        else
            shortened(who, room, r->names,
                      where->place && !wait->edge.at_start ? where->place : where->who, "?");
        fprintf(f, "%12s  %10s  %-14s  %s\n", seconds(at, where),
                sl_format_span(ns, wait->edge.wait_ns),
                sl_edge_kind_name((enum sl_edge_kind)wait->edge.kind), who);
        fprintf(f, "%*sfor %s\n", EDGE_COLUMNS, "",
                shortened(what, room - 4, r->names, where->spent_on, "?"));
        if (files)
            sl_edges_print_file(f, files[where->file].path);
    }
}

void sl_edges_print_summary_text(FILE *f, const struct sl_edges_result *r, size_t rows,
                                 const struct sl_edges_part *files)
{
    const struct sl_edge_totals *cpu = sl_edge_summary_totals(r->cpu);
    const struct sl_edge_totals *gpu = sl_edge_summary_totals(r->gpu);
    size_t group_rows = rows ? rows : GROUP_ROWS;

    if (!cpu->all.count)
        fputs("No call waited for the GPU.\n", f);
    else
        sl_edges_print_lines(f, r, rows, "the CPU waited at");
    if (cpu->all.count) {
        put_kinds(f, cpu, "CPU waits by kind");
        put_table(f, r, r->cpu, SL_EDGE_BY_SOURCE, "CPU waits by what was waited for", "(unknown)",
                  group_rows);
        put_table(f, r, r->cpu, SL_EDGE_BY_PLACE, "CPU waits by operator or range", "(none)",
                  group_rows);
        put_table(f, r, r->cpu, SL_EDGE_BY_STEP, "CPU waits by step", "(outside steps)",
                  group_rows);
        put_longest(f, r, r->cpu, "longest CPU waits", group_rows, files);
    }
    if (!gpu->all.count)
        return;
    put_kinds(f, gpu, "GPU operations that waited for others, by kind");
    put_table(f, r, r->gpu, SL_EDGE_BY_SOURCE, "GPU waits by what was waited for", "(unknown)",
              group_rows);
    put_table(f, r, r->gpu, SL_EDGE_BY_PLACE, "GPU waits by operator or range of the launch",
              "(none)", group_rows);
    put_table(f, r, r->gpu, SL_EDGE_BY_STEP, "GPU waits by step", "(outside steps)", group_rows);
    put_longest(f, r, r->gpu, "longest GPU waits", rows ? rows : GROUP_ROWS / 2, files);
}

/* ---- several files ---- */

static void put_part(FILE *f, const char *rank, const char *name, const struct sl_edges_part *p)
{
    int room = width() - 65;
    char text[WIDTH_MOST + 1], count[SL_FORMAT_SIZE], cpu[SL_FORMAT_SIZE], each[SL_FORMAT_SIZE];
    char gpu[SL_FORMAT_SIZE], nccl[SL_FORMAT_SIZE];

    fprintf(f, "%4s  ", rank);
    put_column(f, shortened_path(text, room, name), room);
    fprintf(f, "  %9s  %10s  %10s", sl_format_count(count, p->cpu.count),
            span(cpu, p->cpu.total_ns), p->steps ? span(each, p->cpu.in_steps_ns / p->steps) : "-");
    fprintf(f, "  %10s  %10s\n", span(gpu, p->gpu.total_ns), span(nccl, p->collectives_ns));
}

void sl_edges_print_parts(FILE *f, const struct sl_edges_part *parts, size_t count)
{
    struct sl_edges_part all = {.path = NULL};
    int room = width() - 65;
    char rank[24];

    fprintf(f, "%4s  %-*s  %9s  %10s  %10s  %10s  %10s\n", "rank", room, "file", "CPU waits",
            "CPU waited", "per step", "GPU waited", "in NCCL");
    for (size_t i = 0; i < count; i++) {
        const struct sl_edges_part *p = &parts[i];

        snprintf(rank, sizeof(rank), "%" PRId64, p->rank);
        put_part(f, p->has_rank ? rank : "-", p->path, p);
        sl_edge_waits_add(&all.cpu, &p->cpu);
        sl_edge_waits_add(&all.gpu, &p->gpu);
        all.steps += p->steps;
        all.collectives_ns += p->collectives_ns;
    }
    put_part(f, "all", "", &all);
}
