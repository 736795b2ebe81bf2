/*
 * writer.c - the background thread that turns the ring into files.
 *
 * Threads: the writer thread runs everything below run(); start and stop belong to one other
 * thread; wake and last are for any. Memory: the writer's own, freed by stop once the thread has
 * ended; if it has not by the deadline, thread and memory are left alone.
 *
 * The thread sleeps on a futex. `wakes` counts up at each wake; a sleeper that has read it before
 * its last look at the ring cannot miss one.
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

#define BILLION   1000000000u
#define FRAME_NS  BILLION /* a killed process loses no more than this */
#define BATCH     512     /* events taken from the ring at a time */
#define SECOND_NS BILLION
#define NO_FILE   UINT64_MAX
/* Ending a file when in haste: the block in work, at the strongest level, and the trailer. */
#define CLOSE_MOST_NS (BILLION / 10 * 4)

enum {
    PATH_WORDS = PATH_MAX / sizeof(uint64_t)
};

enum stop {
    RUN_ON,
    STOP_WHEN_EMPTY,
    STOP_NOW /* what is still in the ring is counted, not written */
};

struct sl_writer {
    struct sl_writer_options opt;
    pthread_t thread;
    _Atomic uint32_t wakes;
    _Atomic uint32_t asleep;
    _Atomic uint32_t stop; /* enum stop */
    _Atomic uint32_t ended;
    _Atomic uint32_t lost_window; /* the last one with a lost file; 0: none */

    /* the writer thread's */
    struct sl_sink *sink; /* NULL: no file is open */
    int failed;           /* the window's file could not be made or went wrong */
    uint64_t frame_ns;    /* when the open frame began */
    uint64_t safe;        /* rows of the open file that a sync has brought to the disk; NO_FILE */
    uint64_t taken;       /* rows that came for the open file; some may be held back */
    int frame_open;
    int is_loss_said;
    char path[PATH_MAX]; /* final name of the open file */

    /* What sl_writer_last() tells, for application threads, which must not block: a sequence lock
     * over words. Odd: being written. */
    _Atomic uint64_t last_sequence;
    _Atomic uint64_t last_path[PATH_WORDS];
    _Atomic uint64_t windows;
};

/* ---- files ---- */

static const char *suffix(const struct sl_writer *w)
{
    switch (w->opt.compression) {
    case SL_COMPRESS_ZSTD:
        return ".zst";
    case SL_COMPRESS_GZIP:
        return ".gz";
    default:
        return "";
    }
}

/* The host has closed a file of this window, or replaced it. */
static void lose_window(struct sl_writer *w)
{
    atomic_store_explicit(&w->lost_window, w->opt.meta.window, memory_order_relaxed);
    sl_log_once(&w->is_loss_said, SL_LOG_ERROR,
                "the program closed or replaced a trace file of window %u in %s (closefrom() and "
                "loops over all descriptors close it); its own files are untouched, the rest of "
                "that trace is lost, and recording goes on in the next window; close descriptors "
                "before CUDA starts, or only those that the program has opened",
                w->opt.meta.window, w->opt.folder);
}

static void report_error(const struct sl_writer *w, int error)
{
    char text[128];
    const char *remedy = "check the folder, or set SYNCLINE_OUTPUT to another";

    if (error == -ENOSPC || error == -EDQUOT)
        remedy = "free some space, or set SYNCLINE_OUTPUT to a folder on another disk";
    else if (error == -EACCES || error == -EPERM || error == -EROFS)
        remedy = "set SYNCLINE_OUTPUT to a folder that this user may write to";
    sl_log(SL_LOG_ERROR,
           "cannot write %s: %s; the rest of window %u is lost%s, the job is not affected; %s",
           w->path, strerror_r(-error, text, sizeof(text)), w->opt.meta.window,
           w->sink ? " (what was written stays in its .part file)" : "", remedy);
}

/* `error` ended or prevented the file of this window: said once for it. Whether what came after the
 * last sync fitted is not known: it counts as lost. */
static void say_failure(struct sl_writer *w, int error)
{
    if (error == -EBADF)
        lose_window(w);
    else
        report_error(w, error);
    if (w->safe != NO_FILE)
        sl_stats_add(SL_STAT_DROPPED_WRITE, w->taken - w->safe);
    w->safe = NO_FILE;
    if (w->opt.et)
        sl_et_window_excuse(w->opt.et, error);
}

static int open_chain(struct sl_writer *w)
{
    struct sl_sink *file = NULL;
    int error = sl_sink_file_open(&file, w->path);

    if (error)
        return error;
    error = sl_sink_compress_open(&w->sink, file, w->opt.compression, w->opt.level);
    if (error) {
        file->close(file, 0);
        return error;
    }
    return 0;
}

