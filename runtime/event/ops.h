/*
 * ops.h - finds out which PyTorch operator ran on a thread at a given time.
 *
 * Feed operators in the order of each thread's calls, and before the CUDA calls that were made in
 * them. CUDA calls arrive late, when CUPTI delivers them. So an ended operator stays known until
 * everything that began in it has arrived.
 *
 * The sink gets these events, and decides itself which of them are in the window:
 *   - SL_EV_CPU_OP for each operator, when the operator or the window ends.
 *   - SL_EV_FLOW_BACK for each backward operator whose forward operator is known.
 *   - SL_EV_META_NODE for each CUDA graph node that an operator makes.
 *
 * Threads: one owner. Memory: fixed by `cap_bytes`. When it is full, the oldest operators are
 * evicted. Calls inside them that arrive later get no operator.
 */
#ifndef SL_OPS_H
#define SL_OPS_H

#include <stddef.h>
#include <stdint.h>

#include "base/intern.h"
#include "event/event.h"

struct sl_ops;

/* The place in the program from which a call was made; interned as bytes. */
struct sl_op_place {
    uint32_t collective; /* `inputs` of the innermost operator if it is a collective; else 0 */
    uint32_t line;       /* interned text, "FILE:LINE FUNCTION"; 0: unknown */
};

/* An operator, or a scope that the user opened among operators. */
struct sl_op {
    uint64_t handle;                 /* PyTorch's id of the record function */
    int64_t sequence;                /* -1: none */
    uint32_t number, forward_number; /* PyTorch's thread numbers; forward_number is 0 if this is no
                                      * backward operator */
    /* system id of the thread that called the backward pass; 0: unknown or none */
    uint32_t caller;
    uint32_t name, detail; /* interned (event/op_detail.h); detail 0: none */
    uint32_t line;         /* its line of Python code, as in struct sl_op_place */
    uint8_t is_user;       /* a scope of the user: it has no slice and is never the `op` of a
                            * call */
    uint8_t is_site;       /* no operator, only the line of a wait; its handle is 0 */
    uint8_t is_collective;
    uint8_t is_backward;   /* a node of autograd's graph */
    uint8_t is_evaluation; /* the engine's work around such a node */
};

struct sl_ops_options {
    size_t cap_bytes; /* 0: 8 MiB */
    int begins;       /* 1: operators that still run are also emitted, by sl_ops_tell_begun() */
    struct sl_intern *places;
    void (*sink)(void *user, const struct sl_event *ev);
    void *sink_user;
};

struct sl_ops_counts {
    uint64_t ops;
    uint64_t lost;      /* operators without a slice, because there was no room */
    uint64_t forgotten; /* evicted before all calls inside them had arrived */
};

/* Returns 0, -ENOMEM or -EINVAL. */
int sl_ops_create(struct sl_ops **out, const struct sl_ops_options *opt);
void sl_ops_destroy(struct sl_ops *o); /* NULL is allowed */

void sl_ops_begin(struct sl_ops *o, uint32_t thread, uint64_t ns, const struct sl_op *op);
/* Ends an operator of the thread; `handle` is the lower half of its handle. Returns 1 if it was a
 * scope of the user, which need not be the innermost one. */
int sl_ops_end(struct sl_ops *o, uint32_t thread, uint32_t handle, uint64_t ns);
/* Ends an operator of any thread and writes the thread. Returns 0, or -ENOENT if it is not
 * running. */
int sl_ops_end_anywhere(struct sl_ops *o, uint64_t handle, uint64_t ns, uint32_t *thread);
void sl_ops_end_thread(struct sl_ops *o, uint32_t thread, uint64_t ns);

/* Begins an operator that may end on any thread and in any order. No calls belong to it. */
void sl_ops_start(struct sl_ops *o, uint32_t thread, uint64_t ns, const struct sl_op *op);
/* Ends such an operator. Returns 0, or -ENOENT if it is not running. */
int sl_ops_finish(struct sl_ops *o, uint64_t handle, uint64_t ns);

/* Call when all lanes were read. Emits operators that still run (SL_EVF_BEGUN), for outputs that
 * cannot wait until they end. */
void sl_ops_tell_begun(struct sl_ops *o);

/* Returns the line of the innermost running operator of the thread that has a line; 0 if none
 * has. */
uint32_t sl_ops_line(struct sl_ops *o, uint32_t thread);

/* Call when the operator that runs on the thread has created a CUDA graph node. */
void sl_ops_node(struct sl_ops *o, uint32_t thread, uint64_t node);

/* Gives a CUDA call its operator and its place. If the call's thread runs a backward pass, returns
 * the thread that called the pass, or if that is not known, the thread that ran the forward pass;
 * otherwise 0. */
uint32_t sl_ops_call(struct sl_ops *o, struct sl_event *call);
/* Whether the thread is one of autograd's, that is, has run a backward pass for another thread that
 * is known. */
int sl_ops_is_worker(struct sl_ops *o, uint32_t thread);
/* Returns a call's place. Any thread that may read `places`, which may be NULL. */
struct sl_op_place sl_op_place_of(const struct sl_intern *places, const struct sl_event *call);

/* The caller guarantees that all calls that ended before complete_ns have arrived. */
void sl_ops_complete(struct sl_ops *o, uint64_t complete_ns);
/* Call when a window begins. Operators that are open get a slice in this window, too. */
void sl_ops_open(struct sl_ops *o);
/* Call when the window ends. Emits the slices of open operators up to closed_ns. The operators stay
 * open and get no other slice in this window. */
void sl_ops_close(struct sl_ops *o, uint64_t closed_ns);

void sl_ops_get_counts(const struct sl_ops *o, struct sl_ops_counts *out);

#endif
