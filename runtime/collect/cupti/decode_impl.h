/*
 * decode_impl.h - declarations that the decoder's files share. Only the decoder's files include
 * this file.
 *
 * Threads: the recorder thread. The caller of a decode function guarantees that the buffer holds
 * the whole record, which has the layout's size for the record's kind. Decode functions give events
 * to the sink. A decode function returns -1 if the record's values are impossible. Then the caller
 * counts the record.
 */
#ifndef SL_CUPTI_DECODE_IMPL_H
#define SL_CUPTI_DECODE_IMPL_H

#include <stdint.h>
#include <string.h>

#include "collect/cupti/decode.h"
#include "collect/cupti/objects.h"
#include "collect/cupti/tables.h"

#define SL_DECODE_TEXTS_KNOWN 1024 /* number of stored addresses of texts; a power of two */
#define SL_DECODE_OVERHEADS   16
#define SL_DECODE_CALLS       2048 /* the names of callback ids below this number are cached */
#define SL_DECODE_HELD        1024 /* maximum number of held waits in unknown contexts */

_Static_assert(SL_CUPTI_KIND_COUNT <= 64, "each kind has a bit in a 64-bit mask");

struct sl_decode {
    struct sl_decode_options opt;
    const struct sl_cupti_layout *layout; /* layout of the library's version, or set by the
                                           * caller */
    uint64_t unreadable;                  /* bit mask of kinds that are skipped */
    uint8_t is_given;
    struct sl_cupti_objects *seen;
    sl_decode_sink_fn sink;
    void *sink_user;
    const char *text_known[SL_DECODE_TEXTS_KNOWN];
    /* intern ids; 0: not interned yet */
    uint32_t overhead_name[SL_DECODE_OVERHEADS];
    uint32_t runtime_name[SL_DECODE_CALLS];
    uint32_t driver_name[SL_DECODE_CALLS];
    struct sl_event held[SL_DECODE_HELD]; /* the held waits, in order of arrival */
    unsigned held_count;
    uint8_t asked_early; /* 1: the devices were queried at the first CPU-side record */
};

/* CUPTI aligns records to 8 bytes, but a damaged record can lead to any address. */
static inline uint16_t sl_load16(const uint8_t *at)
{
    uint16_t v;

    memcpy(&v, at, sizeof v);
    return v;
}

static inline uint32_t sl_load32(const uint8_t *at)
{
    uint32_t v;

    memcpy(&v, at, sizeof v);
    return v;
}

static inline uint64_t sl_load64(const uint8_t *at)
{
    uint64_t v;

    memcpy(&v, at, sizeof v);
    return v;
}

/* Reads a field that some versions lack. Offset 0 means that the layout has no such field. */
static inline uint32_t sl_load32_if(const uint8_t *record, uint16_t offset)
{
    return offset ? sl_load32(record + offset) : 0;
}

static inline uint64_t sl_load64_if(const uint8_t *record, uint16_t offset)
{
    return offset ? sl_load64(record + offset) : 0;
}

static inline void sl_decode_emit(struct sl_decode *d, const struct sl_event *ev)
{
    d->sink(d->sink_user, ev);
}

/* Sets start, end and the flags for missing times. Returns -1 if the end is before the start. */
static inline int sl_decode_times(struct sl_event *ev, uint64_t start_ns, uint64_t end_ns)
{
    ev->start_ns = start_ns;
    ev->end_ns = end_ns;
    if (end_ns < start_ns) {
        if (end_ns != 0)
            return -1;
        ev->flags |= SL_EVF_STILL_RUNNING; /* a forced flush returned the record before the
                                            * operation had ended */
    } else if (end_ns == 0) {
        ev->flags |= SL_EVF_NO_TIME;
    }
    return 0;
}

/* Interns the text that the pointer at `at` points to. *id is 0 if the pointer is NULL, or if the
 * table is full (counted). Returns -1 if the text cannot be read. */
int sl_decode_text(struct sl_decode *d, const uint8_t *at, uint32_t *id);

/* Returns the id of the operation's shape, or 0 if the table is full (counted). */
uint32_t sl_decode_shape(struct sl_decode *d, const struct sl_shape *shape);

/* Returns the intern id of a constant text, and caches the id in `*slot`. */
uint32_t sl_decode_own_text(struct sl_decode *d, const char *text, uint32_t *slot);

/* decode_gpu.c */
int sl_decode_kernel(struct sl_decode *d, const uint8_t *record);
int sl_decode_memcpy(struct sl_decode *d, const uint8_t *record);
int sl_decode_memcpy_peer(struct sl_decode *d, const uint8_t *record);
int sl_decode_memset(struct sl_decode *d, const uint8_t *record);
int sl_decode_graph(struct sl_decode *d, const uint8_t *record);

/* decode_cpu.c */
int sl_decode_api(struct sl_decode *d, const uint8_t *record);
int sl_decode_sync(struct sl_decode *d, const uint8_t *record);
int sl_decode_cuda_event(struct sl_decode *d, const uint8_t *record);
int sl_decode_overhead(struct sl_decode *d, const uint8_t *record);

/* decode_held.c */
void sl_decode_in_context(struct sl_decode *d, struct sl_event *ev);
void sl_decode_release_known(struct sl_decode *d);

/* decode_object.c */
void sl_decode_new_device(struct sl_decode *d, uint32_t device);
void sl_decode_ask_early(struct sl_decode *d);
int sl_decode_context(struct sl_decode *d, const uint8_t *record);
int sl_decode_stream(struct sl_decode *d, const uint8_t *record);
int sl_decode_name(struct sl_decode *d, const uint8_t *record);

#endif
