/*
 * runtime.c - the life cycle of syncline in one process.
 *
 * Entered by the thread that initialises CUDA (inject), by the thread whose call needs CUPTI's
 * first buffer (first use), by any thread (public API), by the thread that ends the process (exit)
 * and by the child of a fork. Owns the configuration, who we are, and CUPTI's function table;
 * everything else belongs to the collector, which it starts. All of it is static and lives as long
 * as the process.
 *
 * Whatever goes wrong ends in passive(): one line on stderr, a reason for sl_status(), and a host
 * that runs on.
 */
#include "runtime.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/stats.h"
#include "collect/cupti_buffer.h"
#include "collect/cupti_clock.h"
#include "collect/cupti_neighbour.h"
#include "collect/graph_nodes.h"
#include "collect/lane.h"
#include "collect/nvtx.h"
#include "collect/nvtx_calls.h"
#include "collect/nvtx_cuda.h"
#include "collect/nvtx_names.h"
#include "collect/python_boot.h"
#include "collect/python_frames.h"
#include "collect/torch_ops.h"
#include "collector.h"
#include "control/config.h"
#include "control/identity.h"

/* One buffer holds some 4000 records. Every thread that calls CUDA has one out, so larger ones
 * would spend the cap on threads that launch little. */
#define BUFFER_BYTES (512u * 1024u)
/* Threads may begin all at once, faster than the collector makes buffers: of 8 that launched at the
 * same moment, 5 found none of 4. 8 MiB, touched beforehand. */
#define READY_BUFFERS 16
/* CUPTI 13.3. A subscriber of 13.2 is not told of dropped records, and false sync edges come of
 * what is not known to be missing. */
#define FIRST_TO_TELL_DROPS 130300

enum life {
    NOT_INJECTED,
    PREPARING, /* inside inject() */
    ARMED,     /* or further: the collector knows */
    PASSIVE
};

static struct {
    _Atomic int life;
    _Atomic int exiting;
    _Atomic int used;           /* CUPTI has asked for a buffer */
    const char *_Atomic reason; /* why passive */
    int is_away;                /* from the start: another client has CUPTI */
    pid_t pid; /* of the process that was injected: a child made by a bare clone() is another */
    struct sl_config config;
    struct sl_identity identity;
    struct sl_cupti_api cupti;
    struct sl_collector *collector;
    char why[512]; /* what was wrong with libcupti */
} runtime;

static enum life current_life(void)
{
    /* Acquire pairs with the release in inject: the collector is there. */
    return (enum life)atomic_load_explicit(&runtime.life, memory_order_acquire);
}

/* `reason` is a static text. Also runs in the child of a fork: no lock, no allocation, no log. */
static void passive(const char *reason)
{
    atomic_store_explicit(&runtime.reason, reason, memory_order_release);
    sl_neighbour_stop();
    sl_nvtx_detach();
    sl_torch_ops_stop();
    sl_python_lines_stop();
    sl_cupti_pool_set_passive();
    atomic_store_explicit(&runtime.life, PASSIVE, memory_order_release);
}

static void fail(const char *reason)
{
    sl_log(SL_LOG_ERROR, "%s; nothing is recorded, the job is not affected", reason);
    passive(reason);
}

/* ---- starting ---- */

/* On the collector thread: stderr may stall, and whoever made the first call must not wait. */
static void say_where(void)
{
    const struct sl_identity *who = &runtime.identity;

    if (who->rank_source)
        sl_log(SL_LOG_INFO, "recording rank %d of %d to %s", who->rank, who->world_size,
               who->folder);
    else
        sl_log(SL_LOG_INFO, "recording to %s (no launcher told a rank: taken for rank 0)",
               who->folder);
}

static void start_threads(void)
{
    int err = sl_collector_start(runtime.collector);

    if (err && err != -EALREADY)
        fail("no thread could be started: the limit on threads or memory is reached");
}

/* Inside the first CUPTI callback, on an application thread: calls neither CUPTI nor CUDA. Some
 * CUPTI may make a record of each device while we are still enabling kinds: then inject() starts
 * the threads when it is done. */
