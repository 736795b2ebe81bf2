/*
 * recorder.c - the thread that brings records in: when to flush, what the window machine says,
 * and how it ends.
 *
 * Collector thread only. What it shares with other threads is in session/session.h.
 */
#include "session/session.h"

#include <errno.h>
#include <pthread.h>

#include "base/clock.h"
#include "base/futex.h"
#include "base/stats.h"
#include "collect/cupti/buffer.h"
#include "collect/python/boot.h"
#include "collect/torch/ops.h"
#include "collect/torch/step.h"

#define CALIBRATE_NS   (500 * SL_COLLECTOR_MS)
#define DUMP_CAP_BYTES (1ull << 30)
/* Between the two looks that tell that buffers are back. */
#define LOOK_AGAIN_NS (2 * SL_COLLECTOR_MS)

/* Nothing that was enqueued before the window's end is outstanding: all buffers that were out then
 * are back, and no launch in the window waits for its GPU operation. Twice in a row, because a
 * thread may stand still between a call's last stamp and its record. */
static int is_drained(struct sl_collector *c)
{
    if (c->window.state != SL_WIN_DRAINING)
        return 0;
    if (c->taken_over) /* what is out is not coming */
        return 1;
    if (!sl_cupti_pool_all_back(c->drain_turn) || sl_pipeline_waiting(c->pipeline))
        c->drain_back = 0;
    else
        c->drain_back++;
    return c->drain_back >= 2;
}

static struct sl_window_now window_now(void)
{
    return (struct sl_window_now){sl_clock_monotonic(), sl_clock_now()};
}

/* Which rows belong to the open window. A timed one's end is known when it opens: a look that comes
 * late must not lengthen it. Looked at again each time: the wall clock may have been set. */
static void set_bounds(struct sl_collector *c)
{
    uint64_t from_ns, until_ns;

    if (c->window.state != SL_WIN_RECORDING || !sl_pipeline_is_open(c->pipeline))
        return;
    sl_window_bounds(&c->window, window_now(), &from_ns, &until_ns);
    sl_pipeline_bound(c->pipeline, from_ns, until_ns);
}

/* The opening or closing of a window must not get lost: waits while the writer is that far behind,
 * as long as an ending process has time for that. */
static void push_window(struct sl_collector *c, int open)
{
    const struct sl_window *w = &c->window;

    while (
        open ? sl_pipeline_open(c->pipeline, w->number, (uint32_t)w->reason, w->opened_ns)
             : sl_pipeline_close(c->pipeline, w->number, (uint32_t)w->close_reason, w->closed_ns)) {
        if (atomic_load_explicit(&c->exiting, memory_order_acquire) &&
            sl_clock_monotonic() >= c->exit_decode_until_ns)
            return;
        sl_collector_nap(c);
    }
}

static int begin_drain(struct sl_collector *c)
{
    atomic_store_explicit(&c->is_open, 0, memory_order_relaxed);
    sl_torch_ops_enable(0);
    sl_pipeline_limit(c->pipeline, c->window.closed_ns);
    c->drain_turn = sl_cupti_pool_turn();
    c->drain_back = 0;
    sl_collector_await_sign(c);
    return sl_collector_flush(c, 0);
}

