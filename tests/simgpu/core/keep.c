/*
 * keep.c - memory of objects with a handle: contexts, streams, events, kernels, graphs. This memory
 * is never freed, so that a stale handle is recognized by the missing magic number. One list holds
 * all of this memory, so that leak checkers do not report it.
 *
 * Any thread.
 */
#include <stdalign.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "core/sim.h"

struct kept {
    alignas(max_align_t) struct kept *next;
};

static _Atomic(struct kept *) all;

void *sim_keep(size_t bytes)
{
    struct kept *kept = calloc(1, sizeof *kept + bytes);

    if (!kept) {
        return NULL;
    }
    kept->next = atomic_load_explicit(&all, memory_order_relaxed);
    while (!atomic_compare_exchange_weak_explicit(&all, &kept->next, kept, memory_order_release,
                                                  memory_order_relaxed)) {
    }
    return kept + 1;
}
