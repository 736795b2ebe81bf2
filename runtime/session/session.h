/*
 * session.h - what the collector's files share: the thread (recorder/recorder.c), its calls of
 * CUPTI (cupti_calls.c), and what other threads may do with it (recorder/request.c: requests,
 * status; recorder/exit.c: the end of the process), making room for other clients of CUPTI's
 * (handover.c), and care for those that have not asked (ownership.c).
 *
 * One static object per process, never freed: CUPTI may call back at any time until the process is
 * gone. Three words tie the threads together. Each is one atomic, so no lock is ever held, least of
 * all across a call of CUPTI's, which may block for seconds or for good:
 *   request  state of the window machine and what was asked of it (control/window.h)
 *   wakes    counts up at each wake; the collector sleeps on it
 *   phase    whether the collector is inside CUPTI, where an exit may cut it off
 */
#ifndef SL_SESSION_H
#define SL_SESSION_H

#include <stdatomic.h>

#include "collect/cupti/clock.h"
#include "collect/cupti/decode.h"
#include "collect/cupti/dump.h"
#include "pipeline/pipeline.h"
#include "recorder/recorder.h"

#define SL_COLLECTOR_MS  1000000ull
#define SL_COLLECTOR_NAP SL_COLLECTOR_MS

enum sl_collector_phase {
    SL_PHASE_OURS,  /* in our own code: soon back */
    SL_PHASE_CUPTI, /* inside a call of CUPTI's, or waiting for its buffers: perhaps never back */
    SL_PHASE_CUT,   /* the exit did not wait: the collector must not call CUPTI any more, nor touch
                     * anything if it was in there */
};

/* All that ended before `ns` will be in when the buffers requested up to `turn` are back. */
struct sl_collector_mark {
    uint64_t ns, turn;
    int back; /* looks in a row that found all of those back */
};

/* Our buffers: the last one that CUPTI asked for, and how many of all it has. Another number is a
 * sign that it works for us. */
struct sl_collector_lent {
    uint64_t turn;
    unsigned count;
};

/* Plain flushes in a row that changed nothing although all that is out was complete. */
struct sl_collector_silence {
    struct sl_collector_lent lent;
    size_t records;    /* in the buffers that are out */
    uint64_t since_ns; /* monotonic */
    unsigned flushes;
};

/* Flushes that are waited for at a time: CUPTI may be seconds late. */
#define SL_COLLECTOR_MARKS 16

struct sl_collector {
    struct sl_collector_options opt;
    struct sl_pipeline *_Atomic pipeline; /* set once, by the collector thread */

    _Atomic uint32_t started; /* or never to be */
    _Atomic uint32_t request; /* sl_window_pack() */
    _Atomic uint32_t window_number;
    _Atomic uint32_t is_open; /* and it has begun: the machine's state says so a moment before */
    _Atomic uint32_t wakes;

    /* exit */
    _Atomic uint32_t phase;
    _Atomic uint32_t exiting;
    uint64_t exit_turn;            /* last buffer requested before the exit; set before `exiting` */
    uint64_t exit_decode_until_ns; /* monotonic; the same, and later if the exit stands in */
    _Atomic uint32_t ended;        /* the collector has touched the pipeline for the last time */
    _Atomic uint32_t status_users; /* threads inside the pipeline's status calls */
    _Atomic uint32_t closed;       /* no more of those */

    /* the collector thread's own, and the exiting thread's once it has cut off the collector */
    struct sl_window window;
    struct sl_cupti_buffer *taken;           /* from the pool's list, not decoded yet */
    struct sl_cupti_dump *dump;              /* NULL: none */
    uint64_t flush_due_ns, calibrate_due_ns; /* monotonic */
    uint64_t drain_turn;                     /* last buffer requested before the window's end */
    int drain_back;                          /* looks in a row that found all of those back */
    struct sl_collector_mark mark[SL_COLLECTOR_MARKS]; /* the oldest first */
    unsigned marks;
    uint64_t written_off_turn; /* buffers up to this that are not back never will be */
    struct sl_cupti_clock clock;
    uint64_t armed_step;  /* what is waited for, as collect/torch/step.h was told */
    int is_in_window;     /* the machine's actions are being carried out */
    int are_kinds_wanted; /* as the window machine has it, whoever has CUPTI */

    /* Another client. Away: it was given CUPTI, and nothing of ours is on. Robbed: it has taken it
     * without a word, and what is on is both ours and its: what changes or forces anything is not
     * done any more. */
    int handed_over, taken_over;
    int taken_before_start; /* robbed before CUPTI asked for a first buffer */
    uint64_t away_ns;       /* since when nothing of ours comes, CLOCK_REALTIME; 0: it does */
    uint64_t fetch_due_ns;  /* monotonic: when what it leaves with CUPTI is fetched; 0: nothing */
    uint64_t sure_ns;       /* CLOCK_REALTIME: last look at which CUPTI's clock was as before */
    uint64_t robbed_turn;   /* last buffer requested by then */
    int is_off_due;         /* kinds are to go off when CUPTI gives a sign, after this: */
    struct sl_collector_lent awaited;
    struct sl_collector_silence silence;
    int robbed_said;
    int clock_said, drop_said, missing_said, late_said, refused_said;
};

