/*
 * event.c - events. Recording an event copies the set of operations that the event's stream would
 * have to follow now. A wait for an event that was never recorded waits for nothing.
 *
 * Any thread. A destroyed event loses its magic number, and a new event may use its memory.
 */
#include <stdlib.h>

#include "core/graph.h"

enum {
    MAGIC = 0xe7e47001,
    KNOWN_FLAGS = 7
};

static struct sim_event *spare, *all;
static uint32_t last_id;
static uint64_t last_sync_id;

bool sim_event_valid(const struct sim_event *event)
{
    return event && event->magic == MAGIC;
}

int sim_event_create(struct sim_context *context, uint32_t flags, struct sim_event **out)
{
    if (flags & ~(uint32_t)KNOWN_FLAGS) {
        return SIM_E_VALUE;
    }
    sim_lock();
    struct sim_event *event = spare;

    if (event) {
        spare = event->next;
    } else {
        event = sim_keep(sizeof *event);
        if (event) {
            event->all_next = all;
            all = event;
        }
    }
    if (event) {
        *event = (struct sim_event){.magic = MAGIC,
                                    .id = ++last_id,
                                    .flags = flags,
                                    .context = context,
                                    .all_next = event->all_next};
        *out = event;
    }
    sim_unlock();
    return event ? SIM_OK : SIM_E_MEMORY;
}

/* Called when a capture ends. Events that were recorded in the capture become events that were
 * never recorded. */
void sim_event_leave_capture(const struct sim_capture *capture)
{
    for (struct sim_event *event = all; event; event = event->all_next) {
        if (event->magic == MAGIC && event->capture == capture) {
            sim_capture_forget(event);
        }
    }
}

int sim_event_destroy(struct sim_event *event)
{
    if (!sim_event_valid(event)) {
        return SIM_E_HANDLE;
    }
    sim_lock();
    event->magic = 0;
    sim_capture_forget(event);
    sim_set_clear(&event->set);
    event->next = spare;
    spare = event;
    sim_unlock();
    return SIM_OK;
}

struct sim_event_record sim_event_fill(struct sim_event *event, uint32_t context, uint32_t stream,
                                       struct sim_set *set)
{
    uint64_t now = sim_now_ns();

    sim_capture_forget(event);
    sim_set_clear(&event->set);
    sim_set_merge_as_is(&event->set, set);
    sim_set_clear(set);
    event->recorded = true;
    event->recorded_ns = now;
    event->stream = stream;
    event->sync_id = ++last_sync_id;
    struct sim_event_record record = {.correlation = sim_correlation_of_thread(),
                                      .context = context,
                                      .stream = stream,
                                      .event_id = event->id,
                                      .event_sync_id = event->sync_id};

    if (sim_schedule_ended(&event->set, UINT64_MAX)) {
        record.device_ns = now;
        for (int i = 0; i < event->set.n; i++) {
            if (event->set.link[i].op->pub.end_ns > record.device_ns) {
                record.device_ns = event->set.link[i].op->pub.end_ns;
            }
        }
    }
    if (sim_truth_on) {
        sim_truth_event(&record, &event->set);
    }
    return record;
}

void sim_event_tell(const struct sim_event_record *record)
{
    const struct sim_probe *probe = sim_probe_get();

    if (probe && probe->event_recorded) {
        probe->event_recorded(record);
    }
}

int sim_event_record(struct sim_event *event, struct sim_stream *stream, unsigned flags)
{
    struct sim_set set = {0};

    if (flags & ~1u) {
        return SIM_E_VALUE;
    }
    if (!sim_event_valid(event) || event->context != stream->context) {
        return SIM_E_HANDLE;
    }
    sim_lock();
    if (stream->capture) {
        int error = sim_capture_record(stream, event);

        sim_unlock();
        return error;
    }
    sim_stream_collect(stream, &set);
    struct sim_event_record record = sim_event_fill(event, stream->context->id, stream->id, &set);

    sim_unlock();
    sim_event_tell(&record);
    return SIM_OK;
}

/* Sets *ns to the time at which the GPU reached the event record: the end of the last operation of
 * the event's set, or the time of the recording call if the stream was idle. Returns whether this
 * time has passed. */
static bool reached(const struct sim_event *event, uint64_t *ns)
{
    *ns = event->recorded_ns;
    for (int i = 0; i < event->set.n; i++) {
        if (event->set.link[i].op->pub.end_ns > *ns) {
            *ns = event->set.link[i].op->pub.end_ns;
        }
    }
    return sim_schedule_ended(&event->set, sim_now_ns());
}

int sim_event_elapsed(float *ms, struct sim_event *start, struct sim_event *end)
{
    uint64_t from, to;

    if (!sim_event_valid(start) || !sim_event_valid(end)) {
        return SIM_E_HANDLE;
    }
    sim_lock();
    bool timing =
        !((start->flags | end->flags) & SIM_EVENT_NO_TIMING) && start->recorded && end->recorded;
    bool ready = timing && reached(start, &from) && reached(end, &to);

    sim_unlock();
    if (!timing) {
        return SIM_E_HANDLE;
    }
    if (!ready) {
        return SIM_E_NOT_READY;
    }
    *ms = (float)((double)(int64_t)(to - from) / 1e6);
    return SIM_OK;
}
