/*
 * trace_events_test.c - reads rows of old, new and damaged files as events in the order of enqueue.
 *
 * Threads: one. Memory: the reader's.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "../text.h"
#include "read/trace_events.h"
#include "read/trace_file.h"

#define ORIGIN 1000000000u /* added to each time */

static struct sl_trace_events *events;

static int teardown(void **state)
{
    (void)state;
    sl_trace_events_destroy(events);
    events = NULL;
    return 0;
}

/* Reads rows (without a header) to their end. */
static void read_rows(const char *rows, int own)
{
    char text[8192];
    struct text_reader source;
    struct sl_trace_item item;
    struct sl_trace *t;

    assert_true(snprintf(text, sizeof(text), "{\"traceEvents\":[%s]}", rows) < (int)sizeof(text));
    source = text_reader(text, 0);
    assert_int_equal(sl_trace_open_reader(&t, text_read, &source), 0);
    assert_int_equal(sl_trace_events_create(&events), 0);
    if (own)
        sl_trace_events_own(events);
    while (sl_trace_next(t, &item)) {
        if (item.span.kind != SL_SPAN_EVENT)
            continue;
        assert_int_equal(item.status, 0);
        assert_int_equal(sl_trace_events_row(events, &item.row), 0);
    }
    sl_trace_close(t);
    assert_int_equal(sl_trace_events_end(events), 0);
}

static struct sl_event next(enum sl_event_kind kind, uint64_t correlation)
{
    struct sl_event ev;

    assert_int_equal(sl_trace_events_next(events, &ev), 1);
    assert_int_equal(ev.kind, kind);
    assert_int_equal(sl_trace_events_correlation(events, ev.correlation), correlation);
    return ev;
}

static void no_more(void)
{
    struct sl_event ev;

    assert_int_equal(sl_trace_events_next(events, &ev), 0);
}

static const char *name(uint32_t id)
{
    const char *text = sl_intern_get(sl_trace_events_names(events), id, NULL);

    return text ? text : "(none)";
}

static void test_file_order_does_not_matter(void **state)
{
    struct sl_event ev;
    const struct sl_shape *shape;

    (void)state;
    read_rows("{\"ph\":\"X\",\"cat\":\"gpu_memcpy\",\"name\":\"Memcpy DtoH (Device -> Pageable)\","
              "\"pid\":0,\"tid\":7,\"ts\":30,\"dur\":2,\"args\":{\"device\":1,\"context\":2,"
              "\"stream\":7,\"correlation\":12,\"bytes\":64}},"
              "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"k<1>\",\"pid\":0,\"tid\":7,\"ts\":10,"
              "\"dur\":20,\"args\":{\"stream\":7,\"correlation\":11,\"graph id\":3,"
              "\"graph node id\":9}},"
              "{\"ph\":\"X\",\"cat\":\"cuda_sync\",\"name\":\"Stream Sync\",\"pid\":0,\"tid\":7,"
              "\"ts\":33,\"dur\":1,\"args\":{\"stream\":7,\"correlation\":13,\"result\":600}},"
              "{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"cudaStreamSynchronize\",\"pid\":5,"
              "\"tid\":6,\"ts\":32,\"dur\":3,\"args\":{\"cbid\":131,\"correlation\":13,"
              "\"result\":700}},"
              "{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"cudaLaunchKernel\",\"pid\":5,"
              "\"tid\":6,\"ts\":1.5,\"dur\":3,\"args\":{\"cbid\":211,\"correlation\":11}}",
              0);
    assert_int_equal(sl_trace_events_first_ns(events), ORIGIN + 1500);
    ev = next(SL_EV_RUNTIME, 11);
    assert_true(ev.start_ns == ORIGIN + 1500 && ev.end_ns == ORIGIN + 4500);
    assert_true(ev.thread == 6 && ev.u.call.cbid == 211);
    assert_true(ev.flags & SL_EVF_LAUNCH);
    ev = next(SL_EV_KERNEL, 11);
    assert_true(ev.graph == 3 && ev.u.op.graph_node == 9 && ev.stream == 7);
    assert_string_equal(name(ev.name), "k<1>");
    ev = next(SL_EV_MEMCPY, 12);
    assert_true(ev.device == 1 && ev.context == 2 && ev.u.op.bytes == 64);
    shape = sl_shape_get(sl_trace_events_shapes(events), ev.shape);
    assert_non_null(shape);
    assert_int_equal(shape->copy_kind, 2);  /* CUPTI_ACTIVITY_MEMCPY_KIND_DTOH */
    assert_int_equal(shape->src_memory, 3); /* CUPTI_ACTIVITY_MEMORY_KIND_DEVICE */
    assert_int_equal(shape->dst_memory, 1); /* CUPTI_ACTIVITY_MEMORY_KIND_PAGEABLE */
    ev = next(SL_EV_RUNTIME, 13);
    assert_true(!(ev.flags & SL_EVF_LAUNCH) && ev.u.call.result == 700);
    assert_true(ev.context == 0 && ev.stream == 0 && ev.shape == 0);
    ev = next(SL_EV_SYNC, 13);
    assert_true(ev.u.sync.type == SL_SYNC_STREAM && ev.stream == 7 && ev.u.sync.result == 600);
    no_more();
}

