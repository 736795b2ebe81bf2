/*
 * nvtx_payload_calls.c - NVTX's payload extension: schemas, and events that are payloads.
 *
 * Threads: any of the application; nothing blocks, allocates or logs.
 */
#define NVTX_NO_IMPL
#include <nvtx3/nvToolsExtPayload.h>

#include <string.h>

#include "base/clock.h"
#include "collect/nvtx_calls.h"
#include "collect/nvtx_names.h"
#include "collect/nvtx_payload.h"
#include "collect/nvtx_schema.h"

#define HAS(attr, what, field) ((attr)->fieldMask & NVTX_PAYLOAD_##what##_ATTR_FIELD_##field)
/* More than any real one has. */
#define FIELDS_MAX 1024
#define BATCH_MAX  4096 /* of the events of a batch, so that the call ends soon */

static uint32_t string_of(const char *text)
{
    return text ? sl_nvtx_string(text, strnlen(text, SL_LANE_TEXT_MAX)) : 0;
}

/* ---- schemas ---- */

static void fill_field(void *user, struct sl_nvtx_field *field, size_t i)
{
    const nvtxPayloadSchemaEntry_t *e = &((const nvtxPayloadSchemaEntry_t *)user)[i];

    *field = (struct sl_nvtx_field){e->flags, e->type, e->arrayOrUnionDetail, e->offset,
                                    string_of(e->name)};
}

static uint64_t on_schema(nvtxDomainHandle_t domain, const nvtxPayloadSchemaAttr_t *a)
{
    static const uint32_t kinds[] = {[NVTX_PAYLOAD_SCHEMA_TYPE_STATIC] = SL_NVTX_STRUCT,
                                     [NVTX_PAYLOAD_SCHEMA_TYPE_DYNAMIC] = SL_NVTX_DYNAMIC,
                                     [NVTX_PAYLOAD_SCHEMA_TYPE_UNION] = SL_NVTX_UNION,
                                     [NVTX_PAYLOAD_SCHEMA_TYPE_UNION_WITH_INTERNAL_SELECTOR] =
                                         SL_NVTX_SELECTED_UNION};
    struct sl_nvtx_schema s = {.domain = sl_nvtx_domain_of(domain)};

    if (!a || !HAS(a, SCHEMA, ENTRIES) || !HAS(a, SCHEMA, NUM_ENTRIES) || !a->entries ||
        a->numEntries > FIELDS_MAX)
        return 0;
    if (HAS(a, SCHEMA, TYPE) && a->type < sizeof(kinds) / sizeof(*kinds))
        s.kind = kinds[a->type];
    if (HAS(a, SCHEMA, STATIC_SIZE) && s.kind != SL_NVTX_DYNAMIC)
        s.size = a->payloadStaticSize;
    if (HAS(a, SCHEMA, ALIGNMENT))
        s.pack_align = a->packAlign;
    if (HAS(a, SCHEMA, SCHEMA_ID))
        s.id = a->schemaId;
    s.fields = (uint32_t)a->numEntries;
    return sl_nvtx_schema_add(&s, fill_field, (void *)(uintptr_t)a->entries);
}

static void fill_value(void *user, struct sl_nvtx_field *field, size_t i)
{
    const nvtxPayloadEnum_t *e = &((const nvtxPayloadEnum_t *)user)[i];

    *field = (struct sl_nvtx_field){
        .flags = e->isFlag != 0, .detail = e->value, .name = string_of(e->name)};
}

static uint64_t on_enum(nvtxDomainHandle_t domain, const nvtxPayloadEnumAttr_t *a)
{
    struct sl_nvtx_schema s = {
        .domain = sl_nvtx_domain_of(domain), .kind = SL_NVTX_ENUM, .size = sizeof(int)};

    if (!a || !HAS(a, ENUM, ENTRIES) || !HAS(a, ENUM, NUM_ENTRIES) || !a->entries ||
        a->numEntries > FIELDS_MAX)
        return 0;
    if (HAS(a, ENUM, SIZE) && a->sizeOfEnum && a->sizeOfEnum <= sizeof(uint64_t))
        s.size = a->sizeOfEnum;
    if (HAS(a, ENUM, SCHEMA_ID))
        s.id = a->schemaId;
    s.fields = (uint32_t)a->numEntries;
    return sl_nvtx_schema_add(&s, fill_value, (void *)(uintptr_t)a->entries);
}

/* ---- events ---- */

static struct sl_nvtx_event event_of(struct sl_nvtx_payload_event *said, unsigned domain,
                                     const nvtxPayloadData_t *payloads, size_t count)
{
    struct sl_nvtx_event ev = {.payloads = payloads, .payload_count = count};

    if (!payloads)
        ev.payload_count = count = 0;
    sl_nvtx_payload_event(said, domain, payloads, count);
    ev.message.string = said->string;
    if (said->has_message && !said->string) {
        ev.message.text = said->text;
        ev.message.length = said->length;
    }
    ev.category = said->category;
    ev.has_category = (uint8_t)said->has_category;
    ev.color = said->color;
    ev.has_color = (uint8_t)said->has_color;
    return ev;
}

