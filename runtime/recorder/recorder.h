/*
 * recorder.h - the thread that brings records in.
 *
 * It runs the window state machine and the flush timer, decodes buffers, and is the only thread of
 * ours that calls CUPTI once the process runs. At most one per process, in static memory that is
 * never freed.
 *
 * Requests reach it through one word that holds the window machine's state and what was asked of
 * it: other threads change that word by compare-and-swap and wake the recorder. None of the calls
 * here blocks, except sl_recorder_exit() within its bounds.
 */
#ifndef SL_RECORDER_H
#define SL_RECORDER_H

#include <stddef.h>
#include <stdint.h>

#include "collect/cupti/api.h"
#include "control/config.h"
#include "control/identity.h"
#include "control/window.h"

struct sl_recorder;

struct sl_recorder_options {
    const struct sl_config *config; /* borrowed for the life of the process, like the others */
    const struct sl_identity *identity;
    struct sl_cupti_api *cupti;
    uint32_t kinds;       /* enum sl_cupti_set bits that are wanted in windows */
    uint64_t on_since_ns; /* since when all of them are on; 0: only SL_KINDS_ALWAYS */
    int filter_api;       /* from sl_cupti_enable() */
    int handed_over;      /* another client has CUPTI: nothing is registered or on yet */
    /* Recorder thread, first of all. */
    void (*on_start)(void);
    /* Recorder thread, at most once: it cannot go on, for this reason. */
    void (*on_failure)(const char *reason);
};

/* Prepares; starts nothing. `out` is a static object: never freed. 0 or -EALREADY. */
int sl_recorder_init(struct sl_recorder **out, const struct sl_recorder_options *opt);

/* Any thread, once: starts the thread (all signals blocked, detached, "syncline-cupti"). 0, -errno,
 * or -EALREADY. Callable from inside CUPTI's callbacks: it calls neither CUPTI nor CUDA. */
int sl_recorder_start(struct sl_recorder *r);

/* Exiting thread, before sl_recorder_exit(), once the process has a context. CUPTI has made records
 * then. If it has never asked us for a buffer, another client took its callbacks before the first
 * record: the recorder starts, so that the window has a file that says so. */
void sl_recorder_tell_never_asked(struct sl_recorder *r);

/* Any thread, async-safe: the recorder looks now rather than at the next tick. */
void sl_recorder_wake(struct sl_recorder *r);

/* Any thread. Asks for what sl_window_start(), sl_window_stop() or sl_window_renew() do, and
 * returns their answer. The recorder thread carries it out. */
int sl_recorder_request(struct sl_recorder *r, int (*ask)(struct sl_window *));

/* Exiting thread, once: last flush, end of the open window, end of the writer. Waits for CUPTI for
 * 30 ms plus 1 us for each record that CUPTI has; then the file is closed and the other records are
 * counted. All together takes at most 2 s. */
void sl_recorder_exit(struct sl_recorder *r);

/* Any thread, never blocks. */
struct sl_recorder_status {
    enum sl_window_state state;
    int started;
    uint32_t window;
    uint64_t windows_completed;
    size_t memory_bytes;
};
void sl_recorder_get_status(struct sl_recorder *r, struct sl_recorder_status *out, char *last_file,
                            size_t last_file_size);

#endif