/* In the order of the bits. -ECANCELED: cut off; -EIO: no kind could be enabled. */
static int carry_out(struct sl_collector *c, uint32_t actions, int drained)
{
    struct sl_decode_held held;
    int err = 0;

    if (actions & SL_ACT_ENABLE)
        err = sl_collector_want_kinds(c, 1);
    if (!err && (actions & SL_ACT_OPEN)) {
        atomic_store_explicit(&c->window_number, c->window.number, memory_order_relaxed);
        if (c->opt.config->python)
            sl_python_boot(c->opt.config->home);
        /* Before the window begins: its calls have their operators and lines from the first on. */
        sl_torch_ops_enable(1);
        sl_window_ready(&c->window, window_now());
        /* Release pairs with the acquire in sl_collector_get_status(): who is told that it records
         * has what comes next in the window. */
        atomic_store_explicit(&c->is_open, 1, memory_order_release);
        push_window(c, 1);
        set_bounds(c);
        err = sl_collector_check_clock(c);
    }
    if (!err && (actions & SL_ACT_DRAIN))
        err = begin_drain(c);
    if (!err && (actions & SL_ACT_CLOSE)) {
        if (!drained && !sl_cupti_pool_all_back(c->drain_turn))
            err = sl_collector_force_out(c);
        if (!err) {
            held = sl_collector_look(c, c->drain_turn);
            sl_collector_tell_missing(c, c->drain_turn, &held);
            sl_collector_tell_gap(c, c->window.closed_ns);
            push_window(c, 0);
        }
    }
    if (!err && (actions & SL_ACT_DISABLE)) {
        sl_torch_ops_enable(0);
        err = sl_collector_want_kinds(c, 0);
    }
    /* A step's first operators do not wait until we have seen that it opens a window. */
    if (!err && c->window.state == SL_WIN_LEAD_IN && c->window.reason == SL_REASON_STEPS)
        sl_torch_ops_enable(1);
    return err;
}

/* One step of the machine, and its new state for others to see. They may change the requests
 * meanwhile: then the step is taken again, on a fresh copy. Release: who reads RECORDING there also
 * sees what enabling the kinds did. */
static uint32_t step(struct sl_collector *c, struct sl_window_now now, int drained)
{
    uint64_t number, ns;
    uint32_t word = atomic_load_explicit(&c->request, memory_order_acquire), actions;
    struct sl_window next;

    if (c->window.await_step != UINT64_MAX && sl_step_awaited(&number, &ns) == 0)
        sl_window_tell(&c->window, number, ns);
    do {
        next = c->window;
        sl_window_unpack(&next, word);
        actions = sl_window_step(&next, now, drained);
    } while (!atomic_compare_exchange_weak_explicit(&c->request, &word, sl_window_pack(&next),
                                                    memory_order_acq_rel, memory_order_acquire));
    c->window = next;
    return actions;
}

/* What was told is obeyed, and what was done for it is done: now the next step is waited for. */
static void arm_step(struct sl_collector *c)
{
    if (c->window.await_step == c->armed_step)
        return;
    c->armed_step = c->window.await_step;
    /* The end of a window may be over by now, its beginning must be to come. */
    sl_step_await(c->armed_step, c->window.state == SL_WIN_RECORDING);
}

/* One step of the machine and what it asks for. */
static int turn_window(struct sl_collector *c, int drained, uint32_t *actions)
{
    int err;

    *actions = step(c, window_now(), drained);
    c->is_in_window = 1;
    err = carry_out(c, *actions, drained);
    c->is_in_window = 0;
    arm_step(c);
    return err;
}

int sl_collector_see_step(struct sl_collector *c)
{
    uint64_t number, ns, now = sl_clock_now();
    uint32_t actions;
    int err = 0;

    if (c->window.mode != SL_WINDOW_STEPS)
        return 0;
    while (!err && !c->is_in_window && c->armed_step != UINT64_MAX &&
           (c->window.state == SL_WIN_LEAD_IN || c->window.state == SL_WIN_RECORDING) &&
           sl_step_awaited(&number, &ns) == 0)
        err = turn_window(c, 0, &actions);
    sl_pipeline_seen(c->pipeline, now);
    return err;
}

/* Steps until nothing is to be done now. */
static int run_window(struct sl_collector *c)
{
    for (;;) {
        uint32_t actions;
        int err = turn_window(c, is_drained(c), &actions);

        if (err)
            return err;
        /* A lead-in is timed by the step after it: its deadline is 0 until then. */
        if (!actions && !(c->window.state == SL_WIN_LEAD_IN && sl_window_deadline(&c->window) == 0))
            return 0;
    }
}

