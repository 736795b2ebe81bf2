/*
 * print_json.c - edges and their summary as JSON.
 *
 * Threads, memory: see print.h.
 */
#include <inttypes.h>

#include "edges/edge_lines.h"
#include "edges/print.h"

static void put_name(FILE *f, const char *key, const struct sl_trace_events *t, uint32_t id)
{
    size_t size;
    const char *name = sl_intern_get(sl_trace_events_names(t), id, &size);

    fprintf(f, "\"%s\":", key);
    if (!name) {
        fputs("null", f);
        return;
    }
    fputc('"', f);
    fwrite(name, 1, size, f);
    fputc('"', f);
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
        fprintf(f, ",\"%s\":%" PRId64, key, sl_trace_events_thread(t, thread));
    else
        fprintf(f, ",\"%s\":null", key);
}

void sl_edges_print_json(FILE *f, const struct sl_trace_events *t, const struct sl_edge *edge)
{
    const struct sl_edge_op *src = &edge->source;
    uint32_t name = edge->at_start ? edge->dst_op.name : edge->dst_name;

    fprintf(f, "{\"kind\":\"%s\"", sl_edge_kind_name((enum sl_edge_kind)edge->kind));
    put_number(f, "src_correlation", src->correlation != 0,
               sl_trace_events_correlation(t, src->correlation));
    fputc(',', f);
    put_name(f, "src_name", t, src->name);
    put_number(f, "src_stream", src->stream != SL_STREAM_NONE, src->stream);
    put_number(f, "src_device", src->device != SL_DEVICE_NONE, src->device);
    put_number(f, "dst_correlation", edge->dst_correlation != 0,
               sl_trace_events_correlation(t, edge->dst_correlation));
    fputc(',', f);
    put_name(f, "dst_name", t, name);
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

static void put_table(FILE *f, const struct sl_trace_events *t, struct sl_edge_summary *s,
                      enum sl_edge_table table, const char *key)
{
    const struct sl_edge_waits *rest = sl_edge_summary_rest(s, table);
    const struct sl_edge_group *group;
    size_t count = sl_edge_summary_sort(s, table, &group);

    fprintf(f, ",\"by_%s\":[", key);
    for (size_t i = 0; i < count; i++) {
        fputs(i ? ",{" : "{", f);
        put_name(f, "name", t, group[i].name);
        fputc(',', f);
        put_waits(f, &group[i].waits);
        fputc('}', f);
    }
    fputc(']', f);
    if (rest->count) {
        fprintf(f, ",\"by_%s_rest\":{", key);
        put_waits(f, rest);
        fputc('}', f);
    }
}

static void put_lines(FILE *f, const struct sl_trace_events *t, struct sl_edge_summary *s)
{
    struct sl_edge_lines *lines = sl_edge_summary_lines(s);
    const struct sl_edge_waits *rest = sl_edge_lines_rest(lines);
    size_t steps = sl_trace_events_steps(t);
    const struct sl_edge_line *pair;
    size_t pairs = sl_edge_lines_sort(lines, &pair);
    struct sl_edge_waits all;

    fprintf(f, ",\"steps\":%zu,\"by_line\":[", steps);
    for (size_t i = 0, same; i < pairs; i += same) {
        same = sl_edge_lines_one(&pair[i], pairs - i, &all);
        fputs(i ? ",{" : "{", f);
        put_name(f, "name", t, pair[i].line);
        fputc(',', f);
        put_waits(f, &all);
        put_number(f, "per_step_ns", steps != 0, steps ? all.in_steps_ns / steps : 0);
        fputs(",\"sources\":[", f);
        for (size_t j = i; j < i + same; j++) {
            fputs(j > i ? ",{" : "{", f);
            put_name(f, "name", t, pair[j].source);
            fputc(',', f);
            put_waits(f, &pair[j].waits);
            fputc('}', f);
        }
        fputs("]}", f);
    }
    fputc(']', f);
    if (rest->count) {
        fputs(",\"by_line_rest\":{", f);
        put_waits(f, rest);
        fputc('}', f);
    }
}

static void put_longest(FILE *f, const struct sl_trace_events *t, const struct sl_edge_summary *s)
{
    const struct sl_edge_long *longest;
    size_t count = sl_edge_summary_longest(s, &longest);

    fputs(",\"longest\":[", f);
    for (size_t i = 0; i < count; i++) {
        const struct sl_edge *edge = &longest[i].edge;

        fprintf(f, "%s{\"kind\":\"%s\"", i ? "," : "",
                sl_edge_kind_name((enum sl_edge_kind)edge->kind));
        put_number(f, "wait_ns", 1, edge->wait_ns);
        put_number(f, "src_correlation", edge->source.correlation != 0,
                   sl_trace_events_correlation(t, edge->source.correlation));
        fputc(',', f);
        put_name(f, "src_name", t, edge->source.name);
        fputc(',', f);
        put_name(f, "spent_on", t, longest[i].where.spent_on);
        put_number(f, "dst_correlation", edge->dst_correlation != 0,
                   sl_trace_events_correlation(t, edge->dst_correlation));
        fputc(',', f);
        put_name(f, "dst_name", t, longest[i].where.who);
        fputc(',', f);
        put_name(f, "place", t, longest[i].where.place);
        fputc(',', f);
        put_name(f, "line", t, longest[i].where.line);
        fputc(',', f);
        put_name(f, "step", t, longest[i].where.step);
        fputc('}', f);
    }
    fputc(']', f);
}

void sl_edges_print_summary_json(FILE *f, const struct sl_trace_events *t,
                                 struct sl_edge_summary *s, const uint64_t *lost)
{
    const char *comma = "";

    fputc('{', f);
    put_waits(f, sl_edge_summary_all(s));
    fputs(",\"by_kind\":[", f);
    for (int i = 0; i < SL_EDGE_KIND_COUNT; i++) {
        const struct sl_edge_waits *w = sl_edge_summary_kind(s, (enum sl_edge_kind)i);

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
    put_longest(f, t, s);
    fputs(",\"left_out\":{", f);
    for (int i = 0; i < SL_EDGE_LOST_COUNT; i++)
        fprintf(f, "%s\"%s\":%" PRIu64, i ? "," : "", sl_edge_loss_name((enum sl_edge_loss)i),
                lost[i]);
    fputs("}}\n", f);
}
