/*
 * print_json.c - prints edges and their summary as JSON.
 *
 * Threads, memory: see print.h.
 */
#include <inttypes.h>
#include <limits.h>
#include <string.h>

#include "base/json.h"
#include "edges/print.h"

/* Writes a member after the text `before`, which is a comma or the opening of an object. */
static void put_name(FILE *f, const char *before, const char *key, const struct sl_trace_events *t,
                     uint32_t id)
{
    size_t size;
    const char *name = sl_intern_get(t->names, id, &size);

    fprintf(f, "%s\"%s\":", before, key);
    if (name)
        fprintf(f, "\"%.*s\"", (int)size, name);
    else
        fputs("null", f);
}

static void put_number(FILE *f, const char *key, int known, uint64_t value)
{
    if (known)
        fprintf(f, ",\"%s\":%" PRIu64, key, value);
    else
        fprintf(f, ",\"%s\":null", key);
}

static void put_thread(FILE *f, const char *key, const struct sl_trace_events *t, uint32_t thread)
{
    if (thread)
        fprintf(f, ",\"%s\":%" PRId64, key, sl_thread_ids_get(&t->threads, thread));
    else
        fprintf(f, ",\"%s\":null", key);
}

/* Opens an object whose first member is the trace's path. */
static void put_path(FILE *f, const char *path)
{
    char text[PATH_MAX * SL_JSON_ESCAPE_MAX + 1];

    fputc('{', f);
    if (!path)
        return;
    *sl_json_escape(text, path, strnlen(path, PATH_MAX)) = '\0';
    fprintf(f, "\"file\":\"%s\",", text);
}

void sl_edges_print_json(FILE *f, const char *path, const struct sl_trace_events *t,
                         const struct sl_edge *edge)
{
    const struct sl_edge_op *src = &edge->source;
    uint32_t name = edge->at_start ? edge->dst_op.name : edge->dst_name;

    put_path(f, path);
    fprintf(f, "\"kind\":\"%s\"", sl_edge_kind_name((enum sl_edge_kind)edge->kind));
    put_number(f, "src_correlation", src->correlation != 0,
               sl_trace_events_correlation(t, src->correlation));
    put_name(f, ",", "src_name", t, src->name);
    put_number(f, "src_stream", src->stream != SL_STREAM_NONE, src->stream);
    put_number(f, "src_device", src->device != SL_DEVICE_NONE, src->device);
    put_number(f, "dst_correlation", edge->dst_correlation != 0,
               sl_trace_events_correlation(t, edge->dst_correlation));
    put_name(f, ",", "dst_name", t, name);
    fprintf(f, ",\"dst_point\":\"%s\"", edge->at_start ? "start" : "end");
    put_thread(f, "dst_thread", t, edge->dst_thread);
    put_number(f, "dst_stream", edge->at_start && edge->dst_op.stream != SL_STREAM_NONE,
               edge->dst_op.stream);
    put_number(f, "wait_ns", 1, edge->wait_ns);
    put_number(f, "wake_ns", 1, edge->wake_ns);
    fprintf(f, ",\"released\":%s,\"basis\":\"%s\"}\n", edge->released ? "true" : "false",
            sl_edge_basis_name((enum sl_edge_basis)edge->basis));
}

static void put_waits(FILE *f, const struct sl_edge_waits *w)
{
    fprintf(f, "\"waits\":%" PRIu64 ",\"total_ns\":%" PRIu64 ",\"longest_ns\":%" PRIu64, w->count,
            w->total_ns, w->longest_ns);
}

/* Writes `comma`, then a group as {"name":NAME,"waits":... */
static void put_group(FILE *f, const char *comma, const struct sl_trace_events *t, uint32_t name,
                      const struct sl_edge_waits *w)
{
    fputs(comma, f);
    put_name(f, "{", "name", t, name);
    fputc(',', f);
    put_waits(f, w);
}

static void put_rest(FILE *f, const char *key, const struct sl_edge_waits *rest)
{
    fputc(']', f);
    if (!rest->count)
        return;
    fprintf(f, ",\"by_%s_rest\":{", key);
    put_waits(f, rest);
    fputc('}', f);
}

