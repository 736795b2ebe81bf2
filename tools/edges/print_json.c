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
static void put_name(FILE *f, const char *before, const char *key, const struct sl_intern *names,
                     uint32_t id)
{
    size_t size;
    const char *name = sl_intern_get(names, id, &size);

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

/* Writes the thread's id as the file has it. */
static void put_thread(FILE *f, const struct sl_trace_events *t, uint32_t thread)
{
    if (thread)
        fprintf(f, ",\"dst_thread\":%" PRId64, sl_thread_ids_get(&t->threads, thread));
    else
        fputs(",\"dst_thread\":null", f);
}

/* Writes a time as the rows of the file have it, in microseconds. */
static void put_time(FILE *f, uint64_t ns)
{
    if (!ns) {
        fputs(",\"ts\":null", f);
        return;
    }
    /* A wrong file may have times before its origin. */
    ns = ns > SL_TRACE_EVENTS_ORIGIN_NS ? ns - SL_TRACE_EVENTS_ORIGIN_NS : 0;
    fprintf(f, ",\"ts\":%" PRIu64 ".%03" PRIu64, ns / 1000, ns % 1000);
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
                         const struct sl_edge *edge, const struct sl_edge_where *where)
{
    const struct sl_edge_op *src = &edge->source;
    uint32_t name = edge->at_start ? edge->dst_op.name : edge->dst_name;

    put_path(f, path);
    fprintf(f, "\"kind\":\"%s\"", sl_edge_kind_name((enum sl_edge_kind)edge->kind));
    put_number(f, "src_correlation", src->correlation != 0,
               sl_trace_events_correlation(t, src->correlation));
    put_name(f, ",", "src_name", t->names, src->name);
    put_number(f, "src_stream", src->stream != SL_STREAM_NONE, src->stream);
    put_number(f, "src_device", src->device != SL_DEVICE_NONE, src->device);
    put_number(f, "dst_correlation", edge->dst_correlation != 0,
               sl_trace_events_correlation(t, edge->dst_correlation));
    put_name(f, ",", "dst_name", t->names, name);
    fprintf(f, ",\"dst_point\":\"%s\"", edge->at_start ? "start" : "end");
    put_thread(f, t, edge->dst_thread);
    put_number(f, "dst_stream", edge->at_start && edge->dst_op.stream != SL_STREAM_NONE,
               edge->dst_op.stream);
    put_number(f, "wait_ns", 1, edge->wait_ns);
    put_number(f, "wake_ns", 1, edge->wake_ns);
    fprintf(f, ",\"released\":%s,\"basis\":\"%s\"", edge->released ? "true" : "false",
            sl_edge_basis_name((enum sl_edge_basis)edge->basis));
    put_name(f, ",", "dst_thread_name", t->names,
             edge->dst_thread
                 ? sl_trace_events_thread_name(t, sl_thread_ids_get(&t->threads, edge->dst_thread))
                 : 0);
    put_name(f, ",", "place", t->names, where->place);
    put_name(f, ",", "line", t->names, where->line);
    put_name(f, ",", "step", t->names, where->step);
    put_time(f, where->at_ns);
    fputs("}\n", f);
}

static void put_waits(FILE *f, const struct sl_edge_waits *w)
{
    fprintf(f, "\"waits\":%" PRIu64 ",\"total_ns\":%" PRIu64 ",\"longest_ns\":%" PRIu64, w->count,
            w->total_ns, w->longest_ns);
}

/* Writes `comma`, then a group as {"name":NAME,"waits":... */
static void put_group(FILE *f, const char *comma, const struct sl_intern *names, uint32_t name,
                      const struct sl_edge_waits *w)
{
    fputs(comma, f);
    put_name(f, "{", "name", names, name);
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

static void put_table(FILE *f, const struct sl_intern *names, struct sl_edge_summary *s,
                      enum sl_edge_table table, const char *key)
{
    const struct sl_edge_group *group;
    size_t count = sl_edge_summary_sort(s, table, &group);

    fprintf(f, ",\"by_%s\":[", key);
    for (size_t i = 0; i < count; i++) {
        put_group(f, i ? "," : "", names, group[i].name, &group[i].waits);
        fputc('}', f);
    }
    put_rest(f, key, &sl_edge_summary_totals(s)->rest[table]);
}

static void put_lines(FILE *f, const struct sl_edges_result *r)
{
    const struct sl_edge_group *group;
    size_t count = sl_edge_summary_sort(r->cpu, SL_EDGE_BY_LINE, &group);
    struct sl_edge_waits all;

    fprintf(f, ",\"steps\":%" PRIu64 ",\"by_line\":[", r->steps);
    for (size_t i = 0, same; i < count; i += same) {
        same = sl_edge_summary_name(&group[i], count - i, &all);
        put_group(f, i ? "," : "", r->names, group[i].name, &all);
        put_number(f, "calls", 1, sl_edge_summary_calls(r->cpu, group[i].name));
        put_number(f, "per_step_ns", r->steps != 0, r->steps ? all.in_steps_ns / r->steps : 0);
        fputs(",\"sources\":[", f);
        for (size_t j = i; j < i + same; j++) {
            put_group(f, j > i ? "," : "", r->names, group[j].source, &group[j].waits);
            fputc('}', f);
        }
        fputs("]}", f);
    }
    put_rest(f, "line", &sl_edge_summary_totals(r->cpu)->rest[SL_EDGE_BY_LINE]);
}

static void put_longest(FILE *f, const struct sl_edges_result *r, struct sl_edge_summary *s)
{
    size_t count = sl_edge_summary_longest(s);

    fputs(",\"longest\":[", f);
    for (size_t i = 0; i < count; i++) {
        const struct sl_edge *edge = &sl_edge_summary_long(s, i)->edge;
        const struct sl_edge_where *where = &sl_edge_summary_long(s, i)->where;

        fprintf(f, "%s{\"kind\":\"%s\"", i ? "," : "",
                sl_edge_kind_name((enum sl_edge_kind)edge->kind));
        put_number(f, "wait_ns", 1, edge->wait_ns);
        put_number(f, "src_correlation", edge->source.correlation != 0, edge->source.correlation);
        put_name(f, ",", "src_name", r->names, edge->source.name);
        put_name(f, ",", "spent_on", r->names, where->spent_on);
        put_number(f, "dst_correlation", edge->dst_correlation != 0, edge->dst_correlation);
        put_name(f, ",", "dst_name", r->names, where->who);
        put_name(f, ",", "place", r->names, where->place);
        put_name(f, ",", "line", r->names, where->line);
        put_name(f, ",", "step", r->names, where->step);
        put_time(f, where->at_ns);
        fputc('}', f);
    }
    fputc(']', f);
}

static void put_totals(FILE *f, const struct sl_edge_totals *totals)
{
    const char *comma = "";

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
}

static void put_tables(FILE *f, const struct sl_edges_result *r, struct sl_edge_summary *s)
{
    put_table(f, r->names, s, SL_EDGE_BY_SOURCE, "source");
    put_table(f, r->names, s, SL_EDGE_BY_PLACE, "place");
    put_table(f, r->names, s, SL_EDGE_BY_STEP, "step");
    put_longest(f, r, s);
}

void sl_edges_print_summary_json(FILE *f, const struct sl_edges_part *part,
                                 const struct sl_edges_result *r)
{
    put_path(f, part ? part->path : NULL);
    if (part) {
        fputs(part->path ? "\"rank\":" : "\"file\":null,\"slowest_rank\":", f);
        fprintf(f, part->has_rank ? "%" PRId64 "," : "null,", part->rank);
    }
    if (part && part->path)
        fprintf(f, "\"nccl_ns\":%" PRIu64 ",", part->collectives_ns);
    put_totals(f, sl_edge_summary_totals(r->cpu));
    put_lines(f, r);
    put_tables(f, r, r->cpu);
    fputs(",\"gpu\":{", f);
    put_totals(f, sl_edge_summary_totals(r->gpu));
    put_tables(f, r, r->gpu);
    fputs("},\"left_out\":{", f);
    for (int i = 0; i < SL_EDGE_LOST_COUNT; i++)
        fprintf(f, "%s\"%s\":%" PRIu64, i ? "," : "", sl_edge_loss_name((enum sl_edge_loss)i),
                r->lost[i]);
    fputs("}}\n", f);
}
