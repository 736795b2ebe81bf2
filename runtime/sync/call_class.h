/*
 * call_class.h - what a CUDA call's callback id says about waiting.
 *
 * CUPTI's callback ids are only ever added to, so numbers are as good as the header, which the
 * tool is built without.
 *
 * Threads: any; pure. Memory: none.
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
    SL_CALL_CONTEXT_WAIT,   /* all streams of a context are made to wait for an event */
    SL_CALL_CONTEXT_RECORD, /* an event is recorded of all streams of a context */
    SL_CALL_FREE,           /* waits for all work of the context */
    SL_CALL_UNLOAD,         /* of a module, device or context: the same, of another kind */
    SL_CALL_BLOCKING_COPY,  /* the name has no Async: copies and memsets */
    SL_CALL_KERNEL_LAUNCH,
    SL_CALL_GRAPH_LAUNCH,
    SL_CALL_ASYNC_COPY,    /* waits all the same where host memory is pageable */
    SL_CALL_CAPTURE_BEGIN, /* launches become nodes of a graph from here on */
    SL_CALL_CAPTURE_END,
};

/* It may give the GPU something to do, or make a stream wait. */
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
