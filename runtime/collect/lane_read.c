/*
 * lane_read.c - the lanes, read in the order of each thread's calls, with times instead of stamps.
 *
 * Threads, memory: see lane_read.h. Stamps become times by two points of the clock, one of now and
 * one from a second or two ago, so that nothing depends on how well a counter is known.
 */
#include "collect/lane_read.h"

#include "base/clock.h"

#define SECOND_NS 1000000000u

void sl_lane_reader_init(struct sl_lane_reader *r, const struct sl_lane_reader_options *opt)
{
    *r = (struct sl_lane_reader){.opt = *opt, .ns_per_tick = 1};
    if (sl_lanes_point(&r->before.stamp, &r->before.ns))
        sl_clock_take_point(&r->before.stamp, &r->before.ns);
    r->between = r->now = r->before;
}

static void look_at_clock(struct sl_lane_reader *r)
{
    struct sl_lane_point now;

    if (sl_clock_take_point(&now.stamp, &now.ns))
        return;
    if (now.ns > r->between.ns + SECOND_NS) {
        r->before = r->between;
        r->between = now;
    }
    r->now = now;
    if (now.stamp > r->before.stamp && now.ns > r->before.ns)
        r->ns_per_tick = (double)(now.ns - r->before.ns) / (double)(now.stamp - r->before.stamp);
}

/* Never back, within a lane. */
static uint64_t time_of(const struct sl_lane_reader *r, struct sl_lane *lane, uint64_t stamp)
{
    double ago = (double)(int64_t)(r->now.stamp - stamp) * r->ns_per_tick;
    uint64_t ns = r->now.ns - (uint64_t)(int64_t)ago;

    if (ns < lane->last_ns)
        ns = lane->last_ns;
    lane->last_ns = ns;
    return ns;
}

static void read_lane(struct sl_lane_reader *r, struct sl_lane *lane, uint64_t until_ns)
{
    const struct sl_lane_record *record;
    uint64_t ns;

    while ((record = sl_lane_next(lane))) {
        ns = time_of(r, lane, record->stamp);
        if (ns >= until_ns)
            return;
        if (record->what == SL_LANE_THREAD_BEGIN)
            lane->reading_thread = record->aux;
        r->opt.record(r->opt.user, lane->reading_thread, record, ns);
        sl_lane_read(lane, record);
    }
}

void sl_lane_reader_read(struct sl_lane_reader *r, uint64_t until_ns)
{
    unsigned lanes = sl_lanes_used();

    if (!lanes)
        return;
    look_at_clock(r);
    for (unsigned i = 0; i < lanes; i++)
        read_lane(r, sl_lane_at(i), until_ns);
}