#define WAIT(type, id, args)                                                                       \
    "{\"ph\":\"X\",\"cat\":\"cuda_sync\",\"name\":\"" type                                         \
    "\",\"pid\":0,\"tid\":-1,\"ts\":90,\"dur\":1,\"args\":{\"context\":1,\"device\":0," args       \
    ",\"correlation\":" id "}}"
#define RECORD(stream, correlation, event)                                                         \
    "\"wait_on_stream\":" stream ",\"wait_on_cuda_event_record_corr_id\":" correlation             \
    ",\"wait_on_cuda_event_id\":" event

static void test_records_are_made_from_waits(void **state)
{
    struct sl_event record, wait;

    (void)state;
    read_rows(WAIT("Event Sync", "50", "\"stream\":-1," RECORD("20", "40", "3")) ","
              /* the same record again, in another row */
              WAIT("Event Sync", "52", "\"stream\":4294967295," RECORD("20", "40", "3")) ","
              /* the wait was made before a record existed */
              WAIT("Event Sync", "53", "\"stream\":-1," RECORD("-1", "-1", "8")),
              0);
    record = next(SL_EV_CUDA_EVENT, 40);
    assert_true(record.stream == 20 && record.context == 1 && record.u.sync.event_id == 3);
    assert_true(record.flags & SL_EVF_NO_TIME);
    wait = next(SL_EV_SYNC, 50);
    assert_true(wait.u.sync.type == SL_SYNC_EVENT && wait.stream == SL_STREAM_NONE);
    assert_true(wait.u.sync.event_sync_id == record.u.sync.event_sync_id);
    wait = next(SL_EV_SYNC, 52);
    assert_true(wait.stream == SL_STREAM_NONE);
    assert_true(wait.u.sync.event_sync_id == record.u.sync.event_sync_id);
    wait = next(SL_EV_SYNC, 53);
    assert_true(wait.u.sync.event_sync_id == 0 && wait.u.sync.event_id == 8);
    no_more();
}

static void test_own_waits_name_the_context_of_their_record(void **state)
{
    struct sl_event record, wait;

    (void)state;
    read_rows(WAIT("Stream Wait Event", "51",
                   "\"stream\":7,\"wait_on_context\":4,\"wait_on_context_stream\":20,"
                   "\"wait_on_context_record_corr_id\":41"),
              1);
    record = next(SL_EV_CUDA_EVENT, 41);
    assert_true(record.stream == 20 && record.context == 4);
    wait = next(SL_EV_SYNC, 51);
    assert_true(wait.u.sync.type == SL_SYNC_STREAM_WAIT && wait.stream == 7);
    no_more();
}

#define KERNEL(id, device, context, stream)                                                        \
    "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"k\",\"ts\":9,\"dur\":1,\"args\":{"                \
    "\"device\":" device ",\"context\":" context ",\"stream\":" stream ",\"correlation\":" id "}}"

/* Files of other writers name only the event's stream. The record is in the stream's context if
 * only one context has that stream. */
static void test_records_of_other_contexts(void **state)
{
    struct sl_event record;

    (void)state;
    read_rows(
        WAIT("Stream Wait Event", "50", "\"stream\":13," RECORD("20", "40", "3")) "," WAIT(
            "Stream Wait Event", "51",
            "\"stream\":13," RECORD(
                "21", "41",
                "4")) "," WAIT("Stream Wait Event", "52",
                               "\"stream\":13," RECORD(
                                   "7", "42",
                                   "5")) "," WAIT("Stream Wait Event", "53",
                                                  "\"stream\":13," RECORD(
                                                      "22", "43",
                                                      "6")) "," KERNEL("44", "1", "2",
                                                                       "20") "," KERNEL("45", "0",
                                                                                        "1",
                                                                                        "21") "," KERNEL("46",
                                                                                                         "1",
                                                                                                         "2",
                                                                                                         "21") "," KERNEL("47",
                                                                                                                          "0",
                                                                                                                          "1",
                                                                                                                          "7"),
        0);
    record = next(SL_EV_CUDA_EVENT, 40);
    assert_true(record.device == 1 && record.context == 2 && record.stream == 20);
    record = next(SL_EV_CUDA_EVENT, 41); /* both contexts have it */
    assert_int_equal(record.stream, SL_STREAM_NONE);
    record = next(SL_EV_CUDA_EVENT, 42); /* each context has a legacy default stream */
    assert_int_equal(record.stream, SL_STREAM_NONE);
    record = next(SL_EV_CUDA_EVENT, 43); /* no context is known to have its stream */
    assert_int_equal(record.stream, SL_STREAM_NONE);
}

