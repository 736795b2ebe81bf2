/*
 * recorder_impl.h - shared by the recorder's files: recorder.c (the thread), memory.c (the host's
 * memory limits), request.c (requests and status calls of other threads) and exit.c (the end of the
 * process). Only these files include it.
 *
 * There is one static object per process. The object is never freed, because CUPTI may call back
 * until the process is gone. Threads communicate through the atomic members, so that no lock is
 * ever held. The most important three are:
 *   request        state of the window machine and requests to it (control/window.h)
 *   wakes          counts up at each wake; the recorder thread sleeps on it
 *   session.phase  whether the recorder thread is inside CUPTI, where the exiting thread may cut it
 *                  off (session/session.h)
 */
#ifndef SL_RECORDER_IMPL_H
#define SL_RECORDER_IMPL_H

#include <stdatomic.h>

#include "recorder/recorder.h"
#include "session/session.h"

struct sl_recorder {
    struct sl_recorder_options opt;
    struct sl_session session;
    struct sl_pipeline *_Atomic pipeline; /* the session's pipeline, for other threads; set once */

    _Atomic uint32_t started; /* 1: the thread was started, or must not be started any more */
    _Atomic uint32_t request; /* sl_window_pack() */
    _Atomic uint32_t window_number;
    _Atomic uint32_t is_open; /* a window is open, and its recording has begun; set shortly after
                               * the machine's state */
    _Atomic uint32_t wakes;

    /* exit */
    _Atomic uint32_t exiting;
    uint64_t exit_turn;            /* number of CUPTI's last request before the exit; set before
                                    * `exiting` */
    uint64_t exit_decode_until_ns; /* at the exit, buffers are decoded until this monotonic time;
                                    * set before the flag `exiting`; stand_in() sets it again */
    _Atomic uint32_t ended;        /* the recorder has touched the pipeline for the last time */
    _Atomic uint32_t status_users; /* number of threads inside the pipeline's status calls */
    _Atomic uint32_t closed;       /* 1: status calls must not enter the pipeline any more */

    /* Used by the recorder thread, and by the exiting thread once it has cut off the recorder. */
    struct sl_window window;
    int is_started_at_exit;    /* started because CUPTI has never requested a buffer from us */
    uint64_t calibrate_due_ns; /* monotonic */
    uint64_t memory_due_ns;    /* monotonic time of the next look at the host's memory limits */
    unsigned memory_lines;     /* number of log lines about these limits */
    uint64_t renew_due_ns;     /* earliest monotonic time at which a lost file is replaced */
    uint32_t wakes_handled;    /* value of `wakes` before the records were last decoded or held */
    int is_in_window;          /* the machine's actions are being carried out */
};

/* ---- memory.c ---- */

/* Recorder thread. Reads the host's memory limits at most once a second. Sets the cap of the CUPTI
 * buffers, and whether windows may be recorded. */
void sl_recorder_follow_memory(struct sl_recorder *r);

/* ---- recorder.c ---- */

/* Called before the thread starts. Sets the session's options and hooks. */
void sl_recorder_prepare_session(struct sl_recorder *r);

/* The thread's function. */
void *sl_recorder_run(void *recorder);

/* Marks the recorder as ended. The caller guarantees that the recorder thread does not use the
 * pipeline any more. */
void sl_recorder_end(struct sl_recorder *r);

/* Call when the process ends and we stop waiting for CUPTI. Decodes the buffers that CUPTI has
 * returned, counts the records in the other buffers as lost, and ends the open window. Runs on the
 * recorder thread, or on the exiting thread that has cut off the recorder thread. */
void sl_recorder_settle(struct sl_recorder *r);

#endif
