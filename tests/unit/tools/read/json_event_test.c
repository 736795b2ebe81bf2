/*
 * json_event_test.c - parses trace events in JSON into row structs. Text that is not JSON is
 * refused.
 *
 * Threads: one. The parser owns its memory.
 */
#include "unit/test.h"
#include <errno.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "read/json_event.h"

static struct sl_json *json;
static char *padded;

static int setup(void **state)
{
    padded = malloc(SL_JSON_TEXT_MAX + 2 * SL_JSON_PADDING);
    return padded ? sl_json_create(&json) : -1;
}

static int teardown(void **state)
{
    sl_json_destroy(json);
    free(padded);
    return 0;
}

static int parse(const char *text, struct sl_trace_row *row)
{
    struct sl_json_error error;
    size_t size = strlen(text);

    memcpy(padded, text, size);
    memset(padded + size, '}', SL_JSON_PADDING);
    return sl_json_row(json, padded, size, row, &error);
}

static void assert_text(struct sl_text text, const char *wanted)
{
    assert_non_null(text.data);
    assert_int_equal(text.size, strlen(wanted));
    assert_memory_equal(text.data, wanted, text.size);
}

static void test_what_edges_need(void **state)
{
    struct sl_trace_row row;

    assert_int_equal(
        parse("{\"ph\":\"X\",\"args\":{\"cbid\":211,\"result\":600,\"graph id\":5,"
              "\"graph node id\":17179869187,\"wait_on_cuda_event_id\":8,\"wait_on_context\":2,"
              "\"stream flags\":3,\"still running\":true}}",
              &row),
        0);
    assert_true(row.cbid == 211 && row.result == 600 && row.graph == 5);
    assert_true(row.graph_node == 17179869187 && row.wait_event == 8 && row.wait_context == 2);
    assert_int_equal(row.stream_flags, 3);
    assert_int_equal(row.has, SL_HAS_ARGS | SL_HAS_CBID | SL_HAS_RESULT | SL_HAS_GRAPH |
                                  SL_HAS_GRAPH_NODE | SL_HAS_WAIT_EVENT | SL_HAS_WAIT_CONTEXT |
                                  SL_HAS_STREAM_FLAGS | SL_HAS_STILL_RUNNING);
    assert_int_equal(parse("{\"args\":{\"still running\":false}}", &row), 0);
    assert_int_equal(row.has, SL_HAS_ARGS);
}

static void test_kernel(void **state)
{
    struct sl_trace_row row;

    assert_int_equal(
        parse("{\"ph\": \"X\" , \"cat\":\"kernel\",\"name\":\"f<int>(\\\"a\\\\\\u00e9\\\")\", "
              "\"pid\":3,"
              "\"tid\" : 7, \"ts\":4458676522690.655,\"dur\":1.5, \"args\": {\"External id\":12,"
              "\"device\":3,\"context\":1,\"stream\":7,\"correlation\":4294967299,\"bytes\":64,"
              "\"grid\":[128,1,1],\"x\":{\"stream\":99},\"wait_on_stream\":-1,"
              "\"wait_on_cuda_event_record_corr_id\":41}}",
              &row),
        0);
    assert_int_equal(row.phase, 'X');
    assert_int_equal(row.category, SL_CAT_KERNEL);
    assert_text(row.name, "f<int>(\\\"a\\\\\\u00e9\\\")");
    assert_true(row.ts_ns == 4458676522690655 && row.dur_ns == 1500);
    assert_true(row.pid.is_number && row.pid.number == 3);
    assert_true(row.tid.is_number && row.tid.number == 7);
    assert_true(row.correlation == 4294967299 && row.device == 3 && row.context == 1);
    assert_true(row.stream == 7 && row.bytes == 64 && row.external_id == 12);
    assert_true(row.wait_stream == -1 && row.wait_record == 41);
    assert_int_equal(row.has, SL_HAS_TS | SL_HAS_DUR | SL_HAS_ARGS | SL_HAS_CORRELATION |
                                  SL_HAS_DEVICE | SL_HAS_CONTEXT | SL_HAS_STREAM | SL_HAS_BYTES |
                                  SL_HAS_EXTERNAL_ID | SL_HAS_WAIT_RECORD | SL_HAS_WAIT_STREAM);
}

/* Rows in the forms that several versions of torch.profiler write. */
static void test_foreign(void **state)
{
    struct sl_trace_row row;

    assert_int_equal(parse("{\"ph\":\"X\",\"cat\":\"Trace\",\"name\":\"P\",\"pid\":\"Spans\","
                           "\"tid\":\"PyTorch Profiler\",\"ts\":1707417525509335,\"dur\":3154}",
                           &row),
                     0);
    assert_int_equal(row.category, SL_CAT_OTHER);
    assert_false(row.pid.is_number);
    assert_text(row.pid.text, "Spans");
    assert_true(row.ts_ns == 1707417525509335000);
    assert_int_equal(parse("{\"ph\":\"s\",\"id\":\"181\",\"pid\":-1,\"tid\":0,\"ts\":1e3}", &row),
                     0);
    assert_true((row.has & SL_HAS_ID) && row.id == 181);
    assert_true(row.ts_ns == 1000000);
    assert_int_equal(row.category, SL_CAT_NONE);
    assert_int_equal(parse("{\"ph\":\"X\",\"ts\":\"soon\",\"dur\":null,\"args\":[1]}", &row), 0);
    assert_int_equal(row.has, 0);
    assert_int_equal(parse("{\"ts\":1e300}", &row), 0);
    assert_int_equal(row.has, 0);
    assert_int_equal(parse("{}", &row), 0);
    assert_int_equal(row.phase, 0);
    /* A number out of range is treated as missing, not as the largest number. */
    assert_int_equal(parse("{\"ph\":\"X\",\"ts\":-1e400,\"dur\":1e400}", &row), 0);
    assert_true(!(row.has & (SL_HAS_TS | SL_HAS_DUR)) && row.ts_ns == 0 && row.dur_ns == 0);
}

