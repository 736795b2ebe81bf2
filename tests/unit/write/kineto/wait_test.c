/* wait_test.c - waits for events name the event record, however late it arrives. */
#include "unit/write/kineto/fixture.h"

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

static void waits_say_what_they_wait_for(void **state)
{
    struct sl_event wait = sync_of(SL_SYNC_STREAM_WAIT, 50, 20);
    struct sl_event sync = sync_of(SL_SYNC_EVENT, 51, SL_STREAM_NONE);
    struct sl_event unknown = sync_of(SL_SYNC_EVENT, 52, SL_STREAM_NONE);
    struct sl_event far = recorded(46, 12, 4, 28), far_wait = sync_of(SL_SYNC_STREAM_WAIT, 55, 20);
    struct sl_event own = sync_of(SL_SYNC_STREAM_WAIT, 56, 28);
    const struct json *e;

    (void)state;
    wait.u.sync.event_sync_id = 9;
    wait.u.sync.event_id = 3;
    sync.u.sync.event_sync_id = 10;
    sync.u.sync.event_id = 3;
    unknown.u.sync.event_sync_id = 11;
    far.context++;
    far_wait.u.sync.event_sync_id = 12;
    own.u.sync.event_sync_id = 10;
    begin();
    put(far);
    put(recorded(40, 9, 3, 7));
    put(wait);
    put(sync); /* its record arrives later */
    put(unknown);
    put(recorded(45, 10, 3, 28));
    put(sync_of(SL_SYNC_STREAM, 53, 7));
    put(sync_of(SL_SYNC_CONTEXT, 54, SL_STREAM_NONE));
    put(far_wait);
    put(own);
    end();
    e = find("name", "Stream Wait Event", 0);
    assert_string_equal(json_text(e, "cat"), "cuda_sync");
    assert_string_equal(json_text(e, "tid"), "20");
    assert_string_equal(arg(e, "cuda_sync_kind"), "Stream Wait Event");
    assert_string_equal(arg(e, "wait_on_stream"), "7");
    assert_string_equal(arg(e, "wait_on_cuda_event_record_corr_id"), "40");
    assert_string_equal(arg(e, "wait_on_cuda_event_id"), "3");
    assert_string_equal(arg(e, "correlation"), "50");
    assert_null(json_get(json_get(e, "args"), "wait_on_context"));
    e = find("name", "Stream Wait Event", 1);
    assert_int_equal(atoi(arg(e, "wait_on_context")), atoi(arg(e, "context")) + 1);
    assert_string_equal(arg(e, "wait_on_context_stream"), "28");
    assert_string_equal(arg(e, "wait_on_context_record_corr_id"), "46");
    assert_null(json_get(json_get(e, "args"), "wait_on_stream"));
    assert_null(json_get(json_get(e, "args"), "wait_on_cuda_event_record_corr_id"));
    e = find("name", "Stream Wait Event", 2); /* for its own stream */
    assert_string_equal(arg(e, "wait_on_context"), arg(e, "context"));
    assert_string_equal(arg(e, "wait_on_context_stream"), "28");
    assert_string_equal(arg(e, "wait_on_context_record_corr_id"), "45");
    assert_null(json_get(json_get(e, "args"), "wait_on_stream"));
    e = find("name", "Event Sync", 0);
    assert_string_equal(arg(e, "stream"), "-1");
    assert_string_equal(arg(e, "wait_on_stream"), "28");
    assert_string_equal(arg(e, "wait_on_cuda_event_record_corr_id"), "45");
    e = find("name", "Event Sync", 1);
    assert_string_equal(arg(e, "correlation"), "52");
    assert_null(json_get(json_get(e, "args"), "wait_on_cuda_event_record_corr_id"));
    e = find("name", "Stream Sync", 0);
    assert_string_equal(json_text(e, "tid"), "1000007");
    assert_string_equal(arg(e, "stream"), "7");
    e = find("name", "Context Sync", 0);
    assert_string_equal(arg(e, "stream"), "-1");
    assert_null(find("cat", "cuda_event", 0));
}

static const char *record_of(int n)
{
    return arg(find("cat", "cuda_sync", n), "wait_on_cuda_event_record_corr_id");
}

static int complete(uint64_t ns)
{
    const struct sl_output_progress progress = {.rows_ns = ns + 1};

    return sl_kineto_complete(f.kineto, &progress);
}

/* A compressed frame ends between a wait and its event record, as if another thread's buffer
 * arrived later. The wait still names the record. */
static void a_record_may_come_frames_later(void **state)
{
    struct sl_event wait = sync_of(SL_SYNC_STREAM_WAIT, 50, 20);

    (void)state;
    wait.u.sync.event_sync_id = 9;
    begin();
    put(wait);
    assert_int_equal(sl_kineto_flush(f.kineto), 0);
    assert_int_equal(complete(wait.end_ns - 1), 0);
    assert_int_equal(sl_kineto_written(f.kineto), 0);
    put(recorded(40, 9, 3, 7));
    assert_int_equal(sl_kineto_written(f.kineto), 1);
    end();
    assert_string_equal(record_of(0), "40");
}

/* Everything that ended before the wait has arrived. The wait is written without its record. */
static void what_is_complete_goes_out(void **state)
{
    struct sl_event wait = sync_of(SL_SYNC_STREAM_WAIT, 50, 20);

    (void)state;
    wait.u.sync.event_sync_id = 9;
    begin();
    put(wait);
    assert_int_equal(complete(wait.end_ns), 0);
    assert_int_equal(sl_kineto_written(f.kineto), 1);
    put(recorded(40, 9, 3, 7));
    end();
    assert_string_equal(record_of(0), "");
    assert_null(find("cat", "cuda_sync", 1));
}

/* Before CUPTI 12.8, the event's last record before the wait is meant, in whatever order records
 * arrive, and however often the event is recorded before the wait is written. */
static void by_event_id_the_last_record_before_it(void **state)
{
    struct sl_event wait = sync_of(SL_SYNC_EVENT, 50, SL_STREAM_NONE);
    uint64_t id;

    (void)state;
    wait.u.sync.event_id = 3;
    begin();
    put(recorded(40, 0, 3, 7));
    put(wait);
    put(recorded(48, 0, 3, 28));
    put(recorded(44, 0, 3, 7));
    for (id = 51; id < 80; id++)
        put(recorded(id, 0, 3, 7));
    end();
    assert_string_equal(record_of(0), "48");
    assert_string_equal(arg(find("cat", "cuda_sync", 0), "wait_on_stream"), "28");
}

/* More waits occur than can be held back. None is lost, although the first ones are written without
 * their record. */
static void waits_that_are_never_explained_are_written(void **state)
{
    struct sl_event wait = sync_of(SL_SYNC_EVENT, 0, SL_STREAM_NONE);
    const struct json *e;
    uint64_t i;

    (void)state;
    begin();
    for (i = 1; i <= 3000; i++) {
        wait.correlation = i;
        wait.u.sync.event_sync_id = i;
        put(wait);
    }
    put(recorded(5000, 3000, 3, 28)); /* the record of the last wait */
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
        CASE(waits_say_what_they_wait_for),
        CASE(a_record_may_come_frames_later),
        CASE(what_is_complete_goes_out),
        CASE(by_event_id_the_last_record_before_it),
        CASE(waits_that_are_never_explained_are_written),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
