/* names_test.c - names of processes and threads, in each file that needs them. */
#include "unit/write/kineto/fixture.h"

static void metadata_comes_first_and_when_first_seen(void **state)
{
    struct sl_event thread = event(SL_EV_META_THREAD, 0, 0, 0);
    struct sl_event stream = event(SL_EV_META_STREAM, 0, 0, 0);
    const struct json *e;
    int file, named = 0, position = 0, row = -1, name_row = -1;

    (void)state;
    thread.thread = 4300;
    thread.name = intern("worker \"1\"");
    stream.name = intern("comm");
    put(thread); /* named before any file, so kept for later files */
    put(stream);
    for (file = 0; file < 2; file++) {
        begin();
        put(call(SL_EV_RUNTIME, 5, 211));
        put(call(SL_EV_RUNTIME, 6, 211));
        put(copy(5, 100, 10));
        end();
        assert_string_equal(json_text(f.events->child, "name"), "process_name");
        assert_string_equal(arg(f.events->child, "name"), "python3");
        assert_string_equal(json_text(f.events->child, "pid"), "4242");
        assert_string_equal(arg(find("name", "process_labels", 0), "labels"), "CPU");
        assert_string_equal(arg(find("name", "process_labels", 1), "labels"), "GPU 0");
        assert_string_equal(arg(find("name", "process_sort_index", 1), "sort_index"), "5000000");
        assert_string_equal(arg(find("name", "thread_name", 0), "name"),
                            "thread 4300 (worker \"1\")");
        assert_string_equal(arg(find("name", "thread_name", 1), "name"), "stream 7 comm");
        assert_null(find("name", "thread_name", 2));
        for (e = f.events->child, position = 0, row = name_row = -1; e; e = e->next, position++) {
            if (row < 0 && strcmp(json_text(e, "cat"), "cuda_runtime") == 0)
                row = position;
            if (name_row < 0 && strcmp(json_text(e, "name"), "thread_name") == 0)
                name_row = position;
        }
        assert_true(name_row > 0 && row > name_row);
        named++;
    }
    assert_int_equal(named, 2);
}

static void a_name_that_comes_late_is_written_again(void **state)
{
    struct sl_event thread = event(SL_EV_META_THREAD, 0, 0, 0);

    (void)state;
    thread.thread = 4300;
    thread.name = intern("late");
    begin();
    put(call(SL_EV_RUNTIME, 5, 211));
    put(thread);
    put(thread);
    end();
    assert_string_equal(arg(find("name", "thread_name", 0), "name"), "thread 4300");
    assert_string_equal(arg(find("name", "thread_name", 1), "name"), "thread 4300 (late)");
    assert_null(find("name", "thread_name", 2));
}

/* Two contexts of a device have a stream with the same number. Each has its flags. */
static void streams_have_their_flags(void **state)
{
    struct sl_event stream = event(SL_EV_META_STREAM, 0, 0, 0);

    (void)state;
    stream.context = 1;
    stream.u.meta.flags = 3;
    put(stream);
    begin();
    put(copy(5, 100, 10));
    stream.context = 2;
    stream.u.meta.flags = 1;
    put(stream);
    put(stream);
    end();
    assert_string_equal(arg(find("name", "thread_name", 0), "stream flags"), "3");
    assert_string_equal(arg(find("name", "thread_name", 0), "context"), "1");
    assert_string_equal(arg(find("name", "thread_name", 1), "stream flags"), "1");
    assert_string_equal(arg(find("name", "thread_name", 1), "context"), "2");
    assert_null(find("name", "thread_name", 2));
}

static void overhead_has_its_own_process(void **state)
{
    struct sl_event ev = event(SL_EV_OVERHEAD, 0, 7000, 9000);

    (void)state;
    ev.thread = 4300;
    ev.name = intern("Activity Buffer Request");
    begin();
    put(ev);
    end();
    assert_string_equal(json_text(find("cat", "overhead", 0), "pid"), "-1");
    assert_string_equal(json_text(find("cat", "overhead", 0), "name"), "Activity Buffer Request");
}

/* Returns how many rows have this name. */
static int rows_named(const char *name)
{
    const struct json *e;
    int n = 0;

    for (e = f.events->child; e; e = e->next)
        n += strcmp(json_text(e, "name"), name) == 0;
    return n;
}

static void a_file_names_what_is_in_it_and_nothing_else(void **state)
{
    struct sl_event other = call(SL_EV_RUNTIME, 6, 211);

    (void)state;
    other.thread = 4301;
    begin();
    put(call(SL_EV_RUNTIME, 5, 211));
    put(other);
    put(copy(5, 100, 10));
    end();
    assert_int_equal(rows_named("thread_name"), 3);
    assert_int_equal(rows_named("thread_sort_index"), 3);
    assert_int_equal(rows_named("process_name"), 2);
    begin();
    put(other);
    end();
    assert_int_equal(rows_named("thread_name"), 1);
    assert_string_equal(json_text(find("name", "thread_name", 0), "tid"), "4301");
    assert_int_equal(rows_named("process_name"), 1);
}