/* Any letter of a string may be escaped, even in the strings that determine the type of the row. */
static void test_escapes_in_what_decides(void **state)
{
    struct sl_trace_row row;

    assert_int_equal(
        parse("{\"p\\u0068\":\"\\u0058\",\"cat\":\"k\\u0065rnel\",\"name\":\"\\u006b\","
              "\"args\":{\"c\\u006frrelation\":5,\"wait_on\\u005fstream\":7}}",
              &row),
        0);
    assert_int_equal(row.phase, 'X');
    assert_int_equal(row.category, SL_CAT_KERNEL);
    assert_text(row.category_text, "kernel");
    assert_text(row.name, "\\u006b");
    assert_true(row.correlation == 5);
    assert_int_equal(row.has, SL_HAS_ARGS | SL_HAS_CORRELATION | SL_HAS_WAIT_STREAM);
    assert_int_equal(parse("{\"ph\":\"\\u0058\\u0058\",\"cat\":\"k\\u0065rnels\"}", &row), 0);
    assert_int_equal(row.phase, '?');
    assert_int_equal(row.category, SL_CAT_OTHER);
    assert_text(row.category_text, "k\\u0065rnels");
}

static void test_not_json(void **state)
{
    static const char *const text[] = {
        "{",
        "{\"a\"}",
        "{\"a\":}",
        "{\"a\":1,}",
        "{\"a\":1 \"b\":2}",
        "{a:1}",
        "{'a':1}",
        "{\"a\":tru}",
        "{\"a\":nulll}",
        "{\"a\":01}",
        "{\"a\":1.}",
        "{\"a\":-}",
        "{\"a\":NaN}",
        "{\"a\":[1,]}",
        "{\"a\":[1}}",
        "{\"a\":{]}",
        "{\"a\":\"\\q\"}",
        "{\"a\":\"\\u12g4\"}",
        "{\"\\u12\":1}",
        "{\"args\":{\"x\":[{\"y\":+1}]}}",
        "{\"args\":{\"stream\":7x}}",
        "{\"args\":{\"name\":\"\\x\"}}",
        "{\"a\":\"\n\"}",
        "{\"a\":\"\xff\"}",
        "{\"a\":\"\xc3\"}",
        "{\"a\":\"\xed\xa0\x80\"}",
        "{\"a\":\"b\":1}", /* the brackets behind the event are not its end */
    };
    struct sl_trace_row row;

    for (size_t i = 0; i < sizeof(text) / sizeof(text[0]); i++) {
        if (parse(text[i], &row) != -EBADMSG)
            fail_msg("taken for JSON: %s", text[i]);
    }
}

static void test_too_long(void **state)
{
    struct sl_trace_row row;
    struct sl_json_error error;

    memset(padded, ' ', SL_JSON_TEXT_MAX + 1);
    padded[0] = '{';
    padded[SL_JSON_TEXT_MAX] = '}';
    assert_int_equal(sl_json_row(json, padded, SL_JSON_TEXT_MAX + 1, &row, &error), -EFBIG);
    padded[SL_JSON_TEXT_MAX - 1] = '}';
    assert_int_equal(sl_json_row(json, padded, SL_JSON_TEXT_MAX, &row, &error), 0);
}

static void note(void *user, const char *path, enum sl_json_type type, struct sl_text value)
{
    char *out = user;

    sprintf(out + strlen(out), "%s%c%.*s;", path, "SNWAO"[type], (int)value.size, value.data);
}

static int visit(const char *text, char *out)
{
    struct sl_json_error error;
    size_t size = strlen(text);

    out[0] = '\0';
    memcpy(padded, text, size);
    memset(padded + size, ' ', SL_JSON_PADDING);
    return sl_json_visit(json, "top", padded, size, note, out, &error);
}

static void test_visit(void **state)
{
    char out[512];

    assert_int_equal(visit("{\"a\": 1, \"b\": {\"c\": [\"x\", {\"d\": true}]}, \"e\": null}", out),
                     0);
    assert_string_equal(out, "top.aN1;top.b.cSx;top.b.c.dWtrue;top.b.cO{\"d\": true};"
                             "top.b.cA[\"x\", {\"d\": true}];"
                             "top.bO{\"c\": [\"x\", {\"d\": true}]};top.eWnull;");
    assert_int_equal(visit("[[ [] , 1 ] , {} ]", out), 0);
    assert_string_equal(out, "topA[];topN1;topA[ [] , 1 ];topO{};");
    assert_int_equal(visit("7", out), 0);
    assert_string_equal(out, "topN7;");
    assert_int_equal(visit("\"seven\"", out), 0);
    assert_string_equal(out, "topSseven;");
    assert_int_equal(visit("{\"a\": 1, \"b\": xyz}", out), -EBADMSG);
    assert_string_equal(out, "top.aN1;");
    assert_int_equal(visit("sevn", out), -EBADMSG);
}

static void test_deep(void **state)
{
    struct sl_trace_row row;
    char text[4096] = "{\"a\":";

    memset(text + 5, '[', 2000);
    memset(text + 2005, ']', 2000);
    text[4005] = '}';
    assert_int_equal(parse(text, &row), -EBADMSG); /* the stack does not overflow */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_edges_need), cmocka_unit_test(test_kernel),
        cmocka_unit_test(test_foreign),         cmocka_unit_test(test_escapes_in_what_decides),
        cmocka_unit_test(test_not_json),        cmocka_unit_test(test_too_long),
        cmocka_unit_test(test_visit),           cmocka_unit_test(test_deep),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
