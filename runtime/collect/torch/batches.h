/*
 * batches.h - finds the calls of torch.distributed that share a kernel, and describes the kernel.
 *
 * The sends and receives of batch_isend_irecv() have an operator each, but one kernel. The same
 * holds for an operator "..._coalesced", whose kernel PyTorch launches later. PyTorch launches such
 * a kernel in the scope "nccl:coalesced", on the same thread, after all these operators have ended.
 * An operator with a kernel of its own has another scope "nccl:..." inside it.
 *
 * Threads: the recorder thread. Memory: a fixed table of threads. If two threads have the same
 * entry, the later thread evicts the earlier one, whose kernel then has no description.
 */
#ifndef SL_TORCH_BATCHES_H
#define SL_TORCH_BATCHES_H

#include <stddef.h>
#include <stdint.h>

#include "base/intern.h"
#include "event/collective.h"
#include "event/ops.h"

struct sl_torch_batch_sum {
    uint64_t calls;
    int64_t sent, received; /* numbers of elements */
    int64_t bytes_sent, bytes_received;
    int64_t dst, src; /* the only rank that data is sent to, or received from; negative if there is
                       * none or more than one */
    uint32_t dtypes;  /* a bit for each type of elements */
};

/* The batch of one thread. */
struct sl_torch_batch {
    uint32_t thread; /* system id of the thread; 0: free */
    uint32_t id;     /* lower half of the first member's handle; 0: there is no batch */
    uint64_t handle; /* of the last member */
    uint32_t detail; /* details of the first member, or of the coalesced call; 0: none */
    uint32_t line;
    /* sums with and without the last member, which may turn out to have a kernel of its own */
    struct sl_torch_batch_sum sum, sum_before;
    uint64_t scope; /* handle of the open scope "nccl:coalesced"; 0: none */
};

#define SL_TORCH_BATCHES 64

struct sl_torch_batches {
    struct sl_torch_batch of[SL_TORCH_BATCHES];
    unsigned open; /* number of scopes "nccl:coalesced" that are open */
};

/* Call when a collective begins. Sets op->batch if the collective is a member of a batch, as far as
 * this is known. */
void sl_torch_batches_call(struct sl_torch_batches *b, uint32_t thread,
                           const struct sl_collective_args *told, struct sl_op *op);

/* Call when a scope of PyTorch whose name begins with "nccl:" begins. In the scope
 * "nccl:coalesced", calls on this thread belong to the batch, until sl_torch_batches_leave(). */
void sl_torch_batches_scope(struct sl_torch_batches *b, struct sl_ops *ops,
                            struct sl_intern *details, uint32_t thread, uint64_t ns,
                            uint64_t handle, struct sl_collective_text name);

/* Call before each operator or scope that begins on a thread (`handle` is 0), and when the scope
 * `handle` ends on the thread. */
void sl_torch_batches_leave(struct sl_torch_batches *b, struct sl_ops *ops, uint32_t thread,
                            uint64_t ns, uint64_t handle);

#endif
