/*
 * read.c - turns NCCL's events in the lanes into what each launched kernel does.
 *
 * NCCL sends, for a group of calls (a call outside of a group is a group of its own):
 *   - a CALL for each call, on the thread that makes the call;
 *   - then for each kernel, on the launching thread: a LAUNCH, and a COLL or P2P for each
 *     collective and message in that kernel. The latter may come on CUDA's host-callback thread.
 * The parent of a CALL and of a LAUNCH is the group; the parent of a COLL and of a P2P is its CALL.
 *
 * A CALL has the count and type that the program gave. A COLL has bytes for some functions. So
 * function, count and type are taken from the CALL, if it is known (calls.h).
 *
 * A captured launch creates a node of a CUDA graph. The kernel of each replay has the node's id, so
 * what the kernel does is told about the node. NCCL may report the collectives of each replay, or
 * of none: only the first report adds something. Outside windows NCCL reports nothing, and the NVTX
 * range says what is captured.
 *
 * A collective by copy engines has no kernel: a CE comes before the copies, and an end after them.
 *
 * Threads, memory: see read.h.
 */
#include "collect/nccl/read.h"

#include <errno.h>
#include <string.h>

#include "base/pages.h"
#include "base/text_table.h"
#include "collect/nccl/calls.h"
#include "collect/nccl/deep_read.h"
#include "collect/nccl/describe.h"
#include "collect/nccl/order.h"
#include "collect/nccl/plugin.h"
#include "collect/nccl/ranges.h"
#include "collect/nccl/rows.h"
#include "collect/nccl/sample.h"

#define KERNELS   256         /* number of launched kernels that are kept, a power of two */
#define MEMBERS   32          /* number of calls of a kernel that are told apart */
#define LAUNCH_NS 1000000000u /* longest time from a launch to its collectives */
#define NODES     1024        /* number of graph nodes that are kept, a power of two */

struct kernel {
    struct sl_launch_about *about; /* NULL: no span, or the launch has not ended */
    uint64_t start_ns, end_ns;     /* of the span */
    uint64_t launch;               /* handle of the launch; 0: not reported */
    uint64_t group;
    uint64_t tasks; /* handle of the event around the kernel's collectives; 0: not known yet */
    uint32_t thread;
    int is_by_tasks;        /* 1: NCCL 2.27 has reported neither the launch nor the calls */
    int is_captured;        /* 1: the launch created nodes of a graph */
    int is_reported;        /* 1: a collective or message was reported, so nothing is guessed */
    int is_waited_for;      /* 1: a pass has ended and nothing was reported */
    int is_kept, is_left;   /* 1: the kernel belongs, or does not belong, to the sample */
    uint64_t call[MEMBERS]; /* identifies the calls */
    struct sl_nccl_work work;
};

struct sl_nccl_read {
    struct sl_nccl_read_options opt;
    struct sl_nccl_ranges ranges;
    struct sl_nccl_order order;
    struct sl_nccl_sample sample;
    struct sl_nccl_calls calls;
    struct sl_nccl_rows rows;
    struct sl_nccl_deep_read deep;
    uint64_t shown; /* number of kernels whose rows were added, or are not wanted */
    struct kernel kernel[KERNELS];
    uint64_t kernels;
    struct {
        uint64_t node, launch, group;
    } node[NODES];
    uint64_t nodes;
    size_t texts_used;
    uint64_t lost;
};

int sl_nccl_read_create(struct sl_nccl_read **out, const struct sl_nccl_read_options *opt)
{
    struct sl_nccl_read *r = sl_pages_map(sizeof(*r));

    if (!r)
        return -ENOMEM;
    r->opt = *opt;
    r->sample.every = opt->sample;
    r->rows = (struct sl_nccl_rows){.ranges = opt->ranges,
                                    .names = opt->names,
                                    .texts_bytes = opt->texts_bytes,
                                    .user = opt->user,
                                    .sink = opt->sink};
    *out = r;
    return 0;
}

void sl_nccl_read_destroy(struct sl_nccl_read *r)
{
    if (r)
        sl_pages_unmap(r, sizeof(*r));
}

