/*
 * kineto.c - events -> Kineto JSON text: files, blocks, and the rows.
 *
 * A row is its kept text and a few numbers. Whoever reads this for speed: write_row() and what it
 * calls run once or more per event, everything behind sl_kineto_text() and sl_kineto_introduce()
 * once per shape, thread or stream.
 *
 * Threads: one owner. Memory: fixed areas mapped at creation, and the text cache under its cap.
 */
#include <errno.h>
#include <string.h>

#include "base/pages.h"
#include "base/stats.h"
#include "write/json.h"
#include "write/kineto_internal.h"

#define DEFAULT_CAP_BYTES (8u << 20)

/* libkineto's: times are relative to a moment that all ranks of a job agree on without talking. */
#define BASE_PERIOD_S 7889238u
#define BILLION       1000000000u

/* ---- blocks ---- */

static void hand_over(struct sl_kineto *k)
{
    if (!k->error && k->used)
        k->error = k->matching
                       ? k->sink->write_matched(k->sink, k->block, k->used, k->match, k->matches)
                       : k->sink->write(k->sink, k->block, k->used);
    k->position += k->used;
    k->used = 0;
    k->matches = 0;
    k->matched = 0;
}

void sl_kineto_put(struct sl_kineto *k, const char *text, size_t length)
{
    if (length > SL_KINETO_BLOCK - k->used)
        hand_over(k);
    if (length <= SL_KINETO_BLOCK) {
        memcpy(k->block + k->used, text, length);
        k->used += length;
    } else if (!k->error) {
        k->error = k->sink->write(k->sink, text, length);
        k->position += length;
    }
}

/* Room for the varying part of a row behind its text, which is put here. */
static char *start_row(struct sl_kineto *k, struct sl_text *text)
{
    k->row.text = text;
    k->row.fields = 0;
    k->row.repeats_time = 0;
    if (text->length + SL_KINETO_TAIL_MAX > SL_KINETO_BLOCK - k->used ||
        k->matches > SL_KINETO_MATCHES - SL_ROW_FIELDS - 1) {
        hand_over(k);
        if (text->length + SL_KINETO_TAIL_MAX > SL_KINETO_BLOCK) {
            sl_kineto_put(k, text->text, text->length);
            hand_over(k);
            k->row.text = NULL; /* too long to be worth marks */
            return k->block;
        }
    }
    k->row.start = k->block + k->used;
    memcpy(k->row.start, text->text, text->length);
    return k->row.start + text->length;
}

/* From `from` to `to` stands a number that differs from row to row. */
static inline char *put_field(struct sl_kineto *k, char *from, char *to)
{
    k->row.field[k->row.fields][0] = from;
    k->row.field[k->row.fields][1] = to;
    k->row.fields++;
    return to;
}

static void end_row(struct sl_kineto *k, char *at)
{
    if (k->matching && k->row.text)
        sl_kineto_match(k, at);
    else
        k->time_frame = 0;
    k->used = (size_t)(at - k->block);
}

char *sl_kineto_time(struct sl_kineto *k, char *at, uint64_t ns)
{
    uint64_t relative = ns > k->base_ns ? ns - k->base_ns : 0;
    uint64_t second = relative / BILLION;
    uint32_t rest = (uint32_t)(relative % BILLION);

    if (second == 0)
        return sl_json_micros(at, relative);
    if (second != k->second) {
        k->second = second;
        k->second_length = (unsigned)(sl_json_u64(k->second_text, second) - k->second_text);
    }
    memcpy(at, k->second_text, sizeof(k->second_text));
    at += k->second_length;
    at = sl_json_three(at, rest / 1000000);
    at = sl_json_three(at, rest / 1000 % 1000);
    *at++ = '.';
    return sl_json_three(at, rest % 1000);
}

/* ---- rows ---- */

static struct sl_text *make_text(struct sl_kineto *k, struct sl_text *text, uint64_t key0,
                                 uint64_t key1, const struct sl_event *ev)
{
    sl_kineto_introduce(k, ev);
    if (!text) {
        struct sl_text *loose = (struct sl_text *)k->scratch;
        char *end = sl_kineto_text(k, loose->text, ev);

        loose->length = (uint32_t)(end - loose->text);
        loose->row.frame = 0;
        text = sl_text_cache_add(&k->cache, key0, key1, loose->text, loose->length);
        if (!text)
            text = loose;
    }
    text->file = k->file;
    return text;
}

