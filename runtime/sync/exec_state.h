/*
 * exec_state.h - executable graphs: where each was launched last, and which operations ended that.
 *
 * CUDA runs the launches of one executable graph one after the other, whatever streams they are
 * put on. No record names the executable; its nodes' ids do, since instantiating gives every node
 * one of its own. A few of them, the lowest, tell it again even if some nodes are disabled.
 *
 * Threads: the engine's owner alone. Memory: a pool of the store, at most a sixteenth of it; past
 * that the one that was launched longest ago is forgotten.
 */
#ifndef SL_EXEC_STATE_H
#define SL_EXEC_STATE_H

#include "sync/order.h"
#include "sync/stream_state.h"

enum {
    SL_EXEC_NODES = 4
};

struct sl_node;

struct sl_exec {
    uint64_t node[SL_EXEC_NODES]; /* the lowest of its nodes' ids; 0: it has fewer */
    struct sl_set ends;           /* the last operations of its last launch */
    struct sl_moment by;          /* that launch; correlation 0: it has not been launched */
    uint32_t context, stream;     /* where that went; SL_STREAM_NONE: not known */
    struct sl_exec *older, *newer;
};

struct sl_execs {
    struct sl_streams *streams;
    struct sl_pool pool;
    struct sl_map by_node;
    struct sl_exec *oldest, *newest; /* in order of use */
    size_t count, most;
    struct sl_launched *launched; /* a call's, while it is looked at */
    size_t launched_slots;
};

/* One operation of a launch. */
struct sl_launched {
    struct sl_op *op;     /* with a reference; NULL: none */
    struct sl_node *node; /* NULL: nothing is known of it */
    int is_source;        /* another one comes behind it */
};

void sl_execs_init(struct sl_execs *x, struct sl_streams *streams);
void sl_execs_free(struct sl_execs *x);

/* No launch is known any more. */
void sl_execs_forget(struct sl_execs *x);

/* Room for a launch of `count` items, all zero; NULL past the cap. Until the next one. */
struct sl_launched *sl_execs_launched(struct sl_execs *x, size_t count);

/* The one whose nodes these are, made when new; `*lost` is set when another one had to be forgotten
 * whose end may yet be asked for. NULL: no item has a node's id, or past the cap. */
struct sl_exec *sl_execs_get(struct sl_execs *x, const struct sl_item *item, size_t count,
                             int *lost);

#endif
