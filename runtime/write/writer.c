/*
 * writer.c - the background thread that writes the events of the ring to files.
 *
 * Threads: the writer thread runs run() and the functions that it calls. One other thread calls
 * start and stop. Any thread may call wake and last. Memory: struct sl_writer. sl_writer_stop()
 * frees it once the thread has ended. If the thread has not ended by the deadline, the thread
 * continues to run, and the memory is not freed.
 *
 * The thread sleeps on a futex, the counter `wakes`, which each wake increments. The thread reads
 * the counter before it checks the ring for the last time, so it cannot miss a wake.
 */
#include "write/writer.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/futex.h"
#include "base/log.h"
#include "base/pages.h"
#include "base/stats.h"
#include "base/thread.h"
#include "write/demangle.h"
#include "write/distributed.h"

#define BILLION   1000000000u
#define BATCH     512 /* maximum number of events taken from the ring at a time */
#define SECOND_NS BILLION
/* Time, in nanoseconds, reserved for ending a file. The thread then writes the current block, which
 * takes longest at the strongest compression level, and the trailer. */
#define CLOSE_MOST_NS (BILLION / 10 * 4)

enum {
    PATH_WORDS = PATH_MAX / sizeof(uint64_t)
};

enum stop {
    RUN_ON,
    STOP_WHEN_EMPTY,
    STOP_NOW /* events that are still in the ring are counted and not written */
};

struct sl_writer {
    struct sl_writer_options opt;
    pthread_t thread;
    _Atomic uint32_t wakes;
    _Atomic uint32_t asleep;
    _Atomic uint32_t stop; /* enum stop */
    _Atomic uint32_t ended;

    /* The fields below are used only by the writer thread. */
    int is_window; /* 1: a window is open */
    /* 1: the window was closed before its end, because the disk's limit was reached */
    int is_cut;

    /* The results of sl_writer_last(), under a sequence lock, because application threads must not
     * block. The sequence is odd during a change. */
    _Atomic uint64_t last_sequence;
    _Atomic uint64_t last_path[PATH_WORDS];
    _Atomic uint64_t windows;
};

/* ---- windows ---- */

static void publish_path(struct sl_writer *w, const char *path)
{
    uint64_t words[PATH_WORDS] = {0};
    size_t i;

    snprintf((char *)words, sizeof(words), "%s", path);
    atomic_fetch_add_explicit(&w->last_sequence, 1, memory_order_relaxed);
    /* Pairs with the fence in sl_writer_last(), so that a reader that sees a new word also sees the
     * odd sequence number. */
    atomic_thread_fence(memory_order_release);
    for (i = 0; i < PATH_WORDS; i++)
        atomic_store_explicit(&w->last_path[i], words[i], memory_order_relaxed);
    atomic_fetch_add_explicit(&w->windows, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&w->last_sequence, 1, memory_order_release);
}

static void open_window(struct sl_writer *w, const struct sl_event *ev)
{
    w->opt.meta.window = ev->u.window.number;
    w->opt.meta.opened_ns = ev->start_ns;
    if (sl_distributed_rank(&w->opt.meta.rank, &w->opt.meta.world_size))
        w->opt.meta.rank_may_change = 0;
    w->opt.meta.step = ev->u.window.step;
    w->opt.meta.is_timed = ev->u.window.is_timed;
    w->opt.meta.is_lead_in_short = ev->u.window.is_lead_in_short;
    w->is_window = 1;
    /* Counted here, so that the counter in the previous file does not contain it. */
    sl_stats_add(SL_STAT_WINDOWS_MISSED, ev->missed);
    sl_outputs_open(w->opt.outputs, &w->opt.meta, ev->u.window.is_requested != 0);
    if (w->opt.edges)
        sl_edge_rows_open(w->opt.edges, ev->start_ns);
}

