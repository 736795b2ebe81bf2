/*
 * buffer.c - a client buffer while CUPTI owns it: the records in the buffer, and the pending
 * operations of incomplete records.
 *
 * Threads: first the threads that hold the lock of the buffer's lane, then only the worker. The
 * client owns the buffer's memory; the stand-in owns the struct and the list of records. A few
 * structs are reused for later buffers, because malloc would map the list of a large buffer again
 * each time.
 */
#include <pthread.h>
#include <stdlib.h>

#include "core/fork.h"
#include "cupti/simcupti.h"

#define KEPT 16

static struct sim_buffer *kept;
static size_t kept_count;
SIM_MUTEX(lock);

struct sim_buffer *sim_buffer_new(void)
{
    pthread_mutex_lock(&lock);
    struct sim_buffer *b = kept;

    if (b) {
        kept = b->next;
        kept_count--;
    }
    pthread_mutex_unlock(&lock);
    if (!b) {
        return calloc(1, sizeof *b);
    }
    *b = (struct sim_buffer){.slot = b->slot, .slots_cap = b->slots_cap};
    return b;
}

static void end_of(struct sim_buffer *b, struct sim_slot *slot)
{
    sim_record_op_end(slot, b->memory + slot->offset);
    sim_op_unref(slot->op);
    slot->op = NULL;
}

static bool finish(struct sim_buffer *b)
{
    for (; b->finished < b->slots; b->finished++) {
        struct sim_slot *slot = &b->slot[b->finished];

        if (slot->op) {
            /* The acquire pairs with the core's release. So this thread sees the times of a
             * completed operation. */
            if (!atomic_load_explicit(&slot->op->done, memory_order_acquire)) {
                return false;
            }
            end_of(b, slot);
        }
    }
    return true;
}

bool sim_buffer_finish(struct sim_buffer *b)
{
    unsigned before = sim_client;
    bool whole;

    sim_client = b->client;
    whole = finish(b);
    sim_client = before;
    return whole;
}

void sim_buffer_give_up(struct sim_buffer *b)
{
    for (; b->finished < b->slots; b->finished++) {
        struct sim_slot *slot = &b->slot[b->finished];

        if (slot->op && atomic_load_explicit(&slot->op->done, memory_order_acquire)) {
            end_of(b, slot);
        } else if (slot->op) {
            sim_log_record("unfinished", slot);
            sim_op_unref(slot->op);
            slot->op = NULL;
        }
    }
}

void sim_buffer_free(struct sim_buffer *b)
{
    for (size_t i = 0; i < b->slots; i++) {
        if (b->slot[i].op) {
            sim_op_unref(b->slot[i].op);
        }
    }
    pthread_mutex_lock(&lock);
    bool keep = kept_count < KEPT;

    if (keep) {
        b->next = kept;
        kept = b;
        kept_count++;
    }
    pthread_mutex_unlock(&lock);
    if (!keep) {
        free(b->slot);
        free(b);
    }
}
