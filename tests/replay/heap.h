/*
 * heap.h - a heap of the operations that have not ended. The operation that ends next is on top.
 *
 * One thread. The heap does not own its operations.
 */
#ifndef REPLAY_HEAP_H
#define REPLAY_HEAP_H

#include <stddef.h>

#include "core/probe.h"

struct replay_heap {
    struct sim_op **op;
    size_t n, cap;
};

/* Returns 0 or -ENOMEM. */
int replay_heap_push(struct replay_heap *h, struct sim_op *op);
/* Removes and returns the operation that ends first if it ends at `ns` or before; else returns
 * NULL. */
struct sim_op *replay_heap_pop(struct replay_heap *h, uint64_t ns);
void replay_heap_free(struct replay_heap *h);

#endif
