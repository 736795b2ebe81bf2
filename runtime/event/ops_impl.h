/*
 * ops_impl.h - declarations that only ops.c and ops_call.c use.
 *
 * ops.c keeps running operators, and forward operators for autograd. ops_call.c keeps the operators
 * in which later calls may have been made.
 */
#ifndef SL_OPS_IMPL_H
#define SL_OPS_IMPL_H

#include "event/ops.h"

enum {
    SL_OPS_IN_CHUNK = 64,
    /* size of the table of threads, a power of two; at most half of the entries are used */
    SL_OPS_THREADS = 1024,
    SL_OPS_RUNNING = 8192, /* maximum number of operators that run at one time, in all threads */
    SL_OPS_STARTED = 256,
    SL_OPS_FORWARDS = 1 << 15,
    /* size of the table of PyTorch's thread numbers, a power of two; PyTorch numbers threads
     * upwards */
    SL_OPS_NUMBERS = 1024,
};

/* The data of an operator that is kept for calls that arrive later. */
struct sl_op_known {
    uint64_t start_ns, end_ns; /* end_ns is UINT64_MAX while the operator is running */
    /* place (sl_ops_at()) of the parent's entry; 0 if there is no parent */
    uint32_t parent;
    uint32_t handle, line, collective;
    /* system id of the thread for which the operator runs (see sl_ops_call()); 0: its own thread */
    uint32_t for_thread;
    /* position among the operators of the thread; the parent has a lower position */
    uint32_t order;
};

struct sl_ops_chunk {
    uint32_t thread; /* system id of the thread */
    uint32_t count;
    /* neighbouring chunks of the same thread; 0 if there is none */
    uint32_t older, newer;
    /* neighbouring chunks of all threads, in the order of creation */
    uint32_t made_before, made_next;
    struct sl_op_known op[SL_OPS_IN_CHUNK];
};

/* The data for the slice of an operator. The data is kept while the operator runs. */
struct sl_ops_running {
    struct sl_op op;
    uint64_t start_ns;
    /* place of the operator's entry for calls, from sl_ops_new_place(); 0 if the entry does not
     * exist or was evicted */
    uint32_t place;
    uint32_t below; /* next outer operator of the thread, or the next free entry */
    uint32_t order;
    uint8_t is_shown, is_begun;
};

struct sl_ops_thread {
    uint32_t id, taken;
    /* indexes of the thread's newest and oldest chunk, and of the chunk at which the last search
     * ended; 0 if there is none */
    uint32_t newest, oldest, cursor;
    /* index of the innermost running operator; 0 if no operator runs */
    uint32_t innermost;
    /* index of the operator that began last; 0 if that operator has ended */
    uint32_t last;
    uint32_t order;
    uint8_t works; /* 1: the thread has run a backward pass for another, known thread */
};

/* For each sequence number, the forward operator that began last. */
struct sl_ops_forward {
    int64_t sequence;
    uint64_t start_ns; /* 0: none */
    uint32_t number, thread;
};

/* Maps PyTorch's number of a thread to its system id. */
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
    uint64_t complete_ns; /* the records of all calls that ended before this time have arrived */
    struct sl_ops_thread thread[SL_OPS_THREADS];
    uint32_t threads;
    struct sl_ops_running running[SL_OPS_RUNNING]; /* entry 0 is not used */
    uint32_t running_used, running_free;
    struct sl_ops_started started[SL_OPS_STARTED];
    struct sl_ops_forward forward[SL_OPS_FORWARDS];
    struct sl_ops_number number[SL_OPS_NUMBERS];
    struct sl_ops_chunk *chunk; /* entry 0 is not used */
    uint32_t chunks, chunk_used, chunk_free, chunk_first, chunk_last;
    size_t chunk_bytes;
};

/* ops_call.c: returns the thread's entry, or a free entry (`taken` is 0) if the thread is
 * unknown. */
struct sl_ops_thread *sl_ops_find_thread(struct sl_ops *o, uint32_t id);
/* Like sl_ops_find_thread(), but adds an entry for an unknown thread. Returns NULL if there are too
 * many threads. */
struct sl_ops_thread *sl_ops_get_thread(struct sl_ops *o, uint32_t id);

/* ops_call.c: returns the place of a new entry for an operator. The function may evict another
 * operator. */
uint32_t sl_ops_new_place(struct sl_ops *o, struct sl_ops_thread *t);

static inline struct sl_op_known *sl_ops_at(const struct sl_ops *o, uint32_t place)
{
    return &o->chunk[(place - 1) / SL_OPS_IN_CHUNK].op[(place - 1) % SL_OPS_IN_CHUNK];
}

#endif
