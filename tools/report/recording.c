/*
 * recording.c - turns the events and edges of one file into arrays.
 *
 * Events come in the order of their correlation ids, so a launch directly precedes its operations.
 *
 * Threads, memory: see recording.h.
 */
#include "report/recording.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "args/args.h"
#include "read/grow.h"
#include "read/unescape.h"
#include "replay/replay.h"
#include "report/product.h"
#include "sync/call_class.h"

#define NAMES_BYTES (256u << 20)
/* The events of a sorted run, and the number of runs. A merge needs a buffer for each run. */
#define RUN_LEAST 1024u
#define RUN_MOST  (512u << 10)
#define RUNS_MOST 1024u

/* The state while one file is read. */
struct reading {
    struct sl_recordings *all;
    struct sl_recording *out;
    struct sl_replay *replay;
    uint32_t *known; /* maps the file's intern ids to those of `all`; 0: not looked up yet */
    size_t known_slots;
    size_t op_slots, launch_slots, call_slots, wait_slots, load_slots, group_slots, range_slots,
        product_slots, overhead_slots, site_slots, annotation_slots, sequence_slots, pair_slots,
        cpu_slots, edge_slots;
    char *plain; /* room for a name without escapes */
    /* Calls that wait only at times. Edges come later than calls, so these waits are not in the
     * order of the others. */
    struct sl_report_wait *found;
    size_t founds, found_slots;
    uint64_t last_launch; /* correlation id of the last launch */
    int has_launched;     /* 1: an operation of the last launch has come */
    int is_second;        /* 1: the rows come a second time (replay.h) */
    int failed;           /* -ENOMEM, or -errno of a temporary file */
};

/* Returns a new, zeroed last element, or NULL if there is no memory. */
static void *append(struct reading *r, void **array, size_t *count, size_t *slots, size_t size)
{
    void *at = sl_spill_grow(&r->all->spill, array, count, slots, size);

    if (!at)
        r->failed = r->all->spill.error;
    return at;
}

/* Converts an intern id of the file to one of all recordings. */
static uint32_t shared(struct reading *r, uint32_t id)
{
    const char *text;
    size_t length;

    if (id == 0)
        return 0;
    if (id >= r->known_slots) {
        size_t more = id + id / 2 + 1024;
        uint32_t *grown = realloc(r->known, more * sizeof(*grown));

        if (!grown) {
            r->failed = -ENOMEM;
            return 0;
        }
        memset(grown + r->known_slots, 0, (more - r->known_slots) * sizeof(*grown));
        r->known = grown;
        r->known_slots = more;
    }
    if (!r->known[id] && (text = sl_intern_get(r->replay->events->names, id, &length)) != NULL)
        r->known[id] = sl_intern_put(r->all->names, text, length);
    return r->known[id];
}

/* Returns the operator or range around a call, or 0. A step is no place in the program, and has
 * another name each time. */
static uint32_t place_of(struct reading *r, const struct sl_trace_call *call)
{
    const char *name = call ? sl_intern_get(r->replay->events->names, call->place, NULL) : NULL;

    return name && strncmp(name, "ProfilerStep#", 13) != 0 ? shared(r, call->place) : 0;
}

/* ---- events ---- */

static int begins(const char *name, size_t size, const char *with)
{
    size_t length = strlen(with);

    return size >= length && memcmp(name, with, length) == 0;
}

static enum sl_work work_of(struct reading *r, const struct sl_event *ev)
{
    size_t size = 0;
    const char *name;

    if (ev->kind != SL_EV_KERNEL)
        return SL_WORK_COPY;
    name = sl_intern_get(r->replay->events->names, ev->name, &size);
    return name ? sl_work_of_kernel(name, size) : SL_WORK_COMPUTE;
}

/* Takes a kernel that sends to a rank or receives from one. */
static void take_pair(struct reading *r, const struct sl_event *ev,
                      const struct sl_collective *collective)
{
    struct sl_report_pair *pair;

    if (!(r->all->needs & SL_NEED_PHASES) ||
        (collective->type != SL_COLLECTIVE_SEND && collective->type != SL_COLLECTIVE_RECV))
        return;
    pair = append(r, (void **)&r->out->pair, &r->out->pairs, &r->pair_slots, sizeof(*pair));
    if (pair)
        *pair = (struct sl_report_pair){.correlation = ev->correlation,
                                        .start_ns = ev->start_ns,
                                        .end_ns = ev->end_ns,
                                        .group = collective->group + 1,
                                        .peer = collective->peer,
                                        .device = ev->device,
                                        .is_send = collective->type == SL_COLLECTIVE_SEND};
}

