/*
 * clock_fit.h - finds out whether the times of GPU operations fit the times of calls.
 *
 * An operation begins after its call began, and a call that waits for an operation returns after
 * the operation ended. Where this does not hold, CUPTI converted the GPU's clock wrongly: all GPU
 * times of the file are too early or too late. The least correction that makes the times possible
 * is the skew.
 *
 *   sl_clock_fit_init(f, context);
 *   while (events in order of enqueue) sl_clock_fit_event(f, &ev, own);
 *   sl_clock_fit_end(f);
 *
 * Threads: plain data of one owner. Memory: none beyond the struct.
 */
#ifndef SL_CLOCK_FIT_H
#define SL_CLOCK_FIT_H

#include <stddef.h>
#include <stdint.h>

#include "event/event.h"

#define SL_CLOCK_FIT_FAR_NS 5000 /* a smaller contradiction, in ns, is noise of the clocks */
#define SL_CLOCK_FIT_TAILS  1024u

#define SL_CLOCK_FIT_CONTEXTS UINT32_MAX

/* The operation that ended last of a stream, of a context, or of the work before an event record.
 */
struct sl_clock_tail {
    uint64_t key; /* context and stream, or correlation id of the event record; 0: none */
    uint64_t end_ns;
    uint64_t enqueued_ns; /* end of its call; UINT64_MAX: unknown */
    int is_counted;       /* not 0 after the first wait for the operation */
};

struct sl_clock_fit {
    uint32_t context; /* the context of all operations; SL_CLOCK_FIT_CONTEXTS: there are several */
    uint64_t called;  /* operations that were compared with their call */
    uint64_t early;   /* those that begin more than SL_CLOCK_FIT_FAR_NS before their call */
    uint64_t awaited; /* operations that were compared with the first wait for them */
    uint64_t late;    /* those that end more than SL_CLOCK_FIT_FAR_NS after the wait */
    /* The lowest and the highest number of ns that, added to all GPU times, contradict no call and
     * no wait. INT64_MIN and INT64_MAX if there is no operation and no wait. */
    int64_t lowest_ns, highest_ns;

    /* the current correlation id, and the call and synchronization record with this id */
    uint64_t correlation;
    uint64_t start_ns, end_ns; /* of the call; 0: the call is not known */
    uint32_t thread;
    uint8_t class;      /* enum sl_call_class */
    uint8_t sees_syncs; /* 1: the file has records of synchronization */
    uint8_t has_sync;   /* not 0: the members below are set */
    uint32_t sync_context, sync_stream;
    uint64_t sync_record; /* correlation id of the awaited event record, or 0 */

    struct sl_clock_tail tail[SL_CLOCK_FIT_TAILS], record[SL_CLOCK_FIT_TAILS];
};

/* `context` is the context of all operations of the file, or SL_CLOCK_FIT_CONTEXTS. */
void sl_clock_fit_init(struct sl_clock_fit *f, uint32_t context);

/* Which calls wait for an operation of their own. */
enum sl_clock_own {
    SL_CLOCK_OWN_NONE,
    SL_CLOCK_OWN_BLOCKING, /* a blocking call: a copy to the host */
    SL_CLOCK_OWN_ANY       /* each call but a graph launch: a copy to pageable memory */
};

/* Adds a call, synchronization, event record or operation. Of one correlation id, calls come first
 * and operations last. `own` matters only for operations. */
void sl_clock_fit_event(struct sl_clock_fit *f, const struct sl_event *ev, enum sl_clock_own own);
void sl_clock_fit_end(struct sl_clock_fit *f); /* after the last event */

/* Returns whether more than 1 % of the operations contradict their call or the wait for them. */
int sl_clock_fit_is_apart(const struct sl_clock_fit *f);

/* Returns the number of ns to add to the times of all operations. Returns 0 if the clocks are not
 * apart, or if no constant number repairs most of the difference. */
int64_t sl_clock_fit_skew_ns(const struct sl_clock_fit *f);

/* Writes which operations contradict by how much: "2 of 2 GPU operations begin before their call,
 * by up to 2.990 ms". */
char *sl_clock_fit_text(const struct sl_clock_fit *f, char *to, size_t size);

#endif
