/*
 * print_json.c - prints a critical path as JSON, in the schema of docs/critical-path.schema.json.
 *
 * Threads, memory: see print.h.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "critical/print.h"
#include "report/print.h"
#include "report/screen.h"

#define SCHEMA 1

static void put_name(FILE *f, const struct sl_critical_view *view, uint32_t id)
{
    const char *name = id ? sl_intern_get(view->path->all->names, id, NULL) : NULL;

    if (name)
        sl_report_json_text(f, name);
    else
        fputs("null", f);
}

static void put_chosen(FILE *f, const struct sl_critical_view *view)
{
    static const char *const what[] = {"step", "range", "all"};
    const struct sl_critical_window *w = &view->path->window;

    fprintf(f,
            ", \"chosen\": {\"what\": \"%s\", \"number\": %" PRIu64 ", \"name\": ", what[w->what],
            w->number);
    put_name(f, view, w->name);
    fprintf(f,
            ", \"is_median\": %s, \"candidates\": %zu, \"begin_ns\": %" PRIu64
            ", \"end_ns\": %" PRIu64 "}",
            w->is_middle ? "true" : "false", w->candidates, w->begin_ns - SL_REPORT_ORIGIN_NS,
            w->end_ns - SL_REPORT_ORIGIN_NS);
}

static void put_parts(FILE *f, const struct sl_critical *c)
{
    fputs("{", f);
    for (int kind = 0; kind < SL_CRITICAL_KINDS; kind++)
        fprintf(f, "%s\"%s_ns\": %" PRIu64, kind ? ", " : "",
                sl_critical_kind_name((enum sl_critical_kind)kind), c->kind_ns[kind]);
    fputs("}", f);
}

static void put_scaled(FILE *f, const struct sl_critical_view *view)
{
    fputs(", \"scaled\": ", f);
    if (!view->scaled) {
        fputs("null", f);
        return;
    }
    fprintf(f, "{\"total_ns\": %" PRIu64 ", \"parts\": ", view->scaled->total_ns);
    put_parts(f, view->scaled);
    fputs(", \"scales\": [", f);
    for (size_t i = 0; i < view->options->scales; i++) {
        const struct sl_critical_scale *s = &view->options->scale[i];
        char *name = strndup(s->name, s->size);

        fprintf(f, "%s{\"name\": ", i ? ", " : "");
        sl_report_json_text(f, name ? name : "");
        fprintf(f,
                ", \"factor\": %.9g, \"gpu_operations\": %" PRIu64 ", \"operators\": %" PRIu64 "}",
                s->factor, s->ops, s->operators);
        free(name);
    }
    fputs("]}", f);
}

static void put_path(FILE *f, const struct sl_critical_view *view)
{
    const struct sl_critical_runs *runs = view->runs;

    fputs(", \"path\": [", f);
    for (size_t i = 0; i < runs->runs; i++) {
        const struct sl_critical_run *run = &runs->run[i];
        int is_gpu = run->cause == SL_CAUSE_GPU || run->cause == SL_CAUSE_COMMUNICATION;

        fprintf(f,
                "%s\n {\"cause\": \"%s\", \"begin_ns\": %" PRIu64 ", \"end_ns\": %" PRIu64
                ", \"time_ns\": %" PRIu64 ", \"pieces\": %zu, \"kind\": \"%s\", \"name\": ",
                i ? "," : "", sl_critical_cause_name((enum sl_critical_cause)run->cause),
                run->begin_ns - SL_REPORT_ORIGIN_NS, run->end_ns - SL_REPORT_ORIGIN_NS, run->ns,
                run->pieces, sl_critical_kind_name((enum sl_critical_kind)run->kind));
        put_name(f, view, run->name);
        fprintf(f, ", \"name_time_ns\": %" PRIu64 ", \"line\": ", run->name_ns);
        put_name(f, view, run->line);
        if (is_gpu)
            fprintf(f, ", \"stream\": %" PRIu32 "}", run->lane);
        else
            fputs(", \"stream\": null}", f);
    }
    fputs("]", f);
}

static void put_names(FILE *f, const struct sl_critical_view *view)
{
    const struct sl_critical_runs *runs = view->runs;

    fputs(", \"names\": [", f);
    for (size_t i = 0; i < runs->names; i++) {
        const struct sl_critical_name *name = &runs->name[i];

        fprintf(f,
                "%s\n {\"kind\": \"%s\", \"time_ns\": %" PRIu64 ", \"pieces\": %" PRIu64
                ", \"name\": ",
                i ? "," : "", sl_critical_kind_name((enum sl_critical_kind)name->kind), name->ns,
                name->pieces);
        put_name(f, view, name->name);
        fputs("}", f);
    }
    fputs("]", f);
}

static void put_notes(FILE *f, const struct sl_critical_view *view)
{
    struct sl_piece notes;
    const char *separator = "";

    fputs(", \"notes\": [", f);
    if (sl_piece_begin(&notes))
        sl_critical_print_notes(notes.f, view);
    sl_piece_end(&notes);
    for (char *line = notes.text, *next; line && (next = strchr(line, '\n')) != NULL;
         line = next + 1) {
        *next = '\0';
        fputs(separator, f);
        sl_report_json_text(f, line);
        separator = ", ";
    }
    free(notes.text);
    fputs("]", f);
}

void sl_critical_print_json(FILE *f, const struct sl_critical_view *view)
{
    const struct sl_critical *c = view->path;

    fprintf(f, "{\"schema\": %d, \"syncline\": \"%s\", \"input\": ", SCHEMA, SL_VERSION);
    sl_report_json_input(f, c->recording);
    fprintf(f, ", \"weights\": \"%s\"", view->options->hta ? "hta" : "syncline");
    put_chosen(f, view);
    fprintf(f, ", \"total_ns\": %" PRIu64 ", \"last_gpu_ns\": ", c->total_ns);
    if (c->last_gpu_ns)
        fprintf(f, "%" PRIu64, c->last_gpu_ns - SL_REPORT_ORIGIN_NS);
    else
        fputs("null", f);
    fprintf(f, ", \"gpu_operations\": %zu, \"cpu_events\": %zu, \"sync_edges\": %zu, \"parts\": ",
            c->ops, c->cpus, c->sync_edges);
    put_parts(f, c);
    put_scaled(f, view);
    put_path(f, view);
    put_names(f, view);
    put_notes(f, view);
    fputs("}\n", f);
}
