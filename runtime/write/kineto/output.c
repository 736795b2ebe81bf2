/*
 * output.c - writes the Kineto file of each window.
 *
 * Threads, memory: see output.h.
 */
#include "write/kineto/output.h"

#include <errno.h>
#include <stdio.h>

#include "base/pages.h"
#include "base/stats.h"

struct kineto_output {
    struct sl_kineto *kineto;
    struct sl_window_file *file; /* file of the open window; NULL if no window is open */
    /* number of rows received for the window; some of these rows may be held */
    uint64_t rows;
    uint64_t safe; /* number of rows that were on the disk after the last sync */
};

static int open_window(void *output, const struct sl_trace_meta *meta, struct sl_window_file *file)
{
    struct kineto_output *o = output;
    struct sl_trace_meta its = *meta;

    its.trace_name = file->path;
    o->file = file;
    return sl_kineto_begin(o->kineto, file->sink, &its);
}

static int take_events(void *output, const struct sl_event *ev, size_t count)
{
    struct kineto_output *o = output;

    if (o->file)
        o->rows += sl_output_count_rows(ev, count);
    return sl_kineto_events(o->kineto, ev, count);
}

static int take_edges(void *output, const struct sl_output_edges *edges)
{
    return sl_kineto_edges(((struct kineto_output *)output)->kineto, edges);
}

static int complete(void *output, const struct sl_output_progress *progress)
{
    return sl_kineto_complete(((struct kineto_output *)output)->kineto, progress);
}

static int sync_file(void *output)
{
    struct kineto_output *o = output;
    int error = sl_kineto_flush(o->kineto);

    if (!error)
        error = o->file->sink->sync(o->file->sink);
    if (!error)
        o->safe = sl_kineto_written(o->kineto);
    return error;
}

static void forget_window(struct kineto_output *o)
{
    o->file = NULL;
    o->rows = o->safe = 0;
}

static int close_window(void *output, uint64_t closed_ns)
{
    struct kineto_output *o = output;
    int error = sl_kineto_end(o->kineto, closed_ns);
    int closed = sl_window_file_close(o->file, error == 0);

    if (!error && !closed)
        forget_window(o);
    return error ? error : closed;
}

static void fail(void *output)
{
    struct kineto_output *o = output;

    sl_stats_add(SL_STAT_DROPPED_WRITE, o->rows - o->safe);
    sl_kineto_abandon(o->kineto);
    forget_window(o);
}

static void destroy(void *output)
{
    struct kineto_output *o = output;

    sl_kineto_destroy(o->kineto);
    sl_pages_unmap(o, sizeof(*o));
}

static const struct sl_output_functions functions = {
    .lost = "",
    .remedy = "",
    .open = open_window,
    .events = take_events,
    .edges = take_edges,
    .complete = complete,
    .sync = sync_file,
    .close = close_window,
    .fail = fail,
    .destroy = destroy,
};

int sl_kineto_output_create(struct sl_output *out, const struct sl_kineto_options *opt,
                            struct sl_window_file_options file)
{
    struct kineto_output *o = sl_pages_map(sizeof(*o));
    int error;

    if (!o)
        return -ENOMEM;
    error = sl_kineto_create(&o->kineto, opt);
    if (error) {
        sl_pages_unmap(o, sizeof(*o));
        return error;
    }
    snprintf(file.ending, sizeof(file.ending), ".pt.trace.json");
    *out = (struct sl_output){&functions, o, file};
    return 0;
}
