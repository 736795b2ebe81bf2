/*
 * row.c - writes the row of one event.
 *
 * A row consists of its cached text and a few numbers. The functions in this file run at least once
 * per event and must be fast. The only exception is make_text(), which runs once per file for each
 * shape, thread or stream.
 *
 * Threads: one owner. Memory: the writer's block (kineto_internal.h).
 */
#include <string.h>

#include "write/kineto/kineto_internal.h"

char *sl_kineto_row_begin(struct sl_kineto *k, struct sl_text *text)
{
    k->row.text = text;
    k->row.fields = 0;
    k->row.repeats_time = k->row.is_inside = 0;
    if (text->length + SL_KINETO_TAIL_MAX > SL_KINETO_BLOCK - k->used ||
        k->matches > SL_KINETO_MATCHES - SL_ROW_FIELDS - 1) {
        sl_kineto_hand_over(k);
        if (text->length + SL_KINETO_TAIL_MAX > SL_KINETO_BLOCK) {
            sl_kineto_put(k, text->text, text->length);
            sl_kineto_hand_over(k);
            k->row.text = NULL; /* match.c does not search for repetitions in a long row */
            return k->block;
        }
    }
    k->row.start = k->block + k->used;
    memcpy(k->row.start, text->text, text->length);
    return k->row.start + text->length;
}

void sl_kineto_row_end(struct sl_kineto *k, char *at)
{
    if (k->matching && k->row.text)
        sl_kineto_match(k, at);
    else
        k->time_frame = 0;
    k->used = (size_t)(at - k->block);
}

char *sl_kineto_loose(struct sl_kineto *k)
{
    return ((struct sl_text *)k->scratch)->text;
}

struct sl_text *sl_kineto_keep(struct sl_kineto *k, const uint64_t *key, const char *end)
{
    struct sl_text *loose = (struct sl_text *)k->scratch, *kept = NULL;

    loose->length = (uint32_t)(end - loose->text);
    loose->row.frame = 0;
    if (key)
        kept = sl_text_cache_add(&k->cache, key[0], key[1], loose->text, loose->length);
    return kept ? kept : loose;
}

static struct sl_text *make_text(struct sl_kineto *k, struct sl_text *text, uint64_t key0,
                                 uint64_t key1, const struct sl_event *ev)
{
    const uint64_t key[2] = {key0, key1};

    sl_kineto_introduce(k, ev);
    if (!text)
        text = sl_kineto_keep(k, key, sl_kineto_text(k, sl_kineto_loose(k), ev));
    text->file = k->file;
    return text;
}

struct sl_text *sl_kineto_text_for(struct sl_kineto *k, uint64_t key0, uint64_t key1,
                                   const struct sl_event *ev)
{
    struct sl_text *text = sl_text_cache_find(&k->cache, key0, key1);

    if (text && text->file == k->file)
        return text;
    return make_text(k, text, key0, key1, ev);
}

char *sl_kineto_end_at(struct sl_kineto *k, char *at, uint64_t ns)
{
    at = SL_JSON_LITERAL(at, ",\"ts\":");
    at = sl_kineto_field(k, at, sl_kineto_time(k, at, ns));
    k->time_ns = ns;
    return SL_JSON_LITERAL(at, "},\n");
}

/* The time is the last number of the row. The row of a following arrow ends in the same digits, so
 * the compressor finds these digits and the end of the line as one repetition. */
char *sl_kineto_times(struct sl_kineto *k, char *at, const struct sl_event *ev)
{
    uint64_t duration = ev->end_ns > ev->start_ns ? ev->end_ns - ev->start_ns : 0;

    at = SL_JSON_LITERAL(at, ",\"dur\":");
    at = sl_kineto_field(k, at, sl_json_micros(at, duration));
    return sl_kineto_end_at(k, at, ev->start_ns);
}

/* Writes the bandwidth in GB/s with three decimals, or with six decimals if it is below 1 GB/s.
 * Writes nothing if the duration is 0. */
static char *put_bandwidth(struct sl_kineto *k, char *at, const struct sl_event *ev)
{
    uint64_t bytes = ev->u.op.bytes, ns = ev->end_ns - ev->start_ns;
    char *to;

    if (ev->end_ns <= ev->start_ns || bytes > UINT64_MAX / 1000000)
        return at;
    at = SL_JSON_LITERAL(at, ",\"memory bandwidth (GB/s)\":");
    to = bytes < ns ? sl_json_millionths(at, bytes * 1000000 / ns)
                    : sl_json_millis(at, bytes * 1000 / ns);
    return sl_kineto_field(k, at, to);
}

