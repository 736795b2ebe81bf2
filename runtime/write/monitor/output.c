/*
 * output.c - prints the calls of torch.distributed.
 *
 * Threads, memory: see output.h.
 */
#include "write/monitor/output.h"

#include <errno.h>
#include <string.h>

#include "base/pages.h"
#include "write/distributed.h"
#include "write/monitor/line.h"
#include "write/monitor/stdout.h"

struct monitor {
    struct sl_monitor_options opt;
    const struct sl_trace_meta *meta; /* of the open window; NULL: none is open */
    uint32_t name;                    /* interned name of the operator; 0: not known yet */
    struct sl_stdout to;
    char line[SL_MONITOR_LINE_MOST];
};

static int open_window(void *output, const struct sl_trace_meta *meta, struct sl_window_file *file)
{
    struct monitor *m = output;

    (void)file;
    m->meta = meta;
    return 0;
}

static int is_call(struct monitor *m, const struct sl_event *ev)
{
    static const char name[] = "record_param_comms";
    size_t length = 0;
    const char *text;

    /* An operator that is open when a window ends has an event in the next window, too. */
    if (ev->kind != SL_EV_CPU_OP || ev->end_ns == SL_END_UNKNOWN || ev->flags & SL_EVF_CUT_START)
        return 0;
    if (m->name)
        return ev->name == m->name;
    text = sl_intern_get(m->opt.intern, ev->name, &length);
    if (!text || length != sizeof(name) - 1 || memcmp(text, name, length) != 0)
        return 0;
    m->name = ev->name;
    return 1;
}

static void print(struct monitor *m, const struct sl_event *ev)
{
    struct sl_monitor_who who = {.rank = m->meta->rank,
                                 .local_ranks = m->meta->local_ranks,
                                 .is_crossnode = m->opt.is_crossnode,
                                 .gpu_serial = m->meta->gpu_serial,
                                 .vm_id = m->meta->vm_id};
    struct sl_op_detail detail;
    size_t length = 0;
    uint32_t version;
    int world_size;
    const char *text = sl_intern_get(m->opt.details, ev->inputs, &length);

    if (sl_op_detail_unpack(&detail, text, length) != 0)
        return;
    sl_distributed_rank(&who.rank, &world_size);
    who.groups = sl_distributed_get(&who.groups_length, &version);
    sl_stdout_put(&m->to, m->line, sl_monitor_line(m->line, &who, ev, &detail));
}

static int take_events(void *output, const struct sl_event *ev, size_t count)
{
    struct monitor *m = output;

    for (size_t i = 0; m->meta && i < count; i++)
        if (is_call(m, &ev[i]))
            print(m, &ev[i]);
    sl_stdout_flush(&m->to);
    return 0;
}

static int take_edges(void *output, const struct sl_output_edges *edges)
{
    (void)output;
    (void)edges;
    return 0;
}

static int complete(void *output, const struct sl_output_progress *progress)
{
    (void)progress;
    sl_stdout_flush(&((struct monitor *)output)->to);
    return 0;
}

static int sync_file(void *output)
{
    (void)output;
    return 0;
}

static int close_window(void *output, uint64_t closed_ns)
{
    struct monitor *m = output;

    (void)closed_ns;
    m->meta = NULL;
    sl_stdout_close(&m->to);
    return 0;
}

static void fail(void *output)
{
    ((struct monitor *)output)->meta = NULL;
}

static void destroy(void *output)
{
    sl_pages_unmap(output, sizeof(struct monitor));
}

static const struct sl_output_functions functions = {
    .lost = "'s printed calls",
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

int sl_monitor_output_create(struct sl_output *out, const struct sl_monitor_options *opt)
{
    struct monitor *m = sl_pages_map(sizeof(*m));

    if (!m)
        return -ENOMEM;
    m->opt = *opt;
    sl_stdout_open(&m->to);
    *out = (struct sl_output){.functions = &functions, .user = m};
    return 0;
}
