/*
 * pipeline.c - passes events from CUPTI buffers to the writer's ring.
 *
 * Ranges are passed on before the CUPTI records of the same time, and facts about graphs before the
 * graphs' launches. The message that all records up to a time were delivered is pushed last.
 *
 * Threads: the recorder thread, unless pipeline.h says "any". Memory: the pipeline's.
 */
#include "pipeline/pipeline.h"

#include <errno.h>

#include "base/clock.h"
#include "base/stats.h"
#include "collect/cupti/buffer.h"
#include "collect/cupti/graph_nodes.h"
#include "event/ring.h"
#include "pipeline/pipeline_state.h"

/* The edge engine uses 48 bytes of its share for each event until a delivery message covers the
 * event. So a message is requested after one event per 512 bytes of the share, which leaves room
 * for a message that is late. */
#define EVENTS_PER_DELIVERY_SHARE 512

static int shows_use(const struct sl_event *ev)
{
    return ev->kind != SL_EV_META_PROCESS && ev->kind != SL_EV_META_THREAD &&
           ev->kind != SL_EV_META_DEVICE && ev->kind != SL_EV_OVERHEAD;
}

/* The assembler's sink. */
int sl_pipeline_assembled(void *user, const struct sl_event *ev)
{
    struct sl_pipeline *p = user;
    struct sl_event tied;

    if (!p->used && shows_use(ev))
        sl_pipeline_meet_use(p);
    if (sl_pipeline_is_meta(ev)) {
        sl_pipeline_ranges_thread(p, ev);
        return sl_outlet_meta(p, ev);
    }
    tied = *ev;
    sl_pipeline_ranges_event(p, &tied, sl_pipeline_ops_event(p, &tied));
    if (tied.kind == SL_EV_FLOW)
        sl_pipeline_arrow(p, &tied);
    if (tied.kind == SL_EV_OVERHEAD && (!p->any_row || p->opening.kind) &&
        p->early_count < SL_PIPELINE_EARLY_ROWS) {
        p->early[p->early_count++] = tied;
        return 0;
    }
    p->any_row = 1;
    if (!p->opening.kind)
        sl_outlet_early_rows(p);
    sl_pipeline_ops_launch(p, &tied);
    sl_outlet_row(p, &tied);
    return 0;
}

static void take_stamped(struct sl_pipeline *p, const struct sl_event *ev)
{
    if ((ev->flags & SL_EVF_LAUNCH) && !sl_outlet_in_window(p, ev)) {
        /* The kinds may be turned off before this launch's GPU operation is recorded. Without the
         * flag, the assembler neither waits for the operation nor counts the operation as lost. */
        struct sl_event call = *ev;

        call.flags &= (uint16_t)~SL_EVF_LAUNCH;
        sl_assemble_event(p->assemble, &call, p->now_ns);
        return;
    }
    sl_assemble_event(p->assemble, ev, p->now_ns);
}

/* The decoder's sink. */
void sl_pipeline_decoded(void *user, const struct sl_event *ev)
{
    struct sl_pipeline *p = user;
    struct sl_event real;

    if (!p->opt.clock->is_mixed || sl_pipeline_is_meta(ev)) {
        take_stamped(p, ev);
        return;
    }
    real = *ev;
    if (sl_cupti_clock_to_real(p->opt.clock, &real.start_ns) ||
        sl_cupti_clock_to_real(p->opt.clock, &real.end_ns))
        sl_stats_add(SL_STAT_RECORDS_OTHER_CLOCK, 1);
    else
        take_stamped(p, &real);
}

/* Pushes facts about the nodes of graphs before any record of the graphs' launches. The facts about
 * a huge graph could fill the ring. So when the ring is half full, this function leaves the other
 * facts for the next call. */
static void take_nodes(struct sl_pipeline *p)
{
    while (p->edges && !sl_pipeline_is_crowded(p) &&
           (p->node.kind || sl_graph_nodes_next(&p->node))) {
        if (sl_ring_push_control(p->ring, &p->node))
            return;
        p->node.kind = SL_EV_NONE;
    }
}

void sl_pipeline_set_layout(struct sl_pipeline *p, const struct sl_cupti_layout *layout)
{
    p->layout = layout;
    sl_decode_set_layout(p->decode, layout);
}

size_t sl_pipeline_buffer(struct sl_pipeline *p, const uint8_t *data, size_t valid)
{
    size_t records;

    p->now_ns = sl_clock_monotonic();
    sl_pipeline_lanes_look(p, data, valid);
    sl_pipeline_lanes_read(p);
    take_nodes(p);
    records = sl_decode_buffer(p->decode, data, valid, sl_pipeline_decoded, p);
    sl_writer_wake(p->writer);
    return records;
}

uint64_t sl_pipeline_waiting(const struct sl_pipeline *p)
{
    return sl_assemble_waiting(p->assemble);
}

/* Repeats the last delivery message if the assembler has since released events that it held at the
 * time of that message. */
static void deliver_rest(struct sl_pipeline *p)
{
    if (p->told_ns < p->complete_ns && p->told_ns < sl_assemble_held_ns(p->assemble))
        sl_pipeline_delivered(p, p->complete_ns);
}

