/*
 * cupti_calls.c - the collector's calls of CUPTI, and the buffers that come of them.
 *
 * Collector thread only. Every call stands between sl_collector_enter_cupti() and
 * sl_collector_leave_cupti(), so that an exiting process can tell a collector that works from one
 * that CUPTI keeps. While another client has CUPTI none is made that changes or flushes anything.
 */
#include "session/session.h"

#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "base/futex.h"
#include "base/log.h"
#include "base/stats.h"
#include "collect/cupti/buffer.h"
#include "collect/cupti/fields.h"

/* CUPTI gives back buffers that are not full only when told to. Four times a second, so that with
 * the writer's frame of a second at most, events reach the disk in little more than that. */
#define FLUSH_NS (250 * SL_COLLECTOR_MS)
/* While a window closes somebody waits for its file. */
#define DRAIN_FLUSH_NS (20 * SL_COLLECTOR_MS)
/* After a forced flush CUPTI's thread still has to bring the buffers. */
#define FORCED_WAIT_NS (100 * SL_COLLECTOR_MS)
/* The writer holds much that it could be done with. */
#define EARLY_FLUSH_NS (20 * SL_COLLECTOR_MS)
/* The counter's rate is known 50 ms after it was first measured (base/clock.c). */
#define RATE_NS (100 * SL_COLLECTOR_MS)
/* A record's end may be stamped this long before the record is in its buffer. */
#define STAMP_SLACK_NS (2 * SL_COLLECTOR_MS)
/* An ending process may have lost its time to others. The file still has its own, see
 * recorder/exit.c. */
#define STOOD_STILL_NS (150 * SL_COLLECTOR_MS)

/* CUPTI may be gone already when the exit has given us up. */
int sl_collector_enter_cupti(struct sl_collector *c)
{
    uint32_t expected = SL_PHASE_OURS;

    if (atomic_compare_exchange_strong_explicit(&c->phase, &expected, SL_PHASE_CUPTI,
                                                memory_order_acq_rel, memory_order_acquire))
        return 0;
    return -ECANCELED;
}

/* Acquire and release pair with those in cut_off(): exactly one of the two threads has the
 * pipeline. */
int sl_collector_leave_cupti(struct sl_collector *c)
{
    uint32_t expected = SL_PHASE_CUPTI;

    if (atomic_compare_exchange_strong_explicit(&c->phase, &expected, SL_PHASE_OURS,
                                                memory_order_acq_rel, memory_order_acquire))
        return 0;
    return -ECANCELED;
}

/* At a copy: the exiting thread may have what is the collector's by the time CUPTI returns. */
int sl_collector_look_at_clock(struct sl_collector *c)
{
    struct sl_cupti_clock clock = c->clock;

    if (sl_collector_enter_cupti(c))
        return -ECANCELED;
    sl_cupti_clock_look(&clock, c->opt.cupti->fn.GetTimestamp);
    if (sl_collector_leave_cupti(c))
        return -ECANCELED;
    c->clock = clock;
    return 0;
}

/* By CUPTI's clock, which another tool may have set. */
static int look_for_another(struct sl_collector *c)
{
    enum sl_cupti_clock_domain before = c->clock.domain;

    if (sl_collector_look_at_clock(c))
        return -ECANCELED;
    if (c->clock.domain != before)
        return sl_collector_suspect(c, before);
    c->sure_ns = c->clock.last_ns;
    return 0;
}

int sl_collector_flush(struct sl_collector *c, int forced)
{
    const struct sl_cupti_api *api = c->opt.cupti;
    uint64_t now = sl_clock_monotonic();
    struct sl_collector_mark mark;

    c->flush_due_ns = now + (c->window.state == SL_WIN_DRAINING ? DRAIN_FLUSH_NS : FLUSH_NS);
    if (c->handed_over)
        return 0;
    if (look_for_another(c))
        return -ECANCELED;
    /* The turn behind the time: what ended before it is in a buffer that was asked for by now. */
    mark = (struct sl_collector_mark){.ns = c->clock.last_ns, .turn = sl_cupti_pool_turn()};
    sl_collector_note_silence(c);
    if (forced && (c->taken_over || sl_collector_is_silent(c)))
        return 0;
    forced = forced && sl_collector_is_force_of_use(c);
    if (sl_collector_enter_cupti(c))
        return -ECANCELED;
    sl_cupti_check(api,
                   api->fn.ActivityFlushAll(forced ? SL_CUPTI_FLUSH_FORCED : SL_CUPTI_FLUSH_PLAIN),
                   "ActivityFlushAll");
    if (sl_collector_leave_cupti(c))
        return -ECANCELED;
    if (c->marks < SL_COLLECTOR_MARKS)
        c->mark[c->marks++] = mark;
    return 0;
}

