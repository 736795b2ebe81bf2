/*
 * recorder.c - the recorder thread: flushes CUPTI, runs the window machine, and ends recording.
 *
 * Threads: the recorder thread. The exiting thread may call sl_recorder_settle(), once it has cut
 * off the recorder thread. recorder_impl.h says what the threads share, and who owns the memory.
 */
#include "recorder/recorder_impl.h"

#include <errno.h>
#include <pthread.h>

#include "base/clock.h"
#include "base/futex.h"
#include "base/log.h"
#include "base/stats.h"
#include "collect/cupti/buffer.h"
#include "collect/lane/step.h"
#include "collect/source.h"

#define CALIBRATE_NS (500 * SL_NS_PER_MS)
#define RENEW_NS     (1000 * SL_NS_PER_MS)
/* Time between two consecutive checks. Both must find that CUPTI has returned the buffers. */
#define LOOK_AGAIN_NS (2 * SL_NS_PER_MS)

static void nap(void *recorder)
{
    struct sl_recorder *r = recorder;
    uint32_t wakes = atomic_load_explicit(&r->wakes, memory_order_acquire);

    sl_futex_wait(&r->wakes, wakes, SL_SESSION_NAP);
}

static int is_exiting(const struct sl_recorder *r)
{
    /* Acquire pairs with the release in sl_recorder_exit(), so that the recorder sees the fields
     * set before. */
    return atomic_load_explicit(&r->exiting, memory_order_acquire) != 0;
}

static uint64_t decode_until_ns(void *recorder)
{
    const struct sl_recorder *r = recorder;

    return is_exiting(r) ? r->exit_decode_until_ns : UINT64_MAX;
}

/* ---- windows ---- */

/* Returns whether all records of work that was enqueued before the window's end have arrived. */
static int is_drained(struct sl_recorder *r)
{
    return r->window.state == SL_WIN_DRAINING && sl_outstanding_is_drained(&r->session);
}

/* Returns the current times. Windows are defined by the wall clock. So if the wall clock was set,
 * our clock is corrected first. The exiting thread and a recorder thread that it has cut off may
 * call this function at the same time. This is harmless, because at worst both discard the same
 * calibration of our clock. */
static struct sl_window_now window_now(void)
{
    sl_clock_follow();
    return (struct sl_window_now){sl_clock_monotonic(), sl_clock_now()};
}

/* Tells the pipeline which records belong to the open window. The end of a timed window is known
 * when the window opens, so a late tick does not lengthen the window. The bounds are computed at
 * each tick, because the wall clock may have been set. */
static void set_bounds(struct sl_recorder *r)
{
    uint64_t from_ns, until_ns;

    if (r->window.state != SL_WIN_RECORDING || !sl_pipeline_is_open(r->pipeline))
        return;
    sl_window_bounds(&r->window, window_now(), &from_ns, &until_ns);
    sl_pipeline_bound(r->pipeline, from_ns, until_ns);
}

/* Pushes the event that opens or closes a window. This event must not be dropped. So if the ring is
 * full, the function waits for the writer. In an ending process, it waits only until the time for
 * decoding is over. */
static void push_window(struct sl_recorder *r, int open)
{
    const struct sl_window *w = &r->window;

    const struct sl_pipeline_window window = {.number = w->number,
                                              .reason = w->reason,
                                              .step = w->step,
                                              .is_lead_in_short = w->is_short,
                                              .missed = w->missed,
                                              .opened_ns = w->opened_ns};

    while (
        open ? sl_pipeline_open(r->pipeline, &window)
             : sl_pipeline_close(r->pipeline, w->number, (uint32_t)w->close_reason, w->closed_ns)) {
        if (sl_clock_monotonic() >= decode_until_ns(r))
            return;
        nap(r);
    }
}

static int begin_drain(struct sl_recorder *r)
{
    atomic_store_explicit(&r->is_open, 0, memory_order_relaxed);
    sl_sources_enable(0);
    sl_pipeline_limit(r->pipeline, r->window.closed_ns);
    sl_outstanding_begin_drain(&r->session);
    if (sl_handover_step(&r->session, SL_OWN_EV_WINDOW_ENDED))
        return -ECANCELED;
    return sl_session_flush(&r->session, 0);
}

