/*
 * ops_rig.h - for tests: operators of one thread, and the rows that they get.
 */
#ifndef SL_TEST_OPS_RIG_H
#define SL_TEST_OPS_RIG_H

#include "test.h"

#include <string.h>

#include "event/ops.h"

#define THREAD 77

static struct {
    struct sl_ops *ops;
    struct sl_intern *places;
    struct sl_event row[64];
    unsigned rows, all;
} f;

static void take(void *user, const struct sl_event *ev)
{
    (void)user;
    if (f.rows < sizeof(f.row) / sizeof(*f.row))
        f.row[f.rows++] = *ev;
    f.all++;
}

static inline int set_up(void **state)
{
    struct sl_ops_options opt = {.cap_bytes = 3 << 20, .begins = 1, .sink = take};

    memset(&f, 0, sizeof(f));
    assert_int_equal(sl_intern_create(&f.places, 1 << 20), 0);
    opt.places = f.places;
    return sl_ops_create(&f.ops, &opt);
}

static inline int tear_down(void **state)
{
    sl_ops_destroy(f.ops);
    sl_intern_destroy(f.places);
    return 0;
}

static inline struct sl_op op(uint64_t handle)
{
    return (struct sl_op){.handle = handle, .sequence = -1, .number = 1, .name = (uint32_t)handle};
}

static inline void begin(uint64_t handle, uint64_t ns)
{
    struct sl_op it = op(handle);

    sl_ops_begin(f.ops, THREAD, ns, &it);
}

static inline int end(uint64_t handle, uint64_t ns)
{
    return sl_ops_end(f.ops, THREAD, (uint32_t)handle, ns);
}

static inline struct sl_event call_at(uint64_t ns)
{
    struct sl_event ev = {.kind = SL_EV_RUNTIME, .thread = THREAD, .start_ns = ns};

    sl_ops_call(f.ops, &ev);
    return ev;
}

/* Runs four operators. Operator 1 runs from 100 to 900 ns. It contains operators 2 (200 to 300) and
 * 3 (400 to 800). Operator 3 contains operator 4 (500 to 600). */
static inline void nest(void)
{
    begin(1, 100);
    begin(2, 200);
    end(2, 300);
    begin(3, 400);
    begin(4, 500);
    end(4, 600);
    end(3, 800);
    end(1, 900);
}

#endif
