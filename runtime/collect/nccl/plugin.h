/*
 * plugin.h - our profiler plugin for NCCL: the functions that NCCL calls.
 *
 * NCCL calls these functions on the application's threads, on threads of its own and on CUDA's
 * host-callback thread. They take no lock, allocate nothing and call neither CUDA nor NCCL. Each
 * call that has to be recorded becomes one record in the calling thread's lane
 * (collect/lane/lane.h). collect/nccl/read.c reads these records.
 *
 * The handles that NCCL gets are numbers and no pointers. NCCL stops handles twice, late or never,
 * and passes handles of events that ended long ago as parents.
 *
 * Threads: see each function. Memory: static.
 */
#ifndef SL_NCCL_PLUGIN_H
#define SL_NCCL_PLUGIN_H

#include <stddef.h>
#include <stdint.h>

#include "base/choices.h"
#include "collect/lane/lane.h"
#include "collect/nccl/abi.h"

enum {
    SL_NCCL_COMMS = 4096, /* maximum number of communicators at one time; a power of two */
};

/* The parts of a record's header (`parts`). */
enum sl_nccl_record {
    SL_NCCL_RECORD_CALL = 1,   /* a call of a collective, of ncclSend or of ncclRecv */
    SL_NCCL_RECORD_LAUNCH,     /* the launch of a kernel begins */
    SL_NCCL_RECORD_COLL,       /* a collective in the kernel that was launched before */
    SL_NCCL_RECORD_P2P,        /* a message in that kernel */
    SL_NCCL_RECORD_LAUNCH_END, /* `handle` is that of the LAUNCH or CE */
    SL_NCCL_RECORD_GROUP_END,  /* `handle` is the group's; only for a group with calls and without
                                * a reported launch */
    SL_NCCL_RECORD_NODE,  /* the launch `handle` (0: a launch that is not reported, of the group
                           * `parent`) created the graph node `number` */
    SL_NCCL_RECORD_TASKS, /* the collectives of a kernel follow, which was launched before; only
                           * from NCCL 2.27, which does not report launches */
    SL_NCCL_RECORD_CE,    /* a collective by copy engines: the copies follow until its end */
    SL_NCCL_RECORD_SENT,  /* messages of a proxy thread, and a channel of a kernel (deep.h) */
    SL_NCCL_RECORD_RECEIVED,
    SL_NCCL_RECORD_CHANNEL,
};

/* A handle's lowest bits. The handle of a record has the record's kind there, except for a call
 * that is captured into a graph. */
enum {
    SL_NCCL_KIND_BITS = 4,
    SL_NCCL_KIND_NET = 10, /* of deep.h: an operation or step */
    SL_NCCL_KIND_CHANNEL = 11,
    SL_NCCL_KIND_CAPTURED = 14,
};

static inline int sl_nccl_is_captured(uint64_t handle)
{
    return (handle & ((1 << SL_NCCL_KIND_BITS) - 1)) == SL_NCCL_KIND_CAPTURED;
}

/* A record in a lane. Texts are numbers of base/text_table.h; 0: none, or not readable. */
struct sl_nccl_event {
    struct sl_lane_record record; /* aux: the communicator's number; 0: not known */
    uint64_t handle, parent;      /* handle of the event and of the event around it */
    uint64_t count;
    uint64_t number; /* COLL, CE: number of the collective; CALL: the user's tag, 0: none */
    uint32_t func, dtype, algorithm, protocol;
    int32_t root; /* COLL, CALL: root; P2P: the peer */
    uint32_t channels;
    uint64_t tasks; /* COLL, P2P: handle of the event around all of a kernel's; 0: none */
};

_Static_assert(sizeof(struct sl_nccl_event) % 16 == 0, "records have pairs of words");

/* The facts that `init` got about a communicator. */
struct sl_nccl_comm {
    uint64_t hash;
    uint32_t name; /* number of a text; 0: the program gave none */
    int32_t nodes, ranks, rank;
    uint32_t instance; /* counts the communicators with this hash and rank, from 1 */
};

/* Call on the thread that has created the node of a CUDA graph, if the level is on. `is_in_range`:
 * an NVTX range of NCCL is open on the thread. Call also outside windows, because graphs that are
 * captured there are launched in windows. */
void sl_nccl_plugin_node(uint64_t node, int is_in_range);

/* Recorder thread. Returns the number of the last communicator with this hash, 0 if there is none.
 * Sets *is_alone to 0 if several ranks of that communicator are in this process. */
uint32_t sl_nccl_plugin_comm_of(uint64_t hash, int *is_alone);

/* Recorder thread. Returns 0, or -ENOENT if there is no such communicator any more. */
int sl_nccl_plugin_comm(uint32_t number, struct sl_nccl_comm *out);

/* Returns how many calls of NCCL made no sense to us: stops of handles that are not open, and calls
 * with communicators that are not known. */
uint64_t sl_nccl_plugin_odd(void);

/* The functions of the tables (collect/nccl/tables.c). */
int sl_nccl_plugin_init_v4(void **context, int *mask, const char *name, uint64_t hash, int nodes,
                           int ranks, int rank, void *log);
int sl_nccl_plugin_init_v5(void **context, uint64_t hash, int *mask, const char *name, int nodes,
                           int ranks, int rank, void *log);
/* Refuses every NCCL below 2.31, because some have a version 7 of their own. */
int sl_nccl_plugin_init_v7(void **context, uint64_t hash, int *mask, const char *name, int nodes,
                           int ranks, int rank, void *log);
int sl_nccl_plugin_start_v4(void *context, void **handle, const struct sl_nccl_descriptor *d);
int sl_nccl_plugin_start(void *context, void **handle, const struct sl_nccl_descriptor *d);
int sl_nccl_plugin_start_v7(void *context, void **handle, const struct sl_nccl_descriptor *d);
int sl_nccl_plugin_end(void *handle);
int sl_nccl_plugin_state(void *handle, int state, void *args);
int sl_nccl_plugin_finalize(void *context);

#endif
