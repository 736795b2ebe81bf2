/*
 * ownership.h - decides who owns CUPTI: a pure state machine.
 *
 * CUPTI's activity API has one pair of callbacks, one set of kinds and one clock for the whole
 * process. Another profiler gets callbacks, kinds and clock from us, or takes them without notice.
 * The machine gets an event and the time, and returns the actions to carry out. The machine calls
 * nothing, so tests can run every sequence of events. handover.c carries the actions out.
 * docs/architecture.md lists all transitions.
 *
 *   OURS --(a peer begins, and CUPTI is released)--> HANDED_OVER
 *   HANDED_OVER --(the peer left, CUPTI is attached)--> OURS
 *   OURS --(CUPTI's clock shows another client, or a peer does not wait)--> TAKEN_OVER
 *   TAKEN_OVER --(CUPTI requests a buffer from us, or it is attached)--> OURS
 *   any --(CUPTI refuses to be attached)--> HANDED_OVER
 *
 * Threads: the recorder thread. Memory: the session's.
 */
#ifndef SL_SESSION_OWNERSHIP_H
#define SL_SESSION_OWNERSHIP_H

#include <stddef.h>
#include <stdint.h>

enum sl_ownership_state {
    SL_OWN_OURS = 0,
    SL_OWN_HANDED_OVER, /* we have given CUPTI to another client, and none of our kinds is on */
    SL_OWN_TAKEN_OVER /* another client took CUPTI without notice; the kinds that are on may be that
                       * client's, so we no longer turn kinds off or force a flush */
};

enum sl_ownership_event {
    /* The peer is another profiler that session/peer.h watches. */
    SL_OWN_EV_PEER_ASKED,        /* the peer waits until we have released CUPTI */
    SL_OWN_EV_PEER_DID_NOT_WAIT, /* the peer uses CUPTI, whether or not we have released it */
    SL_OWN_EV_PEER_LEFT,         /* the peer has made its last call of CUPTI */
    SL_OWN_EV_PEER_COMPLETE,     /* there is no buffer that we would have to fetch for the peer */
    SL_OWN_EV_PEER_MAY_FLUSH, /* the peer's kinds are off, CUPTI has a buffer of the peer, and the
                               * peer may still flush */
    SL_OWN_EV_PEER_STRANDED,  /* the peer's kinds are off, CUPTI has a buffer of the peer, and the
                               * peer has flushed already, so nobody will fetch that buffer */

    /* Events that report the results of the actions with these names. */
    SL_OWN_EV_RELEASED,
    SL_OWN_EV_ATTACHED,
    SL_OWN_EV_ATTACH_REFUSED,
    SL_OWN_EV_CLOCK_CHECKED,
    SL_OWN_EV_GAP_ENDED,

    /* Events that report observations of CUPTI. */
    SL_OWN_EV_CLOCK_KEPT,    /* at now.real_ns, CUPTI's clock was the same as at the last check */
    SL_OWN_EV_CLOCK_CHANGED, /* CUPTI's clock has changed from CLOCK_REALTIME to ticks, which
                              * profilers set */
    SL_OWN_EV_BUFFERS,       /* at each tick and at the process's end; has an effect in state
                              * TAKEN_OVER */
    SL_OWN_EV_SIGN,          /* at each tick; has an effect if kinds are due to be turned off */
    SL_OWN_EV_NEVER_ASKED,   /* the process ends and has used CUDA, but CUPTI has never requested a
                              * buffer from us */

    /* Events from the window machine. */
    SL_OWN_EV_KINDS_WANTED,
    SL_OWN_EV_KINDS_UNWANTED,
    SL_OWN_EV_WINDOW_ENDED, /* a window has ended; from now on, only later requests or returns of
                             * buffers are a sign */

    SL_OWN_EVENTS
};

