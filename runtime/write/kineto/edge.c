/*
 * edge.c - edges: a row for each, an arrow for those that were waited for, and what a call's
 * row tells of its wait.
 *
 * An edge's row is a metadata row, which has no time and which readers of traces pass over, on the
 * track of its destination. Its args are the object that `syncline edges --json` prints, but that
 * names of GPU operations, which are long and recur too rarely for the compressor to find them
 * again, are numbers: a file has a row for each that its edges use. What edges between the same two
 * streams and threads have in common stands first, as in every row.
 *
 * Threads: one owner. Memory: the block; texts in the cache.
 */
#include "base/json.h"
#include "write/kineto/kineto_internal.h"

/* Numbers of arrows, apart from correlation ids, and exact where a reader takes them for doubles.
 */
#define FIRST_ARROW (1ull << 52)

/* Numbers of names that are not interned. */
#define COPY_NAME   (1u << 31)
#define MEMSET_NAME (3u << 30)
#define GRAPH_NAME  UINT32_MAX

/* The first byte of a text's key: kinds of rows that no event has. */
enum {
    EDGE = SL_EV_KIND_COUNT,
    NAME,
    TAIL,
    HEAD_AT_CALL,
    HEAD_AT_OPERATION
};

static char *put_text(char *at, const char *text)
{
    return sl_json_raw(at, text, strlen(text));
}

/* ,"key":number or null */
#define PUT_NUMBER(at, key, known, value)                                                          \
    ((known) ? sl_json_u64(SL_JSON_LITERAL(at, ",\"" key "\":"), (value))                          \
             : SL_JSON_LITERAL(at, ",\"" key "\":null"))

/* Names of GPU operations by number: kernels' are interned, what copies and memsets are called
 * stands in their shape. */
static uint32_t name_of(const struct sl_kineto *k, const struct sl_edge_op *op)
{
    const struct sl_shape *s = NULL;

    if (op->kind == SL_EV_GRAPH)
        return GRAPH_NAME;
    if (op->kind != SL_EV_KERNEL)
        return (op->kind == SL_EV_MEMCPY ? COPY_NAME : MEMSET_NAME) | op->shape;
    if (k->opt.shapes)
        s = sl_shape_get(k->opt.shapes, op->shape);
    return s && s->name ? s->name : op->name;
}

static void introduce_name(struct sl_kineto *k, const struct sl_edge_op *op)
{
    const uint64_t key[2] = {NAME, name_of(k, op)};
    struct sl_text *text = sl_text_cache_find(&k->cache, key[0], key[1]);
    char *at = sl_kineto_loose(k);

    if (text && text->file == k->file)
        return;
    if (!text) {
        at = sl_json_u32(SL_JSON_LITERAL(at, "{\"ph\":\"M\",\"name\":\"sync_name\",\"pid\":"),
                         k->meta.pid);
        at = sl_json_u64(SL_JSON_LITERAL(at, ",\"tid\":0,\"id\":"), key[1]);
        at = SL_JSON_LITERAL(at, ",\"args\":{\"name\":\"");
        at = sl_kineto_operation_name(k, at, op->kind, op->shape, op->name);
        text = sl_kineto_keep(k, key, SL_JSON_LITERAL(at, "\"}},\n"));
    }
    text->file = k->file;
    sl_kineto_put(k, text->text, text->length);
    k->time_frame = 0; /* it has no time for the next row to repeat */
}

static char *put_call_name(struct sl_kineto *k, char *at, const struct sl_edge *edge)
{
    if (!edge->dst_domain)
        return SL_JSON_LITERAL(at, ",\"dst_name\":null");
    at = SL_JSON_LITERAL(at, ",\"dst_name\":\"");
    at = sl_kineto_call_name(k, at, edge->dst_domain, edge->dst_cbid, edge->dst_name);
    return SL_JSON_LITERAL(at, "\"");
}

