/* kineto_test.c - several files after each other: which event is in which file, blocks,
 * failures. */
#include "unit/write/kineto/fixture.h"

#include <errno.h>

static void an_empty_window_is_a_valid_file(void **state)
{
    (void)state;
    begin();
    end();
    assert_string_equal(json_text(f.events->child, "name"), "process_name");
    assert_string_equal(json_text(f.events->last, "name"), "Record Window End");
}

static void a_row_without_a_time_is_left_out(void **state)
{
    struct sl_event ev = call(SL_EV_RUNTIME, 5, 211);

    (void)state;
    ev.start_ns = ev.end_ns = 0;
    begin();
    put(ev);
    end();
    assert_null(find("cat", "cuda_runtime", 0));
}

/* Many shapes are used with a small cache. Every row is right, whatever was forgotten. */
static void kept_text_may_be_forgotten(void **state)
{
    char name[32], id[32];
    uint32_t i;

    (void)state;
    sl_kineto_destroy(f.kineto);
    make_kineto(SL_DETAIL_DEFAULT, 256 * 1024);
    begin();
    for (i = 1; i <= 6000; i++) {
        snprintf(name, sizeof(name), "kernel %u", i % 2000);
        put(kernel_named(name, strlen(name), i));
    }
    end();
    for (i = 1; i <= 6000; i += 997) {
        const struct json *e = find("cat", "kernel", (int)i - 1);

        snprintf(name, sizeof(name), "kernel %u", i % 2000);
        snprintf(id, sizeof(id), "%u", i);
        assert_string_equal(json_text(e, "name"), name);
        assert_string_equal(arg(e, "correlation"), id);
    }
}

static int refuse(struct sl_sink *sink, const void *data, size_t size)
{
    (void)sink;
    (void)data;
    (void)size;
    return -ENOSPC;
}

static void a_failing_sink_is_a_sticky_error(void **state)
{
    struct sl_sink broken = {.write = refuse};
    struct sl_event ev = call(SL_EV_RUNTIME, 5, 211);
    int error = 0, i;

    (void)state;
    assert_int_equal(sl_kineto_begin(f.kineto, &broken, &f.meta), 0);
    for (i = 0; i < 10000 && !error; i++)
        error = sl_kineto_events(f.kineto, &ev, 1);
    assert_int_equal(error, -ENOSPC);
    assert_int_equal(sl_kineto_flush(f.kineto), -ENOSPC);
    assert_int_equal(sl_kineto_end(f.kineto, OPENED), -ENOSPC);
    /* The next file is not affected. */
    begin();
    put(ev);
    end();
    assert_non_null(find("cat", "cuda_runtime", 0));
}

static void rows_without_an_open_file_go_nowhere(void **state)
{
    (void)state;
    put(call(SL_EV_RUNTIME, 5, 211));
    begin();
    assert_int_equal(sl_kineto_written(f.kineto), 0);
    put(call(SL_EV_RUNTIME, 6, 211));
    put(call(SL_EV_RUNTIME, 7, 211));
    assert_int_equal(sl_kineto_written(f.kineto), 2);
    end();
    assert_string_equal(arg(find("cat", "cuda_runtime", 0), "correlation"), "6");
    assert_string_equal(arg(find("cat", "cuda_runtime", 1), "correlation"), "7");
    assert_null(find("cat", "cuda_runtime", 2));
}

/* After a flush, the sink has all complete lines so far, before the file ends. */
static void a_flush_hands_over_all_text_so_far(void **state)
{
    const void *data;
    size_t size;

    (void)state;
    begin();
    put(call(SL_EV_RUNTIME, 5, 211));
    sl_sink_memory_get(f.sink, &data, &size);
    assert_int_equal(size, 0);
    assert_int_equal(sl_kineto_flush(f.kineto), 0);
    sl_sink_memory_get(f.sink, &data, &size);
    assert_non_null(memmem(data, size, "cudaLaunchKernel", 16));
    assert_memory_equal((const char *)data + size - 2, ",\n", 2);
    end();
    assert_null(find("cat", "cuda_runtime", 1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(an_empty_window_is_a_valid_file),      CASE(a_row_without_a_time_is_left_out),
        CASE(kept_text_may_be_forgotten),           CASE(a_failing_sink_is_a_sticky_error),
        CASE(rows_without_an_open_file_go_nowhere), CASE(a_flush_hands_over_all_text_so_far),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
