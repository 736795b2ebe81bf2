/*
 * check_test.c - a good trace is made wrong in one way. Only that problem is found, and it is
 * documented.
 *
 * Threads: one. Memory: the check's.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../text.h"
#include "check/check.h"
#include "unit/page.h"

#define HEADER_TAIL                                                                                \
    "\"baseTimeNanoseconds\":1700000000000000000,\"distributedInfo\": {\"rank\": 3, "              \
    "\"world_size\": 8},\n\"traceEvents\":["
#define HEADER "{\"schemaVersion\":1," HEADER_TAIL
#define NAMES                                                                                      \
    "{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":42,\"tid\":0,\"ts\":0.000,\"args\":{"         \
    "\"name\":"                                                                                    \
    "\"python\"}},"                                                                                \
    "{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":0,\"tid\":0,\"ts\":0.000,\"args\":{\"name\":" \
    "\"python\"}},"
#define CALL(id, ts)                                                                               \
    "{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"cudaLaunchKernel\",\"pid\":42,\"tid\":43,"  \
    "\"ts\":" ts ",\"dur\":2.000,\"args\":{\"correlation\":" id "}}"
#define RECORD(id, ts)                                                                             \
    "{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"cudaEventRecord\",\"pid\":42,\"tid\":43,"   \
    "\"ts\":" ts ",\"dur\":1.000,\"args\":{\"correlation\":" id "}}"
#define KERNEL(id, stream, ts, dur)                                                                \
    "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"k\",\"pid\":0,\"tid\":" stream ",\"ts\":" ts      \
    ",\"dur\":" dur ",\"args\":{\"device\":0,\"context\":1,\"stream\":" stream                     \
    ",\"correlation\":" id "}}"
#define WAIT(record, ts)                                                                           \
    "{\"ph\":\"X\",\"cat\":\"cuda_sync\",\"name\":\"Stream Wait "                                  \
    "Event\",\"pid\":0,\"tid\":7,\"ts\":" ts                                                       \
    ",\"dur\":0.000,\"args\":{\"stream\":7,\"correlation\":90,"                                    \
    "\"wait_on_cuda_event_record_corr_id\":" record "}}"
#define RANGE(ts)                                                                                  \
    "{\"ph\":\"X\",\"cat\":\"user_annotation\",\"name\":\"r\",\"pid\":42,\"tid\":43,\"ts\":" ts    \
    ",\"dur\":2.000}"
#define CONTEXT_SYNC(stream)                                                                       \
    "{\"ph\":\"X\",\"cat\":\"cuda_sync\",\"name\":\"Context Sync\",\"pid\":0,\"tid\":7,\"ts\":"    \
    "30.000,\"dur\":1.000,\"args\":{\"stream\":" stream ",\"correlation\":90}}"
#define FLOW(ph, id)                                                                               \
    "{\"ph\":\"" ph "\",\"cat\":\"ac2g\",\"name\":\"ac2g\",\"id\":" id                             \
    ",\"pid\":42,\"tid\":43,\"ts\":10.000}"
#define OWN(counters)                                                                              \
    "],\"syncline\":{\"version\":\"0.1.0\",\"opened_ns\":1700000000000003000,\"closed_ns\":"       \
    "1700000000001000000,\"counters\":{\"records\":2" counters "}},\"traceName\":\"t\"}"
#define GOOD                                                                                       \
    CALL("5", "10.000")                                                                            \
    "," FLOW("s", "5") "," FLOW("f", "5") "," KERNEL("5", "7", "20.000", "3.500")
#define OWN_TRACE(extra, counters) HEADER NAMES GOOD extra OWN(counters)
#define FOREIGN_TRACE(extra)       HEADER NAMES GOOD extra "]}"

static struct sl_check *check(const char *text)
{
    struct text_reader reader = text_reader(text, 0);
    struct sl_input_status status;
    struct sl_trace_item item;
    struct sl_check *c;
    struct sl_trace *t;

    assert_int_equal(sl_check_create(&c), 0);
    assert_int_equal(sl_trace_open_reader(&t, text_read, &reader), 0);
    while (sl_trace_next(t, &item))
        sl_check_item(c, t, &item);
    sl_trace_get_status(t, &status);
    sl_check_end(c, &item.span, &status);
    sl_trace_close(t);
    return c;
}

/* Checks that the trace has this problem exactly `count` times, and no other problem. */
static void expect(const char *text, enum sl_finding_id id, uint64_t count)
{
    struct sl_check *c = check(text);

    for (int i = 0; i < SL_FIND_COUNT; i++) {
        uint64_t wanted = i == (int)id ? count : 0;

        if (c->findings.of[i].count != wanted)
            fail_msg("%s: %llu found, %llu expected: %s", sl_finding_name((enum sl_finding_id)i),
                     (unsigned long long)c->findings.of[i].count, (unsigned long long)wanted,
                     c->findings.of[i].example);
    }
    sl_check_destroy(c);
}

