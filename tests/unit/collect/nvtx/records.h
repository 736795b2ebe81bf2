/* records.h - reads the records that NVTX calls wrote to the lanes, the ring buffers of the
 * threads. */
#ifndef SL_NVTX_RECORDS_H
#define SL_NVTX_RECORDS_H

#include <string.h>

#include "collect/lane/lane.h"
#include "collect/nvtx/calls.h"

/* The parts of a record that a test checks. A missing part is 0 or "". */
struct said {
    struct sl_lane_record record;
    uint64_t start_ns, end_ns, value_type, value, id;
    uint32_t category, color;
    char text[SL_LANE_TEXT_MAX + 1], json[SL_LANE_JSON_MAX + 1];
};

static struct said said[8192];
static unsigned said_count;

static inline const uint64_t *take_bytes(const uint64_t *at, char *to, size_t most)
{
    assert_in_range(at[0], 0, most);
    memcpy(to, at + 1, at[0]);
    return at + 1 + (at[0] + 7) / 8;
}

static inline void take_said(const struct sl_lane_record *r)
{
    struct said *s = &said[said_count++];
    const uint64_t *at = (const uint64_t *)(r + 1);

    assert_in_range(said_count, 1, sizeof(said) / sizeof(*said));
    memset(s, 0, sizeof(*s));
    s->record = *r;
    if (r->parts & SL_LANE_HAS_TIMES) {
        s->start_ns = *at++;
        s->end_ns = *at++;
    }
    if (r->parts & (SL_LANE_HAS_CATEGORY | SL_LANE_HAS_COLOR)) {
        s->category = (uint32_t)*at;
        s->color = (uint32_t)(*at++ >> 32);
    }
    if (r->parts & SL_LANE_HAS_VALUE) {
        s->value_type = *at++;
        s->value = *at++;
    }
    if (r->parts & SL_LANE_HAS_ID)
        s->id = *at++;
    if (r->parts & SL_LANE_HAS_TEXT)
        at = take_bytes(at, s->text, SL_LANE_TEXT_MAX);
    if (r->parts & SL_LANE_HAS_JSON)
        at = take_bytes(at, s->json, SL_LANE_JSON_MAX);
    /* The record has no more parts than its flags state. */
    assert_in_range(at - (const uint64_t *)r, 2, 2 * r->pairs);
}

/* Reads the records since the last call, without the starts and ends of threads. Returns their
 * number. */
static inline unsigned read_said(void)
{
    const struct sl_lane_record *r;

    said_count = 0;
    for (unsigned i = 0; i < sl_lanes_used(); i++) {
        while ((r = sl_lane_next(sl_lane_at(i)))) {
            if (r->what != SL_LANE_THREAD_BEGIN && r->what != SL_LANE_THREAD_END)
                take_said(r);
            sl_lane_read(sl_lane_at(i), r);
        }
    }
    return said_count;
}

/* Returns the only record since the last call. */
static inline const struct said *only(enum sl_lane_what what)
{
    assert_int_equal(read_said(), 1);
    assert_int_equal(said[0].record.what, what);
    return &said[0];
}

#endif