uint64_t sl_nccl_read_lost(const struct sl_nccl_read *r)
{
    return r->lost;
}

uint64_t sl_nccl_read_odd(const struct sl_nccl_read *r)
{
    return r->calls.odd + r->deep.odd;
}

/* Returns whether the kernel's launch created the node. A launch that is not reported is known by
 * its group. */
static int is_node_of(const struct sl_nccl_read *r, uint64_t node, const struct kernel *k)
{
    return r->node[node].launch == k->launch && (k->launch || r->node[node].group == k->group);
}

/* Tells about all nodes that the kernel's launch created. */
static void tell_nodes(const struct sl_nccl_read *r, const struct kernel *k, uint32_t text)
{
    uint64_t most = r->nodes < NODES ? r->nodes : NODES;
    struct sl_event ev = {.kind = SL_EV_META_NODE, .fact = SL_NODE_WORK, .name = text};

    for (uint64_t i = 1; i <= most; i++) {
        if (!is_node_of(r, (r->nodes - i) % NODES, k))
            continue;
        ev.u.node.id = r->node[(r->nodes - i) % NODES].node;
        r->opt.sink(r->opt.user, &ev);
    }
}

/* Returns the number of a text, or 0 if there is no room. */
static uint32_t intern(struct sl_nccl_read *r, const char *text, size_t length)
{
    uint32_t id = sl_intern_find(r->opt.names, text, length);

    if (!id && r->texts_used + length <= r->opt.texts_bytes) {
        id = sl_intern_put(r->opt.names, text, length);
        r->texts_used += id ? length : 0;
    }
    return id;
}

static const char *const messages[] = {"Send", "Recv", NULL};

/* Decides once for each kernel whether it belongs to the sample. The first collective of a kernel
 * decides, which is the same on all ranks. Returns 0 also while its number may still be reported.
 */
static int is_in_sample(struct sl_nccl_read *r, struct kernel *k)
{
    const struct sl_nccl_event *e = &k->work.first;
    int is_message = sl_nccl_is_one_of(e->func, messages);

    if (r->sample.every < 2)
        return 1;
    if (k->is_kept || k->is_left)
        return k->is_kept;
    if (e->record.parts == SL_NCCL_RECORD_COLL || e->record.parts == SL_NCCL_RECORD_CE)
        k->is_kept = sl_nccl_sample_keeps(&r->sample, e->number);
    else if (k->is_reported || k->is_captured || !k->launch)
        k->is_kept = sl_nccl_sample_count(&r->sample, k->work.comm, is_message ? 0 : e->func,
                                          is_message ? (uint32_t)e->root : 0);
    else
        return 0;
    k->is_left = !k->is_kept;
    return k->is_kept;
}

/* Stores the members about the kernel in its span. A program may give each call another tag, so the
 * tag is left out when there is no room for more texts. */
static void tell(struct sl_nccl_read *r, struct kernel *k)
{
    struct sl_nccl_work untagged = k->work;
    char text[SL_NCCL_TEXT_MOST];
    uint32_t id, sizes = 0;

    if (!is_in_sample(r, k) || (!k->is_captured && (!k->about || k->about->thread != k->thread)))
        return;
    id = intern(r, text, sl_nccl_describe(text, &k->work, &sizes));
    untagged.tag = 0;
    if (!id && k->work.tag)
        id = intern(r, text, sl_nccl_describe(text, &untagged, &sizes));
    r->lost += !id;
    if (k->is_captured && id && r->opt.sink)
        tell_nodes(r, k, id);
    if (!k->about || k->about->thread != k->thread)
        return;
    k->about->text = id;
    k->about->sizes = sizes;
    k->about->number = k->work.calls == 1 && (k->work.first.record.parts == SL_NCCL_RECORD_COLL ||
                                              k->work.first.record.parts == SL_NCCL_RECORD_CE)
                           ? k->work.first.number
                           : UINT64_MAX;
}