/* Appends `row` with its @ replaced by a number. Returns the new end. */
static char *put_numbered(char *at, const char *row, int number)
{
    const char *place = strchr(row, '@');

    return at + sprintf(at, ",%.*s%d%s", (int)(place - row), row, number, place + 1);
}

/* A file has many waits whose event records follow much later, because rows of driver calls are
 * written late. No problem is found. */
static void test_waits_long_before_their_records(void **state)
{
    enum {
        WAITS = 20000,
        ROW_BYTES = 512
    };
    char *text = malloc((size_t)2 * WAITS * ROW_BYTES), *at = text;

    (void)state;
    assert_non_null(text);
    at += sprintf(at, "%s", HEADER NAMES GOOD);
    for (int i = 0; i < WAITS; i++)
        at = put_numbered(at, WAIT("@", "50.000"), 100 + 3 * i);
    for (int i = 0; i < WAITS; i++)
        at = put_numbered(at, RECORD("@", "40.000"), 100 + 3 * i);
    sprintf(at, "%s", OWN(""));
    expect(text, SL_FIND_COUNT, 0);
    free(text);
}

static void test_good(void **state)
{
    struct sl_check *c;

    (void)state;
    expect(OWN_TRACE("", ""), SL_FIND_COUNT, 0);
    expect(FOREIGN_TRACE(""), SL_FIND_COUNT, 0);
    c = check(OWN_TRACE(",\n" KERNEL("5", "9", "24.000", "1.000"), ",\"dropped_ring\":0"));
    assert_true(c->whole && c->header.own_file);
    assert_string_equal(c->header.version, "0.1.0");
    assert_true(c->header.rank == 3 && c->header.world_size == 8);
    assert_int_equal(c->tally->events, 7);
    assert_int_equal(c->tally->gpu_operations, 2);
    assert_true(c->tally->first_ns == 10000 && c->tally->last_ns == 25000);
    assert_int_equal(c->tally->categories, 4);
    assert_string_equal(c->tally->category[3].name, "kernel");
    assert_int_equal(c->tally->category[3].events, 2);
    assert_int_equal(c->tally->category[3].total_ns, 4500);
    assert_int_equal(c->header.counters, 2);
    sl_check_destroy(c);
    c = check("{\"generator\":\"syncline 0.1.0\",\"traceEvents\":[");
    assert_true(!c->whole && c->header.own_file);
    sl_check_destroy(c);
}

static void test_json(void **state)
{
    struct sl_check *c;

    (void)state;
    expect(FOREIGN_TRACE(",{\"ph\":\"X\",}"), SL_FIND_JSON_INVALID, 1);
    expect(HEADER NAMES GOOD "],\"bad\":tru}", SL_FIND_JSON_INVALID, 1);
    expect(FOREIGN_TRACE("") "x", SL_FIND_JSON_INVALID, 1);
    expect(HEADER NAMES GOOD "],\"traceEvents\":[]}", SL_FIND_EVENTS_TWICE, 1);
    expect(HEADER NAMES GOOD ",{\"ph\":\"X\"", SL_FIND_TRUNCATED, 1);
    expect(HEADER NAMES GOOD, SL_FIND_TRUNCATED, 1);
    c = check(HEADER NAMES GOOD "],\"\x1b[31m\":1}"); /* must not be printed to the terminal */
    assert_non_null(strstr(c->findings.of[SL_FIND_JSON_INVALID].example, "?[31m"));
    sl_check_destroy(c);
    c = check(FOREIGN_TRACE(",{\"ph\":\"X\",\"dur\":1.}"));
    assert_int_equal(c->findings.of[SL_FIND_JSON_INVALID].at / 10,
                     (strstr(FOREIGN_TRACE(",{\"ph\":\"X\",\"dur\":1.}"), "1.}") -
                      FOREIGN_TRACE(",{\"ph\":\"X\",\"dur\":1.}")) /
                         10);
    assert_int_equal(sl_check_worst(c), SL_SEVERITY_ERROR);
    sl_check_destroy(c);
}

