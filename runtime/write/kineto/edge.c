/*
 * edge.c - writes sync edges (sync/edge.h). An edge that a call waited for is in the args of the
 * call's row, as an element of the array `sync_edges`. The row of a GPU operation was written
 * before its edges were found, so each of its edges is an instant event on the operation's track.
 * So is an edge of a call whose row could not be held. An edge also has an arrow if its destination
 * waited. This file also writes the members about a wait in a call's row.
 *
 * Instant events have no duration, so HTA, torch-tb-profiler and TraceLens ignore them. (TraceLens
 * refuses metadata events with names other than Chrome's five.)
 *
 * A row with edges is made of pieces, each of which has a cached text. The compressor finds each
 * piece in an earlier row, although two such rows are rarely equal. The names of GPU operations are
 * long, so each name is a piece of its own.
 *
 * Threads: one owner. Memory: the writer's block and text cache (kineto_internal.h).
 */
#include <string.h>

#include "write/kineto/kineto_internal.h"

/* The number of the first arrow. The numbers of arrows are larger than all correlation ids, and
 * stay exact if a reader stores them as doubles. */
#define FIRST_ARROW (1ull << 52)

/* Bits that are set in a name's number if the name is not interned. */
#define COPY_NAME   (1u << 31)
#define MEMSET_NAME (3u << 30)
#define GRAPH_NAME  UINT32_MAX

/* First bytes of the keys of cached texts. Such keys are used for rows that are made from no event
 * and so have no event kind. */
enum {
    EDGE = SL_EV_KIND_COUNT,
    EDGE_IN_CALL,
    END_OF_CALL,
    SRC_NAME,
    DST_NAME,
    TAIL,
    HEAD_AT_CALL,
    HEAD_AT_OPERATION
};

/* Edges are added to a call's row until their text has this many bytes. Readers bound the length of
 * a row. */
#define EDGES_IN_CALL_BYTES ((uint64_t)256 * 1024)

static char *put_text(char *at, const char *text)
{
    return sl_json_raw(at, text, strlen(text));
}

/* Writes ,"key": and then the number, or null if the number is not known. */
#define PUT_NUMBER(at, key, known, value)                                                          \
    ((known) ? sl_json_u64(SL_JSON_LITERAL(at, ",\"" key "\":"), (value))                          \
             : SL_JSON_LITERAL(at, ",\"" key "\":null"))

/* Returns the number of a GPU operation's name. The name of a kernel is interned. The name of a
 * copy or memset is made from its shape. */
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

/* Begins a piece inside a row. Returns the place after its constant text. */
static char *begin_piece(struct sl_kineto *k, struct sl_text *text)
{
    char *at = sl_kineto_row_begin(k, text);

    k->row.is_inside = 1;
    return at;
}

/* Begins a piece that has the name of a GPU operation. */
static char *begin_name(struct sl_kineto *k, unsigned what, const struct sl_edge_op *op)
{
    const uint64_t key[2] = {what, name_of(k, op)};
    struct sl_text *text = sl_text_cache_find(&k->cache, key[0], key[1]);
    char *at = sl_kineto_loose(k);

    if (!text) {
        at = what == SRC_NAME ? SL_JSON_LITERAL(at, ",\"src_name\":\"")
                              : SL_JSON_LITERAL(at, ",\"dst_name\":\"");
        at = sl_kineto_operation_name(k, at, op->kind, op->shape, op->name);
        text = sl_kineto_keep(k, key, SL_JSON_LITERAL(at, "\""));
    }
    return begin_piece(k, text);
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

    at = SL_JSON_LITERAL(
        at, "{\"ph\":\"i\",\"s\":\"t\",\"cat\":\"sync\",\"name\":\"sync_edge\",\"pid\":");
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
    return SL_JSON_LITERAL(at, "\",\"dst_correlation\":");
}

/* Makes the key under which an edge's constant text is cached. Returns 0 if the edge does not fit
 * into a key. */
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
    return (edge->at_start ? to->stream < 1u << 24 : edge->dst_cbid < 1u << 24 && !edge->dst_name);
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

/* Writes the piece with the source. Graph nodes distinguish operations with the same correlation
 * id. */
static char *put_source(struct sl_kineto *k, const struct sl_edge_op *source)
{
    char *at = begin_name(k, SRC_NAME, source);

    at = sl_kineto_u64(k, SL_JSON_LITERAL(at, ",\"src_correlation\":"), source->correlation);
    if (source->graph_node)
        at = sl_kineto_u64(k, SL_JSON_LITERAL(at, ",\"src_node\":"), source->graph_node);
    return at;
}

static char *put_times(struct sl_kineto *k, char *at, const struct sl_edge *edge)
{
    at = sl_kineto_u64(k, SL_JSON_LITERAL(at, ",\"wait_ns\":"), edge->wait_ns);
    return sl_kineto_u64(k, SL_JSON_LITERAL(at, ",\"wake_ns\":"), edge->wake_ns);
}