#define CALL(cat, name, id, ts, dur)                                                               \
    "{\"ph\":\"X\",\"cat\":\"" cat "\",\"name\":\"" name "\",\"pid\":5,\"tid\":6,\"ts\":" ts       \
    ",\"dur\":" dur ",\"args\":{\"correlation\":" id "}}"

static void test_ids_that_wrap(void **state)
{
    uint64_t before, after;

    (void)state;
    read_rows(CALL("cuda_runtime", "b", "3", "20", "1") "," CALL("cuda_runtime", "a", "4294967290",
                                                                 "10", "1"),
              0);
    before = next(SL_EV_RUNTIME, 4294967290).correlation;
    after = next(SL_EV_RUNTIME, 3).correlation;
    assert_int_equal(after - before, 9);
    no_more();
}

static void test_own_ids_are_wide(void **state)
{
    (void)state;
    read_rows(CALL("cuda_runtime", "b", "12884901891", "20", "1") "," CALL("cuda_runtime", "a", "7",
                                                                           "10", "1"),
              1);
    assert_int_equal(next(SL_EV_RUNTIME, 7).correlation, 7);
    assert_int_equal(next(SL_EV_RUNTIME, 12884901891).correlation, 12884901891);
    no_more();
}

static void test_one_call_per_id(void **state)
{
    struct sl_trace_events_counts counts;

    (void)state;
    read_rows(CALL("cuda_driver", "inner", "9", "11", "1") "," CALL("cuda_runtime", "outer", "9",
                                                                    "10", "5"),
              0);
    assert_string_equal(name(next(SL_EV_RUNTIME, 9).name), "outer");
    no_more();
    sl_trace_events_get_counts(events, &counts);
    assert_true(counts.calls == 1 && counts.twice == 1 && counts.unusable == 0);
}

static uint64_t of_others(const char *rows)
{
    struct sl_trace_events_counts counts;

    read_rows(rows, 0);
    sl_trace_events_get_counts(events, &counts);
    teardown(NULL);
    return counts.of_others;
}

#define OF(pid, id)                                                                                \
    "{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"a\",\"pid\":" pid ",\"tid\":6,\"ts\":" id   \
    ",\"dur\":1,\"args\":{\"correlation\":" id "}}"

/* A file has calls of several ranks. Some programs that merge files name a process by a text:
 * "[TP00] 4711". */
static void test_calls_of_other_processes(void **state)
{
    (void)state;
    assert_int_equal(of_others(OF("5", "1") "," OF("5", "2")), 0);
    assert_int_equal(of_others(OF("5", "1") "," OF("6", "2") "," OF("5", "3")), 1);
    assert_int_equal(of_others(OF("0", "1") "," OF("6", "2")), 1);
    assert_int_equal(of_others(OF("\"[TP00] 5\"", "1") "," OF("\"[TP00] 5\"", "2")), 0);
    assert_int_equal(
        of_others(OF("\"[TP00] 5\"", "1") "," OF("\"[TP01] 5\"", "2") "," OF("\"[TP02] 5\"", "3")),
        2);
    assert_int_equal(of_others(OF("\"[TP00] 5\"", "1") "," OF("5", "2")), 1);
    /* A call without a process. */
    assert_int_equal(of_others("{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"a\",\"tid\":6,"
                               "\"ts\":3,\"dur\":1,\"args\":{\"correlation\":9}}," OF("5", "1")),
                     0);
}

#define RANGE(cat, name, tid, ts, dur)                                                             \
    "{\"ph\":\"X\",\"cat\":\"" cat "\",\"name\":\"" name "\",\"pid\":5,\"tid\":" tid ",\"ts\":" ts \
    ",\"dur\":" dur "}"