static void take_op(struct reading *r, const struct sl_event *ev)
{
    struct sl_recording *out = r->out;
    struct sl_collective collective;
    struct sl_report_op *op;

    op = append(r, (void **)&out->op, &out->ops, &r->op_slots, sizeof(*op));
    if (!op)
        return;
    op->start_ns = ev->start_ns;
    op->end_ns = ev->end_ns;
    op->correlation = ev->correlation;
    op->bytes = ev->u.op.bytes;
    if (out->launches && r->last_launch == ev->correlation) {
        op->launch = (uint32_t)out->launches;
        r->has_launched = 1;
    }
    op->name = shared(r, ev->name);
    op->stream = ev->stream;
    op->graph = ev->graph;
    op->is_node = ev->u.op.graph_node != 0;
    op->device = ev->device;
    op->work = work_of(r, ev) & 0xf;
    if (op->work == SL_WORK_COMMUNICATION &&
        sl_row_collectives_find(r->replay->collectives, ev, &collective)) {
        op->bytes = collective.bytes;
        op->group = collective.group + 1;
        op->collective = (uint8_t)collective.type;
        op->dtype = collective.dtype;
        op->is_shared = collective.is_shared != 0;
        take_pair(r, ev, &collective);
    }
}

static int waits_by_nature(enum sl_call_class class)
{
    return class == SL_CALL_DEVICE_SYNC || class == SL_CALL_CONTEXT_SYNC ||
           class == SL_CALL_STREAM_SYNC || class == SL_CALL_EVENT_SYNC;
}

static void take_call(struct reading *r, const struct sl_event *ev)
{
    enum sl_call_class class = sl_call_class_of((enum sl_event_kind)ev->kind, ev->u.call.cbid);
    const struct sl_trace_call *call = sl_trace_events_call(r->replay->events, ev->correlation);
    struct sl_recording *out = r->out;
    struct sl_report_launch *launch;
    struct sl_report_wait *wait;

    if (waits_by_nature(class)) {
        wait = append(r, (void **)&out->wait, &out->waits, &r->wait_slots, sizeof(*wait));
        if (!wait)
            return;
        *wait = (struct sl_report_wait){.start_ns = ev->start_ns,
                                        .end_ns = ev->end_ns,
                                        .correlation = ev->correlation,
                                        .thread = ev->thread,
                                        .name = shared(r, ev->name),
                                        .place = place_of(r, call),
                                        .line = call ? shared(r, call->line) : 0,
                                        .kind = SL_EDGE_KIND_COUNT};
        return;
    }
    /* Whether a call launches is known only when its operation comes, so a call without one is
     * overwritten by the next. */
    if (out->launches && !r->has_launched)
        out->launches--;
    r->has_launched = 0;
    launch = append(r, (void **)&out->launch, &out->launches, &r->launch_slots, sizeof(*launch));
    if (!launch)
        return;
    *launch = (struct sl_report_launch){.start_ns = ev->start_ns,
                                        .end_ns = ev->end_ns,
                                        .thread = ev->thread,
                                        .name = shared(r, ev->name),
                                        .place = place_of(r, call),
                                        .line = call ? shared(r, call->line) : 0,
                                        .range = ev->u.call.range};
    r->last_launch = ev->correlation;
    if (ev->end_ns - ev->start_ns >= SL_REPORT_LONG_CALL_NS) {
        const struct sl_report_launch same = *launch;
        struct sl_report_launch *to =
            append(r, (void **)&out->call, &out->calls, &r->call_slots, sizeof(*to));

        if (to)
            *to = same;
    }
}

static void take_cpu_call(struct reading *r, const struct sl_event *ev)
{
    enum sl_call_class class = sl_call_class_of((enum sl_event_kind)ev->kind, ev->u.call.cbid);
    const struct sl_trace_call *call = sl_trace_events_call(r->replay->events, ev->correlation);
    struct sl_report_cpu *cpu =
        append(r, (void **)&r->out->cpu, &r->out->cpus, &r->cpu_slots, sizeof(*cpu));

    if (cpu)
        *cpu = (struct sl_report_cpu){.start_ns = ev->start_ns,
                                      .end_ns = ev->end_ns,
                                      .correlation = ev->correlation,
                                      .thread = ev->thread,
                                      .name = shared(r, ev->name),
                                      .line = call ? shared(r, call->line) : 0,
                                      .kind = SL_CPU_CALL,
                                      .waits = (uint8_t)waits_by_nature(class)};
}

