/*
 * cupti_calls.c - makes the recorder's calls of CUPTI, and decodes the buffers that CUPTI returns.
 *
 * Threads: the recorder thread. The exiting thread may call the functions for which session.h says
 * so. Every call of CUPTI is enclosed by sl_session_enter() and sl_session_leave(). So the exiting
 * thread knows whether the recorder thread is blocked inside CUPTI. While another client has CUPTI,
 * we make no call that changes settings or flushes buffers. Memory: see session.h; the buffers
 * belong to the pool.
 */
#include "session/session.h"

#include <errno.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/stats.h"
#include "collect/cupti/buffer.h"
#include "collect/cupti/fields.h"

/* Time between flushes. Without flushes, CUPTI returns only full buffers. The writer completes a
 * frame after a second at most, so events reach the disk in little more than a second. */
#define FLUSH_NS (250 * SL_NS_PER_MS)
/* Time between flushes while a window drains. This time is shorter, because somebody may be waiting
 * for the file. */
#define DRAIN_FLUSH_NS (20 * SL_NS_PER_MS)
/* How long we wait after a forced flush until CUPTI's thread has returned the buffers. */
#define FORCED_WAIT_NS (100 * SL_NS_PER_MS)
/* How long we wait for the tick counter's rate, which is known 50 ms after the first measurement
 * (base/clock.c). */
#define RATE_NS (100 * SL_NS_PER_MS)
/* Extension of the time for decoding at the process's end, because other processes may have used
 * the processor meanwhile. The time for closing the file is separate (recorder/exit.c). */
#define STOOD_STILL_NS (150 * SL_NS_PER_MS)
#define DUMP_CAP_BYTES (1ull << 30)

/* ---- inside CUPTI ---- */

/* Changes the phase if it is `from`. The recorder thread may return from CUPTI at the moment when
 * the exiting thread cuts it off. Acquire and release order ensures that exactly one of the two
 * threads owns the pipeline. */
static int change_phase(struct sl_session *s, uint32_t from, uint32_t to)
{
    return atomic_compare_exchange_strong_explicit(&s->phase, &from, to, memory_order_acq_rel,
                                                   memory_order_acquire)
               ? 0
               : -ECANCELED;
}

/* The exchange fails if the exiting thread has forbidden calls of CUPTI, because CUPTI may have
 * ended already. */
int sl_session_enter(struct sl_session *s)
{
    return change_phase(s, SL_PHASE_OURS, SL_PHASE_CUPTI);
}

int sl_session_leave(struct sl_session *s)
{
    return change_phase(s, SL_PHASE_CUPTI, SL_PHASE_OURS);
}

int sl_session_is_in_cupti(const struct sl_session *s)
{
    return atomic_load_explicit(&s->phase, memory_order_relaxed) == SL_PHASE_CUPTI;
}

int sl_session_cut_off(struct sl_session *s)
{
    return change_phase(s, SL_PHASE_CUPTI, SL_PHASE_CUT);
}

void sl_session_forbid_cupti(struct sl_session *s)
{
    atomic_store_explicit(&s->phase, SL_PHASE_CUT, memory_order_release);
}

int sl_session_wait_for_cupti(struct sl_session *s)
{
    if (sl_session_enter(s))
        return -ECANCELED;
    s->opt.hooks.nap(s->opt.hooks.user);
    return sl_session_leave(s);
}

/* ---- the clock ---- */

/* This function works on a copy of the clock, because the exiting thread may have cut us off by the
 * time CUPTI returns. */
int sl_session_look_at_clock(struct sl_session *s)
{
    struct sl_cupti_clock clock = s->clock;

    if (sl_session_enter(s))
        return -ECANCELED;
    sl_cupti_clock_look(&clock, s->opt.cupti->fn.GetTimestamp);
    if (sl_session_leave(s))
        return -ECANCELED;
    s->clock = clock;
    return 0;
}

/* A change from CLOCK_REALTIME to the tick counter means that another profiler has set CUPTI's
 * clock. */
static int compare_clock(struct sl_session *s, enum sl_cupti_clock_domain before)
{
    if (before == SL_CUPTI_CLOCK_REALTIME && s->clock.domain == SL_CUPTI_CLOCK_TICKS)
        return sl_handover_step(s, SL_OWN_EV_CLOCK_CHANGED);
    return 0;
}

/* Checks whether another client has taken CUPTI and set its clock. */
static int look_for_another(struct sl_session *s)
{
    enum sl_cupti_clock_domain before = s->clock.domain;
    struct sl_ownership_now now = {0};

    if (sl_session_look_at_clock(s))
        return -ECANCELED;
    if (s->clock.domain != before)
        return compare_clock(s, before);
    now.real_ns = s->clock.last_ns;
    sl_ownership_step(&s->ownership, SL_OWN_EV_CLOCK_KEPT, &now);
    return 0;
}

