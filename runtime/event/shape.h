/*
 * shape.h - interns descriptions of GPU operations.
 *
 * A training job launches the same few thousand (kernel, grid, block, stream...) combinations for
 * weeks. Each combination is stored once and identified by a 32-bit id. So an event fits into one
 * cache line, and the writer can cache the text of all fields that do not change.
 *
 * Threads: one inserting thread (the recorder thread), any number of readers. A reader may look up
 * any id that reached it through a release/acquire hand-off (the event ring). Entries never move
 * and live as long as the table. Memory is bounded by `cap_bytes`; if the table is full, a new
 * shape gets the id 0.
 */
#ifndef SL_SHAPE_H
#define SL_SHAPE_H

#include <stddef.h>
#include <stdint.h>

/* The priority of a stream if it is not known, because neither the operation's record nor a
 * description of the stream contains the priority. */
#define SL_PRIORITY_UNKNOWN INT32_MIN

/* Code that makes a shape must first set all bytes of the struct to 0, because shapes are hashed
 * and compared as bytes. */
struct sl_shape {
    uint32_t kind; /* enum sl_event_kind: SL_EV_KERNEL, SL_EV_MEMCPY, SL_EV_MEMSET... */
    uint32_t name; /* intern id of the kernel's name; 0 for copies and memsets */
    uint32_t device;
    uint32_t context;
    uint32_t stream;
    int32_t priority; /* kernels, whole graphs: the stream's priority, or SL_PRIORITY_UNKNOWN */
    /* The next fields describe kernels. */
    uint32_t grid[3];
    uint32_t block[3];
    uint32_t registers;      /* registers per thread */
    uint32_t static_shared;  /* static shared memory in bytes */
    uint32_t dynamic_shared; /* dynamic shared memory in bytes */
    uint32_t cluster[3];     /* size of the cluster in blocks; 0 = no cluster */
    uint32_t channel;
    uint32_t channel_type;
    /* copies and memsets: values of CUpti_ActivityMemcpyKind, CUpti_ActivityMemoryKind */
    uint32_t copy_kind;
    uint32_t src_memory;
    uint32_t dst_memory; /* memset: kind of the memory that is set */
    uint32_t memset_value;
    /* is_peer is 1 for copies between two devices. `device` and `context` say where the copy
     * ran. */
    uint32_t is_peer;
    uint32_t src_device, src_context;
    uint32_t dst_device, dst_context;
};

struct sl_shape_table;

/* `cap_bytes` is the maximum memory of the table in bytes. Returns 0 or -ENOMEM. */
int sl_shape_create(struct sl_shape_table **out, size_t cap_bytes);
void sl_shape_destroy(struct sl_shape_table *t); /* NULL is allowed */

/* Inserting thread only. Returns the id of the stored shape that equals `shape`. Stores the shape
 * if the table has no equal shape. Returns 0 if the table is full. */
uint32_t sl_shape_put(struct sl_shape_table *t, const struct sl_shape *shape);

/* Any thread. Returns NULL for 0 and for unknown ids. */
const struct sl_shape *sl_shape_get(const struct sl_shape_table *t, uint32_t id);

/* Any thread. Returns the number of stored shapes. Their ids are 1 to this number. */
uint32_t sl_shape_count(const struct sl_shape_table *t);

#endif
