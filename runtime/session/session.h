/*
 * session.h - our session with CUPTI: who owns CUPTI now, which kinds of records are on, which
 * buffers CUPTI still has, and what clock it uses.
 *
 * Files: cupti_calls.c (calls of CUPTI, buffers that came back), outstanding.c (buffers that have
 * not), kinds.c (kinds on and off), ownership.c (who owns CUPTI: a pure state machine), handover.c
 * (carries out what that asks for), peer.c (what another profiler in the process does).
 *
 * Threads: the recorder thread (recorder/recorder.h), where nothing else is said. The exiting
 * thread takes its place once it has cut it off. No lock is held, least of all across a call of
 * CUPTI, which may block for seconds or for good; one atomic, `phase`, decides which of the two
 * threads goes on.
 *
 * Memory: one object per process, part of the recorder's, never freed: CUPTI may call back at any
 * time until the process is gone.
 *
 * Results: 0 or a negative errno. -ECANCELED means that the exiting thread did not wait for CUPTI
 * any longer: the caller returns at once and touches nothing, because the exiting thread has it.
 */
#ifndef SL_SESSION_H
#define SL_SESSION_H

#include <stdatomic.h>

#include "collect/cupti/clock.h"
#include "collect/cupti/decode.h"
#include "collect/cupti/dump.h"
#include "control/window.h"
#include "pipeline/pipeline.h"
#include "session/ownership.h"

#define SL_NS_PER_MS   1000000ull
#define SL_SESSION_NAP SL_NS_PER_MS

/* Kinds that stay on between windows. API calls: a graph that is captured while RUNTIME and DRIVER
 * are off gives no node records later (seen up to CUPTI 13.0), a loss for good. Names: CUPTI
 * reports each name once. The price is that calls are recorded, decoded and discarded between
 * windows. */
#define SL_KINDS_ALWAYS (SL_CUPTI_RUNTIME | SL_CUPTI_DRIVER | SL_CUPTI_NAMES)

/* Where the recorder thread is. */
enum sl_session_phase {
    SL_PHASE_OURS,  /* in our own code: it soon sees that the process ends */
    SL_PHASE_CUPTI, /* inside a call of CUPTI, or waiting for its buffers: perhaps for good */
    SL_PHASE_CUT    /* the exiting thread did not wait: the recorder thread calls CUPTI no more, and
                     * touches nothing if it was inside a call */
};

/* What the session needs from the thread that runs it, which sets this once. Each is called on the
 * thread that called into the session. */
struct sl_session_hooks {
    void *user;
    /* Before a buffer is decoded: a window that opens or closes with a step of the job does so now,
     * so that the records of both sides are judged by it. 0 or -ECANCELED. */
    int (*see_step)(void *user);
    /* Sleeps for a millisecond, or until somebody wakes the recorder. */
    void (*nap)(void *user);
    /* The process is ending: decode no longer than this (monotonic); UINT64_MAX: it is not. */
    uint64_t (*decode_until_ns)(void *user);
};

struct sl_session_options {
    const struct sl_config *config; /* borrowed for the life of the process, like the others */
    const struct sl_identity *identity;
    struct sl_cupti_api *cupti;
    uint32_t kinds;                 /* enum sl_cupti_set bits that are wanted in windows */
    const struct sl_window *window; /* the recorder's: its state, and when it opened */
    struct sl_session_hooks hooks;
};

/* Everything that ended before `ns` has arrived once the buffers requested up to `turn` are back.
 */
struct sl_outstanding_mark {
    uint64_t ns, turn;
    int back; /* consecutive looks that found all of those back */
};

/* Flushes whose records are awaited at the same time: CUPTI may be seconds late. */
#define SL_OUTSTANDING_MARKS 16

/* Buffers that CUPTI has not given back. */
struct sl_outstanding {
    struct sl_outstanding_mark mark[SL_OUTSTANDING_MARKS]; /* the oldest first */
    unsigned marks;
    uint64_t drain_turn;       /* last buffer requested before the window's end */
    int drain_back;            /* consecutive looks that found all of those back */
    uint64_t written_off_turn; /* buffers up to this one that are not back never will be */
    int missing_said;
};

struct sl_session {
    struct sl_session_options opt;
    struct sl_pipeline *pipeline; /* set once, by the recorder thread */
    _Atomic uint32_t phase;       /* enum sl_session_phase */

    struct sl_cupti_buffer *taken; /* from the pool's list, not decoded yet */
    struct sl_cupti_dump *dump;    /* NULL: none */
    struct sl_cupti_clock clock;
    uint64_t flush_due_ns; /* monotonic */
    struct sl_outstanding outstanding;
    struct sl_ownership ownership;
    int taken_over_said, refused_said;
    int clock_said, drop_said, late_said;
};

