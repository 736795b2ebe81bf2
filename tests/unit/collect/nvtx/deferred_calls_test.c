/* deferred_calls_test.c - NVTX deferred events, which a program reports later, singly or in
 * batches. Their times are from the trace's clock or from a clock of the program. */
#define NVTX_NO_IMPL
#include <nvtx3/nvToolsExtPayload.h>
#include <nvtx3/nvToolsExtSemanticsTime.h>

#include "test.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/stats.h"
#include "unit/collect/nvtx/extension.h"
#include "unit/collect/nvtx/records.h"

static int init(void **state)
{
    return sl_nvtx_init(8 << 20);
}

/* ---- times of the trace's clock ---- */

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

    for (unsigned i = 0; i < 3; i++)
        events[i] = (struct deferred){10 * i + 1, 10 * i + 5, i};
    submit_batch(id, events, 3 * sizeof(*events) - 1); /* the last event is truncated */
    assert_int_equal(read_said(), 2);
    assert_true(said[1].start_ns == 11 && said[1].end_ns == 15);
    submit_batch(id, events, sizeof(*events) - 1);
    submit_batch(id, NULL, 100);
    submit_batch(1234567, events, 3 * sizeof(*events)); /* this id is not a schema */
    submit_batch(TYPE(INT64), events, 3 * sizeof(*events));
    CALL(nvtxEventBatchSubmit, void, nvtxDomainHandle_t, const nvtxEventBatch_t *)(NULL, NULL);
    assert_int_equal(read_said(), 0);
    free(events);
}

/* A batch has far more events than the lane holds. Every missing event is counted. */
static void what_a_batch_loses_is_counted(void **state)
{
    enum {
        EVENTS = 100000
    };
    struct deferred *events = calloc(EVENTS, sizeof(*events));
    uint64_t lost = sl_lanes_lost();

    for (unsigned i = 0; i < EVENTS; i++)
        events[i] = (struct deferred){1, 5, i};
    submit_batch(deferred_schema(), events, EVENTS * sizeof(*events));
    assert_true(read_said() > 100);
    assert_int_equal(said_count + sl_lanes_lost() - lost, EVENTS);
    free(events);
}

/* The schema claims so large a size that the size of two events would overflow to less than the
 * size of one. Nothing is read outside of the batch. */
static void a_batch_of_events_that_lie(void **state)
{
    static const nvtxPayloadSchemaEntry_t entries[] = {
        {.flags = FLAG(TIMESTAMP), .type = TYPE(INT64), .offset = 0}};
    struct deferred *event = calloc(1, sizeof(*event));

    submit_batch(schema(entries, 1, SIZE_MAX / 2 + 9), event, sizeof(*event));
    submit_batch(schema(entries, 1, SIZE_MAX), event, sizeof(*event));
    assert_int_equal(read_said(), 0);
    free(event);
}

/* ---- times of another clock ---- */

#define MINUTE 60000000000ll

static uint64_t schema_in(uint64_t first, uint64_t clock)
{
    const nvtxSemanticsTime_t time = {
        {sizeof(time), NVTX_SEMANTIC_ID_TIME_V1, NVTX_TIME_SEMANTIC_VERSION, NULL}, clock};
    const nvtxSemanticsHeader_t other = {sizeof(other), 9999, 1, &time.header};
    const nvtxPayloadSchemaEntry_t entries[] = {
        {.flags = FLAG(TIMESTAMP) | FLAG(RANGE_BEGIN),
         .type = TYPE(INT64),
         .semantics = first ? &time.header : &other},
        {.flags = FLAG(TIMESTAMP) | FLAG(RANGE_END), .type = TYPE(INT64), .semantics = &other},
    };

    return schema(entries, 2, 16);
}

static uint64_t time_domain(const nvtxTimeDomainAttr_t *a)
{
    return CALL(nvtxTimeDomainRegister, uint64_t, nvtxDomainHandle_t,
                const nvtxTimeDomainAttr_t *)(NULL, a);
}

/* A program defines a clock in its domain. First it gives a function that reads the clock, then
 * pairs of times of the clock and another clock. */
static int64_t minutes_ago(void)
{
    return (int64_t)sl_clock_now() - 3 * MINUTE;
}

static int64_t by_data(void *data)
{
    return (int64_t)sl_clock_now() - *(int64_t *)data;
}

static void submit_at(uint64_t clock, int64_t at, int64_t wanted_ns)
{
    const int64_t event[] = {at, at + 1000};
    const nvtxPayloadData_t data = {schema_in(1, clock), 16, event};
    const struct said *s;

    submit(&data, 1);
    s = only(SL_LANE_PAST);
    assert_in_range((int64_t)s->start_ns - wanted_ns + 1000000, 0, 2000000);
}

