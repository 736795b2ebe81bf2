/*
 * recorder.h - the thread that fetches records from CUPTI and decodes them.
 *
 * The recorder thread runs the window state machine and the flush timer, and decodes buffers. After
 * the injection, it is the only thread of ours that calls CUPTI. A process has at most one
 * recorder, in static memory that is never freed.
 *
 * One word contains the window machine's state and the requests to the machine. Other threads
 * change that word by compare-and-swap and wake the recorder. No function here blocks, except
 * sl_recorder_exit(), whose time is limited.
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
    const struct sl_config *config; /* this pointer and the other pointers are borrowed for the life
                                     * of the process */
    const struct sl_identity *identity;
    struct sl_cupti_api *cupti;
    uint32_t kinds;       /* enum sl_cupti_set bits of the kinds that are recorded in windows */
    uint64_t on_since_ns; /* CLOCK_REALTIME ns since which all these kinds are on; 0: only
                           * SL_KINDS_ALWAYS are on */
    int filter_api;       /* 1: the decoder must filter calls (result of sl_cupti_enable()) */
    int handed_over;      /* another client has CUPTI, so no callback is registered and no kind is
                           * on yet */
    /* Called once on the recorder thread, before everything else. */
    void (*on_start)(void);
    /* Called on the recorder thread, at most once, if the recorder cannot continue. `reason` is for
     * the user. */
    void (*on_failure)(const char *reason);
};

/* Prepares the recorder and starts nothing. *out is a static object. Returns 0 or -EALREADY. */
int sl_recorder_init(struct sl_recorder **out, const struct sl_recorder_options *opt);

/* Any thread, also inside a CUPTI callback. Starts the recorder thread, detached, with all signals
 * blocked, named "syncline-cupti". Returns 0, -EALREADY if it was started before, or another
 * -errno. */
int sl_recorder_start(struct sl_recorder *r);

/* Exiting thread, before sl_recorder_exit(). Call if the process has a context, so that CUPTI must
 * have made records. If CUPTI has nevertheless never requested a buffer from us, another client
 * took CUPTI's callbacks before the first record. In this case the function starts the recorder, so
 * that the window gets a file that reports the missing records. */
void sl_recorder_tell_never_asked(struct sl_recorder *r);

/* Any thread, async-signal-safe. Makes the recorder run now instead of at its next tick. */
void sl_recorder_wake(struct sl_recorder *r);

/* Any thread. These functions make the requests of sl_window_start(), sl_window_stop() and
 * sl_window_renew(), and return the same values. The recorder thread carries out the request. */
int sl_recorder_request(struct sl_recorder *r, int (*ask)(struct sl_window *));

/* Exiting thread, once. Makes a last flush, and ends the open window and the writer. Waits for
 * CUPTI for 30 ms, plus 1 us for each record that CUPTI has. Records that arrive later are counted
 * as lost. The whole takes at most 2 s. */
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
