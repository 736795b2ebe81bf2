/*
 * heap.h - the operations that have not ended yet, the next to end on top.
 *
 * One thread. The heap borrows its operations.
 */
#ifndef REPLAY_HEAP_H
#define REPLAY_HEAP_H

#include <stddef.h>

#include "core/probe.h"

struct replay_heap {
    struct sim_op **op;
    size_t n, cap;
};

/* 0 or -ENOMEM. */
int replay_heap_push(struct replay_heap *h, struct sim_op *op);
/* The one that ends first, if that is at `ns` or before; else NULL. */
struct sim_op *replay_heap_pop(struct replay_heap *h, uint64_t ns);
void replay_heap_free(struct replay_heap *h);

#endif