/* ---- recorder/recorder.c ---- */

/* The thread's function. */
void *sl_collector_run(void *collector);

/* Before a buffer is decoded: a window that opens or closes with a step does so now, so that the
 * records of both sides find it so. 0 or -ECANCELED. */
int sl_collector_see_step(struct sl_collector *c);

/* Any thread that knows that the collector will not touch the pipeline any more. */
void sl_collector_end(struct sl_collector *c);

/* The process ends and CUPTI is waited for no longer: decodes what it has delivered, counts what it
 * has not, ends the open window. The collector, or the exiting thread that has cut it off. */
void sl_collector_settle(struct sl_collector *c);

/* ---- cupti_calls.c: collector thread only, where nothing else is said ---- */

/* Around each call of CUPTI's. 0; -ECANCELED: the exit did not wait. */
int sl_collector_enter_cupti(struct sl_collector *c);
int sl_collector_leave_cupti(struct sl_collector *c);

/* Each returns 0, or -ECANCELED when the exit did not wait for CUPTI: then return at once and touch
 * nothing. A forced flush is none where another client has CUPTI, or seems to. */
int sl_collector_flush(struct sl_collector *c, int forced);
int sl_collector_check_clock(struct sl_collector *c);
int sl_collector_look_at_clock(struct sl_collector *c);

/* Turns the kinds that may be off between windows on or off, unless another client has CUPTI; -EIO:
 * none could be turned on. */
int sl_collector_set_kinds(struct sl_collector *c, int on);

/* Tells the pipeline how far all is in, once the buffers that were out at a flush are back. */
void sl_collector_deliver(struct sl_collector *c);

/* Decodes and recycles all buffers that have come back. */
int sl_collector_take_buffers(struct sl_collector *c);

/* The same at the very end, without any call of CUPTI's; counts them instead of decoding them once
 * the time for that is over. Also the exiting thread, once it has cut off the collector. */
void sl_collector_take_rest(struct sl_collector *c);

/* A millisecond, or until woken, of waiting for CUPTI's buffers. */
int sl_collector_wait_for_cupti(struct sl_collector *c);

/* A kernel that never ends, or lasts longer than we wait, holds back the finished records in its
 * buffer too. A forced flush gives them all, the unfinished ones without an end; CUPTI never tells
 * of those again. */
int sl_collector_force_out(struct sl_collector *c);

/* What the buffers hold that were requested up to `turn` and have not come back. Any thread. */
struct sl_decode_held sl_collector_look(const struct sl_collector *c, uint64_t turn);

/* At a window's end, when CUPTI will not be waited for any longer: counts the buffers requested up
 * to `turn` that it has not given back, and says so with what they hold. Also the exiting thread,
 * once it has cut off the collector. */
void sl_collector_tell_missing(struct sl_collector *c, uint64_t turn,
                               const struct sl_decode_held *held);

/* ---- handover.c: collector thread only ---- */

/* Lets go of CUPTI for a client that waits for it, takes it back from one that has left, looks for
 * objects that were loaded. 0, or -ECANCELED as above. */
int sl_collector_share(struct sl_collector *c);

/* Nothing of ours is on any more, and CUPTI is set as it was found. 0, or -ECANCELED as above. */
int sl_collector_release(struct sl_collector *c);

/* CUPTI's clock is not what it was, though nobody has asked: somebody has CUPTI now. Returns as
 * sl_collector_share(). */
int sl_collector_suspect(struct sl_collector *c, enum sl_cupti_clock_domain before);

/* After that: CUPTI has asked us for a buffer since, so nobody has it, and all is as before.
 * Returns as sl_collector_share(). */
int sl_collector_look_again(struct sl_collector *c);

/* CUPTI was taken before it asked us for a first buffer: the open window's file says so. If it has
 * asked by now, it is not so. 0, or -ECANCELED as above. */
int sl_collector_set_unasked(struct sl_collector *c);

/* The open window's file is told since when nothing was recorded, if that is so. The window ends at
 * until_ns, or recording goes on there. */
void sl_collector_tell_gap(struct sl_collector *c, uint64_t until_ns);

/* ---- ownership.c: collector thread only; results as above ---- */

/* The window machine wants the kinds on, or off: then with CUPTI's next sign. */
int sl_collector_want_kinds(struct sl_collector *c, int on);
/* A sign counts from here on. */
void sl_collector_await_sign(struct sl_collector *c);
/* Turns off what is to go off, if there was one. */
int sl_collector_turn_off_due(struct sl_collector *c);

/* Before each flush. */
void sl_collector_note_silence(struct sl_collector *c);
/* Flushes have changed nothing for a while, though all that CUPTI has of ours is complete. */
int sl_collector_is_silent(const struct sl_collector *c);
/* CUPTI has something of ours: it may be unfinished. */
int sl_collector_is_force_of_use(const struct sl_collector *c);

/* A millisecond, or until woken. */
void sl_collector_nap(struct sl_collector *c);

#endif