/* A call without an NVTX range (NCCL_NVTX_DISABLE) is marked on its thread's row. */
static void mark(struct sl_nccl_read *r, const struct sl_nccl_ordered *it)
{
    char text[SL_NCCL_TEXT_MOST], name[SL_TEXT_MAX + 8] = "nccl";
    size_t length = 0;
    const char *func = sl_text_table_get(it->event.func, &length);
    struct sl_event ev = {
        .kind = SL_EV_NVTX_RANGE_MARK, .start_ns = it->ns, .end_ns = it->ns, .thread = it->thread};

    memcpy(name + 4, func ? func : "", func ? length : 0);
    ev.name = intern(r, name, length + 4);
    ev.more = intern(r, text, sl_nccl_describe_call(text, &it->event));
    if (ev.name && ev.more && r->opt.sink)
        r->opt.sink(r->opt.user, &ev);
}

/* ---- kernels ---- */

static int is_new_call(const struct kernel *k, uint64_t whole)
{
    for (uint32_t i = 0; i < k->work.calls && i < MEMBERS; i++)
        if (k->call[i] == whole)
            return 0;
    return 1;
}

/* Adds a call to a kernel. `e` has the data of the call, which is NULL if it is not known. */
static void add_call(struct kernel *k, const struct sl_nccl_call *call,
                     const struct sl_nccl_event *e)
{
    struct sl_nccl_work *w = &k->work;

    if (w->calls < MEMBERS)
        k->call[w->calls] = call ? call->whole : e->handle;
    if (!w->calls) {
        w->first = *e;
        w->reduction = call ? call->reduction : 0;
        w->tag = call && call->event.record.parts == SL_NCCL_RECORD_CALL ? call->event.number : 0;
    }
    w->is_mixed |= w->calls && w->first.func != e->func;
    w->bytes += sl_nccl_bytes(e);
    w->calls++;
}

/* Until collectives of the kernel are reported, the kernel runs the calls of its group for its
 * communicator. A Broadcast of NCCL 2.29 and later is never reported otherwise. */
static void guess(const struct sl_nccl_read *r, struct kernel *k)
{
    for (uint64_t i = SL_NCCL_CALLS_LOOK; i > 0; i--) {
        const struct sl_nccl_call *c = sl_nccl_calls_back(&r->calls, i);

        if (c && c->event.parent == k->group && c->event.record.aux == k->work.comm &&
            is_new_call(k, c->whole))
            add_call(k, c, &c->event);
    }
}

static void take_launch(struct sl_nccl_read *r, const struct sl_nccl_ordered *it)
{
    r->kernel[r->kernels++ % KERNELS] = (struct kernel){.start_ns = it->ns,
                                                        .launch = it->event.handle,
                                                        .group = it->event.parent,
                                                        .thread = it->thread,
                                                        .work.comm = it->event.record.aux};
}

/* A graph that is captured outside windows. NCCL's profiler reports nothing there, but its NVTX
 * range does. */
static void tell_by_range(struct sl_nccl_read *r, const struct sl_nccl_ordered *it)
{
    const struct sl_nccl_range *range = &it->range;
    int is_alone;
    const uint32_t comm = sl_nccl_plugin_comm_of(range->hash, &is_alone);
    const struct sl_nccl_work work = {
        .first = {.func = range->func, .root = range->root < 0 ? range->peer : range->root},
        .bytes = range->bytes,
        .calls = 1,
        .comm = comm,
        .reduction = range->reduction,
        .is_rank_unknown = !is_alone};
    struct sl_event ev = {.kind = SL_EV_META_NODE, .fact = SL_NODE_WORK};
    char text[SL_NCCL_TEXT_MOST];
    uint32_t sizes;

    ev.name = intern(r, text, sl_nccl_describe(text, &work, &sizes));
    ev.u.node.id = it->event.number;
    if (ev.name && r->opt.sink)
        r->opt.sink(r->opt.user, &ev);
}

static void take_node(struct sl_nccl_read *r, const struct sl_nccl_ordered *it)
{
    if (!it->event.handle && it->range.hash)
        tell_by_range(r, it);
    uint64_t i = r->nodes++ % NODES;

    r->node[i].node = it->event.number;
    r->node[i].launch = it->event.handle;
    r->node[i].group = it->event.parent;
}

