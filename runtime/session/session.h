/*
 * session.h - our session with CUPTI: who owns CUPTI, which kinds of records are on, which buffers
 * CUPTI holds, and which clock CUPTI uses.
 *
 * Files: cupti_calls.c (calls of CUPTI, returned buffers), outstanding.c (buffers that CUPTI
 * holds), kinds.c (turns kinds on and off), ownership.c (a pure state machine that decides who owns
 * CUPTI), handover.c (carries out that machine's actions), peer.c (watches another profiler in the
 * process).
 *
 * Threads: the recorder thread (recorder/recorder.h), unless a function says otherwise. If CUPTI
 * blocks the recorder thread at the process's end, the exiting thread cuts the recorder off and
 * continues in its place. A call of CUPTI may block for seconds or for ever, so no lock is held.
 * The atomic `phase` decides which of the two threads continues.
 *
 * Memory: one object per process, which is part of the recorder. The object is never freed, because
 * CUPTI may call back until the process is gone.
 *
 * Results: 0 or a negative errno. -ECANCELED means that the exiting thread has cut the recorder
 * off. Then the caller must return at once and touch nothing, because the exiting thread uses the
 * session.
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

/* Kinds that stay on between windows. RUNTIME and DRIVER stay on because CUPTI never records the
 * nodes of a graph that is captured while these kinds are off (seen up to CUPTI 13.0). The kinds of
 * names stay on because CUPTI reports each name only once. So between windows, calls are recorded,
 * decoded and discarded. */
#define SL_KINDS_ALWAYS (SL_CUPTI_RUNTIME | SL_CUPTI_DRIVER | SL_CUPTI_NAMES)

/* Which code the recorder thread is running. */
enum sl_session_phase {
    SL_PHASE_OURS,  /* our own code, so the thread soon notices that the process ends */
    SL_PHASE_CUPTI, /* a call of CUPTI, or a wait for CUPTI's buffers, which may last for ever */
    SL_PHASE_CUT    /* the exiting thread has cut off the recorder thread, which no longer calls
                     * CUPTI; a recorder thread cut off inside CUPTI touches nothing of the
                     * session */
};

/* Functions that the recorder gives the session. Each is called on the thread that has called the
 * session. */
struct sl_session_hooks {
    void *user;
    /* Called before a buffer is decoded. If a window has begun or ended meanwhile, the function
     * opens or closes it now, so that each record of the buffer counts as inside or outside the
     * window correctly. Returns 0 or -ECANCELED. */
    int (*see_window)(void *user);
    /* Sleeps for a millisecond, or until another thread wakes the recorder. */
    void (*nap)(void *user);
    /* Returns the monotonic time at which decoding must stop because the process is ending;
     * UINT64_MAX if the process is not ending. */
    uint64_t (*decode_until_ns)(void *user);
};

struct sl_session_options {
    const struct sl_config *config; /* this pointer and the other pointers are borrowed for the life
                                     * of the process */
    const struct sl_identity *identity;
    struct sl_cupti_api *cupti;
    uint32_t kinds;                 /* enum sl_cupti_set bits of the kinds that are recorded in
                                     * windows */
    const struct sl_window *window; /* the recorder's window machine, which has the window's state
                                     * and its begin */
    struct sl_session_hooks hooks;
};

/* A mark. All records that ended before `ns` have arrived once CUPTI has returned the buffers
 * requested up to number `turn`. */
struct sl_outstanding_mark {
    uint64_t ns, turn;
    int back; /* number of consecutive checks that found that CUPTI had returned all these
               * buffers */
};

/* Maximum number of flushes whose records are awaited at the same time. CUPTI may be seconds
 * late. */
#define SL_OUTSTANDING_MARKS 16

/* State of the buffers that CUPTI holds. */
struct sl_outstanding {
    struct sl_outstanding_mark mark[SL_OUTSTANDING_MARKS]; /* marks that are awaited, the oldest
                                                            * first */
    unsigned marks;
    uint64_t drain_turn;       /* number of the last request before the window's end */
    int drain_back;            /* number of consecutive checks that found that CUPTI had returned
                                * all buffers up to that number */
    uint64_t written_off_turn; /* buffers requested up to this number count as lost if CUPTI has not
                                * returned them */
    int missing_said;
};

struct sl_session {
    struct sl_session_options opt;
    struct sl_pipeline *pipeline; /* set once, by the recorder thread */
    _Atomic uint32_t phase;       /* enum sl_session_phase */

    struct sl_cupti_buffer *taken; /* list of buffers that were taken from the pool and are not
                                    * decoded yet */
    struct sl_cupti_dump *dump;    /* NULL: none */
    struct sl_cupti_clock clock;
    uint64_t flush_due_ns; /* monotonic time of the next flush */
    struct sl_outstanding outstanding;
    struct sl_ownership ownership;
    int taken_over_said, refused_said;
    int clock_said, drop_said, late_said;
};

