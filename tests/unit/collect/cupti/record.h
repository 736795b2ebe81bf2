/*
 * record.h - builds raw CUPTI records of any version from the generated table.
 *
 * A test writes values at the offsets that the decoder's own table gives for a version. So these
 * tests cannot detect an error in the table. End-to-end tests detect it, because the simulated
 * CUPTI has a table of its own.
 */
#ifndef TEST_CUPTI_RECORD_H
#define TEST_CUPTI_RECORD_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/stats.h"
#include "collect/cupti/decode.h"
#include "collect/cupti/tables.h"

#define RECORD_EVENTS 64

struct record_rig { /* one decoder, one buffer, and the decoded events */
    const struct sl_cupti_layout *layout;
    struct sl_decode *decode;
    struct sl_decode_options opt;
    struct sl_device_table devices;
    uint8_t buffer[8192];
    size_t valid;
    struct sl_event event[RECORD_EVENTS];
    unsigned events;
};

static inline void record_sink(void *user, const struct sl_event *ev)
{
    struct record_rig *b = user;

    if (b->events < RECORD_EVENTS)
        b->event[b->events] = *ev;
    b->events++;
}

static inline const struct sl_cupti_layout *record_layout(uint32_t version)
{
    for (unsigned i = sl_cupti_tables_layout_count; i-- > 0;)
        if (sl_cupti_tables_layouts[i].version <= version)
            return &sl_cupti_tables_layouts[i];
    return NULL;
}

static inline struct record_rig *record_open(uint32_t version, int filter_api)
{
    struct record_rig *b = calloc(1, sizeof *b);

    sl_stats_reset();
    b->layout = record_layout(version);
    b->opt.version = version;
    b->opt.filter_api = filter_api;
    b->opt.devices = &b->devices;
    if (sl_intern_create(&b->opt.intern, 1 << 20) || sl_shape_create(&b->opt.shapes, 1 << 20) ||
        sl_decode_create(&b->decode, &b->opt))
        abort();
    return b;
}

static inline void record_close(struct record_rig *b)
{
    sl_decode_destroy(b->decode);
    sl_shape_destroy(b->opt.shapes);
    sl_intern_destroy(b->opt.intern);
    free(b);
}

/* Appends a record of zeros and returns it. */
static inline uint8_t *record_add(struct record_rig *b, uint32_t kind)
{
    uint8_t *r = b->buffer + b->valid;
    size_t size = b->layout->record_size[kind];

    if (size == 0 || b->valid + size > sizeof b->buffer)
        abort();
    memset(r, 0, size);
    memcpy(r, &kind, sizeof kind);
    b->valid += size;
    return r;
}

static inline void put16(uint8_t *r, uint16_t offset, uint16_t v)
{
    memcpy(r + offset, &v, sizeof v);
}

static inline void put32(uint8_t *r, uint16_t offset, uint32_t v)
{
    memcpy(r + offset, &v, sizeof v);
}

static inline void put64(uint8_t *r, uint16_t offset, uint64_t v)
{
    memcpy(r + offset, &v, sizeof v);
}

/* Decodes the buffer, then empties it. Returns the number of decoded records. */
static inline size_t record_decode(struct record_rig *b)
{
    size_t n;

    b->events = 0;
    n = sl_decode_buffer(b->decode, b->buffer, b->valid, record_sink, b);
    b->valid = 0;
    return n;
}

/* Returns the n-th event of a kind; NULL if there are fewer. */
static inline const struct sl_event *record_event(const struct record_rig *b,
                                                  enum sl_event_kind kind, unsigned n)
{
    for (unsigned i = 0; i < b->events && i < RECORD_EVENTS; i++)
        if (b->event[i].kind == kind && n-- == 0)
            return &b->event[i];
    return NULL;
}

static inline const char *record_text(const struct record_rig *b, uint32_t id)
{
    const char *text = sl_intern_get(b->opt.intern, id, NULL);

    return text ? text : "";
}

#endif