/* Carries out the actions in the order of their bits. Returns 0, -ECANCELED if the recorder was cut
 * off, or -EIO if no kind could be turned on. */
static int carry_out(struct sl_recorder *r, uint32_t actions, int drained)
{
    struct sl_session *s = &r->session;
    struct sl_decode_held held;
    uint64_t drain_turn;
    int err = 0;

    if (actions & SL_ACT_ENABLE)
        err = sl_kinds_want(s, 1);
    if (!err && (actions & SL_ACT_OPEN)) {
        atomic_store_explicit(&r->window_number, r->window.number, memory_order_relaxed);
        /* Sources are turned on before the window begins, so that the window's first calls have
         * their operators and lines. */
        sl_sources_enable(1);
        sl_window_ready(&r->window, window_now());
        /* Release pairs with the acquire in sl_recorder_get_status(). So if a thread has read the
         * status "recording", the thread's later work is in the window. */
        atomic_store_explicit(&r->is_open, 1, memory_order_release);
        push_window(r, 1);
        r->window.missed = 0;
        set_bounds(r);
        err = sl_session_check_clock(s);
    }
    if (!err && (actions & SL_ACT_DRAIN))
        err = begin_drain(r);
    if (!err && (actions & SL_ACT_CLOSE)) {
        drain_turn = s->outstanding.drain_turn;
        if (!drained && !sl_cupti_pool_all_back(drain_turn))
            err = sl_session_force_out(s);
        if (!err) {
            held = sl_outstanding_look(s, drain_turn);
            sl_outstanding_tell_missing(s, drain_turn, &held);
            sl_handover_tell_gap(s, r->window.closed_ns);
            push_window(r, 0);
        }
    }
    if (!err && (actions & SL_ACT_DISABLE)) {
        sl_sources_enable(0);
        err = sl_kinds_want(s, 0);
    }
    /* A window may begin before the recorder opens it, so operators must be recorded from the
     * lead-in on. */
    if (!err && r->window.state == SL_WIN_LEAD_IN)
        sl_sources_enable(1);
    return err;
}

/* Reports the job's steps to the machine. If the machine awaits a step, the step's begin wakes the
 * recorder. */
static void tell_steps(struct sl_window *w)
{
    struct sl_step_look look;

    if (w->mode != SL_WINDOW_STEPS)
        return;
    sl_step_await(w->await_step);
    sl_step_look(w->await_step, &look);
    sl_window_tell(
        w, &(struct sl_window_steps){look.running, look.length_ns, look.number, look.began_ns});
}

/* Makes one step of the window machine and publishes its new state. If another thread changes the
 * requests meanwhile, the step is repeated on a fresh copy. The exchange has release order, so that
 * a thread that reads RECORDING from `request` also sees the effects of turning the kinds on. */
static uint32_t step(struct sl_recorder *r, struct sl_window_now now, int drained)
{
    uint32_t word = atomic_load_explicit(&r->request, memory_order_acquire), actions;
    struct sl_window next;

    tell_steps(&r->window);
    do {
        next = r->window;
        sl_window_unpack(&next, word);
        actions = sl_window_step(&next, now, drained);
    } while (!atomic_compare_exchange_weak_explicit(&r->request, &word, sl_window_pack(&next),
                                                    memory_order_acq_rel, memory_order_acquire));
    r->window = next;
    return actions;
}

/* Makes one step of the machine and carries out its actions. Sets *again to 1 if the machine must
 * make another step at once. */
static int turn_window(struct sl_recorder *r, int drained, int *again)
{
    const struct sl_window *w = &r->window;
    uint64_t await_step = w->await_step;
    uint32_t actions = step(r, window_now(), drained);
    int err;

    r->is_in_window = 1;
    err = carry_out(r, actions, drained);
    if (err == -ECANCELED)
        return err; /* the exiting thread uses the window now */
    r->is_in_window = 0;
    *again = actions || w->await_step != await_step || (w->state == SL_WIN_LEAD_IN && !w->ready_ns);
    return err;
}

