/*
 * kineto.c - writes events as Kineto JSON text. This file begins and ends trace files, and passes
 * each event to the function that writes events of its kind.
 *
 * Threads: one owner. Memory: fixed areas that are mapped at creation, and the text cache, which
 * has a cap.
 */
#include <errno.h>
#include <string.h>

#include "base/pages.h"
#include "base/stats.h"
#include "write/kineto/kineto_internal.h"

#define DEFAULT_CAP_BYTES  (8u << 20)
#define DEFAULT_HELD_BYTES (1u << 20)

/* A constant of libkineto, in seconds. The times in a file are relative to a multiple of this
 * period, so all ranks of a job use the same base without communication. */
#define BASE_PERIOD_S 7889238u
#define BILLION       1000000000u

/* ---- blocks ---- */

void sl_kineto_hand_over(struct sl_kineto *k)
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
        sl_kineto_hand_over(k);
    if (length <= SL_KINETO_BLOCK) {
        memcpy(k->block + k->used, text, length);
        k->used += length;
    } else if (!k->error) {
        k->error = k->sink->write(k->sink, text, length);
        k->position += length;
    }
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

/* ---- interface ---- */

static void take_event(struct sl_kineto *k, const struct sl_event *ev,
                       const struct sl_output_edges *edges)
{
    switch (ev->kind) {
    case SL_EV_META_PROCESS:
    case SL_EV_META_THREAD:
    case SL_EV_META_DEVICE:
    case SL_EV_META_CONTEXT:
    case SL_EV_META_STREAM:
    case SL_EV_META_EVENT:
        sl_kineto_learn(k, ev);
        return;
    case SL_EV_META_NODE:
        sl_captures_tell(&k->captures, ev);
        return;
    case SL_EV_CUDA_EVENT:
        sl_kineto_cuda_event(k, ev);
        return;
    case SL_EV_COLLECTIVE:
        sl_kineto_launched(k, ev);
        return;
    case SL_EV_FLOW:
    case SL_EV_FLOW_BACK:
        if (k->sink && k->header_out && k->opt.detail != SL_DETAIL_LEAN)
            (ev->kind == SL_EV_FLOW ? sl_kineto_flow : sl_kineto_flow_back)(k, ev);
        return;
    case SL_EV_DELIVERED: /* these events arrive here only if edges are off */
    case SL_EV_KINDS_ON:
        return;
    default:
        break;
    }
    /* this event reports the begin of a slice; the whole slice arrives later */
    if (!k->sink || ev->end_ns == SL_END_UNKNOWN)
        return;
    /* The range or operator had ended when the window began. Its begin was passed to the outputs
     * before its end was known. */
    if (ev->flags & SL_EVF_CUT_START && ev->start_ns == ev->end_ns)
        return;
    if (ev->kind == SL_EV_GAP) {
        sl_kineto_put_gap(k, ev->start_ns, ev->end_ns);
        return;
    }
    /* An event without a time cannot be shown. */
    if (ev->flags & SL_EVF_NO_TIME || ev->start_ns == 0)
        sl_stats_add(SL_STAT_RECORDS_NO_TIME, 1);
    else
        sl_kineto_row(k, ev, edges);
}

int sl_kineto_events(struct sl_kineto *k, const struct sl_event *ev, size_t count)
{
    uint64_t before = k->written;
    size_t i;

    for (i = 0; i < count && !k->error; i++) {
        if (k->holds && sl_kineto_may_wait(&ev[i]))
            sl_kineto_hold(k, &ev[i]);
        else
            take_event(k, &ev[i], NULL);
    }
    sl_stats_add(SL_STAT_EVENTS_WRITTEN, k->written - before);
    return k->error;
}

int sl_kineto_call(struct sl_kineto *k, const struct sl_event *ev,
                   const struct sl_output_edges *edges)
{
    uint64_t before = k->written;

    if (!k->error)
        take_event(k, ev, edges);
    sl_stats_add(SL_STAT_EVENTS_WRITTEN, k->written - before);
    return k->error;
}

int sl_kineto_edges(struct sl_kineto *k, const struct sl_output_edges *edges)
{
    size_t in_row;

    if (!k->sink)
        return 0;
    in_row = edges->ends_a_call ? sl_kineto_put_waited(k, edges) : 0;
    for (size_t i = 0; i < edges->count && !k->error; i++) {
        const struct sl_edge *edge = &edges->edge[i];
        int has_row = edge->at_start || edge->dst_domain;

        sl_kineto_edge(k, edge, i >= in_row,
                       has_row && edge->source.start_ns >= edges->from_ns &&
                           edge->source.start_ns < edges->until_ns);
    }
    return k->error;
}