/* ---- cupti_calls.c ---- */

/* Call before and after each call of CUPTI. */
int sl_session_enter(struct sl_session *s);
int sl_session_leave(struct sl_session *s);

/* Exiting thread: returns whether the recorder thread is inside CUPTI right now. */
int sl_session_is_in_cupti(const struct sl_session *s);
/* Exiting thread: cuts off a recorder thread that is inside CUPTI. Returns 0, or -ECANCELED if the
 * recorder thread runs our own code. */
int sl_session_cut_off(struct sl_session *s);
/* Exiting thread: forbids the recorder thread every further call of CUPTI. */
void sl_session_forbid_cupti(struct sl_session *s);

/* Flushes CUPTI. If another client has CUPTI, or seems to have it, the function makes no flush, or
 * a plain flush instead of a forced one. */
int sl_session_flush(struct sl_session *s, int forced);
int sl_session_look_at_clock(struct sl_session *s);
int sl_session_check_clock(struct sl_session *s);

/* Decodes and recycles all buffers that CUPTI has returned. */
int sl_session_take_buffers(struct sl_session *s);

/* Decodes the returned buffers at the process's end, without a call of CUPTI. When the time for
 * decoding is over, counts the records of the remaining buffers as lost. The exiting thread may
 * call this, too, once it has cut off the recorder thread. */
void sl_session_take_rest(struct sl_session *s);

/* Waits for CUPTI to return buffers, for a millisecond or until another thread wakes the
 * recorder. */
int sl_session_wait_for_cupti(struct sl_session *s);

/* Fetches all records by a forced flush. A kernel that never ends, or that lasts longer than we
 * wait, also holds back the completed records in its buffer. A forced flush returns all these
 * records. Pending records then have no end time, and CUPTI never reports them again. */
int sl_session_force_out(struct sl_session *s);

/* Starts copying CUPTI's buffers to a file if SYNCLINE_DUMP_CUPTI is set. Logs a line if the file
 * cannot be created. */
void sl_session_open_dump(struct sl_session *s);

/* ---- outstanding.c ---- */

/* Any thread. Returns the number of CUPTI's last request, and how many of our buffers CUPTI
 * holds. */
struct sl_ownership_buffers sl_outstanding_buffers(void);

/* Any thread. Counts the records in buffers that CUPTI requested up to number `turn` and has not
 * returned. */
struct sl_decode_held sl_outstanding_look(const struct sl_session *s, uint64_t turn);

/* Returns whether all our records in CUPTI are complete, so that a plain flush would deliver them.
 * Writes the number of these records to *records. */
int sl_outstanding_is_complete(const struct sl_session *s, struct sl_ownership_buffers buffers,
                               size_t *records);

/* Call when a window ends. The window's records are in the buffers that CUPTI has requested so
 * far. */
void sl_outstanding_begin_drain(struct sl_session *s);
/* Returns whether all records of the window that ended have arrived, or whether no more records
 * will arrive. */
int sl_outstanding_is_drained(struct sl_session *s);

/* Call before a flush, with the time by CUPTI's clock. Returns the mark to add after the flush. */
struct sl_outstanding_mark sl_outstanding_mark_now(uint64_t ns);
void sl_outstanding_add_mark(struct sl_session *s, struct sl_outstanding_mark mark);

/* Reports to the pipeline up to which time all records have arrived, according to the marks. */
void sl_outstanding_deliver(struct sl_session *s);

/* Call when we stop waiting for CUPTI at a window's end. Counts the buffers requested up to `turn`
 * that CUPTI has not returned, and logs how many records are lost with them. The exiting thread may
 * call this, too, once it has cut off the recorder thread. */
void sl_outstanding_tell_missing(struct sl_session *s, uint64_t turn,
                                 const struct sl_decode_held *held);

/* ---- kinds.c ---- */

/* Call when the window machine wants the kinds on or off. Kinds are turned off only at the next
 * sign that CUPTI is ours (ownership.c). Returns -EIO if no kind could be turned on. */
int sl_kinds_want(struct sl_session *s, int on);

/* Actions of the ownership machine, for handover.c. */
int sl_kinds_turn_on(struct sl_session *s); /* returns -EIO if CUPTI refused all kinds */
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

/* At each tick: checks whether another profiler waits for CUPTI or has left, and redirects import
 * slots of newly loaded objects. */
int sl_handover_share(struct sl_session *s);

/* Turns off our kinds and restores CUPTI's settings. */
int sl_handover_detach(struct sl_session *s);

/* If there is a gap, reports it to the open window's file. The gap ends at until_ns, when the
 * window ends or recording continues. */
void sl_handover_tell_gap(struct sl_session *s, uint64_t until_ns);

#endif