static void every_way_to_tell_a_clock(void **state)
{
    const int64_t now = (int64_t)sl_clock_now();
    const nvtxTimeDomainAttr_t a = {.timerResolution = 1000000000};
    const nvtxSyncPoint_t points[] = {{5000, now}, {6000, now + 1000000}};
    int64_t ago = 7 * MINUTE;
    uint64_t id[5];

    for (unsigned i = 0; i < 5; i++)
        id[i] = time_domain(&a);
    CALL(nvtxTimerSource, void, nvtxDomainHandle_t, uint64_t, uint64_t, int64_t (*)(void))
    (NULL, id[0], 0, minutes_ago);
    submit_at(id[0], now - 3 * MINUTE, now);
    CALL(nvtxTimerSourceWithData, void, nvtxDomainHandle_t, uint64_t, uint64_t, int64_t (*)(void *),
         void *)
    (NULL, id[1], 0, by_data, &ago);
    submit_at(id[1], now - ago, now);
    CALL(nvtxTimeSyncPoint, void, nvtxDomainHandle_t, uint64_t, uint64_t, int64_t, int64_t)
    (NULL, id[2], NVTX_TIMESTAMP_TYPE_TOOL_PROVIDED, 500, now);
    submit_at(id[2], 500 + MINUTE, now + MINUTE);
    CALL(nvtxTimeSyncPointTable, void, nvtxDomainHandle_t, uint64_t, uint64_t,
         const nvtxSyncPoint_t *, size_t)
    (NULL, id[3], NVTX_TIMESTAMP_TYPE_TOOL_PROVIDED, points, 2);
    submit_at(id[3], 5500, now + 500000);
    CALL(nvtxTimestampConversionFactor, void, nvtxDomainHandle_t, uint64_t, uint64_t, double,
         int64_t, int64_t)
    (NULL, id[4], id[3], 0.001, 0, 5000);
    submit_at(id[4], 500000, now + 500000);
}

static void calls_without_what_they_need(void **state)
{
    assert_int_equal(time_domain(NULL), 0);
    CALL(nvtxTimerSource, void, nvtxDomainHandle_t, uint64_t, uint64_t, int64_t (*)(void))
    (NULL, 1 << 24, 0, NULL);
    CALL(nvtxTimerSourceWithData, void, nvtxDomainHandle_t, uint64_t, uint64_t, int64_t (*)(void *),
         void *)
    (NULL, 1 << 24, 0, NULL, NULL);
    CALL(nvtxTimeSyncPointTable, void, nvtxDomainHandle_t, uint64_t, uint64_t,
         const nvtxSyncPoint_t *, size_t)
    (NULL, 1 << 24, 1, NULL, 5);
}

static uint64_t scope(const nvtxScopeAttr_t *a)
{
    return CALL(nvtxScopeRegister, uint64_t, nvtxDomainHandle_t, const nvtxScopeAttr_t *)(NULL, a);
}

static void the_clock_of_a_batch_s_scope(void **state)
{
    const nvtxScopeAttr_t made = {.structSize = sizeof(made), .path = "GPU[CUDAID:0]"},
                          own = {.structSize = sizeof(own), .scopeId = 1 << 24};
    const nvtxTimeDomainAttr_t a = {.scopeId = scope(&made),
                                    .timestampTypeId = NVTX_TIMESTAMP_TYPE_CPP_STEADY_CLOCK};
    const int64_t now = (int64_t)sl_clock_monotonic();
    const struct deferred event = {now - MINUTE, now, 5};
    nvtxEventBatch_t batch = {.eventSchemaId = deferred_schema(),
                              .size = sizeof(event),
                              .events = &event,
                              .scope = a.scopeId};

    assert_int_equal(scope(&own), 1 << 24);
    assert_true(a.scopeId && scope(NULL) != a.scopeId);
    time_domain(&a);
    CALL(nvtxEventBatchSubmit, void, nvtxDomainHandle_t, const nvtxEventBatch_t *)(NULL, &batch);
    assert_in_range(only(SL_LANE_PAST)->end_ns, sl_clock_now() - 60000000000u, sl_clock_now());
    batch.scope = 1 << 24; /* no clock belongs to this scope, so the trace's clock is used */
    CALL(nvtxEventBatchSubmit, void, nvtxDomainHandle_t, const nvtxEventBatch_t *)(NULL, &batch);
    assert_int_equal(only(SL_LANE_PAST)->end_ns, now);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_deferred_event_has_its_own_times),
        cmocka_unit_test(a_batch_is_its_events),
        cmocka_unit_test(what_a_batch_loses_is_counted),
        cmocka_unit_test(a_batch_of_events_that_lie),
        cmocka_unit_test(every_way_to_tell_a_clock),
        cmocka_unit_test(calls_without_what_they_need),
        cmocka_unit_test(the_clock_of_a_batch_s_scope),
    };

    return cmocka_run_group_tests(tests, init, NULL);
}
