/* scenario_rows.c - converts words of a scenario to events. Only the test's thread uses this
 * file. */
#include "sync/scenario_rows.h"

#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))

static const struct scenario_verb verbs[] = {
    {"kernel", 211, SL_EV_KERNEL, 0},
    {"graph", 311, SL_EV_KERNEL, 0},
    {"copy", 31, SL_EV_MEMCPY, 0},
    {"copy_async", 41, SL_EV_MEMCPY, 0},
    {"copy_peer", 160, SL_EV_MEMCPY, 0},
    {"graph_copy", 311, SL_EV_MEMCPY, 0},
    {"memset", 49, SL_EV_MEMSET, 0},
    {"ran", 0, SL_EV_KERNEL, 0},
    {"device_sync", 165, SL_EV_SYNC, SL_SYNC_CONTEXT},
    {"stream_sync", 131, SL_EV_SYNC, SL_SYNC_STREAM},
    {"stream_query", 132, SL_EV_SYNC, SL_SYNC_STREAM},
    {"stream_wait", 147, SL_EV_SYNC, SL_SYNC_STREAM_WAIT},
    {"event_sync", 137, SL_EV_SYNC, SL_SYNC_EVENT},
    {"event_query", 138, SL_EV_SYNC, SL_SYNC_EVENT},
    {"record", 135, SL_EV_CUDA_EVENT, 0},
    {"context_record", 543, SL_EV_CUDA_EVENT, 0},
    {"context_wait", 544, 0, 0},
    {"free", 22, 0, 0},
    {"reset", 164, 0, 0},
    {"capture_begin", 315, 0, 0},
    {"capture_end", 319, 0, 0},
    {"queue_full", 0, SL_EV_OVERHEAD, SL_OVERHEAD_QUEUE_FULL},
    {"module_load", 0, SL_EV_OVERHEAD, SL_OVERHEAD_MODULE_LOAD},
    {"function_load", 0, SL_EV_OVERHEAD, SL_OVERHEAD_FUNCTION_LOAD},
};

/* Words of a scenario for kinds of memory, indexed by CUpti_ActivityMemoryKind. */
static const char *const memories[] = {"unknown", "pageable", "pinned",        "device",
                                       "array",   "managed",  "device_static", "managed_static"};

/* Words for flags of streams. The index plus 1 is CUPTI's value. */
static const char *const stream_flags[] = {"blocking", "non_blocking", "legacy"};

/* Words for facts about graph nodes. The index plus 1 is the value of enum sl_node_fact. */
static const char *const facts[] = {"created",         "graph",    "copied", "depends",
                                    "depends_no_more", "captured", "work",   "lost"};

static int find(const char *const *words, size_t count, const char *word)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(words[i], word) == 0)
            return (int)i;
    return -1;
}

const struct scenario_verb *scenario_verb_find(const char *word)
{
    for (size_t i = 0; i < COUNT(verbs); i++)
        if (strcmp(verbs[i].word, word) == 0)
            return &verbs[i];
    return NULL;
}

int scenario_memory_find(const char *word)
{
    return find(memories, COUNT(memories), word);
}

static int is_operation(const struct scenario_verb *verb)
{
    return verb->kind == SL_EV_KERNEL || verb->kind == SL_EV_MEMCPY || verb->kind == SL_EV_MEMSET;
}

/* Returns the CUpti_ActivityMemcpyKind of a copy between memories of these kinds. */
static uint32_t copy_kind(const struct scenario_row *row)
{
    enum {
        DEVICE = 3
    };

    if (row->peer)
        return 10;
    if (row->src_memory == DEVICE)
        return row->dst_memory == DEVICE ? 8 : 2;
    return row->dst_memory == DEVICE ? 1 : 9;
}

static uint32_t shape_of(const struct scenario_verb *verb, const struct scenario_row *row,
                         struct sl_shape_table *shapes)
{
    struct sl_shape shape = {
        .kind = verb->kind, .src_memory = row->src_memory, .dst_memory = row->dst_memory};

    if (verb->kind == SL_EV_KERNEL)
        return 0;
    if (verb->kind == SL_EV_MEMCPY)
        shape.copy_kind = copy_kind(row);
    return sl_shape_put(shapes, &shape);
}

static void make_call(const struct scenario_verb *verb, const struct scenario_row *row,
                      struct sl_event *ev)
{
    *ev = (struct sl_event){.kind = SL_EV_RUNTIME,
                            .correlation = row->id,
                            .start_ns = row->from_ns,
                            .end_ns = row->to_ns,
                            .thread = row->thread};
    if (is_operation(verb))
        ev->flags = SL_EVF_LAUNCH;
    ev->u.call.cbid = verb->cbid;
    ev->u.call.result = row->failed ? 700 : 0;
}

static void make_record(const struct scenario_verb *verb, const struct scenario_row *row,
                        struct sl_shape_table *shapes, struct sl_event *ev)
{
    *ev = (struct sl_event){.kind = verb->kind,
                            .correlation = row->id,
                            .device = (uint16_t)row->device,
                            .context = row->context,
                            .stream = row->stream};
    if (verb->kind == SL_EV_OVERHEAD) {
        ev->start_ns = row->from_ns;
        ev->end_ns = row->to_ns;
        ev->u.overhead.type = verb->sync;
        return;
    }
    if (is_operation(verb)) {
        ev->name = row->name;
        ev->start_ns = row->ran_from_ns;
        ev->end_ns = row->ran_to_ns;
        ev->shape = shape_of(verb, row, shapes);
        ev->graph = row->node ? 4 : 0;
        ev->u.op.graph_node = row->node;
        return;
    }
    if (verb->kind == SL_EV_SYNC) {
        ev->start_ns = row->from_ns;
        ev->end_ns = row->to_ns;
        ev->u.sync.type = verb->sync;
        ev->u.sync.result = row->pending ? SL_RESULT_NOT_READY : 0;
    }
    ev->u.sync.event_id = row->event;
    ev->u.sync.event_sync_id = row->sync_id;
}

size_t scenario_row_events(const struct scenario_verb *verb, const struct scenario_row *row,
                           struct sl_shape_table *shapes, struct sl_event out[2])
{
    size_t count = 0;

    if (verb->cbid && !row->record_only)
        make_call(verb, row, &out[count++]);
    if (verb->kind && !row->call_only && (row->ran || !is_operation(verb)))
        make_record(verb, row, shapes, &out[count++]);
    return count;
}

int scenario_stream_event(const struct scenario_row *row, const char *flag, struct sl_event *out)
{
    int flags = find(stream_flags, COUNT(stream_flags), flag);

    *out = (struct sl_event){
        .kind = SL_EV_META_STREAM, .context = row->context, .stream = row->stream};
    out->u.meta.flags = (uint32_t)(flags + 1);
    return flags < 0 ? -1 : 0;
}

int scenario_node_event(const char *fact, uint64_t node, uint64_t other, struct sl_event *out)
{
    int what = find(facts, COUNT(facts), fact);

    *out = (struct sl_event){.kind = SL_EV_META_NODE, .fact = (uint32_t)(what + 1), .graph = 4};
    out->u.node.id = node;
    out->u.node.other = other;
    return what < 0 ? -1 : 0;
}