static void close_window(struct sl_writer *w, uint64_t closed_ns)
{
    const char *path;

    if (!w->is_window)
        return;
    w->is_window = 0;
    if (w->opt.edges)
        sl_edge_rows_close(w->opt.edges, closed_ns);
    path = sl_outputs_close(w->opt.outputs, closed_ns);
    if (path)
        publish_path(w, path);
}

/* ---- events ---- */

/* Passes events to the outputs. All these events belong to one window, or to the time between two
 * windows. */
static void write_run(struct sl_writer *w, const struct sl_event *ev, size_t count)
{
    if (atomic_load_explicit(&w->stop, memory_order_relaxed) == STOP_NOW) {
        sl_stats_add(SL_STAT_UNDELIVERED_AT_EXIT, sl_output_count_rows(ev, count));
        if (w->opt.edges)
            sl_edge_rows_lose(w->opt.edges);
        return;
    }
    if (!sl_outputs_is_first_open(w->opt.outputs))
        sl_stats_add(w->is_window || w->is_cut ? SL_STAT_DROPPED_WRITE : SL_STAT_OUTSIDE_WINDOW,
                     sl_output_count_rows(ev, count));
    if (w->opt.edges)
        sl_edge_rows_events(w->opt.edges, ev, count);
    else
        sl_outputs_events(w->opt.outputs, ev, count);
}

static void take_events(struct sl_writer *w, const struct sl_event *ev, size_t count)
{
    size_t from = 0, i;

    for (i = 0; i < count; i++) {
        if (ev[i].kind != SL_EV_WINDOW_OPEN && ev[i].kind != SL_EV_WINDOW_CLOSE)
            continue;
        if (i > from)
            write_run(w, ev + from, i - from);
        from = i + 1;
        close_window(w, ev[i].end_ns);
        w->is_cut = 0;
        if (ev[i].kind == SL_EV_WINDOW_OPEN)
            open_window(w, &ev[i]);
    }
    if (count > from)
        write_run(w, ev + from, count - from);
}

/* Returns the time in ns until the next sync is due. */
static uint64_t sync_outputs(struct sl_writer *w)
{
    uint64_t due = sl_outputs_sync(w->opt.outputs);

    if (w->is_window && sl_outputs_is_full(w->opt.outputs)) {
        close_window(w, sl_clock_now());
        w->is_cut = 1;
    }
    return due;
}

/* Logs how many windows rank 0 wrote, and how to read them. The path is that of the job. */
static void say_what_was_written(struct sl_writer *w)
{
    char path[PATH_MAX];
    uint64_t windows;
    char *slash;

    sl_writer_last(w, path, sizeof(path), &windows);
    for (int i = 0; i < 2; i++)
        if ((slash = strrchr(path, '/')) != NULL)
            *slash = '\0';
    if (windows && w->opt.meta.rank == 0)
        sl_log(SL_LOG_INFO, "wrote %llu window%s: `syncline edges --summary %s` shows the waits",
               (unsigned long long)windows, windows == 1 ? "" : "s", path);
}

static void *run(void *user)
{
    struct sl_writer *w = user;

    /* The thread sets its own name. To name another thread, glibc writes to a file in /proc, and if
     * the host closed all descriptors at that moment, the name could be written to a file of the
     * host. */
    pthread_setname_np(pthread_self(), "syncline-write");
    for (;;) {
        uint32_t wakes = atomic_load_explicit(&w->wakes, memory_order_acquire);
        /* `stop` is read before the ring is checked, so that the thread sees all events that were
         * pushed before the stop. */
        uint32_t stop = atomic_load_explicit(&w->stop, memory_order_acquire);
        const struct sl_event *ev;
        uint64_t due;
        size_t count;

        while ((ev = sl_ring_peek(w->opt.ring, BATCH, &count)) != NULL) {
            take_events(w, ev, count);
            sl_ring_release(w->opt.ring, count);
            sync_outputs(w);
        }
        if (stop)
            break;
        due = sync_outputs(w);
        atomic_store(&w->asleep, 1);
        /* This load is sequentially consistent with sl_writer_wake(). So either sl_writer_wake()
         * sees that this thread sleeps, or `wakes` has changed and the wait returns at once. */
        if (atomic_load(&w->wakes) == wakes)
            sl_futex_wait(&w->wakes, wakes, due < SECOND_NS ? due : SECOND_NS);
        atomic_store(&w->asleep, 0);
    }
    close_window(w, sl_clock_now());
    say_what_was_written(w);
    atomic_store_explicit(&w->ended, 1, memory_order_release);
    sl_futex_wake(&w->ended);
    return NULL;
}

