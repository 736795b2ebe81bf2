/*
 * ownership.h - who owns CUPTI: a pure state machine.
 *
 * CUPTI's activity API has one pair of callbacks, one set of kinds and one clock for the whole
 * process. Another profiler gets them from us, or takes them without a word. Told what happened and
 * the time, the machine says what to do next. It calls nothing, so every sequence can be tested;
 * handover.c carries the actions out. All transitions: docs/architecture.md.
 *
 *   OURS --(a peer asks, all is released)--> HANDED_OVER
 *   HANDED_OVER --(the peer left, CUPTI is attached)--> OURS
 *   OURS --(CUPTI's clock shows another client, or a peer does not wait)--> TAKEN_OVER
 *   TAKEN_OVER --(CUPTI asks us for a buffer, or it is attached)--> OURS
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
    SL_OWN_HANDED_OVER, /* another client was given CUPTI: nothing of ours is on */
    SL_OWN_TAKEN_OVER /* another client took CUPTI without a word: the kinds that are on serve both
                       * of us, so nothing is turned off or forced any more */
};

enum sl_ownership_event {
    /* The peer is another profiler that session/peer.h watches. */
    SL_OWN_EV_PEER_ASKED,        /* it waits for us to let go of CUPTI */
    SL_OWN_EV_PEER_DID_NOT_WAIT, /* it uses CUPTI, whether or not we have let go */
    SL_OWN_EV_PEER_LEFT,         /* its last call is made, nothing will follow */
    SL_OWN_EV_PEER_COMPLETE,     /* CUPTI keeps nothing that the peer is done with */
    SL_OWN_EV_PEER_MAY_FLUSH, /* its kinds are off, CUPTI has a buffer of its, it may flush yet */
    SL_OWN_EV_PEER_STRANDED,  /* the same, and it has flushed: nobody will fetch that buffer */

    /* Results of the actions with these names. */
    SL_OWN_EV_RELEASED,
    SL_OWN_EV_ATTACHED,
    SL_OWN_EV_ATTACH_REFUSED,
    SL_OWN_EV_CLOCK_CHECKED,
    SL_OWN_EV_GAP_ENDED,

    /* Observations of CUPTI. */
    SL_OWN_EV_CLOCK_KEPT,    /* its clock was as before at now.real_ns */
    SL_OWN_EV_CLOCK_CHANGED, /* from CLOCK_REALTIME to ticks, which is what profilers set */
    SL_OWN_EV_BUFFERS,       /* at each tick and at the end: for `TAKEN_OVER` */
    SL_OWN_EV_SIGN,          /* at each tick: for kinds that are due to go off */
    SL_OWN_EV_NEVER_ASKED,   /* the process ends, has used CUDA, and was never asked for a buffer */

    /* From the window machine. */
    SL_OWN_EV_KINDS_WANTED,
    SL_OWN_EV_KINDS_UNWANTED,
    SL_OWN_EV_WINDOW_ENDED, /* only what CUPTI does from now on is a sign */

    SL_OWN_EVENTS
};

/* In the order of execution. */
enum sl_ownership_action {
    SL_OWN_ACT_RELEASE = 1 << 0,         /* turn off, bring in what was recorded, detach */
    SL_OWN_ACT_ATTACH = 1 << 1,          /* register callbacks, turn the wanted kinds on */
    SL_OWN_ACT_DETACH = 1 << 2,          /* turn off, set CUPTI as it was found */
    SL_OWN_ACT_SAY_TAKEN_OVER = 1 << 3,  /* once */
    SL_OWN_ACT_SAY_NEVER_ASKED = 1 << 4, /* once */
    SL_OWN_ACT_SAY_REFUSED = 1 << 5,     /* once */
    SL_OWN_ACT_NEED_FILE = 1 << 6, /* the window gets a file even if it has nothing but a gap */
    SL_OWN_ACT_BEGIN_GAP = 1 << 7, /* nothing is recorded from gap_since_ns on */
    SL_OWN_ACT_YIELD = 1 << 8,  /* restore the settings that would spoil another client's records */
    SL_OWN_ACT_SET_UP = 1 << 9, /* apply our own settings again */
    SL_OWN_ACT_KINDS_BACK = 1 << 10, /* turn the wanted kinds on; a refusal is only logged */
    SL_OWN_ACT_KINDS_ON = 1 << 11,   /* turn the wanted kinds on; a refusal ends recording */
    SL_OWN_ACT_CHECK_CLOCK = 1 << 12,
    SL_OWN_ACT_KINDS_OFF = 1 << 13,
    SL_OWN_ACT_END_GAP = 1 << 14,       /* recording continues from now */
    SL_OWN_ACT_TELL_KINDS_ON = 1 << 15, /* the pipeline is told that all kinds are on */
    SL_OWN_ACT_FETCH = 1 << 16,         /* flush CUPTI on the peer's behalf */
    SL_OWN_ACT_PEER_GOES_ON = 1 << 17,  /* the peer need not wait for CUPTI any longer */
    SL_OWN_ACT_PEER_RETURNED = 1 << 18  /* the peer need not wait for our return any longer */
};

