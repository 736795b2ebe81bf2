/*
 * exec_state.h - remembers where each executable graph was launched last, and the last operations
 * of that launch.
 *
 * CUDA runs the launches of one executable graph one after the other, on whatever streams they are
 * launched. No record names the executable graph. Its node ids identify it, because instantiation
 * gives every node a new id. The lowest few ids are stored, so that the graph is found again even
 * if some nodes are disabled.
 *
 * Threads: the engine's owner alone. Memory: a pool of the store, at most a sixteenth of it; past
 * that the graph that was launched longest ago is forgotten.
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
    uint64_t node[SL_EXEC_NODES]; /* the lowest ids of its nodes; 0: it has fewer nodes than this
                                   * array */
    struct sl_set ends;           /* the last operations of its last launch */
    struct sl_moment by;          /* the call of that launch; correlation 0: not launched yet */
    uint32_t context, stream;     /* the stream of that launch; SL_STREAM_NONE: not known */
    struct sl_exec *older, *newer;
};

struct sl_execs {
    struct sl_streams *streams;
    struct sl_pool pool;
    struct sl_map by_node;
    struct sl_exec *oldest, *newest; /* list in the order of last use */
    size_t count, most;
    struct sl_launched *launched; /* the operations of the launch that is being applied */
    size_t launched_slots;
};

/* One operation of a launch. */
struct sl_launched {
    struct sl_op *op;     /* holds a reference; NULL: no operation */
    struct sl_node *node; /* NULL: the node is not known */
    int is_source;        /* 1: another node depends on it */
};

void sl_execs_init(struct sl_execs *x, struct sl_streams *streams);
void sl_execs_free(struct sl_execs *x);

/* Forgets all launches. */
void sl_execs_forget(struct sl_execs *x);

/* Returns zeroed room for a launch of `count` items, valid until the next call; NULL past the cap.
 */
struct sl_launched *sl_execs_launched(struct sl_execs *x, size_t count);

/* Returns the executable graph with these nodes, which is added if new. Sets *lost if another graph
 * had to be forgotten whose last operations may still be needed. Returns NULL if no item has a node
 * id, or past the cap. */
struct sl_exec *sl_execs_get(struct sl_execs *x, const struct sl_item *item, size_t count,
                             int *lost);

#endif
