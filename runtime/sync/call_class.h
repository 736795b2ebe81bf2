/*
 * call_class.h - classifies CUDA calls by how they wait, from the callback id.
 *
 * CUPTI never changes a callback id, so plain numbers are as reliable as CUPTI's headers. The
 * headers themselves are not needed to build the tool.
 *
 * Threads: any; the functions are pure. Memory: none.
 */
#ifndef SL_CALL_CLASS_H
#define SL_CALL_CLASS_H

#include <stdint.h>

#include "event/event.h"

enum sl_call_class {
    SL_CALL_OTHER,
    SL_CALL_DEVICE_SYNC,
    SL_CALL_CONTEXT_SYNC,
    SL_CALL_STREAM_SYNC,
    SL_CALL_STREAM_QUERY,
    SL_CALL_EVENT_SYNC,
    SL_CALL_EVENT_QUERY,
    SL_CALL_STREAM_WAIT,
    SL_CALL_CONTEXT_WAIT,   /* makes all streams of a context wait for an event */
    SL_CALL_CONTEXT_RECORD, /* records an event on all streams of a context */
    SL_CALL_FREE,           /* waits for all work of the context */
    /* unloads a module, device or context; waits like SL_CALL_FREE, but the edges of the wait have
     * another kind */
    SL_CALL_UNLOAD,
    SL_CALL_BLOCKING_COPY, /* copies and memsets whose name does not contain Async */
    SL_CALL_KERNEL_LAUNCH,
    SL_CALL_GRAPH_LAUNCH,
    SL_CALL_ASYNC_COPY,    /* waits only if the host memory is pageable */
    SL_CALL_CAPTURE_BEGIN, /* begins a stream capture; later launches become nodes of a graph */
    SL_CALL_CAPTURE_END,
};

/* Returns 1 if a call of this class may enqueue GPU work, or make a stream wait. */
static inline int sl_call_may_enqueue(enum sl_call_class class)
{
    return class == SL_CALL_OTHER || class == SL_CALL_STREAM_WAIT ||
           class == SL_CALL_CONTEXT_WAIT || class == SL_CALL_BLOCKING_COPY ||
           class == SL_CALL_KERNEL_LAUNCH || class == SL_CALL_GRAPH_LAUNCH ||
           class == SL_CALL_ASYNC_COPY;
}

/* `domain` is SL_EV_RUNTIME or SL_EV_DRIVER. */
enum sl_call_class sl_call_class_of(enum sl_event_kind domain, uint32_t cbid);

#endif
