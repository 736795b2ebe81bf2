/* nvtx_payload_calls_test.c - the payload extension as a program calls it through its slots:
 * schemas and enums, events that are payloads, events that are told later. */
#define NVTX_NO_IMPL
#include <nvtx3/nvToolsExtPayload.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>

#include "base/clock.h"
#include "collect/nvtx_layout.h"
#include "collect/nvtx_names.h"
#include "unit/collect/nvtx_records.h"

#define TYPE(name) NVTX_PAYLOAD_ENTRY_TYPE_##name
#define FLAG(name) NVTX_PAYLOAD_ENTRY_FLAG_##name

static int init(void **state)
{
    (void)state;
    return sl_nvtx_init(8 << 20);
}

static sl_nvtx_function slot(unsigned id)
{
    for (const struct sl_nvtx_slot *s = sl_nvtx_payload_slots; s->function; s++)
        if (s->id == id)
            return s->function;
    fail_msg("no function for %u", id);
    return NULL;
}

#define CALL(call, result, ...) ((result(*)(__VA_ARGS__))slot(NVTX3EXT_CBID_##call))

/* ---- schemas ---- */

#define SCHEMA_FIELDS                                                                              \
    (NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_TYPE | NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_ENTRIES |                \
     NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NUM_ENTRIES | NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_STATIC_SIZE)

static uint64_t register_schema(const nvtxPayloadSchemaAttr_t *a)
{
    return CALL(nvtxPayloadSchemaRegister, uint64_t, nvtxDomainHandle_t,
                const nvtxPayloadSchemaAttr_t *)(NULL, a);
}

static uint64_t schema(const nvtxPayloadSchemaEntry_t *entries, size_t count, size_t size)
{
    const nvtxPayloadSchemaAttr_t a = {.fieldMask = SCHEMA_FIELDS,
                                       .type = NVTX_PAYLOAD_SCHEMA_TYPE_STATIC,
                                       .entries = entries,
                                       .numEntries = count,
                                       .payloadStaticSize = size};

    return register_schema(&a);
}

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

static void a_schema_says_what_its_payloads_are(void **state)
{
    const nvtxPayloadSchemaEntry_t entries[] = {
        {.type = TYPE(UINT32), .name = "n"},
        {.type = TYPE(INT16), .flags = FLAG(ARRAY_FIXED_SIZE), .arrayOrUnionDetail = 2},
    };
    const struct {
        uint32_t n;
        int16_t item[2];
    } bytes = {5, {-1, 2}};

    (void)state;
    assert_string_equal(json_of(schema(entries, 2, 8), &bytes, 8),
                        "\"payload\":{\"n\":5,\"field 1\":[-1,2]}");
    assert_string_equal(json_of(schema(entries, 2, 8), &bytes, SIZE_MAX),
                        "\"payload\":{\"n\":5,\"field 1\":[-1,2]}");
}

/* Its size is not told, whatever stands there. */
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

    (void)state;
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

    (void)state;
    assert_int_equal(register_schema(NULL), 0);
    assert_int_equal(register_schema(&a), 0); /* more fields than any has */
    a.numEntries = SIZE_MAX;
    assert_int_equal(register_schema(&a), 0);
    a.numEntries = 1;
    a.fieldMask = NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_ENTRIES; /* how many is not said */
    assert_int_equal(register_schema(&a), 0);
    a.fieldMask = SCHEMA_FIELDS;
    a.entries = NULL;
    assert_int_equal(register_schema(&a), 0);
    a.entries = entries;
    a.type = 99; /* taken for a struct */
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

    (void)state;
    for (unsigned i = 0; i < 10000; i++)
        assert_int_equal(register_schema(&a), 1u << 24);
    assert_string_equal(json_of(1u << 24, "\x07", 1), "\"payload\":{\"one\":7}");
    assert_int_not_equal(schema(entries, 1, 1), 0); /* there is room for others */
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

    (void)state;
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

static void an_event_that_is_a_payload(void **state)
{
    const struct event event = {"message", 7, 0xff00aa11};
    const nvtxPayloadData_t data = {event_schema(), sizeof(event), &event};
    const struct said *s;

    (void)state;
    mark(&data, 1);
    s = only(SL_LANE_MARK);
    assert_string_equal(s->text, "message");
    assert_true(s->category == 7 && s->color == 0xff00aa11);
    assert_non_null(strstr(s->json, "\"payload\":{\"message\":\"message\""));
}

