/*
 * apply.h - what each call did, in order of correlation id: told to streams, events and waits.
 *
 * Threads: one owner. Memory: none of its own but the map of threads.
 */
#ifndef SL_APPLY_H
#define SL_APPLY_H

#include "event/shape.h"
#include "sync/event_state.h"
#include "sync/exec_state.h"
#include "sync/node_state.h"
#include "sync/order.h"
#include "sync/wait.h"

enum {
    SL_APPLY_UNRETURNED = 16 /* calls: each is a thread that has no processor for a second */
};

/* A copy or a memset that came without its call, which had not returned. */
struct sl_unreturned {
    uint64_t correlation;
    int by_name; /* the call waited if it is a blocking one; 0: it waited */
};

struct sl_apply {
    const struct sl_edges_options *opt;
    struct sl_streams *streams;
    struct sl_records *records;
    struct sl_execs *execs;
    struct sl_nodes *nodes;
    struct sl_waits *waits;
    struct sl_map context_of;      /* thread -> the context that it used last */
    const struct sl_context *used; /* what was put there last */
    uint32_t used_by;              /* and for which thread */
    uint64_t begin_ns;             /* calls from before are ignored */
    uint64_t last_correlation;     /* the highest that was applied */
    int calls_seen;                /* records of calls are being made */
    unsigned captures;             /* under way */
    int closing;                   /* nothing more will come of these calls */
    int starved;                   /* a call's work found no room: no tail is known */
    const struct sl_item *held;    /* behind the last that is in order */
    struct sl_unreturned unreturned[SL_APPLY_UNRETURNED]; /* the last ones */
    unsigned unreturned_next;                             /* 0: there was none yet */
};

/* Does the call return only when its own operation, a copy or a memset, has ended? `blocking`: by
 * its name it does. */
int sl_apply_waits_for_itself(const struct sl_item *op, const struct sl_shape *shape, int blocking);

/* All records of one call: `count` items with the same correlation id. */
void sl_apply_call(struct sl_apply *e, const struct sl_item *item, size_t count);

#endif
