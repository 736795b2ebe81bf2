/*
 * recorder_impl.h - what the recorder's files share: the thread (recorder.c), requests and status
 * from other threads (request.c), the end of the process (exit.c). Included by them alone.
 *
 * One static object per process, never freed: CUPTI may call back at any time until the process is
 * gone. Three words connect the threads. Each is one atomic, so that no lock is ever held:
 *   request        state of the window machine and what was asked of it (control/window.h)
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
    struct sl_pipeline *_Atomic pipeline; /* the session's, for other threads; set once */

    _Atomic uint32_t started; /* or never to be */
    _Atomic uint32_t request; /* sl_window_pack() */
    _Atomic uint32_t window_number;
    _Atomic uint32_t is_open; /* and it has begun: the machine's state says so a moment before */
    _Atomic uint32_t wakes;

    /* exit */
    _Atomic uint32_t exiting;
    uint64_t exit_turn;            /* last buffer requested before the exit; set before `exiting` */
    uint64_t exit_decode_until_ns; /* monotonic; the same, and later if the exit stands in */
    _Atomic uint32_t ended;        /* the recorder has touched the pipeline for the last time */
    _Atomic uint32_t status_users; /* threads inside the pipeline's status calls */
    _Atomic uint32_t closed;       /* no more of those */

    /* The recorder thread's, and the exiting thread's once it has cut off the recorder. */
    struct sl_window window;
    int is_started_at_exit;    /* because CUPTI has never asked us for a buffer */
    uint64_t calibrate_due_ns; /* monotonic */
    uint64_t renew_due_ns;     /* monotonic: a lost file is not replaced before */
    uint64_t armed_step;       /* the step that collect/torch/step.h was asked to report */
    int is_in_window;          /* the machine's actions are being carried out */
};

/* ---- recorder.c ---- */

/* Before there is a thread: what the session needs to know, and calls. */
void sl_recorder_prepare_session(struct sl_recorder *r);

/* The thread's function. */
void *sl_recorder_run(void *recorder);

/* Called by a thread that knows that the recorder will not use the pipeline any more. */
void sl_recorder_end(struct sl_recorder *r);

/* The process ends and CUPTI is waited for no longer: decodes what it has delivered, counts what it
 * has not, ends the open window. The recorder, or the exiting thread that has cut it off. */
void sl_recorder_settle(struct sl_recorder *r);

#endif
