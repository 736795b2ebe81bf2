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
#include <sys/auxv.h>
#include <unistd.h>

#include "base/log.h"
#include "base/stats.h"
#include "collect/cuda_facts.h"
#include "collect/cupti_buffer.h"
#include "collect/cupti_neighbour.h"
#include "collect/nvtx.h"
#include "collect/python_boot.h"
#include "collect/python_frames.h"
#include "collect/torch_ops.h"
#include "runtime_impl.h"

struct sl_runtime sl_runtime;

/* `reason` is a static text. Also runs in the child of a fork: no lock, no allocation, no log. */
static void passive(const char *reason)
{
    atomic_store_explicit(&sl_runtime.reason, reason, memory_order_release);
    sl_neighbour_stop();
    sl_nvtx_detach();
    sl_torch_ops_stop();
    sl_python_lines_stop();
    sl_cupti_pool_set_passive();
    atomic_store_explicit(&sl_runtime.life, SL_LIFE_PASSIVE, memory_order_release);
}

void sl_runtime_fail(const char *reason)
{
    sl_log(SL_LOG_ERROR, "%s; nothing is recorded, the job is not affected", reason);
    passive(reason);
}

/* ---- starting ---- */

void sl_runtime_start_threads(void)
{
    int err = sl_collector_start(sl_runtime.collector);

    if (err && err != -EALREADY)
        sl_runtime_fail("no thread could be started: the limit on threads or memory is reached");
}

/* Inside the first CUPTI callback, on an application thread: calls neither CUPTI nor CUDA. Some
 * CUPTI may make a record of each device while we are still enabling kinds: then inject() starts
 * the threads when it is done. */
void sl_runtime_on_first_use(void)
{
    atomic_store(&sl_runtime.used, 1);
    /* Sequentially consistent with sl_runtime_inject_with(). */
    if (atomic_load(&sl_runtime.life) == SL_LIFE_ARMED && getpid() == sl_runtime.pid)
        sl_runtime_start_threads();
}

void sl_runtime_wake(void)
{
    if (sl_runtime_life() == SL_LIFE_ARMED)
        sl_collector_wake(sl_runtime.collector);
}

/* A client begins, on a thread of the application's that will wait for us, or has left. */
static void on_neighbour(void)
{
    if (sl_runtime_life() != SL_LIFE_ARMED || getpid() != sl_runtime.pid) {
        sl_neighbour_stop();
        return;
    }
    sl_runtime_start_threads();
    sl_collector_wake(sl_runtime.collector);
}

static void watch_neighbours(void)
{
    const struct sl_neighbour_options opt = {&sl_runtime.cupti, on_neighbour};

    if (sl_runtime.config.handover)
        sl_neighbour_watch(&opt, sl_runtime.is_away);
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

int sl_runtime_inject_with(const struct sl_cupti_functions *cupti, char *const *environment)
{
    int expected = SL_LIFE_NOT_INJECTED;
    const char *why;

    if (!atomic_compare_exchange_strong(&sl_runtime.life, &expected, SL_LIFE_PREPARING))
        return 0;
    sl_runtime.pid = getpid();
    sl_config_read(&sl_runtime.config, environment);
    if (!sl_runtime.config.enabled) {
        passive("switched off by SYNCLINE_ENABLED");
        return 0;
    }
    if (sl_runtime.config.window_mode == SL_WINDOW_OFF) {
        passive("switched off by SYNCLINE_WINDOW=off");
        return 0;
    }
    sl_identity_read(&sl_runtime.identity, &sl_runtime.config, environment);
    say_of_windows(&sl_runtime.config);
    why = sl_runtime_attach(cupti);
    if (why) {
        sl_runtime_fail(why);
        return 0;
    }
    sl_runtime_attach_program();
    /* Sequentially consistent with sl_runtime_on_first_use(): one of the two sees the other's
     * store. */
    atomic_store(&sl_runtime.life, SL_LIFE_ARMED);
    watch_neighbours();
    if (atomic_load(&sl_runtime.used))
        sl_runtime_start_threads();
    /* The interpreter may not be there yet: the collector asks again when a window opens. */
    if (sl_runtime.config.python)
        sl_python_boot(sl_runtime.config.home);
    return 1;
}

/* Whoever starts such a program must not choose what it loads or where it writes. Nothing has
 * begun, so nothing is undone: passive() would touch more than these two words. */
int sl_runtime_refuse_secure(void)
{
    static const char reason[] = "a set-user-id or set-group-id program is left alone";
    static int said;
    int expected = SL_LIFE_NOT_INJECTED;

    if (!getauxval(AT_SECURE))
        return 0;
    atomic_store_explicit(&sl_runtime.reason, reason, memory_order_release);
    atomic_compare_exchange_strong(&sl_runtime.life, &expected, SL_LIFE_PASSIVE);
    sl_log_once(&said, SL_LOG_WARN,
                "%s: nothing is recorded, and no variable is read; to record it, run it as its "
                "owner without the set-id bits",
                reason);
    return 1;
}

int sl_runtime_inject(void)
{
    return sl_runtime_inject_with(NULL, environ);
}

/* ---- ending ---- */

uint64_t sl_runtime_dropped(void)
{
    return sl_stats_get(SL_STAT_DROPPED_CUPTI) + sl_stats_get(SL_STAT_DROPPED_RECORDS_DISCARDED) +
           sl_stats_get(SL_STAT_DROPPED_RING) + sl_stats_get(SL_STAT_DROPPED_WRITE) +
           sl_stats_get(SL_STAT_UNDELIVERED_AT_EXIT);
}

void sl_runtime_exit(void)
{
    uint64_t dropped;

    if (sl_runtime_life() != SL_LIFE_ARMED || getpid() != sl_runtime.pid)
        return;
    if (atomic_exchange(&sl_runtime.exiting, 1))
        return;
    if (!atomic_load(&sl_runtime.used) && sl_cuda_facts_has_context())
        sl_collector_tell_unasked(sl_runtime.collector);
    sl_collector_exit(sl_runtime.collector);
    if (sl_runtime.config.window_mode == SL_WINDOW_STEPS && atomic_load(&sl_runtime.used) &&
        sl_step_number() < 2)
        sl_log(SL_LOG_WARN,
               "no steps of the job were seen, so no window opened (SYNCLINE_WINDOW=steps): call "
               "syncline.step(), or record by time");
    /* What the disk or the end of the process lost has been said; more memory would not have
     * helped. */
    dropped = sl_runtime_dropped() - sl_stats_get(SL_STAT_DROPPED_WRITE) -
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
    if (sl_runtime_life() != SL_LIFE_NOT_INJECTED)
        passive("a forked child: the parent goes on recording");
}