static void on_mark(nvtxDomainHandle_t handle, const nvtxPayloadData_t *payloads, size_t count)
{
    unsigned domain = sl_nvtx_domain_of(handle);
    struct sl_nvtx_payload_event said;
    const struct sl_nvtx_event ev = event_of(&said, domain, payloads, count);

    sl_nvtx_record_event(SL_LANE_MARK, domain, &ev, 0);
}

static int on_push(nvtxDomainHandle_t handle, const nvtxPayloadData_t *payloads, size_t count)
{
    unsigned domain = sl_nvtx_domain_of(handle);
    struct sl_nvtx_payload_event said;
    const struct sl_nvtx_event ev = event_of(&said, domain, payloads, count);

    return sl_nvtx_push(domain, &ev);
}

static int on_pop(nvtxDomainHandle_t handle, const nvtxPayloadData_t *payloads, size_t count)
{
    unsigned domain = sl_nvtx_domain_of(handle);
    struct sl_nvtx_payload_event said;
    const struct sl_nvtx_event ev = event_of(&said, domain, payloads, count);

    return sl_nvtx_pop(domain, &ev);
}

static nvtxRangeId_t on_start(nvtxDomainHandle_t handle, const nvtxPayloadData_t *payloads,
                              size_t count)
{
    unsigned domain = sl_nvtx_domain_of(handle);
    struct sl_nvtx_payload_event said;
    const struct sl_nvtx_event ev = event_of(&said, domain, payloads, count);

    return sl_nvtx_start(domain, &ev);
}

static void on_end(nvtxDomainHandle_t handle, nvtxRangeId_t id, const nvtxPayloadData_t *payloads,
                   size_t count)
{
    unsigned domain = sl_nvtx_domain_of(handle);
    struct sl_nvtx_payload_event said;
    const struct sl_nvtx_event ev = event_of(&said, domain, payloads, count);

    sl_nvtx_end(domain, id, &ev);
}

static uint8_t on_is_enabled(nvtxDomainHandle_t domain)
{
    (void)domain;
    return 1;
}

/* ---- deferred events ---- */

/* The clock of the trace: what comes back in a deferred event needs no conversion. */
static int64_t on_timestamp(void)
{
    return (int64_t)sl_clock_now();
}

static void submit(unsigned domain, const nvtxPayloadData_t *payloads, size_t count)
{
    struct sl_nvtx_payload_event said;
    const struct sl_nvtx_event ev = event_of(&said, domain, payloads, count);

    if (said.has_start || said.has_end)
        sl_nvtx_record_past(SL_LANE_PAST, domain, &ev,
                            (uint64_t)(said.has_start ? said.start : said.end),
                            (uint64_t)(said.has_end ? said.end : said.start));
}

static void on_submit(nvtxDomainHandle_t domain, const nvtxPayloadData_t *payloads, size_t count)
{
    if (payloads)
        submit(sl_nvtx_domain_of(domain), payloads, count);
}

static void on_submit_batch(nvtxDomainHandle_t handle, const nvtxEventBatch_t *batch)
{
    unsigned domain = sl_nvtx_domain_of(handle);
    const struct sl_nvtx_schema *s =
        batch && batch->events ? sl_nvtx_schema_find(domain, batch->eventSchemaId) : NULL;
    size_t each = s ? s->size : 0, count = each ? batch->size / each : 0;

    if (count > BATCH_MAX) {
        sl_lanes_lose(count - BATCH_MAX);
        count = BATCH_MAX;
    }
    for (size_t i = 0; i < count; i++) {
        const nvtxPayloadData_t one = {batch->eventSchemaId, each,
                                       (const char *)batch->events + i * each};

        submit(domain, &one, 1);
    }
}

#define SLOT(call, function)                                                                       \
    {                                                                                              \
        0, NVTX3EXT_CBID_##call, (sl_nvtx_function)(function)                                      \
    }

const struct sl_nvtx_slot sl_nvtx_payload_slots[] = {
    SLOT(nvtxPayloadSchemaRegister, on_schema),
    SLOT(nvtxPayloadEnumRegister, on_enum),
    SLOT(nvtxMarkPayload, on_mark),
    SLOT(nvtxRangePushPayload, on_push),
    SLOT(nvtxRangePopPayload, on_pop),
    SLOT(nvtxRangeStartPayload, on_start),
    SLOT(nvtxRangeEndPayload, on_end),
    SLOT(nvtxDomainIsEnabled, on_is_enabled),
    SLOT(nvtxTimestampGet, on_timestamp),
    SLOT(nvtxEventSubmit, on_submit),
    SLOT(nvtxEventBatchSubmit, on_submit_batch),
    {0, 0, NULL},
};
