/*
 * print_text.c - prints edges and their summary as text.
 *
 * Threads, memory: see print.h.
 */
#include <inttypes.h>
#include <string.h>

#include "edges/print.h"
#include "print/format.h"
#include "print/short_name.h"

#define NAME_WIDTH 64
#define LINE_WIDTH 58
#define GROUP_ROWS 10u
#define LINE_ROWS  20u

static char *shortened(char *to, const struct sl_trace_events *t, uint32_t id, const char *unknown)
{
    size_t size;
    const char *name = sl_intern_get(t->names, id, &size);

    return name ? sl_short_name(to, NAME_WIDTH, name, size)
                : sl_short_name(to, NAME_WIDTH, unknown, strlen(unknown));
}

/* Formats a source line in at most LINE_WIDTH bytes by omitting the beginning of the path. */
static char *shortened_line(char *to, const struct sl_trace_events *t, uint32_t id)
{
    size_t size;
    const char *name = sl_intern_get(t->names, id, &size), *from = name;

    if (!name || size <= LINE_WIDTH) {
        snprintf(to, LINE_WIDTH + 1, "%s", name ? name : "(no line known)");
        return to;
    }
    from += size - (LINE_WIDTH - 3);
    while (((unsigned char)*from & 0xc0) == 0x80)
        from++;
    snprintf(to, LINE_WIDTH + 1, "...%s", from);
    return to;
}

/* Formats device and stream, such as "0/7". */
static const char *stream_of(char *to, size_t size, const struct sl_edge_op *op)
{
    if (op->device == SL_DEVICE_NONE)
        snprintf(to, size, "?/%" PRIu32, op->stream);
    else
        snprintf(to, size, "%u/%" PRIu32, op->device, op->stream);
    return to;
}

void sl_edges_print_title(FILE *f)
{
    fprintf(f, "%12s  %13s  %-14s  %-11s  %14s  %-*s  %s\n", "waited", "wake-up delay", "kind",
            "basis", "device, stream", NAME_WIDTH, "waits for", "who waits");
}

void sl_edges_print_text(FILE *f, const struct sl_trace_events *t, const struct sl_edge *edge)
{
    const struct sl_trace_call *call = sl_trace_events_call(t, edge->dst_correlation);
    char wait[SL_FORMAT_SIZE], wake[SL_FORMAT_SIZE], stream[32];
    char source[NAME_WIDTH + 1], name[NAME_WIDTH + 1], place[NAME_WIDTH + 1];
    char line[LINE_WIDTH + 1];

    fprintf(f, "%12s  %13s  %-14s  %-11s  %14s  %-*s  ", sl_format_span(wait, edge->wait_ns),
            sl_format_span(wake, edge->wake_ns), sl_edge_kind_name((enum sl_edge_kind)edge->kind),
            sl_edge_basis_name((enum sl_edge_basis)edge->basis),
            stream_of(stream, sizeof(stream), &edge->source), NAME_WIDTH,
            shortened(source, t, edge->source.name, "?"));
    if (edge->at_start)
        fprintf(f, "%s on stream %s\n", shortened(name, t, edge->dst_op.name, "?"),
                stream_of(stream, sizeof(stream), &edge->dst_op));
    else
        fprintf(f, "%s%s%s%s%s\n", shortened(name, t, edge->dst_name, "?"),
                call && call->place ? " in " : "",
                call && call->place ? shortened(place, t, call->place, "") : "",
                call && call->line ? " at " : "",
                call && call->line ? shortened_line(line, t, call->line) : "");
}

static void put_row(FILE *f, const char *name, const struct sl_edge_waits *w)
{
    char count[SL_FORMAT_SIZE], total[SL_FORMAT_SIZE], longest[SL_FORMAT_SIZE];

    fprintf(f, "  %-*s  %10s  %12s  %12s\n", NAME_WIDTH, name, sl_format_count(count, w->count),
            sl_format_span(total, w->total_ns), sl_format_span(longest, w->longest_ns));
}

static void put_head(FILE *f, const char *title)
{
    fprintf(f, "\n%-*s  %10s  %12s  %12s\n", NAME_WIDTH + 2, title, "waits", "total", "longest");
}

static void put_table(FILE *f, const struct sl_trace_events *t, struct sl_edge_summary *s,
                      enum sl_edge_table table, const char *title, const char *unknown)
{
    struct sl_edge_waits rest = sl_edge_summary_totals(s)->rest[table];
    const struct sl_edge_group *group;
    size_t count = sl_edge_summary_sort(s, table, &group);
    char name[NAME_WIDTH + 1];

