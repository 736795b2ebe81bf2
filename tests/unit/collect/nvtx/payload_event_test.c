/* payload_event_test.c - a schema can mark the fields of a payload that hold the event's message,
 * category, color and times. syncline reads these values from the payload, and nothing outside of
 * the payload. */
#include <stdlib.h>
#include <string.h>

#include "collect/nvtx/payload.h"
#include "unit/collect/nvtx/schemas.h"

static struct sl_nvtx_payload_event said;

static int has_message(void)
{
    return said.ev.message.string || said.ev.message.text;
}

/* Reads an event with two payloads. The memory of each payload has its exact length, so that the
 * address sanitizer notices a read past the end. */
static void read_two(uint64_t schema, const void *bytes, size_t size, uint64_t other,
                     const void *other_bytes, size_t other_size)
{
    void *own[] = {malloc(size + !size), malloc(other_size + !other_size)};
    const nvtxPayloadData_t data[] = {{schema, size, own[0]}, {other, other_size, own[1]}};

    assert_true(own[0] && own[1]);
    memcpy(own[0], bytes, size);
    memcpy(own[1], other_bytes, other_size);
    memset(&said, 0x5a, sizeof(said));
    sl_nvtx_payload_event(&said, 0, data, other ? 2 : 1);
    free(own[0]);
    free(own[1]);
}

static void read_one(uint64_t schema, const void *bytes, size_t size)
{
    read_two(schema, bytes, size, 0, "", 0);
}

static void assert_text(const char *text)
{
    assert_int_equal(has_message(), 1);
    assert_int_equal(said.ev.message.string, 0);
    assert_int_equal(said.ev.message.length, strlen(text));
    assert_memory_equal(said.ev.message.text, text, said.ev.message.length);
}

static void fields_say_what_the_event_is(void **state)
{
    struct bytes {
        uint64_t begin, end;
        uint32_t category, color, value;
    } bytes = {1000, 5000, 7, 0xff00aa11, 9};
    struct sl_nvtx_field fields[] = {
        {.flags = FLAG(TIMESTAMP) | FLAG(RANGE_BEGIN), .type = TYPE(UINT64)},
        {.flags = FLAG(TIMESTAMP) | FLAG(RANGE_END), .type = TYPE(UINT64), .offset = 8, .clock = 7},
        {.type = TYPE(CATEGORY), .offset = 16},
        {.type = TYPE(COLOR_ARGB), .offset = 20},
        {.type = TYPE(UINT32), .offset = 24},
    };

    read_one(add(fields, 5, sizeof(bytes)), &bytes, sizeof(bytes));
    assert_true(said.has_start && said.start.at == 1000 && said.has_end && said.end.at == 5000);
    assert_true(said.start.clock == 0 && said.end.clock == 7);
    assert_true(said.ev.has_category && said.ev.category == 7);
    assert_true(said.ev.has_color && said.ev.color == 0xff00aa11);
    assert_false(has_message());
    assert_int_equal(said.ev.message.string, 0);
}

static void nothing_is_said_of_what_is_not_marked(void **state)
{
    struct sl_nvtx_field plain[] = {{.type = TYPE(UINT32)}};
    const uint32_t bytes = 5;

    read_one(add(plain, 1, 4), &bytes, 4);
    assert_false(has_message() || said.ev.has_category || said.ev.has_color || said.has_start ||
                 said.has_end);
    read_one(TYPE(COLOR_ARGB), &bytes, 4); /* a predefined type instead of a schema */
    assert_false(said.ev.has_color);
    sl_nvtx_payload_event(&said, 0, NULL, 0);
    assert_false(has_message() || said.has_start);
}

static void a_message_of_any_form(void **state)
{
    const char *pointer = "behind a pointer";
    const uint64_t handle = 1234;
    const char inside[8] = "no end.!";
    struct sl_nvtx_field by_pointer[] = {{.flags = FLAG(EVENT_MESSAGE), .type = TYPE(CSTRING)}};
    struct sl_nvtx_field registered[] = {
        {.flags = FLAG(EVENT_MESSAGE), .type = TYPE(NVTX_REGISTERED_STRING_HANDLE)}};
    struct sl_nvtx_field fixed[] = {
        {.flags = FLAG(EVENT_MESSAGE), .type = TYPE(CSTRING), .detail = 8}};
    struct sl_nvtx_field wide[] = {
        {.flags = FLAG(EVENT_MESSAGE), .type = TYPE(CSTRING_UTF16), .detail = 3}};

    read_one(add(by_pointer, 1, 8), &pointer, sizeof(pointer));
    assert_text("behind a pointer");
    read_one(add(registered, 1, 8), &handle, sizeof(handle));
    assert_true(has_message() && said.ev.message.string == 1234);
    read_one(add(fixed, 1, 8), inside, 8);
    assert_text("no end.!");
    read_one(add(fixed, 1, 8), "end\0more", 8);
    assert_text("end");
    read_one(add(wide, 1, 6), u"a\u20acb", 6);
    assert_text("a\xe2\x82\xac\x62");
    pointer = NULL;
    read_one(add(by_pointer, 1, 8), &pointer, sizeof(pointer));
    assert_false(has_message());
}

