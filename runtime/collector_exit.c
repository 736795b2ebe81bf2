/*
 * collector_exit.c - the end of the process: the collector's last records, then the writer's file,
 * within a budget.
 *
 * The exiting thread only. A collector that CUPTI keeps is cut off; one that is in our own code is
 * told to hurry and soon done.
 */
#include "collector_impl.h"

#include <errno.h>
#include <sched.h>

#include "base/clock.h"
#include "base/futex.h"
#include "base/log.h"
#include "base/stats.h"
#include "collect/cupti_buffer.h"

/* What a host may lose at its end, however CUPTI and the disk behave. */
#define EXIT_BASE_NS   (50 * SL_COLLECTOR_MS)
#define EXIT_RECORD_NS 1000
#define EXIT_MOST_NS   (2000 * SL_COLLECTOR_MS)
/* Kept back for the writer: to compress the last frame, write it and rename the file. */
#define EXIT_WRITER_NS (20 * SL_COLLECTOR_MS)

/* Takes the pipeline from a collector that is inside CUPTI. 0; -EBUSY: it is in our own code. */
static int cut_off(struct sl_collector *c)
{
    uint32_t expected = SL_PHASE_CUPTI;

    if (atomic_compare_exchange_strong_explicit(&c->phase, &expected, SL_PHASE_CUT,
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
            sl_futex_wait(&c->ended, 0, SL_COLLECTOR_NAP);
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

/* A window that has begun and is not written to its end. */
static int is_open(struct sl_collector *c)
{
    struct sl_window w;

    sl_window_unpack(&w, atomic_load_explicit(&c->request, memory_order_acquire));
    return w.state == SL_WIN_RECORDING || w.state == SL_WIN_DRAINING;
}

void sl_collector_exit(struct sl_collector *c)
{
    uint64_t begun = sl_clock_monotonic(), now, due;
    struct sl_pipeline *pipeline = atomic_load_explicit(&c->pipeline, memory_order_acquire);
    size_t queued = pipeline ? sl_pipeline_queued(pipeline) : 0, left;
    uint64_t turn = sl_cupti_pool_turn();

    if (!atomic_load_explicit(&c->started, memory_order_acquire))
        return;
    atomic_store_explicit(&c->exiting, 1, memory_order_release);
    sl_collector_wake(c);
    if (wait_for_collector(c, begun, queued)) {
        sl_log(SL_LOG_WARN, "the last records could not be brought in before the process ended; "
                            "the trace stays a .part file: 'syncline check' tells what is in it");
        return;
    }
    if (atomic_load_explicit(&c->phase, memory_order_acquire) == SL_PHASE_CUT && is_open(c))
        sl_collector_tell_missing(c, turn);
    /* The collector may have made it meanwhile. */
    pipeline = atomic_load_explicit(&c->pipeline, memory_order_acquire);
    if (!pipeline)
        return;
    due = exit_deadline(c, begun, queued);
    if (close_status(c, due))
        return;
    now = sl_clock_monotonic();
    if (sl_pipeline_stop(pipeline, due > now ? due - now : 0)) {
        left = sl_pipeline_queued(pipeline);
        sl_stats_add(SL_STAT_UNDELIVERED_AT_EXIT, left);
        sl_log(SL_LOG_WARN,
               "the last %zu events could not be written before the process ended; the trace stays "
               "a .part file: 'syncline check' tells what is in it",
               left);
    }
}
