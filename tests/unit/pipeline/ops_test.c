/*
 * ops_test.c - which PyTorch operators are in a window's file, and how operators are written that
 * cross the window's edges or do not fit into memory.
 *
 * A process has one pipeline, so each case is a window of the same run, and the order of the cases
 * matters.
 */
#include "pipeline/rig.h"

#include <pthread.h>
#include <string.h>

#include "collect/nvtx/nvtx.h"
#include "collect/torch/ops.h"
#include "collect/torch/ops_abi.h"

static int set_up_ops(void **state)
{
    config.ops = SL_TORCH_OPS_FULL;
    config.ops_memory_bytes = 4 << 20;
    return sl_nvtx_init(8 << 20) || set_up(state);
}

static uint64_t handle;

static uint64_t begin_op(const char *name, uint8_t scope, uint8_t is_async)
{
    const struct sl_torch_op op = {.name = name,
                                   .name_length = strlen(name),
                                   .handle = ++handle,
                                   .sequence = -1,
                                   .thread = 1,
                                   .scope = scope,
                                   .is_async = is_async};

    sl_torch_ops_begin(&op);
    return handle;
}

static void end_op(uint64_t which)
{
    sl_torch_ops_end(which, SL_TORCH_SCOPE_FUNCTION, 0);
}

/* Runs an operator that ends immediately. */
static void run_op(const char *name)
{
    end_op(begin_op(name, SL_TORCH_SCOPE_FUNCTION, 0));
}

static int rows(const char *text, const char *name)
{
    char row[128];

    snprintf(row, sizeof(row), "\"cat\":\"cpu_op\",\"name\":\"%s\"", name);
    return count(text, row);
}

static void operators_over_an_edge_are_cut_there(void **state)
{
    uint64_t over;
    const char *text;

    run_op("aten::before");
    over = begin_op("aten::over_the_start", SL_TORCH_SCOPE_FUNCTION, 0);
    open_window(1, SL_REASON_API);
    run_op("aten::inside");
    end_op(over);
    over = begin_op("aten::over_the_end", SL_TORCH_SCOPE_FUNCTION, 0);
    close_window(1, SL_REASON_API);
    open_window(2, SL_REASON_API);
    end_op(over);
    run_op("aten::second");
    close_window(2, SL_REASON_API);
    text = read_window(1);
    assert_int_equal(rows(text, "aten::before"), 0);
    assert_int_equal(rows(text, "aten::over_the_start"), 1);
    assert_int_equal(rows(text, "aten::inside"), 1);
    assert_int_equal(rows(text, "aten::over_the_end"), 1);
    assert_int_equal(count(text, "\"cut start\":true"), 1);
    assert_int_equal(count(text, "\"cut end\":true"), 1);
    text = read_window(2);
    assert_int_equal(rows(text, "aten::over_the_end"), 1);
    assert_int_equal(rows(text, "aten::second"), 1);
    assert_int_equal(count(text, "\"cut start\":true"), 1);
    assert_int_equal(count(text, "\"cut end\":true"), 0);
}

static void *finish(void *which)
{
    sl_torch_ops_end(*(const uint64_t *)which, SL_TORCH_SCOPE_FUNCTION, 1);
    sl_torch_ops_end(999999, SL_TORCH_SCOPE_FUNCTION, 1); /* an unknown operator */
    return NULL;
}

static void one_that_ends_on_another_thread(void **state)
{
    uint64_t which;
    pthread_t thread;
    const char *text;

    open_window(4, SL_REASON_API);
    which = begin_op("aten::async", SL_TORCH_SCOPE_FUNCTION, 1);
    run_op("aten::meanwhile");
    assert_int_equal(pthread_create(&thread, NULL, finish, &which), 0);
    pthread_join(thread, NULL);
    close_window(4, SL_REASON_API);
    text = read_window(4);
    assert_int_equal(rows(text, "aten::async"), 1);
    assert_int_equal(rows(text, "aten::meanwhile"), 1);
}

/* Far more operators run than fit into the thread's lane (its ring buffer). The missing operators
 * are counted, and the others are complete. */
static void operators_that_find_no_room_are_counted(void **state)
{
    uint64_t lost = sl_stats_get(SL_STAT_RANGES_LOST), ops = sl_stats_get(SL_STAT_OPS);
    const char *text;

    open_window(6, SL_REASON_API);
    for (unsigned i = 0; i < 50000; i++)
        run_op("aten::many");
    close_window(6, SL_REASON_API);
    text = read_window(6);
    assert_int_equal(sl_stats_get(SL_STAT_OPS) - ops + sl_stats_get(SL_STAT_RANGES_LOST) - lost,
                     50000);
    assert_true(sl_stats_get(SL_STAT_RANGES_LOST) > lost);
    assert_true(rows(text, "aten::many") > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(operators_over_an_edge_are_cut_there),
        cmocka_unit_test(one_that_ends_on_another_thread),
        cmocka_unit_test(operators_that_find_no_room_are_counted),
    };

    return cmocka_run_group_tests(tests, set_up_ops, tear_down);
}
