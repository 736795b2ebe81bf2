/* payload_test.c - converts payloads to JSON with schemas of every kind, and with wrong schemas and
 * sizes. The result is valid JSON, and nothing outside of a payload is read. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text_table.h"
#include "collect/nvtx/payload.h"
#include "unit/collect/nvtx/schemas.h"
#include "unit/write/json_dom.h"

static uint32_t named(const char *text)
{
    return sl_text_table_put(text, strlen(text));
}

/* Returns the JSON of one payload, or "" if it gives none. */
static const char *json(uint64_t schema, const void *bytes, size_t size)
{
    static char text[4096];
    const nvtxPayloadData_t data = {schema, size, bytes};
    size_t length = sl_nvtx_payload_json(text, 2560, "\"payload\":", 0, &data, 1);

    assert_true(length <= 2560);
    text[length] = '\0';
    return text;
}

#define EXPECT(schema, bytes, size, text)                                                          \
    assert_string_equal(json(schema, bytes, size), "\"payload\":" text)

static void predefined_types_need_no_schema(void **state)
{
    const int8_t i8 = -5;
    const uint16_t half = 0x3e00, brain = 0x3fc0;
    const double d = 0.1;
    const uint32_t color = 0xff00aa11;

    EXPECT(TYPE(INT8), &i8, 1, "-5");
    EXPECT(TYPE(FLOAT16), &half, 2, "1.5");
    EXPECT(TYPE(BF16), &brain, 2, "1.5");
    EXPECT(TYPE(DOUBLE), &d, 8, "0.1");
    EXPECT(TYPE(COLOR_ARGB), &color, 4, "\"0xff00aa11\"");
    EXPECT(TYPE(CSTRING), "text", SIZE_MAX, "\"text\"");
    EXPECT(TYPE(CSTRING_UTF16), u"wide \u20ac", SIZE_MAX, "\"wide \xe2\x82\xac\"");
    EXPECT(TYPE(CSTRING_UTF32), U"wide \U0001f600", SIZE_MAX, "\"wide \xf0\x9f\x98\x80\"");
    EXPECT(NVTX_TYPE_PAYLOAD_SCHEMA_RAW, "\x01\xab", 2, "\"01ab\"");
    EXPECT(999, "\x01\xab", 2, "\"01ab\"");
}

static void arrays_and_texts(void **state)
{
    struct sl_nvtx_field field[] = {
        {.type = TYPE(UINT32), .name = named("n")},
        {.type = TYPE(INT16),
         .flags = FLAG(ARRAY_LENGTH_INDEX),
         .detail = 0,
         .name = named("counted")},
        {.type = TYPE(UINT8), .flags = FLAG(ARRAY_ZERO_TERMINATED), .name = named("ended")},
        {.type = TYPE(CHAR),
         .flags = FLAG(ARRAY_FIXED_SIZE),
         .detail = 4,
         .name = named("letters")},
        {.type = TYPE(UINT8), .flags = FLAG(HIDE), .name = named("hidden")}};
    const struct __attribute__((packed)) {
        uint32_t n;
        int16_t counted[3];
        uint8_t ended[3];
        char letters[4];
        uint8_t hidden;
    } value = {3, {1, -1, 2}, {7, 8, 0}, "\"x\"", 9};

    EXPECT(add_of(SL_NVTX_DYNAMIC, field, 5, 0), &value, sizeof(value),
           "{\"n\":3,\"counted\":[1,-1,2],\"ended\":[7,8],\"letters\":\"\\\"x\\\"\"}");
}

static void offsets_lead_into_the_payload_alone(void **state)
{
    struct sl_nvtx_field field[] = {{.type = TYPE(CSTRING),
                                     .flags = FLAG(OFFSET_FROM_BASE) | FLAG(ARRAY_ZERO_TERMINATED),
                                     .name = named("text")}};
    uint64_t schema = add_of(SL_NVTX_STRUCT, field, 1, 8);
    struct {
        uint64_t offset;
        char text[8];
    } value = {8, "inside"};

    EXPECT(schema, &value, sizeof(value), "{\"text\":\"inside\"}");
    value.offset = 16;
    EXPECT(schema, &value, sizeof(value), "{\"text\":\"\"}");
    value.offset = 17;
    EXPECT(schema, &value, sizeof(value), "{\"text\":null}");
    value.offset = UINT64_MAX;
    EXPECT(schema, &value, sizeof(value), "{\"text\":null}");
}

static void a_schema_inside_itself_ends(void **state)
{
    struct sl_nvtx_field field[] = {{.type = 1u << 24, .name = named("again")}};
    const struct sl_nvtx_schema s = {
        .id = 1u << 24, .kind = SL_NVTX_STRUCT, .fields = 1, .size = 8};
    const uint64_t value = 0;

    assert_int_equal(sl_nvtx_schema_add(&s, fill, field), 1u << 24);
    assert_non_null(strstr(json(1u << 24, &value, sizeof(value)), "null"));
}

