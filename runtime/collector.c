/*
 * collector.c - the thread that brings records in.
 *
 * The collector thread runs everything below run(); requests and status come from any thread; the
 * exit from the one thread that ends the process. One static object per process, never freed:
 * CUPTI may call back at any time until the process is gone.
 *
 * Three words tie the threads together. Each is one atomic, so no lock is ever held, least of all
 * across a call of CUPTI's, which may block for seconds or for good:
 *   request  state of the window machine and what was asked of it (control/window.h)
 *   wakes    counts up at each wake; the collector sleeps on it
 *   phase    whether the collector is inside CUPTI, where an exit may cut it off
 */
#include "collector.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/futex.h"
#include "base/log.h"
#include "base/stats.h"
#include "collect/cupti_buffer.h"
#include "pipeline.h"

#define MS_NS 1000000ull

/* CUPTI gives back buffers that are not full only when told to. Four times a second, so that with
 * the writer's frame of a second at most, events reach the disk in little more than that. */
#define FLUSH_NS (250 * MS_NS)
/* While a window closes somebody waits for its file. */
#define DRAIN_FLUSH_NS (20 * MS_NS)
#define CALIBRATE_NS   (500 * MS_NS)
/* After a forced flush CUPTI's thread still has to bring the buffers. */
#define FORCED_WAIT_NS (100 * MS_NS)
#define NAP_NS         MS_NS

/* The exit's budget: what the issue of a stuck CUPTI or disk may cost the host. */
#define EXIT_BASE_NS   (50 * MS_NS)
#define EXIT_RECORD_NS 1000
#define EXIT_MOST_NS   (2000 * MS_NS)
/* Kept back for the writer: to compress the last frame, write it and rename the file. */
#define EXIT_WRITER_NS (20 * MS_NS)

/* CUPTI's activity flush flag. */
#define FLUSH_PLAIN  0u
#define FLUSH_FORCED 1u

/* CUPTI runs on this stack, and compiles instrumentation on it at a first enabling. */
#define STACK_BYTES (1024u * 1024u)

enum phase {
    PHASE_OURS,  /* in our own code: soon back */
    PHASE_CUPTI, /* inside a call of CUPTI's: perhaps never back */
    PHASE_CUT,   /* the exit did not wait: the collector must touch nothing any more */
};

struct sl_collector {
    struct sl_collector_options opt;
    struct sl_pipeline *_Atomic pipeline; /* set once, by the collector thread */

    _Atomic uint32_t started;
    _Atomic uint32_t request; /* sl_window_pack() */
    _Atomic uint32_t window_number;
    _Atomic uint32_t wakes;

    /* exit */
    _Atomic uint32_t phase;
    _Atomic uint32_t exiting;
    _Atomic uint32_t hurry;        /* the exit's time is over: close with what is there */
    _Atomic uint32_t ended;        /* the collector has touched the pipeline for the last time */
    _Atomic uint64_t exit_records; /* brought in since the exit began */
    _Atomic uint32_t status_users; /* threads inside the pipeline's status calls */
    _Atomic uint32_t closed;       /* no more of those */

    /* the collector thread's own */
    struct sl_window window;
    uint64_t flush_due_ns, calibrate_due_ns; /* monotonic */
    uint64_t drain_turn;                     /* last buffer requested before the window's end */
    int drain_back;                          /* looks in a row that found all of those back */
    int clock_said, drop_said;
};

static struct sl_collector the_collector;

/* ---- calling CUPTI: always between these two ---- */

static void enter_cupti(struct sl_collector *c)
{
    atomic_store_explicit(&c->phase, PHASE_CUPTI, memory_order_release);
}

/* 0; -ECANCELED: the exit did not wait. The caller returns at once. Acquire and release pair with
 * those in cut_off(): exactly one of the two threads has the pipeline. */