/* The actions, in the order of execution. */
enum sl_ownership_action {
    SL_OWN_ACT_RELEASE = 1 << 0,         /* turn our kinds off, fetch our records, detach */
    SL_OWN_ACT_ATTACH = 1 << 1,          /* register callbacks, turn the wanted kinds on */
    SL_OWN_ACT_DETACH = 1 << 2,          /* turn our kinds off, restore CUPTI's settings */
    SL_OWN_ACT_SAY_TAKEN_OVER = 1 << 3,  /* log once that another client took CUPTI */
    SL_OWN_ACT_SAY_NEVER_ASKED = 1 << 4, /* log once that CUPTI never requested a buffer */
    SL_OWN_ACT_SAY_REFUSED = 1 << 5,     /* log once that CUPTI refused us */
    SL_OWN_ACT_NEED_FILE = 1 << 6,       /* the window gets a file even if it contains only a gap */
    SL_OWN_ACT_BEGIN_GAP = 1 << 7,       /* nothing is recorded from gap_since_ns on */
    SL_OWN_ACT_YIELD = 1 << 8,  /* restore the settings that would spoil another client's records */
    SL_OWN_ACT_SET_UP = 1 << 9, /* apply our own settings again */
    SL_OWN_ACT_KINDS_BACK = 1 << 10, /* turn the wanted kinds on; a refusal is only logged */
    SL_OWN_ACT_KINDS_ON = 1 << 11,   /* turn the wanted kinds on; a refusal ends recording */
    SL_OWN_ACT_CHECK_CLOCK = 1 << 12,
    SL_OWN_ACT_KINDS_OFF = 1 << 13,
    SL_OWN_ACT_END_GAP = 1 << 14,       /* recording continues from now */
    SL_OWN_ACT_TELL_KINDS_ON = 1 << 15, /* report to the pipeline that all kinds are on */
    SL_OWN_ACT_FETCH = 1 << 16,         /* flush CUPTI on the peer's behalf */
    SL_OWN_ACT_PEER_GOES_ON = 1 << 17,  /* the peer need not wait for CUPTI any longer */
    SL_OWN_ACT_PEER_RETURNED = 1 << 18  /* the peer need not wait for our return any longer */
};

/* The state of our buffers: the number of CUPTI's last request, and how many buffers CUPTI holds. A
 * change of either number is a sign that our callbacks are registered. */
struct sl_ownership_buffers {
    uint64_t turn;
    unsigned count;
};

struct sl_ownership_now {
    uint64_t monotonic_ns, real_ns;
    struct sl_ownership_buffers buffers;
    int has_subscriber; /* we use CUPTI's newer interface, so our settings and kinds affect no other
                         * client */
};

/* Counts consecutive plain flushes at which CUPTI held only completed records of ours and yet
 * returned no buffer. After too many such flushes we force no flush, because CUPTI may be returning
 * our buffers to another client. */
struct sl_ownership_silence {
    struct sl_ownership_buffers buffers;
    size_t records;    /* number of records in the buffers that CUPTI holds */
    uint64_t since_ns; /* monotonic time of the first flush that is counted */
    unsigned flushes;
};

struct sl_ownership {
    enum sl_ownership_state state;
    int never_asked;      /* the process ends, and CUPTI has never requested a buffer from us */
    int are_kinds_wanted; /* whether the window machine wants our kinds to be on, independent of who
                           * owns CUPTI */
    int is_off_due;       /* 1: kinds are turned off at the next sign */
    struct sl_ownership_buffers awaited; /* the two numbers at the moment when the wait for a sign
                                          * began */
    uint64_t sure_ns;                    /* CLOCK_REALTIME at which a check last found that CUPTI
                                          * was ours */
    uint64_t release_ns;                 /* CLOCK_REALTIME at which the last release began */
    uint64_t gap_since_ns; /* CLOCK_REALTIME since which nothing is recorded; 0: recording works */
    uint64_t taken_over_turn; /* number of CUPTI's last request when CUPTI was taken over */
    uint64_t fetch_due_ns;    /* monotonic time at which to flush on the peer's behalf; 0: never */
    struct sl_ownership_silence silence;
};

/* `on_since_ns` is the time (CLOCK_REALTIME) since which all kinds are on, or would be on if CUPTI
 * were ours. `on_since_ns` is 0 if the window machine does not want the kinds to be on yet. */
void sl_ownership_init(struct sl_ownership *o, int is_handed_over, uint64_t on_since_ns,
                       uint64_t now_ns);

/* Returns enum sl_ownership_action bits. The caller carries out the actions in the order of the
 * bits. */
uint32_t sl_ownership_step(struct sl_ownership *o, enum sl_ownership_event event,
                           const struct sl_ownership_now *now);

/* Returns the time since which nothing was recorded in a window that opened at opened_ns. Returns 0
 * if there is no gap. */
uint64_t sl_ownership_gap_from(const struct sl_ownership *o, uint64_t opened_ns);

/* ---- silence: whether our callbacks are still registered ---- */

int sl_ownership_is_same(struct sl_ownership_buffers a, struct sl_ownership_buffers b);

/* Call before each flush. Set `is_complete` if all our records in CUPTI are complete, so that a
 * plain flush would deliver them. `records` is the number of these records. */
void sl_ownership_note_flush(struct sl_ownership *o, const struct sl_ownership_now *now,
                             int is_complete, size_t records);

/* Returns whether a flush may be forced. A forced flush is not allowed if it could truncate another
 * client's records, or if CUPTI has been silent. */
int sl_ownership_may_force(const struct sl_ownership *o, const struct sl_ownership_now *now);

#endif
