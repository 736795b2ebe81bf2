/*
 * decode.h - turns CUPTI records of any supported version into events.
 *
 * Record layouts differ between CUPTI versions; the library's version selects offsets in the
 * generated tables.c. For a library newer than the tables, the newest known layout is used, and the
 * library's own GetNextRecord steps from record to record.
 *
 * Threads: the recorder thread, except where a function says otherwise. Memory: the decoder's own
 * small state. Names and shapes are stored in tables of the caller.
 */
#ifndef SL_CUPTI_DECODE_H
#define SL_CUPTI_DECODE_H

#include <stddef.h>
#include <stdint.h>

#include "base/intern.h"
#include "collect/cupti/layout.h"
#include "event/device.h"
#include "event/event.h"
#include "event/named.h"
#include "event/shape.h"

struct sl_decode;

typedef void (*sl_decode_sink_fn)(void *user, const struct sl_event *ev);

struct sl_decode_options {
    uint32_t version; /* CUPTI's version, from cuptiGetVersion() */
    /* CUPTI's GetNextRecord; NULL: record sizes are taken from the table */
    int (*get_next_record)(uint8_t *buffer, size_t valid, void **record);
    /* Says whether the bytes at an address can be read. Called before a text is read for the first
     * time. NULL: the decoder uses sl_foreign_text_can_read() (tests pass their own function) */
    int (*can_read)(uintptr_t address);
    int filter_api; /* 1: skip calls outside the generated filter (SYNCLINE_API=default on a library
                     * without the per-call filter) */
    struct sl_intern *intern;
    struct sl_shape_table *shapes;
    struct sl_device_table *devices;
    /* Queries a device (sl_cuda_facts_device). Called for devices 0, 1, 2... until it fails, and
     * again for a new device that a record names. NULL: no facts */
    int (*query_device)(uint32_t device, struct sl_device *out);
};

/* Returns 0, -ENOMEM, or -ENOTSUP for a version below 12.0. */
int sl_decode_create(struct sl_decode **out, const struct sl_decode_options *opt);
void sl_decode_destroy(struct sl_decode *d);

/* Decodes one completed buffer. Calls `sink` for each event in record order, except that a wait in
 * an unknown context is held until a later buffer or sl_decode_settle(). Before the first event of
 * a thread, context, stream or device, `sink` gets an SL_EV_META_* event that describes it.
 * Decoding stops at a damaged record, which is counted. Returns the number of records seen. */
size_t sl_decode_buffer(struct sl_decode *d, const uint8_t *buffer, size_t valid,
                        sl_decode_sink_fn sink, void *user);

/* Sets the layout for decoding the next buffers. The decoder then finds the next record by the
 * layout's sizes and skips kinds that the layout lacks. NULL restores the layout of the library's
 * version. */
void sl_decode_set_layout(struct sl_decode *d, const struct sl_cupti_layout *layout);

/* The caller guarantees that all records of operations that ended by `complete_ns` were decoded.
 * Held waits that ended by then are given to the sink, although their context is unknown. */
void sl_decode_settle(struct sl_decode *d, uint64_t complete_ns, sl_decode_sink_fn sink,
                      void *user);

/* Stops calling CUPTI for good. From then on the decoder finds the next record by the table's
 * sizes. */
void sl_decode_without_library(struct sl_decode *d);

/* Two facts that do not come from CUPTI records. sl_decode_meet_thread() reports that a thread has
 * events. sl_decode_describe() reports that an object has a name. */
void sl_decode_meet_thread(struct sl_decode *d, uint32_t pid, uint32_t thread,
                           sl_decode_sink_fn sink, void *user);
void sl_decode_describe(struct sl_decode *d, const struct sl_named *what, uint32_t name,
                        sl_decode_sink_fn sink, void *user);

/* Counts the records in a buffer that CUPTI still holds. Stops at bytes that CUPTI has not written
 * (they are zero), or at a record of unknown size. CUPTI may be writing meanwhile, so the numbers
 * are a snapshot. Any thread. */
struct sl_decode_held {
    size_t records;
    size_t of_use;     /* number of records, except records about devices, threads and CUPTI
                        * overhead */
    size_t unfinished; /* number of operations without an end, plus number of launches without their
                        * operation */
};
void sl_decode_look(const struct sl_cupti_layout *layout, const uint8_t *buffer, size_t size,
                    struct sl_decode_held *add_to);

#endif
