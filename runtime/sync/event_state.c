/*
 * event_state.c - keeps the set of operations that each CUDA event represented when it was
 * recorded.
 *
 * Threads: only the thread that owns the engine (edge.h). Memory: the records, their sets and the
 * maps that find them.
 */
#include "sync/event_state.h"

#include <errno.h>

void sl_records_init(struct sl_records *r, struct sl_streams *streams)
{
    struct sl_store *store = streams->store;

    *r = (struct sl_records){.streams = streams};
    sl_pool_init(&r->pool, store, sizeof(struct sl_record));
    sl_map_init(&r->by_sync, store);
    sl_map_init(&r->by_event, store);
    sl_map_init(&r->context_of, store);
    r->most = store->cap_bytes / 4 /
              (sizeof(struct sl_record) + sizeof(struct sl_link) + sizeof(struct sl_op));
}

void sl_records_free(struct sl_records *r)
{
    sl_pool_free(&r->pool);
    sl_map_free(&r->by_sync);
    sl_map_free(&r->by_event);
    sl_map_free(&r->context_of);
}

static uint64_t event_key(uint32_t context, uint32_t event_id)
{
    return event_id ? (uint64_t)context << 32 | event_id : 0;
}

/* Removes the record from the chain of its event. A chain has at most two records. */
static void leave_event(struct sl_records *r, struct sl_record *record)
{
    struct sl_record *newest = sl_map_get(&r->by_event, record->event);

    if (newest && newest->previous == record)
        newest->previous = NULL;
    else if (newest == record && record->previous)
        *sl_map_find(&r->by_event, record->event) = (uintptr_t)record->previous;
    else if (newest == record) {
        sl_map_drop(&r->by_event, record->event);
        sl_map_drop(&r->context_of, (uint32_t)record->event);
    }
}

static void forget(struct sl_records *r, struct sl_record *record)
{
    leave_event(r, record);
    if (record->sync_id)
        sl_map_drop(&r->by_sync, record->sync_id);
    *(record->older ? &record->older->newer : &r->oldest) = record->newer;
    *(record->newer ? &record->newer->older : &r->newest) = record->older;
    sl_set_clear(r->streams, &record->set);
    r->more -= record->more;
    sl_pool_put(&r->pool, record);
    r->count--;
}

/* Forgets the oldest record, unless it is also the newest record. */
static void forget_oldest(struct sl_records *r)
{
    while (r->count + r->more > r->most && r->count > 1) {
        r->forgot = 1;
        forget(r, r->oldest);
    }
}

void sl_records_forget(struct sl_records *r)
{
    while (r->oldest)
        forget(r, r->oldest);
    r->unnamed = 0;
}

static void come_behind(struct sl_record *record, const struct sl_record *earlier)
{
    if (earlier)
        record->before_ns =
            sl_later(record->before_ns, sl_later(earlier->before_ns, earlier->by.to_ns));
}

static int join_event(struct sl_records *r, struct sl_record *record)
{
    uint64_t *place = record->event ? sl_map_put(&r->by_event, record->event) : NULL;
    struct sl_record *newest;

    if (!place)
        return record->event ? -1 : 0;
    newest = (struct sl_record *)(uintptr_t)*place;
    if (newest && sl_moment_precedes(&record->by, &newest->by)) {
        /* The new record arrived after a later record of the same event. */
        record->previous = newest->previous;
        newest->previous = record;
        come_behind(newest, record);
    } else {
        record->previous = newest;
        *place = (uintptr_t)record;
    }
    come_behind(record, record->previous);
    return 0;
}

static void keep_two(struct sl_records *r, uint64_t event)
{
    struct sl_record *newest = sl_map_get(&r->by_event, event), *third;

    third = newest && newest->previous ? newest->previous->previous : NULL;
    if (!third)
        return;
    newest->previous->previous = NULL;
    third->event = 0;
    forget(r, third);
}

static void note_context(struct sl_records *r, uint32_t context, uint32_t event_id)
{
    uint64_t *place = sl_map_put(&r->context_of, event_id);

    if (place)
        *place = context;
}

int sl_records_elsewhere(const struct sl_records *r, uint32_t context, uint32_t event_id)
{
    const uint64_t *place = event_id ? sl_map_find(&r->context_of, event_id) : NULL;

    return place && *place != context;
}

int sl_records_has(const struct sl_records *r, uint32_t context, uint32_t event_id)
{
    return sl_map_get(&r->by_event, event_key(context, event_id)) != NULL;
}

int sl_records_put(struct sl_records *r, uint32_t context, uint32_t event_id, uint64_t sync_id,
                   const struct sl_moment *by, struct sl_record **out)
{
    uint64_t event = event_key(context, event_id);
    uint64_t *by_sync = sync_id ? sl_map_put(&r->by_sync, sync_id) : NULL;
    struct sl_record *newest = sl_map_get(&r->by_event, event), *record;

    if (!sync_id && !event)
        return -EINVAL;
    if (sync_id && !by_sync)
        return -ENOMEM;
    if (sync_id ? *by_sync != 0 : newest && newest->by.correlation == by->correlation)
        return -EEXIST;
    record = sl_pool_get(&r->pool);
    if (!record)
        goto fail;
    *record = (struct sl_record){.sync_id = sync_id, .event = event, .by = *by, .older = r->newest};
    if (join_event(r, record) != 0) {
        sl_pool_put(&r->pool, record);
        goto fail;
    }
    if (by_sync)
        *by_sync = (uintptr_t)record;
    else
        note_context(r, context, event_id);
    *(r->newest ? &r->newest->newer : &r->oldest) = record;
    r->newest = record;
    r->count++;
    keep_two(r, event);
    forget_oldest(r);
    *out = record;
    return 0;

fail:
    if (sync_id)
        sl_map_drop(&r->by_sync, sync_id);
    return -ENOMEM;
}

void sl_records_fill(struct sl_records *r, struct sl_record *record, const struct sl_set *set)
{
    record->set = *set;
    for (const struct sl_link *at = set->first; at && at->next; at = at->next)
        record->more++;
    r->more += record->more;
    forget_oldest(r);
}

/* Returns 1 if the call of an earlier record had not returned when this record's call began. Then
 * the earlier call may have recorded the event last. */
static int overlaps_earlier(const struct sl_record *record)
{
    return record->by.to_ns && record->before_ns > record->by.from_ns;
}

const struct sl_record *sl_records_find(const struct sl_records *r, uint32_t context,
                                        uint32_t event_id, uint64_t sync_id,
                                        const struct sl_moment *when, int *overlaps)
{
    const struct sl_record *record;

    if (sync_id)
        return sl_map_get(&r->by_sync, sync_id);
    record = sl_map_get(&r->by_event, event_key(context, event_id));
    for (; record && sl_moment_precedes(when, &record->by); record = record->previous)
        *overlaps |= sl_moments_overlap(&record->by, when);
    if (record)
        *overlaps |= sl_moments_overlap(&record->by, when) || overlaps_earlier(record);
    return record;
}