/* Opens or closes a window if it has begun or ended meanwhile. Then the records that were made
 * before can be decoded. */
static int see_window(void *recorder)
{
    struct sl_recorder *r = recorder;
    const struct sl_window *w = &r->window;
    uint64_t now = sl_clock_now();
    int again = 1, err = 0;

    while (!err && again && !r->is_in_window &&
           (w->state == SL_WIN_LEAD_IN || (w->state == SL_WIN_RECORDING && w->step)))
        err = turn_window(r, 0, &again);
    if (err == -ECANCELED)
        return err;
    sl_window_seen(&r->window, now);
    sl_pipeline_seen(r->pipeline, now);
    return err;
}

/* Replaces a window whose file was lost. A window of the whole run would otherwise stay without a
 * file until the process ends; other windows are short. There is at most one new file a second,
 * because a host may close descriptors in a loop. If the disk's limit is reached, no window is
 * opened, because nothing more could be written. */
static void renew_lost(struct sl_recorder *r)
{
    uint64_t now = sl_clock_monotonic(), renew_ns;

    if (r->window.mode != SL_WINDOW_RUN || r->window.state != SL_WIN_RECORDING)
        return;
    if (sl_pipeline_full_window(r->pipeline) == r->window.number) {
        sl_recorder_request(r, sl_window_stop);
        return;
    }
    if (sl_pipeline_lost_window(r->pipeline, &renew_ns) != r->window.number || now < renew_ns ||
        now < r->renew_due_ns)
        return;
    r->renew_due_ns = now + RENEW_NS;
    sl_recorder_request(r, sl_window_renew);
}

/* Steps the machine until it has no more actions for now. Returns -EXDEV if no file can be written
 * any more. */
static int run_window(struct sl_recorder *r)
{
    int again = 1, err = 0;

    if (sl_pipeline_is_shut(r->pipeline))
        return -EXDEV;
    sl_recorder_follow_memory(r);
    renew_lost(r);
    while (!err && again)
        err = turn_window(r, is_drained(r), &again);
    return err;
}

/* ---- the loop ---- */

/* In the lead-in of a requested window, records are decoded only when the recorder is woken,
 * because a pool is filling up or a request has come. If the request is a stop, the window opens at
 * once, and what has not been decoded is in it. */
static int is_quiet_lead_in(const struct sl_recorder *r, uint32_t wakes)
{
    return r->window.state == SL_WIN_LEAD_IN && r->window.reason == SL_REASON_API &&
           r->window.ready_ns && wakes == r->wakes_handled;
}

static int bring_in(struct sl_recorder *r, int is_holding)
{
    struct sl_session *s = &r->session;
    uint64_t now = sl_clock_monotonic();
    int err;

    if (now >= r->calibrate_due_ns) {
        sl_clock_calibrate();
        r->calibrate_due_ns = now + CALIBRATE_NS;
    }
    if (now >= s->flush_due_ns && sl_session_flush(s, 0))
        return -ECANCELED;
    set_bounds(r);
    if (!is_holding && sl_session_take_buffers(s))
        return -ECANCELED;
    sl_sources_rescan();
    err = sl_handover_share(s);
    if (!err)
        err = sl_handover_step(s, SL_OWN_EV_SIGN); /* turns off the kinds that are due to be turned
                                                    * off */
    if (err || is_holding)
        return err;
    sl_pipeline_tick(r->pipeline);
    sl_outstanding_deliver(s);
    return 0;
}

/* Sleeps until the next flush, the window machine's next step, or a wake. */
static void sleep_until_due(struct sl_recorder *r, uint32_t wakes)
{
    const struct sl_session *s = &r->session;
    uint64_t now = sl_clock_monotonic();
    uint64_t step_ns = sl_window_deadline(&r->window);
    uint64_t wait = s->flush_due_ns > now ? s->flush_due_ns - now : 0;

    if (s->outstanding.marks && s->outstanding.mark[0].back && wait > LOOK_AGAIN_NS)
        wait = LOOK_AGAIN_NS;
    if (step_ns <= now)
        wait = 0;
    else if (step_ns - now < wait)
        wait = step_ns - now;
    if (wait)
        sl_futex_wait(&r->wakes, wakes, wait);
}

