/*
 * overlay.c - writes a critical path as a row of its own, below the first rows of a trace viewer.
 *
 * Each piece of the path is a slice at the time that it had, so the row shows from left to right
 * what held the step up. The slice's args name the part of the path, and the thread or stream.
 *
 * Threads, memory: see print.h; one name.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "critical/print.h"

/* A number that no process has, because Linux's are below 2^22. */
#define PROCESS "2147480000"

struct output {
    void (*write)(void *to, const char *text, size_t size);
    void *to;
};

static void put(const struct output *o, const char *text)
{
    o->write(o->to, text, strlen(text));
}

/* Writes a time as microseconds. */
static void put_us(const struct output *o, const char *before, uint64_t ns)
{
    char text[64];

    snprintf(text, sizeof(text), "%s%" PRIu64 ".%03u", before, ns / 1000, (unsigned)(ns % 1000));
    put(o, text);
}

static int put_name(const struct output *o, const char *name)
{
    size_t size = strlen(name);
    char *escaped = malloc(size * SL_JSON_ESCAPE_MAX + 1);

    if (!escaped)
        return -ENOMEM;
    *sl_json_escape(escaped, name, size) = '\0';
    put(o, escaped);
    free(escaped);
    return 0;
}

static int put_piece(const struct output *o, const struct sl_critical *c,
                     const struct sl_graph_edge *edge)
{
    const uint64_t begin_ns = c->graph.node[edge->from].at_ns,
                   end_ns = c->graph.node[edge->to].at_ns;
    enum sl_critical_kind kind = (enum sl_critical_kind)edge->kind;
    int is_gpu = kind == SL_CRITICAL_KERNEL || kind == SL_CRITICAL_COMMUNICATION ||
                 kind == SL_CRITICAL_COPY || kind == SL_CRITICAL_QUEUE ||
                 kind == SL_CRITICAL_LAUNCH || kind == SL_CRITICAL_UNKNOWN;
    const char *name = edge->name ? sl_intern_get(c->all->names, edge->name, NULL) : NULL;
    char text[160];
    int rc;

    put(o, ",\n{\"ph\": \"X\", \"cat\": \"critical_path\", \"pid\": " PROCESS ", \"tid\": 1");
    put_us(o, ", \"ts\": ", begin_ns - SL_REPORT_ORIGIN_NS);
    put_us(o, ", \"dur\": ", end_ns - begin_ns);
    put(o, ", \"name\": \"");
    if (!name || kind == SL_CRITICAL_QUEUE || kind == SL_CRITICAL_LAUNCH) {
        put(o, sl_critical_kind_title(kind));
        put(o, name ? ": " : "");
    }
    rc = put_name(o, name ? name : "");
    snprintf(text, sizeof(text), "\", \"args\": {\"part\": \"%s\", \"%s\": %" PRIu32 "}}",
             sl_critical_kind_name(kind), is_gpu ? "on stream" : "on thread", edge->lane);
    put(o, text);
    return rc;
}

int sl_critical_overlay(const void *user, void (*write)(void *to, const char *text, size_t size),
                        void *to)
{
    const struct sl_critical_view *view = user;
    const struct output o = {write, to};
    int rc = 0;

    put(&o, ",\n{\"ph\": \"M\", \"name\": \"process_name\", \"pid\": " PROCESS
            ", \"tid\": 0, \"ts\": 0, \"args\": {\"name\": \"critical path\"}}"
            ",\n{\"ph\": \"M\", \"name\": \"process_sort_index\", \"pid\": " PROCESS
            ", \"tid\": 0, \"ts\": 0, \"args\": {\"sort_index\": -1}}"
            ",\n{\"ph\": \"M\", \"name\": \"thread_name\", \"pid\": " PROCESS
            ", \"tid\": 1, \"ts\": 0, \"args\": {\"name\": \"critical path\"}}");
    for (size_t i = 0; i < view->path->path_edges && rc == 0; i++)
        if (sl_critical_edge(view->path, i)->weight_ns)
            rc = put_piece(&o, view->path, sl_critical_edge(view->path, i));
    return rc;
}
