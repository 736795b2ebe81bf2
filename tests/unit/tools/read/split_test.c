/*
 * split_test.c - splits a trace into its parts (spans): header, events and the rest. The text is
 * read in pieces of any size, and may be truncated anywhere.
 *
 * Threads: one. The test allocates a few strings.
 */
#include "unit/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../text.h"
#include "read/split.h"

static const char trace[] =
    "\n{ \"schemaVersion\": 1,\"a\":\"x\\\"}\" , \"deviceProperties\": [{\"id\": 0}],\n"
    "  \"traceEvents\": [\n{\"ph\":\"M\",\"args\":{\"name\":\"]}\"}},\n"
    " {\"ph\":\"X\"}\n ,{}\n],\n\"ok\":true, \"traceName\": \"t\"\n}\n ";

static const char outline[] =
    "OPEN FIELD(schemaVersion=1) FIELD(a=\"x\\\"}\") FIELD(deviceProperties=[{\"id\": 0}]) EVENTS "
    "EVENT({\"ph\":\"M\",\"args\":{\"name\":\"]}\"}}) EVENT({\"ph\":\"X\"}) EVENT({}) CLOSED "
    "FIELD(ok=true) FIELD(traceName=\"t\") CLOSE END";

/* Writes the kinds of the spans of `text`. Checks that the spans, and the text between them, are
 * the whole text. */
static void describe(const char *text, size_t piece, char *out, size_t out_size)
{
    struct text_reader reader = text_reader(text, piece);
    struct sl_split *split;
    struct sl_span span;
    size_t seen = 0, at = 0;

    assert_int_equal(sl_split_create(&split, text_read, &reader), 0);
    out[0] = '\0';
    do {
        const char *gap = at ? " " : "";
        size_t room = out_size - at;

        sl_split_next(split, &span);
        assert_int_equal(span.offset - span.lead, seen);
        assert_memory_equal(span.text - span.lead, text + seen, span.lead + span.size);
        seen += span.lead + span.size;
        switch (span.kind) {
        case SL_SPAN_OPEN:
            at += (size_t)snprintf(out + at, room, "%sOPEN", gap);
            break;
        case SL_SPAN_FIELD:
            at += (size_t)snprintf(out + at, room, "%sFIELD(%.*s=%.*s)", gap, (int)span.key_size,
                                   span.key, (int)span.size, span.text);
            break;
        case SL_SPAN_EVENTS_OPEN:
            at += (size_t)snprintf(out + at, room, "%sEVENTS", gap);
            break;
        case SL_SPAN_EVENT:
            at += (size_t)snprintf(out + at, room, "%sEVENT(%.*s)", gap, (int)span.size, span.text);
            break;
        case SL_SPAN_EVENTS_CLOSE:
            at += (size_t)snprintf(out + at, room, "%sCLOSED", gap);
            break;
        case SL_SPAN_CLOSE:
            at += (size_t)snprintf(out + at, room, "%sCLOSE", gap);
            break;
        case SL_SPAN_END:
            at += (size_t)snprintf(out + at, room, "%sEND", gap);
            break;
        case SL_SPAN_CUT:
            at += (size_t)snprintf(out + at, room, "%sCUT", gap);
            break;
        case SL_SPAN_BAD:
            at += (size_t)snprintf(out + at, room, "%sBAD(%s)", gap, span.why);
            break;
        }
    } while (span.kind < SL_SPAN_END);
    if (span.kind != SL_SPAN_BAD)
        assert_int_equal(seen, strlen(text));
    sl_split_destroy(split);
}

static void expect(const char *text, const char *wanted)
{
    char got[1024];

    describe(text, 0, got, sizeof(got));
    assert_string_equal(got, wanted);
}

static void test_outline(void **state)
{
    char got[1024];

    for (size_t piece = 0; piece < 70; piece++) {
        describe(trace, piece, got, sizeof(got));
        assert_string_equal(got, outline);
    }
}

/* The text is truncated at every position. The spans before the end must equal the spans of the
 * whole trace. */
