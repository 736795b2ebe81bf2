/*
 * process.c - the life cycle of syncline in one process.
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
#include "process/process.h"

#include <errno.h>
#include <unistd.h>

#include "base/log.h"
#include "base/stats.h"
#include "collect/cupti/buffer.h"
#include "collect/cupti/cuda_facts.h"
#include "collect/nvtx/nvtx.h"
#include "collect/python/boot.h"
#include "collect/python/frames.h"
#include "collect/torch/ops.h"
#include "process/process_impl.h"
#include "session/peer.h"

struct sl_process sl_process;

/* `reason` is a static text. Also runs in the child of a fork: no lock, no allocation, no log. */
static void passive(const char *reason)
{
    atomic_store_explicit(&sl_process.reason, reason, memory_order_release);
    sl_peer_stop();
    sl_nvtx_detach();
    sl_torch_ops_stop();
    sl_python_lines_stop();
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
    int err = sl_collector_start(sl_process.collector);

    if (err && err != -EALREADY)
        sl_process_fail("no thread could be started: the limit on threads or memory is reached");
}

/* Inside the first CUPTI callback, on an application thread: calls neither CUPTI nor CUDA. Some
 * CUPTI may make a record of each device while we are still enabling kinds: then inject() starts
 * the threads when it is done. */
void sl_process_on_first_use(void)
{
    atomic_store(&sl_process.used, 1);
    /* Sequentially consistent with sl_process_inject_with(). */
    if (atomic_load(&sl_process.life) == SL_LIFE_ARMED && getpid() == sl_process.pid)
        sl_process_start_threads();
}

void sl_process_wake(void)
{
    if (sl_process_life() == SL_LIFE_ARMED)
        sl_collector_wake(sl_process.collector);
}

/* A client begins, on a thread of the application's that will wait for us, or has left. */
static void on_neighbour(void)
{
    if (sl_process_life() != SL_LIFE_ARMED || getpid() != sl_process.pid) {
        sl_peer_stop();
        return;
    }
    sl_process_start_threads();
    sl_collector_wake(sl_process.collector);
}

static void watch_neighbours(void)
{
    const struct sl_peer_options opt = {&sl_process.cupti, on_neighbour};

    if (sl_process.config.handover)
        sl_peer_watch(&opt, sl_process.handed_over);
}

static void say_of_windows(const struct sl_config *config)
{
    if (config->window_mode == SL_WINDOW_STEPS && config->window_steps == config->period_steps)
        sl_log(
            SL_LOG_WARN,
            "SYNCLINE_WINDOW=steps:%llu/%llu: while the file of one window is completed, a step or "
            "more goes by that is in none; SYNCLINE_WINDOW=run records every step",
            (unsigned long long)config->window_steps, (unsigned long long)config->period_steps);
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
    sl_identity_read(&sl_process.identity, &sl_process.config, environment);
    say_of_windows(&sl_process.config);
    why = sl_process_attach(cupti);
    if (why) {
        sl_process_fail(why);
        return 0;
    }
    sl_process_attach_program();
    /* Sequentially consistent with sl_process_on_first_use(): one of the two sees the other's
     * store. */
    atomic_store(&sl_process.life, SL_LIFE_ARMED);
    watch_neighbours();
    if (atomic_load(&sl_process.used))
        sl_process_start_threads();
    /* The interpreter may not be there yet: the collector asks again when a window opens. */
    if (sl_process.config.python)
        sl_python_boot(sl_process.config.home);
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
    uint64_t dropped;

    if (sl_process_life() != SL_LIFE_ARMED || getpid() != sl_process.pid)
        return;
    if (atomic_exchange(&sl_process.exiting, 1))
        return;
    if (!atomic_load(&sl_process.used) && sl_cuda_facts_has_context())
        sl_collector_tell_unasked(sl_process.collector);
    sl_collector_exit(sl_process.collector);
    if (sl_process.config.window_mode == SL_WINDOW_STEPS && atomic_load(&sl_process.used) &&
        sl_step_number() < 2)
        sl_log(SL_LOG_WARN,
               "no steps of the job were seen, so no window opened (SYNCLINE_WINDOW=steps): call "
               "syncline.step(), or record by time");
    /* What the disk or the end of the process lost has been said; more memory would not have
     * helped. */
    dropped = sl_process_dropped() - sl_stats_get(SL_STAT_DROPPED_WRITE) -
              sl_stats_get(SL_STAT_UNDELIVERED_AT_EXIT);
    if (dropped)
        sl_log(SL_LOG_WARN,
               "%llu events were dropped in all; the traces say where; SYNCLINE_MEMORY and "
               "SYNCLINE_CUPTI_MEMORY allow more",
               (unsigned long long)dropped);
    passive("the process is ending");
}

void sl_process_fork_child(void)
{
    if (sl_process_life() != SL_LIFE_NOT_INJECTED)
        passive("a forked child: the parent goes on recording");
}