static char *text_of_edge(struct sl_kineto *k, char *at, const struct sl_edge *edge)
{
    const struct sl_edge_op *source = &edge->source;
    uint32_t tid = edge->at_start     ? edge->dst_op.stream
                   : edge->dst_thread ? edge->dst_thread
                                      : k->meta.pid;

    at = SL_JSON_LITERAL(at, "{\"ph\":\"M\",\"name\":\"sync_edge\",\"pid\":");
    at = sl_json_u32(at, edge->at_start ? edge->dst_op.device : k->meta.pid);
    at = sl_json_u32(SL_JSON_LITERAL(at, ",\"tid\":"), tid);
    at = put_text(SL_JSON_LITERAL(at, ",\"args\":{\"kind\":\""),
                  sl_edge_kind_name((enum sl_edge_kind)edge->kind));
    at = PUT_NUMBER(SL_JSON_LITERAL(at, "\""), "src_stream", source->stream != SL_STREAM_NONE,
                    source->stream);
    at = PUT_NUMBER(at, "src_device", 1, source->device);
    if (!edge->at_start)
        at = put_call_name(k, at, edge);
    at = put_text(SL_JSON_LITERAL(at, ",\"dst_point\":\""), edge->at_start ? "start" : "end");
    at = PUT_NUMBER(SL_JSON_LITERAL(at, "\""), "dst_thread", edge->dst_thread != 0,
                    edge->dst_thread);
    at = PUT_NUMBER(at, "dst_stream", edge->at_start && edge->dst_op.stream != SL_STREAM_NONE,
                    edge->dst_op.stream);
    at = put_text(SL_JSON_LITERAL(at, ",\"released\":"), edge->released ? "true" : "false");
    at = put_text(SL_JSON_LITERAL(at, ",\"basis\":\""),
                  sl_edge_basis_name((enum sl_edge_basis)edge->basis));
    return SL_JSON_LITERAL(at, "\",\"src_name\":");
}

/* Edges of the same key have the same text. 0: it does not fit into a key. */
static int key_of(const struct sl_edge *edge, uint64_t key[2])
{
    const struct sl_edge_op *from = &edge->source, *to = &edge->dst_op;
    unsigned what =
        edge->kind | edge->basis << 4 | (edge->released != 0) << 6 | (edge->at_start != 0) << 7;

    key[0] = EDGE | (uint64_t)what << 8 | (uint64_t)from->device << 16 |
             (uint64_t)edge->dst_thread << 32;
    key[1] = from->stream;
    if (edge->at_start)
        key[1] |= (uint64_t)to->device << 32 | (uint64_t)to->stream << 40;
    else
        key[1] |= (uint64_t)edge->dst_domain << 32 | (uint64_t)edge->dst_cbid << 40;
    return (edge->at_start ? to->device < 256 && to->stream < 1u << 24
                           : edge->dst_cbid < 1u << 24 && !edge->dst_name);
}

static struct sl_text *text_for_edge(struct sl_kineto *k, const struct sl_edge *edge)
{
    uint64_t key[2];
    int may_keep = key_of(edge, key);
    struct sl_text *text = may_keep ? sl_text_cache_find(&k->cache, key[0], key[1]) : NULL;

    if (text)
        return text;
    return sl_kineto_keep(k, may_keep ? key : NULL, text_of_edge(k, sl_kineto_loose(k), edge));
}

/* Of several operations with the same correlation id, one launch's, which one it is. */
static char *put_nodes(struct sl_kineto *k, char *at, const struct sl_edge *edge)
{
    if (edge->source.graph_node) {
        at = SL_JSON_LITERAL(at, ",\"src_node\":");
        at = sl_kineto_field(k, at, sl_json_u64(at, edge->source.graph_node));
    }
    if (edge->at_start && edge->dst_op.graph_node) {
        at = SL_JSON_LITERAL(at, ",\"dst_node\":");
        at = sl_kineto_field(k, at, sl_json_u64(at, edge->dst_op.graph_node));
    }
    return at;
}

static void put_edge(struct sl_kineto *k, const struct sl_edge *edge)
{
    char *at = sl_kineto_row_begin(k, text_for_edge(k, edge));

    at = sl_kineto_field(k, at, sl_json_u32(at, name_of(k, &edge->source)));
    if (edge->at_start) {
        at = SL_JSON_LITERAL(at, ",\"dst_name\":");
        at = sl_kineto_field(k, at, sl_json_u32(at, name_of(k, &edge->dst_op)));
    }
    at = SL_JSON_LITERAL(at, ",\"src_correlation\":");
    at = sl_kineto_field(k, at, sl_json_u64(at, edge->source.correlation));
    at = SL_JSON_LITERAL(at, ",\"dst_correlation\":");
    at = sl_kineto_field(k, at, sl_json_u64(at, edge->dst_correlation));
    at = SL_JSON_LITERAL(at, ",\"wait_ns\":");
    at = sl_kineto_field(k, at, sl_json_u64(at, edge->wait_ns));
    at = SL_JSON_LITERAL(at, ",\"wake_ns\":");
    at = sl_kineto_field(k, at, sl_json_u64(at, edge->wake_ns));
    at = put_nodes(k, at, edge);
    sl_kineto_row_end(k, SL_JSON_LITERAL(at, "}},\n"));
    k->time_frame = 0;
}

