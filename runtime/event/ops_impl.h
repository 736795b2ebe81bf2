/*
 * ops_impl.h - what the files of the operators share. Included by them alone.
 *
 * ops.c has what runs, and what autograd may still come back to; ops_call.c what calls may still be
 * in.
 */
#ifndef SL_OPS_IMPL_H
#define SL_OPS_IMPL_H

#include "event/ops.h"

enum {
    SL_OPS_IN_CHUNK = 64,
    SL_OPS_THREADS = 1024, /* a power of two; half of them are used */
    SL_OPS_RUNNING = 8192, /* operators at a time, in all threads */
    SL_OPS_STARTED = 256,
    SL_OPS_FORWARDS = 1 << 15,
    SL_OPS_NUMBERS = 1024, /* a power of two; PyTorch counts threads up */
};

/* For calls. */
struct sl_op_known {
    uint64_t start_ns, end_ns; /* end UINT64_MAX: it runs */
    uint32_t parent;           /* its place + 1; 0: none */
    uint32_t handle, line, collective;
    uint32_t for_thread; /* system id of the thread that this is done for: see sl_ops_call(); 0:
                            its own */
    uint32_t order;      /* of its thread's; a parent's is lower */
};

struct sl_ops_chunk {
    uint32_t thread; /* system id */
    uint32_t count;
    uint32_t older, newer;           /* of the thread; 0: none */
    uint32_t made_before, made_next; /* of all */
    struct sl_op_known op[SL_OPS_IN_CHUNK];
};

/* For the row. */
struct sl_ops_running {
    struct sl_op op;
    uint64_t start_ns;
    uint32_t place; /* + 1; 0: forgotten, or none */
    uint32_t below; /* of the thread, or the next free one */
    uint32_t order;
    uint8_t is_shown, is_begun;
};

struct sl_ops_thread {
    uint32_t id, taken;
    uint32_t newest, oldest, cursor; /* chunks; 0: none */
    uint32_t innermost;              /* running; 0: none */
    uint32_t last;                   /* the running one that began last; 0: it has ended */
    uint32_t order;
    uint8_t works; /* in a backward pass for a thread that has left its id */
};

/* Operators that have a sequence number, the last that began for each. */
struct sl_ops_forward {
    int64_t sequence;
    uint64_t start_ns; /* 0: none */
    uint32_t number, thread;
};

/* PyTorch's number of a thread, and the system's. */
struct sl_ops_number {
    uint32_t number, thread; /* 0: none */
};

struct sl_ops_started {
    struct sl_op op;
    uint64_t start_ns; /* 0: free */
    uint32_t thread;
};

struct sl_ops {
    struct sl_ops_options opt;
    struct sl_ops_counts counts;
    uint64_t flows;
    uint64_t complete_ns; /* all that ended before is in */
    struct sl_ops_thread thread[SL_OPS_THREADS];
    uint32_t threads;
    struct sl_ops_running running[SL_OPS_RUNNING]; /* [0] is not used */
    uint32_t running_used, running_free;
    struct sl_ops_started started[SL_OPS_STARTED];
    struct sl_ops_forward forward[SL_OPS_FORWARDS];
    struct sl_ops_number number[SL_OPS_NUMBERS];
    struct sl_ops_chunk *chunk; /* [0] is not used */
    uint32_t chunks, chunk_used, chunk_free, chunk_first, chunk_last;
    size_t chunk_bytes;
};

/* ops_call.c: what is known of a thread; one that is not `taken`: nothing. */
struct sl_ops_thread *sl_ops_find_thread(struct sl_ops *o, uint32_t id);
/* NULL: there are too many. */
struct sl_ops_thread *sl_ops_get_thread(struct sl_ops *o, uint32_t id);

/* ops_call.c: a place for what is known of an operator, which another may lose for it. */
uint32_t sl_ops_new_place(struct sl_ops *o, struct sl_ops_thread *t);

static inline struct sl_op_known *sl_ops_at(const struct sl_ops *o, uint32_t place)
{
    return &o->chunk[(place - 1) / SL_OPS_IN_CHUNK].op[(place - 1) % SL_OPS_IN_CHUNK];
}

#endif
