/*
 * range_rig.h - for tests: ranges of one thread, and the rows that they get.
 */
#ifndef SL_TEST_RANGE_RIG_H
#define SL_TEST_RANGE_RIG_H

#include "test.h"

#include <string.h>

#include "event/range.h"

#define THREAD 7

static struct sl_ranges *ranges;
static struct sl_event out[4096];
static size_t outs;

static void take(void *user, const struct sl_event *ev)
{
    (void)user;
    assert_true(outs < sizeof(out) / sizeof(*out));
    out[outs++] = *ev;
}

static inline int create_with(size_t cap)
{
    const struct sl_ranges_options opt = {.cap_bytes = cap, .sink = take};

    outs = 0;
    return sl_ranges_create(&ranges, &opt);
}

static inline int create(void **state)
{
    int err = create_with(0);

    if (!err)
        sl_ranges_window(ranges, 0, UINT64_MAX);
    return err;
}

static inline int destroy(void **state)
{
    sl_ranges_destroy(ranges);
    return 0;
}

static inline void push(uint32_t domain, uint64_t ns, uint32_t name)
{
    const struct sl_range_look look = {.name = name};

    sl_ranges_push(ranges, THREAD, domain, ns, &look);
}

static inline void pop(uint32_t domain, uint64_t ns)
{
    sl_ranges_pop(ranges, THREAD, domain, ns);
}

/* Returns the name id of the innermost range around a call, or 0 if there is none. */
static inline uint32_t around(uint32_t thread, uint64_t ns)
{
    struct sl_event call = {.kind = SL_EV_RUNTIME, .start_ns = ns, .thread = thread};

    sl_ranges_call(ranges, &call, 0);
    return call.u.call.range;
}

static inline void launch_at(uint32_t thread, uint64_t ns, uint32_t stream, uint64_t from,
                             uint64_t to, uint32_t for_thread)
{
    struct sl_event call = {
        .kind = SL_EV_RUNTIME, .flags = SL_EVF_LAUNCH, .start_ns = ns, .thread = thread};
    struct sl_event flow = {.kind = SL_EV_FLOW,
                            .flags = SL_EVF_FLOW_FIRST,
                            .start_ns = ns,
                            .thread = thread,
                            .stream = stream};

    flow.u.flow.head_ns = from;
    flow.u.flow.op_end_ns = to;
    sl_ranges_call(ranges, &call, for_thread);
    sl_ranges_flow(ranges, &flow);
}

static inline void launch(uint32_t thread, uint64_t ns, uint32_t stream, uint64_t from, uint64_t to)
{
    launch_at(thread, ns, stream, from, to, 0);
}

/* Delivers a launch by a thread that works for another thread. */
static inline void launch_for(uint32_t thread, uint64_t ns, uint64_t from, uint64_t to,
                              uint32_t for_thread)
{
    launch_at(thread, ns, 5, from, to, for_thread);
}

static inline const struct sl_event *row(uint8_t kind, uint32_t name)
{
    const struct sl_event *found = NULL;

    for (size_t i = 0; i < outs; i++) {
        if (out[i].kind != kind || out[i].name != name)
            continue;
        assert_null(found);
        found = &out[i];
    }
    return found;
}

#endif
