/*
 * node.c - encodes one node as bytes.
 *
 * The field numbers are defined in Chakra's et_def.proto; docs/chakra.md lists them. The encoder
 * uses no protobuf library. A node consists of ten small messages whose names never change. So the
 * encoder copies everything except for the numbers as constant bytes. protobuf-c would build a tree
 * of twenty objects for each node and walk it twice, and nanopb would encode each attribute twice,
 * first to learn its length (bench/chakra_bench.c measures this encoder). The unit test
 * write/chakra/node_test.c compares the result with bytes written by hand.
 *
 * Threads: one owner. Memory: the block of output bytes, which belongs to struct sl_chakra.
 */
#include <string.h>

#include "base/utf8.h"
#include "write/chakra/chakra_internal.h"
#include "write/chakra/wire.h"
#include "write/distributed.h"

/* Field numbers of the protobuf messages. */
enum {
    METADATA_VERSION = 1,
    METADATA_ATTR = 2,
    NODE_ID = 1,
    NODE_NAME = 2,
    NODE_TYPE = 3,
    NODE_DATA_DEPS = 5,
    NODE_START_MICROS = 6,
    NODE_DURATION_MICROS = 7,
    NODE_ATTR = 10
};

#define GAP_NAME    "gap"
#define WAIT_SUFFIX ".wait"

/* `name` must be a string literal, so that the compiler makes constants of everything except for
 * the value. */
#define PUT_INT64(at, field, name, v)                                                              \
    sl_chakra_attribute(at, field, name, sizeof(name) - 1, SL_CHAKRA_INT64, (uint64_t)(v))
#define PUT_BOOL(at, field, name, v)                                                               \
    sl_chakra_attribute(at, field, name, sizeof(name) - 1, SL_CHAKRA_BOOL, (v))
#define PUT_UINT64(at, field, name, v)                                                             \
    sl_chakra_attribute(at, field, name, sizeof(name) - 1, SL_CHAKRA_UINT64, (v))

static inline uint64_t relative(const struct sl_chakra *c, uint64_t ns)
{
    return ns > c->base_ns ? ns - c->base_ns : 0;
}

void sl_chakra_hand_over(struct sl_chakra *c)
{
    if (!c->error && c->used)
        c->error = c->sink->write(c->sink, c->block, c->used);
    c->used = 0;
}

/* Appends the length of the message in c->node and then the message, which ends at `end`. */
static void put_message(struct sl_chakra *c, const char *end)
{
    size_t size = (size_t)(end - c->node);

    if (size + SL_WIRE_VARINT_MAX > SL_CHAKRA_BLOCK - c->used)
        sl_chakra_hand_over(c);
    c->used = (size_t)(sl_wire_varint(c->block + c->used, size) - c->block);
    if (size > SL_CHAKRA_BLOCK - c->used) {
        sl_chakra_hand_over(c);
        if (!c->error)
            c->error = c->sink->write(c->sink, c->node, size);
        return;
    }
    memcpy(c->block + c->used, c->node, size);
    c->used += size;
}

char *sl_chakra_text_attribute(char *at, uint32_t field, const char *name, const char *text)
{
    char clean[4000];
    size_t name_length = strlen(name);
    size_t length = sl_utf8_clean(clean, sizeof(clean), text, strlen(text));
    size_t size = 2 + name_length + 2 + sl_wire_varint_size(length) + length;

    at = sl_wire_varint(at, SL_WIRE_TAG(field, SL_WIRE_BYTES));
    at = sl_wire_varint(at, size);
    at = sl_wire_bytes(at, SL_CHAKRA_NAME, name, name_length);
    return sl_wire_bytes(at, SL_CHAKRA_STRING, clean, length);
}

