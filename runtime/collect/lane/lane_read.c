/*
 * lane_read.c - reads the lanes (collect/lane/lane.h) in the order of each thread's calls, and
 * turns stamps into times.
 *
 * Threads, memory: see lane_read.h. Two clock readings convert stamps to times: the current
 * reading, and a reading that is a second or two old. So the rate of the tick counter need not be
 * known exactly.
 */
#include "collect/lane/lane_read.h"

#include "base/clock.h"

#define SECOND_NS 1000000000u

void sl_lane_reader_init(struct sl_lane_reader *r, const struct sl_lane_reader_options *opt)
{
    *r = (struct sl_lane_reader){.opt = *opt, .ns_per_tick = 1};
    if (sl_lanes_point(&r->before.stamp, &r->before.ns))
        sl_clock_take_point(&r->before.stamp, &r->before.ns);
    r->between = r->now = r->before;
}

/* Updates the clock readings. Returns 0, or -EAGAIN if the clock could not be read now. */
static int look_at_clock(struct sl_lane_reader *r)
{
    struct sl_lane_point now;
    int err = sl_clock_take_point(&now.stamp, &now.ns);

    if (err)
        return err;
    if (now.ns > r->between.ns + SECOND_NS) {
        r->before = r->between;
        r->between = now;
    }
    r->now = now;
    if (now.stamp > r->before.stamp && now.ns > r->before.ns)
        r->ns_per_tick = (double)(now.ns - r->before.ns) / (double)(now.stamp - r->before.stamp);
    return 0;
}

/* Converts a stamp. Times within a lane never decrease, with one exception: if the wall clock is
 * set back, times decrease by a second or more. */
static uint64_t time_of(const struct sl_lane_reader *r, struct sl_lane *lane, uint64_t stamp)
{
    double ago = (double)(int64_t)(r->now.stamp - stamp) * r->ns_per_tick;
    uint64_t ns = r->now.ns - (uint64_t)(int64_t)ago;

    if (ns < lane->last_ns && lane->last_ns - ns < SECOND_NS)
        ns = lane->last_ns;
    lane->last_ns = ns;
    return ns;
}

/* Returns whether the record was made after this pass began. A stamp more than a second ahead was
 * taken before the wall clock was set back. */
static int is_from_after(const struct sl_lane_reader *r, uint64_t stamp)
{
    double ahead_ns = (double)(int64_t)(stamp - r->now.stamp) * r->ns_per_tick;

    return ahead_ns > 0 && ahead_ns < SECOND_NS;
}

static void read_lane(struct sl_lane_reader *r, struct sl_lane *lane, uint64_t until_ns,
                      int knows_now)
{
    const struct sl_lane_record *record;
    uint64_t ns;

    while ((record = sl_lane_next(lane))) {
        if (knows_now && is_from_after(r, record->stamp))
            return;
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
    int knows_now;

    if (!lanes)
        return;
    knows_now = look_at_clock(r) == 0;
    for (unsigned i = 0; i < lanes; i++)
        read_lane(r, sl_lane_at(i), until_ns, knows_now);
}