/* Runs the loop until the process ends. Returns 0 or the first error. */
static int run_until_exit(struct sl_recorder *r)
{
    /* If never_asked is set, the exiting thread has started the recorder and will set `exiting` at
     * once. Until then nothing is flushed: a flush would pass another client's buffers to callbacks
     * that this client may have destroyed already. */
    while (r->session.ownership.never_asked && !is_exiting(r))
        nap(r);
    for (;;) {
        /* The counter of wakes is read before the checks below, so that a wake during the checks is
         * not missed. */
        uint32_t wakes = atomic_load_explicit(&r->wakes, memory_order_acquire);
        int err;

        if (is_exiting(r))
            return 0;
        err = bring_in(r, is_quiet_lead_in(r, wakes));
        r->wakes_handled = wakes;
        if (!err)
            err = run_window(r);
        if (err)
            return err;
        sleep_until_due(r, wakes);
    }
}

/* ---- the end ---- */

static void end_window(struct sl_recorder *r)
{
    if (sl_window_exit(&r->window, window_now()))
        sl_pipeline_limit(r->pipeline, r->window.closed_ns);
}

void sl_recorder_settle(struct sl_recorder *r)
{
    struct sl_session *s = &r->session;
    struct sl_decode_held held;
    uint64_t waiting;

    if (!sl_pipeline_is_open(r->pipeline))
        return; /* no window is open, so further records would not be written */
    end_window(r);
    sl_session_take_rest(s);
    /* The edges of the records that have arrived are decided before any loss is reported. A mark,
     * which says up to which time all records have arrived, counts as delivered only after two
     * checks. */
    sl_outstanding_deliver(s);
    sl_outstanding_deliver(s);
    sl_pipeline_flush(r->pipeline);
    held = sl_outstanding_look(s, r->exit_turn);
    /* Some CUPTI versions may write a record only when they return the buffer. So launches without
     * their operation are counted, too. */
    waiting = sl_pipeline_waiting(r->pipeline);
    if (sl_cupti_pool_missing(r->exit_turn))
        sl_stats_add(SL_STAT_UNDELIVERED_AT_EXIT, held.records > waiting ? held.records : waiting);
    sl_outstanding_tell_missing(s, r->exit_turn, &held);
    sl_handover_tell_gap(s, r->window.closed_ns);
    push_window(r, 0);
}

/* Called when the process ends. Flushes once more, decodes the buffers that CUPTI returns, and ends
 * the open window. If this takes too long, the exiting thread cuts the recorder off. */
static int finish(struct sl_recorder *r)
{
    struct sl_session *s = &r->session;

    /* A requested window whose lead-in is not over keeps what was recorded, as after a stop. */
    if (r->window.state == SL_WIN_LEAD_IN && r->window.reason == SL_REASON_API)
        sl_recorder_request(r, sl_window_stop);
    if (see_window(r) == -ECANCELED)
        return -ECANCELED;
    if (r->window.missed && (r->window.mode != SL_WINDOW_STEPS || r->window.has_steps))
        sl_log(
            SL_LOG_INFO,
            "due windows after the last recorded window that were missed: %llu; stop() cancelled "
            "them, the window before was not complete, a window of start() was open, or CUPTI "
            "was not on in time; a longer period (SYNCLINE_WINDOW) leaves more time",
            (unsigned long long)r->window.missed);
    if (!sl_pipeline_is_open(r->pipeline))
        return 0;
    if (sl_handover_step(s, SL_OWN_EV_BUFFERS))
        return -ECANCELED;
    end_window(r);
    /* sl_session_flush() does nothing if another client has CUPTI. A flush would return none of our
     * buffers, but pass that client's buffers to that client's callbacks. The callbacks may fail,
     * because objects that libkineto has created at its first use are already destroyed at this
     * time. */
    if (sl_session_flush(s, 1) || sl_session_take_buffers(s))
        return -ECANCELED;
    while (s->ownership.state != SL_OWN_TAKEN_OVER && !sl_cupti_pool_all_back(r->exit_turn)) {
        if (sl_session_wait_for_cupti(s) || sl_session_take_buffers(s))
            return -ECANCELED;
    }
    sl_recorder_settle(r); /* this call also decodes buffers that have arrived since */
    return 0;
}