static void take_event(void *user, const struct sl_event *ev)
{
    struct reading *r = user;

    if (r->all->needs & SL_NEED_PATH && (ev->kind == SL_EV_RUNTIME || ev->kind == SL_EV_DRIVER))
        take_cpu_call(r, ev);
    switch (ev->kind) {
    case SL_EV_KERNEL:
    case SL_EV_MEMCPY:
    case SL_EV_MEMSET:
        take_op(r, ev);
        break;
    case SL_EV_RUNTIME:
    case SL_EV_DRIVER:
        take_call(r, ev);
        break;
    case SL_EV_SYNC:
        r->out->has_sync_rows = 1;
        break;
    default:
        break;
    }
}

/* ---- edges ---- */

static size_t first_op(const struct sl_recording *out, uint64_t correlation)
{
    size_t low = 0, high = out->ops;

    while (low < high) {
        size_t middle = (low + high) / 2;

        if (out->op[middle].correlation < correlation)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void take_op_edge(struct reading *r, const struct sl_edge *edge)
{
    struct sl_recording *out = r->out;

    for (size_t i = first_op(out, edge->dst_op.correlation);
         i < out->ops && out->op[i].correlation == edge->dst_op.correlation; i++) {
        struct sl_report_op *op = &out->op[i];

        if (op->start_ns != edge->dst_op.start_ns || (op->has_waited && !edge->released))
            continue;
        op->awaited = shared(r, edge->source.name);
        op->has_waited |= edge->wait_ns != 0;
    }
}

/* Returns the wait of a call in `waits`, which are in the order of correlation ids, or NULL. */
static struct sl_report_wait *find_wait(struct sl_report_wait *waits, size_t count,
                                        uint64_t correlation)
{
    size_t low = 0, high = count;

    while (low < high) {
        size_t middle = (low + high) / 2;

        if (waits[middle].correlation < correlation)
            low = middle + 1;
        else
            high = middle;
    }
    return low < count && waits[low].correlation == correlation ? &waits[low] : NULL;
}

/* Returns the wait of the call at which an edge ends. Adds it if the call is one that waits only at
 * times. Returns NULL if there is no memory. */
static struct sl_report_wait *wait_of(struct reading *r, const struct sl_edge *edge)
{
    struct sl_report_wait *w = find_wait(r->out->wait, r->out->waits, edge->dst_correlation);
    const struct sl_trace_call *call;

    if (w)
        return w;
    w = r->founds ? &r->found[r->founds - 1] : NULL; /* the edges of a call come together */
    if (w && w->correlation == edge->dst_correlation)
        return w;
    w = append(r, (void **)&r->found, &r->founds, &r->found_slots, sizeof(*w));
    if (!w)
        return NULL;
    call = sl_trace_events_call(r->replay->events, edge->dst_correlation);
    *w = (struct sl_report_wait){.start_ns = edge->dst_start_ns,
                                 .end_ns = edge->dst_end_ns,
                                 .correlation = edge->dst_correlation,
                                 .thread = edge->dst_thread,
                                 .name = shared(r, edge->dst_name),
                                 .place = place_of(r, call),
                                 .line = call ? shared(r, call->line) : 0,
                                 .kind = SL_EDGE_KIND_COUNT};
    return w;
}

static void take_call_edge(struct reading *r, const struct sl_edge *edge)
{
    struct sl_report_wait *w;

    if (edge->wait_ns == 0)
        return;
    w = wait_of(r, edge);
    if (!w || (w->kind != SL_EDGE_KIND_COUNT && !edge->released && edge->wait_ns <= w->wait_ns))
        return;
    w->kind = edge->kind;
    w->basis = edge->basis;
    w->wait_ns = edge->wait_ns;
    w->source = shared(r, edge->source.name);
}

static void take_path_edge(struct reading *r, const struct sl_edge *edge)
{
    struct sl_report_edge *to =
        append(r, (void **)&r->out->edge, &r->out->edges, &r->edge_slots, sizeof(*to));

    if (to)
        *to = (struct sl_report_edge){
            .source_correlation = edge->source.correlation,
            .source_start_ns = edge->source.start_ns,
            .source_end_ns = edge->source.end_ns,
            .dst_correlation = edge->at_start ? edge->dst_op.correlation : edge->dst_correlation,
            .dst_start_ns = edge->at_start ? edge->dst_op.start_ns : edge->dst_start_ns,
            .at_start = edge->at_start,
            .kind = edge->kind,
            .basis = edge->basis};
}

static void take_edges(void *user, const struct sl_edge *edges, size_t count)
{
    struct reading *r = user;

    for (size_t i = 0; r->all->needs & SL_NEED_PATH && i < count; i++)
        take_path_edge(r, &edges[i]);
    for (size_t i = 0; i < count; i++)
        if (edges[i].at_start)
            take_op_edge(r, &edges[i]);
        else
            take_call_edge(r, &edges[i]);
}

/* ---- rows that the edge engine does not need ---- */

static uint64_t begin_of(const struct sl_trace_row *row)
{
    return (uint64_t)row->ts_ns + SL_TRACE_EVENTS_ORIGIN_NS;
}

static uint32_t put_text(struct reading *r, struct sl_text text)
{
    return text.data ? sl_intern_put(r->all->names, text.data, text.size) : 0;
}

/* Takes a range in which PyTorch's DataLoader fetched a batch. */
static void take_load(struct reading *r, const struct sl_trace_row *row)
{
    struct sl_report_load *load =
        append(r, (void **)&r->out->load, &r->out->loads, &r->load_slots, sizeof(*load));

    if (load)
        *load = (struct sl_report_load){
            .start_ns = begin_of(row),
            .end_ns = begin_of(row) + (uint64_t)row->dur_ns,
            .thread = sl_thread_ids_put(&r->replay->events->threads, row->tid.number)};
}

/* Returns the sizes of inputs without the last ones, "[]", which are no tensors. */
static uint32_t put_sizes(struct reading *r, struct sl_text text)
{
    size_t size = text.size;
    char plain[256];
    int length;

    while (size > 2 && strchr("[], ", text.data[size - 1]) != NULL)
        size--;
    length = snprintf(plain, sizeof(plain), "%.*s]]", (int)(size < 1000 ? size : 1000), text.data);
    if (size == text.size || size <= 2 || length >= (int)sizeof(plain))
        return put_text(r, text);
    return put_text(r, (struct sl_text){plain, (size_t)length});
}

static void take_product(struct reading *r, const struct sl_trace_row *row)
{
    struct sl_report_product *p =
        append(r, (void **)&r->out->product, &r->out->products, &r->product_slots, sizeof(*p));

    if (p)
        *p = (struct sl_report_product){
            .start_ns = begin_of(row),
            .end_ns = begin_of(row) + (uint64_t)row->dur_ns,
            .thread = sl_thread_ids_put(&r->replay->events->threads, row->tid.number),
            .name = put_text(r, row->name),
            .sizes = put_sizes(r, row->dims),
            .values = sl_product_has_values(row->name) ? put_text(r, row->values) : 0};
}

static void take_overhead(struct reading *r, const struct sl_trace_row *row)
{
    struct sl_report_overhead *o =
        append(r, (void **)&r->out->overhead, &r->out->overheads, &r->overhead_slots, sizeof(*o));

    if (o)
        *o = (struct sl_report_overhead){.start_ns = begin_of(row),
                                         .end_ns = begin_of(row) + (uint64_t)row->dur_ns,
                                         .name = put_text(r, row->name)};
}

static void add_site(struct reading *r, const struct sl_report_site *site)
{
    struct sl_report_site *to =
        append(r, (void **)&r->out->site, &r->out->sites, &r->site_slots, sizeof(*to));

    if (to)
        *to = *site;
}

static void take_annotation(struct reading *r, const struct sl_trace_row *row)
{
    struct sl_report_annotation *a = append(r, (void **)&r->out->annotation, &r->out->annotations,
                                            &r->annotation_slots, sizeof(*a));

    if (a)
        *a = (struct sl_report_annotation){
            .start_ns = begin_of(row),
            .end_ns = begin_of(row) + (uint64_t)row->dur_ns,
            .thread = sl_thread_ids_put(&r->replay->events->threads, row->tid.number),
            .name = put_text(r, sl_unescaped(row->name, r->plain, SL_TRACE_PLAIN_MAX))};
}

static void take_sequence(struct reading *r, const struct sl_trace_row *row)
{
    struct sl_report_sequence *s =
        append(r, (void **)&r->out->sequence, &r->out->sequences, &r->sequence_slots, sizeof(*s));

    if (s)
        *s = (struct sl_report_sequence){
            .start_ns = begin_of(row),
            .end_ns = begin_of(row) + (uint64_t)row->dur_ns,
            .number = row->sequence,
            .thread = sl_thread_ids_put(&r->replay->events->threads, row->tid.number)};
}

/* Takes an operator or a range of the user. */
static void take_cpu_row(struct reading *r, const struct sl_trace_row *row)
{
    struct sl_report_cpu *cpu =
        append(r, (void **)&r->out->cpu, &r->out->cpus, &r->cpu_slots, sizeof(*cpu));
    struct sl_text name = row->name;

    if (!cpu)
        return;
    if (r->replay->events->plain)
        name = sl_unescaped(name, r->replay->events->plain, SL_TRACE_PLAIN_MAX);
    *cpu = (struct sl_report_cpu){
        .start_ns = begin_of(row),
        .end_ns = begin_of(row) + (uint64_t)row->dur_ns,
        .thread = sl_thread_ids_put(&r->replay->events->threads, row->tid.number),
        .name = put_text(r, name),
        .kind = row->category == SL_CAT_CPU_OP ? SL_CPU_OPERATOR : SL_CPU_RANGE,
        .is_step = (uint8_t)sl_text_begins(name, "ProfilerStep#")};
}

/* Forgets the rows of the first reading, because the file is read a second time. */
static void forget_rows(struct reading *r)
{
    struct sl_recording *out = r->out;

    r->is_second = 1;
    out->loads = out->sites = out->products = out->overheads = out->cpus = 0;
    out->annotations = out->sequences = 0;
}

static void take_row(void *user, const struct sl_trace_row *row)
{
    struct reading *r = user;

    if (r->replay->is_second && !r->is_second)
        forget_rows(r);
    if (row->phase != 'X' || !(row->has & SL_HAS_TS) || !(row->has & SL_HAS_DUR) ||
        row->ts_ns < 0 || row->dur_ns <= 0)
        return;
    if (row->category == SL_CAT_OVERHEAD)
        take_overhead(r, row);
    if ((row->category != SL_CAT_CPU_OP && row->category != SL_CAT_USER_ANNOTATION) ||
        !row->tid.is_number)
        return;
    if (r->all->needs & SL_NEED_PHASES) {
        if (row->category == SL_CAT_USER_ANNOTATION)
            take_annotation(r, row);
        else if (row->has & SL_HAS_SEQUENCE && row->sequence >= 0)
            take_sequence(r, row);
    }
    if (r->all->needs & SL_NEED_PATH)
        take_cpu_row(r, row);
    if (row->source.data && sl_text_is(row->name, "record_param_comms"))
        add_site(r, &(struct sl_report_site){
                        .start_ns = begin_of(row),
                        .end_ns = begin_of(row) + (uint64_t)row->dur_ns,
                        .thread = sl_thread_ids_put(&r->replay->events->threads, row->tid.number),
                        .line = put_text(r, row->source)});
    else if (sl_text_begins(row->name, "enumerate(DataLoader)"))
        take_load(r, row);
    else if (r->all->needs & SL_NEED_PRODUCTS && row->dims.data && sl_product_is(row->name))
        take_product(r, row);
}

static void take_range(void *user, const struct sl_event *ev, uint32_t around)
{
    struct reading *r = user;
    size_t size = 0;
    const char *name = sl_intern_get(r->replay->events->names, ev->name, &size);
    struct sl_report_range *range =
        append(r, (void **)&r->out->range, &r->out->ranges, &r->range_slots, sizeof(*range));

    if (!range)
        return;
    *range = (struct sl_report_range){.start_ns = ev->start_ns,
                                      .end_ns = ev->end_ns,
                                      .thread = ev->thread,
                                      .name = shared(r, ev->name),
                                      .around = around,
                                      .is_step = name && begins(name, size, "ProfilerStep#")};
    range->is_operator = ev->kind == SL_TRACE_RANGE && !range->is_step;
}

/* ---- the end of a file ---- */

static int compare(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

/* Compares the members that no sort needs, so that any sort gives the same. */
static int order_of_rest(const struct sl_report_op *x, const struct sl_report_op *y)
{
    const uint64_t a[] = {x->end_ns, x->bytes,   x->launch,     x->graph,      x->awaited,
                          x->group,  x->is_node, x->has_waited, x->collective, x->dtype};
    const uint64_t b[] = {y->end_ns, y->bytes,   y->launch,     y->graph,      y->awaited,
                          y->group,  y->is_node, y->has_waited, y->collective, y->dtype};
    size_t i = 0;

    while (i + 1 < sizeof(a) / sizeof(a[0]) && a[i] == b[i])
        i++;
    return compare(a[i], b[i]);
}

static int order_of_ops(const void *a, const void *b)
{
    const struct sl_report_op *x = a, *y = b;

    if (x->device != y->device)
        return compare(x->device, y->device);
    if (x->start_ns != y->start_ns)
        return compare(x->start_ns, y->start_ns);
    if (x->correlation != y->correlation)
        return compare(x->correlation, y->correlation);
    if (x->stream != y->stream)
        return compare(x->stream, y->stream);
    if (x->name != y->name)
        return compare(x->name, y->name);
    return order_of_rest(x, y);
}

static int order_of_waits(const void *a, const void *b)
{
    const struct sl_report_wait *x = a, *y = b;

    if (x->thread != y->thread)
        return compare(x->thread, y->thread);
    if (x->start_ns != y->start_ns)
        return compare(x->start_ns, y->start_ns);
    return compare(x->correlation, y->correlation);
}

static int order_of_calls(const void *a, const void *b)
{
    const struct sl_report_launch *x = a, *y = b;

    if (x->thread != y->thread)
        return compare(x->thread, y->thread);
    if (x->start_ns != y->start_ns)
        return compare(x->start_ns, y->start_ns);
    if (x->end_ns != y->end_ns)
        return compare(y->end_ns, x->end_ns); /* outer ones first */
    return compare(x->name, y->name);
}

/* Sorts the long calls, and leaves out those that other calls made. */
static void sort_calls(struct sl_recording *out)
{
    size_t kept = 0;

    if (out->calls)
        qsort(out->call, out->calls, sizeof(*out->call), order_of_calls);
    for (size_t i = 0; i < out->calls; i++)
        if (!kept || out->call[i].thread != out->call[kept - 1].thread ||
            out->call[i].end_ns > out->call[kept - 1].end_ns)
            out->call[kept++] = out->call[i];
    out->calls = kept;
}

static int order_of_loads(const void *a, const void *b)
{
    const struct sl_report_load *x = a, *y = b;

    return x->thread != y->thread ? compare(x->thread, y->thread)
                                  : compare(x->start_ns, y->start_ns);
}

static int order_of_products(const void *a, const void *b)
{
    const struct sl_report_product *x = a, *y = b;

    if (x->thread != y->thread)
        return compare(x->thread, y->thread);
    if (x->start_ns != y->start_ns)
        return compare(x->start_ns, y->start_ns);
    if (x->end_ns != y->end_ns)
        return compare(y->end_ns, x->end_ns); /* outer ones first */
    return x->name != y->name ? compare(x->name, y->name) : compare(x->sizes, y->sizes);
}

static int order_of_annotations(const void *a, const void *b)
{
    const struct sl_report_annotation *x = a, *y = b;

    if (x->thread != y->thread)
        return compare(x->thread, y->thread);
    if (x->start_ns != y->start_ns)
        return compare(x->start_ns, y->start_ns);
    if (x->end_ns != y->end_ns)
        return compare(y->end_ns, x->end_ns); /* outer ones first */
    return compare(x->name, y->name);
}

static int order_of_sequences(const void *a, const void *b)
{
    const struct sl_report_sequence *x = a, *y = b;

    if (x->number != y->number)
        return x->number < y->number ? -1 : 1;
    if (x->start_ns != y->start_ns)
        return compare(x->start_ns, y->start_ns);
    return compare(x->thread, y->thread);
}

/* Sorts the products, and finds the outer one of each. */
static void nest_products(struct sl_recording *out)
{
    if (out->products)
        qsort(out->product, out->products, sizeof(*out->product), order_of_products);
    for (size_t i = 1; i < out->products; i++) {
        struct sl_report_product *p = &out->product[i];
        uint32_t around = out->product[i - 1].thread == p->thread ? (uint32_t)i : 0;

        while (around && out->product[around - 1].end_ns <= p->start_ns)
            around = out->product[around - 1].around;
        p->around = around;
    }
}

size_t sl_recording_site(const struct sl_recording *r, uint32_t thread, uint64_t ns)
{
    size_t low = 0, high = r->sites;

    while (low < high) {
        size_t middle = (low + high) / 2;
        const struct sl_report_site *s = &r->site[middle];

        if (s->thread < thread || (s->thread == thread && s->start_ns < ns))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

uint32_t sl_recording_part(const struct sl_recording *r, uint64_t ns)
{
    size_t low = 0, high = r->steps;

    while (low < high) {
        size_t middle = (low + high) / 2;

        if (r->step[middle].start_ns <= ns)
            low = middle + 1;
        else
            high = middle;
    }
    return low && ns < r->step[low - 1].end_ns ? (uint32_t)(2 * low - 1) : (uint32_t)(2 * low);
}

size_t sl_recording_group_size(const struct sl_recording *r, uint32_t group)
{
    if (group == 1) /* the group of all ranks */
        return r->header.has_world_size ? (size_t)r->header.world_size : 0;
    for (size_t i = 0; i < r->groups; i++)
        if (r->group[i].number + 1 == group)
            return r->group[i].ranks;
    return 0;
}

static void take_steps(struct reading *r)
{
    const struct sl_trace_events *t = r->replay->events;
    struct sl_recording *out = r->out;

    out->step = t->steps ? calloc(t->steps, sizeof(*out->step)) : NULL;
    if (t->steps && !out->step)
        r->failed = -ENOMEM;
    for (size_t i = 0; out->step && i < t->steps; i++) {
        const char *name = sl_intern_get(t->names, t->step[i].name, NULL);
        const char *number = name ? strrchr(name, '#') : NULL;

        out->step[out->steps++] = (struct sl_report_step){
            t->step[i].start_ns, t->step[i].end_ns, number ? strtoull(number + 1, NULL, 10) : i};
    }
}

static void take_group(void *user, uint32_t number, const uint32_t *rank, size_t ranks)
{
    struct reading *r = user;
    struct sl_report_group *group =
        append(r, (void **)&r->out->group, &r->out->groups, &r->group_slots, sizeof(*group));

    (void)rank;
    if (group)
        *group = (struct sl_report_group){number, ranks};
}

/* Puts the waits that edges found to the others. */
static void join_waits(struct reading *r)
{
    for (size_t i = 0; i < r->founds; i++) {
        struct sl_report_wait *w =
            append(r, (void **)&r->out->wait, &r->out->waits, &r->wait_slots, sizeof(*w));

        if (w)
            *w = r->found[i];
    }
}

static int order_of_sites(const void *a, const void *b)
{
    const struct sl_report_site *x = a, *y = b;

    if (x->thread != y->thread)
        return compare(x->thread, y->thread);
    if (x->start_ns != y->start_ns)
        return compare(x->start_ns, y->start_ns);
    return x->end_ns != y->end_ns ? compare(x->end_ns, y->end_ns) : compare(x->line, y->line);
}

/* Adds the waits that have a line to the sites. A launch inside of a collective has the line of the
 * collective. */
static void make_sites(struct reading *r)
{
    struct sl_recording *out = r->out;

    for (size_t i = 0; i < out->waits; i++)
        if (out->wait[i].line)
            add_site(r, &(struct sl_report_site){out->wait[i].start_ns, out->wait[i].end_ns,
                                                 out->wait[i].thread, out->wait[i].line});
    if (out->sites)
        qsort(out->site, out->sites, sizeof(*out->site), order_of_sites);
    for (size_t i = 0; out->sites && i < out->launches; i++) {
        struct sl_report_launch *l = &out->launch[i];
        size_t at = sl_recording_site(out, l->thread, l->start_ns + 1);

        if (!l->line && at && out->site[at - 1].thread == l->thread &&
            out->site[at - 1].end_ns > l->start_ns)
            l->line = out->site[at - 1].line;
    }
}

/* Sorts operations that are in a file, in runs. Returns 0, -ENOMEM, or -errno of the temporary
 * file. */
static int sort_runs(const struct sl_spill *spill, struct sl_report_op *op, size_t count)
{
    size_t run = spill->limit_bytes / 4 / sizeof(*op), least = count / RUNS_MOST + RUN_LEAST;
    struct sl_event_sort *sort;
    struct sl_event ev;
    int rc;

    _Static_assert(sizeof(*op) == sizeof(ev), "an operation can be sorted as an event");
    run = run > RUN_MOST ? RUN_MOST : run;
    rc = sl_event_sort_create(&sort, run > least ? run : least, order_of_ops);
    for (size_t i = 0; i < count && rc == 0; i++) {
        memcpy(&ev, &op[i], sizeof(ev));
        rc = sl_event_sort_put(sort, &ev);
    }
    if (rc == 0)
        rc = sl_event_sort_end(sort);
    for (size_t i = 0; rc >= 0 && (rc = sl_event_sort_next(sort, &ev)) == 1; i++)
        memcpy(&op[i], &ev, sizeof(ev));
    sl_event_sort_destroy(sort);
    return rc;
}

/* Returns what sort_runs() returns. */
static int sort_all(const struct sl_spill *spill, struct sl_recording *out)
{
    int rc = 0;

    for (size_t i = 0; i < out->ops; i++) {
        struct sl_report_op *op = &out->op[i];

        op->part = sl_recording_part(out, op->launch ? out->launch[op->launch - 1].start_ns
                                                     : op->start_ns);
    }
    if (sl_spill_has(spill, out->op))
        rc = sort_runs(spill, out->op, out->ops);
    else if (out->ops)
        qsort(out->op, out->ops, sizeof(*out->op), order_of_ops);
    if (out->waits)
        qsort(out->wait, out->waits, sizeof(*out->wait), order_of_waits);
    if (out->loads)
        qsort(out->load, out->loads, sizeof(*out->load), order_of_loads);
    if (out->annotations)
        qsort(out->annotation, out->annotations, sizeof(*out->annotation), order_of_annotations);
    if (out->sequences)
        qsort(out->sequence, out->sequences, sizeof(*out->sequence), order_of_sequences);
    sort_calls(out);
    nest_products(out);
    return rc;
}

void sl_recording_free(struct sl_recordings *all, struct sl_recording *out)
{
    void *const array[] = {out->op,         out->launch,   out->call,    out->wait,     out->load,
                           out->group,      out->range,    out->product, out->overhead, out->site,
                           out->annotation, out->sequence, out->pair,    out->cpu,      out->edge};

    for (size_t i = 0; i < sizeof(array) / sizeof(array[0]); i++)
        sl_spill_free(&all->spill, array[i]);
    free(out->step);
    memset(out, 0, sizeof(*out));
}

/* Says why the file was not read to its end. Returns an exit status. */
static int cannot_read(const struct sl_command *command, const char *path, int rc)
{
    if (rc == -ENOMEM)
        return sl_args_complain(command, "not enough memory to read %s", path);
    return sl_args_complain(
        command,
        "%s: what does not fit into --memory could not be written to a temporary file: %s%s", path,
        strerror(-rc), rc == -ENOSPC ? ": free some space, or name another folder in TMPDIR" : "");
}

/* Reads the file. Returns an exit status. */
static int read_file(struct reading *r, const struct sl_command *command, const char *path)
{
    struct sl_replay *f = r->replay;
    char why[512];
    int rc;

    if (sl_replay_read(f, path, why, sizeof(why)) != 0 ||
        sl_replay_run(f, path, why, sizeof(why)) != 0)
        return sl_args_complain(command, "%s", why);
    if (r->out->launches && !r->has_launched)
        r->out->launches--;
    take_steps(r);
    sl_row_collectives_groups(f->collectives, take_group, r);
    join_waits(r);
    make_sites(r);
    rc = r->failed ? r->failed : sort_all(&r->all->spill, r->out);
    if (rc)
        return cannot_read(command, path, rc);
    r->out->header = f->header;
    r->out->left_out = f->events->counts.unusable + f->unusable;
    r->out->has_sync_rows |= f->header.has_edges;
    r->out->is_truncated = sl_replay_is_truncated(f);
    memcpy(r->out->lost_edges, f->lost, sizeof(r->out->lost_edges));
    return r->out->status = sl_replay_tell(f, command, path, "the results are");
}

int sl_recordings_read(struct sl_recordings *all, const struct sl_command *command,
                       const char *path)
{
    struct sl_recording *out = &all->of[all->count];
    struct reading r = {.all = all, .out = out};
    const struct sl_replay_sinks sinks = {.edges = take_edges,
                                          .event = take_event,
                                          .row = take_row,
                                          .range = all->needs & SL_NEED_RANGES ? take_range : NULL,
                                          .user = &r};
    int status;

    out->path = path;
    r.plain = all->needs & SL_NEED_PHASES ? malloc(SL_TRACE_PLAIN_MAX) : NULL;
    if ((all->needs & SL_NEED_PHASES && !r.plain) ||
        sl_replay_create(&r.replay, &sinks, SL_REPLAY_COLLECTIVES) != 0)
        status = sl_args_complain(command, "not enough memory to read %s", path);
    else
        status = read_file(&r, command, path);
    sl_replay_destroy(r.replay);
    free(r.plain);
    free(r.known);
    sl_spill_free(&all->spill, r.found);
    if (status == SL_EXIT_USAGE)
        sl_recording_free(all, out);
    else
        all->count++;
    return status;
}

int sl_recordings_create(struct sl_recordings *r, size_t most, uint64_t memory_bytes)
{
    *r = (struct sl_recordings){.of = calloc(most + 1, sizeof(*r->of)),
                                .spill.limit_bytes = memory_bytes};
    if (r->of && sl_intern_create(&r->names, NAMES_BYTES) == 0)
        return 0;
    free(r->of);
    return -ENOMEM;
}

void sl_recordings_free(struct sl_recordings *r)
{
    for (size_t i = 0; i < r->count; i++)
        sl_recording_free(r, &r->of[i]);
    free(r->of);
    sl_spill_end(&r->spill);
    sl_intern_destroy(r->names);
}
