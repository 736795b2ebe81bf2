/*
 * event_join.h - finds the cudaEventRecord that a wait was for.
 *
 * CUPTI reports event records (CUDA_EVENT) and waits (SYNCHRONIZATION) separately and in any order.
 * From CUPTI 12.8 on, a wait and its event record have the same event_sync_id. Older versions give
 * only the event's id, which is the same for all records of the event.
 *
 * Threads: one owner. Memory: fixed; newer records replace old ones.
 */
#ifndef SL_EVENT_JOIN_H
#define SL_EVENT_JOIN_H

#include <stdint.h>

#include "event/event.h"

enum {
    /* number of records that are kept by sync id; the same number is kept by event id */
    SL_JOIN_RECORDS = 8192,
    /* number of chains; each chain links records whose event ids have the same hash */
    SL_JOIN_EVENTS = 2048,
};

struct sl_event_record {
    uint64_t sync_id;
    uint64_t correlation; /* correlation id of the cudaEventRecord call; 0 if the entry is empty */
    uint32_t context, event_id;
    uint32_t stream;
    /* only without sync ids: number of the previous record in the chain; 0 if there is none */
    uint32_t older;
};

struct sl_event_join {
    struct sl_event_record by_sync_id[SL_JOIN_RECORDS];
    /* Used without sync ids. The last records of all events. Records are numbered from 1. The index
     * of a record is its number modulo the size of the array. */
    struct sl_event_record last[SL_JOIN_RECORDS];
    uint32_t newest[SL_JOIN_EVENTS], count;
};

/* Adds an event of kind SL_EV_CUDA_EVENT. */
void sl_event_join_record(struct sl_event_join *j, const struct sl_event *ev);

/* Used without sync ids. Returns 1 if the wait may be for this record, or for a later record of the
 * event. */
int sl_event_join_fits(const struct sl_event_record *record, const struct sl_event *sync);

/* Returns the record that an SL_EV_SYNC for an event refers to. Returns NULL if the record was not
 * seen, or was forgotten. */
const struct sl_event_record *sl_event_join_find(const struct sl_event_join *j,
                                                 const struct sl_event *sync);

#endif