static int leave_cupti(struct sl_collector *c)
{
    uint32_t expected = PHASE_CUPTI;

    if (atomic_compare_exchange_strong_explicit(&c->phase, &expected, PHASE_OURS,
                                                memory_order_acq_rel, memory_order_acquire))
        return 0;
    return -ECANCELED;
}

static int flush(struct sl_collector *c, uint32_t flag)
{
    const struct sl_cupti_api *api = c->opt.cupti;
    uint64_t now = sl_clock_monotonic();

    c->flush_due_ns = now + (c->window.state == SL_WIN_DRAINING ? DRAIN_FLUSH_NS : FLUSH_NS);
    enter_cupti(c);
    sl_cupti_check(api, api->fn.ActivityFlushAll(flag), "ActivityFlushAll");
    return leave_cupti(c);
}

static int count_drops(struct sl_collector *c, const struct sl_cupti_buffer *b)
{
    const struct sl_cupti_api *api = c->opt.cupti;
    size_t dropped = 0;
    int err;

    enter_cupti(c);
    err = sl_cupti_check(api, api->fn.ActivityGetNumDroppedRecords(b->context, b->stream, &dropped),
                         "ActivityGetNumDroppedRecords");
    if (!err && dropped) {
        sl_stats_add(SL_STAT_DROPPED_CUPTI, dropped);
        sl_log_once(&c->drop_said, SL_LOG_WARN,
                    "CUPTI dropped %zu records: its buffers were full; the trace has gaps and says "
                    "how many; raise SYNCLINE_CUPTI_MEMORY",
                    dropped);
    }
    return leave_cupti(c);
}

static int cupti_clock(void *user, uint64_t *ns)
{
    const struct sl_cupti_api *api = user;

    return api->fn.GetTimestamp(ns);
}

/* Another tool may have given CUPTI a clock of its own: our windows are cut by ours. */
static int check_clock(struct sl_collector *c)
{
    uint64_t uncertainty_ns;
    int64_t offset_ns;

    if (!c->opt.cupti->fn.GetTimestamp)
        return 0;
    enter_cupti(c);
    offset_ns = sl_clock_offset(cupti_clock, c->opt.cupti, 3, &uncertainty_ns);
    if (uncertainty_ns < MS_NS && (offset_ns > (int64_t)MS_NS || offset_ns < -(int64_t)MS_NS))
        sl_log_once(&c->clock_said, SL_LOG_WARN,
                    "CUPTI's clock is %lld us off CLOCK_REALTIME: another tool set its clock; "
                    "windows may begin and end at the wrong place; profile with one tool at a time",
                    (long long)(offset_ns / 1000));
    return leave_cupti(c);
}

/* ---- records ---- */

/* All that has come back. Stops early when the exit's time is over. */
static int take_buffers(struct sl_collector *c)
{
    struct sl_cupti_buffer *b = sl_cupti_pool_take(), *next;

    for (; b; b = next) {
        size_t records = 0;

        next = b->next;
        if (b->valid && !atomic_load_explicit(&c->hurry, memory_order_relaxed))
            records = sl_pipeline_buffer(c->pipeline, b->data, b->valid);
        if (atomic_load_explicit(&c->exiting, memory_order_relaxed))
            atomic_fetch_add_explicit(&c->exit_records, records, memory_order_relaxed);
        if (count_drops(c, b))
            return -ECANCELED;
        sl_cupti_pool_recycle(b);
    }
    sl_cupti_pool_refill();
    return 0;
}

static void nap(struct sl_collector *c)
{
    uint32_t wakes = atomic_load_explicit(&c->wakes, memory_order_acquire);

    sl_futex_wait(&c->wakes, wakes, NAP_NS);
}

/* Nothing that was enqueued before the window's end is outstanding: all buffers that were out then
 * are back, and no launch in the window waits for its GPU operation. Twice in a row, because a
 * buffer counts as back a moment before it is on the list. */
