/*
 * peer.c - finds out when another profiler in the process begins to use CUPTI, and when it has
 * left.
 *
 * Threads: the recorder thread, and threads of the application that call CUPTI through our
 * functions in the import slots (peer_hooks.c). Such a thread may wait here for a limited time.
 * Memory: static, atomic state; no lock is held.
 */
#include "session/peer_impl.h"

#include <errno.h>

#include "base/clock.h"
#include "base/futex.h"
#include "base/import_slot.h"
#include "base/log.h"
#include "collect/cupti/tables.h"
#include "session/kept_buffers.h"

/* Limit of a wait for the recorder. The recorder releases CUPTI sooner, unless it is blocked inside
 * CUPTI. */
#define WAIT_MOST_NS 5000000000ull

static _Atomic int is_scanned; /* set after the first scan; then the recorder may scan again */

struct sl_peer_watched sl_peer_watched;
struct sl_peer_client sl_peer_client = {.state = SL_PEER_OFF};

enum sl_peer_state sl_peer_state(void)
{
    /* Acquire pairs with the release in change() and in sl_peer_stop(). */
    return (enum sl_peer_state)atomic_load_explicit(&sl_peer_client.state, memory_order_acquire);
}

static int change(enum sl_peer_state from, enum sl_peer_state to)
{
    uint32_t expected = from;

    if (!atomic_compare_exchange_strong_explicit(&sl_peer_client.state, &expected, to,
                                                 memory_order_acq_rel, memory_order_acquire))
        return -EBUSY;
    sl_futex_wake(&sl_peer_client.state);
    return 0;
}

/* ---- the peer begins ---- */

static void wait_until_let_go(void)
{
    static int said;
    uint64_t deadline = sl_clock_monotonic() + WAIT_MOST_NS, now;

    while (sl_peer_state() == SL_PEER_ASKED) {
        now = sl_clock_monotonic();
        if (now >= deadline && change(SL_PEER_ASKED, SL_PEER_THEIRS) == 0) {
            sl_log_once(
                &said, SL_LOG_WARN,
                "syncline could not hand CUPTI over to another profiler in time: that profiler's "
                "trace may lack its first records; start it while the GPU is idle");
            return;
        }
        sl_futex_wait(&sl_peer_client.state, SL_PEER_ASKED, deadline - now);
    }
}

/* The peer had left and begins again. A thread that waits until the recorder has CUPTI back need
 * not wait any longer. */
static void go_on(void)
{
    if (change(SL_PEER_LEFT, SL_PEER_THEIRS))
        return;
    atomic_store(&sl_peer_client.has_disabled, 0);
    sl_peer_back();
}

int sl_peer_obtain(void)
{
    int was_ours = 0;

    for (;;) {
        switch (sl_peer_state()) {
        case SL_PEER_OURS:
            if (change(SL_PEER_OURS, SL_PEER_ASKED) == 0)
                sl_peer_watched.tell();
            was_ours = 1;
            break;
        case SL_PEER_ASKED:
            wait_until_let_go();
            break;
        case SL_PEER_LEFT:
            go_on();
            break;
        case SL_PEER_THEIRS:
        case SL_PEER_OFF:
            return was_ours;
        }
    }
}

/* ---- the peer leaves ---- */

static int is_all_off(void)
{
    return atomic_load(&sl_peer_client.has_disabled) && !atomic_load(&sl_peer_client.is_unknown) &&
           !atomic_load(&sl_peer_client.kinds);
}

void sl_peer_leave(void)
{
    atomic_store(&sl_peer_client.left_ns, sl_clock_monotonic());
    if (change(SL_PEER_THEIRS, SL_PEER_LEFT) == 0)
        sl_peer_watched.tell();
}

uint64_t sl_peer_left_ns(void)
{
    return atomic_load(&sl_peer_client.left_ns);
}

void sl_peer_leave_if_idle(void)
{
    if (!atomic_load(&sl_peer_client.kinds) && !atomic_load(&sl_peer_client.buffers) &&
        !atomic_load(&sl_peer_client.is_unknown))
        sl_peer_leave();
}

void sl_peer_leave_if_over(void)
{
    if (is_all_off() && !atomic_load(&sl_peer_client.buffers))
        sl_peer_leave();
}

enum sl_peer_stranded sl_peer_stranded(void)
{
    if (sl_peer_state() != SL_PEER_THEIRS || !is_all_off() ||
        atomic_load(&sl_peer_client.buffers) <= 0)
        return SL_PEER_AFLOAT;
    return atomic_load(&sl_peer_client.has_flushed) ? SL_PEER_STRANDED : SL_PEER_MAY_FLUSH;
}

