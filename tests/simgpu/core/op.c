/*
 * op.c - GPU operations, and sets of operations.
 *
 * Any thread. An operation is created under the lock, but any thread may drop its last reference
 * (the CUPTI thread holds some). So freed operations are pushed to a lock-free stack. When a new
 * operation is needed and `spare` is empty, all operations are popped from the stack at once. The
 * memory of operations is never returned to the system.
 */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "core/sim.h"

enum {
    BLOCK = 256
};

static _Atomic(struct op *) returned;
static struct op *spare; /* operations to reuse; the caller holds sim_lock() */

struct op *sim_op_new(void)
{
    if (!spare) {
        /* The acquire pairs with the release in sim_op_unref(). After the acquire, the last use of
         * each popped operation has ended. */
        spare = atomic_exchange_explicit(&returned, NULL, memory_order_acquire);
    }
    if (!spare) {
        struct op *block = calloc(BLOCK, sizeof *block);

        if (!block) {
            return NULL;
        }
        for (int i = 0; i + 1 < BLOCK; i++) {
            block[i].next = &block[i + 1];
        }
        spare = block;
    }
    struct op *op = spare;

    spare = op->next;
    memset(op, 0, sizeof *op);
    atomic_store_explicit(&op->pub.refs, 1, memory_order_relaxed);
    return op;
}

void sim_op_ref(struct sim_op *op)
{
    atomic_fetch_add_explicit(&op->refs, 1, memory_order_relaxed);
}

void sim_op_unref(struct sim_op *pub)
{
    struct op *op = (struct op *)pub;

    if (atomic_fetch_sub_explicit(&pub->refs, 1, memory_order_acq_rel) != 1) {
        return;
    }
    sim_set_clear(&op->behind);
    free(op->work);
    op->work = NULL;
    struct op *head = atomic_load_explicit(&returned, memory_order_relaxed);

    do {
        op->next = head;
    } while (!atomic_compare_exchange_weak_explicit(&returned, &head, op, memory_order_release,
                                                    memory_order_relaxed));
}

static bool make_room(struct sim_set *set)
{
    if (!set->link) {
        set->link = set->few;
        set->cap = 2;
    }
    if (set->n < set->cap) {
        return true;
    }
    int cap = set->cap * 2;
    struct sim_link *link = malloc((size_t)cap * sizeof *link);

    if (!link) {
        return false;
    }
    memcpy(link, set->link, (size_t)set->n * sizeof *link);
    if (set->link != set->few) {
        free(set->link);
    }
    set->link = link;
    set->cap = cap;
    return true;
}

/* Adds an operation. A set keeps only the last operation of each stream, because the last operation
 * implies the earlier ones. This keeps sets short. */
void sim_set_add(struct sim_set *set, struct op *op, enum sim_via via, uint64_t call)
{
    for (int i = 0; i < set->n; i++) {
        struct sim_link *link = &set->link[i];

        if (!sim_op_is_on(link->op, op->context, op->pub.stream)) {
            continue;
        }
        if (link->op->pub.id < op->pub.id) {
            sim_op_ref(&op->pub);
            sim_op_unref(&link->op->pub);
            *link = (struct sim_link){op, via, call};
        }
        return;
    }
    if (make_room(set)) {
        sim_op_ref(&op->pub);
        set->link[set->n++] = (struct sim_link){op, via, call};
    }
}

void sim_set_merge(struct sim_set *set, const struct sim_set *from, enum sim_via via, uint64_t call)
{
    for (int i = 0; i < from->n; i++) {
        sim_set_add(set, from->link[i].op, via, call);
    }
}

/* Merges the tails of many streams into one set. The caller first adds each stream's own last
 * operation (`own` is true). Two streams never have the same own operation, so no search is needed
 * and thousands of streams take linear time. Then the caller adds the operations of other streams
 * that the streams wait for (`own` is false). An operation is not added if the set has a later
 * operation of the same stream. */
void sim_set_merge_tail(struct sim_set *set, const struct sim_set *tail,
                        const struct sim_stream *lane, bool own, const enum sim_via *via)
{
    for (int i = 0; i < tail->n; i++) {
        struct sim_link link = tail->link[i];

        if (sim_op_is_on(link.op, lane->context, lane->id) != own) {
            continue;
        }
        if (via) {
            link = (struct sim_link){link.op, *via, 0};
        }
        if (!own) {
            sim_set_add(set, link.op, link.via, link.call);
        } else if (make_room(set)) {
            sim_op_ref(&link.op->pub);
            set->link[set->n++] = link;
        }
    }
}

void sim_set_merge_as_is(struct sim_set *set, const struct sim_set *from)
{
    for (int i = 0; i < from->n; i++) {
        sim_set_add(set, from->link[i].op, from->link[i].via, from->link[i].call);
    }
}

/* Merges `from` into `set` as if the links of `from` had been added first. If both sets have a link
 * to the same operation, the link of `from` is kept. */
void sim_set_merge_before(struct sim_set *set, const struct sim_set *from)
{
    for (int i = 0; i < from->n; i++) {
        struct sim_link *same = NULL;

        for (int j = 0; j < set->n && !same; j++) {
            same = set->link[j].op == from->link[i].op ? &set->link[j] : NULL;
        }
        if (same) {
            *same = from->link[i];
        } else {
            sim_set_add(set, from->link[i].op, from->link[i].via, from->link[i].call);
        }
    }
}

void sim_set_clear(struct sim_set *set)
{
    for (int i = 0; i < set->n; i++) {
        sim_op_unref(&set->link[i].op->pub);
    }
    if (set->link != set->few) {
        free(set->link);
    }
    set->link = NULL;
    set->n = set->cap = 0;
}

const char *sim_via_name(enum sim_via via)
{
    static const char *const names[] = {"stream", "stream_wait", "legacy_default", "graph"};

    return names[via];
}
