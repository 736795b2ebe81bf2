/*
 * objects.h - remembers threads, contexts, streams and devices, and what is known of each.
 *
 * Records may arrive before the description of their stream or context. If the profiler was loaded
 * late, the description never arrives. The first record of an object gives one SL_EV_META_* event
 * before the record's own event. A later description gives another.
 *
 * Threads: the recorder thread. Memory is fixed at creation: 16384 threads, and as many contexts
 * and streams together. Further objects are not remembered and count as lost names.
 */
#ifndef SL_CUPTI_OBJECTS_H
#define SL_CUPTI_OBJECTS_H

#include <stdint.h>

#include "base/intern.h"
#include "event/device.h"
#include "event/event.h"
#include "event/shape.h"

struct sl_cupti_objects;

struct sl_cupti_objects_options {
    struct sl_intern *intern;
    void (*sink)(void *user, const struct sl_event *ev);
    void *sink_user;
};

int sl_cupti_objects_create(struct sl_cupti_objects **out,
                            const struct sl_cupti_objects_options *opt);
void sl_cupti_objects_destroy(struct sl_cupti_objects *s); /* NULL is fine */

/* A record names this thread. The first time, the thread's name is read from /proc. */
void sl_cupti_objects_thread(struct sl_cupti_objects *s, uint32_t pid, uint32_t thread);

/* Whether the device was neither seen nor described. If so, describe it before the record's
 * event. */
int sl_cupti_objects_is_new_device(const struct sl_cupti_objects *s, uint32_t device);

/* A record names this stream. Returns its priority; SL_PRIORITY_UNKNOWN: not described yet. */
int32_t sl_cupti_objects_stream(struct sl_cupti_objects *s, uint32_t device, uint32_t context,
                                uint32_t stream);

/* Device of a context. 0; -ENOENT: no record or description of the context has arrived. */
int sl_cupti_objects_context_device(struct sl_cupti_objects *s, uint32_t context, uint32_t *device);

/* Descriptions. `name` 0 = none. Each gives an event if it adds something new. */
void sl_cupti_objects_describe_thread(struct sl_cupti_objects *s, uint32_t pid, uint32_t thread,
                                      uint32_t name);
void sl_cupti_objects_describe_device(struct sl_cupti_objects *s, uint32_t device, uint32_t name);
void sl_cupti_objects_describe_context(struct sl_cupti_objects *s, uint32_t device,
                                       uint32_t context, uint32_t name);
/* flags 0 and priority SL_PRIORITY_UNKNOWN = not described this time */
void sl_cupti_objects_describe_stream(struct sl_cupti_objects *s, uint32_t context, uint32_t stream,
                                      uint32_t flags, int32_t priority, uint32_t name);

#endif
