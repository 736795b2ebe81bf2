/* payload_calls_test.c - the payload extension of NVTX, called as a program does (extension.h):
 * schemas, enums, and events that consist of payloads. */
#define NVTX_NO_IMPL
#include <nvtx3/nvToolsExtPayload.h>

#include "test.h"

#include <stdlib.h>

#include "collect/nvtx/layout.h"
#include "collect/nvtx/names.h"
#include "unit/collect/nvtx/extension.h"
#include "unit/collect/nvtx/records.h"

static int init(void **state)
{
    return sl_nvtx_init(8 << 20);
}

/* ---- schemas ---- */

static void mark(const nvtxPayloadData_t *payloads, size_t count)
{
    CALL(nvtxMarkPayload, void, nvtxDomainHandle_t, const nvtxPayloadData_t *, size_t)
    (NULL, payloads, count);
}

static const char *json_of(uint64_t id, const void *bytes, size_t size)
{
    const nvtxPayloadData_t data = {id, size, bytes};

    mark(&data, 1);
    return only(SL_LANE_MARK)->json;
}

/* The schema of a payload of dynamic length has no size. Its size member may contain any value. */
static void a_dynamic_payload_is_as_long_as_it_is(void **state)
{
    const nvtxPayloadSchemaEntry_t entries[] = {
        {.type = TYPE(UINT8), .name = "n"},
        {.type = TYPE(CHAR), .name = "text", .flags = FLAG(ARRAY_LENGTH_INDEX)},
    };
    nvtxPayloadSchemaAttr_t a = {.fieldMask = SCHEMA_FIELDS,
                                 .type = NVTX_PAYLOAD_SCHEMA_TYPE_DYNAMIC,
                                 .entries = entries,
                                 .numEntries = 2,
                                 .payloadStaticSize = 2};
    nvtxPayloadSchemaEntry_t around[] = {{.name = "inner"}};

    around[0].type = register_schema(&a);
    assert_string_equal(json_of(around[0].type, "\003abc", 4),
                        "\"payload\":{\"n\":3,\"text\":\"abc\"}");
    a.entries = around;
    a.numEntries = 1;
    assert_string_equal(json_of(register_schema(&a), "\003abc", 4),
                        "\"payload\":{\"inner\":{\"n\":3,\"text\":\"abc\"}}");
}

static void schemas_that_are_refused(void **state)
{
    static const nvtxPayloadSchemaEntry_t entries[2000];
    nvtxPayloadSchemaAttr_t a = {
        .fieldMask = SCHEMA_FIELDS, .entries = entries, .numEntries = 2000};

    assert_int_equal(register_schema(NULL), 0);
    assert_int_equal(register_schema(&a), 0); /* more fields than a schema can have */
    a.numEntries = SIZE_MAX;
    assert_int_equal(register_schema(&a), 0);
    a.numEntries = 1;
    a.fieldMask = NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_ENTRIES; /* the number of entries is missing */
    assert_int_equal(register_schema(&a), 0);
    a.fieldMask = SCHEMA_FIELDS;
    a.entries = NULL;
    assert_int_equal(register_schema(&a), 0);
    a.entries = entries;
    a.type = 99; /* an unknown kind of schema is treated as a struct */
    assert_int_not_equal(register_schema(&a), 0);
}

static void a_schema_that_is_told_again_and_again(void **state)
{
    const nvtxPayloadSchemaEntry_t entries[] = {{.type = TYPE(UINT8), .name = "one"}};
    const nvtxPayloadSchemaAttr_t a = {.fieldMask =
                                           SCHEMA_FIELDS | NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_SCHEMA_ID,
                                       .type = NVTX_PAYLOAD_SCHEMA_TYPE_STATIC,
                                       .entries = entries,
                                       .numEntries = 1,
                                       .payloadStaticSize = 1,
                                       .schemaId = 1u << 24};

    for (unsigned i = 0; i < 10000; i++)
        assert_int_equal(register_schema(&a), 1u << 24);
    assert_string_equal(json_of(1u << 24, "\x07", 1), "\"payload\":{\"one\":7}");
    assert_int_not_equal(schema(entries, 1, 1),
                         0); /* the 10000 registrations did not fill the table */
}

static uint64_t enumeration(const nvtxPayloadEnum_t *entries, size_t count, size_t size)
{
    const nvtxPayloadEnumAttr_t a = {.fieldMask = NVTX_PAYLOAD_ENUM_ATTR_FIELD_ENTRIES |
                                                  NVTX_PAYLOAD_ENUM_ATTR_FIELD_NUM_ENTRIES |
                                                  NVTX_PAYLOAD_ENUM_ATTR_FIELD_SIZE,
                                     .entries = entries,
                                     .numEntries = count,
                                     .sizeOfEnum = size};

    return CALL(nvtxPayloadEnumRegister, uint64_t, nvtxDomainHandle_t,
                const nvtxPayloadEnumAttr_t *)(NULL, &a);
}

