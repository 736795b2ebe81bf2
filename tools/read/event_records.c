/*
 * event_records.c - finds the record that a wait for an event means.
 *
 * Threads, memory: see event_records.h.
 */
#include "read/event_records.h"

static uint64_t key_of(const struct sl_event *ev)
{
    return (uint64_t)ev->context << 32 | ev->u.sync.event_id;
}

static size_t place_of(uint64_t key)
{
    return (key * 0x9e3779b97f4a7c15u >> 32) % SL_EVENT_RECORDS;
}

void sl_event_records_see(struct sl_event_records *r, const struct sl_event *ev, int is_row)
{
    switch (ev->kind) {
    case SL_EV_CUDA_EVENT:
        *(is_row ? &r->has_rows : &r->has_named) = 1;
        break;
    case SL_EV_RUNTIME:
    case SL_EV_DRIVER:
        r->several |= r->has_thread && ev->thread != r->thread;
        r->thread = ev->thread;
        r->has_thread = 1;
        break;
    default:
        if (!r->has_operation)
            r->operation = *ev;
        r->several |= ev->stream != r->operation.stream || ev->context != r->operation.context;
        r->has_operation = 1;
        break;
    }
}

/* Returns whether the file names no record, so that the records of its only stream are made. */
static int is_made(const struct sl_event_records *r)
{
    return !r->has_rows && !r->has_named && !r->several && r->has_operation;
}

void sl_event_records_record(struct sl_event_records *r, const struct sl_event *ev)
{
    uint64_t key = key_of(ev);

    if (!ev->u.sync.event_id)
        return;
    r->recent[place_of(key)].event = key;
    r->recent[place_of(key)].correlation = ev->correlation;
}

/* Returns whether the call is cudaEventRecord, cuEventRecord or one of their variants. */
static int is_record(const struct sl_event *call)
{
    static const uint16_t runtime[] = {135, 242, 370, 371}, driver[] = {119, 441, 587, 588};
    const uint16_t *id = call->kind == SL_EV_RUNTIME ? runtime : driver;

    for (size_t i = 0; i < sizeof(runtime) / sizeof(*runtime); i++)
        if (call->u.call.cbid == id[i])
            return call->u.call.result == 0;
    return 0;
}

int sl_event_records_call(struct sl_event_records *r, const struct sl_event *call,
                          struct sl_event *made)
{
    if (!is_made(r) || !is_record(call))
        return 0;
    r->last = call->correlation;
    *made = (struct sl_event){.kind = SL_EV_CUDA_EVENT,
                              .flags = SL_EVF_NO_TIME,
                              .correlation = call->correlation,
                              .device = r->operation.device,
                              .context = r->operation.context,
                              .stream = r->operation.stream};
    made->u.sync.event_sync_id = call->correlation;
    return 1;
}

void sl_event_records_wait(struct sl_event_records *r, struct sl_event *wait, int has_all)
{
    uint64_t key = key_of(wait), found = 0;

    if ((wait->u.sync.type != SL_SYNC_EVENT && wait->u.sync.type != SL_SYNC_STREAM_WAIT) ||
        wait->u.sync.event_sync_id)
        return;
    if (r->has_rows && wait->u.sync.event_id && r->recent[place_of(key)].event == key)
        found = r->recent[place_of(key)].correlation;
    if (is_made(r) && wait->u.sync.type == SL_SYNC_EVENT) {
        found = r->last;
        wait->flags |= SL_EVF_GUESSED;
    }
    wait->u.sync.event_sync_id = found;
    /* A wait with an error waited for nothing. */
    if (!found && has_all && ((r->has_rows && wait->u.sync.event_id) || is_made(r)))
        wait->u.sync.result = 1;
}