static void on_first_use(void)
{
    atomic_store(&runtime.used, 1);
    if (current_life() == ARMED && getpid() == runtime.pid)
        start_threads();
}

static void wake_collector(void)
{
    if (current_life() == ARMED)
        sl_collector_wake(runtime.collector);
}

/* A client begins, on a thread of the application's that will wait for us, or has left. */
static void on_neighbour(void)
{
    if (current_life() != ARMED || getpid() != runtime.pid) {
        sl_neighbour_stop();
        return;
    }
    start_threads();
    sl_collector_wake(runtime.collector);
}

static void watch_neighbours(void)
{
    const struct sl_neighbour_options opt = {&runtime.cupti, on_neighbour};

    if (runtime.config.handover)
        sl_neighbour_watch(&opt, runtime.is_away);
}

/* The kinds of the first window go on here, before any context: it is cheap now, and nothing of the
 * window is lost. On demand only those that must never be off. */
static int enable_kinds(uint32_t wanted, int *filter_api)
{
    uint32_t now = wanted, done;

    if (runtime.config.window_mode == SL_WINDOW_DEMAND)
        now &= SL_COLLECTOR_ALWAYS;
    done = sl_cupti_enable(&runtime.cupti, now, runtime.config.api_all, filter_api);
    return done & ~(uint32_t)SL_CUPTI_NAMES || !(now & ~(uint32_t)SL_CUPTI_NAMES) ? 0 : -EIO;
}

/* Another client that has begun before us: torch.profiler gives CUPTI a clock of its own, and
 * before the first session of anybody's it has CLOCK_REALTIME. */
static int is_in_use(const struct sl_cupti_api *api)
{
    struct sl_cupti_clock clock = {0};

    return sl_neighbour_imports("cuptiActivityRegisterCallbacks") &&
           sl_cupti_clock_look(&clock, api->fn.GetTimestamp) != SL_CUPTI_CLOCK_REALTIME;
}

/* Attributes before callbacks, callbacks before kinds: CUPTI demands it. */
static int attach_to_cupti(void)
{
    struct sl_cupti_api *api = &runtime.cupti;
    struct sl_collector_options opt = {
        .config = &runtime.config,
        .identity = &runtime.identity,
        .cupti = api,
        .kinds = runtime.config.kinds | SL_CUPTI_NAMES,
        .on_start = say_where,
        .on_failure = fail,
    };
    int err;

    if (runtime.config.window_mode != SL_WINDOW_DEMAND)
        opt.on_since_ns = sl_clock_now();
    sl_cupti_pool_set_first_use(on_first_use);
    if (runtime.config.handover && is_in_use(api)) {
        sl_log(SL_LOG_INFO, "another profiler is recording: syncline begins when it stops");
        runtime.is_away = opt.is_away = 1;
        opt.filter_api = !api->fn.ActivityEnableRuntimeApi && !runtime.config.api_all;
        return sl_collector_init(&runtime.collector, &opt);
    }
    err = sl_cupti_attach(api, sl_cupti_pool_request, sl_cupti_pool_complete);
    if (!err)
        err = enable_kinds(opt.kinds, &opt.filter_api);
    if (!err)
        err = sl_collector_init(&runtime.collector, &opt);
    return err;
}

/* First of all: CUPTI may start threads. */
static void invite_nvtx(void)
{
    if (runtime.config.nvtx && sl_nvtx_invite() == -EBUSY)
        sl_log(SL_LOG_DEBUG,
               "the process has threads, so that its environment is left alone: ranges with "
               "payloads of NVTX's extension are recorded if NVTX_INJECTION64_PATH names this "
               "library");
}

/* Lanes and names serve sl_range_push() and steps too. A job without its ranges is better than
 * none. */
