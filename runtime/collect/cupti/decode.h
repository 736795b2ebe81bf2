/*
 * decode.h - versioned CUPTI records -> events.
 *
 * Record layouts differ between CUPTI versions; offsets come from the generated tables.c,
 * chosen by the library's version (for one newer than the table: the newest known layout, and the
 * library's own GetNextRecord to step from record to record).
 *
 * Threads: the collector. Owns nothing but its own small state; names and shapes go into the tables
 * given at creation.
 */
#ifndef SL_CUPTI_DECODE_H
#define SL_CUPTI_DECODE_H

#include <stddef.h>
#include <stdint.h>

#include "base/intern.h"
#include "collect/cupti/layout.h"
#include "event/device.h"
#include "event/event.h"
#include "event/shape.h"

struct sl_decode;

typedef void (*sl_decode_sink_fn)(void *user, const struct sl_event *ev);

struct sl_decode_options {
    uint32_t version; /* cuptiGetVersion */
    /* NULL: records are walked by the sizes in the table */
    int (*get_next_record)(uint8_t *buffer, size_t valid, void **record);
    /* Whether the bytes at an address can be read, asked before a text there is read for the first
     * time; NULL: the kernel is asked (tests have their own idea) */
    int (*can_read)(uintptr_t address);
    int filter_api; /* leave out calls that are not in the generated filter (SYNCLINE_API=default
                       on a library without the per-call filter) */
    struct sl_intern *intern;
    struct sl_shape_table *shapes;
    struct sl_device_table *devices;
    /* Facts of device 0, 1, 2..., asked when a row names a new one, until it fails
     * (sl_cuda_facts_device). NULL: nobody knows. */
    int (*query_device)(uint32_t device, struct sl_device *out);
};

/* 0, -ENOMEM, -ENOTSUP (version below 12.0). */
int sl_decode_create(struct sl_decode **out, const struct sl_decode_options *opt);
void sl_decode_destroy(struct sl_decode *d);

/* One completed buffer. Calls `sink` for each event, in record order (but waits in a context that
 * was not seen yet, which may come with a later buffer or sl_decode_settle()); first sightings of a
 * thread, context, stream or device give SL_EV_META_* events before the row that needs them.
 * Damaged records end the buffer and are counted. Returns the number of records seen. */
size_t sl_decode_buffer(struct sl_decode *d, const uint8_t *buffer, size_t valid,
                        sl_decode_sink_fn sink, void *user);

/* How the records of the next buffers lie, which are then stepped over by its sizes; a family that
 * it does not have is stepped over whole. NULL, and at first: as in the library's version. */
void sl_decode_set_layout(struct sl_decode *d, const struct sl_cupti_layout *layout);

/* All that ended at or before `complete_ns` was in the buffers so far: waits that are held because
 * their context was not seen go to the sink. */
void sl_decode_settle(struct sl_decode *d, uint64_t complete_ns, sl_decode_sink_fn sink,
                      void *user);

/* Never again calls CUPTI: records are stepped over by the table's sizes alone. */
void sl_decode_without_library(struct sl_decode *d);

/* What is known otherwise than from records: a thread that has rows; the name of a thing. */
enum sl_decode_object {
    SL_DECODE_THREAD,
    SL_DECODE_DEVICE,
    SL_DECODE_CONTEXT, /* `within`: its device */
    SL_DECODE_STREAM,  /* `within`: its context */
};
void sl_decode_meet_thread(struct sl_decode *d, uint32_t pid, uint32_t thread,
                           sl_decode_sink_fn sink, void *user);
void sl_decode_describe(struct sl_decode *d, enum sl_decode_object object, uint32_t id,
                        uint32_t within, uint32_t name, sl_decode_sink_fn sink, void *user);

/* What stands in a buffer that CUPTI has not given back, up to where nothing was written (it was
 * handed out zeroed), or to a record whose size is not known. CUPTI may be writing: the numbers are
 * those of a moment. Any thread. */
struct sl_decode_held {
    size_t records;
    size_t of_use;     /* those that are not about the devices, the threads or CUPTI's own costs */
    size_t unfinished; /* operations without an end, and launches whose operation is not there */
};
void sl_decode_look(const struct sl_cupti_layout *layout, const uint8_t *buffer, size_t size,
                    struct sl_decode_held *add_to);

#endif