static void enums_of_any_size(void **state)
{
    const nvtxPayloadEnum_t entries[] = {{"minus", (uint64_t)-2, 0}, {NULL, 3, 0}},
                            bits[] = {{"a", 1, 1}, {"b", 2, 1}, {"both", 3, 0}};
    const int64_t minus = -2;

    for (size_t size = 1; size <= 8; size *= 2) {
        assert_string_equal(json_of(enumeration(entries, 2, size), &minus, size),
                            "\"payload\":\"minus\"");
        assert_string_equal(json_of(enumeration(entries, 2, size), "\x03\0\0\0\0\0\0", size),
                            "\"payload\":3");
    }
    assert_string_equal(json_of(enumeration(entries, 2, 99), &minus, 4), "\"payload\":\"minus\"");
    assert_string_equal(json_of(enumeration(bits, 3, 1), "\x03", 1), "\"payload\":\"both\"");
    assert_string_equal(json_of(enumeration(bits, 2, 1), "\x03", 1), "\"payload\":\"a|b\"");
    assert_int_equal(enumeration(NULL, 2, 4), 0);
    assert_int_equal(enumeration(entries, 5000, 4), 0);
}

/* ---- events ---- */

static uint64_t event_schema(void)
{
    static const nvtxPayloadSchemaEntry_t entries[] = {
        {.flags = FLAG(EVENT_MESSAGE), .type = TYPE(CSTRING), .name = "message"},
        {.type = TYPE(CATEGORY), .name = "category"},
        {.type = TYPE(COLOR_ARGB), .name = "color"},
    };

    return schema(entries, 3, 16);
}

struct event {
    const char *message;
    uint32_t category, color;
};

static void levels_of_ranges_with_payloads(void **state)
{
    const struct event event = {"message", 7, 0xff00aa11};
    const nvtxPayloadData_t data = {event_schema(), sizeof(event), &event};
    int (*push)(nvtxDomainHandle_t, const nvtxPayloadData_t *, size_t) =
        CALL(nvtxRangePushPayload, int, nvtxDomainHandle_t, const nvtxPayloadData_t *, size_t);
    int (*pop)(nvtxDomainHandle_t, const nvtxPayloadData_t *, size_t) =
        CALL(nvtxRangePopPayload, int, nvtxDomainHandle_t, const nvtxPayloadData_t *, size_t);
    nvtxRangeId_t id;

    assert_int_equal(pop(NULL, &data, 1), -2);
    assert_int_equal(push(NULL, &data, 1), 0);
    assert_int_equal(push(NULL, NULL, 5), 1);
    assert_int_equal(pop(NULL, &data, 1), 1);
    assert_int_equal(pop(NULL, NULL, 0), 0);
    id = CALL(nvtxRangeStartPayload, nvtxRangeId_t, nvtxDomainHandle_t, const nvtxPayloadData_t *,
              size_t)(NULL, &data, 1);
    CALL(nvtxRangeEndPayload, void, nvtxDomainHandle_t, nvtxRangeId_t, const nvtxPayloadData_t *,
         size_t)
    (NULL, id, &data, 1);
    assert_int_equal(read_said(), 6);
    assert_non_null(strstr(said[0].json, "\"payload\":{"));
    assert_int_equal(said[1].record.parts, 0);
    assert_non_null(strstr(said[2].json, "\"end payload\":{"));
    assert_string_equal(said[2].text, "message");
    assert_int_equal(said[3].record.parts, 0);
    assert_true(id && said[4].id == id && said[5].id == id);
    assert_non_null(strstr(said[5].json, "\"end payload\":{"));
}

/* An event claims to have very many payloads. syncline reads only the first of them, and the memory
 * ends there. */
static void a_number_of_payloads_that_lies(void **state)
{
    nvtxPayloadData_t *data = calloc(SL_NVTX_PAYLOADS, sizeof(*data));
    const uint8_t byte = 9;

    assert_non_null(data);
    for (size_t i = 0; i < SL_NVTX_PAYLOADS; i++)
        data[i] = (nvtxPayloadData_t){TYPE(UINT8), 1, i % 2 ? &byte : NULL};
    mark(data, SIZE_MAX);
    assert_string_equal(only(SL_LANE_MARK)->json,
                        "\"payload\":[null,9,null,9,null,9,null,9,null,9,null,9,null,9,null,9]");
    free(data);
    mark(NULL, SIZE_MAX);
    assert_int_equal(only(SL_LANE_MARK)->record.parts, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_dynamic_payload_is_as_long_as_it_is),
        cmocka_unit_test(schemas_that_are_refused),
        cmocka_unit_test(a_schema_that_is_told_again_and_again),
        cmocka_unit_test(enums_of_any_size),
        cmocka_unit_test(levels_of_ranges_with_payloads),
        cmocka_unit_test(a_number_of_payloads_that_lies),
    };

    return cmocka_run_group_tests(tests, init, NULL);
}
