/*
 * wait.c - rows of waits for events, which name the cudaEventRecord they wait for.
 *
 * The record may come after the wait, a buffer later when another thread made it. So a wait that
 * cannot name its record is held back until all that ended before it has come.
 *
 * Entered by the writer's owner alone; memory is the writer's.
 */
#include <string.h>

#include "write/kineto/kineto_internal.h"

/* By what a wait and its record know each other. An event's id is used again at each record; the
 * bit keeps it apart from sync ids, and a collision only costs a second look. */
static uint64_t key_of(const struct sl_event *ev)
{
    const uint64_t by_event_id = (uint64_t)1 << 63;

    return ev->u.sync.event_sync_id
               ? ev->u.sync.event_sync_id
               : by_event_id | ((uint64_t)ev->context << 32 ^ ev->u.sync.event_id);
}

static void put(struct sl_kineto *k, const struct sl_kineto_wait *wait)
{
    sl_kineto_put_sync(k, &wait->sync, wait->record.correlation ? &wait->record : NULL);
}

/* Writes the waits that ended by `until_ns`, of the first `most`. */
static void put_ended(struct sl_kineto *k, unsigned most, uint64_t until_ns)
{
    unsigned kept = 0;

    for (unsigned i = 0; i < k->waits; i++) {
        if (i < most && k->wait[i].sync.end_ns <= until_ns) {
            put(k, &k->wait[i]);
            continue;
        }
        k->wait[kept] = k->wait[i];
        k->wait_key[kept++] = k->wait_key[i];
    }
    k->waits = kept;
}

void sl_kineto_put_waits(struct sl_kineto *k, uint64_t until_ns)
{
    put_ended(k, k->waits, until_ns);
}

void sl_kineto_wait(struct sl_kineto *k, const struct sl_event *ev)
{
    const struct sl_event_record *record = sl_event_join_find(k->join, ev);
    struct sl_kineto_wait *wait;

    if (record && ev->u.sync.event_sync_id) {
        sl_kineto_put_sync(k, ev, record);
        return;
    }
    if (k->waits == SL_KINETO_WAITS)
        put_ended(k, SL_KINETO_WAITS / 2, UINT64_MAX);
    k->wait_key[k->waits] = key_of(ev);
    wait = &k->wait[k->waits++];
    wait->sync = *ev;
    /* By the event's id alone: a later record, still before the wait, may come. */
    wait->record = record ? *record : (struct sl_event_record){0};
}

/* Of records that are known by their event alone the last one before the wait counts. */
static void take_later(struct sl_kineto_wait *wait, const struct sl_event *ev)
{
    const struct sl_event_record record = {
        0, ev->correlation, ev->context, ev->u.sync.event_id, ev->stream, 0};

    if (sl_event_join_fits(&record, &wait->sync) && record.correlation > wait->record.correlation)
        wait->record = record;
}

void sl_kineto_cuda_event(struct sl_kineto *k, const struct sl_event *ev)
{
    uint64_t key = key_of(ev);

    sl_event_join_record(k->join, ev);
    for (unsigned i = 0; i < k->waits; i++) {
        struct sl_kineto_wait *wait = &k->wait[i];
        const struct sl_event_record *record;

        if (k->wait_key[i] != key)
            continue;
        if (!ev->u.sync.event_sync_id) {
            take_later(wait, ev);
            continue;
        }
        if (!(record = sl_event_join_find(k->join, &wait->sync)))
            continue;
        wait->record = *record;
        put(k, wait);
        k->waits--;
        memmove(wait, wait + 1, (k->waits - i) * sizeof(*wait));
        memmove(&k->wait_key[i], &k->wait_key[i + 1], (k->waits - i) * sizeof(k->wait_key[0]));
        i--;
    }
}
