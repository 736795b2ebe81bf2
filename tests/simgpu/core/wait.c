/*
 * wait.c - calls that wait for the GPU or query its progress. For each call: the set of awaited
 * operations, the sleep, the synchronization record, and the line of the truth file.
 *
 * Application threads. The set contains only operations that were enqueued before the call. It is
 * collected once, under the lock, when the call begins.
 */
#include "core/sim.h"

enum sync_type { /* CUpti_ActivitySynchronizationType */
    SYNC_EVENT = 1,
    SYNC_STREAM_WAIT = 2,
    SYNC_STREAM = 3,
    SYNC_CONTEXT = 4
};

static int sticky_of(struct sim_context *context)
{
    sim_lock();
    int error = context->sticky;

    sim_unlock();
    return error;
}

static void record(enum sync_type type, const struct sim_truth_wait *wait)
{
    const struct sim_probe *probe = sim_probe_get();

    if (probe && probe->synchronized) {
        probe->synchronized(&(struct sim_sync){.type = type,
                                               .correlation = sim_correlation_of_thread(),
                                               .context = wait->context,
                                               .stream = wait->stream,
                                               .event_id = wait->event,
                                               .event_sync_id = wait->sync_id,
                                               .result = (uint32_t)wait->result,
                                               .start_ns = wait->start_ns,
                                               .end_ns = wait->end_ns});
    }
}

/* Waits, writes the truth, and returns the context's error. Consumes the set. */
static int finish_wait(struct sim_truth_wait *wait, struct sim_set *set,
                       struct sim_context *context)
{
    wait->set = set;
    sim_schedule_wait(set);
    wait->result = sticky_of(context);
    wait->end_ns = sim_now_ns();
    if (sim_truth_on) {
        sim_truth_wait(wait);
    }
    sim_set_clear(set);
    return wait->result;
}

static int finish_query(struct sim_truth_wait *wait, struct sim_set *set,
                        struct sim_context *context)
{
    sim_progress();
    sim_lock();
    bool ended = sim_schedule_ended(set, sim_now_ns());

    wait->set = set;
    wait->result = context->sticky ? context->sticky : ended ? SIM_OK : SIM_E_NOT_READY;
    wait->end_ns = sim_now_ns();
    if (sim_truth_on) {
        /* The truth is written under the lock, because other threads may compute the times of
         * pending operations at any moment. */
        sim_truth_wait(wait);
    }
    sim_unlock();
    sim_set_clear(set);
    return wait->result;
}

static void tails_of(struct sim_context *context, struct sim_set *set)
{
    sim_lock();
    for (struct sim_stream *stream = context->streams; stream; stream = stream->ctx_next) {
        sim_set_merge_tail(set, &stream->tail, stream, true, NULL);
    }
    for (struct sim_stream *stream = context->streams; stream; stream = stream->ctx_next) {
        sim_set_merge_tail(set, &stream->tail, stream, false, NULL);
    }
    sim_unlock();
}

int sim_context_synchronize(struct sim_context *context)
{
    int error = sim_capture_guard(NULL);

    if (error) {
        return error;
    }
    const struct sim_call *call = sim_thread_self()->call;
    struct sim_truth_wait wait = {.kind = call && call->domain == SIM_DRIVER ? "context_sync"
                                                                             : "device_sync",
                                  .context = context->id,
                                  .stream = SIM_NONE,
                                  .event = SIM_NONE,
                                  .start_ns = sim_now_ns()};
    struct sim_set set = {0};

    tails_of(context, &set);
    finish_wait(&wait, &set, context);
    record(SYNC_CONTEXT, &wait);
    return wait.result;
}

int sim_context_wait_all(struct sim_context *context, const char *kind)
{
    struct sim_truth_wait wait = {.kind = kind,
                                  .context = context->id,
                                  .stream = SIM_NONE,
                                  .event = SIM_NONE,
                                  .start_ns = sim_now_ns()};
    struct sim_set set = {0};

    tails_of(context, &set);
    return finish_wait(&wait, &set, context);
}

