/*
 * event_join.c - finds the cudaEventRecord that a wait was for.
 *
 * Threads: one owner. Memory: fixed; the owner provides it.
 */
#include "write/event_join.h"

#include <stddef.h>

enum {
    /* Maximum number of steps of a search. While a wait is held, its event may be recorded many
     * times, and the search skips these records. */
    MOST_STEPS = 4096,
    /* Number of records after the first fitting record at which the search ends. Records arrive
     * nearly in order, so a better record is not far away. */
    STEPS_BEHIND = 256,
};

static size_t chain_of(uint32_t context, uint32_t event_id)
{
    uint64_t h = ((uint64_t)context << 32 | event_id) * 0x9e3779b97f4a7c15u;

    return (h >> 32) % SL_JOIN_EVENTS;
}

void sl_event_join_record(struct sl_event_join *j, const struct sl_event *ev)
{
    struct sl_event_record record = {ev->u.sync.event_sync_id, ev->correlation, ev->context,
                                     ev->u.sync.event_id,      ev->stream,      0};
    uint32_t *newest;

    if (record.sync_id) {
        /* Sync ids count up, so the array keeps the records with the last SL_JOIN_RECORDS ids. */
        j->by_sync_id[record.sync_id % SL_JOIN_RECORDS] = record;
        return;
    }
    newest = &j->newest[chain_of(record.context, record.event_id)];
    record.older = *newest;
    *newest = ++j->count;
    j->last[*newest % SL_JOIN_RECORDS] = record;
}

int sl_event_join_fits(const struct sl_event_record *record, const struct sl_event *sync)
{
    return record->context == sync->context && record->event_id == sync->u.sync.event_id &&
           record->correlation < sync->correlation;
}

const struct sl_event_record *sl_event_join_find(const struct sl_event_join *j,
                                                 const struct sl_event *sync)
{
    const struct sl_event_record *record, *best = NULL;
    uint64_t sync_id = sync->u.sync.event_sync_id;
    uint32_t number, left = MOST_STEPS;

    if (sync_id) {
        record = &j->by_sync_id[sync_id % SL_JOIN_RECORDS];
        return record->sync_id == sync_id ? record : NULL;
    }
    number = j->newest[chain_of(sync->context, sync->u.sync.event_id)];
    for (; number && j->count - number < SL_JOIN_RECORDS && left; left--) {
        record = &j->last[number % SL_JOIN_RECORDS];
        number = record->older;
        if (!sl_event_join_fits(record, sync) || (best && record->correlation < best->correlation))
            continue;
        if (!best && left > STEPS_BEHIND)
            left = STEPS_BEHIND;
        best = record;
    }
    return best;
}