static void levels_of_ranges_with_payloads(void **state)
{
    const struct event event = {"message", 7, 0xff00aa11};
    const nvtxPayloadData_t data = {event_schema(), sizeof(event), &event};
    int (*push)(nvtxDomainHandle_t, const nvtxPayloadData_t *, size_t) =
        CALL(nvtxRangePushPayload, int, nvtxDomainHandle_t, const nvtxPayloadData_t *, size_t);
    int (*pop)(nvtxDomainHandle_t, const nvtxPayloadData_t *, size_t) =
        CALL(nvtxRangePopPayload, int, nvtxDomainHandle_t, const nvtxPayloadData_t *, size_t);
    nvtxRangeId_t id;

    (void)state;
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

/* In memory that ends behind those that are looked at. */
static void a_number_of_payloads_that_lies(void **state)
{
    nvtxPayloadData_t *data = calloc(SL_NVTX_PAYLOADS, sizeof(*data));
    const uint8_t byte = 9;

    (void)state;
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

/* ---- deferred events ---- */

struct deferred {
    int64_t begin, end;
    uint32_t number;
};

static uint64_t deferred_schema(void)
{
    static const nvtxPayloadSchemaEntry_t entries[] = {
        {.flags = FLAG(TIMESTAMP) | FLAG(RANGE_BEGIN), .type = TYPE(INT64), .name = "begin"},
        {.flags = FLAG(TIMESTAMP) | FLAG(RANGE_END), .type = TYPE(INT64), .name = "end"},
        {.type = TYPE(UINT32), .name = "number"},
    };

    return schema(entries, 3, sizeof(struct deferred));
}

static void submit(const nvtxPayloadData_t *payloads, size_t count)
{
    CALL(nvtxEventSubmit, void, nvtxDomainHandle_t, const nvtxPayloadData_t *, size_t)
    (NULL, payloads, count);
}

static void submit_batch(uint64_t id, const void *events, size_t size)
{
    const nvtxEventBatch_t batch = {.eventSchemaId = id, .size = size, .events = events};

    CALL(nvtxEventBatchSubmit, void, nvtxDomainHandle_t, const nvtxEventBatch_t *)(NULL, &batch);
}

static void a_deferred_event_has_its_own_times(void **state)
{
    int64_t now = CALL(nvtxTimestampGet, int64_t, void)();
    const struct deferred event = {now - 100, now, 5};
    const nvtxPayloadData_t data = {deferred_schema(), sizeof(event), &event},
                            timeless = {TYPE(INT64), 8, &event};
    const struct said *s;

    (void)state;
    assert_in_range(now, sl_clock_now() - 60000000000u, sl_clock_now() + 60000000000u);
    submit(&data, 1);
    s = only(SL_LANE_PAST);
    assert_true(s->start_ns == (uint64_t)now - 100 && s->end_ns == (uint64_t)now);
    assert_non_null(strstr(s->json, "\"number\":5"));
    submit(&timeless, 1);
    submit(NULL, 3);
    submit(&data, 0);
    assert_int_equal(read_said(), 0);
}

static void a_batch_is_its_events(void **state)
{
    struct deferred *events = calloc(3, sizeof(*events));
    uint64_t id = deferred_schema();

    (void)state;
    for (unsigned i = 0; i < 3; i++)
        events[i] = (struct deferred){10 * i + 1, 10 * i + 5, i};
    submit_batch(id, events, 3 * sizeof(*events) - 1); /* the last is cut off */
    assert_int_equal(read_said(), 2);
    assert_true(said[1].start_ns == 11 && said[1].end_ns == 15);
    submit_batch(id, events, sizeof(*events) - 1);
    submit_batch(id, NULL, 100);
    submit_batch(1234567, events, 3 * sizeof(*events)); /* not a schema */
    submit_batch(TYPE(INT64), events, 3 * sizeof(*events));
    CALL(nvtxEventBatchSubmit, void, nvtxDomainHandle_t, const nvtxEventBatch_t *)(NULL, NULL);
    assert_int_equal(read_said(), 0);
    free(events);
}

/* All that are not there are counted: those that had no room, and those that were too many. */
static void what_a_batch_loses_is_counted(void **state)
{
    enum {
        EVENTS = 100000
    };
    struct deferred *events = calloc(EVENTS, sizeof(*events));
    uint64_t lost = sl_lanes_lost();

    (void)state;
    for (unsigned i = 0; i < EVENTS; i++)
        events[i] = (struct deferred){1, 5, i};
    submit_batch(deferred_schema(), events, EVENTS * sizeof(*events));
    assert_true(read_said() > 100);
    assert_int_equal(said_count + sl_lanes_lost() - lost, EVENTS);
    free(events);
}

/* An event so long that two of them are shorter than one. */
static void a_batch_of_events_that_lie(void **state)
{
    static const nvtxPayloadSchemaEntry_t entries[] = {
        {.flags = FLAG(TIMESTAMP), .type = TYPE(INT64), .offset = 0}};
    struct deferred *event = calloc(1, sizeof(*event));

    (void)state;
    submit_batch(schema(entries, 1, SIZE_MAX / 2 + 9), event, sizeof(*event));
    submit_batch(schema(entries, 1, SIZE_MAX), event, sizeof(*event));
    assert_int_equal(read_said(), 0);
    free(event);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_schema_says_what_its_payloads_are),
        cmocka_unit_test(a_dynamic_payload_is_as_long_as_it_is),
        cmocka_unit_test(schemas_that_are_refused),
        cmocka_unit_test(a_schema_that_is_told_again_and_again),
        cmocka_unit_test(enums_of_any_size),
        cmocka_unit_test(an_event_that_is_a_payload),
        cmocka_unit_test(levels_of_ranges_with_payloads),
        cmocka_unit_test(a_number_of_payloads_that_lies),
        cmocka_unit_test(a_deferred_event_has_its_own_times),
        cmocka_unit_test(a_batch_is_its_events),
        cmocka_unit_test(what_a_batch_loses_is_counted),
        cmocka_unit_test(a_batch_of_events_that_lie),
    };

    return cmocka_run_group_tests(tests, init, NULL);
}
