/*
 * heap.c - a binary heap of the operations that have not ended, ordered by their end times.
 * Threads: one.
 */
#include "heap.h"

#include <errno.h>
#include <stdlib.h>

static void swap(struct replay_heap *h, size_t a, size_t b)
{
    struct sim_op *op = h->op[a];

    h->op[a] = h->op[b];
    h->op[b] = op;
}

int replay_heap_push(struct replay_heap *h, struct sim_op *op)
{
    if (h->n == h->cap) {
        size_t cap = h->cap ? h->cap * 2 : 256;
        struct sim_op **more = realloc(h->op, cap * sizeof *more);

        if (!more) {
            return -ENOMEM;
        }
        h->op = more;
        h->cap = cap;
    }
    h->op[h->n] = op;
    for (size_t at = h->n++; at && h->op[(at - 1) / 2]->end_ns > h->op[at]->end_ns;
         at = (at - 1) / 2) {
        swap(h, at, (at - 1) / 2);
    }
    return 0;
}

struct sim_op *replay_heap_pop(struct replay_heap *h, uint64_t ns)
{
    if (!h->n || h->op[0]->end_ns > ns) {
        return NULL;
    }
    struct sim_op *top = h->op[0];

    h->op[0] = h->op[--h->n];
    for (size_t at = 0, child; (child = 2 * at + 1) < h->n; at = child) {
        if (child + 1 < h->n && h->op[child + 1]->end_ns < h->op[child]->end_ns) {
            child++;
        }
        if (h->op[at]->end_ns <= h->op[child]->end_ns) {
            break;
        }
        swap(h, at, child);
    }
    return top;
}

void replay_heap_free(struct replay_heap *h)
{
    free(h->op);
    *h = (struct replay_heap){NULL, 0, 0};
}