static int count_drops(struct sl_collector *c, const struct sl_cupti_buffer *b)
{
    const struct sl_cupti_api *api = c->opt.cupti;
    size_t dropped = 0;
    int err;

    if (c->handed_over)
        return 0; /* those are the other client's */
    if (sl_collector_enter_cupti(c))
        return -ECANCELED;
    err = sl_cupti_check(api, api->fn.ActivityGetNumDroppedRecords(b->context, b->stream, &dropped),
                         "ActivityGetNumDroppedRecords");
    if (sl_collector_leave_cupti(c))
        return -ECANCELED;
    if (!err && dropped) {
        sl_stats_add(SL_STAT_DROPPED_CUPTI, dropped);
        sl_cupti_dump_dropped(c->dump, dropped);
        sl_log_once(&c->drop_said, SL_LOG_WARN,
                    "CUPTI dropped %zu records: its buffers were full; the trace has gaps and says "
                    "how many; raise SYNCLINE_CUPTI_MEMORY",
                    dropped);
    }
    return 0;
}

/* Another tool may have given CUPTI a clock of its own: our windows are cut by ours. */
int sl_collector_check_clock(struct sl_collector *c)
{
    enum sl_cupti_clock_domain before = c->clock.domain;

    if (c->handed_over)
        return 0;
    if (sl_collector_look_at_clock(c))
        return -ECANCELED;
    sl_cupti_dump_clock(c->dump, c->clock.offset_ns, c->clock.uncertainty_ns);
    if (c->clock.domain == SL_CUPTI_CLOCK_UNKNOWN)
        sl_log_once(&c->clock_said, SL_LOG_WARN,
                    "CUPTI's clock is %lld us off CLOCK_REALTIME: another tool set its clock; "
                    "windows may begin and end at the wrong place; profile with one tool at a time",
                    (long long)(c->clock.offset_ns / 1000));
    return c->clock.domain != before ? sl_collector_suspect(c, before) : 0;
}

