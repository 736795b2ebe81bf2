/*
 * outstanding.c - examines the buffers that CUPTI has not returned. This file counts the records in
 * these buffers, and finds out whether all records of a window have arrived, and up to which time
 * all records have arrived.
 *
 * Threads: the recorder thread, or the exiting thread once it has cut off the recorder thread. Any
 * thread may call sl_outstanding_look(). Makes no call of CUPTI. Memory: see session.h. The buffers
 * belong to the pool, and CUPTI may be writing to the buffers meanwhile.
 */
#include "session/session.h"

#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/stats.h"
#include "collect/cupti/buffer.h"

/* Time until an early flush. The flush is early if the writer holds many events whose sync edges
 * are not known yet. The edges are found only once the writer knows up to which time all records
 * have arrived. */
#define EARLY_FLUSH_NS (20 * SL_NS_PER_MS)
/* CUPTI may write a record to its buffer up to this long after the record's end time. */
#define STAMP_SLACK_NS (2 * SL_NS_PER_MS)

struct sl_ownership_buffers sl_outstanding_buffers(void)
{
    uint64_t turn = sl_cupti_pool_turn();

    return (struct sl_ownership_buffers){.turn = turn, .count = sl_cupti_pool_lent(turn)};
}

struct look {
    const struct sl_cupti_layout *layout;
    struct sl_decode_held held;
};

static void look_at(void *user, const uint8_t *data, size_t size)
{
    struct look *look = user;

    sl_decode_look(look->layout, data, size, &look->held);
}

struct sl_decode_held sl_outstanding_look(const struct sl_session *s, uint64_t turn)
{
    struct look look = {sl_cupti_api_layout(s->opt.cupti), {0}};

    sl_cupti_pool_look(turn, look_at, &look);
    return look.held;
}

int sl_outstanding_is_complete(const struct sl_session *s, struct sl_ownership_buffers buffers,
                               size_t *records)
{
    struct sl_decode_held held = sl_outstanding_look(s, buffers.turn);

    *records = held.records;
    /* A buffer that looks empty does not count as complete, because some CUPTI versions may write a
     * record to a buffer only when they return the buffer. */
    return !held.unfinished && (buffers.count != 0) == (held.records != 0) &&
           !sl_pipeline_waiting(s->pipeline);
}

/* ---- a window's end ---- */

void sl_outstanding_begin_drain(struct sl_session *s)
{
    s->outstanding.drain_turn = sl_cupti_pool_turn();
    s->outstanding.drain_back = 0;
}

/* A window is drained if CUPTI has returned all buffers that it held at the window's end, and if
 * the GPU operations of all launches in the window have arrived. Two consecutive checks must have
 * this result, because a thread may be descheduled after it has stamped a call's end and before it
 * writes the call's record. */
int sl_outstanding_is_drained(struct sl_session *s)
{
    struct sl_outstanding *o = &s->outstanding;

    if (s->ownership.state == SL_OWN_TAKEN_OVER) /* CUPTI returns our buffers to another client */
        return 1;
    if (!sl_cupti_pool_all_back(o->drain_turn) || sl_pipeline_waiting(s->pipeline))
        o->drain_back = 0;
    else
        o->drain_back++;
    return o->drain_back >= 2;
}

/* ---- marks, which show up to which time all records have arrived ---- */

/* The number of the last request is read after the time. So records that ended before `ns` are in
 * buffers that CUPTI has requested by now. */
struct sl_outstanding_mark sl_outstanding_mark_now(uint64_t ns)
{
    return (struct sl_outstanding_mark){.ns = ns, .turn = sl_cupti_pool_turn()};
}

void sl_outstanding_add_mark(struct sl_session *s, struct sl_outstanding_mark mark)
{
    struct sl_outstanding *o = &s->outstanding;

    if (o->marks < SL_OUTSTANDING_MARKS)
        o->mark[o->marks++] = mark;
}

/* Returns whether all records in buffers that were requested up to number `turn` have arrived.
 * CUPTI reserves a record's place in a buffer at the launch, and does not return the buffer before
 * the record is complete. So once CUPTI has returned the buffers that it held at the flush, all
 * records that ended before the flush have arrived. CUPTI need not have returned buffers without
 * records, because only later records will be written to such buffers. */
static int is_all_in(const struct sl_session *s, uint64_t turn)
{
    uint64_t written_off = s->outstanding.written_off_turn;

    if (sl_cupti_pool_missing(turn) == sl_cupti_pool_missing(written_off))
        return 1;
    return sl_outstanding_look(s, turn).records == sl_outstanding_look(s, written_off).records;
}

void sl_outstanding_deliver(struct sl_session *s)
{
    struct sl_outstanding *o = &s->outstanding;
    uint64_t now = sl_clock_monotonic();
    unsigned in = 0;

    if (sl_pipeline_wants_delivery(s->pipeline) && s->flush_due_ns > now + EARLY_FLUSH_NS)
        s->flush_due_ns = now + EARLY_FLUSH_NS;
    /* Two consecutive checks are needed, because a thread may be about to write its first record to
     * a buffer that looks empty. */
    for (unsigned i = 0; i < o->marks; i++) {
        struct sl_outstanding_mark *mark = &o->mark[i];

        mark->back = (i == 0 || mark[-1].back) && is_all_in(s, mark->turn) ? mark->back + 1 : 0;
        in += mark->back >= 2;
    }
    if (!in || sl_pipeline_delivered(s->pipeline, o->mark[in - 1].ns - STAMP_SLACK_NS))
        return;
    o->marks -= in;
    memmove(o->mark, o->mark + in, o->marks * sizeof(*o->mark));
}

/* ---- buffers that CUPTI never returned ---- */

void sl_outstanding_tell_missing(struct sl_session *s, uint64_t turn,
                                 const struct sl_decode_held *held)
{
    unsigned missing = sl_cupti_pool_missing(turn);

    if (!missing)
        return;
    s->outstanding.written_off_turn = turn;
    /* CUPTI requested these buffers in advance and never wrote a record to them, so no record is
     * lost. */
    if (held->records == 0 && sl_pipeline_waiting(s->pipeline) == 0)
        return;
    /* The window gets a file even if it has no events, so that the file reports the loss. */
    if (held->of_use)
        sl_pipeline_use(s->pipeline);
    sl_stats_add(SL_STAT_UNDELIVERED_BUFFERS, missing);
    /* CUPTI may be late, or another tool may have replaced our callbacks. We cannot distinguish the
     * two. */
    sl_log_once(&s->outstanding.missing_said, SL_LOG_WARN,
                "CUPTI did not return %u buffer%s in time: the %zu records in them are lost; if "
                "another profiler runs in this process, run one at a time",
                missing, missing == 1 ? "" : "s", held->records);
}