static void attach_to_nvtx(void)
{
    int err;

    if (!runtime.config.nvtx)
        sl_nvtx_detach();
    err = sl_nvtx_init((size_t)(runtime.config.nvtx_memory_bytes / 3 * 2));
    if (err && err != -EALREADY) {
        sl_log(SL_LOG_WARN, "no memory for ranges: the trace has none; lower SYNCLINE_NVTX_MEMORY");
        sl_nvtx_detach();
        return;
    }
    sl_nvtx_set_ids(sl_nvtx_cuda_ids(&runtime.cupti));
    sl_lanes_set_wake(wake_collector);
    sl_step_set_wake(wake_collector);
    if (runtime.config.nvtx)
        sl_nvtx_attach_all();
}

/* Here rather than when the collector gets to it, so that operators are recorded from this one on.
 * A PyTorch that is loaded later is the collector's to find. */
static void attach_to_torch(void)
{
    sl_torch_ops_attach(runtime.config.ops, runtime.config.home);
    if (runtime.config.window_mode == SL_WINDOW_RUN || runtime.config.window_mode == SL_WINDOW_TIME)
        sl_torch_ops_enable(1);
}

/* The interpreter may not be there yet: the collector asks again when a window opens. */
static void attach_to_python(void)
{
    if (runtime.config.python)
        sl_python_boot(runtime.config.home);
}

static void find_python(void)
{
    if (sl_python_lines_init((unsigned)runtime.config.source_depth) == -ENOTSUP)
        sl_log(SL_LOG_DEBUG, "this Python is not known (3.9 to 3.15 with the usual lock are): "
                             "waits have no source lines");
}

/* NULL, or why nothing can be recorded. The older calls, which torch.profiler makes, and the newer
 * ones do not mix in one process. */
static const char *choose_api(void)
{
    enum sl_cupti_api_choice choice = runtime.config.cupti_api;
    char holder[64];
    int err;

    if (choice == SL_CUPTI_API_V1 ||
        (choice == SL_CUPTI_API_AUTO && (runtime.cupti.version < FIRST_TO_TELL_DROPS ||
                                         sl_neighbour_imports("cuptiActivityRegisterCallbacks"))))
        return NULL;
    /* A dump is of records whose layout follows from CUPTI's version. */
    err = sl_cupti_api_use_v2(&runtime.cupti,
                              choice != SL_CUPTI_API_V2_WHOLE && !*runtime.config.dump_cupti,
                              holder, sizeof(holder));
    if (err == -EBUSY) {
        snprintf(runtime.why, sizeof(runtime.why),
                 "another profiler holds CUPTI (%s): use one at a time",
                 *holder ? holder : "nsys, ncu, cuda-gdb...");
        return runtime.why;
    }
    if (runtime.cupti.hides_drops)
        sl_log(SL_LOG_WARN,
               "%s does not tell a subscriber of the records that it drops: no wait is "
               "explained, lest it be by the wrong operation; use "
               "SYNCLINE_CUPTI_API=v1, or CUPTI 13.3 or later",
               runtime.cupti.path);
    if (err && choice != SL_CUPTI_API_AUTO)
        sl_log(SL_LOG_WARN, "%s %s: SYNCLINE_CUPTI_API=v1 is used", runtime.cupti.path,
               err == -ENOTSUP ? "has no subscribers of CUPTI 13.2" : "refused a subscriber");
    return NULL;
}

/* 0, or why not. */
static const char *prepare(const struct sl_cupti_functions *cupti)
{
    const char *why;
    int err;

    sl_clock_calibrate();
    snprintf(runtime.why, sizeof(runtime.why), "the given CUPTI cannot be used");
    if (cupti)
        err = sl_cupti_api_adopt(&runtime.cupti, cupti);
    else
        err = sl_cupti_api_open(&runtime.cupti, runtime.why, sizeof(runtime.why));
    if (err)
        return runtime.why;
    why = choose_api();
    if (why)
        return why;
    err = sl_cupti_pool_init(BUFFER_BYTES, runtime.config.cupti_memory_bytes, READY_BUFFERS,
                             wake_collector);
    if (err)
        return "no memory for CUPTI's buffers: lower SYNCLINE_CUPTI_MEMORY";
    err = attach_to_cupti();
    /* Whatever comes of it, the rest is recorded. */
    if (!err && runtime.config.graph_edges)
        (void)sl_graph_nodes_start(&runtime.cupti);
    if (err == -EBUSY || err == -ENOTSUP)
        return "another profiler holds CUPTI (nsys, ncu, cuda-gdb...): use one at a time";
    return err ? "CUPTI refused to record" : NULL;
}

