/*
 * deep.h - events of the deep levels: channels of kernels, and the work of NCCL's proxy threads.
 *
 * NCCL's proxy thread sends many events for each collective: an operation for each peer and
 * channel, and in it steps, whose states say what the step waits for. The steps are summed here,
 * and an operation becomes one record when it ends.
 *
 * Threads: any, as in plugin.h. An operation's events come on one thread; if they do not, its sums
 * may be wrong. Memory: static tables, in which new entries replace old ones. So operations that
 * NCCL never ends need no room.
 */
#ifndef SL_NCCL_DEEP_H
#define SL_NCCL_DEEP_H

#include <stdint.h>

#include "collect/nccl/abi.h"
#include "collect/nccl/plugin.h"

/* A record in a lane, as long as struct sl_nccl_event. `parts` is SL_NCCL_RECORD_SENT, _RECEIVED
 * or _CHANNEL. The record's stamp is the end. */
struct sl_nccl_deep {
    struct sl_lane_record record; /* aux: the communicator's number */
    uint64_t handle, parent;      /* parent: handle of the COLL or P2P */
    union {
        uint64_t bytes;    /* bytes that were sent or received */
        uint64_t start_ns; /* CHANNEL: the GPU's global timer */
    };
    union {
        uint64_t length_ns;
        uint64_t end_ns; /* CHANNEL: the GPU's global timer */
    };
    uint32_t channel, peer, steps, chunk_bytes;
    uint64_t gpu_wait_ns, net_wait_ns; /* sums over the steps, which overlap */
};

_Static_assert(sizeof(struct sl_nccl_deep) == sizeof(struct sl_nccl_event), "one length");

/* An event of these types starts. */
void sl_nccl_deep_start(uint64_t type, uint32_t comm, uint64_t handle,
                        const struct sl_nccl_descriptor *d);
/* The event enters a state. */
void sl_nccl_deep_state(uint64_t handle, int state, const void *args);
/* The event ends. Returns 1 and fills *out if the event becomes a record now. */
int sl_nccl_deep_end(uint64_t handle, struct sl_nccl_deep *out);

#endif
