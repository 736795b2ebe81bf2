/*
 * objects.h - which threads, contexts, streams and devices were seen, and what is known of each.
 *
 * Rows may come before the records that describe their stream or context, or without them (the
 * profiler was loaded late). Each first sighting gives one SL_EV_META_* event, before the row; a
 * description that comes later gives another.
 *
 * Threads: the collector. Memory is fixed at creation: 16384 threads, as many contexts and
 * streams together; more are not remembered and counted as lost names.
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

/* Sightings in rows. The thread's name is read from /proc at its first. */
void sl_cupti_objects_thread(struct sl_cupti_objects *s, uint32_t pid, uint32_t thread);

/* Whether the device was never seen nor described: describe it then, before the row. */
int sl_cupti_objects_is_new_device(const struct sl_cupti_objects *s, uint32_t device);

/* A row of a stream of a device's context. Gives the stream's priority, SL_PRIORITY_UNKNOWN while
 * no description told it. */
int32_t sl_cupti_objects_stream(struct sl_cupti_objects *s, uint32_t device, uint32_t context,
                                uint32_t stream);

/* Device of a context. 0; -ENOENT: no row or description of the context was seen so far. */
int sl_cupti_objects_context_device(struct sl_cupti_objects *s, uint32_t context, uint32_t *device);

/* Descriptions. `name` 0 = none. Each gives an event if it says something new. */
void sl_cupti_objects_describe_thread(struct sl_cupti_objects *s, uint32_t pid, uint32_t thread,
                                      uint32_t name);
void sl_cupti_objects_describe_device(struct sl_cupti_objects *s, uint32_t device, uint32_t name);
void sl_cupti_objects_describe_context(struct sl_cupti_objects *s, uint32_t device,
                                       uint32_t context, uint32_t name);
/* flags 0 and priority SL_PRIORITY_UNKNOWN = not told this time */
void sl_cupti_objects_describe_stream(struct sl_cupti_objects *s, uint32_t context, uint32_t stream,
                                      uint32_t flags, int32_t priority, uint32_t name);

#endif