static inline struct sl_text *text_for(struct sl_kineto *k, uint64_t key0, uint64_t key1,
                                       const struct sl_event *ev)
{
    struct sl_text *text = sl_text_cache_find(&k->cache, key0, key1);

    if (text && text->file == k->file)
        return text;
    return make_text(k, text, key0, key1, ev);
}

/* The time stands last: the arrow that follows ends in the same digits, and the compressor takes
 * them with the end of the line as one repetition. */
static char *put_times(struct sl_kineto *k, char *at, const struct sl_event *ev)
{
    uint64_t duration = ev->end_ns > ev->start_ns ? ev->end_ns - ev->start_ns : 0;

    at = SL_JSON_LITERAL(at, ",\"dur\":");
    at = put_field(k, at, sl_json_micros(at, duration));
    at = SL_JSON_LITERAL(at, ",\"ts\":");
    at = put_field(k, at, sl_kineto_time(k, at, ev->start_ns));
    k->time_ns = ev->start_ns;
    return SL_JSON_LITERAL(at, "},\n");
}

/* GB/s with three decimals, six below one; nothing where there is no length to divide by. */
static char *put_bandwidth(char *at, const struct sl_event *ev)
{
    uint64_t bytes = ev->u.op.bytes, ns = ev->end_ns - ev->start_ns;

    if (ev->end_ns <= ev->start_ns || bytes > UINT64_MAX / 1000000)
        return at;
    at = SL_JSON_LITERAL(at, ",\"memory bandwidth (GB/s)\":");
    return bytes < ns ? sl_json_millionths(at, bytes * 1000000 / ns)
                      : sl_json_millis(at, bytes * 1000 / ns);
}

static void put_gpu_operation(struct sl_kineto *k, const struct sl_event *ev)
{
    uint64_t key0 = (uint64_t)ev->shape << 8 | ev->kind, key1 = 0;
    char *at;

    if (!ev->shape) {
        key0 |= (uint64_t)ev->name << 32;
        key1 = (uint64_t)ev->device << 56 ^ (uint64_t)ev->context << 32 ^ ev->stream;
    }
    at = start_row(k, text_for(k, key0, key1, ev));
    if (ev->kind == SL_EV_MEMCPY || ev->kind == SL_EV_MEMSET) {
        at = sl_json_u64(at, ev->u.op.bytes);
        if (k->opt.detail != SL_DETAIL_LEAN)
            at = put_bandwidth(at, ev);
        at = SL_JSON_LITERAL(at, ",\"correlation\":");
    }
    at = put_field(k, at, sl_json_u64(at, ev->correlation));
    if (ev->graph) {
        at = sl_json_u32(SL_JSON_LITERAL(at, ",\"graph id\":"), ev->graph);
        if (ev->kind != SL_EV_GRAPH)
            at = sl_json_u64(SL_JSON_LITERAL(at, ",\"graph node id\":"), ev->u.op.graph_node);
    }
    if (ev->flags & SL_EVF_STILL_RUNNING)
        at = SL_JSON_LITERAL(at, ",\"still running\":true");
    end_row(k, put_times(k, SL_JSON_LITERAL(at, "}"), ev));
}

static void put_call(struct sl_kineto *k, const struct sl_event *ev)
{
    char *at = start_row(k, text_for(k, (uint64_t)ev->u.call.cbid << 8 | ev->kind,
                                     (uint64_t)ev->name << 32 | ev->thread, ev));

    at = put_field(k, at, sl_json_u64(at, ev->correlation));
    if (ev->u.call.result)
        at = sl_json_u32(SL_JSON_LITERAL(at, ",\"result\":"), ev->u.call.result);
    end_row(k, put_times(k, SL_JSON_LITERAL(at, "}"), ev));
}

static void put_overhead(struct sl_kineto *k, const struct sl_event *ev)
{
    struct sl_text *text = text_for(k, ev->kind, (uint64_t)ev->name << 32 | ev->thread, ev);

    end_row(k, put_times(k, start_row(k, text), ev));
}