static void publish_path(struct sl_writer *w)
{
    uint64_t words[PATH_WORDS];
    size_t i;

    memcpy(words, w->path, sizeof(words));
    atomic_fetch_add_explicit(&w->last_sequence, 1, memory_order_relaxed);
    /* Pairs with the fence in sl_writer_last(): who reads a new word sees the odd number. */
    atomic_thread_fence(memory_order_release);
    for (i = 0; i < PATH_WORDS; i++)
        atomic_store_explicit(&w->last_path[i], words[i], memory_order_relaxed);
    atomic_fetch_add_explicit(&w->windows, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&w->last_sequence, 1, memory_order_release);
}

static void close_file(struct sl_writer *w, int complete)
{
    int error = w->sink->close(w->sink, complete);

    w->sink = NULL;
    if (error && complete)
        say_failure(w, error);
    if (error || !complete)
        return;
    publish_path(w);
    sl_log(SL_LOG_INFO, "wrote %s", w->path);
}

static void fail_file(struct sl_writer *w, int error)
{
    say_failure(w, error);
    w->failed = 1;
    if (!w->sink)
        return;
    /* Kineto's own end comes first: it must not keep a sink that is gone. */
    if (w->opt.edges)
        sl_edge_rows_fail(w->opt.edges);
    sl_kineto_end(w->opt.kineto, w->opt.meta.opened_ns);
    close_file(w, 0);
}

static void see_lost_et(struct sl_writer *w)
{
    if (w->opt.et && sl_et_window_is_lost(w->opt.et))
        lose_window(w);
}

static int has_file(const struct sl_writer *w)
{
    return w->sink || (w->opt.et && sl_et_window_is_open(w->opt.et));
}

static void open_window(struct sl_writer *w, const struct sl_event *ev)
{
    struct sl_trace_meta *meta = &w->opt.meta;
    int error;

    meta->window = ev->u.window.number;
    meta->opened_ns = ev->start_ns;
    w->failed = 0;
    w->safe = NO_FILE;
    w->taken = 0;
    if (w->opt.et)
        sl_et_window_excuse(w->opt.et, 0);
    snprintf(w->path, sizeof(w->path), "%s/%u.pt.trace.json%s", w->opt.folder, meta->window,
             suffix(w));
    error = open_chain(w);
    if (error == -EEXIST) {
        /* Another process had the same host name, rank and pid: containers. */
        snprintf(w->path, sizeof(w->path), "%s/%u-%llu.pt.trace.json%s", w->opt.folder,
                 meta->window, (unsigned long long)meta->opened_ns, suffix(w));
        error = open_chain(w);
    }
    if (!error) {
        meta->trace_name = w->path;
        error = sl_kineto_begin(w->opt.kineto, w->sink, meta);
    }
    if (error) {
        fail_file(w, error);
    } else {
        w->safe = 0;
    }
    if (w->opt.et)
        sl_et_window_open(w->opt.et, meta);
    if (w->opt.edges && has_file(w))
        sl_edge_rows_open(w->opt.edges, meta->opened_ns, w->sink != NULL);
    w->frame_open = 0;
}

static void end_files(struct sl_writer *w, uint64_t closed_ns)
{
    int error = 0;

    if (w->opt.edges)
        error = sl_edge_rows_close(w->opt.edges, closed_ns);
    /* First: the Kineto file tells how many nodes there are. */
    if (w->opt.et)
        sl_et_window_close(w->opt.et);
    if (!w->sink)
        return;
    if (!error)
        error = sl_kineto_end(w->opt.kineto, closed_ns);
    if (error)
        fail_file(w, error);
    else
        close_file(w, 1);
}

static void close_window(struct sl_writer *w, uint64_t closed_ns)
{
    if (has_file(w))
        end_files(w, closed_ns);
    if (w->opt.et)
        sl_et_window_end(w->opt.et);
    see_lost_et(w);
}

/* ---- events ---- */

/* What a file would get a row for: where one is told of twice, when it ends. */
static int is_row(const struct sl_event *ev)
{
    return ev->kind >= SL_EV_KERNEL && ev->kind <= SL_EV_SYNC && ev->end_ns != SL_END_UNKNOWN &&
           !(ev->flags & (SL_EVF_ONLY_EDGES | SL_EVF_NO_TIME));
}

