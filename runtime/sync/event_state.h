/*
 * event_state.h - keeps the set of operations that each CUDA event represented when it was
 * recorded.
 *
 * A wait names an event record by its cudaEventSyncId. CUPTI before 12.8 has no such id, so the
 * wait names only the event. Such a wait refers to the last record of the event before the waiting
 * call, in the order in which the calls were entered. If the calls that recorded the event
 * overlapped, it is not known which record was the last. The last two records of each event are
 * kept, because a wait of another thread may still refer to the earlier record.
 *
 * Threads: only the thread that owns the engine (edge.h). Memory: a pool of at most a quarter of
 * the engine's store (base/store.h). When the pool is full, the oldest records are forgotten.
 */
#ifndef SL_EVENT_STATE_H
#define SL_EVENT_STATE_H

#include "sync/stream_state.h"

struct sl_record {
    struct sl_set set;
    uint64_t sync_id; /* CUPTI's cudaEventSyncId; 0: none */
    uint64_t event;   /* key of the event; 0 if the record names no event */
    struct sl_moment by;
    uint64_t before_ns;         /* time at which the calls of all earlier records of the event had
                                 * returned */
    struct sl_record *previous; /* previous record of the same event */
    struct sl_record *older, *newer; /* neighbours in the list of all records, sorted by age */
    /* number of members of the record's set, not counting the first member */
    size_t more;
};

struct sl_records {
    struct sl_streams *streams;
    struct sl_pool pool;
    struct sl_map by_sync, by_event;
    /* maps an event id to the context of the event's last record; used if records have no sync id
     */
    struct sl_map context_of;
    struct sl_record *oldest, *newest;
    size_t count, more; /* `count`: number of records; `more`: sum of the fields `more` of all
                         * records */
    size_t most;        /* limit for the sum of `count` and `more` */
    int forgot;         /* 1: some records were forgotten for lack of room */
    /* correlation id of the last call that recorded an event without a record that names the event;
     * 0 if there is none */
    uint64_t unnamed;
};

void sl_records_init(struct sl_records *r, struct sl_streams *streams);
void sl_records_free(struct sl_records *r);

/* Forgets all records. */
void sl_records_forget(struct sl_records *r);

/* Adds a record with an empty set. Returns 0, -EEXIST if the record is known already, or -ENOMEM if
 * the memory cap is reached. Returns -EINVAL if the record has neither a sync id nor an event id,
 * because no wait can then refer to the record. */
int sl_records_put(struct sl_records *r, uint32_t context, uint32_t event_id, uint64_t sync_id,
                   const struct sl_moment *by, struct sl_record **out);

/* Moves the set into the new record. If the sets grow too large, the oldest records are forgotten.
 */
void sl_records_fill(struct sl_records *r, struct sl_record *record, const struct sl_set *set);

/* Returns 1 if at least one record of the event is stored. */
int sl_records_has(const struct sl_records *r, uint32_t context, uint32_t event_id);

/* Returns the record that a wait refers to, or NULL if no such record was seen. Sets *overlaps if
 * the wait may refer to another record, because some of the calls known so far overlap. */
const struct sl_record *sl_records_find(const struct sl_records *r, uint32_t context,
                                        uint32_t event_id, uint64_t sync_id,
                                        const struct sl_moment *when, int *overlaps);

/* Returns 1 if an event with this id was recorded in another context and no sync id says which
 * record is meant. CUDA does not document whether events of different contexts may have the same
 * id. */
int sl_records_elsewhere(const struct sl_records *r, uint32_t context, uint32_t event_id);

#endif
