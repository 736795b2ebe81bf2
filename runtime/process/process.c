/*
 * process.c - the life cycle of syncline in one process.
 *
 * Threads: the thread that initialises CUDA (inject), the thread whose call needs CUPTI's first
 * buffer (first use), any thread (public API), the thread that ends the process (exit), and the
 * child of a fork. This file owns the configuration, the identity and CUPTI's function table. This
 * file starts the recorder, which owns everything else. All these objects are static and live as
 * long as the process.
 *
 * Every failure ends in passive(): one line on stderr and a reason for sl_status(). The job
 * continues without being recorded.
 */
#include "process/process.h"

#include <errno.h>
#include <stdio.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "base/log.h"
#include "base/stats.h"
#include "collect/cupti/buffer.h"
#include "collect/cupti/cuda_facts.h"
#include "collect/source.h"
#include "control/memory_limit.h"
#include "process/process_impl.h"
#include "session/peer.h"

struct sl_process sl_process;

/* Ends recording for good. `reason` is a static text. Also runs in the child of a fork, so it
 * neither locks, allocates nor logs. */
static void passive(const char *reason)
{
    atomic_store_explicit(&sl_process.reason, reason, memory_order_release);
    sl_peer_stop();
    sl_sources_stop();
    sl_cupti_pool_set_passive();
    atomic_store_explicit(&sl_process.life, SL_LIFE_PASSIVE, memory_order_release);
}

void sl_process_fail(const char *reason)
{
    sl_log(SL_LOG_ERROR, "%s; nothing is recorded, the job is not affected", reason);
    passive(reason);
}

/* ---- starting ---- */

void sl_process_start_threads(void)
{
    int err = sl_recorder_start(sl_process.recorder);

    if (err && err != -EALREADY)
        sl_process_fail(
            "syncline could not start a thread: the limit on threads or memory is reached");
}

/* Runs inside the first CUPTI callback, on an application thread, so it calls neither CUPTI nor
 * CUDA. Some CUPTI versions record each device while kinds are still being enabled. Then
 * sl_process_inject_with() starts the threads at its end. */
void sl_process_on_first_use(void)
{
    atomic_store(&sl_process.used, 1);
    /* Sequentially consistent with the store in sl_process_inject_with(). */
    if (atomic_load(&sl_process.life) == SL_LIFE_ARMED && getpid() == sl_process.pid)
        sl_process_start_threads();
}

void sl_process_wake(void)
{
    if (sl_process_life() == SL_LIFE_ARMED)
        sl_recorder_wake(sl_process.recorder);
}

/* Called when a peer profiler begins, or when the peer has left. When the peer begins, its thread
 * waits for us. */
static void on_peer(void)
{
    if (sl_process_life() != SL_LIFE_ARMED || getpid() != sl_process.pid) {
        sl_peer_stop();
        return;
    }
    sl_process_start_threads();
    sl_recorder_wake(sl_process.recorder);
}

static void watch_peers(void)
{
    const struct sl_peer_options opt = {&sl_process.cupti, on_peer};

    if (sl_process.config.handover)
        sl_peer_watch(&opt, sl_process.handed_over);
}

static void say_of_windows(const struct sl_config *config)
{
    if (config->window_mode == SL_WINDOW_STEPS && config->window_steps == config->period_steps)
        sl_log(SL_LOG_WARN,
               "SYNCLINE_WINDOW=steps:%llu/%llu: the windows leave no time to complete their "
               "files, so every second window or more is not recorded; "
               "SYNCLINE_WINDOW=run records every step",
               (unsigned long long)config->window_steps, (unsigned long long)config->period_steps);
}

/* Lowers the memory options to the memory that the host's limits leave. Returns NULL, or the reason
 * why nothing can be recorded.
 */
static const char *fit_memory(void)
{
    struct sl_memory_limit limit;
    uint64_t need;
    int fits;

    sl_memory_limit_read(&limit, "", sl_process.identity.local_ranks, NULL);
    fits = sl_memory_limit_apply(&sl_process.config, limit.share_bytes, &need);
    if (fits == -ENOMEM) {
        snprintf(sl_process.why, sizeof(sl_process.why),
                 "%s is %.1f MB, and %.1f MB are in use: syncline may take %.1f MB and needs %.1f",
                 limit.source, (double)limit.limit_bytes / 1e6, (double)limit.used_bytes / 1e6,
                 (double)limit.share_bytes / 1e6, (double)need / 1e6);
        return sl_process.why;
    }
    if (fits > 0)
        sl_log(
            SL_LOG_INFO,
            "%s is %.1f MB, and %.1f MB are in use: syncline takes at most %.1f MB (an eighth of "
            "the rest for the ranks of this machine)",
            limit.source, (double)limit.limit_bytes / 1e6, (double)limit.used_bytes / 1e6,
            (double)limit.share_bytes / 1e6);
    return NULL;
}