/* Windows begin and end by our clock. Another tool may have set a different clock in CUPTI. */
int sl_session_check_clock(struct sl_session *s)
{
    enum sl_cupti_clock_domain before = s->clock.domain;

    if (s->ownership.state == SL_OWN_HANDED_OVER)
        return 0;
    if (sl_session_look_at_clock(s))
        return -ECANCELED;
    sl_cupti_dump_clock(s->dump, s->clock.offset_ns, s->clock.uncertainty_ns);
    if (s->clock.domain == SL_CUPTI_CLOCK_UNKNOWN)
        sl_log_once(
            &s->clock_said, SL_LOG_WARN,
            "CUPTI's clock differs from CLOCK_REALTIME by %lld us because another tool changed it: "
            "windows may begin and end too early or late; run one profiler at a time",
            (long long)(s->clock.offset_ns / 1000));
    return compare_clock(s, before);
}

/* ---- flushes ---- */

/* Returns whether CUPTI may hold pending records of ours. Without pending records, a forced flush
 * returns no more records than a plain flush. */
static int is_force_of_use(const struct sl_session *s)
{
    return sl_cupti_pool_outstanding() || sl_pipeline_waiting(s->pipeline);
}

/* The content of our buffers is examined only if CUPTI has neither requested nor returned a buffer
 * since the last flush. */
static void note_flush(struct sl_session *s)
{
    struct sl_ownership_now now = sl_handover_now(s);
    size_t records = 0;
    int is_complete = sl_ownership_is_same(s->ownership.silence.buffers, now.buffers) &&
                      sl_outstanding_is_complete(s, now.buffers, &records);

    sl_ownership_note_flush(&s->ownership, &now, is_complete, records);
}

static int may_force(const struct sl_session *s)
{
    struct sl_ownership_now now = sl_handover_now(s);

    return sl_ownership_may_force(&s->ownership, &now);
}

int sl_session_flush(struct sl_session *s, int forced)
{
    const struct sl_cupti_api *api = s->opt.cupti;
    uint64_t now = sl_clock_monotonic();
    struct sl_outstanding_mark mark;

    s->flush_due_ns = now + (s->opt.window->state == SL_WIN_DRAINING ? DRAIN_FLUSH_NS : FLUSH_NS);
    if (s->ownership.state == SL_OWN_HANDED_OVER)
        return 0;
    if (look_for_another(s))
        return -ECANCELED;
    mark = sl_outstanding_mark_now(s->clock.last_ns);
    note_flush(s);
    if (forced && !may_force(s))
        return 0;
    forced = forced && is_force_of_use(s);
    if (sl_session_enter(s))
        return -ECANCELED;
    sl_cupti_check(api,
                   api->fn.ActivityFlushAll(forced ? SL_CUPTI_FLUSH_FORCED : SL_CUPTI_FLUSH_PLAIN),
                   "ActivityFlushAll");
    if (sl_session_leave(s))
        return -ECANCELED;
    sl_outstanding_add_mark(s, mark);
    return 0;
}

int sl_session_force_out(struct sl_session *s)
{
    uint64_t deadline = sl_clock_monotonic() + FORCED_WAIT_NS;

    if (!may_force(s))
        return sl_session_take_buffers(s);
    if (sl_session_flush(s, 1) || sl_session_take_buffers(s))
        return -ECANCELED;
    while (!sl_cupti_pool_all_back(s->outstanding.drain_turn) && sl_clock_monotonic() < deadline) {
        if (sl_session_wait_for_cupti(s) || sl_session_take_buffers(s))
            return -ECANCELED;
    }
    return 0;
}

/* ---- buffers that CUPTI has returned ---- */

static int count_drops(struct sl_session *s, const struct sl_cupti_buffer *b)
{
    const struct sl_cupti_api *api = s->opt.cupti;
    size_t dropped = 0;
    int err;

    if (s->ownership.state == SL_OWN_HANDED_OVER)
        return 0; /* not our loss, because CUPTI would report the other client's dropped records */
    if (sl_session_enter(s))
        return -ECANCELED;
    err = sl_cupti_check(api, api->fn.ActivityGetNumDroppedRecords(b->context, b->stream, &dropped),
                         "ActivityGetNumDroppedRecords");
    if (sl_session_leave(s))
        return -ECANCELED;
    if (!err && dropped) {
        sl_stats_add(SL_STAT_DROPPED_CUPTI, dropped);
        sl_cupti_dump_dropped(s->dump, dropped);
        sl_log_once(&s->drop_said, SL_LOG_WARN,
                    "CUPTI dropped %zu records because its buffers were full: the trace has gaps "
                    "('syncline check' shows how many); raise %s",
                    dropped,
                    s->opt.config->is_memory_lowered || sl_cupti_pool_is_limited()
                        ? "the host's memory limit, which has lowered SYNCLINE_CUPTI_MEMORY"
                        : "SYNCLINE_CUPTI_MEMORY");
    }
    return 0;
}

