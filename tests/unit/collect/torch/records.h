/* records.h - reads the records that operators wrote to the lanes, the ring buffers of the
 * threads. */
#ifndef SL_TORCH_RECORDS_H
#define SL_TORCH_RECORDS_H

#include <string.h>

#include "collect/lane/lane.h"

struct seen {
    struct sl_lane_record record;
    struct sl_lane_op op; /* for SL_LANE_OP_BEGIN and SL_LANE_OP_START */
    char name[SL_LANE_TEXT_MAX + 1], more[SL_LANE_RECORD_WORDS * 8];
};

static struct seen seen[1024];
static unsigned seen_count;

static inline void take_seen(const struct sl_lane_record *r)
{
    struct seen *s = &seen[seen_count++];
    const char *text = (const char *)r + sizeof(s->op);

    assert_in_range(seen_count, 1, sizeof(seen) / sizeof(*seen));
    memset(s, 0, sizeof(*s));
    s->record = *r;
    if (r->what != SL_LANE_OP_BEGIN && r->what != SL_LANE_OP_START)
        return;
    memcpy(&s->op, r, sizeof(s->op));
    memcpy(s->name, text, s->op.name_length);
    memcpy(s->more, text + s->op.name_length, s->op.more_length);
}

/* Reads the records since the last call, without the starts and ends of threads. Returns their
 * number. */
static inline unsigned read_seen(void)
{
    const struct sl_lane_record *r;

    seen_count = 0;
    for (unsigned i = 0; i < sl_lanes_used(); i++) {
        while ((r = sl_lane_next(sl_lane_at(i)))) {
            if (r->what > SL_LANE_GROW && r->what != SL_LANE_THREAD_BEGIN &&
                r->what != SL_LANE_THREAD_END)
                take_seen(r);
            sl_lane_read(sl_lane_at(i), r);
        }
    }
    return seen_count;
}

#endif