int sl_runtime_inject_with(const struct sl_cupti_functions *cupti, char *const *environment)
{
    int expected = NOT_INJECTED;
    const char *why;

    if (!atomic_compare_exchange_strong(&runtime.life, &expected, PREPARING))
        return 0;
    runtime.pid = getpid();
    sl_config_read(&runtime.config, environment);
    if (!runtime.config.enabled) {
        passive("switched off by SYNCLINE_ENABLED");
        return 0;
    }
    sl_identity_read(&runtime.identity, &runtime.config, environment);
    invite_nvtx();
    why = prepare(cupti);
    if (why) {
        fail(why);
        return 0;
    }
    attach_to_nvtx();
    find_python();
    attach_to_torch();
    /* Sequentially consistent with on_first_use(): one of the two sees the other's store. */
    atomic_store(&runtime.life, ARMED);
    watch_neighbours();
    if (atomic_load(&runtime.used))
        start_threads();
    attach_to_python();
    return 1;
}

int sl_runtime_inject(void)
{
    return sl_runtime_inject_with(NULL, environ);
}

/* ---- ending ---- */

static uint64_t total_dropped(void)
{
    return sl_stats_get(SL_STAT_DROPPED_CUPTI) + sl_stats_get(SL_STAT_DROPPED_RECORDS_DISCARDED) +
           sl_stats_get(SL_STAT_DROPPED_RING) + sl_stats_get(SL_STAT_DROPPED_WRITE) +
           sl_stats_get(SL_STAT_UNDELIVERED_AT_EXIT);
}

void sl_runtime_exit(void)
{
    uint64_t dropped;

    if (current_life() != ARMED || getpid() != runtime.pid)
        return;
    if (atomic_exchange(&runtime.exiting, 1))
        return;
    sl_collector_exit(runtime.collector);
    if (runtime.config.window_mode == SL_WINDOW_STEPS && atomic_load(&runtime.used) &&
        sl_step_number() < 2)
        sl_log(SL_LOG_WARN,
               "no steps of the job were seen, so no window opened (SYNCLINE_WINDOW=steps): call "
               "syncline.step(), or record by time");
    /* What the disk or the end of the process lost has been said; more memory would not have
     * helped. */
    dropped = total_dropped() - sl_stats_get(SL_STAT_DROPPED_WRITE) -
              sl_stats_get(SL_STAT_UNDELIVERED_AT_EXIT);
    if (dropped)
        sl_log(SL_LOG_WARN,
               "%llu events were dropped in all; the traces say where; SYNCLINE_MEMORY and "
               "SYNCLINE_CUPTI_MEMORY allow more",
               (unsigned long long)dropped);
    passive("the process is ending");
}

void sl_runtime_fork_child(void)
{
    if (current_life() != NOT_INJECTED)
        passive("a forked child: the parent goes on recording");
}

/* ---- public API ---- */

/* 0; -EAGAIN before the injection; -ENODEV for good. */
static int is_there(void)
{
    switch (current_life()) {
    case NOT_INJECTED:
    case PREPARING:
        return -EAGAIN;
    case ARMED:
        if (getpid() == runtime.pid)
            return 0;
        sl_runtime_fork_child(); /* a bare clone() runs no handler */
        break;
    case PASSIVE:
        break;
    }
    return -ENODEV;
}

int sl_runtime_start(void)
{
    int err = is_there(), answer;

    if (err)
        return err;
    answer = sl_collector_request_start(runtime.collector);
    /* CUPTI may have asked for no buffer yet, though a context exists. */
    start_threads();
    return answer;
}

int sl_runtime_dump(void)
{
    int err = is_there();

    return err ? err : sl_collector_request_dump(runtime.collector);
}

int sl_runtime_hand_over(void)
{
    int err = is_there();

    return err ? err : sl_neighbour_begin();
}

