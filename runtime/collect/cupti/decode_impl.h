/*
 * decode_impl.h - what the files of the decoder share. Included by them alone.
 *
 * Threads: the collector. Each decode function is told a record whose `size` bytes of its kind's
 * layout are inside the buffer, and gives events to the sink; -1 means that the record cannot be
 * true (its caller counts it).
 */
#ifndef SL_CUPTI_DECODE_IMPL_H
#define SL_CUPTI_DECODE_IMPL_H

#include <stdint.h>
#include <string.h>

#include "collect/cupti/decode.h"
#include "collect/cupti/objects.h"
#include "collect/cupti/tables.h"

#define SL_DECODE_TEXTS_KNOWN 1024 /* power of two: text addresses that were read before */
#define SL_DECODE_OVERHEADS   16
#define SL_DECODE_CALLS       2048 /* callback ids below this keep their name's id */
#define SL_DECODE_HELD        1024 /* waits whose context was not seen yet */

_Static_assert(SL_CUPTI_KIND_COUNT <= 64, "kinds have a bit each");

struct sl_decode {
    struct sl_decode_options opt;
    const struct sl_cupti_layout *layout; /* the version's, or given */
    uint64_t unreadable;                  /* kinds of it that are stepped over, by their bits */
    uint8_t is_given;
    struct sl_cupti_objects *seen;
    sl_decode_sink_fn sink;
    void *sink_user;
    const char *text_known[SL_DECODE_TEXTS_KNOWN];
    /* intern ids; 0 = not yet made */
    uint32_t overhead_name[SL_DECODE_OVERHEADS];
    uint32_t runtime_name[SL_DECODE_CALLS];
    uint32_t driver_name[SL_DECODE_CALLS];
    struct sl_event held[SL_DECODE_HELD]; /* in the order in which they came */
    unsigned held_count;
    uint8_t asked_early; /* about the devices, at the first record of the host's side */
};

/* Records are aligned to 8 bytes in CUPTI's buffers, but a damaged one sends us anywhere. */
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

/* A field that not every version has: offset 0 = absent. */
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

/* Sets start, end and the flags that say what they are worth. -1: they contradict each other. */
static inline int sl_decode_times(struct sl_event *ev, uint64_t start_ns, uint64_t end_ns)
{
    ev->start_ns = start_ns;
    ev->end_ns = end_ns;
    if (end_ns < start_ns) {
        if (end_ns != 0)
            return -1;
        ev->flags |= SL_EVF_STILL_RUNNING; /* a forced flush cut it */
    } else if (end_ns == 0) {
        ev->flags |= SL_EVF_NO_TIME;
    }
    return 0;
}

/* Intern id of the text whose address stands at `at`: 0 for NULL and for a full table (counted).
 * -1: no text can be read there. */
int sl_decode_text(struct sl_decode *d, const uint8_t *at, uint32_t *id);

/* Id of the operation's shape; 0 when the table is full (counted). */
uint32_t sl_decode_shape(struct sl_decode *d, const struct sl_shape *shape);

/* Intern id of a text of our own, kept in `*slot`. */
uint32_t sl_decode_own_text(struct sl_decode *d, const char *text, uint32_t *slot);

/* decode_gpu.c */
int sl_decode_kernel(struct sl_decode *d, const uint8_t *record);
int sl_decode_memcpy(struct sl_decode *d, const uint8_t *record);
int sl_decode_memcpy_peer(struct sl_decode *d, const uint8_t *record);
int sl_decode_memset(struct sl_decode *d, const uint8_t *record);
int sl_decode_graph(struct sl_decode *d, const uint8_t *record);

/* decode_cpu.c */
int sl_decode_api(struct sl_decode *d, const uint8_t *record, enum sl_event_kind domain);
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