int sl_process_inject_with(const struct sl_cupti_functions *cupti, char *const *environment)
{
    int expected = SL_LIFE_NOT_INJECTED;
    const char *why;

    if (!atomic_compare_exchange_strong(&sl_process.life, &expected, SL_LIFE_PREPARING))
        return 0;
    sl_process.pid = getpid();
    sl_config_read(&sl_process.config, environment);
    if (!sl_process.config.enabled) {
        passive("switched off by SYNCLINE_ENABLED");
        return 0;
    }
    if (sl_process.config.window_mode == SL_WINDOW_OFF) {
        passive("switched off by SYNCLINE_WINDOW=off");
        return 0;
    }
    sl_identity_read(&sl_process.identity, &sl_process.config, environment);
    say_of_windows(&sl_process.config);
    why = fit_memory();
    if (!why)
        why = sl_process_attach(cupti);
    if (why) {
        sl_process_fail(why);
        return 0;
    }
    sl_process_attach_program();
    /* Sequentially consistent with sl_process_on_first_use(), so that at least one of the two
     * threads sees the other's store. */
    atomic_store(&sl_process.life, SL_LIFE_ARMED);
    watch_peers();
    if (atomic_load(&sl_process.used))
        sl_process_start_threads();
    sl_sources_arm();
    return 1;
}

/* The caller of a set-user-id program must not choose which code the program loads or where the
 * program writes. passive() is not called, because nothing was started yet, and because passive()
 * changes more than `reason` and `life`. */
int sl_process_refuse_secure(void)
{
    static const char reason[] = "a set-user-id or set-group-id program is never recorded";
    static int said;
    int expected = SL_LIFE_NOT_INJECTED;

    if (!getauxval(AT_SECURE))
        return 0;
    atomic_store_explicit(&sl_process.reason, reason, memory_order_release);
    atomic_compare_exchange_strong(&sl_process.life, &expected, SL_LIFE_PASSIVE);
    sl_log_once(&said, SL_LOG_WARN,
                "%s, and its SYNCLINE_* variables are ignored; to record "
                "it, run it as its owner without the set-id bits",
                reason);
    return 1;
}

int sl_process_inject(void)
{
    return sl_process_inject_with(NULL, environ);
}

/* ---- ending ---- */

uint64_t sl_process_dropped(void)
{
    return sl_stats_get(SL_STAT_DROPPED_CUPTI) + sl_stats_get(SL_STAT_DROPPED_RECORDS_DISCARDED) +
           sl_stats_get(SL_STAT_DROPPED_RING) + sl_stats_get(SL_STAT_DROPPED_WRITE) +
           sl_stats_get(SL_STAT_UNDELIVERED_AT_EXIT);
}

void sl_process_exit(void)
{
    struct sl_recorder_status status;
    uint64_t dropped;

    if (sl_process_life() != SL_LIFE_ARMED || getpid() != sl_process.pid)
        return;
    if (atomic_exchange(&sl_process.exiting, 1))
        return;
    if (!atomic_load(&sl_process.used) && sl_cuda_facts_has_context())
        sl_recorder_tell_never_asked(sl_process.recorder);
    sl_recorder_get_status(sl_process.recorder, &status, NULL, 0);
    sl_recorder_exit(sl_process.recorder);
    if (sl_process.config.window_mode == SL_WINDOW_DEMAND && atomic_load(&sl_process.used) &&
        status.window == 0 && status.state == SL_WIN_PAUSED && sl_process.identity.rank == 0 &&
        !atomic_load(&sl_process.is_requested))
        sl_log(SL_LOG_INFO,
               "nothing was recorded: %s for start(), which was not called (syncline.start() "
               "in Python, sl_start() in C)",
               sl_process.config.is_window_invalid
                   ? "SYNCLINE_WINDOW is not valid, so recording waited"
                   : "SYNCLINE_WINDOW=demand waits");
    if (sl_process.config.window_mode == SL_WINDOW_STEPS && atomic_load(&sl_process.used) &&
        (!sl_step_number() || (sl_step_number() < 2 && status.window == 0)))
        sl_log(SL_LOG_WARN,
               "SYNCLINE_WINDOW=steps recorded no step: no training step was detected; call "
               "syncline.step() once a step, or record by time (SYNCLINE_WINDOW=time:2s/60s)");
    /* Events lost by the disk or at the exit are subtracted, because they were reported before and
     * more memory would not have prevented the loss. */
    dropped = sl_process_dropped() - sl_stats_get(SL_STAT_DROPPED_WRITE) -
              sl_stats_get(SL_STAT_UNDELIVERED_AT_EXIT);
    if (dropped)
        sl_log(SL_LOG_WARN,
               "%llu events were dropped in all, so the traces have gaps ('syncline check' shows "
               "how many); raise %s",
               (unsigned long long)dropped,
               sl_process.config.is_memory_lowered || sl_cupti_pool_is_limited()
                   ? "the host's memory limit, which has lowered syncline's memory, or record less "
                     "(SYNCLINE_WINDOW)"
                   : "SYNCLINE_MEMORY and SYNCLINE_CUPTI_MEMORY");
    passive("the process is ending");
}

void sl_process_fork_child(void)
{
    if (sl_process_life() != SL_LIFE_NOT_INJECTED)
        passive("this process was forked: only its parent is recorded");
}
