/*
 * payload_calls.c - NVTX's payload extension: schemas, and events that consist of payloads.
 * deferred_calls.c handles deferred events.
 *
 * Threads: any thread of the application; nothing blocks, allocates or logs. Memory: only the lanes
 * (collect/lane/lane.h) and the tables of schema.c.
 */
#define NVTX_NO_IMPL
#include <nvtx3/nvToolsExtPayload.h>
#include <nvtx3/nvToolsExtSemanticsTime.h>

#include <string.h>

#include "base/text_table.h"
#include "collect/nvtx/calls.h"
#include "collect/nvtx/names.h"
#include "collect/nvtx/payload.h"
#include "collect/nvtx/schema.h"

#define HAS(attr, what, field) ((attr)->fieldMask & NVTX_PAYLOAD_##what##_ATTR_FIELD_##field)
/* Maximum number of fields of a schema; real schemas have fewer. */
#define FIELDS_MAX    1024
#define SEMANTICS_MAX 16 /* most semantics of one field that are read; the list is not trusted */

static uint32_t string_of(const char *text)
{
    return text ? sl_text_table_put(text, strnlen(text, SL_LANE_TEXT_MAX)) : 0;
}

/* ---- schemas ---- */

/* Returns the clock of a timestamp, or 0 if the field does not name a clock. */
static uint64_t clock_of(const nvtxPayloadSchemaEntry_t *e)
{
    const nvtxSemanticsHeader_t *s = e->semantics;

    if (!(e->flags & NVTX_PAYLOAD_ENTRY_FLAG_TIMESTAMP))
        return 0;
    for (unsigned i = 0; s && i < SEMANTICS_MAX; i++, s = s->next)
        if (s->semanticId == NVTX_SEMANTIC_ID_TIME_V1 &&
            s->structSize >= sizeof(nvtxSemanticsTime_t))
            return ((const nvtxSemanticsTime_t *)(const void *)s)->timeDomainId;
    return 0;
}

static void fill_field(void *user, struct sl_nvtx_field *field, size_t i)
{
    const nvtxPayloadSchemaEntry_t *e = &((const nvtxPayloadSchemaEntry_t *)user)[i];

    *field = (struct sl_nvtx_field){e->flags,  e->type,     e->arrayOrUnionDetail,
                                    e->offset, clock_of(e), string_of(e->name)};
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

static void on_mark(nvtxDomainHandle_t handle, const nvtxPayloadData_t *payloads, size_t count)
{
    unsigned domain = sl_nvtx_domain_of(handle);
    struct sl_nvtx_payload_event said;

    sl_nvtx_record_event(SL_LANE_MARK, domain,
                         sl_nvtx_payload_event(&said, domain, payloads, count), 0);
}

static int on_push(nvtxDomainHandle_t handle, const nvtxPayloadData_t *payloads, size_t count)
{
    unsigned domain = sl_nvtx_domain_of(handle);
    struct sl_nvtx_payload_event said;

    return sl_nvtx_push(domain, sl_nvtx_payload_event(&said, domain, payloads, count));
}

static int on_pop(nvtxDomainHandle_t handle, const nvtxPayloadData_t *payloads, size_t count)
{
    unsigned domain = sl_nvtx_domain_of(handle);
    struct sl_nvtx_payload_event said;

    return sl_nvtx_pop(domain, sl_nvtx_payload_event(&said, domain, payloads, count));
}

static nvtxRangeId_t on_start(nvtxDomainHandle_t handle, const nvtxPayloadData_t *payloads,
                              size_t count)
{
    unsigned domain = sl_nvtx_domain_of(handle);
    struct sl_nvtx_payload_event said;

    return sl_nvtx_start(domain, sl_nvtx_payload_event(&said, domain, payloads, count));
}

static void on_end(nvtxDomainHandle_t handle, nvtxRangeId_t id, const nvtxPayloadData_t *payloads,
                   size_t count)
{
    unsigned domain = sl_nvtx_domain_of(handle);
    struct sl_nvtx_payload_event said;

    sl_nvtx_end(domain, id, sl_nvtx_payload_event(&said, domain, payloads, count));
}

static uint8_t on_is_enabled(nvtxDomainHandle_t domain)
{
    (void)domain;
    return 1;
}

const struct sl_nvtx_slot sl_nvtx_payload_slots[] = {
    SL_NVTX_EXTENSION_SLOT(nvtxPayloadSchemaRegister, on_schema),
    SL_NVTX_EXTENSION_SLOT(nvtxPayloadEnumRegister, on_enum),
    SL_NVTX_EXTENSION_SLOT(nvtxMarkPayload, on_mark),
    SL_NVTX_EXTENSION_SLOT(nvtxRangePushPayload, on_push),
    SL_NVTX_EXTENSION_SLOT(nvtxRangePopPayload, on_pop),
    SL_NVTX_EXTENSION_SLOT(nvtxRangeStartPayload, on_start),
    SL_NVTX_EXTENSION_SLOT(nvtxRangeEndPayload, on_end),
    SL_NVTX_EXTENSION_SLOT(nvtxDomainIsEnabled, on_is_enabled),
    {0, 0, NULL},
};