static void test_cut_anywhere(void **state)
{
    char cut[sizeof(trace)], got[1024];

    for (size_t size = 0; size < (size_t)(strrchr(trace, '}') - trace); size++) {
        size_t common;

        memcpy(cut, trace, size);
        cut[size] = '\0';
        describe(cut, size % 5, got, sizeof(got));
        common = strlen(got) - strlen("CUT");
        assert_string_equal(got + common, "CUT");
        assert_memory_equal(got, outline, common);
    }
}

#define SPANS_MAX 16

/* Splits the trace and keeps the texts of its spans. Then goes back to the event `again`. */
static void keep_and_go_back(size_t bytes, int again)
{
    struct text_reader reader = text_reader(trace, bytes);
    struct sl_split_buffer buffer[SPANS_MAX] = {{0}};
    struct sl_text piece[SPANS_MAX];
    struct sl_span span[SPANS_MAX], repeated;
    size_t spans = 0, buffers = 0, pieces = 0, seen = 0, first;
    struct sl_split *split;

    assert_int_equal(sl_split_create(&split, text_read, &reader), 0);
    sl_split_keep(split, 1);
    do {
        sl_split_next(split, &span[spans]);
        buffers += (size_t)sl_split_take(split, &buffer[buffers]);
        if (spans % 3 == 1)
            sl_split_turn(split);
    } while (span[spans++].kind < SL_SPAN_END);
    assert_true(buffers >= spans / 3);
    for (size_t i = 0; i < spans; i++) {
        assert_memory_equal(span[i].text - span[i].lead, trace + seen, span[i].lead + span[i].size);
        seen += span[i].lead + span[i].size;
    }
    for (first = 0; span[first].kind != SL_SPAN_EVENT || again-- > 0; first++)
        ;
    for (size_t i = first; i < spans - 1; i++)
        piece[pieces++] =
            (struct sl_text){span[i].text - span[i].lead, span[i].lead + span[i].size};
    sl_split_rewind(split, &span[first], piece, pieces);
    for (size_t i = first; i < spans; i++) {
        sl_split_next(split, &repeated);
        assert_int_equal(repeated.kind, span[i].kind);
        assert_int_equal(repeated.offset, span[i].offset);
        assert_int_equal(repeated.lead, span[i].lead);
        assert_int_equal(repeated.size, span[i].size);
        assert_memory_equal(repeated.text, trace + repeated.offset, span[i].size);
    }
    for (size_t i = 0; i < buffers; i++)
        free(buffer[i].data);
    sl_split_destroy(split);
}

static void test_kept_texts(void **state)
{
    for (size_t bytes = 0; bytes < 70; bytes += 7)
        for (int again = 0; again < 3; again++)
            keep_and_go_back(bytes, again);
}

static void test_not_a_trace(void **state)
{
    expect("", "CUT");
    expect("hello", "BAD(not a JSON object)");
    expect("[{}]", "BAD(not a JSON object)");
    expect("{}", "OPEN CLOSE END");
    expect("{} x", "OPEN CLOSE BAD(text after the end of the trace)");
    expect("{,}", "OPEN BAD(expected a key, ',' or '}')");
    expect("{\"a\":1,}", "OPEN FIELD(a=1) BAD(expected a key, ',' or '}')");
    expect("{\"a\" 1}", "OPEN BAD(expected ':' after a key)");
    expect("{\"a\":,\"b\":1}", "OPEN BAD(a key has no value)");
    expect("{\"a\":1 2}", "OPEN FIELD(a=1) BAD(expected a key, ',' or '}')");
    expect("{\"traceEvents\": {}}", "OPEN BAD(its events are not an array)");
    expect("{\"traceEvents\": [1]}", "OPEN EVENTS BAD(expected an event, ',' or ']')");
    expect("{\"traceEvents\": [{},]}", "OPEN EVENTS EVENT({}) BAD(expected an event, ',' or ']')");
    expect("{\"traceEvents\": [{} {}]}",
           "OPEN EVENTS EVENT({}) BAD(expected an event, ',' or ']')");
    expect("{\"traceEvents\": []]", "OPEN EVENTS CLOSED BAD(expected a key, ',' or '}')");
}