static int is_drained(struct sl_collector *c)
{
    if (c->window.state != SL_WIN_DRAINING)
        return 0;
    if (!sl_cupti_pool_all_back(c->drain_turn) || sl_pipeline_waiting(c->pipeline))
        c->drain_back = 0;
    else
        c->drain_back++;
    return c->drain_back >= 2;
}

/* A kernel that never ends, or lasts longer than we wait, holds back the finished records in its
 * buffer too. A forced flush gives them all, the unfinished ones without an end; CUPTI never tells
 * of those again. */
static int force_out(struct sl_collector *c)
{
    uint64_t deadline = sl_clock_monotonic() + FORCED_WAIT_NS;

    if (flush(c, FLUSH_FORCED))
        return -ECANCELED;
    while (!sl_cupti_pool_all_back(c->drain_turn) && sl_clock_monotonic() < deadline &&
           !atomic_load_explicit(&c->exiting, memory_order_acquire))
        nap(c);
    return take_buffers(c);
}

/* ---- what the window machine asks for ---- */

static int set_kinds(struct sl_collector *c, int on)
{
    uint32_t set = c->opt.kinds & ~SL_COLLECTOR_ALWAYS, done = set;
    int filter;

    if (!set)
        return 0;
    enter_cupti(c);
    if (on)
        done = sl_cupti_enable(c->opt.cupti, set, c->opt.config->api_all, &filter);
    else
        sl_cupti_disable(c->opt.cupti, set);
    if (leave_cupti(c))
        return -ECANCELED;
    return done ? 0 : -EIO;
}

/* The opening or closing of a window must not get lost: waits while the writer is that far behind,
 * unless the process ends. */
static void push_window(struct sl_collector *c, int open)
{
    const struct sl_window *w = &c->window;

    while (
        open ? sl_pipeline_open(c->pipeline, w->number, (uint32_t)w->reason, w->opened_ns)
             : sl_pipeline_close(c->pipeline, w->number, (uint32_t)w->close_reason, w->closed_ns)) {
        if (atomic_load_explicit(&c->exiting, memory_order_acquire))
            return;
        nap(c);
    }
}

static int begin_drain(struct sl_collector *c)
{
    sl_pipeline_limit(c->pipeline, c->window.closed_ns);
    c->drain_turn = sl_cupti_pool_turn();
    c->drain_back = 0;
    return flush(c, FLUSH_PLAIN);
}

/* In the order of the bits. -ECANCELED: cut off; -EIO: no kind could be enabled. */
static int carry_out(struct sl_collector *c, uint32_t actions, int drained)
{
    int err = 0;

    if (actions & SL_ACT_ENABLE)
        err = set_kinds(c, 1);
    if (!err && (actions & SL_ACT_OPEN)) {
        atomic_store_explicit(&c->window_number, c->window.number, memory_order_relaxed);
        push_window(c, 1);
        err = check_clock(c);
    }
    if (!err && (actions & SL_ACT_DRAIN))
        err = begin_drain(c);
    if (!err && (actions & SL_ACT_CLOSE)) {
        if (!drained && !sl_cupti_pool_all_back(c->drain_turn))
            err = force_out(c);
        if (!err)
            push_window(c, 0);
    }
    if (!err && (actions & SL_ACT_DISABLE))
        err = set_kinds(c, 0);
    return err;
}

/* One step of the machine, and its new state for others to see. They may change the requests
 * meanwhile: then the step is taken again, on a fresh copy. Acquire and release order nothing but
 * the word itself and the opening time that a request's caller may look at the clock for. */
static uint32_t step(struct sl_collector *c, uint64_t now_ns, int drained)
{
    uint32_t word = atomic_load_explicit(&c->request, memory_order_acquire), actions;
    struct sl_window next;

    do {
        next = c->window;
        sl_window_unpack(&next, word);
        actions = sl_window_step(&next, now_ns, drained);
    } while (!atomic_compare_exchange_weak_explicit(&c->request, &word, sl_window_pack(&next),
                                                    memory_order_acq_rel, memory_order_acquire));
    c->window = next;
    return actions;
}

