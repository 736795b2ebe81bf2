/*
 * assemble_rig.h - an assembler that stores its output, and functions that make records for the
 * assembler. All tests of the assembler use this file.
 */
#ifndef ASSEMBLE_RIG_H
#define ASSEMBLE_RIG_H

#include "test.h"

#include <stdlib.h>
#include <string.h>

#include "event/assemble.h"

#define MAX_EVENTS 40000

struct log {
    struct sl_event event[MAX_EVENTS];
    size_t count;
};

static struct log got;

static inline int keep(void *user, const struct sl_event *ev)
{
    struct log *log = user;

    assert_true(log->count < MAX_EVENTS);
    log->event[log->count++] = *ev;
    return 0;
}

static inline struct sl_assemble *make(size_t cap)
{
    struct sl_assemble_options opt = {0};
    struct sl_assemble *a;

    got.count = 0;
    opt.cap_bytes = cap;
    opt.flows = 1;
    opt.driver_hold_ns = 1000;
    opt.sink = keep;
    opt.sink_user = &got;
    assert_int_equal(sl_assemble_create(&a, &opt), 0);
    return a;
}

static inline struct sl_event row(enum sl_event_kind kind, uint32_t id, uint64_t start,
                                  uint64_t end)
{
    struct sl_event ev;

    memset(&ev, 0, sizeof(ev));
    ev.kind = (uint8_t)kind;
    ev.correlation = id;
    ev.start_ns = start;
    ev.end_ns = end;
    if (kind == SL_EV_RUNTIME || kind == SL_EV_DRIVER)
        ev.thread = 100 + id % 3;
    else
        ev.stream = 7 + id % 2;
    return ev;
}

static inline struct sl_event launch(enum sl_event_kind kind, uint32_t id, uint64_t start,
                                     uint64_t end)
{
    struct sl_event ev = row(kind, id, start, end);

    ev.flags = SL_EVF_LAUNCH;
    return ev;
}

static inline struct sl_event node(uint32_t id, uint64_t start, uint64_t graph_node)
{
    struct sl_event ev = row(SL_EV_KERNEL, id, start, start + 10);

    ev.u.op.graph_node = graph_node;
    return ev;
}

static inline void feed(struct sl_assemble *a, struct sl_event ev, uint64_t now)
{
    sl_assemble_event(a, &ev, now);
}

static inline size_t count_kind(enum sl_event_kind kind)
{
    size_t i, n = 0;

    for (i = 0; i < got.count; i++)
        n += got.event[i].kind == kind;
    return n;
}

#endif
