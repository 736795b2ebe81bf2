/*
 * objects.h - stores threads, contexts, streams and devices, with their names, flags and
 * priorities.
 *
 * Records may arrive before the description of their stream or context. If the profiler was loaded
 * late, the description never arrives. At the first record of an object, an SL_EV_META_* event is
 * emitted before the record's own event. A later description of the object causes another
 * SL_EV_META_* event.
 *
 * Threads: the recorder thread. Memory is fixed at creation. There is room for 16384 threads, and
 * for 16384 contexts and streams together. Objects beyond these limits are not stored, and each
 * counts as a lost name.
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

/* Call for the thread that a record names. The first call for a thread reads its name from
 * /proc. */
void sl_cupti_objects_thread(struct sl_cupti_objects *s, uint32_t pid, uint32_t thread);

/* Returns whether the device was neither seen nor described before. Then the caller must describe
 * the device before it emits the record's event. */
int sl_cupti_objects_is_new_device(const struct sl_cupti_objects *s, uint32_t device);

/* Call for the stream that a record names. Returns the stream's priority, or SL_PRIORITY_UNKNOWN if
 * the stream was not described yet. */
int32_t sl_cupti_objects_stream(struct sl_cupti_objects *s, uint32_t device, uint32_t context,
                                uint32_t stream);

/* Writes the device of a context to *device. Returns 0, or -ENOENT if no record or description of
 * the context has arrived. */
int sl_cupti_objects_context_device(struct sl_cupti_objects *s, uint32_t context, uint32_t *device);

/* These functions describe an object. `name` is 0 if the object has no name. An event is emitted if
 * the description adds something new. */
void sl_cupti_objects_describe_thread(struct sl_cupti_objects *s, uint32_t pid, uint32_t thread,
                                      uint32_t name);
void sl_cupti_objects_describe_device(struct sl_cupti_objects *s, uint32_t device, uint32_t name);
void sl_cupti_objects_describe_context(struct sl_cupti_objects *s, uint32_t device,
                                       uint32_t context, uint32_t name);
/* Flags of 0 and a priority of SL_PRIORITY_UNKNOWN do not change the known values. */
void sl_cupti_objects_describe_stream(struct sl_cupti_objects *s, uint32_t context, uint32_t stream,
                                      uint32_t flags, int32_t priority, uint32_t name);

#endif
