/*
 * window_starts.c - finds the time at which a window began on the first of a job's ranks.
 *
 * Threads, memory: see window_starts.h.
 */
#include "convert/window_starts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "read/header.h"
#include "read/trace_file.h"

/* A syncline file states the start of its window after the events. But its first row, the name of
 * the process, has that time, too. */
static int64_t start_of(const char *path)
{
    static struct sl_header h;
    struct sl_trace_item *item;
    struct sl_json_error error;
    struct sl_trace *t;
    char why[512];

    int64_t start_ns = 0;

    memset(&h, 0, sizeof(h));
    if (sl_trace_open(&t, path, why, sizeof(why)) != 0)
        return 0;
    while (sl_trace_next(t, &item) && item->span.kind != SL_SPAN_EVENT)
        if (item->span.kind == SL_SPAN_FIELD && item->status == 0)
            sl_trace_visit(t, &item->span, sl_header_value, &h, &error);
    if (h.own_file && item->span.kind == SL_SPAN_EVENT && item->status == 0)
        start_ns = h.base_ns + item->row.ts_ns;
    sl_trace_close(t);
    return start_ns;
}

int sl_window_starts_read(struct sl_window_starts *w, char *const *path, size_t count)
{
    *w = (struct sl_window_starts){path, calloc(count + 1, sizeof(*w->start_ns)), count};
    if (!w->start_ns)
        return -ENOMEM;
    for (size_t i = 0; i < count; i++)
        w->start_ns[i] = start_of(path[i]);
    return 0;
}

void sl_window_starts_free(struct sl_window_starts *w)
{
    free(w->start_ns);
}

static const char *name_of(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

int64_t sl_window_starts_earliest(const struct sl_window_starts *w, const char *path)
{
    int64_t earliest_ns = 0;

    for (size_t i = 0; i < w->count; i++)
        if (w->start_ns[i] && strcmp(name_of(w->path[i]), name_of(path)) == 0 &&
            (!earliest_ns || w->start_ns[i] < earliest_ns))
            earliest_ns = w->start_ns[i];
    return earliest_ns;
}