static int bring_in(struct sl_collector *c)
{
    uint64_t now = sl_clock_monotonic();
    int err;

    if (now >= c->calibrate_due_ns) {
        sl_clock_calibrate();
        c->calibrate_due_ns = now + CALIBRATE_NS;
    }
    if (now >= c->flush_due_ns && sl_collector_flush(c, 0))
        return -ECANCELED;
    set_bounds(c);
    if (sl_collector_take_buffers(c))
        return -ECANCELED;
    err = sl_collector_share(c);
    if (!err)
        err = sl_collector_turn_off_due(c);
    if (err)
        return err;
    sl_pipeline_tick(c->pipeline);
    sl_collector_deliver(c);
    return 0;
}

/* Until the next flush, the window machine's next step, or a wake. */
static void sleep_until_due(struct sl_collector *c, uint32_t wakes)
{
    uint64_t now = sl_clock_monotonic();
    uint64_t step_ns = sl_window_deadline(&c->window);
    uint64_t wait = c->flush_due_ns > now ? c->flush_due_ns - now : 0;

    if (c->marks && c->mark[0].back && wait > LOOK_AGAIN_NS)
        wait = LOOK_AGAIN_NS;
    if (step_ns <= now)
        wait = 0;
    else if (step_ns - now < wait)
        wait = step_ns - now;
    if (wait)
        sl_futex_wait(&c->wakes, wakes, wait);
}

static int is_exiting(const struct sl_collector *c)
{
    /* Acquire pairs with the release in sl_collector_exit(): what it has set before. */
    return atomic_load_explicit(&c->exiting, memory_order_acquire) != 0;
}

/* 0, or the first error. */
static int run_until_exit(struct sl_collector *c)
{
    /* Unasked, the exiting thread has started us and is about to say so; a flush would bring the
     * other's buffers to callbacks that may be gone. */
    while (c->taken_before_start && !is_exiting(c))
        sl_collector_nap(c);
    for (;;) {
        /* Before the look at what it may be for: a wake between the two is not slept through. */
        uint32_t wakes = atomic_load_explicit(&c->wakes, memory_order_acquire);
        int err;

        if (is_exiting(c))
            return 0;
        err = bring_in(c);
        if (!err)
            err = run_window(c);
        if (err)
            return err;
        sleep_until_due(c, wakes);
    }
}

static void end_window(struct sl_collector *c)
{
    if (sl_window_exit(&c->window, window_now()))
        sl_pipeline_limit(c->pipeline, c->window.closed_ns);
}

void sl_collector_settle(struct sl_collector *c)
{
    struct sl_decode_held held;
    uint64_t waiting;

    if (!sl_pipeline_is_open(c->pipeline))
        return; /* nothing that CUPTI still has would be written */
    end_window(c);
    sl_collector_take_rest(c);
    /* What is in by now is decided before anything is known to be lost; a mark wants two looks. */
    sl_collector_deliver(c);
    sl_collector_deliver(c);
    sl_pipeline_flush(c->pipeline);
    held = sl_collector_look(c, c->exit_turn);
    /* Not every CUPTI need have written to its buffers already what it is going to deliver. */
    waiting = sl_pipeline_waiting(c->pipeline);
    if (sl_cupti_pool_missing(c->exit_turn))
        sl_stats_add(SL_STAT_UNDELIVERED_AT_EXIT, held.records > waiting ? held.records : waiting);
    sl_collector_tell_missing(c, c->exit_turn, &held);
    sl_collector_tell_gap(c, c->window.closed_ns);
    push_window(c, 0);
}

/* The process ends: one last flush, all that comes of it, the end of the open window. The exiting
 * thread ends the wait by cutting us off. */