int sl_runtime_take_back(void)
{
    int err = is_there();

    return err ? err : sl_neighbour_end();
}

/* The same without a system call: what a child of a bare clone() leaves in its lanes is not read.
 */
static int is_armed(void)
{
    switch (current_life()) {
    case ARMED:
        return 0;
    case PASSIVE:
        return -ENODEV;
    default:
        return -EAGAIN;
    }
}

int sl_runtime_step(enum sl_step_source source)
{
    int err = is_armed();

    if (!err)
        sl_step_take(source);
    return err;
}

/* Ranges of ours have a nesting of their own: no pop of the application's NVTX ends one. */
static unsigned own_domain(void)
{
    static _Atomic unsigned domain;
    unsigned known = atomic_load_explicit(&domain, memory_order_relaxed);

    if (!known) {
        known = sl_nvtx_domain("syncline", sizeof("syncline") - 1);
        atomic_store_explicit(&domain, known, memory_order_relaxed);
    }
    return known;
}

static struct sl_nvtx_event event_of(const char *name)
{
    return (struct sl_nvtx_event){.message = {0, name, strnlen(name, SL_LANE_TEXT_MAX)}};
}

int sl_runtime_range_push(const char *name)
{
    struct sl_nvtx_event ev;
    int err = is_armed();

    if (err || !name)
        return err ? err : -EINVAL;
    ev = event_of(name);
    sl_nvtx_push(own_domain(), &ev);
    return 0;
}

int sl_runtime_range_pop(void)
{
    int err = is_armed();

    if (!err)
        sl_nvtx_pop(own_domain(), NULL);
    return err;
}

int sl_runtime_mark(const char *name)
{
    struct sl_nvtx_event ev;
    int err = is_armed();

    if (err || !name)
        return err ? err : -EINVAL;
    ev = event_of(name);
    sl_nvtx_record_event(SL_LANE_MARK, own_domain(), &ev, 0);
    return 0;
}

int sl_runtime_stop(void)
{
    int err = is_there();

    return err ? err : sl_collector_request_stop(runtime.collector);
}

static int32_t public_state(enum sl_window_state state)
{
    switch (state) {
    case SL_WIN_LEAD_IN:
        return SL_STATE_LEAD_IN;
    case SL_WIN_RECORDING:
        return SL_STATE_RECORDING;
    case SL_WIN_DRAINING:
        return SL_STATE_DRAINING;
    case SL_WIN_PAUSED:
        break;
    }
    return SL_STATE_ARMED;
}

static void fill_status(struct sl_status *s, int passive_now)
{
    struct sl_collector_status c;

    s->records = sl_stats_get(SL_STAT_RECORDS);
    s->events_written = sl_stats_get(SL_STAT_EVENTS_WRITTEN);
    s->dropped = total_dropped();
    /* A fork may have caught the writer in the middle of telling its last file: the child would
     * wait for the rest. */
    if (runtime.collector && getpid() == runtime.pid) {
        sl_collector_get_status(runtime.collector, &c, s->last_file, sizeof(s->last_file));
        s->state = c.started ? public_state(c.state) : SL_STATE_ARMED;
        s->window = c.window;
        s->windows_completed = c.windows_completed;
        s->memory_bytes = c.memory_bytes;
    }
    if (passive_now) {
        s->state = SL_STATE_PASSIVE;
        snprintf(s->reason, sizeof(s->reason), "%s",
                 atomic_load_explicit(&runtime.reason, memory_order_acquire));
    }
}

int sl_runtime_status(struct sl_status *out)
{
    struct sl_status full;
    size_t size;
    int err = is_there();

    if (err == -EAGAIN)
        return err;
    /* The numbers must fit; the texts behind them may be missing or shorter in an older caller. */
    if (!out || out->size < offsetof(struct sl_status, last_file))
        return -EINVAL;
    size = out->size < sizeof(full) ? out->size : sizeof(full);
    memset(&full, 0, sizeof(full));
    fill_status(&full, err != 0);
    full.size = out->size;
    memcpy(out, &full, size);
    return 0;
}