static uint64_t count_rows(const struct sl_event *ev, size_t count)
{
    uint64_t rows = 0;

    for (size_t i = 0; i < count; i++)
        rows += (uint64_t)is_row(&ev[i]);
    return rows;
}

/* Events of one window, or between two. */
static void write_run(struct sl_writer *w, const struct sl_event *ev, size_t count)
{
    uint64_t rows = count_rows(ev, count);
    int error;

    if (atomic_load_explicit(&w->stop, memory_order_relaxed) == STOP_NOW) {
        sl_stats_add(SL_STAT_UNDELIVERED_AT_EXIT, rows);
        if (w->opt.edges)
            sl_edge_rows_lose(w->opt.edges);
        return;
    }
    w->taken += rows;
    error = w->opt.edges ? sl_edge_rows_events(w->opt.edges, ev, count)
                         : sl_kineto_events(w->opt.kineto, ev, count);
    if (w->sink && !error) {
        if (!w->frame_open) {
            w->frame_open = 1;
            w->frame_ns = sl_clock_monotonic();
        }
        return;
    }
    if (error)
        fail_file(w, error);
    else
        sl_stats_add(w->failed ? SL_STAT_DROPPED_WRITE : SL_STAT_OUTSIDE_WINDOW, rows);
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
        w->failed = 0;
        if (ev[i].kind == SL_EV_WINDOW_OPEN)
            open_window(w, &ev[i]);
    }
    if (count > from)
        write_run(w, ev + from, count - from);
}

/* Ends the frame once it is old enough. Returns how long that is still to come. */
static uint64_t keep_frames_short(struct sl_writer *w)
{
    uint64_t due = w->opt.et ? sl_et_window_sync(w->opt.et) : UINT64_MAX;
    uint64_t age;
    int error;

    see_lost_et(w);
    if (!w->sink || !w->frame_open)
        return due;
    age = sl_clock_monotonic() - w->frame_ns;
    if (age < FRAME_NS)
        return FRAME_NS - age < due ? FRAME_NS - age : due;
    w->frame_open = 0;
    error = sl_kineto_flush(w->opt.kineto);
    if (!error)
        error = w->sink->sync(w->sink);
    if (error)
        fail_file(w, error);
    else
        w->safe = sl_kineto_written(w->opt.kineto);
    return due;
}

static void *run(void *user)
{
    struct sl_writer *w = user;

    /* Each thread names itself. glibc writes another thread's name into a file of /proc, and a host
     * that closes all descriptors in that moment gets the name in a file of its own. */
    pthread_setname_np(pthread_self(), "syncline-write");
    for (;;) {
        uint32_t wakes = atomic_load_explicit(&w->wakes, memory_order_acquire);
        /* Read before the ring is: what was pushed before stop is then seen. */
        uint32_t stop = atomic_load_explicit(&w->stop, memory_order_acquire);
        const struct sl_event *ev;
        uint64_t due;
        size_t count;

        while ((ev = sl_ring_peek(w->opt.ring, BATCH, &count)) != NULL) {
            take_events(w, ev, count);
            sl_ring_release(w->opt.ring, count);
            keep_frames_short(w);
        }
        if (stop)
            break;
        due = keep_frames_short(w);
        atomic_store(&w->asleep, 1);
        /* Sequentially consistent with sl_writer_wake(): either it sees a sleeper, or the count
         * has moved and the wait returns at once. */
        if (atomic_load(&w->wakes) == wakes)
            sl_futex_wait(&w->wakes, wakes, due < SECOND_NS ? due : SECOND_NS);
        atomic_store(&w->asleep, 0);
    }
    close_window(w, sl_clock_now());
    atomic_store_explicit(&w->ended, 1, memory_order_release);
    sl_futex_wake(&w->ended);
    return NULL;
}

/* ---- the outside ---- */

int sl_writer_start(struct sl_writer **out, const struct sl_writer_options *opt)
{
    struct sl_writer *w = sl_pages_map(sizeof(*w));
    sigset_t all, before;
    int error;

    if (!w)
        return -ENOMEM;
    w->opt = *opt;
    w->opt.meta.has_edges = opt->edges != NULL;
    /* The host's handlers must never run on our thread; it inherits the mask. */
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    error = pthread_create(&w->thread, NULL, run, w);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (error)
        goto fail_thread;
    *out = w;
    return 0;

fail_thread:
    sl_pages_unmap(w, sizeof(*w));
    return -error;
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

    /* Release pairs with the acquire in run(): everything pushed so far is drained. */
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

uint32_t sl_writer_lost_window(const struct sl_writer *w)
{
    return atomic_load_explicit(&w->lost_window, memory_order_relaxed);
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