    /* No group has a name, so the table would be of no use. */
    if (count == 0 || (count == 1 && group[0].name == 0 && rest.count == 0))
        return;
    put_head(f, title);
    for (size_t i = 0; i < count; i++) {
        const struct sl_edge_waits *w = &group[i].waits;

        if (i < GROUP_ROWS) {
            put_row(f, shortened(name, t, group[i].name, unknown), w);
            continue;
        }
        sl_edge_waits_add(&rest, w);
    }
    if (rest.count)
        put_row(f, "(all others)", &rest);
}

static void put_line_row(FILE *f, const char *line, const char *source,
                         const struct sl_edge_waits *w, size_t steps)
{
    char count[SL_FORMAT_SIZE], total[SL_FORMAT_SIZE], each[SL_FORMAT_SIZE];
    char longest[SL_FORMAT_SIZE];

    fprintf(f, "  %-*s  %10s  %12s  %12s  %12s  %s\n", LINE_WIDTH, line,
            sl_format_count(count, w->count), sl_format_span(total, w->total_ns),
            steps ? sl_format_span(each, w->in_steps_ns / steps) : "",
            sl_format_span(longest, w->longest_ns), source);
}

/* Prints the lines of code that make the CPU wait, and the operations that these lines mostly wait
 * for. */
static void put_lines(FILE *f, const struct sl_trace_events *t, struct sl_edge_summary *s)
{
    struct sl_edge_waits rest = sl_edge_summary_totals(s)->rest[SL_EDGE_BY_LINE], all;
    size_t steps = t->steps, rows = 0;
    const struct sl_edge_group *pair;
    size_t pairs = sl_edge_summary_sort(s, SL_EDGE_BY_LINE, &pair);
    char line[LINE_WIDTH + 1], source[NAME_WIDTH + 1], others[NAME_WIDTH + 32];

    /* No wait has a source line, so the table would be of no use. */
    if (pairs == 0 || (sl_edge_summary_name(pair, pairs, &all) == pairs && pair->name == 0))
        return;
    fprintf(f, "%-*s  %10s  %12s  %12s  %12s  %s\n", LINE_WIDTH + 2, "the CPU waited at", "waits",
            "total", steps ? "per step" : "", "longest", "mostly for");
    for (size_t i = 0, same; i < pairs; i += same) {
        same = sl_edge_summary_name(&pair[i], pairs - i, &all);
        if (rows++ >= LINE_ROWS) {
            sl_edge_waits_add(&rest, &all);
            continue;
        }
        shortened(source, t, pair[i].source, "?");
        snprintf(others, sizeof(others), same > 1 ? "%s and %zu more" : "%s", source, same - 1);
        put_line_row(f, shortened_line(line, t, pair[i].name), others, &all, steps);
    }
    if (rest.count)
        put_line_row(f, "(all others)", "", &rest, steps);
}

static void put_longest(FILE *f, const struct sl_trace_events *t,
                        const struct sl_edge_totals *totals)
{
    char wait[SL_FORMAT_SIZE], source[NAME_WIDTH + 1], place[NAME_WIDTH + 1];
    char line[LINE_WIDTH + 1];

    fprintf(f, "\n%-14s  %12s  %-*s  %s\n", "longest waits", "waited", NAME_WIDTH, "waited for",
            "where");
    for (size_t i = 0; i < totals->longest_count; i++) {
        const struct sl_edge *edge = &totals->longest[i].edge;
        const struct sl_edge_where *where = &totals->longest[i].where;

        fprintf(f, "  %-12s  %12s  %-*s  %s\n", sl_edge_kind_name((enum sl_edge_kind)edge->kind),
                sl_format_span(wait, edge->wait_ns), NAME_WIDTH,
                shortened(source, t, where->spent_on, "?"),
                where->line ? shortened_line(line, t, where->line)
                            : shortened(place, t, where->place ? where->place : where->who, "?"));
    }
}

void sl_edges_print_summary_text(FILE *f, const struct sl_trace_events *t,
                                 struct sl_edge_summary *s)
{
    const struct sl_edge_totals *totals = sl_edge_summary_totals(s);

    put_lines(f, t, s);
    put_head(f, "by kind");
    for (int i = 0; i < SL_EDGE_KIND_COUNT; i++) {
        const struct sl_edge_waits *w = &totals->kind[i];

        if (w->count)
            put_row(f, sl_edge_kind_name((enum sl_edge_kind)i), w);
    }
    put_row(f, "all", &totals->all);
    put_table(f, t, s, SL_EDGE_BY_SOURCE, "by what was waited for", "(unknown)");
    put_table(f, t, s, SL_EDGE_BY_PLACE, "by operator or range", "(none)");
    put_table(f, t, s, SL_EDGE_BY_STEP, "by step", "(outside steps)");
    put_longest(f, t, totals);
}