static void test_header(void **state)
{
    (void)state;
    expect("{\"baseTimeNanoseconds\":0,\"traceEvents\":[" NAMES GOOD "]}", SL_FIND_RANK_MISSING, 1);
    expect("{\"distributedInfo\":{\"rank\":3},\"traceEvents\":[" NAMES GOOD "]}",
           SL_FIND_RANK_HIDDEN, 1);
    expect(OWN_TRACE("", ",\"dropped_ring\":4,\"dropped_write\":3,\"nested_dropped\":9"),
           SL_FIND_LOST, 7);
    expect(OWN_TRACE("", ",\"undelivered_buffers\":2,\"records_other_clock\":3,\"duplicates\":1"),
           SL_FIND_LOST, 5);
    expect(OWN_TRACE("," CALL("6", "1001.000"), ""), SL_FIND_OUTSIDE_WINDOW, 1);
    expect(OWN_TRACE("," RANGE("0.500"), ""), SL_FIND_OUTSIDE_WINDOW, 1);
    expect(OWN_TRACE("," RANGE("2.000"), ""), SL_FIND_COUNT, 0); /* ends inside the window */
}

static void test_rows(void **state)
{
    (void)state;
    expect(FOREIGN_TRACE(",{\"name\":\"n\",\"pid\":42,\"ts\":1}"), SL_FIND_MEMBER_MISSING, 1);
    expect(FOREIGN_TRACE(",{\"ph\":\"i\",\"name\":\"n\",\"pid\":42}"), SL_FIND_MEMBER_MISSING, 1);
    expect(FOREIGN_TRACE(",{\"ph\":\"X\",\"name\":\"n\",\"pid\":42,\"ts\":1}"),
           SL_FIND_MEMBER_MISSING, 1);
    expect(FOREIGN_TRACE("," CALL("6", "1e15") "," CALL("7", "1.7e15")), SL_FIND_TIME_ABSOLUTE, 2);
    expect(FOREIGN_TRACE("," KERNEL("5", "8", "30.000", "-1.000")), SL_FIND_DURATION_NEGATIVE, 1);
    expect(FOREIGN_TRACE("," KERNEL("5", "0", "30.000", "1.000")), SL_FIND_STREAM_ZERO, 1);
    expect(FOREIGN_TRACE("," CONTEXT_SYNC("4294967295")), SL_FIND_STREAM_UNSIGNED, 1);
    expect(FOREIGN_TRACE("," KERNEL("5", "7", "23.499", "1.000")), SL_FIND_GPU_OVERLAP, 1);
    expect(FOREIGN_TRACE("," KERNEL("5", "7", "23.500", "1.000")), SL_FIND_COUNT, 0);
    expect(HEADER "{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":42,\"tid\":0,\"args\":{\"name\":"
                  "\"p\"}}," GOOD "]}",
           SL_FIND_METADATA_LATE, 1); /* the device's name is missing */
    expect(HEADER NAMES CALL("5", "1.000") "]}", SL_FIND_NO_GPU_WORK, 1);
}

/* Ids and times from which no edges can be made. */
static void test_ids_and_times(void **state)
{
    struct sl_check *c;

    (void)state;
    expect(FOREIGN_TRACE("," CALL("6", "-1.000") "," CALL("0", "1.000")), SL_FIND_ROW_UNUSABLE, 2);
    expect(FOREIGN_TRACE("," CALL("\"x\"", "1.000")), SL_FIND_ROW_UNUSABLE, 1);
    expect(FOREIGN_TRACE("," RANGE("-1.000")), SL_FIND_ROW_UNUSABLE, 1);
    expect(FOREIGN_TRACE("," KERNEL("5", "-1", "30.000", "1.000")), SL_FIND_ROW_UNUSABLE, 1);
    expect(FOREIGN_TRACE("," CALL("4294967296", "1.000")), SL_FIND_CORRELATION_LARGE, 1);
    expect(OWN_TRACE("," CALL("4294967296", "1.000"), ""), SL_FIND_COUNT, 0);
    c = check(FOREIGN_TRACE("," CALL("6", "-1.000") "," CALL("0", "1.000")));
    assert_string_equal(c->findings.of[SL_FIND_ROW_UNUSABLE].example,
                        "ts is below 0: cudaLaunchKernel");
    assert_int_equal(sl_check_worst(c), SL_SEVERITY_WARNING);
    sl_check_destroy(c);
}

