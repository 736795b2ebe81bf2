/*
 * event_state.h - what each CUDA event stood for when it was recorded.
 *
 * A record is found by its cudaEventSyncId, or where there is none (CUPTI below 12.8) by the
 * event's id and the last record before the call that asks, in order of entry: which was the last,
 * is not known where those calls truly overlapped. An event recorded anew keeps its last two
 * records, since a wait of another thread may still name the one before.
 *
 * Threads: the engine's owner alone. Memory: a pool of the store, at most a quarter of it; past
 * that the oldest records are forgotten.
 */
#ifndef SL_EVENT_STATE_H
#define SL_EVENT_STATE_H

#include "sync/stream_state.h"

struct sl_record {
    struct sl_set set;
    uint64_t sync_id; /* 0: none */
    uint64_t event;   /* key of the event; 0: none */
    struct sl_moment by;
    uint64_t before_ns;              /* when all earlier records of the event had returned */
    struct sl_record *previous;      /* of the same event */
    struct sl_record *older, *newer; /* of all */
    size_t more;                     /* members of its set, but for the first */
};

struct sl_records {
    struct sl_streams *streams;
    struct sl_pool pool;
    struct sl_map by_sync, by_event;
    struct sl_map context_of; /* event id -> the context of its last record, where ids are all */
    struct sl_record *oldest, *newest;
    size_t count, more; /* of all of them */
    size_t most;        /* of both together */
    int forgot;         /* some, for want of room */
    uint64_t unnamed;   /* the last call that recorded an event, nobody knows which; 0: none */
};

void sl_records_init(struct sl_records *r, struct sl_streams *streams);
void sl_records_free(struct sl_records *r);

/* No event's record is known any more. */
void sl_records_forget(struct sl_records *r);

/* A new record, its set empty. 0; -EEXIST: it is known already; -EINVAL: nothing names it, so that
 * nobody can wait for it; -ENOMEM: past the cap. */
int sl_records_put(struct sl_records *r, uint32_t context, uint32_t event_id, uint64_t sync_id,
                   const struct sl_moment *by, struct sl_record **out);

/* Takes what the new record stands for. If that is much, the oldest records are forgotten. */
void sl_records_fill(struct sl_records *r, struct sl_record *record, const struct sl_set *set);

/* Some record of the event is known. */
int sl_records_has(const struct sl_records *r, uint32_t context, uint32_t event_id);

/* NULL when it was never seen. `*overlaps` is set if it may have been another one: of the calls
 * that are known so far some truly overlap. */
const struct sl_record *sl_records_find(const struct sl_records *r, uint32_t context,
                                        uint32_t event_id, uint64_t sync_id,
                                        const struct sl_moment *when, int *overlaps);

/* The event was recorded in another context than this one, and nothing tells which record is meant:
 * whether events of different contexts may have the same id stands nowhere. */
int sl_records_elsewhere(const struct sl_records *r, uint32_t context, uint32_t event_id);

#endif