void sl_chakra_put_header(struct sl_chakra *c)
{
    const struct sl_trace_meta *m = &c->meta;
    char *at = sl_wire_bytes(c->node, METADATA_VERSION, "0.0.4", 5);
    int rank = m->rank, world_size = m->world_size;

    if (m->rank_may_change)
        (void)sl_distributed_rank(&rank, &world_size);

    at = sl_chakra_text_attribute(at, METADATA_ATTR, "host", m->host ? m->host : "");
    at = PUT_INT64(at, METADATA_ATTR, "rank", (int64_t)rank);
    at = PUT_INT64(at, METADATA_ATTR, "world_size", (int64_t)world_size);
    if (c->device < SL_DEVICE_NONE)
        at = PUT_INT64(at, METADATA_ATTR, "device", c->device);
    at =
        PUT_INT64(at, METADATA_ATTR, "clock_base_ns", (int64_t)c->base_ns + c->opt.clock_offset_ns);
    at = sl_chakra_text_attribute(at, METADATA_ATTR, "job", m->job ? m->job : "");
    if (m->run && *m->run)
        at = sl_chakra_text_attribute(at, METADATA_ATTR, "run_id", m->run);
    if (m->run_start_ns)
        at = PUT_INT64(at, METADATA_ATTR, "run_start_ns", (int64_t)m->run_start_ns);
    at = sl_chakra_text_attribute(at, METADATA_ATTR, "syncline_version",
                                  m->syncline_version ? m->syncline_version : "");
    put_message(c, at);
}

/* ---- dependencies ---- */

void sl_chakra_add_dep(struct sl_chakra *c, uint64_t id)
{
    if (id && c->deps < SL_CHAKRA_DEPS)
        c->dep[c->deps++] = id;
}

/* Sorts the dependencies and removes duplicates, because Chakra's readers count a parent as often
 * as it is listed. */
static void sort_deps(struct sl_chakra *c)
{
    size_t gap, i, j, kept = 0;
    uint64_t v;

    for (gap = c->deps / 2; gap; gap /= 2) {
        for (i = gap; i < c->deps; i++) {
            v = c->dep[i];
            for (j = i; j >= gap && c->dep[j - gap] > v; j -= gap)
                c->dep[j] = c->dep[j - gap];
            c->dep[j] = v;
        }
    }
    for (i = 0; i < c->deps; i++)
        if (i == 0 || c->dep[i] != c->dep[i - 1])
            c->dep[kept++] = c->dep[i];
    c->deps = kept;
}

static char *put_deps(struct sl_chakra *c, char *at)
{
    size_t size = 0, i;

    if (c->deps == 0)
        return at;
    sort_deps(c);
    for (i = 0; i < c->deps; i++)
        size += sl_wire_varint_size(c->dep[i]);
    at = sl_wire_varint(at, SL_WIRE_TAG(NODE_DATA_DEPS, SL_WIRE_BYTES));
    at = sl_wire_varint(at, size);
    for (i = 0; i < c->deps; i++)
        at = sl_wire_varint(at, c->dep[i]);
    c->deps = 0;
    return at;
}

/* ---- nodes ---- */

static char *put_name(char *at, const struct sl_chakra_node *n)
{
    size_t length = n->name ? n->name->length : sizeof(GAP_NAME) - 1;
    size_t suffix = n->waits ? sizeof(WAIT_SUFFIX) - 1 : 0;

    at = sl_wire_varint(at, SL_WIRE_TAG(NODE_NAME, SL_WIRE_BYTES));
    at = sl_wire_varint(at, length + suffix);
    memcpy(at, n->name ? n->name->text : GAP_NAME, length);
    memcpy(at + length, WAIT_SUFFIX, suffix);
    return at + length + suffix;
}

static uint64_t micros(uint64_t ns)
{
    return (ns + 500) / 1000;
}

/* Rounds the times to microseconds. The duration itself is not rounded, so that consecutive
 * durations add up to the total time. */
static char *put_micros(char *at, uint64_t start_ns, uint64_t counted_ns, uint64_t end_ns)
{
    if (micros(start_ns))
        at = sl_wire_u64(at, NODE_START_MICROS, micros(start_ns));
    if (micros(end_ns) > micros(counted_ns))
        at = sl_wire_u64(at, NODE_DURATION_MICROS, micros(end_ns) - micros(counted_ns));
    return at;
}

