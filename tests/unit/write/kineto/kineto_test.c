/* kineto_test.c - writes several files one after the other. Tests which file contains an event, in
 * which blocks the text is written, and failures. */
#include "unit/write/kineto/fixture.h"

#include <errno.h>

static void an_empty_window_is_a_valid_file(void **state)
{
    begin();
    end();
    assert_string_equal(json_text(f.events->child, "name"), "process_name");
    assert_string_equal(json_text(f.events->last, "name"), "Record Window End");
}

static void a_row_without_a_time_is_left_out(void **state)
{
    struct sl_event ev = call(SL_EV_RUNTIME, 5, 211);

    ev.start_ns = ev.end_ns = 0;
    begin();
    put(ev);
    end();
    assert_null(find("cat", "cuda_runtime", 0));
}

/* More shapes are used than fit into the small cache. Every row is right, although the cache
 * forgets shapes. */
static void kept_text_may_be_forgotten(void **state)
{
    char name[32], id[32];
    uint32_t i;

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
    return -ENOSPC;
}

static void a_failing_sink_is_a_sticky_error(void **state)
{
    struct sl_sink broken = {.write = refuse};
    struct sl_event ev = call(SL_EV_RUNTIME, 5, 211);
    int error = 0, i;

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

/* After a flush, the sink contains all lines that are complete so far, although the file is still
 * open. */
static void a_flush_hands_over_all_text_so_far(void **state)
{
    const void *data;
    size_t size;

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

static void odd_names_give_valid_json(void **state)
{
    static const char *const odd[] = {"quote\"back\\slash", "line\nbreak\ttab\x01", "\xff\xfe\x80",
                                      "\xe4\xb8\xad", ""};
    size_t i, length = 64 * 1024;
    char *giant = malloc(length);

    for (i = 0; i < length; i++)
        giant[i] = (char)(i * 7);
    begin();
    for (i = 0; i < sizeof(odd) / sizeof(odd[0]); i++)
        put(kernel_named(odd[i], strlen(odd[i]), i + 1));
    put(kernel_named(giant, length, 6));
    put(kernel_named(giant, length, 7)); /* the cached text of this row is longer than a block */
    end();
    assert_string_equal(json_text(find("cat", "kernel", 0), "name"), odd[0]);
    assert_string_equal(json_text(find("cat", "kernel", 1), "name"), odd[1]);
    assert_string_equal(json_text(find("cat", "kernel", 2), "name"), "\\xff\\xfe\\x80");
    assert_string_equal(json_text(find("cat", "kernel", 3), "name"), odd[3]);
    assert_true(json_get(find("cat", "kernel", 6), "name")->length >= length);
    free(giant);
}

static struct sl_event sync_of(enum sl_sync_type type, uint64_t id, uint32_t stream)
{
    struct sl_event ev = event(SL_EV_SYNC, id, 7000, 9000);

    ev.stream = stream;
    ev.u.sync.type = (uint8_t)type;
    return ev;
}

static struct sl_event recorded(uint64_t id, uint64_t sync_id, uint32_t event_id, uint32_t stream)
{
    struct sl_event ev = event(SL_EV_CUDA_EVENT, id, 0, 0);

    ev.stream = stream;
    ev.u.sync.event_sync_id = sync_id;
    ev.u.sync.event_id = event_id;
    return ev;
}

/* A wait and its event record are in different compressed frames, for example because another
 * thread's buffer arrives later. */
static void a_record_may_come_frames_later(void **state)
{
    struct sl_event wait = sync_of(SL_SYNC_STREAM_WAIT, 50, 20);
    const struct sl_output_progress all_before = {.rows_ns = wait.end_ns};

    wait.u.sync.event_sync_id = 9;
    begin();
    put(wait);
    assert_int_equal(sl_kineto_flush(f.kineto), 0);
    assert_int_equal(sl_kineto_complete(f.kineto, &all_before), 0);
    assert_int_equal(sl_kineto_written(f.kineto), 0);
    put(recorded(40, 9, 3, 7));
    assert_int_equal(sl_kineto_written(f.kineto), 1);
    end();
    assert_string_equal(arg(find("cat", "cuda_sync", 0), "wait_on_cuda_event_record_corr_id"),
                        "40");
}

/* There are more waits than the writer can delay. No wait is lost, but the first waits are written
 * without the ids of their event records. */
static void waits_that_are_never_explained_are_written(void **state)
{
    struct sl_event wait = sync_of(SL_SYNC_EVENT, 0, SL_STREAM_NONE);
    const struct json *e;
    uint64_t i;

    begin();
    for (i = 1; i <= 3000; i++) {
        wait.correlation = i;
        wait.u.sync.event_sync_id = i;
        put(wait);
    }
    put(recorded(5000, 3000, 3, 28)); /* the event record of the last wait */
    end();
    assert_non_null(find("cat", "cuda_sync", 2999));
    assert_null(find("cat", "cuda_sync", 3000));
    for (i = 0; i < 3000; i++) {
        e = find("cat", "cuda_sync", (int)i);
        assert_string_equal(arg(e, "wait_on_cuda_event_record_corr_id"),
                            strcmp(arg(e, "correlation"), "3000") ? "" : "5000");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(an_empty_window_is_a_valid_file),
        CASE(a_row_without_a_time_is_left_out),
        CASE(kept_text_may_be_forgotten),
        CASE(a_failing_sink_is_a_sticky_error),
        CASE(rows_without_an_open_file_go_nowhere),
        CASE(a_flush_hands_over_all_text_so_far),
        CASE(odd_names_give_valid_json),
        CASE(a_record_may_come_frames_later),
        CASE(waits_that_are_never_explained_are_written),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
