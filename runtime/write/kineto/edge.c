/*
 * edge.c - writes sync edges (sync/edge.h). Each edge has a row, and also an arrow if its
 * destination waited. This file also writes the members about a wait in a call's row.
 *
 * An edge's row is a metadata event on the track of its destination. The row has no time, and trace
 * readers skip it. The args of the row are the object that `syncline edges --json` prints, with one
 * exception: the names of GPU operations are numbers, because these names are long and occur too
 * far apart for the compressor to find the repetitions. The file has a row for each name that its
 * edges use. The members that similar edges share are at the front of the row, as in every row.
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
    NAME,
    TAIL,
    HEAD_AT_CALL,
    HEAD_AT_OPERATION
};

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
    k->time_frame = 0; /* this row has no time, so the next row cannot repeat its time */
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

/* Writes the graph nodes of the source and of the destination. The ids of these nodes distinguish
 * operations with the same correlation id. */
static char *put_nodes(struct sl_kineto *k, char *at, const struct sl_edge *edge)
{
    if (edge->source.graph_node) {
        at = sl_kineto_u64(k, SL_JSON_LITERAL(at, ",\"src_node\":"), edge->source.graph_node);
    }
    if (edge->at_start && edge->dst_op.graph_node) {
        at = sl_kineto_u64(k, SL_JSON_LITERAL(at, ",\"dst_node\":"), edge->dst_op.graph_node);
    }
    return at;
}

static void put_edge(struct sl_kineto *k, const struct sl_edge *edge)
{
    char *at = sl_kineto_row_begin(k, text_for_edge(k, edge));

    at = sl_kineto_u32(k, at, name_of(k, &edge->source));
    if (edge->at_start) {
        at = sl_kineto_u32(k, SL_JSON_LITERAL(at, ",\"dst_name\":"), name_of(k, &edge->dst_op));
    }
    at = sl_kineto_u64(k, SL_JSON_LITERAL(at, ",\"src_correlation\":"), edge->source.correlation);
    at = sl_kineto_u64(k, SL_JSON_LITERAL(at, ",\"dst_correlation\":"), edge->dst_correlation);
    at = sl_kineto_u64(k, SL_JSON_LITERAL(at, ",\"wait_ns\":"), edge->wait_ns);
    at = sl_kineto_u64(k, SL_JSON_LITERAL(at, ",\"wake_ns\":"), edge->wake_ns);
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