/* Checks that the text, the members of a payload, is valid between braces. */
static void expect_valid(const char *text)
{
    char object[6200];
    int length = snprintf(object, sizeof(object), "{%s}", text);
    struct json *j = json_parse(object, (size_t)length);

    if (!j)
        fail_msg("not valid: %s", object);
    json_free(j);
}

/* The payloads at both ends of a range are truncated. Their members are in one JSON object, and
 * each end reports its truncation. */
static void each_end_says_that_it_was_cut(void **state)
{
    static char text[1000], members[6000];
    const nvtxPayloadData_t data[3] = {{TYPE(CSTRING), sizeof(text), text},
                                       {TYPE(CSTRING), sizeof(text), text},
                                       {TYPE(CSTRING), sizeof(text), text}};
    size_t length;

    memset(text, '\1', sizeof(text));
    length = sl_nvtx_payload_json(members, 2560, "\"payload\":", 0, data, 3);
    members[length++] = ',';
    length += sl_nvtx_payload_json(members + length, 2560, "\"end payload\":", 0, data, 3);
    members[length] = '\0';
    expect_valid(members); /* a repeated key is invalid */
    assert_non_null(strstr(members, ",\"cut payload\":true"));
    assert_non_null(strstr(members, ",\"cut end payload\":true"));
}

/* The texts of several payloads are joined, up to the limit of their length and beyond. */
static void payloads_that_do_not_fit_together(void **state)
{
    static char text[4096], out[4096];
    struct sl_nvtx_field field[] = {
        {.type = TYPE(CSTRING), .detail = 100, .name = named("text")},
        {.type = TYPE(UINT8), .name = named("byte")},
    };
    uint64_t schema = add_of(SL_NVTX_STRUCT, field, 2, 101);
    nvtxPayloadData_t data[16];
    size_t count, length;

    srand(11);
    for (unsigned i = 0; i < 3000; i++) {
        const uint64_t types[] = {TYPE(CSTRING), NVTX_TYPE_PAYLOAD_SCHEMA_RAW, schema, TYPE(UINT8)};

        memset(text, "a\1\""[rand() % 3], sizeof(text));
        count = 1 + (size_t)rand() % 16;
        for (size_t j = 0; j < count; j++)
            data[j] =
                (nvtxPayloadData_t){types[rand() % 4], (size_t)rand() % (j ? 300 : 400), text};
        length = sl_nvtx_payload_json(out, 2560, "\"payload\":", 0, data, count);
        assert_in_range(length, 1, 2560);
        out[length] = '\0';
        expect_valid(out);
    }
}

/* Random schemas describe random bytes. The memory ends with the payload, so that AddressSanitizer
 * notices a read past the end. Only pointers in a payload are valid. */
static void schemas_that_lie(void **state)
{
    static const uint64_t flags[] = {0,
                                     FLAG(ARRAY_FIXED_SIZE),
                                     FLAG(ARRAY_ZERO_TERMINATED),
                                     FLAG(ARRAY_LENGTH_INDEX),
                                     FLAG(ARRAY_LENGTH_PAYLOAD_INDEX),
                                     FLAG(OFFSET_FROM_BASE),
                                     FLAG(OFFSET_FROM_HERE) | FLAG(ARRAY_FIXED_SIZE)};
    uint64_t known[64] = {0};

    srand(7);
    for (unsigned i = 0; i < 3000; i++) {
        uint32_t fields = 1 + (uint32_t)rand() % 6;
        size_t size = (size_t)rand() % 64;
        struct sl_nvtx_field field[6];
        unsigned char *bytes = malloc(size + 1);

        for (uint32_t j = 0; j < fields; j++) {
            uint64_t nested = known[(unsigned)rand() % 64];

            field[j] = (struct sl_nvtx_field){
                .flags = flags[(size_t)rand() % (sizeof(flags) / sizeof(*flags))],
                .type = rand() % 4 ? (uint64_t)rand() % 101 : nested,
                .detail = (uint64_t)(rand() % 3 ? rand() % 8 : -1),
                .offset = (uint64_t)(rand() % 3 ? 0 : rand() % 80)};
            /* A text without a length is a pointer. */
            if (field[j].type >= TYPE(CSTRING) && field[j].type <= TYPE(CSTRING_UTF32))
                field[j].flags |= FLAG(ARRAY_FIXED_SIZE);
        }
        for (size_t j = 0; j < size; j++)
            bytes[j] = (unsigned char)(rand() % 3 ? 0 : rand());
        known[i % 64] = add_of((uint32_t)rand() % 5, field, fields, (size_t)rand() % 80);
        expect_valid(json(known[i % 64], bytes, size));
        free(bytes);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(predefined_types_need_no_schema),
        cmocka_unit_test(arrays_and_texts),
        cmocka_unit_test(offsets_lead_into_the_payload_alone),
        cmocka_unit_test(a_schema_inside_itself_ends),
        cmocka_unit_test(each_end_says_that_it_was_cut),
        cmocka_unit_test(payloads_that_do_not_fit_together),
        cmocka_unit_test(schemas_that_lie),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
