/*
 * order.c - puts the events that NCCL sent on several threads in the order of time.
 *
 * Threads, memory: see order.h.
 */
#include "collect/nccl/order.h"

#include <string.h>

/* The events of a thread arrive in order, so most are added at the end. */
struct sl_nccl_ordered *sl_nccl_order_add(struct sl_nccl_order *o, uint64_t ns)
{
    unsigned low = 0, high = o->count;

    if (high && o->entry[o->place[high - 1]].ns <= ns)
        low = high;
    while (low < high) {
        unsigned middle = low + (high - low) / 2;

        if (o->entry[o->place[middle]].ns <= ns)
            low = middle + 1;
        else
            high = middle;
    }
    memmove(&o->place[low + 1], &o->place[low], (o->count - low) * sizeof(*o->place));
    o->place[low] = (uint16_t)o->count;
    o->entry[o->count].ns = ns;
    return &o->entry[o->count++];
}