static void test_links(void **state)
{
    (void)state;
    expect(FOREIGN_TRACE("," CALL("5", "11.000")), SL_FIND_CALL_TWICE, 1);
    expect(FOREIGN_TRACE("," KERNEL("6", "7", "30.000", "1.000")), SL_FIND_GPU_WITHOUT_CALL, 1);
    expect(FOREIGN_TRACE("," KERNEL("6", "7", "30.000", "1.000") "," CALL("6", "29.000")),
           SL_FIND_COUNT, 0); /* the call may follow later in the file */
    expect(FOREIGN_TRACE("," KERNEL("6", "7", "30.000", "1.000") "," CALL("6", "31.000")),
           SL_FIND_GPU_BEFORE_CALL, 1);
    expect(FOREIGN_TRACE("," KERNEL("5", "8", "9.000", "1.000")), SL_FIND_GPU_BEFORE_CALL, 1);
    expect(FOREIGN_TRACE("," FLOW("s", "5")), SL_FIND_FLOW_TWICE, 1);
    expect(FOREIGN_TRACE("," FLOW("f", "5")), SL_FIND_COUNT, 0); /* one call, two operations */
    expect(FOREIGN_TRACE("," FLOW("s", "6")), SL_FIND_FLOW_NO_END, 1);
    expect(FOREIGN_TRACE("," FLOW("f", "6")), SL_FIND_FLOW_NO_START, 1);
}

static void test_waits(void **state)
{
    (void)state;
    expect(FOREIGN_TRACE("," RECORD("8", "30.000") "," WAIT("8", "31.000")), SL_FIND_COUNT, 0);
    expect(FOREIGN_TRACE("," WAIT("8", "31.000") "," RECORD("8", "30.000")), SL_FIND_COUNT, 0);
    expect(FOREIGN_TRACE("," RECORD("8", "32.000") "," WAIT("8", "31.000")),
           SL_FIND_WAIT_LATE_RECORD, 1);
    expect(FOREIGN_TRACE("," WAIT("8", "31.000") "," RECORD("8", "32.000")),
           SL_FIND_WAIT_LATE_RECORD, 1);
    expect(FOREIGN_TRACE("," WAIT("8", "31.000")), SL_FIND_WAIT_UNKNOWN_RECORD, 1);
    expect(FOREIGN_TRACE("," WAIT("5", "31.000")), SL_FIND_WAIT_UNKNOWN_RECORD, 1); /* names a
                                                                                     * launch */
    expect(FOREIGN_TRACE("," WAIT("-1", "31.000")), SL_FIND_WAIT_NO_RECORD, 1);
}

/* The same habit is an error in a file of syncline, and a note in one of torch.profiler. */
static void test_severity(void **state)
{
    struct sl_check *own = check(OWN_TRACE("," FLOW("f", "6"), ""));
    struct sl_check *foreign = check(FOREIGN_TRACE("," FLOW("f", "6")));

    (void)state;
    assert_int_equal(sl_check_worst(own), SL_SEVERITY_ERROR);
    assert_int_equal(sl_check_worst(foreign), SL_SEVERITY_NOTE);
    sl_check_destroy(own);
    sl_check_destroy(foreign);
    for (int i = 0; i < SL_FIND_COUNT; i++) {
        assert_non_null(sl_finding_name((enum sl_finding_id)i));
        assert_non_null(sl_finding_text((enum sl_finding_id)i));
        assert_true(sl_finding_severity((enum sl_finding_id)i, 1) >=
                    sl_finding_severity((enum sl_finding_id)i, 0));
    }
}

static void test_docs(void **state)
{
    char wanted[64];

    (void)state;
    for (int i = 0; i < SL_FIND_COUNT; i++) {
        snprintf(wanted, sizeof(wanted), "`%s`", sl_finding_name((enum sl_finding_id)i));
        if (!strstr(page_read("trace-format.md"), wanted))
            fail_msg("docs/trace-format.md does not name %s", wanted);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_good),
        cmocka_unit_test(test_waits_long_before_their_records),
        cmocka_unit_test(test_json),
        cmocka_unit_test(test_header),
        cmocka_unit_test(test_rows),
        cmocka_unit_test(test_links),
        cmocka_unit_test(test_ids_and_times),
        cmocka_unit_test(test_waits),
        cmocka_unit_test(test_severity),
        cmocka_unit_test(test_docs),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