/* Steps until nothing is to be done now. */
static int run_window(struct sl_collector *c)
{
    for (;;) {
        int drained = is_drained(c);
        uint32_t actions = step(c, sl_clock_now(), drained);
        enum sl_window_state state = c->window.state;
        int err = carry_out(c, actions, drained);

        if (err)
            return err;
        /* A lead-in is timed by the step after it: its deadline is 0 until then. */
        if (!actions && !(state == SL_WIN_LEAD_IN && sl_window_deadline(&c->window) == 0))
            return 0;
    }
}

/* ---- the thread ---- */

static int bring_in(struct sl_collector *c)
{
    uint64_t now = sl_clock_monotonic();

    if (now >= c->calibrate_due_ns) {
        sl_clock_calibrate();
        c->calibrate_due_ns = now + CALIBRATE_NS;
    }
    if (now >= c->flush_due_ns && flush(c, FLUSH_PLAIN))
        return -ECANCELED;
    if (take_buffers(c))
        return -ECANCELED;
    sl_pipeline_tick(c->pipeline);
    return 0;
}

/* Until the next flush, the window machine's next step, or a wake. */
static void sleep_until_due(struct sl_collector *c, uint32_t wakes)
{
    uint64_t now = sl_clock_monotonic(), wall = sl_clock_now();
    uint64_t step_ns = sl_window_deadline(&c->window);
    uint64_t wait = c->flush_due_ns > now ? c->flush_due_ns - now : 0;

    if (step_ns <= wall)
        wait = 0;
    else if (step_ns - wall < wait)
        wait = step_ns - wall;
    if (wait)
        sl_futex_wait(&c->wakes, wakes, wait);
}

/* The process ends: one last flush, all that comes of it in time, the end of the open window. */
static int finish(struct sl_collector *c)
{
    uint64_t turn = sl_cupti_pool_turn();
    uint32_t actions = sl_window_exit(&c->window, sl_clock_now());

    if (actions & SL_ACT_DRAIN)
        sl_pipeline_limit(c->pipeline, c->window.closed_ns);
    if (flush(c, FLUSH_FORCED) || take_buffers(c))
        return -ECANCELED;
    while (!sl_cupti_pool_all_back(turn) &&
           !atomic_load_explicit(&c->hurry, memory_order_acquire)) {
        nap(c);
        if (take_buffers(c))
            return -ECANCELED;
    }
    if (take_buffers(c)) /* what came between the look and the list */
        return -ECANCELED;
    if (actions & SL_ACT_CLOSE)
        push_window(c, 0);
    return 0;
}

static void end_thread(struct sl_collector *c)
{
    /* Release pairs with the acquire in sl_collector_exit(): the pipeline is the exit's now. */
    atomic_store_explicit(&c->ended, 1, memory_order_release);
    sl_futex_wake(&c->ended);
}

static int create_pipeline(struct sl_collector *c)
{
    const struct sl_pipeline_options opt = {c->opt.config, c->opt.identity, c->opt.cupti,
                                            c->opt.filter_api};
    struct sl_pipeline *pipeline;
    int err = sl_pipeline_create(&pipeline, &opt);

    if (!err)
        /* Release pairs with the acquire in use_pipeline(). */
        atomic_store_explicit(&c->pipeline, pipeline, memory_order_release);
    return err;
}