int sl_kineto_complete(struct sl_kineto *k, const struct sl_output_progress *progress)
{
    sl_kineto_put_held(k, progress->calls);
    if (k->sink && !k->error && progress->rows_ns)
        sl_kineto_put_waits(k, progress->rows_ns - 1);
    return k->error;
}

/* Divides `memory` and returns the number of bytes used. If `memory` is NULL, only returns this
 * number. */
static size_t areas(struct sl_kineto *k, char *memory)
{
    size_t at = 0;

#define TAKE(member, count)                                                                        \
    do {                                                                                           \
        k->member = (void *)(memory + at);                                                         \
        at += sl_pages_round((count) * sizeof(*k->member));                                        \
    } while (0)
    TAKE(block, SL_KINETO_BLOCK);
    TAKE(scratch, SL_KINETO_SCRATCH);
    TAKE(name, SL_KINETO_NAME_MAX);
    TAKE(join, 1);
    TAKE(wait, SL_KINETO_WAITS);
    TAKE(wait_key, SL_KINETO_WAITS);
    TAKE(match, SL_KINETO_MATCHES);
    TAKE(call, SL_KINETO_CALLS);
    TAKE(launched, SL_KINETO_COLLECTIVES);
    TAKE(captures.capture, SL_CAPTURES);
    TAKE(place, SL_KINETO_NAMES);
#undef TAKE
    return at;
}

int sl_kineto_create(struct sl_kineto **out, const struct sl_kineto_options *opt)
{
    struct sl_kineto *k = sl_pages_map(sizeof(*k));
    char *memory;

    if (!k)
        return -ENOMEM;
    k->opt = *opt;
    memory = sl_pages_map(areas(k, NULL));
    if (memory)
        areas(k, memory);
    if (!memory ||
        sl_text_cache_init(&k->cache, opt->cap_bytes ? opt->cap_bytes : DEFAULT_CAP_BYTES) != 0 ||
        sl_held_rows_init(&k->held, opt->held_bytes ? opt->held_bytes : DEFAULT_HELD_BYTES) != 0) {
        sl_kineto_destroy(k);
        return -ENOMEM;
    }
    *out = k;
    return 0;
}

void sl_kineto_destroy(struct sl_kineto *k)
{
    struct sl_kineto sizes;

    if (!k)
        return;
    sl_held_rows_free(&k->held);
    sl_text_cache_destroy(&k->cache);
    sl_pages_unmap(k->block, areas(&sizes, k->block));
    sl_pages_unmap(k, sizeof(*k));
}

int sl_kineto_begin(struct sl_kineto *k, struct sl_sink *sink, const struct sl_trace_meta *meta)
{
    if (k->sink)
        return -EBUSY;
    if (k->meta.pid != meta->pid)
        sl_text_cache_clear(&k->cache); /* cached texts contain the pid */
    k->meta = *meta;
    k->sink = sink;
    k->holds = meta->has_edges;
    k->error = 0;
    k->used = 0;
    k->header_out = 0;
    k->devices_in_header = 0;
    k->written = 0;
    k->arrows = 0;
    k->waits = 0;
    k->gaps = 0;
    /* Events that an earlier, failed file lost do not count for this file. The other counters are
     * not reset here. The threads that increment these counters are ahead of the writer thread, and
     * may have counted events of this file already. */
    k->counted[SL_STAT_DROPPED_WRITE] = sl_stats_get(SL_STAT_DROPPED_WRITE);
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
    sl_kineto_put_rank(k);
    sl_kineto_hand_over(k);
    /* The following sync ends the compressor's frame, so text after the sync cannot refer to text
     * before it. */
    k->frame++;
    k->frame_at = k->position;
    return k->error;
}

int sl_kineto_end(struct sl_kineto *k, uint64_t closed_ns)
{
    int error;

    if (!k->sink)
        return -EINVAL;
    sl_kineto_put_held(k, UINT64_MAX);
    sl_kineto_put_waits(k, UINT64_MAX);
    if (!k->header_out)
        sl_kineto_put_header(k);
    sl_kineto_put_trailer(k, closed_ns);
    sl_kineto_hand_over(k);
    error = k->error;
    k->sink = NULL;
    k->holds = 0;
    k->error = 0;
    return error;
}

/* A file with an error accepts no more text. */
void sl_kineto_abandon(struct sl_kineto *k)
{
    if (!k->sink)
        return;
    k->error = k->error ? k->error : -ECANCELED;
    sl_kineto_end(k, k->meta.opened_ns);
}

uint64_t sl_kineto_written(const struct sl_kineto *k)
{
    return k->written - k->waits;
}
