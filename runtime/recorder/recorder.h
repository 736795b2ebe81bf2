/*
 * recorder.h - the thread that brings records in.
 *
 * Window state machine, flush timer, decoding; the only thread of ours that calls CUPTI once the
 * process runs. At most one per process.
 *
 * Requests reach it through one word that holds the window machine's state and what was asked of
 * it; other threads change that word by compare-and-swap and wake the collector. None of the calls
 * here blocks, except sl_collector_exit() within its bounds.
 */
#ifndef SL_RECORDER_H
#define SL_RECORDER_H

#include <stddef.h>
#include <stdint.h>

#include "collect/cupti/api.h"
#include "control/config.h"
#include "control/identity.h"
#include "control/window.h"

/* Kinds that stay on between windows. API calls: a graph that is captured while RUNTIME and DRIVER
 * are off gives no node records later (seen up to CUPTI 13.0), a loss for good. Names: each is told
 * once. The price is that calls are recorded, decoded and thrown away in a pause. */
#define SL_COLLECTOR_ALWAYS (SL_CUPTI_RUNTIME | SL_CUPTI_DRIVER | SL_CUPTI_NAMES)

struct sl_collector;

struct sl_collector_options {
    const struct sl_config *config; /* borrowed for the life of the process, like the others */
    const struct sl_identity *identity;
    struct sl_cupti_api *cupti;
    uint32_t kinds;       /* enum sl_cupti_set bits that are wanted */
    uint64_t on_since_ns; /* since when all of them are on; 0: only SL_COLLECTOR_ALWAYS */
    int filter_api;       /* from sl_cupti_enable() */
    int handed_over;      /* another client has CUPTI: nothing is registered or on yet */
    /* Collector thread, first of all. */
    void (*on_start)(void);
    /* Collector thread, at most once: it cannot go on, for this reason. */
    void (*on_failure)(const char *reason);
};

/* Prepares; starts nothing. `out` is a static object: never freed. 0 or -EALREADY. */
int sl_collector_init(struct sl_collector **out, const struct sl_collector_options *opt);

/* Any thread, once: starts the thread (all signals blocked, detached, "syncline-cupti"). 0, -errno,
 * or -EALREADY. Callable from inside CUPTI's callbacks: it calls neither CUPTI nor CUDA. */
int sl_collector_start(struct sl_collector *c);

/* Exiting thread, before sl_collector_exit(), once the process has a context: CUPTI has made
 * records then, and yet may never have asked us for a buffer: somebody has taken its callbacks
 * before the first. If that is so, the collector starts, so that the window has a file that says
 * so. */
void sl_collector_tell_unasked(struct sl_collector *c);

/* Any thread, async-safe: look now rather than at the next tick. */
void sl_collector_wake(struct sl_collector *c);

/* Any thread, never blocks: 0 or the error codes of sl_window_start() and sl_window_stop(). */
int sl_collector_request_start(struct sl_collector *c);
int sl_collector_request_stop(struct sl_collector *c);
/* The window closes, and another opens as soon as its file is complete. */
int sl_collector_request_dump(struct sl_collector *c);

/* Exiting thread, once: last flush, end of the open window, end of the writer. CUPTI is waited for
 * 30 ms plus 1 us for each record that it has, then the file is closed and the rest counted; all
 * together takes at most 2 s. */
void sl_collector_exit(struct sl_collector *c);

/* Any thread, never blocks. */
struct sl_collector_status {
    enum sl_window_state state;
    int started;
    uint32_t window;
    uint64_t windows_completed;
    size_t memory_bytes;
};
void sl_collector_get_status(struct sl_collector *c, struct sl_collector_status *out,
                             char *last_file, size_t last_file_size);

#endif
