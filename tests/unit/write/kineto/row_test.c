/* row_test.c - the numbers of a row, waits with their args, and arrows. */
#include "unit/write/kineto/fixture.h"

static void calls_have_name_ids_and_times(void **state)
{
    struct sl_event failed = call(SL_EV_RUNTIME, 7, 131), driver = call(SL_EV_DRIVER, 8, 652);
    struct sl_event unknown = call(SL_EV_DRIVER, 9, 99999);
    const struct json *e;

    (void)state;
    failed.u.call.result = 700;
    begin();
    put(call(SL_EV_RUNTIME, (1ull << 32) + 5, 211));
    put(failed);
    put(driver);
    put(unknown);
    end();
    e = find("name", "cudaLaunchKernel", 0);
    assert_string_equal(json_text(e, "ph"), "X");
    assert_string_equal(json_text(e, "cat"), "cuda_runtime");
    assert_string_equal(json_text(e, "pid"), "4242");
    assert_string_equal(json_text(e, "tid"), "4300");
    assert_string_equal(json_text(e, "ts"), "1000.000");
    assert_string_equal(json_text(e, "dur"), "5.000");
    assert_string_equal(arg(e, "cbid"), "211");
    assert_string_equal(arg(e, "correlation"), "4294967301");
    assert_null(json_get(json_get(e, "args"), "result"));
    assert_string_equal(arg(find("name", "cudaStreamSynchronize", 0), "result"), "700");
    assert_string_equal(json_text(find("name", "cuLaunchKernelEx", 0), "cat"), "cuda_driver");
    assert_non_null(find("name", "driver call 99999", 0));
}

static void copies_have_bytes_and_bandwidth(void **state)
{
    struct sl_event peer = copy(3, 1 << 20, 1000), set = event(SL_EV_MEMSET, 4, 3000, 3100);
    struct sl_shape s;
    const struct json *e;

    (void)state;
    memset(&s, 0, sizeof(s));
    s.kind = SL_EV_MEMCPY;
    s.copy_kind = 10;
    s.src_memory = s.dst_memory = 3;
    s.device = 1;
    s.context = 2;
    s.stream = 20;
    s.is_peer = 1;
    s.src_device = 1;
    s.dst_device = 0;
    s.src_context = 2;
    s.dst_context = 1;
    peer.device = 1;
    peer.shape = sl_shape_put(f.shapes, &s);
    memset(&s, 0, sizeof(s));
    s.kind = SL_EV_MEMSET;
    s.dst_memory = 3;
    s.context = 1;
    s.stream = 7;
    set.shape = sl_shape_put(f.shapes, &s);
    set.u.op.bytes = 4096;
    begin();
    put(copy(1, 6291456, 4960));
    put(copy(2, 1, 2048));
    put(copy(5, 77, 0));
    put(peer);
    put(set);
    end();
    e = find("name", "Memcpy HtoD (Pinned -> Device)", 0);
    assert_string_equal(json_text(e, "cat"), "gpu_memcpy");
    assert_string_equal(arg(e, "bytes"), "6291456");
    assert_string_equal(arg(e, "memory bandwidth (GB/s)"), "1268.438");
    assert_null(json_get(json_get(e, "args"), "fromDevice"));
    e = find("name", "Memcpy HtoD (Pinned -> Device)", 1);
    assert_string_equal(arg(e, "memory bandwidth (GB/s)"), "0.000488");
    e = find("name", "Memcpy HtoD (Pinned -> Device)", 2);
    assert_null(json_get(json_get(e, "args"), "memory bandwidth (GB/s)"));
    e = find("name", "Memcpy PtoP (Device -> Device)", 0);
    assert_string_equal(json_text(e, "pid"), "1");
    assert_string_equal(json_text(e, "tid"), "20");
    assert_string_equal(arg(e, "fromDevice"), "1");
    assert_string_equal(arg(e, "inDevice"), "1");
    assert_string_equal(arg(e, "toDevice"), "0");
    assert_string_equal(arg(e, "fromContext"), "2");
    assert_string_equal(arg(e, "inContext"), "2");
    assert_string_equal(arg(e, "toContext"), "1");
    e = find("name", "Memset (Device)", 0);
    assert_string_equal(json_text(e, "cat"), "gpu_memset");
    assert_string_equal(arg(e, "bytes"), "4096");
    assert_string_equal(arg(e, "memory bandwidth (GB/s)"), "40.96");
}

static void arrows_have_one_tail_and_every_head(void **state)
{
    struct sl_event flow = event(SL_EV_FLOW, 77, 1000000, 5000123456);
    const struct json *e;

    (void)state;
    flow.thread = 4300;
    flow.flags = SL_EVF_FLOW_FIRST;
    begin();
    put(call(SL_EV_RUNTIME, 77, 211));
    put(flow);
    flow.flags = 0;
    flow.end_ns += 5;
    put(flow);
    end();
    e = find("ph", "s", 0);
    assert_string_equal(json_text(e, "cat"), "ac2g");
    assert_string_equal(json_text(e, "name"), "ac2g");
    assert_string_equal(json_text(e, "id"), "77");
    assert_string_equal(json_text(e, "pid"), "4242");
    assert_string_equal(json_text(e, "tid"), "4300");
    assert_string_equal(json_text(e, "ts"), "1000.000");
    assert_null(find("ph", "s", 1));
    e = find("ph", "f", 0);
    assert_string_equal(json_text(e, "bp"), "e");
    assert_string_equal(json_text(e, "id"), "77");
    assert_string_equal(json_text(e, "pid"), "0");
    assert_string_equal(json_text(e, "tid"), "7");
    assert_string_equal(json_text(e, "ts"), "5000123.456");
    assert_string_equal(json_text(find("ph", "f", 1), "ts"), "5000123.461");
}

static void a_kernel_without_end_says_that_it_is_running(void **state)
{
    struct sl_event ev = kernel_named("k", 1, 5);

    (void)state;
    begin();
    put(ev);
    ev.flags |= SL_EVF_STILL_RUNNING;
    put(ev);
    end();
    assert_null(json_get(json_get(find("cat", "kernel", 0), "args"), "still running"));
    assert_non_null(json_get(json_get(find("cat", "kernel", 1), "args"), "still running"));
}

/* The clocks of GPU and host differ, so a record may end before it starts. Its duration is 0, not
 * 584 years. */
static void a_row_never_lasts_less_than_nothing(void **state)
{
    struct sl_event ev = call(SL_EV_RUNTIME, 5, 211);

    (void)state;
    ev.end_ns = ev.start_ns - 1;
    begin();
    put(ev);
    end();
    assert_string_equal(json_text(find("cat", "cuda_runtime", 0), "dur"), "0.000");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(calls_have_name_ids_and_times),
        CASE(copies_have_bytes_and_bandwidth),
        CASE(arrows_have_one_tail_and_every_head),
        CASE(a_kernel_without_end_says_that_it_is_running),
        CASE(a_row_never_lasts_less_than_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