static char *put_gpu_attributes(struct sl_chakra *c, char *at, const struct sl_chakra_node *n)
{
    const struct sl_event *ev = n->ev;

    at = PUT_INT64(at, NODE_ATTR, "stream", ev->stream);
    if (ev->device != c->device)
        at = PUT_INT64(at, NODE_ATTR, "device",
                       ev->device == SL_DEVICE_NONE ? -1 : (int64_t)ev->device);
    if (n->context)
        at = PUT_INT64(at, NODE_ATTR, "context", n->context);
    at = PUT_INT64(at, NODE_ATTR, "delay_ns", n->delay_ns);
    if (n->overlap_ns)
        at = PUT_INT64(at, NODE_ATTR, "overlap_ns", n->overlap_ns);
    if (n->no_launch)
        at = PUT_BOOL(at, NODE_ATTR, "no_launch", 1);
    if (ev->kind == SL_EV_MEMCPY || ev->kind == SL_EV_MEMSET)
        at = PUT_UINT64(at, NODE_ATTR, "tensor_size", ev->u.op.bytes);
    if (n->collective)
        at = sl_chakra_put_collective(at, n->collective);
    return at;
}

/* Writes fields 8 to 10, in order, before our own attributes. */
static char *put_more(struct sl_chakra *c, char *at, const struct sl_event *ev)
{
    if (!c->opt.more || !ev || !sl_chakra_is_outer(ev) || ev->kind == SL_EV_NVTX_RANGE ||
        (!ev->inputs && !ev->u.row.record_function))
        return at;
    return at + c->opt.more(c->opt.more_user, ev, at, SL_CHAKRA_MORE_MAX);
}

/* Writes the attributes that distinguish a row from other rows with the same name. */
static char *put_row_attributes(struct sl_chakra *c, char *at, const struct sl_chakra_node *n)
{
    const struct sl_event *ev = n->ev;

    if (!sl_chakra_is_outer(ev)) {
        at = PUT_INT64(at, NODE_ATTR, "correlation", ev->correlation & c->opt.correlation_mask);
        return n->first && sl_chakra_is_poll(ev) && ev->u.call.queries > 1
                   ? PUT_INT64(at, NODE_ATTR, "queries", ev->u.call.queries)
                   : at;
    }
    if (ev->kind == SL_EV_NVTX_RANGE)
        return ev->value_type == SL_NOTE_RECORD_FUNCTION
                   ? PUT_INT64(at, NODE_ATTR, "rf_id", ev->u.note.value)
                   : at;
    if (ev->u.row.record_function)
        at = PUT_INT64(at, NODE_ATTR, "rf_id", ev->u.row.record_function);
    if (ev->u.row.sequence >= 0)
        at = PUT_INT64(at, NODE_ATTR, "seq_id", ev->u.row.sequence);
    return at;
}

void sl_chakra_put_offset(struct sl_chakra *c, uint32_t thread)
{
    const struct sl_chakra_node gap = {
        .thread = thread, .start_ns = c->base_ns, .counted_ns = c->base_ns, .end_ns = c->from_ns};

    c->offset_id = sl_chakra_put_node(c, &gap);
    c->host_ns = c->from_ns;
    c->count.cpu_nodes++;
    c->count.gap_nodes++;
}

uint64_t sl_chakra_put_node(struct sl_chakra *c, const struct sl_chakra_node *n)
{
    uint64_t id = ++c->count.nodes;
    uint64_t start = relative(c, n->start_ns), end = relative(c, n->end_ns);
    int gpu = n->ev && !sl_chakra_is_cpu(n->ev);
    char *at = sl_wire_u64(c->node, NODE_ID, id);

    at = put_name(at, n);
    at = sl_wire_u64(at, NODE_TYPE, sl_chakra_node_type(n->collective));
    at = put_deps(c, at);
    at = put_micros(at, start, gpu ? start : relative(c, n->counted_ns), end);
    if (n->first)
        at = put_more(c, at, n->ev);
    at = PUT_BOOL(at, NODE_ATTR, "is_cpu_op", !gpu);
    if (gpu)
        at = put_gpu_attributes(c, at, n);
    else
        at = PUT_INT64(at, NODE_ATTR, "tid",
                       c->opt.thread ? c->opt.thread(c->opt.thread_user, n->thread)
                                     : (int64_t)n->thread);
    if (n->ev)
        at = put_row_attributes(c, at, n);
    at = PUT_INT64(at, NODE_ATTR, "start_ns", start);
    at = PUT_INT64(at, NODE_ATTR, "duration_ns", end > start ? end - start : 0);
    put_message(c, at);
    return id;
}
