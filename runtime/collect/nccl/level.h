/*
 * level.h - which events the copies of NCCL in this process are asked for.
 *
 * Each copy of NCCL has a mask of event types, whose address it gives to a profiler plugin. NCCL
 * reads the mask at each event, so the mask can change at any time. Outside windows it is 0.
 *
 * The mask is a request. NCCL's RAS client can set it for a whole job (2.31 and later), and a
 * captured graph keeps the mask of its capture. So NCCL may send events that nobody asked for. The
 * plugin takes and drops these (sl_nccl_level_types()).
 *
 * Threads: see each function. Memory: static.
 */
#ifndef SL_NCCL_LEVEL_H
#define SL_NCCL_LEVEL_H

#include <stdatomic.h>
#include <stdint.h>

#include "base/choices.h"
#include "collect/nccl/abi.h"

enum {
    SL_NCCL_COPIES = 8, /* maximum number of copies of NCCL in the process */
};

/* A copy of NCCL, as sl_status() reports it. */
struct sl_nccl_copy {
    int version;              /* such as 22809; 0: not known */
    enum sl_nccl_level level; /* the level of windows for this copy */
    int mask;                 /* NCCL's mask now */
    int is_foreign;           /* 1: somebody else has set the mask since syncline did */
};

/* Any thread, never blocks: sets the level. A window that is open changes at once. */
void sl_nccl_level_set(enum sl_nccl_level level);
enum sl_nccl_level sl_nccl_level_get(void);

/* Any thread. Returns 1 if windows record something of NCCL. */
int sl_nccl_level_is_on(void);

/* Recorder thread: a window opens or closes. */
void sl_nccl_level_enable(int on);
/* Any thread, also in a forked child. Asks for nothing for good. Async-signal-safe. */
void sl_nccl_level_stop(void);
/* Recorder thread, at each tick. Logs one line when somebody else has set a mask. */
void sl_nccl_level_watch(void);

/* A thread of NCCL, in `init`: takes the copy that has this mask, and sets its mask. `known` are
 * the types of events of this copy's plugin version. Returns 0, or -ENOTSUP if NCCL is older than
 * `least`. */
int sl_nccl_level_take(int *mask, int known, int least);

/* Any thread. Writes the copies that have loaded our plugin. Returns their number. */
unsigned sl_nccl_level_copies(struct sl_nccl_copy out[SL_NCCL_COPIES]);

extern _Atomic int sl_nccl_types_taken;

/* Any thread. Returns the types of events that are recorded now; 0 outside windows. */
static inline int sl_nccl_level_types(void)
{
    return atomic_load_explicit(&sl_nccl_types_taken, memory_order_relaxed);
}

#endif