static int is_captured(const struct sl_nccl_read *r, const struct kernel *k)
{
    return r->nodes && is_node_of(r, (r->nodes - 1) % NODES, k);
}

static void take_launch_end(struct sl_nccl_read *r, const struct sl_nccl_ordered *it)
{
    uint64_t most = r->kernels < KERNELS ? r->kernels : KERNELS;

    for (uint64_t i = 1; i <= most; i++) {
        struct kernel *k = &r->kernel[(r->kernels - i) % KERNELS];

        if (k->launch != it->event.handle || k->thread != it->thread)
            continue;
        if (!k->about)
            k->about = sl_launches_add(r->opt.launches, it->thread, k->start_ns, it->ns);
        k->end_ns = it->ns;
        if (k->about && k->work.first.record.parts == SL_NCCL_RECORD_CE)
            k->about->what = SL_LAUNCH_COPIES;
        k->is_captured = is_captured(r, k);
        if (!k->is_reported)
            guess(r, k);
        if (k->work.calls)
            tell(r, k);
        if (k->is_captured)
            k->about = NULL; /* collectives of later replays say nothing about this call */
        return;
    }
}

/* NCCL 2.29 and later report neither the launch nor the collective of a Broadcast. Its kernel is
 * launched between its call and the end of the group. If the group has several communicators, it is
 * not known which of them launches when. The launch of other calls is reported, perhaps later and
 * on another thread. */
static void take_group_end(struct sl_nccl_read *r, const struct sl_nccl_ordered *it)
{
    static const char *const not_reported[] = {"Broadcast", NULL};
    struct kernel *k = &r->kernel[r->kernels % KERNELS];
    const struct sl_nccl_event *last = NULL;
    const struct sl_nccl_call *call;

    for (uint64_t i = 1; (call = sl_nccl_calls_back(&r->calls, i)); i++) {
        if (call->event.parent != it->event.handle)
            continue;
        if (!sl_nccl_is_one_of(call->event.func, not_reported))
            return;
        if (last && call->event.record.aux != last->record.aux) {
            r->lost++;
            return;
        }
        last = last ? last : &call->event;
    }
    if (!last)
        return;
    r->kernels++;
    *k = (struct kernel){.group = it->event.handle,
                         .tasks = it->event.handle, /* collectives are not reported */
                         .start_ns = last->record.stamp,
                         .end_ns = it->ns,
                         .thread = it->thread,
                         .work.comm = last->record.aux};
    k->about = sl_launches_add(r->opt.launches, it->thread, last->record.stamp, it->ns);
    if (k->about)
        k->about->what = SL_LAUNCH_NCCL_KERNELS;
    k->is_captured = is_captured(r, k);
    guess(r, k);
    tell(r, k);
}

/* Returns the end of the last span of the thread, 0 if there is none. */
static uint64_t last_end(const struct sl_nccl_read *r, uint32_t thread)
{
    uint64_t most = r->kernels < KERNELS ? r->kernels : KERNELS;

    for (uint64_t i = 1; i <= most; i++)
        if (r->kernel[(r->kernels - i) % KERNELS].thread == thread)
            return r->kernel[(r->kernels - i) % KERNELS].end_ns;
    return 0;
}

/* NCCL 2.27 reports the collectives of a kernel when it has launched the kernel, and neither the
 * launch nor the calls. The kernel was launched since the begin of the range that is open, and
 * since the kernel before. */
static void take_tasks(struct sl_nccl_read *r, const struct sl_nccl_ordered *it)
{
    uint64_t from = last_end(r, it->thread);
    struct kernel *k = &r->kernel[r->kernels++ % KERNELS];

    if (from < it->range.start_ns)
        from = it->range.start_ns;
    if (it->ns - from > LAUNCH_NS)
        from = it->ns - LAUNCH_NS;
    *k = (struct kernel){.start_ns = from,
                         .end_ns = it->ns,
                         .tasks = it->event.handle,
                         .thread = it->thread,
                         .is_by_tasks = 1,
                         .work.comm = it->event.record.aux};
    k->about = sl_launches_add(r->opt.launches, it->thread, from, it->ns);
    if (k->about)
        k->about->what = SL_LAUNCH_NCCL_KERNELS;
}

