/*
 * pipeline_test.c - which rows are in a window's file. A row belongs to the window in which it
 * starts. An arrow needs both ends in the window. Each file contains the names of its threads and
 * streams.
 *
 * A process has one pipeline, so each case is a window of the same run, and the order of the cases
 * matters.
 */
#include "pipeline/rig.h"

static void rows_belong_by_their_start(void **state)
{
    const char *text;

    deliver("k_before_all", T0 - 9000, 10);
    assert_int_equal(open_at(1, T0), 0);
    deliver("k_call_before", T0 - 1000, 5000); /* only the kernel is in the window, without
                                                * call and arrow */
    deliver("k_first", T0, 200);
    deliver("k_inside", T0 + 5000, 200);
    sl_pipeline_limit(pipeline, T0 + 10000);
    deliver("k_late_kernel", T0 + 9000, 2000); /* only the call is in the window, without
                                                * kernel and arrow */
    deliver("k_last", T0 + 9799, 200);
    deliver("k_at_the_end", T0 + 10000, 200);
    assert_int_equal(sl_pipeline_close(pipeline, 1, SL_REASON_API, T0 + 10000), 0);
    deliver("k_after", T0 + 20000, 200);

    text = read_window(1);
    assert_int_equal(count(text, "\"cat\":\"kernel\""), 4);
    assert_int_equal(count(text, "k_call_before"), 1);
    assert_int_equal(count(text, "k_first"), 1);
    assert_int_equal(count(text, "k_inside"), 1);
    assert_int_equal(count(text, "k_last"), 1);
    /* all arrows except the arrow of k_call_before */
    assert_int_equal(count(text, "cudaLaunchKernel"), 4);
    assert_int_equal(count(text, "\"ph\":\"f\""), 3);
    assert_int_equal(count(text, "\"ph\":\"s\""), 3);
    /* Both rows of k_before_all, k_at_the_end and k_after are outside the window, and one row each
     * of k_call_before and k_late_kernel. */
    assert_int_equal(sl_stats_get(SL_STAT_OUTSIDE_WINDOW), 8);
}

static void names_seen_between_windows_are_in_the_next(void **state)
{
    const char *text;

    assert_int_equal(open_at(2, T0 + 30000), 0);
    deliver("k_second", T0 + 31000, 200);
    assert_int_equal(sl_pipeline_close(pipeline, 2, SL_REASON_API, T0 + 40000), 0);
    text = read_window(2);
    assert_int_equal(count(text, "k_second"), 1);
    assert_non_null(strstr(text, "stream 7"));
}

static void only_launches_of_the_window_are_waited_for(void **state)
{
    struct mix_api call = {.kind = 5, .cbid = 211, .pid = 77, .thread = 77};

    call.start = T0 + 45000;
    call.end = call.start + 10;
    call.correlation = ++correlation;
    sl_pipeline_buffer(pipeline, (const uint8_t *)&call, sizeof(call));
    assert_int_equal(sl_pipeline_waiting(pipeline), 0);
    assert_int_equal(open_at(3, T0 + 50000), 0);
    call.start = T0 + 55000;
    call.end = call.start + 10;
    call.correlation = ++correlation;
    sl_pipeline_buffer(pipeline, (const uint8_t *)&call, sizeof(call));
    assert_int_equal(sl_pipeline_waiting(pipeline), 1);
    assert_int_equal(sl_pipeline_close(pipeline, 3, SL_REASON_API, T0 + 60000), 0);
    assert_int_equal(count(read_window(3), "cudaLaunchKernel"), 1);
}

/* Delivers a wait for the stream's work. The wait ends at `end`. */
static void deliver_wait(uint64_t start, uint64_t end)
{
    struct {
        struct mix_api call;
        struct mix_sync sync;
    } r;

    memset(&r, 0, sizeof(r));
    r.call.kind = 5;
    r.call.cbid = 131;
    r.call.pid = r.call.thread = 77;
    r.call.correlation = r.sync.correlation = ++correlation;
    r.call.start = r.sync.start = start;
    r.call.end = r.sync.end = end;
    r.sync.kind = 38;
    r.sync.type = 3;
    r.sync.context = 1;
    r.sync.stream = 7;
    assert_int_equal(sl_pipeline_buffer(pipeline, (const uint8_t *)&r, sizeof(r)), 2);
}

static void waits_are_for_work_from_before_the_window_too(void **state)
{
    const char *text;

    sl_pipeline_kinds_on(pipeline, 0);
    assert_int_equal(open_at(4, T0 + 80000), 0);
    deliver("k_lead_in", T0 + 70000, 40000);
    deliver_wait(T0 + 90000, T0 + 120000);
    assert_int_equal(sl_pipeline_delivered(pipeline, T0 + 200000), 0);
    assert_int_equal(sl_pipeline_close(pipeline, 4, SL_REASON_API, T0 + 300000), 0);
    text = read_window(4);
    assert_int_equal(count(text, "k_lead_in"), 2); /* the kernel is in the file, but not its call */
    assert_int_equal(count(text, "\"sync_edges\":[{"), 1);
    assert_int_equal(count(text, "\"wait_ns\":20050"), 2);
    assert_int_equal(count(text, "\"cat\":\"sync\""), 2);
}

/* A record is lost. It may have described the last operation before the wait, so no edge is
 * written. */
static void after_a_loss_no_edge_is_claimed(void **state)
{
    const char *text;

    assert_int_equal(open_at(5, T0 + 400000), 0);
    deliver("k_known", T0 + 410000, 40000);
    sl_stats_add(SL_STAT_DROPPED_CUPTI, 1);
    deliver_wait(T0 + 420000, T0 + 460000);
    assert_int_equal(sl_pipeline_delivered(pipeline, T0 + 500000), 0);
    assert_int_equal(sl_pipeline_close(pipeline, 5, SL_REASON_API, T0 + 600000), 0);
    text = read_window(5);
    assert_int_equal(count(text, "sync_edge"), 0);
    assert_non_null(strstr(text, "\"edges_lost_gave_up\":1,"));
}

static void memory_stays_within_its_shares(void **state)
{
    assert_in_range(sl_pipeline_bytes(pipeline), 1 << 20, config.memory_bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_belong_by_their_start),
        cmocka_unit_test(names_seen_between_windows_are_in_the_next),
        cmocka_unit_test(only_launches_of_the_window_are_waited_for),
        cmocka_unit_test(waits_are_for_work_from_before_the_window_too),
        cmocka_unit_test(after_a_loss_no_edge_is_claimed),
        cmocka_unit_test(memory_stays_within_its_shares),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