void sl_peer_fetch(void)
{
    /* Sequentially consistent with flush() and finalize() of peer_hooks.c. So at least one of the
     * two threads sees that the other thread is flushing. */
    atomic_store(&sl_peer_client.is_fetched, 1);
    if (!atomic_load(&sl_peer_client.flushing)) {
        sl_kept_buffers_open();
        sl_cupti_check(sl_peer_watched.api,
                       sl_peer_watched.api->v1.ActivityFlushAll(SL_CUPTI_FLUSH_PLAIN),
                       "ActivityFlushAll");
    }
    atomic_store(&sl_peer_client.is_fetched, 0);
    sl_futex_wake(&sl_peer_client.is_fetched);
}

void sl_peer_wait_until_fetched(void)
{
    uint64_t deadline = sl_clock_monotonic() + WAIT_MOST_NS, now;

    while (atomic_load(&sl_peer_client.is_fetched) && sl_peer_state() != SL_PEER_OFF) {
        now = sl_clock_monotonic();
        if (now >= deadline)
            return;
        sl_futex_wait(&sl_peer_client.is_fetched, 1, deadline - now);
    }
}

void sl_peer_leave_or_tell(void)
{
    sl_peer_leave_if_over();
    if (sl_peer_stranded() != SL_PEER_AFLOAT)
        sl_peer_watched.tell();
}

/* ---- the peer announces its begin and end ---- */

int sl_peer_begin(void)
{
    atomic_store(&sl_peer_client.is_settled, 0);
    sl_peer_obtain();
    return sl_peer_state() == SL_PEER_OFF ? -ENOTSUP : 0;
}

int sl_peer_end(void)
{
    uint64_t deadline = sl_clock_monotonic() + WAIT_MOST_NS, now;

    if (atomic_load(&sl_peer_client.kinds) || atomic_load(&sl_peer_client.buffers))
        return -EBUSY;
    atomic_store(&sl_peer_client.is_back, 0);
    atomic_store(&sl_peer_client.is_settled, 1);
    sl_peer_leave();
    if (sl_peer_state() != SL_PEER_LEFT) {
        /* CUPTI is ours, or a client that did not call sl_peer_begin() uses CUPTI. */
        atomic_store(&sl_peer_client.is_settled, 0);
        return 0;
    }
    sl_peer_watched.tell();
    while (!atomic_load(&sl_peer_client.is_back)) {
        now = sl_clock_monotonic();
        if (now >= deadline)
            return -ETIMEDOUT;
        sl_futex_wait(&sl_peer_client.is_back, 0, deadline - now);
    }
    return sl_peer_state() == SL_PEER_THEIRS ? -EBUSY : 0;
}

int sl_peer_is_settled(void)
{
    return atomic_load(&sl_peer_client.is_settled);
}

void sl_peer_back(void)
{
    atomic_store(&sl_peer_client.is_settled, 0);
    atomic_store(&sl_peer_client.is_back, 1);
    sl_futex_wake(&sl_peer_client.is_back);
}

/* ---- watching ---- */

void sl_peer_watch(const struct sl_peer_options *opt, int is_here)
{
    sl_peer_watched.api = opt->api;
    sl_peer_watched.tell = opt->tell;
    sl_peer_watched.was_here = is_here;
    if (!sl_peer_watched.api->v1.ActivityRegisterTimestampCallback ||
        !sl_peer_watched.api->v1.Subscribe)
        return;
    sl_peer_slots_fill();
    atomic_store(&sl_peer_client.is_unknown, is_here);
    change(SL_PEER_OFF, is_here ? SL_PEER_THEIRS : SL_PEER_OURS);
    sl_peer_slots_scan();
    /* Release pairs with the acquire in sl_peer_rescan(). */
    atomic_store_explicit(&is_scanned, 1, memory_order_release);
}

void sl_peer_rescan(void)
{
    /* The injecting thread makes the first scan, even if the recorder runs already. */
    if (atomic_load_explicit(&is_scanned, memory_order_acquire) && sl_peer_state() != SL_PEER_OFF &&
        sl_peer_slots_are_new())
        sl_peer_slots_scan();
}

void sl_peer_let_go(void)
{
    int has_disabled = atomic_exchange(&sl_peer_client.has_disabled, 0);

    if (change(SL_PEER_ASKED, SL_PEER_THEIRS) == 0 || !has_disabled)
        return;
    /* The peer did not wait for us, so the kinds that the peer has turned off were kinds of its
     * current session. */
    atomic_store(&sl_peer_client.has_disabled, 1);
    sl_peer_leave_if_over();
}

int sl_peer_take(void)
{
    /* The peer has turned a kind on between our check of its kinds and the change to LEFT. */
    if (atomic_load(&sl_peer_client.kinds)) {
        go_on();
        return -EBUSY;
    }
    return change(SL_PEER_LEFT, SL_PEER_OURS);
}

void sl_peer_stop(void)
{
    atomic_store_explicit(&sl_peer_client.state, SL_PEER_OFF, memory_order_release);
    sl_futex_wake(&sl_peer_client.state);
    sl_peer_back();
}

int sl_peer_imports(const char *function)
{
    struct sl_import import = {.name = function};

    sl_import_redirect(&import, 1);
    return import.slots != 0;
}