static void *run(void *user)
{
    struct sl_collector *c = user;
    int err;

    pthread_setname_np(pthread_self(), "syncline-cupti");
    err = create_pipeline(c);
    if (err) {
        c->opt.on_failure(err == -ENOMEM ? "no memory for events: lower SYNCLINE_MEMORY"
                                         : "the writer could not be started");
        end_thread(c);
        return NULL;
    }
    sl_window_init(&c->window, c->opt.config, sl_clock_now(), c->opt.on_since_ns);
    /* The first window opens before any record is judged, even if the process ends already. */
    err = run_window(c);
    while (!err && !atomic_load_explicit(&c->exiting, memory_order_acquire)) {
        uint32_t wakes = atomic_load_explicit(&c->wakes, memory_order_acquire);

        /* Records first: what came before a window's end is judged before it ends. */
        err = bring_in(c);
        if (!err)
            err = run_window(c);
        if (!err)
            sleep_until_due(c, wakes);
    }
    if (err == -EIO)
        c->opt.on_failure("CUPTI refused every kind of record");
    if (err == -ECANCELED || (!err && finish(c)))
        return NULL; /* cut off: nothing here is ours any more */
    end_thread(c);
    return NULL;
}

/* ---- other threads ---- */

int sl_collector_init(struct sl_collector **out, const struct sl_collector_options *opt)
{
    struct sl_collector *c = &the_collector;
    struct sl_window window;

    if (c->opt.config)
        return -EALREADY;
    c->opt = *opt;
    sl_window_init(&window, opt->config, 0, opt->on_since_ns);
    atomic_store_explicit(&c->request, sl_window_pack(&window), memory_order_relaxed);
    *out = c;
    return 0;
}

int sl_collector_start(struct sl_collector *c)
{
    pthread_attr_t attributes;
    sigset_t all, before;
    pthread_t thread;
    int err;

    if (atomic_exchange_explicit(&c->started, 1, memory_order_acq_rel))
        return -EALREADY;
    /* The host's signal handlers must never run here; a thread inherits its maker's mask. */
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    pthread_attr_setstacksize(&attributes, STACK_BYTES);
    err = pthread_create(&thread, &attributes, run, c);
    if (err == EINVAL) {
        /* The host's thread-local data does not fit: the host's own default must. */
        pthread_attr_destroy(&attributes);
        pthread_attr_init(&attributes);
        pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
        err = pthread_create(&thread, &attributes, run, c);
    }
    pthread_attr_destroy(&attributes);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (err)
        end_thread(c);
    return -err;
}

void sl_collector_wake(struct sl_collector *c)
{
    atomic_fetch_add_explicit(&c->wakes, 1, memory_order_release);
    sl_futex_wake(&c->wakes);
}

static int request(struct sl_collector *c, int (*ask)(struct sl_window *))
{
    uint32_t word = atomic_load_explicit(&c->request, memory_order_acquire);
    struct sl_window w;
    int answer;

    do {
        sl_window_unpack(&w, word);
        answer = ask(&w);
    } while (!atomic_compare_exchange_weak_explicit(&c->request, &word, sl_window_pack(&w),
                                                    memory_order_acq_rel, memory_order_acquire));
    sl_collector_wake(c);
    return answer;
}

int sl_collector_request_start(struct sl_collector *c)
{
    return request(c, sl_window_start);
}

int sl_collector_request_stop(struct sl_collector *c)
{
    return request(c, sl_window_stop);
}

/* The pipeline, for a moment; NULL if there is none yet or no more. Sequentially consistent with
 * close_status(): either it waits for us or we see `closed`. */
static struct sl_pipeline *use_pipeline(struct sl_collector *c)
{
    atomic_fetch_add(&c->status_users, 1);
    if (atomic_load(&c->closed))
        return NULL;
    return atomic_load_explicit(&c->pipeline, memory_order_acquire);
}

static void unuse_pipeline(struct sl_collector *c)
{
    atomic_fetch_sub(&c->status_users, 1);
}

void sl_collector_get_status(struct sl_collector *c, struct sl_collector_status *out,
                             char *last_file, size_t last_file_size)
{
    struct sl_pipeline *pipeline = use_pipeline(c);
    struct sl_window w;

    sl_window_unpack(&w, atomic_load_explicit(&c->request, memory_order_acquire));
    out->state = w.state;
    out->started = atomic_load_explicit(&c->started, memory_order_relaxed) != 0;
    out->window = atomic_load_explicit(&c->window_number, memory_order_relaxed);
    out->windows_completed = 0;
    out->memory_bytes = sl_cupti_pool_mapped_bytes();
    if (pipeline) {
        sl_pipeline_last(pipeline, last_file, last_file_size, &out->windows_completed);
        out->memory_bytes += sl_pipeline_bytes(pipeline);
    }
    unuse_pipeline(c);
}