static void put_gpu_operation(struct sl_kineto *k, const struct sl_event *ev)
{
    const struct sl_kineto_call *call = sl_kineto_call_of(k, ev->correlation);
    uint64_t key0 = (uint64_t)ev->shape << 8 | ev->kind, key1 = 0;
    char *at;

    k->collective = call && ev->kind == SL_EV_KERNEL ? call->collective : 0;
    if (!ev->shape) {
        key0 |= (uint64_t)ev->name << 32;
        key1 = (uint64_t)ev->device << 56 ^ (uint64_t)ev->context << 32 ^ ev->stream;
    } else {
        key1 = k->collective;
    }
    at = sl_kineto_row_begin(k, sl_kineto_text_for(k, key0, key1, ev));
    if (ev->kind == SL_EV_MEMCPY || ev->kind == SL_EV_MEMSET) {
        at = sl_kineto_u64(k, at, ev->u.op.bytes);
        if (k->opt.detail != SL_DETAIL_LEAN)
            at = put_bandwidth(k, at, ev);
        at = SL_JSON_LITERAL(at, ",\"correlation\":");
    }
    at = sl_kineto_u64(k, at, ev->correlation);
    if (call && call->op)
        at = sl_kineto_put_external(k, at, call->op);
    if (k->collective)
        at = sl_kineto_put_comm(k, at, call->op);
    at = sl_kineto_put_launched(k, at, ev);
    if (ev->graph) {
        at = sl_json_u32(SL_JSON_LITERAL(at, ",\"graph id\":"), ev->graph);
        if (ev->kind != SL_EV_GRAPH)
            at = sl_kineto_put_node(k, at, ev->u.op.graph_node);
    }
    if (ev->flags & SL_EVF_STILL_RUNNING)
        at = SL_JSON_LITERAL(at, ",\"still running\":true");
    sl_kineto_row_end(k, sl_kineto_times(k, SL_JSON_LITERAL(at, "}"), ev));
}

static void put_call(struct sl_kineto *k, const struct sl_event *ev,
                     const struct sl_output_edges *edges)
{
    char *at =
        sl_kineto_row_begin(k, sl_kineto_text_for(k, (uint64_t)ev->u.call.cbid << 8 | ev->kind,
                                                  (uint64_t)ev->name << 32 | ev->thread, ev));

    at = sl_kineto_u64(k, at, ev->correlation);
    if (ev->u.call.op) {
        at = sl_kineto_put_external(k, at, ev->u.call.op);
        sl_kineto_expect(k, ev);
    }
    if (ev->u.call.result)
        at = sl_json_u32(SL_JSON_LITERAL(at, ",\"result\":"), ev->u.call.result);
    if (ev->flags & SL_EVF_LAUNCH)
        at = sl_kineto_put_launched(k, at, ev);
    if (edges) {
        at = sl_kineto_put_wait(k, at, edges->by);
        if (ev->u.call.range)
            at = sl_kineto_put_range_name(k, at, ev->u.call.range, ev->range_numbers);
        sl_kineto_row_end(k, sl_kineto_put_line(k, at, ev));
        at = sl_kineto_put_edges(k, edges);
    } else {
        at = SL_JSON_LITERAL(at, "}");
    }
    sl_kineto_row_end(k, sl_kineto_times(k, at, ev));
}

static void put_overhead(struct sl_kineto *k, const struct sl_event *ev)
{
    struct sl_text *text =
        sl_kineto_text_for(k, ev->kind, (uint64_t)ev->name << 32 | ev->thread, ev);

    sl_kineto_row_end(k, sl_kineto_times(k, sl_kineto_row_begin(k, text), ev));
}

/* Returns 1 if the rows of the wait and of its event record must not name their streams. HTA
 * rejects a trace in which a stream waits for itself. HTA also treats two streams with the same
 * number in different contexts as one stream. */
static int has_common_names(const struct sl_event *wait, const struct sl_event_record *record)
{
    return record->context == wait->context &&
           (wait->u.sync.type != SL_SYNC_STREAM_WAIT || record->stream != wait->stream);
}

static char *put_record(struct sl_kineto *k, char *at, const struct sl_event *wait,
                        const struct sl_event_record *record)
{
    if (has_common_names(wait, record)) {
        at = sl_kineto_u32(k, SL_JSON_LITERAL(at, ",\"wait_on_stream\":"), record->stream);
        return sl_kineto_u64(k, SL_JSON_LITERAL(at, ",\"wait_on_cuda_event_record_corr_id\":"),
                             record->correlation);
    }
    at = sl_json_u32(SL_JSON_LITERAL(at, ",\"wait_on_context\":"), record->context);
    at = sl_kineto_u32(k, SL_JSON_LITERAL(at, ",\"wait_on_context_stream\":"), record->stream);
    return sl_kineto_u64(k, SL_JSON_LITERAL(at, ",\"wait_on_context_record_corr_id\":"),
                         record->correlation);
}