/* Writes the row of an edge. Its time is inside the destination, but not at the destination's
 * begin, where an arrow may end: the arrow belongs to the destination. */
static void put_edge(struct sl_kineto *k, const struct sl_edge *edge)
{
    uint64_t ns = edge->dst_start_ns + (edge->dst_end_ns > edge->dst_start_ns + 1);
    char *at = sl_kineto_row_begin(k, text_for_edge(k, edge));

    at = sl_kineto_u64(k, at, edge->dst_correlation);
    sl_kineto_row_end(k, put_times(k, at, edge));
    at = put_source(k, &edge->source);
    if (edge->at_start) {
        sl_kineto_row_end(k, at);
        at = begin_name(k, DST_NAME, &edge->dst_op);
        if (edge->dst_op.graph_node)
            at = sl_kineto_u64(k, SL_JSON_LITERAL(at, ",\"dst_node\":"), edge->dst_op.graph_node);
    }
    sl_kineto_row_end(k, sl_kineto_end_at(k, SL_JSON_LITERAL(at, "}"), ns));
}

/* ---- edges in a call's row ---- */

static struct sl_text *text_for_edge_in_call(struct sl_kineto *k, const struct sl_edge *edge,
                                             int is_first)
{
    unsigned what = edge->kind | edge->basis << 5 | (edge->released != 0) << 7;
    const uint64_t key[2] = {EDGE_IN_CALL | (uint64_t)what << 8 |
                                 (uint64_t)edge->source.device << 16 | (uint64_t)is_first << 24,
                             edge->source.stream};
    struct sl_text *text = sl_text_cache_find(&k->cache, key[0], key[1]);
    char *at = sl_kineto_loose(k);

    if (text)
        return text;
    at = put_text(at, is_first ? ",\"sync_edges\":[{\"kind\":\"" : ",{\"kind\":\"");
    at = put_text(at, sl_edge_kind_name((enum sl_edge_kind)edge->kind));
    at = put_text(SL_JSON_LITERAL(at, "\",\"released\":"), edge->released ? "true" : "false");
    at = put_text(SL_JSON_LITERAL(at, ",\"basis\":\""),
                  sl_edge_basis_name((enum sl_edge_basis)edge->basis));
    at = PUT_NUMBER(SL_JSON_LITERAL(at, "\""), "src_device", 1, edge->source.device);
    at = PUT_NUMBER(at, "src_stream", edge->source.stream != SL_STREAM_NONE, edge->source.stream);
    return sl_kineto_keep(k, key, at);
}