/* A name has a quote or backslash that is not escaped, or a bracket behind such a quote. The event
 * ends before the next event, or before the end of the array. */
static void test_broken_event(void **state)
{
    expect("{\"traceEvents\": [{\"name\":\"5\" a\"}, {\"ph\":\"X\"}, {}], \"t\":\"u\"}",
           "OPEN EVENTS EVENT({\"name\":\"5\" a\"}) EVENT({\"ph\":\"X\"}) EVENT({}) CLOSED "
           "FIELD(t=\"u\") "
           "CLOSE END");
    expect("{\"traceEvents\": [{\"name\":\"a\\\"},\n {\"cat\":\"k\"}]}",
           "OPEN EVENTS EVENT({\"name\":\"a\\\"}) EVENT({\"cat\":\"k\"}) CLOSED CLOSE END");
    expect("{\"traceEvents\": [{\"name\":\"a\"}\", \"ts\":1},{\"ph\":\"X\"}]}",
           "OPEN EVENTS EVENT({\"name\":\"a\"}) EVENT(\", \"ts\":1}) EVENT({\"ph\":\"X\"}) CLOSED "
           "CLOSE END");
    expect("{\"traceEvents\": [{}, {\"name\":\"5\"a\"}], \"t\":\"u\"}\n",
           "OPEN EVENTS EVENT({}) EVENT({\"name\":\"5\"a\"}) CLOSED FIELD(t=\"u\") CLOSE END");
    expect("{\"traceEvents\": [{\"name\":\"5\"a\"}", "OPEN EVENTS CUT");
}

/* The text is far longer than the buffer, and one span makes the buffer grow. */
static void test_long(void **state)
{
    size_t size = 3u << 20, at, events = 0;
    char *text = malloc(2 * size + 64);
    struct text_reader reader;
    struct sl_split *split;
    struct sl_span span;

    at = (size_t)sprintf(text, "{\"traceEvents\":[{\"name\":\"");
    memset(text + at, 'x', size);
    at += size;
    at += (size_t)sprintf(text + at, "\"}");
    while (at < 2 * size)
        at += (size_t)sprintf(text + at, ",{\"n\":%zu}", at);
    strcpy(text + at, "]}");
    reader = text_reader(text, 100000);
    assert_int_equal(sl_split_create(&split, text_read, &reader), 0);
    do {
        sl_split_next(split, &span);
        if (span.kind != SL_SPAN_EVENT)
            continue;
        if (events++ == 0)
            assert_int_equal(span.size, size + strlen("{\"name\":\"\"}"));
        assert_memory_equal(span.text, text + span.offset, span.size);
    } while (span.kind < SL_SPAN_END);
    assert_int_equal(span.kind, SL_SPAN_END);
    assert_true(events > 100000);
    sl_split_destroy(split);
    free(text);
}

static size_t endless(void *user, void *data, size_t size)
{
    memset(data, '[', size);
    memcpy(data, "{\"a\":", *(int *)user ? 0 : 5);
    *(int *)user = 1;
    return size;
}

static void test_too_long(void **state)
{
    struct sl_split *split;
    struct sl_span span;
    int begun = 0;

    assert_int_equal(sl_split_create(&split, endless, &begun), 0);
    do
        sl_split_next(split, &span);
    while (span.kind < SL_SPAN_END);
    assert_int_equal(span.kind, SL_SPAN_BAD);
    assert_string_equal(span.why, "one value is longer than 16 MiB");
    sl_split_destroy(split);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_outline),     cmocka_unit_test(test_cut_anywhere),
        cmocka_unit_test(test_not_a_trace), cmocka_unit_test(test_broken_event),
        cmocka_unit_test(test_long),        cmocka_unit_test(test_too_long),
        cmocka_unit_test(test_kept_texts),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