/* ---- cupti_calls.c ---- */

/* Around each call of CUPTI. */
int sl_session_enter(struct sl_session *s);
int sl_session_leave(struct sl_session *s);

/* Exiting thread: returns whether the recorder thread is inside CUPTI right now. */
int sl_session_is_in_cupti(const struct sl_session *s);
/* Exiting thread: takes everything from a recorder thread that is inside CUPTI. 0; -ECANCELED: it
 * is in our own code. */
int sl_session_cut_off(struct sl_session *s);
/* Exiting thread: whatever the recorder thread does, it calls CUPTI no more. */
void sl_session_forbid_cupti(struct sl_session *s);

/* A forced flush is not made where another client has CUPTI, or seems to. */
int sl_session_flush(struct sl_session *s, int forced);
int sl_session_look_at_clock(struct sl_session *s);
int sl_session_check_clock(struct sl_session *s);

/* Decodes and recycles all buffers that have come back. */
int sl_session_take_buffers(struct sl_session *s);

/* The same at the very end, without any call of CUPTI; counts the buffers instead of decoding them
 * once the time for that is over. Also the exiting thread, once it has cut off the recorder. */
void sl_session_take_rest(struct sl_session *s);

/* Waits for CUPTI's buffers: a millisecond, or until woken. */
int sl_session_wait_for_cupti(struct sl_session *s);

/* A kernel that never ends, or lasts longer than we wait, holds back the completed records in its
 * buffer too. A forced flush brings them all, the pending ones without an end; CUPTI never reports
 * those again. */
int sl_session_force_out(struct sl_session *s);

/* Copies CUPTI's buffers to a file, if the user asked for that. If the file cannot be made, a log
 * line says so. */
void sl_session_open_dump(struct sl_session *s);

/* ---- outstanding.c ---- */

/* Any thread: the last buffer that CUPTI asked for, and how many of ours it has. */
struct sl_ownership_buffers sl_outstanding_buffers(void);

/* Any thread: what the buffers hold that were requested up to `turn` and have not come back. */
struct sl_decode_held sl_outstanding_look(const struct sl_session *s, uint64_t turn);

/* Whether all that CUPTI has of ours is completed: a plain flush would bring it. *records: how many
 * records that are. */
int sl_outstanding_is_complete(const struct sl_session *s, struct sl_ownership_buffers buffers,
                               size_t *records);

/* A window ends: its records are in the buffers requested so far. */
void sl_outstanding_begin_drain(struct sl_session *s);
/* Since then: none of its records is outstanding, or none will come. */
int sl_outstanding_is_drained(struct sl_session *s);

/* Before a flush, with the time by CUPTI's clock: what to deliver once its buffers are back. */
struct sl_outstanding_mark sl_outstanding_mark_now(uint64_t ns);
void sl_outstanding_add_mark(struct sl_session *s, struct sl_outstanding_mark mark);

/* Reports to the pipeline up to which time all records have arrived, according to the marks. */
void sl_outstanding_deliver(struct sl_session *s);

/* At a window's end, when CUPTI is waited for no longer: counts the buffers requested up to `turn`
 * that it has not given back, and logs what they hold. Also the exiting thread, once it has cut off
 * the recorder. */
void sl_outstanding_tell_missing(struct sl_session *s, uint64_t turn,
                                 const struct sl_decode_held *held);

/* ---- kinds.c ---- */

/* The window machine wants the kinds on, or off, which happens at CUPTI's next sign. -EIO: no kind
 * could be turned on. */
int sl_kinds_want(struct sl_session *s, int on);

/* Actions of the ownership machine, for handover.c. */
int sl_kinds_turn_on(struct sl_session *s); /* -EIO: CUPTI refused all of them */
int sl_kinds_turn_back_on(struct sl_session *s);
int sl_kinds_turn_off(struct sl_session *s);
int sl_kinds_check_clock(struct sl_session *s);
int sl_kinds_tell_on(struct sl_session *s);

/* ---- handover.c ---- */

/* Returns the facts that the ownership machine gets with each event. */
struct sl_ownership_now sl_handover_now(const struct sl_session *s);

/* Passes the event to the ownership machine and carries out its actions. Returns 0 or the first
 * error. */
int sl_handover_step(struct sl_session *s, enum sl_ownership_event event);

/* At each tick: sees whether another profiler waits for CUPTI or has left, looks for objects that
 * were loaded. */
int sl_handover_share(struct sl_session *s);

/* Turns off all that is ours, and sets CUPTI as it was found. */
int sl_handover_detach(struct sl_session *s);

/* Reports to the open window's file since when nothing was recorded, if that is so. The window ends
 * at until_ns, or recording goes on there. */
void sl_handover_tell_gap(struct sl_session *s, uint64_t until_ns);

#endif