void sl_kineto_put_sync(struct sl_kineto *k, const struct sl_event *ev,
                        const struct sl_event_record *record)
{
    uint64_t key0 = (uint64_t)ev->device << 32 | (uint64_t)ev->u.sync.type << 8 | ev->kind;
    char *at = sl_kineto_row_begin(
        k, sl_kineto_text_for(k, key0, (uint64_t)ev->context << 32 | ev->stream, ev));

    if (record)
        at = put_record(k, at, ev, record);
    if (ev->u.sync.event_id) {
        at = sl_kineto_u32(k, SL_JSON_LITERAL(at, ",\"wait_on_cuda_event_id\":"),
                           ev->u.sync.event_id);
    }
    if (k->opt.detail == SL_DETAIL_FULL && ev->u.sync.event_sync_id) {
        at = sl_kineto_u64(k, SL_JSON_LITERAL(at, ",\"cuda_event_sync_id\":"),
                           ev->u.sync.event_sync_id);
    }
    if (ev->u.sync.result)
        at = sl_json_u32(SL_JSON_LITERAL(at, ",\"result\":"), ev->u.sync.result);
    at = sl_kineto_u64(k, SL_JSON_LITERAL(at, ",\"correlation\":"), ev->correlation);
    sl_kineto_row_end(k, sl_kineto_times(k, SL_JSON_LITERAL(at, "}"), ev));
}

void sl_kineto_put_end(struct sl_kineto *k, struct sl_text *text, uint64_t arrow, uint64_t ns)
{
    char *at = sl_kineto_u64(k, sl_kineto_row_begin(k, text), arrow);

    k->row.repeats_time = ns == k->time_ns;
    sl_kineto_row_end(k, sl_kineto_end_at(k, at, ns));
}

static void put_arrow(struct sl_kineto *k, const struct sl_event *ev, uint64_t key1, uint64_t arrow,
                      uint64_t ns)
{
    uint64_t key0 = (uint64_t)ev->flags << 8 | ev->kind;

    sl_kineto_put_end(k, sl_kineto_text_for(k, key0, key1, ev), arrow, ns);
}

void sl_kineto_flow(struct sl_kineto *k, const struct sl_event *ev)
{
    struct sl_event end = *ev;

    /* The head of the arrow is written first, because it follows the row of its GPU operation and
     * repeats the time of that row. */
    end.flags = 0;
    put_arrow(k, &end, (uint64_t)ev->device << 32 | ev->stream, ev->correlation,
              ev->u.flow.head_ns);
    if (ev->flags & SL_EVF_FLOW_FIRST) {
        end.flags = SL_EVF_FLOW_FIRST;
        put_arrow(k, &end, ev->thread, ev->correlation, ev->start_ns);
    }
}

void sl_kineto_flow_back(struct sl_kineto *k, const struct sl_event *ev)
{
    struct sl_event end = *ev;

    end.flags = SL_EVF_FLOW_FIRST;
    put_arrow(k, &end, ev->thread, ev->arrow, ev->start_ns);
    end.flags = 0;
    end.thread = (uint32_t)ev->u.flow.head_thread;
    put_arrow(k, &end, end.thread, ev->arrow, ev->u.flow.head_ns);
}

/* ---- all rows ---- */

void sl_kineto_row(struct sl_kineto *k, const struct sl_event *ev,
                   const struct sl_output_edges *edges)
{
    if (!k->header_out) {
        k->header_out = 1;
        sl_kineto_put_header(k);
    }
    k->written++;
    switch (ev->kind) {
    case SL_EV_KERNEL:
    case SL_EV_MEMCPY:
    case SL_EV_MEMSET:
    case SL_EV_GRAPH:
        put_gpu_operation(k, ev);
        break;
    case SL_EV_RUNTIME:
    case SL_EV_DRIVER:
        put_call(k, ev, edges);
        break;
    case SL_EV_OVERHEAD:
        put_overhead(k, ev);
        break;
    case SL_EV_CPU_OP:
        sl_kineto_op(k, ev);
        break;
    case SL_EV_NVTX_RANGE:
    case SL_EV_NVTX_RANGE_MARK:
    case SL_EV_NVTX_RANGE_GPU:
        sl_kineto_note(k, ev);
        break;
    case SL_EV_SYNC:
        if (ev->u.sync.type == SL_SYNC_EVENT || ev->u.sync.type == SL_SYNC_STREAM_WAIT)
            sl_kineto_wait(k, ev);
        else
            sl_kineto_put_sync(k, ev, NULL);
        break;
    default:
        break;
    }
}