static void put_table(FILE *f, const struct sl_trace_events *t, struct sl_edge_summary *s,
                      enum sl_edge_table table, const char *key)
{
    const struct sl_edge_group *group;
    size_t count = sl_edge_summary_sort(s, table, &group);

    fprintf(f, ",\"by_%s\":[", key);
    for (size_t i = 0; i < count; i++) {
        put_group(f, i ? "," : "", t, group[i].name, &group[i].waits);
        fputc('}', f);
    }
    put_rest(f, key, &sl_edge_summary_totals(s)->rest[table]);
}

static void put_lines(FILE *f, const struct sl_trace_events *t, struct sl_edge_summary *s)
{
    size_t steps = t->steps;
    const struct sl_edge_group *group;
    size_t count = sl_edge_summary_sort(s, SL_EDGE_BY_LINE, &group);
    struct sl_edge_waits all;

    fprintf(f, ",\"steps\":%zu,\"by_line\":[", steps);
    for (size_t i = 0, same; i < count; i += same) {
        same = sl_edge_summary_name(&group[i], count - i, &all);
        put_group(f, i ? "," : "", t, group[i].name, &all);
        put_number(f, "per_step_ns", steps != 0, steps ? all.in_steps_ns / steps : 0);
        fputs(",\"sources\":[", f);
        for (size_t j = i; j < i + same; j++) {
            put_group(f, j > i ? "," : "", t, group[j].source, &group[j].waits);
            fputc('}', f);
        }
        fputs("]}", f);
    }
    put_rest(f, "line", &sl_edge_summary_totals(s)->rest[SL_EDGE_BY_LINE]);
}

static void put_longest(FILE *f, const struct sl_trace_events *t,
                        const struct sl_edge_totals *totals)
{
    fputs(",\"longest\":[", f);
    for (size_t i = 0; i < totals->longest_count; i++) {
        const struct sl_edge *edge = &totals->longest[i].edge;
        const struct sl_edge_where *where = &totals->longest[i].where;

        fprintf(f, "%s{\"kind\":\"%s\"", i ? "," : "",
                sl_edge_kind_name((enum sl_edge_kind)edge->kind));
        put_number(f, "wait_ns", 1, edge->wait_ns);
        put_number(f, "src_correlation", edge->source.correlation != 0,
                   sl_trace_events_correlation(t, edge->source.correlation));
        put_name(f, ",", "src_name", t, edge->source.name);
        put_name(f, ",", "spent_on", t, where->spent_on);
        put_number(f, "dst_correlation", edge->dst_correlation != 0,
                   sl_trace_events_correlation(t, edge->dst_correlation));
        put_name(f, ",", "dst_name", t, where->who);
        put_name(f, ",", "place", t, where->place);
        put_name(f, ",", "line", t, where->line);
        put_name(f, ",", "step", t, where->step);
        fputc('}', f);
    }
    fputc(']', f);
}

void sl_edges_print_summary_json(FILE *f, const char *path, const struct sl_trace_events *t,
                                 struct sl_edge_summary *s, const uint64_t *lost)
{
    const struct sl_edge_totals *totals = sl_edge_summary_totals(s);
    const char *comma = "";

    put_path(f, path);
    put_waits(f, &totals->all);
    fputs(",\"by_kind\":[", f);
    for (int i = 0; i < SL_EDGE_KIND_COUNT; i++) {
        const struct sl_edge_waits *w = &totals->kind[i];

        if (!w->count)
            continue;
        fprintf(f, "%s{\"name\":\"%s\",", comma, sl_edge_kind_name((enum sl_edge_kind)i));
        put_waits(f, w);
        fputc('}', f);
        comma = ",";
    }
    fputc(']', f);
    put_lines(f, t, s);
    put_table(f, t, s, SL_EDGE_BY_SOURCE, "source");
    put_table(f, t, s, SL_EDGE_BY_PLACE, "place");
    put_table(f, t, s, SL_EDGE_BY_STEP, "step");
    put_longest(f, t, totals);
    fputs(",\"left_out\":{", f);
    for (int i = 0; i < SL_EDGE_LOST_COUNT; i++)
        fprintf(f, "%s\"%s\":%" PRIu64, i ? "," : "", sl_edge_loss_name((enum sl_edge_loss)i),
                lost[i]);
    fputs("}}\n", f);
}