static void test_places_and_steps(void **state)
{
    const struct sl_trace_call *call;
    uint64_t id[4];

    (void)state;
    read_rows(
        CALL("cuda_runtime", "in", "1", "12", "1") "," CALL("cuda_runtime", "between", "2", "16", "1") "," CALL(
            "cuda_runtime", "after", "3", "40",
            "1") "," CALL("cuda_runtime", "last", "4", "61",
                          "1") "," RANGE("cpu_op", "aten::outer", "6", "10",
                                         "10") "," RANGE("cpu_op", "aten::inner", "6", "11",
                                                         "3") "," RANGE("cpu_op", "elsewhere", "7",
                                                                        "0",
                                                                        "100") "," RANGE("user_"
                                                                                         "annotatio"
                                                                                         "n",
                                                                                         "ProfilerS"
                                                                                         "tep#2",
                                                                                         "8", "30",
                                                                                         "20") "," RANGE("user_annotation",
                                                                                                         "ProfilerStep#1",
                                                                                                         "8",
                                                                                                         "0",
                                                                                                         "30"),
        0);
    for (int i = 0; i < 4; i++)
        id[i] = next(SL_EV_RUNTIME, (uint64_t)i + 1).correlation;
    call = sl_trace_events_call(events, id[0]);
    assert_string_equal(name(call->name), "in");
    assert_string_equal(name(call->place), "aten::inner");
    assert_string_equal(name(call->step), "ProfilerStep#1"); /* on another thread */
    assert_string_equal(name(sl_trace_events_call(events, id[1])->place), "aten::outer");
    call = sl_trace_events_call(events, id[2]);
    assert_int_equal(call->place, 0);
    assert_string_equal(name(call->step), "ProfilerStep#2");
    assert_int_equal(sl_trace_events_call(events, id[3])->step, 0);
    assert_null(sl_trace_events_call(events, id[3] + 1));
    assert_null(sl_trace_events_call(events, 0));
}

static void test_stream_flags(void **state)
{
    struct sl_event ev;

    (void)state;
    read_rows("{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":1,\"tid\":20,\"ts\":0,\"args\":{"
              "\"name\":\"stream 20\",\"context\":3,\"stream flags\":2}},"
              "{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":1,\"tid\":21,\"ts\":0,\"args\":{"
              "\"name\":\"stream 21\"}}",
              1);
    ev = next(SL_EV_META_STREAM, 0);
    assert_true(ev.device == 1 && ev.context == 3 && ev.stream == 20 && ev.u.meta.flags == 2);
    no_more();
}

/* Meaningless rows are counted and left out. */
static void test_unusable_rows(void **state)
{
    struct sl_trace_events_counts counts;

    (void)state;
    read_rows(CALL("cuda_runtime", "zero", "0", "1", "1") "," CALL(
                  "cuda_runtime", "negative", "-3", "1",
                  "1") "," CALL("cuda_runtime", "wide", "4294967296", "1",
                                "1") "," CALL("cuda_runtime", "early", "4", "-1",
                                              "1") "," CALL("kernel", "no stream", "5", "1",
                                                            "1") ","
                                                                 "{\"ph\":\"X\",\"cat\":\"cuda_"
                                                                 "sync\",\"name\":\"Event Sync\"},"
                                                                 "{\"ph\":\"X\",\"cat\":\"kernel\","
                                                                 "\"name\":\"k\",\"ts\":\"x\","
                                                                 "\"args\":{\"stream\":7,"
                                                                 "\"correlation\":6}},"
                                                                 "{\"ph\":\"X\",\"cat\":\"kernel\","
                                                                 "\"name\":\"k\",\"ts\":5,\"dur\":-"
                                                                 "9,\"args\":{"
                                                                 "\"stream\":7,\"correlation\":6}}",
              0);
    /* A negative duration counts as none. */
    assert_int_equal(next(SL_EV_KERNEL, 6).end_ns, ORIGIN + 5000);
    no_more();
    sl_trace_events_get_counts(events, &counts);
    assert_int_equal(counts.unusable, 7);
    assert_int_equal(counts.operations, 1);
}

static void test_nothing(void **state)
{
    (void)state;
    read_rows("", 0);
    assert_int_equal(sl_trace_events_first_ns(events), 0);
    no_more();
}

#define TEST(f) cmocka_unit_test_teardown(f, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_file_order_does_not_matter),
        TEST(test_records_are_made_from_waits),
        TEST(test_own_waits_name_the_context_of_their_record),
        TEST(test_records_of_other_contexts),
        TEST(test_ids_that_wrap),
        TEST(test_own_ids_are_wide),
        TEST(test_one_call_per_id),
        TEST(test_calls_of_other_processes),
        TEST(test_places_and_steps),
        TEST(test_stream_flags),
        TEST(test_unusable_rows),
        TEST(test_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