static int finish(struct sl_collector *c)
{
    if (!sl_pipeline_is_open(c->pipeline))
        return 0;
    if (sl_collector_look_again(c))
        return -ECANCELED;
    end_window(c);
    /* None where another client has CUPTI: nothing of ours would come of it, but that one's
     * buffers, to callbacks that may be gone: what libkineto makes at its first use is destroyed
     * before. */
    if (sl_collector_flush(c, 1) || sl_collector_take_buffers(c))
        return -ECANCELED;
    while (!c->taken_over && !sl_cupti_pool_all_back(c->exit_turn)) {
        if (sl_collector_wait_for_cupti(c) || sl_collector_take_buffers(c))
            return -ECANCELED;
    }
    sl_collector_settle(c); /* and what came between the look and the list */
    return 0;
}

void sl_collector_end(struct sl_collector *c)
{
    /* Release pairs with the acquire in sl_collector_exit(): the pipeline is the exit's now. */
    atomic_store_explicit(&c->ended, 1, memory_order_release);
    sl_futex_wake(&c->ended);
}

static int create_pipeline(struct sl_collector *c)
{
    const struct sl_pipeline_options opt = {c->opt.config, c->opt.identity, c->opt.cupti, &c->clock,
                                            c->opt.filter_api};
    struct sl_pipeline *pipeline;
    int err = sl_pipeline_create(&pipeline, &opt);

    if (!err)
        /* Release pairs with the acquire in use_pipeline(). */
        atomic_store_explicit(&c->pipeline, pipeline, memory_order_release);
    return err;
}

/* A dump that cannot be made says so and is done without. */
static void open_dump(struct sl_collector *c)
{
    const struct sl_cupti_dump_options opt = {
        .path = c->opt.config->dump_cupti,
        .version = c->opt.cupti->version,
        .pid = c->opt.identity->pid,
        .cap_bytes = DUMP_CAP_BYTES,
        .devices = sl_pipeline_devices(c->pipeline),
    };

    if (*opt.path)
        sl_cupti_dump_open(&c->dump, &opt);
}

/* CUPTI is left as it was found: others may want it. 0, or -ECANCELED. */
static int fail(struct sl_collector *c, const char *reason)
{
    if (!c->handed_over && !c->taken_over && sl_collector_release(c))
        return -ECANCELED;
    c->opt.on_failure(reason);
    return 0;
}

void *sl_collector_run(void *user)
{
    struct sl_collector *c = user;
    int err;

    pthread_setname_np(pthread_self(), "syncline-cupti");
    c->opt.on_start();
    c->handed_over = c->opt.handed_over;
    err = create_pipeline(c);
    if (err) {
        if (fail(c, err == -ENOMEM ? "no memory for events: lower SYNCLINE_MEMORY"
                                   : "the writer could not be started") == 0)
            sl_collector_end(c);
        return NULL;
    }
    open_dump(c);
    sl_window_init(&c->window, c->opt.config, window_now(), c->opt.on_since_ns);
    /* No record was looked at yet: a first step that is over already will do. */
    c->armed_step = c->window.await_step;
    sl_step_await(c->armed_step, 1);
    c->are_kinds_wanted = c->opt.on_since_ns != 0;
    c->sure_ns = c->opt.on_since_ns ? c->opt.on_since_ns : sl_clock_now();
    c->away_ns = c->handed_over ? c->opt.on_since_ns : 0;
    if (c->are_kinds_wanted && !c->handed_over)
        sl_pipeline_kinds_on(c->pipeline, 0);
    /* The first window opens before any record is judged, even if the process ends already. */
    err = run_window(c);
    if (c->handed_over)
        sl_pipeline_use(c->pipeline); /* of the other, which had CUPTI before us */
    if (!err && c->taken_before_start)
        err = sl_collector_set_unasked(c);
    if (!err)
        err = run_until_exit(c);
    if (err == -EIO)
        err = fail(c, "CUPTI refused every kind of record");
    else if (!err)
        err = finish(c);
    if (err)
        return NULL; /* cut off: nothing here is ours any more */
    sl_collector_end(c);
    return NULL;
}
