/*
 * stream.c - libcuda: streams and events.
 *
 * Application threads.
 */
#include "driver/api.h"

static int create(CUstream *out, unsigned int flags, int priority)
{
    struct sim_context *context;

    REQUIRE(out, SIM_E_VALUE);
    CHECK(sim_context_current(&context));
    return sim_stream_create(context, flags, priority, (struct sim_stream **)out);
}

DRIVER_API(cuStreamCreate, (CUstream * out, unsigned int flags), (out, flags))
{
    return create(out, flags, 0);
}

DRIVER_API(cuStreamCreateWithPriority, (CUstream * out, unsigned int flags, int priority),
           (out, flags, priority))
{
    return create(out, flags, priority);
}

DRIVER_API(cuStreamDestroy_v2, (CUstream handle), (handle))
{
    struct sim_stream *stream;

    REQUIRE((uintptr_t)handle > 2, SIM_E_HANDLE);
    CHECK(sim_stream_resolve(handle, &stream));
    return sim_stream_destroy(stream);
}

DRIVER_API_STREAM(cuStreamSynchronize, cuStreamSynchronize_ptsz, (CUstream handle), (handle))
{
    struct sim_stream *stream;

    CHECK(sim_stream_resolve(handle, &stream));
    return sim_stream_synchronize(stream);
}

DRIVER_API_STREAM(cuStreamQuery, cuStreamQuery_ptsz, (CUstream handle), (handle))
{
    struct sim_stream *stream;

    CHECK(sim_stream_resolve(handle, &stream));
    return sim_stream_query(stream);
}

DRIVER_API_STREAM(cuStreamWaitEvent, cuStreamWaitEvent_ptsz,
                  (CUstream handle, CUevent event, unsigned int flags), (handle, event, flags))
{
    struct sim_stream *stream;

    CHECK(sim_stream_resolve(handle, &stream));
    return sim_stream_wait_event(stream, (struct sim_event *)event, flags);
}

DRIVER_API_STREAM(cuStreamGetFlags, cuStreamGetFlags_ptsz, (CUstream handle, unsigned int *flags),
                  (handle, flags))
{
    struct sim_stream *stream;

    CHECK(sim_stream_resolve(handle, &stream));
    *flags = stream->flags;
    return SIM_OK;
}

DRIVER_API_STREAM(cuStreamGetPriority, cuStreamGetPriority_ptsz, (CUstream handle, int *priority),
                  (handle, priority))
{
    struct sim_stream *stream;

    CHECK(sim_stream_resolve(handle, &stream));
    *priority = stream->priority;
    return SIM_OK;
}

DRIVER_API_STREAM(cuStreamGetId, cuStreamGetId_ptsz, (CUstream handle, unsigned long long *id),
                  (handle, id))
{
    struct sim_stream *stream;

    CHECK(sim_stream_resolve(handle, &stream));
    *id = stream->id;
    return SIM_OK;
}

DRIVER_API_STREAM(cuStreamGetCtx, cuStreamGetCtx_ptsz, (CUstream handle, CUcontext *context),
                  (handle, context))
{
    struct sim_stream *stream;

    CHECK(sim_stream_resolve(handle, &stream));
    *context = (CUcontext)stream->context;
    return SIM_OK;
}

DRIVER_API(cuEventCreate, (CUevent * out, unsigned int flags), (out, flags))
{
    struct sim_context *context;

    REQUIRE(out, SIM_E_VALUE);
    CHECK(sim_context_current(&context));
    return sim_event_create(context, flags, (struct sim_event **)out);
}

DRIVER_API(cuEventDestroy_v2, (CUevent event), (event))
{
    return sim_event_destroy((struct sim_event *)event);
}

static int record(CUevent event, CUstream handle, unsigned int flags)
{
    struct sim_stream *stream;

    CHECK(sim_stream_resolve(handle, &stream));
    return sim_event_record((struct sim_event *)event, stream, flags);
}

DRIVER_API_STREAM(cuEventRecord, cuEventRecord_ptsz, (CUevent event, CUstream handle),
                  (event, handle))
{
    return record(event, handle, 0);
}

DRIVER_API_STREAM(cuEventRecordWithFlags, cuEventRecordWithFlags_ptsz,
                  (CUevent event, CUstream handle, unsigned int flags), (event, handle, flags))
{
    return record(event, handle, flags);
}

DRIVER_API(cuEventQuery, (CUevent event), (event))
{
    return sim_event_query((struct sim_event *)event);
}

DRIVER_API(cuEventSynchronize, (CUevent event), (event))
{
    return sim_event_synchronize((struct sim_event *)event);
}

#undef cuEventElapsedTime /* cuda.h replaces this name by the _v2 name; libcuda exports both */

DRIVER_API(cuEventElapsedTime, (float *ms, CUevent start, CUevent end), (ms, start, end))
{
    REQUIRE(ms, SIM_E_VALUE);
    return sim_event_elapsed(ms, (struct sim_event *)start, (struct sim_event *)end);
}

DRIVER_API(cuEventElapsedTime_v2, (float *ms, CUevent start, CUevent end), (ms, start, end))
{
    REQUIRE(ms, SIM_E_VALUE);
    return sim_event_elapsed(ms, (struct sim_event *)start, (struct sim_event *)end);
}