/* Returns whether a returned buffer waits to be decoded. The list of these buffers starts with the
 * oldest buffer. The list is stored in the session, so that the exiting thread can continue with
 * it. */
static int has_buffer(struct sl_session *s)
{
    if (!s->taken)
        s->taken = sl_cupti_pool_take();
    return s->taken != NULL;
}

static struct sl_cupti_buffer *next_buffer(struct sl_session *s)
{
    struct sl_cupti_buffer *b = has_buffer(s) ? s->taken : NULL;

    if (b)
        s->taken = b->next;
    return b;
}

/* At the process's end, waits until the ring has room for the events of a buffer, instead of
 * dropping the events. If the ring has room, the deadline is extended by STOOD_STILL_NS. Returns 0,
 * or -ETIMEDOUT if no time is left for decoding. */
static int wait_for_room(struct sl_session *s, uint64_t until_ns)
{
    for (;;) {
        uint64_t now = sl_clock_monotonic();

        if (!sl_pipeline_is_crowded(s->pipeline))
            return now < until_ns + STOOD_STILL_NS ? 0 : -ETIMEDOUT;
        if (now >= until_ns)
            return -ETIMEDOUT;
        s->opt.hooks.nap(s->opt.hooks.user);
    }
}

static void give_up(struct sl_session *s, const struct sl_cupti_layout *layout,
                    const struct sl_cupti_buffer *b)
{
    struct sl_decode_held lost = {0};

    sl_decode_look(layout, b->data, b->valid, &lost);
    if (lost.of_use) /* the window gets a file, in which the loss is counted */
        sl_pipeline_use(s->pipeline);
    sl_stats_add(SL_STAT_UNDELIVERED_AT_EXIT, lost.records);
    sl_log_once(&s->late_said, SL_LOG_WARN,
                "the process ended before syncline had read all CUPTI buffers: the end of the "
                "trace lacks records; 'syncline check' shows how many");
}

static void decode(struct sl_session *s, const struct sl_cupti_buffer *b)
{
    const struct sl_cupti_layout *fields =
        b->context == sl_cupti_fields_mark() ? sl_cupti_fields_layout() : NULL;
    uint64_t until_ns;

    if (!b->valid)
        return;
    until_ns = s->opt.hooks.decode_until_ns(s->opt.hooks.user);
    if (until_ns != UINT64_MAX && wait_for_room(s, until_ns)) {
        give_up(s, fields ? fields : sl_cupti_layout_find(s->opt.cupti->version), b);
        return;
    }
    if (s->clock.is_mixed)
        sl_cupti_dump_ticks(s->dump);
    sl_cupti_dump_buffer(s->dump, b->data, b->valid, b->stream);
    sl_pipeline_set_layout(s->pipeline, fields);
    sl_pipeline_buffer(s->pipeline, b->data, b->valid);
}

/* Waits until the tick counter's rate is known, because ticks cannot be converted without the rate.
 * A young process has not measured the rate yet. */
static int await_rate(struct sl_session *s)
{
    uint64_t deadline = sl_clock_monotonic() + RATE_NS, ns;

    while (sl_clock_from_ticks(sl_clock_ticks(), &ns) && sl_clock_monotonic() < deadline) {
        if (sl_session_wait_for_cupti(s))
            return -ECANCELED;
        sl_clock_calibrate();
    }
    return 0;
}

/* Finds out whether records may have stamps of the tick counter. If records may have such stamps,
 * makes sure that ticks can be converted. */
static int know_clock(struct sl_session *s)
{
    if (s->ownership.state != SL_OWN_HANDED_OVER && !s->clock.is_mixed && look_for_another(s))
        return -ECANCELED;
    return s->clock.is_mixed ? await_rate(s) : 0;
}

int sl_session_take_buffers(struct sl_session *s)
{
    struct sl_cupti_buffer *b;

    for (int more = 1; more;) {
        /* The window and CUPTI's clock are checked after the buffer has arrived, so that the
         * result holds for every record in the buffer. */
        more = has_buffer(s);
        if (s->opt.hooks.see_window(s->opt.hooks.user) || (more && know_clock(s)))
            return -ECANCELED;
        b = more ? next_buffer(s) : NULL;
        if (!b)
            break;
        decode(s, b);
        if (count_drops(s, b))
            return -ECANCELED;
        sl_cupti_pool_recycle(b);
    }
    sl_cupti_pool_refill();
    return 0;
}

void sl_session_take_rest(struct sl_session *s)
{
    struct sl_cupti_buffer *b;

    while ((b = next_buffer(s)))
        decode(s, b);
}

void sl_session_open_dump(struct sl_session *s)
{
    const struct sl_cupti_dump_options opt = {
        .path = s->opt.config->dump_cupti,
        .version = s->opt.cupti->version,
        .pid = s->opt.identity->pid,
        .cap_bytes = DUMP_CAP_BYTES,
        .devices = sl_pipeline_devices(s->pipeline),
    };

    if (*opt.path)
        sl_cupti_dump_open(&s->dump, &opt);
}
