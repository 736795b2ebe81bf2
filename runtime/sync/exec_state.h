/*
 * exec_state.h - stores the stream on which each executable graph was launched last, and the last
 * operations of that launch.
 *
 * CUDA runs the launches of one executable graph one after the other, on whatever streams they are
 * launched. No record names the executable graph. The ids of the graph's nodes identify the graph,
 * because instantiation gives every node a new id. Only the lowest few ids are stored, and a graph
 * is found again even if some of its nodes are disabled.
 *
 * Threads: only the thread that owns the engine (edge.h). Memory: a pool of at most a sixteenth of
 * the engine's store (base/store.h). When the pool is full, the graph that was launched longest ago
 * is forgotten.
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
    /* the lowest ids of the graph's nodes; 0 in the entries for which the graph has no node */
    uint64_t node[SL_EXEC_NODES];
    struct sl_set ends; /* the last operations of the graph's last launch */
    /* the call of the last launch; its correlation id is 0 if the graph was not launched yet */
    struct sl_moment by;
    /* the stream of the last launch; `stream` is SL_STREAM_NONE if the stream is not known */
    uint32_t context, stream;
    struct sl_exec *older, *newer;
};

struct sl_execs {
    struct sl_streams *streams;
    struct sl_pool pool;
    struct sl_map by_node;
    struct sl_exec *oldest, *newest; /* ends of a list of executable graphs, sorted by last use */
    size_t count, most;
    struct sl_launched *launched; /* the operations of the launch that is being applied */
    size_t launched_slots;
};

/* One operation of a launch. */
struct sl_launched {
    struct sl_op *op;     /* the struct holds a reference; NULL if there is no operation */
    struct sl_node *node; /* the operation's graph node; NULL if the node is not known */
    int is_source;        /* 1: another node depends on this node */
};

void sl_execs_init(struct sl_execs *x, struct sl_streams *streams);
void sl_execs_free(struct sl_execs *x);

/* Forgets all launches. */
void sl_execs_forget(struct sl_execs *x);

/* Returns a zeroed array for a launch of `count` items. The array is valid until the next call of
 * this function. Returns NULL if the memory cap is reached. */
struct sl_launched *sl_execs_launched(struct sl_execs *x, size_t count);

/* Returns the executable graph with these nodes. Adds the graph if it is new. Sets *lost if the
 * function had to forget another graph whose last operations may still be needed. Returns NULL if
 * no item has a node id, or if the memory cap is reached. */
struct sl_exec *sl_execs_get(struct sl_execs *x, const struct sl_item *item, size_t count,
                             int *lost);

#endif