static void put_sync(struct sl_kineto *k, const struct sl_event *ev,
                     const struct sl_event_record *record)
{
    uint64_t key0 = (uint64_t)ev->device << 32 | (uint64_t)ev->u.sync.type << 8 | ev->kind;
    char *at = start_row(k, text_for(k, key0, (uint64_t)ev->context << 32 | ev->stream, ev));

    if (record) {
        at = sl_json_u32(SL_JSON_LITERAL(at, ",\"wait_on_stream\":"), record->stream);
        at = sl_json_u64(SL_JSON_LITERAL(at, ",\"wait_on_cuda_event_record_corr_id\":"),
                         record->correlation);
    }
    if (ev->u.sync.event_id)
        at = sl_json_u32(SL_JSON_LITERAL(at, ",\"wait_on_cuda_event_id\":"), ev->u.sync.event_id);
    if (k->opt.detail == SL_DETAIL_FULL && ev->u.sync.event_sync_id)
        at = sl_json_u64(SL_JSON_LITERAL(at, ",\"cuda_event_sync_id\":"), ev->u.sync.event_sync_id);
    if (ev->u.sync.result)
        at = sl_json_u32(SL_JSON_LITERAL(at, ",\"result\":"), ev->u.sync.result);
    at = SL_JSON_LITERAL(at, ",\"correlation\":");
    at = put_field(k, at, sl_json_u64(at, ev->correlation));
    end_row(k, put_times(k, SL_JSON_LITERAL(at, "}"), ev));
}

/* One end of an arrow. */
static void put_arrow(struct sl_kineto *k, const struct sl_event *ev, uint64_t key1, uint64_t ns)
{
    char *at = start_row(k, text_for(k, (uint64_t)ev->flags << 8 | ev->kind, key1, ev));

    at = put_field(k, at, sl_json_u64(at, ev->correlation));
    at = SL_JSON_LITERAL(at, ",\"ts\":");
    at = put_field(k, at, sl_kineto_time(k, at, ns));
    k->row.repeats_time = ns == k->time_ns;
    k->time_ns = ns;
    end_row(k, SL_JSON_LITERAL(at, "},\n"));
}

static void put_flow(struct sl_kineto *k, const struct sl_event *ev)
{
    struct sl_event end = *ev;

    /* The head first: it follows its GPU operation's row, whose time it repeats. */
    end.flags = 0;
    put_arrow(k, &end, (uint64_t)ev->device << 32 | ev->stream, ev->end_ns);
    if (ev->flags & SL_EVF_FLOW_FIRST) {
        end.flags = SL_EVF_FLOW_FIRST;
        put_arrow(k, &end, ev->thread, ev->start_ns);
    }
}

/* ---- waits for events: their record may come later ---- */

static void put_pending(struct sl_kineto *k, int all)
{
    unsigned i, kept = 0;

    for (i = 0; i < k->pending_count; i++) {
        const struct sl_event *ev = &k->pending[i];
        const struct sl_event_record *record = sl_event_join_find(k->join, ev);

        if (all || (record && ev->u.sync.event_sync_id))
            put_sync(k, ev, record);
        else
            k->pending[kept++] = *ev;
    }
    k->pending_count = kept;
}

static void take_sync(struct sl_kineto *k, const struct sl_event *ev)
{
    const struct sl_event_record *record;

    if (ev->u.sync.type != SL_SYNC_EVENT && ev->u.sync.type != SL_SYNC_STREAM_WAIT) {
        put_sync(k, ev, NULL);
        return;
    }
    record = sl_event_join_find(k->join, ev);
    /* By the event's id alone, a better match than the one at hand may still come. */
    if (record && ev->u.sync.event_sync_id) {
        put_sync(k, ev, record);
        return;
    }
    if (k->pending_count == SL_KINETO_PENDING)
        put_pending(k, 1);
    k->pending[k->pending_count++] = *ev;
}

static void take_cuda_event(struct sl_kineto *k, const struct sl_event *ev)
{
    sl_event_join_record(k->join, ev);
    if (k->pending_count && ev->u.sync.event_sync_id)
        put_pending(k, 0);
}

/* ---- the outside ---- */

static void write_row(struct sl_kineto *k, const struct sl_event *ev)
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
        put_call(k, ev);
        break;
    case SL_EV_OVERHEAD:
        put_overhead(k, ev);
        break;
    case SL_EV_SYNC:
        take_sync(k, ev);
        break;
    default:
        break;
    }
}

static void take_event(struct sl_kineto *k, const struct sl_event *ev)
{
    switch (ev->kind) {
    case SL_EV_META_PROCESS:
    case SL_EV_META_THREAD:
    case SL_EV_META_DEVICE:
    case SL_EV_META_CONTEXT:
    case SL_EV_META_STREAM:
        sl_kineto_learn(k, ev);
        return;
    case SL_EV_CUDA_EVENT:
        take_cuda_event(k, ev);
        return;
    case SL_EV_FLOW:
        if (k->sink && k->header_out && k->opt.detail != SL_DETAIL_LEAN)
            put_flow(k, ev);
        return;
    default:
        break;
    }
    if (!k->sink)
        return;
    /* A row without a time has no place in a trace. */
    if (ev->flags & SL_EVF_NO_TIME || ev->start_ns == 0)
        sl_stats_add(SL_STAT_RECORDS_INVALID, 1);
    else
        write_row(k, ev);
}