/* ---- exit ---- */

/* Takes the pipeline from a collector that is inside CUPTI. 0; -EBUSY: it is in our own code. */
static int cut_off(struct sl_collector *c)
{
    uint32_t expected = PHASE_CUPTI;

    if (atomic_compare_exchange_strong_explicit(&c->phase, &expected, PHASE_CUT,
                                                memory_order_acq_rel, memory_order_acquire))
        return 0;
    return -EBUSY;
}

static uint64_t exit_deadline(struct sl_collector *c, uint64_t begun, size_t queued)
{
    uint64_t records = queued + atomic_load_explicit(&c->exit_records, memory_order_relaxed);
    uint64_t budget = EXIT_BASE_NS + records * EXIT_RECORD_NS;

    return begun + (budget < EXIT_MOST_NS ? budget : EXIT_MOST_NS);
}

/* Until the collector has handed over, or was cut off. 0; -ETIMEDOUT: neither. */
static int wait_for_collector(struct sl_collector *c, uint64_t begun, size_t queued)
{
    int cut_tried = 0;

    while (!atomic_load_explicit(&c->ended, memory_order_acquire)) {
        uint64_t now = sl_clock_monotonic(), due = exit_deadline(c, begun, queued);

        if (now >= due)
            return -ETIMEDOUT;
        if (now >= due - EXIT_WRITER_NS) {
            atomic_store_explicit(&c->hurry, 1, memory_order_release);
            if (!cut_tried++)
                sl_collector_wake(c);
            if (cut_off(c) == 0)
                return 0;
            sl_futex_wait(&c->ended, 0, NAP_NS);
        } else {
            sl_futex_wait(&c->ended, 0, due - EXIT_WRITER_NS - now);
        }
    }
    return 0;
}

/* No status call reads the pipeline once this returns 0. */
static int close_status(struct sl_collector *c, uint64_t deadline)
{
    atomic_store(&c->closed, 1);
    while (atomic_load(&c->status_users)) {
        if (sl_clock_monotonic() >= deadline)
            return -ETIMEDOUT;
        sched_yield();
    }
    return 0;
}

void sl_collector_exit(struct sl_collector *c)
{
    uint64_t begun = sl_clock_monotonic(), now, due;
    struct sl_pipeline *pipeline = atomic_load_explicit(&c->pipeline, memory_order_acquire);
    size_t queued = pipeline ? sl_pipeline_queued(pipeline) : 0, left;

    if (!atomic_load_explicit(&c->started, memory_order_acquire))
        return;
    atomic_store_explicit(&c->exiting, 1, memory_order_release);
    sl_collector_wake(c);
    if (wait_for_collector(c, begun, queued)) {
        sl_log(SL_LOG_WARN, "the last records could not be brought in before the process ended; "
                            "the trace stays a .part file: 'syncline check' tells what is in it");
        return;
    }
    /* The collector may have made it meanwhile. */
    pipeline = atomic_load_explicit(&c->pipeline, memory_order_acquire);
    if (!pipeline)
        return;
    due = exit_deadline(c, begun, queued);
    if (close_status(c, due))
        return;
    now = sl_clock_monotonic();
    left = sl_pipeline_stop(pipeline, due > now ? due - now : 0);
    if (left) {
        sl_stats_add(SL_STAT_UNDELIVERED_AT_EXIT, left);
        sl_log(SL_LOG_WARN,
               "%zu events could not be written before the process ended; the trace stays a .part "
               "file: 'syncline check' tells what is in it",
               left);
    }
}