/* Our buffers: the last one that CUPTI requested, and how many of them CUPTI has. A change of
 * either number shows that CUPTI works for us: it is a sign. */
struct sl_ownership_buffers {
    uint64_t turn;
    unsigned count;
};

struct sl_ownership_now {
    uint64_t monotonic_ns, real_ns;
    struct sl_ownership_buffers buffers;
    int has_subscriber; /* CUPTI's newer interface: our settings and kinds affect no other client */
};

/* Consecutive plain flushes that changed nothing although CUPTI holds completed records only. */
struct sl_ownership_silence {
    struct sl_ownership_buffers buffers;
    size_t records;    /* in the buffers that CUPTI has */
    uint64_t since_ns; /* monotonic */
    unsigned flushes;
};

struct sl_ownership {
    enum sl_ownership_state state;
    int never_asked;      /* the process ends, and CUPTI has never asked us for a buffer */
    int are_kinds_wanted; /* whether the window machine wants the kinds, whoever owns CUPTI */
    int is_off_due;       /* 1: kinds are turned off at CUPTI's next sign, */
    struct sl_ownership_buffers awaited; /* that is, when the numbers differ from these */
    uint64_t sure_ns;                    /* CLOCK_REALTIME: last check that found CUPTI ours */
    uint64_t release_ns;                 /* CLOCK_REALTIME: when the last release began */
    uint64_t gap_since_ns; /* CLOCK_REALTIME: nothing is recorded since then; 0: recording works */
    uint64_t taken_over_turn; /* last buffer that CUPTI had requested when it was taken over */
    uint64_t fetch_due_ns;    /* monotonic: when to flush on the peer's behalf; 0: never */
    struct sl_ownership_silence silence;
};

/* on_since_ns: the time (CLOCK_REALTIME) since which all kinds are on, or would be if CUPTI were
 * ours. 0: the window machine does not want them yet. */
void sl_ownership_init(struct sl_ownership *o, int is_handed_over, uint64_t on_since_ns,
                       uint64_t now_ns);

/* Returns enum sl_ownership_action bits, to be carried out in the order of their values. */
uint32_t sl_ownership_step(struct sl_ownership *o, enum sl_ownership_event event,
                           const struct sl_ownership_now *now);

/* Returns the time since which nothing was recorded of a window that opened at opened_ns; 0:
 * everything was recorded. */
uint64_t sl_ownership_gap_from(const struct sl_ownership *o, uint64_t opened_ns);

/* ---- silence: whether CUPTI still works for us ---- */

int sl_ownership_is_same(struct sl_ownership_buffers a, struct sl_ownership_buffers b);

/* Call this before each flush. is_complete: all our records in CUPTI are completed, so that a plain
 * flush would deliver them; `records`: their number. */
void sl_ownership_note_flush(struct sl_ownership *o, const struct sl_ownership_now *now,
                             int is_complete, size_t records);

/* Returns whether a forced flush would truncate only our own records, and deliver records that a
 * plain flush does not. */
int sl_ownership_may_force(const struct sl_ownership *o, const struct sl_ownership_now *now);

#endif
