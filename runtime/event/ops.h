/*
 * ops.h - finds out which PyTorch operator ran on a thread at a given time.
 *
 * The caller passes a thread's operators in the order in which they began and ended. An operator
 * must be passed before the CUDA calls that were made in it. The records of CUDA calls arrive late,
 * when CUPTI delivers them. So the data of an ended operator is kept until all calls that began in
 * the operator have arrived.
 *
 * The sink receives the following events, and decides which of these events belong to the window:
 *   - SL_EV_CPU_OP for each operator, when the operator or the window ends.
 *   - SL_EV_FLOW_BACK for each backward operator whose forward operator is known.
 *   - SL_EV_META_NODE for each CUDA graph node that an operator makes.
 *
 * Threads: one owner. Memory: fixed by `cap_bytes`. When the memory is full, the oldest operators
 * are evicted. A call that was made in an evicted operator and arrives later gets no operator.
 */
#ifndef SL_OPS_H
#define SL_OPS_H

#include <stddef.h>
#include <stdint.h>

#include "base/intern.h"
#include "event/event.h"

struct sl_ops;

/* The place in the program from which a call was made. The struct's bytes are interned. */
struct sl_op_place {
    /* `inputs` of the innermost operator if the operator is a collective; otherwise 0 */
    uint32_t collective;
    uint32_t line; /* interned text, "FILE:LINE FUNCTION"; 0 if the line is unknown */
};

/* An operator, or a scope that the user opened among operators. */
struct sl_op {
    uint64_t handle;  /* PyTorch's id of the record function */
    int64_t sequence; /* sequence number; -1: none */
    /* PyTorch's thread numbers; forward_number is 0 if the operator is not a backward operator */
    uint32_t number, forward_number;
    /* system id of the thread that called the backward pass; 0 if it is unknown, or if there is no
     * backward pass */
    uint32_t caller;
    /* interned name and details (event/op_detail.h); `detail` is 0 if there are no details */
    uint32_t name, detail;
    uint32_t line;       /* line of Python code that ran the operator, as in struct sl_op_place */
    uint8_t device;      /* of a collective: the thread's current device; SL_DEVICE_NONE: unknown */
    uint32_t seq, batch; /* of a collective: see `comm` in struct sl_event; 0: unknown, or none */
    /* 1: a scope that the user opened; a scope has no slice and is never the `op` of a call */
    uint8_t is_user;
    /* 1: not an operator and without a slice. Either the line of code of a wait (`handle` is 0), or
     * the kernel of a batch (`handle` is that of the batch's last operator). */
    uint8_t is_site;
    uint8_t is_collective;
    uint8_t is_backward;   /* 1: a node of autograd's graph */
    uint8_t is_evaluation; /* 1: the work of autograd's engine around a node of its graph */
};

struct sl_ops_options {
    size_t cap_bytes; /* maximum memory in bytes; 0 means 8 MiB */
    int begins;       /* 1: operators that still run are also emitted, by sl_ops_tell_begun() */
    struct sl_intern *places;
    void (*sink)(void *user, const struct sl_event *ev);
    void *sink_user;
};

struct sl_ops_counts {
    uint64_t ops;
    /* operators that got no slice, because the table of running operators was full */
    uint64_t lost;
    uint64_t forgotten; /* operators that were evicted before all calls inside them had arrived */
};

/* Returns 0, -ENOMEM or -EINVAL. */
int sl_ops_create(struct sl_ops **out, const struct sl_ops_options *opt);
void sl_ops_destroy(struct sl_ops *o); /* NULL is allowed */

void sl_ops_begin(struct sl_ops *o, uint32_t thread, uint64_t ns, const struct sl_op *op);
/* Ends an operator of the thread. `handle` is the lower half of the operator's handle. Returns 1 if
 * the ended operator was a scope of the user. The ended scope need not be the innermost scope of
 * the thread. */
int sl_ops_end(struct sl_ops *o, uint32_t thread, uint32_t handle, uint64_t ns);
/* Ends an operator of any thread, and writes the operator's thread to *thread. Returns 0, or
 * -ENOENT if the operator is not running. */
int sl_ops_end_anywhere(struct sl_ops *o, uint64_t handle, uint64_t ns, uint32_t *thread);
void sl_ops_end_thread(struct sl_ops *o, uint32_t thread, uint64_t ns);

/* Begins an operator that may end on any thread, in any order with other operators. No CUDA call is
 * assigned to this operator. */
void sl_ops_start(struct sl_ops *o, uint32_t thread, uint64_t ns, const struct sl_op *op);
/* Ends an operator that sl_ops_start() began. Returns 0, or -ENOENT if the operator is not running.
 */
int sl_ops_finish(struct sl_ops *o, uint64_t handle, uint64_t ns);

/* Call when the queues of all application threads were read. Emits the operators that still run
 * (SL_EVF_BEGUN), for outputs that cannot wait until the operators end. */
void sl_ops_tell_begun(struct sl_ops *o);

/* Returns the line of code of the innermost running operator of the thread that has a known line.
 * Returns 0 if no running operator has a line. */
uint32_t sl_ops_line(struct sl_ops *o, uint32_t thread);

/* Sets the batch of a running operator (lower half of its handle) of the thread. */
void sl_ops_set_batch(struct sl_ops *o, uint32_t thread, uint32_t handle, uint32_t batch);

/* Call when the operator that is running on the thread has created a CUDA graph node. */
void sl_ops_node(struct sl_ops *o, uint32_t thread, uint64_t node);

/* Stores in a CUDA call the innermost operator around the call, and the place from which it was
 * made. If the call's thread runs a backward pass, returns the thread that called the pass. If the
 * caller of the pass is not known, returns the thread that ran the forward pass. Returns 0 if the
 * call's thread runs no backward pass. */
uint32_t sl_ops_call(struct sl_ops *o, struct sl_event *call);
/* Returns 1 if the thread belongs to autograd, that is, if it has run a backward pass for another,
 * known thread. */
int sl_ops_is_worker(struct sl_ops *o, uint32_t thread);
/* Returns the place in the program from which the call was made. `places` may be NULL. Every thread
 * that may read `places` may call this function. */
struct sl_op_place sl_op_place_of(const struct sl_intern *places, const struct sl_event *call);

/* The caller guarantees that all calls that ended before complete_ns have arrived. */
void sl_ops_complete(struct sl_ops *o, uint64_t complete_ns);
/* Call when a window begins. Operators that are running at that time get a slice in this window,
 * too. */
void sl_ops_open(struct sl_ops *o);
/* Call when the window ends. Emits the slices of open operators up to closed_ns. The operators stay
 * open and get no other slice in this window. */
void sl_ops_close(struct sl_ops *o, uint64_t closed_ns);

void sl_ops_get_counts(const struct sl_ops *o, struct sl_ops_counts *out);

#endif