void sl_pipeline_tick(struct sl_pipeline *p)
{
    struct sl_assemble_counts counts;

    sl_pipeline_lanes_read(p);
    sl_assemble_tick(p->assemble, sl_clock_monotonic());
    deliver_rest(p);
    sl_assemble_get_counts(p->assemble, &counts);
    sl_stats_set(SL_STAT_NESTED_DROPPED, counts.nested_dropped);
    sl_stats_set(SL_STAT_LATE_OUTER, counts.late_outer);
    sl_stats_set(SL_STAT_NOT_READY, counts.not_ready);
    sl_stats_set(SL_STAT_DUPLICATES, counts.duplicates);
    sl_stats_set(SL_STAT_GPU_WITHOUT_CALL, counts.gpu_without_call);
    sl_stats_set(SL_STAT_CALL_WITHOUT_GPU, counts.call_without_gpu);
    sl_stats_set(SL_STAT_CORRELATION_WRAPS, counts.wraps);
    if (sl_ring_used(p->ring))
        sl_writer_wake(p->writer);
}

void sl_pipeline_flush(struct sl_pipeline *p)
{
    sl_decode_settle(p->decode, SL_PIPELINE_NEVER, sl_pipeline_decoded, p);
    sl_assemble_flush(p->assemble);
    sl_pipeline_tick(p);
}

void sl_pipeline_without_cupti(struct sl_pipeline *p)
{
    sl_decode_without_library(p->decode);
}

/* ---- delivery ---- */

/* Counts lost records. If a record is missing, a wait may seem to have waited for a wrong
 * operation. */
static uint64_t records_lost(void)
{
    static const enum sl_stat reasons[] = {
        SL_STAT_RECORDS_INVALID,           SL_STAT_DROPPED_CUPTI,
        SL_STAT_DROPPED_NO_BUFFER,         SL_STAT_DROPPED_RING,
        SL_STAT_DROPPED_RECORDS_DISCARDED, SL_STAT_UNDELIVERED_BUFFERS,
        SL_STAT_UNDELIVERED_AT_EXIT,       SL_STAT_RECORDS_OTHER_CLOCK,
    };
    uint64_t sum = 0;

    for (size_t i = 0; i < sizeof(reasons) / sizeof(*reasons); i++)
        sum += sl_stats_get(reasons[i]);
    return sum;
}

void sl_pipeline_kinds_on(struct sl_pipeline *p, int anew)
{
    const struct sl_event ev = {.kind = SL_EV_KINDS_ON, .start_ns = sl_clock_now()};

    if (anew && p->edges && sl_ring_push(p->ring, &ev))
        /* a lost fact counts as a lost record, because both have the same effect on edges */
        sl_stats_add(SL_STAT_DROPPED_RING, 1);
    p->kinds_on = 1;
}

void sl_pipeline_kinds_off(struct sl_pipeline *p)
{
    p->kinds_on = 0;
}

void sl_pipeline_gap(struct sl_pipeline *p, uint64_t from_ns, uint64_t until_ns)
{
    const struct sl_event ev = {.kind = SL_EV_GAP, .start_ns = from_ns, .end_ns = until_ns};

    /* The other profiler records GPU work, so a file is written even if it has only operators and
     * ranges. */
    sl_pipeline_use(p);
    if (sl_ring_push_control(p->ring, &ev))
        sl_stats_add(SL_STAT_DROPPED_RING, 1);
    sl_writer_wake(p->writer);
}

int sl_pipeline_delivered(struct sl_pipeline *p, uint64_t complete_ns)
{
    sl_decode_settle(p->decode, complete_ns, sl_pipeline_decoded, p);
    sl_assemble_complete(p->assemble, complete_ns);
    uint64_t lost = records_lost(), held_ns = sl_assemble_held_ns(p->assemble);
    struct sl_event ev = {.kind = SL_EV_DELIVERED,
                          .end_ns = complete_ns < held_ns ? complete_ns : held_ns};

    if (p->ranges)
        sl_ranges_complete(p->ranges, ev.end_ns);
    if (p->ops)
        sl_ops_complete(p->ops, ev.end_ns);
    if (!p->edges)
        return 0;
    if (p->complete_ns < complete_ns)
        p->complete_ns = complete_ns;
    if (lost != p->lost || sl_cupti_pool_is_discarding() || p->opt.cupti->hides_drops)
        ev.flags = SL_EVF_RECORDS_LOST;
    if (sl_ring_push(p->ring, &ev))
        return -ENOBUFS;
    p->lost = lost;
    p->since_delivery = 0;
    if (p->told_ns < ev.end_ns)
        p->told_ns = ev.end_ns;
    sl_writer_wake(p->writer);
    return 0;
}

int sl_pipeline_wants_delivery(const struct sl_pipeline *p)
{
    return p->edges && p->since_delivery > sl_pipeline_share(p->opt.config, SL_SHARE_EDGES) /
                                               EVENTS_PER_DELIVERY_SHARE;
}

size_t sl_pipeline_queued(const struct sl_pipeline *p)
{
    return sl_ring_used(p->ring);
}

int sl_pipeline_is_crowded(const struct sl_pipeline *p)
{
    return sl_ring_used(p->ring) > sl_ring_slots(p->ring) / 2;
}

uint32_t sl_pipeline_lost_window(const struct sl_pipeline *p, uint64_t *renew_ns)
{
    return sl_writer_lost_window(p->writer, renew_ns);
}

uint32_t sl_pipeline_full_window(const struct sl_pipeline *p)
{
    return sl_writer_full_window(p->writer);
}

int sl_pipeline_is_shut(const struct sl_pipeline *p)
{
    return sl_writer_is_shut(p->writer);
}

void sl_pipeline_last(struct sl_pipeline *p, char *path, size_t path_size, uint64_t *windows)
{
    sl_writer_last(p->writer, path, path_size, windows);
}