/* ---- collectives and messages ---- */

/* Returns the kernel of a collective or message, or NULL. The kernels of a group run in the order
 * of their launches, and NCCL reports their collectives in this order. */
static struct kernel *kernel_of(struct sl_nccl_read *r, const struct sl_nccl_ordered *it,
                                const struct sl_nccl_call *call)
{
    uint64_t most = r->kernels < KERNELS ? r->kernels : KERNELS;
    struct kernel *found = NULL;

    for (uint64_t i = 1; i <= most; i++) {
        struct kernel *k = &r->kernel[(r->kernels - i) % KERNELS];

        if (k->work.comm != it->event.record.aux)
            continue;
        if (it->event.tasks && k->tasks == it->event.tasks)
            return k;
        if (k->tasks || (call ? k->group != call->event.parent : k->thread != it->thread))
            continue;
        if (!it->event.tasks)
            return k;
        if (call || !found)
            found = k;
    }
    return found;
}

/* Keeps a collective or message, whose channels and messages over the network are reported later.
 */
static void keep_task(struct sl_nccl_read *r, const struct sl_nccl_event *e, const struct kernel *k)
{
    const struct sl_nccl_task task = {.handle = e->handle,
                                      .number = e->record.parts == SL_NCCL_RECORD_COLL ? e->number
                                                                                       : UINT64_MAX,
                                      .func = e->func,
                                      .comm = e->record.aux,
                                      .is_left = k->is_left};

    sl_nccl_deep_read_task(&r->deep, &task);
}

static void take_task(struct sl_nccl_read *r, const struct sl_nccl_ordered *it)
{
    const struct sl_nccl_call *call = sl_nccl_calls_find(&r->calls, it->event.parent);
    struct kernel *k = kernel_of(r, it, call);
    struct sl_nccl_call by_range;
    struct sl_nccl_event e = it->event;
    uint64_t whole;

    if (!k) {
        r->lost += !sl_nccl_is_captured(it->event.parent);
        return;
    }
    if (!call && k->is_by_tasks) {
        by_range = sl_nccl_calls_by_range(&r->calls, &r->ranges, it);
        call = &by_range;
    }
    whole = call ? call->whole : e.handle;
    k->tasks = e.tasks;
    if (!k->is_reported) { /* replaces the guess */
        k->is_reported = 1;
        k->work = (struct sl_nccl_work){.comm = k->work.comm};
    }
    if (call) {
        e.func = call->event.func;
        e.dtype = call->event.dtype;
        e.count = call->event.count;
        if (call->is_of_messages)
            e.root = call->event.root;
    }
    if (is_new_call(k, whole)) {
        add_call(k, call, &e);
        tell(r, k);
    }
    keep_task(r, &e, k);
}

/* The copies until the collective's LAUNCH_END belong to it. */
static void take_ce(struct sl_nccl_read *r, const struct sl_nccl_ordered *it)
{
    static const char engine[] = "CE";
    const struct sl_nccl_call *call = sl_nccl_calls_find(&r->calls, it->event.parent);
    struct kernel *k = &r->kernel[r->kernels++ % KERNELS];
    struct sl_nccl_event e = it->event;

    if (call) {
        e.func = call->event.func;
        e.dtype = call->event.dtype;
        e.count = call->event.count;
    }
    e.algorithm = sl_text_table_put(engine, sizeof(engine) - 1);
    *k = (struct kernel){.start_ns = it->ns,
                         .launch = e.handle,
                         .tasks = e.handle,
                         .thread = it->thread,
                         .is_reported = 1,
                         .work.comm = e.record.aux};
    add_call(k, call, &e);
}

/* ---- records ---- */

