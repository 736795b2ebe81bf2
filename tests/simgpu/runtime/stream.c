/*
 * stream.c - the runtime's streams, events and host callbacks.
 *
 * Application threads.
 */
#include "runtime/call.h"

static int create(struct sim_stream **out, unsigned flags, int priority)
{
    struct sim_context *context;

    if (!out) {
        return SIM_E_VALUE;
    }
    int error = sim_context_current(&context);

    return error ? error : sim_stream_create(context, flags, priority, out);
}

static int destroy(void *handle)
{
    struct sim_stream *stream;

    if ((uintptr_t)handle <= 2) {
        return SIM_E_HANDLE;
    }
    int error = sim_stream_resolve(handle, &stream);

    return error ? error : sim_stream_destroy(stream);
}

static int synchronize(void *handle)
{
    struct sim_stream *stream;
    int error = sim_stream_resolve(handle, &stream);

    return error ? error : sim_stream_synchronize(stream);
}

static int query(void *handle)
{
    struct sim_stream *stream;
    int error = sim_stream_resolve(handle, &stream);

    return error ? error : sim_stream_query(stream);
}

static int wait_event(void *handle, struct sim_event *event, unsigned flags)
{
    struct sim_stream *stream;
    int error = sim_stream_resolve(handle, &stream);

    return error ? error : sim_stream_wait_event(stream, event, flags);
}

enum fact {
    FACT_FLAGS,
    FACT_PRIORITY,
    FACT_ID,
    FACT_DEVICE
};

static int ask(void *handle, enum fact fact, void *out)
{
    struct sim_stream *stream;
    int error = out ? sim_stream_resolve(handle, &stream) : SIM_E_VALUE;

    if (error) {
        return error;
    }
    switch (fact) {
    case FACT_FLAGS:
        *(unsigned *)out = stream->flags;
        break;
    case FACT_PRIORITY:
        *(int *)out = stream->priority;
        break;
    case FACT_ID:
        *(unsigned long long *)out = stream->id;
        break;
    case FACT_DEVICE:
        *(int *)out = (int)stream->context->device;
        break;
    }
    return SIM_OK;
}

RUNTIME(cudaStreamCreate, v3020, (struct sim_stream * *out), create(out, 0, 0))
RUNTIME(cudaStreamCreateWithFlags, v5000, (struct sim_stream * *out, unsigned flags),
        create(out, flags, 0))
RUNTIME(cudaStreamCreateWithPriority, v5050,
        (struct sim_stream * *out, unsigned flags, int priority), create(out, flags, priority))
RUNTIME(cudaStreamDestroy, v5050, (void *stream), destroy(stream))
RUNTIME_STREAM(cudaStreamSynchronize, v3020, ptsz, v7000, (void *stream), synchronize(stream))
RUNTIME_STREAM(cudaStreamQuery, v3020, ptsz, v7000, (void *stream), query(stream))
RUNTIME_STREAM(cudaStreamWaitEvent, v3020, ptsz, v7000,
               (void *stream, struct sim_event *event, unsigned flags),
               wait_event(stream, event, flags))
RUNTIME_STREAM(cudaStreamGetFlags, v5050, ptsz, v7000, (void *stream, unsigned *flags),
               ask(stream, FACT_FLAGS, flags))
RUNTIME_STREAM(cudaStreamGetPriority, v5050, ptsz, v7000, (void *stream, int *priority),
               ask(stream, FACT_PRIORITY, priority))
RUNTIME_STREAM(cudaStreamGetId, v12000, ptsz, v12000, (void *stream, unsigned long long *id),
               ask(stream, FACT_ID, id))
RUNTIME_STREAM(cudaStreamGetDevice, v12080, ptsz, v12080, (void *stream, int *device),
               ask(stream, FACT_DEVICE, device))

/* ---- events ---- */

static int create_event(struct sim_event **out, unsigned flags)
{
    struct sim_context *context;

    if (!out) {
        return SIM_E_VALUE;
    }
    int error = sim_context_current(&context);

    return error ? error : sim_event_create(context, flags, out);
}

static int record(struct sim_event *event, void *handle, unsigned flags)
{
    struct sim_stream *stream;
    int error = sim_stream_resolve(handle, &stream);

    return error ? error : sim_event_record(event, stream, flags);
}

static int elapsed(float *ms, struct sim_event *start, struct sim_event *end)
{
    return ms ? sim_event_elapsed(ms, start, end) : SIM_E_VALUE;
}

RUNTIME(cudaEventCreate, v3020, (struct sim_event * *out), create_event(out, 0))
RUNTIME(cudaEventCreateWithFlags, v3020, (struct sim_event * *out, unsigned flags),
        create_event(out, flags))
RUNTIME(cudaEventDestroy, v3020, (struct sim_event * event), sim_event_destroy(event))
RUNTIME_STREAM(cudaEventRecord, v3020, ptsz, v7000, (struct sim_event * event, void *stream),
               record(event, stream, 0))
RUNTIME_STREAM(cudaEventRecordWithFlags, v11010, ptsz, v11010,
               (struct sim_event * event, void *stream, unsigned flags),
               record(event, stream, flags))
RUNTIME(cudaEventQuery, v3020, (struct sim_event * event), sim_event_query(event))
RUNTIME(cudaEventSynchronize, v3020, (struct sim_event * event), sim_event_synchronize(event))
#if SIM_CUDART == 12
RUNTIME(cudaEventElapsedTime, v3020, (float *ms, struct sim_event *start, struct sim_event *end),
        elapsed(ms, start, end))
RUNTIME_AS(cudaEventElapsedTime_v2, cudaEventElapsedTime, v12080,
           (float *ms, struct sim_event *start, struct sim_event *end), elapsed(ms, start, end))
#else
RUNTIME(cudaEventElapsedTime, v12080, (float *ms, struct sim_event *start, struct sim_event *end),
        elapsed(ms, start, end))
#endif

/* ---- host callbacks ---- */

static int host_function(void *handle, void (*call)(void *), void *data)
{
    struct sim_work work = {.kind = SIM_WORK_HOST, .host = {.call = call, .data = data}};
    struct sim_stream *stream;
    int error = call ? sim_stream_resolve(handle, &stream) : SIM_E_VALUE;

    return error ? error : sim_host_callback(stream, &work);
}

static int add_callback(void *handle, void (*call)(struct sim_stream *, int, void *), void *data,
                        unsigned flags)
{
    struct sim_work work = {.kind = SIM_WORK_HOST, .host = {.call_stream = call, .data = data}};
    struct sim_stream *stream;
    int error = call && !flags ? sim_stream_resolve(handle, &stream) : SIM_E_VALUE;

    return error ? error : sim_host_callback(stream, &work);
}

RUNTIME_STREAM(cudaLaunchHostFunc, v10000, ptsz, v10000,
               (void *stream, void (*call)(void *), void *data), host_function(stream, call, data))
RUNTIME_STREAM(cudaStreamAddCallback, v5000, ptsz, v7000,
               (void *stream, void (*call)(struct sim_stream *, int, void *), void *data,
                unsigned flags),
               add_callback(stream, call, data, flags))
