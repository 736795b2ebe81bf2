/*
 * exit.c - ends recording when the process ends: fetches the last records and closes the file,
 * within a time limit.
 *
 * Threads: the exiting thread. If a call of CUPTI blocks the recorder thread for too long, the
 * exiting thread cuts off the recorder thread and does the remaining work in its place. A recorder
 * thread that runs our own code ends soon. Memory: see recorder_impl.h.
 */
#include "recorder/recorder_impl.h"

#include <errno.h>
#include <sched.h>

#include "base/clock.h"
#include "base/futex.h"
#include "base/load.h"
#include "base/log.h"
#include "base/stats.h"
#include "collect/cupti/buffer.h"

/*
 * The longest time that the ending process waits for us, even if CUPTI and the disk are slow. CUPTI
 * gets 30 ms, plus 1 us for each record that CUPTI still has. About 20 ms more are needed to
 * compress, write and rename the file. Decoding the records that CUPTI has delivered takes less
 * than 1 us per record and has a later deadline of its own (DECODE_NS). All steps together never
 * take more than EXIT_MOST_NS.
 */
#define CUPTI_BASE_NS   (30 * SL_NS_PER_MS)
#define CUPTI_RECORD_NS 1000
#define UNCOUNTED_NS    (900 * SL_NS_PER_MS)
#define DECODE_NS       (1500 * SL_NS_PER_MS)
#define RECORDER_NS     (1700 * SL_NS_PER_MS)
#define EXIT_MOST_NS    (2000 * SL_NS_PER_MS)

/* Does the recorder thread's last work in place of that thread, even if the time for it is over. If
 * the recorder failed before it had a pipeline, nothing is left to do. */
static void stand_in(struct sl_recorder *r)
{
    uint64_t now = sl_clock_monotonic();

    if (!r->pipeline)
        return;
    if (r->exit_decode_until_ns < now)
        r->exit_decode_until_ns = now;
    sl_pipeline_without_cupti(r->pipeline);
    sl_recorder_settle(r);
}

/* How long CUPTI has blocked the recorder thread, in ns. */
struct kept {
    uint64_t ns;
    uint64_t napped_ns;  /* sum of the naps, in which each nap counts as at most SL_SESSION_NAP */
    uint64_t counted_ns; /* part of napped_ns in which no thread waited for a processor */
};

static void keep(struct kept *kept, uint64_t ns)
{
    uint64_t nap = ns < SL_SESSION_NAP ? ns : SL_SESSION_NAP;

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
 * Waits until the recorder thread has ended, or cuts it off. Returns 0, or -ETIMEDOUT if neither
 * was possible.
 *
 * Only time in which CUPTI blocks the recorder thread counts against CUPTI's time limit. A nap that
 * took longer than planned counts as one nap. A nap in which threads waited for a processor does
 * not count, because CUPTI's thread may have been one of them. Uncounted time has a limit, too. If
 * another client has taken CUPTI without notice, CUPTI returns nothing to us, and time must be left
 * to close the file.
 */
static int wait_for_recorder(struct sl_recorder *r, uint64_t begun)
{
    uint64_t given = CUPTI_BASE_NS;
    struct kept kept = {0};
    int looked = 0;

    while (!atomic_load_explicit(&r->ended, memory_order_acquire)) {
        uint64_t now = sl_clock_monotonic();
        int is_kept = sl_session_is_in_cupti(&r->session);

        if (is_used_up(&kept, given) && !looked++)
            given += sl_outstanding_look(&r->session, r->exit_turn).records * CUPTI_RECORD_NS;
        if ((is_used_up(&kept, given) || now >= begun + DECODE_NS) &&
            sl_session_cut_off(&r->session) == 0) {
            stand_in(r);
            return 0;
        }
        if (now >= begun + RECORDER_NS)
            return -ETIMEDOUT;
        sl_futex_wait(&r->ended, 0, SL_SESSION_NAP);
        if (is_kept)
            keep(&kept, sl_clock_monotonic() - now);
    }
    return 0;
}

/* Waits until no status call uses the pipeline any more. Returns 0, or -ETIMEDOUT if a status call
 * still does. */
static int close_status(struct sl_recorder *r, uint64_t deadline)
{
    atomic_store(&r->closed, 1);
    while (atomic_load(&r->status_users)) {
        if (sl_clock_monotonic() >= deadline)
            return -ETIMEDOUT;
        sched_yield();
    }
    return 0;
}

void sl_recorder_exit(struct sl_recorder *r)
{
    uint64_t begun = sl_clock_monotonic(), deadline = begun + EXIT_MOST_NS, now;
    struct sl_pipeline *pipeline;
    size_t left;

    /* From now on no thread can start the recorder. */
    if (!atomic_exchange_explicit(&r->started, 1, memory_order_acq_rel))
        return;
    r->exit_turn = sl_cupti_pool_turn();
    r->exit_decode_until_ns = begun + DECODE_NS;
    /* Release order, so that a thread that sees `exiting` also sees the two fields above. */
    atomic_store_explicit(&r->exiting, 1, memory_order_release);
    sl_recorder_wake(r);
    if (wait_for_recorder(r, begun)) {
        /* The recorder thread is still running our own code. The recorder thread must not call
         * CUPTI once the driver has ended. */
        sl_session_forbid_cupti(&r->session);
        sl_log(SL_LOG_WARN,
               "the process ended before CUPTI returned its last records: the trace is incomplete "
               "and keeps its .part name; 'syncline check' shows what it has");
        return;
    }
    sl_cupti_dump_end(r->session.dump);
    pipeline = atomic_load_explicit(&r->pipeline, memory_order_acquire);
    if (!pipeline || close_status(r, deadline))
        return;
    now = sl_clock_monotonic();
    if (sl_pipeline_stop(pipeline, deadline > now ? deadline - now : 0)) {
        left = sl_pipeline_queued(pipeline);
        sl_stats_add(SL_STAT_UNDELIVERED_AT_EXIT, left);
        sl_log(SL_LOG_WARN,
               "the process ended before the last %zu events were written: the trace is incomplete "
               "and keeps its .part name; 'syncline check' shows what it has",
               left);
    }
}
