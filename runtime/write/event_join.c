/*
 * event_join.c - which cudaEventRecord did a wait wait for?
 *
 * Threads: one owner. Memory: the owner's, fixed.
 */
#include "write/event_join.h"

#include <stddef.h>

static size_t slot_of_event(uint32_t context, uint32_t event_id)
{
    uint64_t h = ((uint64_t)context << 32 | event_id) * 0x9e3779b97f4a7c15u;

    return (h >> 32) % (SL_JOIN_RECORDS / SL_JOIN_RECENT);
}

void sl_event_join_record(struct sl_event_join *j, const struct sl_event *ev)
{
    const struct sl_event_record record = {ev->u.sync.event_sync_id, ev->correlation, ev->context,
                                           ev->u.sync.event_id, ev->stream};
    struct sl_event_record *recent, *oldest;
    size_t i;

    if (record.sync_id) {
        /* Sync ids count up: the last SL_JOIN_RECORDS of them are there. */
        j->by_sync_id[record.sync_id % SL_JOIN_RECORDS] = record;
        return;
    }
    recent = j->by_event[slot_of_event(record.context, record.event_id)];
    oldest = &recent[0];
    for (i = 1; i < SL_JOIN_RECENT; i++)
        if (recent[i].correlation < oldest->correlation)
            oldest = &recent[i];
    if (record.correlation > oldest->correlation)
        *oldest = record;
}

const struct sl_event_record *sl_event_join_find(const struct sl_event_join *j,
                                                 const struct sl_event *sync)
{
    const struct sl_event_record *record, *best = NULL;
    uint64_t sync_id = sync->u.sync.event_sync_id;
    size_t i;

    if (sync_id) {
        record = &j->by_sync_id[sync_id % SL_JOIN_RECORDS];
        return record->sync_id == sync_id ? record : NULL;
    }
    record = j->by_event[slot_of_event(sync->context, sync->u.sync.event_id)];
    for (i = 0; i < SL_JOIN_RECENT; i++, record++)
        if (record->correlation && record->context == sync->context &&
            record->event_id == sync->u.sync.event_id && record->correlation < sync->correlation &&
            (!best || record->correlation > best->correlation))
            best = record;
    return best;
}