/* ---- interface ---- */

int sl_writer_start(struct sl_writer **out, const struct sl_writer_options *opt)
{
    struct sl_writer *w = sl_pages_map(sizeof(*w));
    int error;

    if (!w)
        return -ENOMEM;
    w->opt = *opt;
    w->opt.meta.has_edges = opt->edges != NULL;
    error = sl_thread_start(&w->thread, SL_DEMANGLE_STACK_BYTES, run, w);
    if (error)
        sl_pages_unmap(w, sizeof(*w));
    else
        *out = w;
    return error;
}

void sl_writer_wake(struct sl_writer *w)
{
    atomic_fetch_add(&w->wakes, 1);
    if (atomic_load(&w->asleep))
        sl_futex_wake(&w->wakes);
}

int sl_writer_stop(struct sl_writer *w, uint64_t timeout_ns)
{
    uint64_t now = sl_clock_monotonic(), deadline = now + timeout_ns;
    uint64_t close_ns = timeout_ns / 2 < CLOSE_MOST_NS ? timeout_ns / 2 : CLOSE_MOST_NS;
    uint64_t leave_ns = deadline - close_ns;

    /* This release pairs with the acquire in run(), so the thread drains all events that were
     * pushed so far. */
    atomic_store_explicit(&w->stop, STOP_WHEN_EMPTY, memory_order_release);
    sl_writer_wake(w);
    while (!atomic_load_explicit(&w->ended, memory_order_acquire)) {
        now = sl_clock_monotonic();
        if (now >= leave_ns)
            atomic_store_explicit(&w->stop, STOP_NOW, memory_order_release);
        if (now >= deadline) {
            pthread_detach(w->thread);
            return -ETIMEDOUT;
        }
        sl_futex_wait(&w->ended, 0, (now < leave_ns ? leave_ns : deadline) - now);
    }
    pthread_join(w->thread, NULL);
    sl_pages_unmap(w, sizeof(*w));
    return 0;
}

uint32_t sl_writer_lost_window(const struct sl_writer *w, uint64_t *renew_ns)
{
    return sl_outputs_lost_window(w->opt.outputs, renew_ns);
}

uint32_t sl_writer_full_window(const struct sl_writer *w)
{
    return sl_outputs_full_window(w->opt.outputs);
}

int sl_writer_is_shut(const struct sl_writer *w)
{
    return sl_outputs_is_shut(w->opt.outputs);
}

void sl_writer_last(struct sl_writer *w, char *path, size_t path_size, uint64_t *windows)
{
    union {
        uint64_t word[PATH_WORDS];
        char text[PATH_MAX];
    } copy;
    uint64_t before, after, completed;
    size_t i;

    do {
        before = atomic_load_explicit(&w->last_sequence, memory_order_acquire);
        for (i = 0; i < PATH_WORDS; i++)
            copy.word[i] = atomic_load_explicit(&w->last_path[i], memory_order_relaxed);
        completed = atomic_load_explicit(&w->windows, memory_order_relaxed);
        atomic_thread_fence(memory_order_acquire);
        after = atomic_load_explicit(&w->last_sequence, memory_order_relaxed);
    } while (before != after || before & 1);
    if (path_size)
        snprintf(path, path_size, "%s", copy.text);
    if (windows)
        *windows = completed;
}