static int on_stream(struct sim_stream *stream, const char *kind, bool query, bool recorded)
{
    int error = sim_capture_guard(stream);

    if (error) {
        return error;
    }
    struct sim_truth_wait wait = {.kind = kind,
                                  .context = stream->context->id,
                                  .stream = stream->id,
                                  .event = SIM_NONE,
                                  .start_ns = sim_now_ns()};
    struct sim_context *context = stream->context;
    struct sim_set set = {0};

    sim_lock();
    if (recorded && !stream->legacy) {
        /* A synchronize of a blocking stream does not wait for the legacy stream. Only more work on
         * the blocking stream is ordered after the legacy stream (seen on an H200). */
        sim_set_merge_as_is(&set, &stream->tail);
    } else {
        sim_stream_collect(stream, &set);
    }
    sim_unlock();
    if (query) {
        finish_query(&wait, &set, context);
    } else {
        finish_wait(&wait, &set, context);
    }
    if (recorded) {
        record(SYNC_STREAM, &wait);
    }
    return wait.result;
}

int sim_stream_synchronize(struct sim_stream *stream)
{
    return on_stream(stream, "stream_sync", false, true);
}

int sim_stream_query(struct sim_stream *stream)
{
    return on_stream(stream, "stream_query", true, true);
}

int sim_wait_stream(struct sim_stream *stream, const char *kind)
{
    return on_stream(stream, kind, false, false);
}

int sim_wait_op(struct op *op, const char *kind)
{
    struct sim_truth_wait wait = {.kind = kind,
                                  .context = op->pub.context,
                                  .stream = op->pub.stream,
                                  .event = SIM_NONE,
                                  .start_ns = sim_thread_self()->call->start_ns};
    struct sim_context *context = op->context;
    struct sim_set set = {0};

    sim_set_add(&set, op, SIM_VIA_STREAM, 0);
    sim_op_unref(&op->pub);
    return finish_wait(&wait, &set, context);
}

/* Waits for the operations that the event's last record before this call depends on. */
static int on_event(struct sim_event *event, bool query)
{
    if (!sim_event_valid(event)) {
        return SIM_E_HANDLE;
    }
    struct sim_truth_wait wait = {.kind = query ? "event_query" : "event_sync",
                                  .context = event->context->id,
                                  .stream = SIM_NONE,
                                  .event = event->id,
                                  .start_ns = sim_now_ns()};
    struct sim_set set = {0};

    sim_lock();
    if (event->capture) {
        sim_unlock();
        return SIM_E_CAPTURED_EVENT;
    }
    wait.sync_id = event->sync_id;
    sim_set_merge_as_is(&set, &event->set);
    sim_unlock();
    if (query) {
        finish_query(&wait, &set, event->context);
    } else {
        finish_wait(&wait, &set, event->context);
    }
    record(SYNC_EVENT, &wait);
    return wait.result;
}

int sim_event_synchronize(struct sim_event *event)
{
    return on_event(event, false);
}

int sim_event_query(struct sim_event *event)
{
    return on_event(event, true);
}

int sim_stream_wait_event(struct sim_stream *stream, struct sim_event *event, unsigned flags)
{
    struct sim_truth_wait wait = {.kind = "stream_wait", .start_ns = sim_now_ns()};
    struct sim_set set = {0};

    if (flags & ~1u) {
        return SIM_E_VALUE;
    }
    if (!sim_event_valid(event)) {
        return SIM_E_HANDLE;
    }
    sim_lock();
    if (event->capture || stream->capture) {
        int error = sim_capture_wait(stream, event);

        sim_unlock();
        return error;
    }
    wait.sync_id = event->sync_id;
    sim_set_merge_as_is(&set, &event->set);
    sim_stream_follow(stream, &set, SIM_VIA_STREAM_WAIT, sim_call_correlation());
    sim_unlock();
    wait.context = stream->context->id;
    wait.stream = stream->id;
    wait.event = event->id;
    wait.end_ns = sim_now_ns();
    if (sim_truth_on) {
        sim_truth_follow(&wait);
    }
    sim_set_clear(&set);
    record(SYNC_STREAM_WAIT, &wait);
    return SIM_OK;
}