char *sl_kineto_put_edges(struct sl_kineto *k, const struct sl_output_edges *edges)
{
    static const uint64_t end_key[2] = {END_OF_CALL, 0};
    uint64_t begin = k->position + k->used;
    struct sl_text *end;
    size_t i;

    for (i = 0; i < edges->count && k->position + k->used - begin < EDGES_IN_CALL_BYTES; i++) {
        const struct sl_edge *edge = &edges->edge[i];
        char *at = begin_piece(k, text_for_edge_in_call(k, edge, i == 0));

        sl_kineto_row_end(k, put_times(k, at, edge));
        at = put_source(k, &edge->source);
        sl_kineto_row_end(k, SL_JSON_LITERAL(at, "}"));
    }
    k->edges_in_call = i;
    end = sl_text_cache_find(&k->cache, end_key[0], end_key[1]);
    if (!end)
        end = sl_kineto_keep(k, end_key, SL_JSON_LITERAL(sl_kineto_loose(k), "]}"));
    return begin_piece(k, end);
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

/* Returns a time inside the slice, because readers attach the end of an arrow to the slice that is
 * open at the end's time. A slice counts as closed at its own end. */
static uint64_t inside(uint64_t start_ns, uint64_t end_ns)
{
    return end_ns > start_ns ? end_ns - 1 : start_ns;
}

static void put_arrow(struct sl_kineto *k, const struct sl_edge *edge)
{
    const struct sl_edge_op *source = &edge->source;
    uint64_t head =
        edge->at_start ? edge->dst_start_ns : inside(edge->dst_start_ns, edge->dst_end_ns);
    uint64_t tail = inside(source->start_ns, source->end_ns), arrow = FIRST_ARROW + k->arrows;
    struct sl_text *text;

    /* The clocks of CPU and GPU may differ by a tick. */
    if (tail > head)
        tail = head > source->start_ns ? head : source->start_ns;
    sl_kineto_put_end(k, text_for_arrow(k, TAIL, source->device, source->stream), arrow, tail);
    text = edge->at_start
               ? text_for_arrow(k, HEAD_AT_OPERATION, edge->dst_op.device, edge->dst_op.stream)
               : text_for_arrow(k, HEAD_AT_CALL, k->meta.pid, edge->dst_thread);
    sl_kineto_put_end(k, text, arrow, head);
    k->arrows++;
}

/* ---- interface ---- */

int sl_kineto_edge(struct sl_kineto *k, const struct sl_edge *edge, int row, int arrow)
{
    if (!k->sink || k->error)
        return k->error;
    if (!k->header_out) {
        k->header_out = 1;
        sl_kineto_put_header(k);
    }
    if (row)
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
    at = sl_kineto_u64(k, SL_JSON_LITERAL(at, "\",\"wait_ns\":"), by->wait_ns);
    at = sl_kineto_u64(k, SL_JSON_LITERAL(at, ",\"wake_ns\":"), by->wake_ns);
    if (by->released && by->wait_ns)
        at = sl_kineto_u64(k, SL_JSON_LITERAL(at, ",\"released_by\":"), by->source.correlation);
    return at;
}

/* ---- rows of waits for events, which name the awaited cudaEventRecord ----
 *
 * The record may arrive after the wait. If another thread made the record, the record may even
 * arrive in a later buffer. So a wait whose record has not arrived is held until all events that
 * ended before the wait have arrived. */

/* Returns a key that is the same for a wait and its event record. The key is the sync id, or the
 * event's id with a bit that distinguishes it from sync ids. A collision is harmless, because
 * matches are checked again. */
static uint64_t wait_key_of(const struct sl_event *ev)
{
    const uint64_t by_event_id = (uint64_t)1 << 63;

    return ev->u.sync.event_sync_id
               ? ev->u.sync.event_sync_id
               : by_event_id | ((uint64_t)ev->context << 32 ^ ev->u.sync.event_id);
}

static void put(struct sl_kineto *k, const struct sl_kineto_wait *wait)
{
    sl_kineto_put_sync(k, &wait->sync, wait->record.correlation ? &wait->record : NULL);
}

/* Examines the first `most` held waits, and writes the waits that ended by `until_ns`. */
static void put_ended(struct sl_kineto *k, unsigned most, uint64_t until_ns)
{
    unsigned kept = 0;

    for (unsigned i = 0; i < k->waits; i++) {
        if (i < most && k->wait[i].sync.end_ns <= until_ns) {
            put(k, &k->wait[i]);
            continue;
        }
        k->wait[kept] = k->wait[i];
        k->wait_key[kept++] = k->wait_key[i];
    }
    k->waits = kept;
}

void sl_kineto_put_waits(struct sl_kineto *k, uint64_t until_ns)
{
    put_ended(k, k->waits, until_ns);
}

void sl_kineto_wait(struct sl_kineto *k, const struct sl_event *ev)
{
    const struct sl_event_record *record = sl_event_join_find(k->join, ev);
    struct sl_kineto_wait *wait;

    if (record && ev->u.sync.event_sync_id) {
        sl_kineto_put_sync(k, ev, record);
        return;
    }
    if (k->waits == SL_KINETO_WAITS)
        put_ended(k, SL_KINETO_WAITS / 2, UINT64_MAX);
    k->wait_key[k->waits] = wait_key_of(ev);
    wait = &k->wait[k->waits++];
    wait->sync = *ev;
    /* The record was found by the event's id and not by a sync id. So a later record that is still
     * before the wait may arrive. */
    wait->record = record ? *record : (struct sl_event_record){0};
}

/* Assigns a record that has just arrived to the wait, if the record is later than the wait's
 * present record and still before the wait. */
static void take_later(struct sl_kineto_wait *wait, const struct sl_event *ev)
{
    const struct sl_event_record record = {
        0, ev->correlation, ev->context, ev->u.sync.event_id, ev->stream, 0};

    if (sl_event_join_fits(&record, &wait->sync) && record.correlation > wait->record.correlation)
        wait->record = record;
}

void sl_kineto_cuda_event(struct sl_kineto *k, const struct sl_event *ev)
{
    uint64_t key = wait_key_of(ev);

    sl_event_join_record(k->join, ev);
    for (unsigned i = 0; i < k->waits; i++) {
        struct sl_kineto_wait *wait = &k->wait[i];
        const struct sl_event_record *record;

        if (k->wait_key[i] != key)
            continue;
        if (!ev->u.sync.event_sync_id) {
            take_later(wait, ev);
            continue;
        }
        if (!(record = sl_event_join_find(k->join, &wait->sync)))
            continue;
        wait->record = *record;
        put(k, wait);
        k->waits--;
        memmove(wait, wait + 1, (k->waits - i) * sizeof(*wait));
        memmove(&k->wait_key[i], &k->wait_key[i + 1], (k->waits - i) * sizeof(k->wait_key[0]));
        i--;
    }
}
