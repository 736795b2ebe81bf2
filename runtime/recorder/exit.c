/*
 * exit.c - the end of the process: the collector's last records, then the writer's file,
 * within a budget.
 *
 * The exiting thread only. A collector that CUPTI keeps for too long is cut off, and the exiting
 * thread does the rest in its place; one that is in our own code is soon done.
 */
#include "session/session.h"

#include <errno.h>
#include <sched.h>

#include "base/clock.h"
#include "base/futex.h"
#include "base/load.h"
#include "base/log.h"
#include "base/stats.h"
#include "collect/cupti/buffer.h"

/*
 * What a host may lose at its end, however CUPTI and the disk behave: 50 ms, of which 20 are kept
 * back for the last frame, its write and the rename, and 1 us for each record that CUPTI still has.
 * That bounds the waiting for CUPTI. Our own work on what it delivered takes less than 1 us a
 * record, and is cut only at the very end of the 2 s.
 */
#define CUPTI_BASE_NS   (30 * SL_COLLECTOR_MS)
#define CUPTI_RECORD_NS 1000
#define UNCOUNTED_NS    (900 * SL_COLLECTOR_MS)
#define DECODE_NS       (1500 * SL_COLLECTOR_MS)
#define COLLECTOR_NS    (1700 * SL_COLLECTOR_MS)
#define EXIT_MOST_NS    (2000 * SL_COLLECTOR_MS)

/* Takes the pipeline from a collector that is inside CUPTI. 0; -EBUSY: it is in our own code. */
static int cut_off(struct sl_collector *c)
{
    uint32_t expected = SL_PHASE_CUPTI;

    if (atomic_compare_exchange_strong_explicit(&c->phase, &expected, SL_PHASE_CUT,
                                                memory_order_acq_rel, memory_order_acquire))
        return 0;
    return -EBUSY;
}

/* Does what the collector would have done, however late it is. One that failed before it had a
 * pipeline leaves nothing. */
static void stand_in(struct sl_collector *c)
{
    uint64_t now = sl_clock_monotonic();

    if (!c->pipeline)
        return;
    if (c->exit_decode_until_ns < now)
        c->exit_decode_until_ns = now;
    sl_pipeline_without_cupti(c->pipeline);
    sl_collector_settle(c);
}

static int is_kept_by_cupti(const struct sl_collector *c)
{
    return atomic_load_explicit(&c->phase, memory_order_relaxed) == SL_PHASE_CUPTI;
}

/* How long CUPTI has kept the collector. */
struct kept {
    uint64_t ns;
    uint64_t napped_ns;  /* each nap as long as it should be */
    uint64_t counted_ns; /* of that, while no thread waited for a processor */
};

static void keep(struct kept *kept, uint64_t ns)
{
    uint64_t nap = ns < SL_COLLECTOR_NAP ? ns : SL_COLLECTOR_NAP;

    kept->ns += ns;
    kept->napped_ns += nap;
    if (!sl_load_is_high())
        kept->counted_ns += nap;
}

static int is_used_up(const struct kept *kept, uint64_t given)
{
    return kept->counted_ns >= given ||
           (kept->napped_ns >= given && kept->ns >= given + UNCOUNTED_NS);
}

/*
 * Until the collector has handed over, or was cut off. 0; -ETIMEDOUT: neither.
 *
 * Only time in which CUPTI keeps the collector counts against what CUPTI is given, a nap that took
 * longer than it should have counts as one nap, and one while threads wait for a processor not at
 * all: CUPTI's may be among them. What is not counted ends too: a CUPTI that another client has
 * taken without a word gives nothing back, and the file needs its time.
 */
static int wait_for_collector(struct sl_collector *c, uint64_t begun)
{
    uint64_t given = CUPTI_BASE_NS;
    struct kept kept = {0};
    int looked = 0;

    while (!atomic_load_explicit(&c->ended, memory_order_acquire)) {
        uint64_t now = sl_clock_monotonic();
        int is_kept = is_kept_by_cupti(c);

        if (is_used_up(&kept, given) && !looked++)
            given += sl_collector_look(c, c->exit_turn).records * CUPTI_RECORD_NS;
        if ((is_used_up(&kept, given) || now >= begun + DECODE_NS) && cut_off(c) == 0) {
            stand_in(c);
            return 0;
        }
        if (now >= begun + COLLECTOR_NS)
            return -ETIMEDOUT;
        sl_futex_wait(&c->ended, 0, SL_COLLECTOR_NAP);
        if (is_kept)
            keep(&kept, sl_clock_monotonic() - now);
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
    uint64_t begun = sl_clock_monotonic(), deadline = begun + EXIT_MOST_NS, now;
    struct sl_pipeline *pipeline;
    size_t left;

    /* Nobody starts it from now on. */
    if (!atomic_exchange_explicit(&c->started, 1, memory_order_acq_rel))
        return;
    c->exit_turn = sl_cupti_pool_turn();
    c->exit_decode_until_ns = begun + DECODE_NS;
    /* Release: whoever sees it sees the two above. */
    atomic_store_explicit(&c->exiting, 1, memory_order_release);
    sl_collector_wake(c);
    if (wait_for_collector(c, begun)) {
        /* It is in our own code still, and must not call CUPTI behind the end of the driver. */
        atomic_store_explicit(&c->phase, SL_PHASE_CUT, memory_order_release);
        sl_log(SL_LOG_WARN, "the last records could not be brought in before the process ended; "
                            "the trace stays a .part file: 'syncline check' tells what is in it");
        return;
    }
    sl_cupti_dump_end(c->dump);
    pipeline = atomic_load_explicit(&c->pipeline, memory_order_acquire);
    if (!pipeline || close_status(c, deadline))
        return;
    now = sl_clock_monotonic();
    if (sl_pipeline_stop(pipeline, deadline > now ? deadline - now : 0)) {
        left = sl_pipeline_queued(pipeline);
        sl_stats_add(SL_STAT_UNDELIVERED_AT_EXIT, left);
        sl_log(SL_LOG_WARN,
               "the last %zu events could not be written before the process ended; the trace stays "
               "a .part file: 'syncline check' tells what is in it",
               left);
    }
}