/* ---- arrows ---- */

static struct sl_text *text_for_arrow(struct sl_kineto *k, unsigned what, uint64_t pid,
                                      uint32_t tid)
{
    const uint64_t key[2] = {what, pid << 32 | tid};
    struct sl_text *text = sl_text_cache_find(&k->cache, key[0], key[1]);
    char *at = sl_kineto_loose(k);

    if (text)
        return text;
    at = what == TAIL ? SL_JSON_LITERAL(at, "{\"ph\":\"s\"")
                      : SL_JSON_LITERAL(at, "{\"ph\":\"f\",\"bp\":\"e\"");
    at = SL_JSON_LITERAL(at, ",\"cat\":\"sync\",\"name\":\"sync\",\"pid\":");
    at = sl_json_u64(at, pid);
    at = sl_json_u32(SL_JSON_LITERAL(at, ",\"tid\":"), tid);
    return sl_kineto_keep(k, key, SL_JSON_LITERAL(at, ",\"id\":"));
}

static void put_end(struct sl_kineto *k, struct sl_text *text, uint64_t ns)
{
    char *at = sl_kineto_row_begin(k, text);

    at = sl_kineto_field(k, at, sl_json_u64(at, FIRST_ARROW + k->arrows));
    at = SL_JSON_LITERAL(at, ",\"ts\":");
    at = sl_kineto_field(k, at, sl_kineto_time(k, at, ns));
    k->row.repeats_time = ns == k->time_ns;
    k->time_ns = ns;
    sl_kineto_row_end(k, SL_JSON_LITERAL(at, "},\n"));
}

/* Readers bind an end to the slice that is open at its time: a slice is closed at its own end. */
static uint64_t inside(uint64_t start_ns, uint64_t end_ns)
{
    return end_ns > start_ns ? end_ns - 1 : start_ns;
}

static void put_arrow(struct sl_kineto *k, const struct sl_edge *edge)
{
    const struct sl_edge_op *source = &edge->source;
    uint64_t head =
        edge->at_start ? edge->dst_start_ns : inside(edge->dst_start_ns, edge->dst_end_ns);
    uint64_t tail = inside(source->start_ns, source->end_ns);

    /* The clocks of CPU and GPU may differ by a tick. */
    if (tail > head)
        tail = head > source->start_ns ? head : source->start_ns;
    put_end(k, text_for_arrow(k, TAIL, source->device, source->stream), tail);
    if (edge->at_start)
        put_end(k, text_for_arrow(k, HEAD_AT_OPERATION, edge->dst_op.device, edge->dst_op.stream),
                head);
    else
        put_end(k, text_for_arrow(k, HEAD_AT_CALL, k->meta.pid, edge->dst_thread), head);
    k->arrows++;
}

/* ---- the outside ---- */

int sl_kineto_edge(struct sl_kineto *k, const struct sl_edge *edge, int arrow)
{
    if (!k->sink || k->error)
        return k->error;
    if (!k->header_out) {
        k->header_out = 1;
        sl_kineto_put_header(k);
    }
    introduce_name(k, &edge->source);
    if (edge->at_start)
        introduce_name(k, &edge->dst_op);
    put_edge(k, edge);
    if (arrow && edge->wait_ns && k->opt.detail != SL_DETAIL_LEAN)
        put_arrow(k, edge);
    return k->error;
}

char *sl_kineto_put_wait(struct sl_kineto *k, char *at, const struct sl_edge *by)
{
    at = put_text(SL_JSON_LITERAL(at, ",\"wait_kind\":\""),
                  sl_edge_kind_name((enum sl_edge_kind)by->kind));
    if (by->basis != SL_BASIS_EXACT)
        at = put_text(SL_JSON_LITERAL(at, "\",\"wait_basis\":\""),
                      sl_edge_basis_name((enum sl_edge_basis)by->basis));
    at = SL_JSON_LITERAL(at, "\",\"wait_ns\":");
    at = sl_kineto_field(k, at, sl_json_u64(at, by->wait_ns));
    at = SL_JSON_LITERAL(at, ",\"wake_ns\":");
    at = sl_kineto_field(k, at, sl_json_u64(at, by->wake_ns));
    if (by->wait_ns) {
        at = SL_JSON_LITERAL(at, ",\"released_by\":");
        at = sl_kineto_field(k, at, sl_json_u64(at, by->source.correlation));
    }
    return at;
}
