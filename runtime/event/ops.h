/*
 * ops.h - PyTorch's operators: which was running on a thread at a time.
 *
 * Operators come in the order of each thread's calls, and before the CUDA calls that were made in
 * them: who reads both lets the operators go first. CUDA calls come when CUPTI likes, so operators
 * that have ended stay known until all that began in them is in.
 *
 * Out come SL_EV_CPU_OP for each operator, when it has ended or the window has, and SL_EV_FLOW_BACK
 * for each backward operator whose forward one is known. Which of them are in the window is for
 * their receiver to say. And SL_EV_META_NODE for each node of a CUDA graph that an operator makes.
 *
 * Threads: one owner. Memory: fixed by `cap_bytes`; when it is full the oldest operators are
 * forgotten: calls that come later are in none.
 */
#ifndef SL_OPS_H
#define SL_OPS_H

#include <stddef.h>
#include <stdint.h>

#include "base/intern.h"
#include "event/event.h"

struct sl_ops;

/* What a call in an operator is part of; interned as bytes. */
struct sl_op_place {
    uint32_t collective; /* the innermost operator's `shape` if it is one; 0: it is not */
    uint32_t line;       /* interned text, "FILE:LINE FUNCTION"; 0: not known */
};

/* An operator, or a scope of the user's among them. */
struct sl_op {
    uint64_t handle;                 /* PyTorch's id of its record function */
    int64_t sequence;                /* -1: none */
    uint32_t number, forward_number; /* PyTorch's for threads; forward_number 0: not backward */
    uint32_t caller;                 /* of its backward pass: a thread, by system id; or 0 */
    uint32_t name, detail;           /* interned: event/op_detail.h; detail 0: none */
    uint32_t line;                   /* as in struct sl_op_place */
    uint8_t is_user;                 /* a scope of the user's: no row, not `op` of a call */
    uint8_t is_site;                 /* no operator: it has a line alone. Its handle is 0 */
    uint8_t is_collective;
    uint8_t is_backward;   /* a node of autograd's graph... */
    uint8_t is_evaluation; /* ...and what autograd's engine does around one */
};

struct sl_ops_options {
    size_t cap_bytes; /* 0 = 8 MiB */
    int begins;       /* those that run on are wanted when that is seen, too */
    struct sl_intern *places;
    void (*sink)(void *user, const struct sl_event *ev);
    void *sink_user;
};

struct sl_ops_counts {
    uint64_t ops;
    uint64_t lost;      /* no room for their row */
    uint64_t forgotten; /* before all calls in them were in */
};

/* 0, -ENOMEM, -EINVAL. */
int sl_ops_create(struct sl_ops **out, const struct sl_ops_options *opt);
void sl_ops_destroy(struct sl_ops *o); /* NULL is fine */

void sl_ops_begin(struct sl_ops *o, uint32_t thread, uint64_t ns, const struct sl_op *op);
/* One of the thread's ends; `handle`: the lower half of it. 1: it was a scope of the user's, which
 * need not be the innermost. */
int sl_ops_end(struct sl_ops *o, uint32_t thread, uint32_t handle, uint64_t ns);
/* The same on another thread: gives whose it was. -ENOENT: it is not running. */
int sl_ops_end_anywhere(struct sl_ops *o, uint64_t handle, uint64_t ns, uint32_t *thread);
void sl_ops_end_thread(struct sl_ops *o, uint32_t thread, uint64_t ns);

/* One that ends on any thread, in no order. Calls are not made in it. */
void sl_ops_start(struct sl_ops *o, uint32_t thread, uint64_t ns, const struct sl_op *op);
/* 0; -ENOENT: it is not running. */
int sl_ops_finish(struct sl_ops *o, uint64_t handle, uint64_t ns);

/* All that was told so far has been: what still runs is given to those who cannot wait for its end
 * (SL_EVF_BEGUN). */
void sl_ops_tell_begun(struct sl_ops *o);

/* The line of what runs on a thread now, the innermost that has one; 0: none. */
uint32_t sl_ops_line(struct sl_ops *o, uint32_t thread);

/* In what runs on a thread now a node of a CUDA graph is made. */
void sl_ops_node(struct sl_ops *o, uint32_t thread, uint64_t node);

/* A CUDA call, before it goes on: gets its operator and its place. Of one that a thread makes for
 * another (in a backward pass) gives that one: the caller, or if that is not known the one that
 * made the graph; else 0. */
uint32_t sl_ops_call(struct sl_ops *o, struct sl_event *call);
/* The thread is one of autograd's: it has worked for one that has left its id. */
int sl_ops_is_worker(struct sl_ops *o, uint32_t thread);
/* That place, read back by any thread that may read `places`; NULL: there are none. */
struct sl_op_place sl_op_place_of(const struct sl_intern *places, const struct sl_event *call);

/* All that ended before is in. */
void sl_ops_complete(struct sl_ops *o, uint64_t complete_ns);
/* A window begins: what is open has a row in this one, too. */
void sl_ops_open(struct sl_ops *o);
/* It ends: rows of what is open, up to there. It stays open, and has no other row in this one. */
void sl_ops_close(struct sl_ops *o, uint64_t closed_ns);

void sl_ops_get_counts(const struct sl_ops *o, struct sl_ops_counts *out);

#endif