static void values_behind_pointers(void **state)
{
    const int64_t begin = 1000;
    const uint32_t category = 7, color = 0xff00aa11;
    const struct {
        const int64_t *begin;
        const uint32_t *category, *color;
    } bytes = {&begin, &category, &color}, nowhere = {NULL, NULL, NULL};
    struct sl_nvtx_field fields[] = {
        {.flags = FLAG(TIMESTAMP) | FLAG(POINTER), .type = TYPE(INT64)},
        {.flags = FLAG(POINTER), .type = TYPE(CATEGORY)},
        {.flags = FLAG(POINTER), .type = TYPE(COLOR_ARGB)},
    };
    uint64_t schema = add(fields, 3, sizeof(bytes));

    read_one(schema, &bytes, sizeof(bytes));
    assert_true(said.has_start && said.start.at == 1000);
    assert_true(said.ev.has_category && said.ev.category == 7);
    assert_true(said.ev.has_color && said.ev.color == 0xff00aa11);
    read_one(schema, &nowhere, sizeof(nowhere));
    assert_false(said.has_start || said.ev.has_category || said.ev.has_color);
}

/* Another payload contains the length of the message. This length may be less than the size of the
 * message's type. */
static void a_message_as_long_as_another_payload_says(void **state)
{
    struct sl_nvtx_field field[] = {
        {.flags = FLAG(EVENT_MESSAGE) | FLAG(ARRAY_LENGTH_PAYLOAD_INDEX),
         .type = TYPE(CHAR),
         .detail = 1}};
    uint64_t schema = add(field, 1, 0);
    const uint64_t three = 3, many = 1000;

    read_two(schema, "abcdef", 6, TYPE(UINT64), &three, 8);
    assert_text("abc");
    read_two(schema, "abcdef", 6, TYPE(UINT64), &many, 8);
    assert_text("abcdef");
    read_two(schema, "abcdef", 6, TYPE(UINT64), &three, 1);
    assert_text("");
    read_one(schema, "abcdef", 6); /* the payload with the length does not exist */
    assert_text("");
}

static void payloads_that_end_early(void **state)
{
    struct sl_nvtx_field fields[] = {
        {.flags = FLAG(TIMESTAMP), .type = TYPE(UINT64)},
        {.flags = FLAG(EVENT_MESSAGE), .type = TYPE(CSTRING), .detail = 8, .offset = 8},
        {.type = TYPE(COLOR_ARGB), .offset = 16},
    };
    const char bytes[20] = "\x05\0\0\0\0\0\0\0message!\x01\x02\x03\x04";
    uint64_t schema = add(fields, 3, sizeof(bytes));

    for (size_t size = 0; size <= sizeof(bytes); size++) {
        read_one(schema, bytes, size);
        assert_int_equal(said.has_start, size >= 8);
        assert_int_equal(has_message(), size > 8);
        assert_int_equal(said.ev.has_color, size == 20);
        if (has_message())
            assert_int_equal(said.ev.message.length, size < 16 ? size - 8 : 8);
    }
}

static void a_text_that_is_longer_than_a_lane_takes(void **state)
{
    struct sl_nvtx_field field[] = {
        {.flags = FLAG(EVENT_MESSAGE), .type = TYPE(CSTRING), .detail = 3000}};
    char bytes[3000];

    memset(bytes, 't', sizeof(bytes));
    read_one(add(field, 1, sizeof(bytes)), bytes, sizeof(bytes));
    assert_int_equal(said.ev.message.length, SL_LANE_TEXT_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fields_say_what_the_event_is),
        cmocka_unit_test(nothing_is_said_of_what_is_not_marked),
        cmocka_unit_test(a_message_of_any_form),
        cmocka_unit_test(values_behind_pointers),
        cmocka_unit_test(a_message_as_long_as_another_payload_says),
        cmocka_unit_test(payloads_that_end_early),
        cmocka_unit_test(a_text_that_is_longer_than_a_lane_takes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