int sl_collector_set_kinds(struct sl_collector *c, int on)
{
    uint32_t set = c->opt.kinds & ~SL_COLLECTOR_ALWAYS, done = set;
    int filter;

    if (!set || c->handed_over || c->taken_over)
        return 0;
    if (sl_collector_enter_cupti(c))
        return -ECANCELED;
    if (on)
        done = sl_cupti_enable(c->opt.cupti, set, c->opt.config->api_all, &filter);
    else
        sl_cupti_disable(c->opt.cupti, set);
    if (sl_collector_leave_cupti(c))
        return -ECANCELED;
    return done ? 0 : -EIO;
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

struct sl_decode_held sl_collector_look(const struct sl_collector *c, uint64_t turn)
{
    struct look look = {sl_cupti_api_layout(c->opt.cupti), {0}};

    sl_cupti_pool_look(turn, look_at, &look);
    return look.held;
}

/* A buffer takes its place at a launch, and is not given back before the operation's record is
 * whole: when those that were out at the flush are back, whatever ended before it is in. One that
 * holds nothing will only get what ends later. */
static int is_all_in(const struct sl_collector *c, uint64_t turn)
{
    if (sl_cupti_pool_missing(turn) == sl_cupti_pool_missing(c->written_off_turn))
        return 1;
    return sl_collector_look(c, turn).records == sl_collector_look(c, c->written_off_turn).records;
}

void sl_collector_deliver(struct sl_collector *c)
{
    uint64_t now = sl_clock_monotonic();
    unsigned in = 0;

    if (sl_pipeline_wants_delivery(c->pipeline) && c->flush_due_ns > now + EARLY_FLUSH_NS)
        c->flush_due_ns = now + EARLY_FLUSH_NS;
    /* Twice in a row: a thread may be about to write its first record to one that holds nothing. */
    for (unsigned i = 0; i < c->marks; i++) {
        struct sl_collector_mark *mark = &c->mark[i];

        mark->back = (i == 0 || mark[-1].back) && is_all_in(c, mark->turn) ? mark->back + 1 : 0;
        in += mark->back >= 2;
    }
    if (!in || sl_pipeline_delivered(c->pipeline, c->mark[in - 1].ns - STAMP_SLACK_NS))
        return;
    c->marks -= in;
    memmove(c->mark, c->mark + in, c->marks * sizeof(*c->mark));
}

void sl_collector_tell_missing(struct sl_collector *c, uint64_t turn,
                               const struct sl_decode_held *held)
{
    unsigned missing = sl_cupti_pool_missing(turn);

    if (!missing)
        return;
    c->written_off_turn = turn;
    /* Asked for ahead of a thread's first record, and never written to. */
    if (held->records == 0 && sl_pipeline_waiting(c->pipeline) == 0)
        return;
    /* A window that has nothing else has a file that says so. */
    if (held->of_use)
        sl_pipeline_use(c->pipeline);
    sl_stats_add(SL_STAT_UNDELIVERED_BUFFERS, missing);
    /* Nothing tells a CUPTI that is late from one whose callbacks another tool has replaced. */
    sl_log_once(&c->missing_said, SL_LOG_WARN,
                "CUPTI did not give back %u buffer%s in time: the %zu records in them are lost; if "
                "another profiler runs in this process, use one at a time",
                missing, missing == 1 ? "" : "s", held->records);
}

void sl_collector_nap(struct sl_collector *c)
{
    uint32_t wakes = atomic_load_explicit(&c->wakes, memory_order_acquire);

    sl_futex_wait(&c->wakes, wakes, SL_COLLECTOR_NAP);
}

int sl_collector_wait_for_cupti(struct sl_collector *c)
{
    if (sl_collector_enter_cupti(c))
        return -ECANCELED;
    sl_collector_nap(c);
    return sl_collector_leave_cupti(c);
}

/* Oldest first. What is taken is kept where an exiting thread finds it. */
static int has_buffer(struct sl_collector *c)
{
    if (!c->taken)
        c->taken = sl_cupti_pool_take();
    return c->taken != NULL;
}

static struct sl_cupti_buffer *next_buffer(struct sl_collector *c)
{
    struct sl_cupti_buffer *b = has_buffer(c) ? c->taken : NULL;

    if (b)
        c->taken = b->next;
    return b;
}

/* A process that ends has no later moment for its writer: rather than drop events, waits for room.
 * Where there is room, a machine that stood still is not held against the records. 0; -ETIMEDOUT:
 * no time is left for decoding. */
static int wait_for_room(struct sl_collector *c)
{
    for (;;) {
        uint64_t now = sl_clock_monotonic();

        if (!sl_pipeline_is_crowded(c->pipeline))
            return now < c->exit_decode_until_ns + STOOD_STILL_NS ? 0 : -ETIMEDOUT;
        if (now >= c->exit_decode_until_ns)
            return -ETIMEDOUT;
        sl_collector_nap(c);
    }
}

static void give_up(struct sl_collector *c, const struct sl_cupti_layout *layout,
                    const struct sl_cupti_buffer *b)
{
    struct sl_decode_held lost = {0};

    sl_decode_look(layout, b->data, b->valid, &lost);
    if (lost.of_use) /* a window that has nothing else has a file that says so */
        sl_pipeline_use(c->pipeline);
    sl_stats_add(SL_STAT_UNDELIVERED_AT_EXIT, lost.records);
    sl_log_once(&c->late_said, SL_LOG_WARN,
                "the process ended before all that CUPTI gave back could be read; how many records "
                "are missing stands in the trace: 'syncline check' tells");
}

static void decode(struct sl_collector *c, const struct sl_cupti_buffer *b)
{
    const struct sl_cupti_layout *fields =
        b->context == sl_cupti_fields_mark() ? sl_cupti_fields_layout() : NULL;

    if (!b->valid)
        return;
    /* Acquire pairs with the release in sl_collector_exit(): until when. */
    if (atomic_load_explicit(&c->exiting, memory_order_acquire) && wait_for_room(c)) {
        give_up(c, fields ? fields : sl_cupti_layout_find(c->opt.cupti->version), b);
        return;
    }
    if (c->clock.is_mixed)
        sl_cupti_dump_ticks(c->dump);
    sl_cupti_dump_buffer(c->dump, b->data, b->valid, b->stream);
    sl_pipeline_set_layout(c->pipeline, fields);
    sl_pipeline_buffer(c->pipeline, b->data, b->valid);
}

/* Without it no ticks can be turned into times; a young process has none yet. */
static int await_rate(struct sl_collector *c)
{
    uint64_t deadline = sl_clock_monotonic() + RATE_NS, ns;

    while (sl_clock_from_ticks(sl_clock_ticks(), &ns) && sl_clock_monotonic() < deadline) {
        if (sl_collector_wait_for_cupti(c))
            return -ECANCELED;
        sl_clock_calibrate();
    }
    return 0;
}

/* Whether what has come may have ticks for times, and what these are. */
static int know_clock(struct sl_collector *c)
{
    if (!c->handed_over && !c->clock.is_mixed && look_for_another(c))
        return -ECANCELED;
    return c->clock.is_mixed ? await_rate(c) : 0;
}

int sl_collector_take_buffers(struct sl_collector *c)
{
    struct sl_cupti_buffer *b;

    for (int more = 1; more;) {
        /* What is known of the job's steps and of CUPTI's clock must be younger than what is
         * decoded by it. */
        more = has_buffer(c);
        if (sl_collector_see_step(c) || (more && know_clock(c)))
            return -ECANCELED;
        b = more ? next_buffer(c) : NULL;
        if (!b)
            break;
        decode(c, b);
        if (count_drops(c, b))
            return -ECANCELED;
        sl_cupti_pool_recycle(b);
    }
    sl_cupti_pool_refill();
    return 0;
}

void sl_collector_take_rest(struct sl_collector *c)
{
    struct sl_cupti_buffer *b;

    while ((b = next_buffer(c)))
        decode(c, b);
}

int sl_collector_force_out(struct sl_collector *c)
{
    uint64_t deadline = sl_clock_monotonic() + FORCED_WAIT_NS;

    if (c->handed_over || c->taken_over || sl_collector_is_silent(c))
        return sl_collector_take_buffers(c);
    if (sl_collector_flush(c, 1) || sl_collector_take_buffers(c))
        return -ECANCELED;
    while (!sl_cupti_pool_all_back(c->drain_turn) && sl_clock_monotonic() < deadline) {
        if (sl_collector_wait_for_cupti(c) || sl_collector_take_buffers(c))
            return -ECANCELED;
    }
    return 0;
}