static void take(struct sl_nccl_read *r, const struct sl_nccl_ordered *it)
{
    struct sl_nccl_deep deep;

    switch (it->event.record.parts) {
    case SL_NCCL_RECORD_CALL:
        sl_nccl_calls_add(&r->calls, it);
        if (!it->range.id)
            mark(r, it);
        break;
    case SL_NCCL_RECORD_LAUNCH:
        take_launch(r, it);
        break;
    case SL_NCCL_RECORD_LAUNCH_END:
        take_launch_end(r, it);
        break;
    case SL_NCCL_RECORD_GROUP_END:
        take_group_end(r, it);
        break;
    case SL_NCCL_RECORD_CE:
        take_ce(r, it);
        break;
    case SL_NCCL_RECORD_NODE:
        take_node(r, it);
        break;
    case SL_NCCL_RECORD_TASKS:
        take_tasks(r, it);
        break;
    case SL_NCCL_RECORD_COLL:
    case SL_NCCL_RECORD_P2P:
        take_task(r, it);
        break;
    case SL_NCCL_RECORD_SENT:
    case SL_NCCL_RECORD_RECEIVED:
    case SL_NCCL_RECORD_CHANNEL:
        memcpy(&deep, &it->event, sizeof(deep));
        sl_nccl_deep_read_record(&r->deep, &r->rows, &deep, it->ns);
        break;
    default:
        break;
    }
}

/* Adds a row for a launch, with the args that its kernel would have. */
static void show(struct sl_nccl_read *r, struct kernel *k)
{
    char text[SL_NCCL_TEXT_MOST], name[SL_TEXT_MAX + 8] = "nccl";
    const struct sl_nccl_event *e = &k->work.first;
    int is_only = k->work.calls == 1;
    size_t length = 0;
    const char *func = is_only ? sl_text_table_get(e->func, &length) : NULL;
    struct sl_nccl_row row = {.track = SL_NCCL_TRACK_CALLS,
                              .start_ns = k->start_ns,
                              .end_ns = k->end_ns,
                              .number = UINT64_MAX};
    uint32_t sizes, id;

    if (!k->work.calls || !is_in_sample(r, k))
        return;
    memcpy(name + 4, func ? func : "Group", func ? length : 5);
    id = sl_nccl_rows_intern(&r->rows, name, 4 + (func ? length : 5));
    length = sl_nccl_describe(text, &k->work, &sizes);
    row.name = id;
    row.args = sl_nccl_rows_intern(&r->rows, text + 1, length - 1);
    if (is_only && e->record.parts == SL_NCCL_RECORD_COLL)
        row.number = e->number;
    sl_nccl_rows_add(&r->rows, &row);
}

/* Shows the launches that have ended. Their collectives are reported in the same pass or in the
 * next, or never. Those of a launch that is not reported never are. */
static void show_launches(struct sl_nccl_read *r)
{
    if (r->kernels - r->shown > KERNELS)
        r->shown = r->kernels - KERNELS;
    while (r->shown < r->kernels) {
        struct kernel *k = &r->kernel[r->shown % KERNELS];

        if (!k->end_ns || (k->launch && !k->is_reported && !k->is_waited_for)) {
            k->is_waited_for = k->end_ns != 0;
            return;
        }
        show(r, k);
        r->shown++;
    }
}

void sl_nccl_read_done(struct sl_nccl_read *r)
{
    for (unsigned i = 0; i < r->order.count; i++)
        take(r, &r->order.entry[r->order.place[i]]);
    r->order.count = 0;
    if (r->opt.shows_launches)
        show_launches(r);
}

void sl_nccl_read_record(struct sl_nccl_read *r, uint32_t thread,
                         const struct sl_lane_record *record, uint64_t ns, int is_nccl_range)
{
    const struct sl_nccl_range *range;
    struct sl_nccl_ordered *it;

    sl_nccl_ranges_record(&r->ranges, thread, record, ns, is_nccl_range);
    if (record->what != SL_LANE_NCCL || record->pairs * 16u != sizeof(it->event))
        return;
    if (r->order.count == SL_NCCL_ORDER)
        sl_nccl_read_done(r);
    it = sl_nccl_order_add(&r->order, ns);
    it->thread = thread;
    memcpy(&it->event, record, sizeof(it->event));
    range = sl_nccl_ranges_open(&r->ranges, thread);
    it->range = range ? *range : (struct sl_nccl_range){0};
}