int sl_kineto_events(struct sl_kineto *k, const struct sl_event *ev, size_t count)
{
    uint64_t before = k->written;
    size_t i;

    for (i = 0; i < count && !k->error; i++)
        take_event(k, &ev[i]);
    sl_stats_add(SL_STAT_EVENTS_WRITTEN, k->written - before);
    return k->error;
}

static size_t areas(struct sl_kineto *k, char *memory)
{
    size_t at = 0;

    k->block = memory + at;
    at += sl_pages_round(SL_KINETO_BLOCK);
    k->scratch = memory + at;
    at += sl_pages_round(SL_KINETO_SCRATCH);
    k->name = memory + at;
    at += sl_pages_round(SL_KINETO_NAME_MAX);
    k->join = (struct sl_event_join *)(memory + at);
    at += sl_pages_round(sizeof(*k->join));
    k->pending = (struct sl_event *)(memory + at);
    at += sl_pages_round(SL_KINETO_PENDING * sizeof(*k->pending));
    k->match = (struct sl_match *)(memory + at);
    at += sl_pages_round(SL_KINETO_MATCHES * sizeof(*k->match));
    k->place = (struct sl_place *)(memory + at);
    at += sl_pages_round(SL_KINETO_NAMES * sizeof(*k->place));
    return at;
}

int sl_kineto_create(struct sl_kineto **out, const struct sl_kineto_options *opt)
{
    struct sl_kineto *k = sl_pages_map(sizeof(*k));
    size_t bytes;
    char *memory;

    if (!k)
        return -ENOMEM;
    k->opt = *opt;
    bytes = areas(k, NULL);
    memory = sl_pages_map(bytes);
    if (!memory)
        goto fail_areas;
    areas(k, memory);
    if (sl_text_cache_init(&k->cache, opt->cap_bytes ? opt->cap_bytes : DEFAULT_CAP_BYTES) != 0)
        goto fail_cache;
    *out = k;
    return 0;

fail_cache:
    sl_pages_unmap(memory, bytes);
fail_areas:
    sl_pages_unmap(k, sizeof(*k));
    return -ENOMEM;
}

void sl_kineto_destroy(struct sl_kineto *k)
{
    struct sl_kineto sizes;

    if (!k)
        return;
    sl_text_cache_destroy(&k->cache);
    sl_pages_unmap(k->block, areas(&sizes, k->block));
    sl_pages_unmap(k, sizeof(*k));
}

int sl_kineto_begin(struct sl_kineto *k, struct sl_sink *sink, const struct sl_trace_meta *meta)
{
    if (k->sink)
        return -EBUSY;
    if (k->meta.pid != meta->pid)
        sl_text_cache_clear(&k->cache); /* the pid is part of kept text */
    k->meta = *meta;
    k->sink = sink;
    k->error = 0;
    k->used = 0;
    k->header_out = 0;
    k->devices_in_header = 0;
    k->written = 0;
    k->pending_count = 0;
    k->file++;
    k->base_ns = meta->opened_ns / BILLION / BASE_PERIOD_S * BASE_PERIOD_S * BILLION;
    k->second = 0;
    k->matching = sink->write_matched != NULL;
    k->matches = 0;
    k->matched = 0;
    k->position = 0;
    k->frame++;
    k->frame_at = 0;
    return 0;
}

int sl_kineto_flush(struct sl_kineto *k)
{
    if (!k->sink || k->error)
        return k->error;
    put_pending(k, 1);
    hand_over(k);
    /* The sync that follows ends the compressor's: nothing before it can be repeated. */
    k->frame++;
    k->frame_at = k->position;
    return k->error;
}

int sl_kineto_end(struct sl_kineto *k, uint64_t closed_ns)
{
    int error;

    if (!k->sink)
        return -EINVAL;
    put_pending(k, 1);
    if (!k->header_out)
        sl_kineto_put_header(k);
    sl_kineto_put_trailer(k, closed_ns);
    hand_over(k);
    error = k->error;
    k->sink = NULL;
    k->error = 0;
    return error;
}

uint64_t sl_kineto_written(const struct sl_kineto *k)
{
    return k->written;
}