void sl_recorder_end(struct sl_recorder *r)
{
    /* Release pairs with the acquire in sl_recorder_exit(), which owns the pipeline from now on. */
    atomic_store_explicit(&r->ended, 1, memory_order_release);
    sl_futex_wake(&r->ended);
}

/* ---- the thread ---- */

static int create_pipeline(struct sl_recorder *r)
{
    const struct sl_pipeline_options opt = {r->opt.config, r->opt.identity, r->opt.cupti,
                                            &r->session.clock, r->opt.filter_api};
    struct sl_pipeline *pipeline;
    int err = sl_pipeline_create(&pipeline, &opt);

    if (err)
        return err;
    r->session.pipeline = pipeline;
    /* Release pairs with the acquire in use_pipeline(). */
    atomic_store_explicit(&r->pipeline, pipeline, memory_order_release);
    return 0;
}

void sl_recorder_prepare_session(struct sl_recorder *r)
{
    r->session.opt = (struct sl_session_options){
        .config = r->opt.config,
        .identity = r->opt.identity,
        .cupti = r->opt.cupti,
        .kinds = r->opt.kinds,
        .window = &r->window,
        .hooks = {.user = r,
                  .see_window = see_window,
                  .nap = nap,
                  .decode_until_ns = decode_until_ns},
    };
}

/* Reports a failure and restores CUPTI's settings, because others may use CUPTI. Returns 0 or
 * -ECANCELED. */
static int fail(struct sl_recorder *r, const char *reason)
{
    struct sl_session *s = &r->session;

    if (s->ownership.state == SL_OWN_OURS && sl_handover_detach(s))
        return -ECANCELED;
    r->opt.on_failure(reason);
    return 0;
}

void *sl_recorder_run(void *user)
{
    struct sl_recorder *r = user;
    struct sl_session *s = &r->session;
    int err;

    pthread_setname_np(pthread_self(), "syncline-cupti");
    r->opt.on_start();
    sl_ownership_init(&s->ownership, r->opt.handed_over, r->opt.on_since_ns, sl_clock_now());
    err = create_pipeline(r);
    if (err) {
        if (fail(r, err == -ENOMEM ? "not enough memory for events: lower SYNCLINE_MEMORY"
                                   : "the thread that writes traces could not be started") == 0)
            sl_recorder_end(r);
        return NULL;
    }
    sl_session_open_dump(s);
    sl_window_init(&r->window, r->opt.config, window_now(), r->opt.on_since_ns);
    if (s->ownership.are_kinds_wanted && s->ownership.state == SL_OWN_OURS)
        sl_pipeline_kinds_on(r->pipeline, 0);
    /* The first window opens before any record is decoded, even if the process is ending
     * already. */
    err = run_window(r);
    if (s->ownership.state == SL_OWN_HANDED_OVER)
        sl_pipeline_use(r->pipeline); /* another client uses the GPU, so the file reports the gap */
    if (!err && r->is_started_at_exit)
        err = sl_handover_step(s, SL_OWN_EV_NEVER_ASKED);
    if (!err)
        err = run_until_exit(r);
    if (err == -EIO)
        err = fail(r, "CUPTI refused to record any kind of event");
    else if (err == -EXDEV)
        err = fail(r, "the program changed its root folder (chroot), and syncline writes nothing "
                      "inside the new root, so recording ends; files so far are complete");
    else if (!err)
        err = finish(r);
    if (err)
        return NULL; /* we were cut off, and the exiting thread continues in our place */
    sl_recorder_end(r);
    return NULL;
}