static void a_process_that_is_renamed_says_so_at_once(void **state)
{
    struct sl_event process = event(SL_EV_META_PROCESS, 0, 0, 0);

    (void)state;
    process.name = intern("trainer");
    begin();
    put(call(SL_EV_RUNTIME, 5, 211));
    put(process);
    put(process);
    end();
    assert_string_equal(arg(find("name", "process_name", 0), "name"), "python3");
    assert_string_equal(arg(find("name", "process_name", 1), "name"), "trainer");
    assert_int_equal(rows_named("process_name"), 2);
    begin();
    end();
    assert_string_equal(arg(find("name", "process_name", 0), "name"), "trainer");
    assert_int_equal(rows_named("process_name"), 1);
}

static void a_stream_is_named_with_its_context(void **state)
{
    struct sl_event context = event(SL_EV_META_CONTEXT, 0, 0, 0);
    struct sl_event stream = event(SL_EV_META_STREAM, 0, 0, 0);

    (void)state;
    context.name = intern("inference");
    stream.name = intern("comm");
    put(context);
    put(stream);
    begin();
    put(copy(5, 100, 10));
    end();
    assert_string_equal(arg(find("name", "thread_name", 0), "name"), "stream 7 comm in inference");
}

/* Waits are in a track of their own, separate from the stream's operations. */
static void waits_have_rows_with_names(void **state)
{
    struct sl_event wait = event(SL_EV_SYNC, 5, 7000, 9000), all = wait;

    (void)state;
    wait.u.sync.type = SL_SYNC_STREAM;
    all.u.sync.type = SL_SYNC_CONTEXT;
    all.stream = SL_STREAM_NONE;
    begin();
    put(wait);
    put(all);
    end();
    assert_string_equal(json_text(find("name", "thread_name", 0), "tid"), "1000007");
    assert_string_equal(arg(find("name", "thread_name", 0), "name"), "waits for stream 7");
    assert_string_equal(json_text(find("name", "thread_name", 1), "tid"), "1000000");
    assert_string_equal(arg(find("name", "thread_name", 1), "name"), "waits");
    assert_int_equal(rows_named("thread_name"), 2);
}

/* There are more threads than the table holds. Each has its row, and forgotten ones are counted. */
static void a_full_table_starts_anew(void **state)
{
    struct sl_event ev = call(SL_EV_RUNTIME, 1, 211);
    const int threads = 20000;
    int i;

    (void)state;
    sl_stats_reset();
    begin();
    for (i = 1; i <= threads; i++) {
        ev.thread = (uint32_t)i;
        put(ev);
    }
    end();
    assert_int_equal(rows_named("cudaLaunchKernel"), threads);
    assert_int_equal(rows_named("thread_name"), threads);
    assert_in_range(strtoull(counter("names_lost"), NULL, 10), 1, threads);
}

/* No row contains an event's handle, but each file has the event's name. */
static void events_have_names_by_their_handle(void **state)
{
    struct sl_event first = event(SL_EV_META_EVENT, 0, 0, 0), second = first;

    (void)state;
    first.correlation = 0x7f0123456789;
    first.name = intern("forward \"done\"");
    second.correlation = 5;
    second.name = intern("second");
    put(first); /* before any file */
    begin();
    put(call(SL_EV_RUNTIME, 5, 211));
    put(second);
    put(second);
    end();
    assert_int_equal(rows_named("cuda_event_name"), 2);
    assert_string_equal(arg(find("name", "cuda_event_name", 0), "name"), "forward \"done\"");
    assert_string_equal(arg(find("name", "cuda_event_name", 0), "handle"), "0x7f0123456789");
    assert_string_equal(arg(find("name", "cuda_event_name", 1), "handle"), "0x5");
    begin();
    put(call(SL_EV_RUNTIME, 6, 211));
    second.name = intern("another"); /* the handle is reused */
    put(second);
    end();
    assert_int_equal(rows_named("cuda_event_name"), 3);
    assert_string_equal(arg(find("name", "cuda_event_name", 2), "name"), "another");
}

static void events_without_end_do_not_use_up_the_table(void **state)
{
    struct sl_event ev = event(SL_EV_META_EVENT, 0, 0, 0),
                    thread = event(SL_EV_META_THREAD, 0, 0, 0);

    (void)state;
    sl_stats_reset();
    thread.thread = 4300;
    thread.name = intern("kept");
    put(thread);
    ev.name = intern("event");
    for (ev.correlation = 1; ev.correlation <= 20000; ev.correlation++)
        put(ev);
    begin();
    put(call(SL_EV_RUNTIME, 5, 211));
    end();
    assert_int_equal(rows_named("cuda_event_name"), 4096);
    assert_string_equal(counter("names_lost"), "15904");
    assert_string_equal(arg(find("name", "thread_name", 0), "name"), "thread 4300 (kept)");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(metadata_comes_first_and_when_first_seen),
        CASE(a_name_that_comes_late_is_written_again),
        CASE(streams_have_their_flags),
        CASE(overhead_has_its_own_process),
        CASE(a_file_names_what_is_in_it_and_nothing_else),
        CASE(a_process_that_is_renamed_says_so_at_once),
        CASE(a_stream_is_named_with_its_context),
        CASE(waits_have_rows_with_names),
        CASE(a_full_table_starts_anew),
        CASE(events_have_names_by_their_handle),
        CASE(events_without_end_do_not_use_up_the_table),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
