/* ranges_schema.c - runs the step `schema` of `ranges`, which makes a range with payloads of NVTX's
 * extension. One payload's schema has every type of entry. */
#include "ranges.h"

#include <stddef.h>
#include <string.h>

struct inner {
    int32_t x, y;
};

struct outer {
    uint64_t bytes;
    int32_t op; /* an enum */
    float scale;
    struct inner inner;
    uint16_t dims[3];
    char tag[8];
    const char *note;
    nvtxStringHandle_t string;
    uint32_t which; /* selects the member of the union */
    union {
        uint32_t number;
        float real;
    } choice;
    uint32_t items; /* number of items in the array */
    const int32_t *item;
};

#define FIELD(member, kind, label)                                                                 \
    {                                                                                              \
        .type = (kind), .name = (label), .offset = offsetof(struct outer, member)                  \
    }

uint64_t ranges_schema(nvtxDomainHandle_t in, const nvtxPayloadSchemaEntry_t *entry, size_t count,
                       uint64_t type, size_t size)
{
    const nvtxPayloadSchemaAttr_t a = {.fieldMask = NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_TYPE |
                                                    NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_ENTRIES |
                                                    NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NUM_ENTRIES |
                                                    NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_STATIC_SIZE,
                                       .type = type,
                                       .entries = entry,
                                       .numEntries = count,
                                       .payloadStaticSize = size};

    return nvtxPayloadSchemaRegister(in, &a);
}

static uint64_t register_outer(nvtxDomainHandle_t domain)
{
    static const nvtxPayloadEnum_t ops[] = {{"sum", 0, 0}, {"max", 3, 0}};
    const nvtxPayloadEnumAttr_t op = {.fieldMask = NVTX_PAYLOAD_ENUM_ATTR_FIELD_ENTRIES |
                                                   NVTX_PAYLOAD_ENUM_ATTR_FIELD_NUM_ENTRIES |
                                                   NVTX_PAYLOAD_ENUM_ATTR_FIELD_SIZE,
                                      .entries = ops,
                                      .numEntries = 2,
                                      .sizeOfEnum = sizeof(int32_t)};
    static const nvtxPayloadSchemaEntry_t inner[] = {
        {.type = NVTX_PAYLOAD_ENTRY_TYPE_INT32, .name = "x"},
        {.type = NVTX_PAYLOAD_ENTRY_TYPE_INT32, .name = "y"}};
    static const nvtxPayloadSchemaEntry_t choice[] = {
        {.type = NVTX_PAYLOAD_ENTRY_TYPE_UINT32, .name = "number"},
        {.type = NVTX_PAYLOAD_ENTRY_TYPE_FLOAT, .name = "real"}};
    nvtxPayloadSchemaEntry_t outer[] = {
        FIELD(bytes, NVTX_PAYLOAD_ENTRY_TYPE_UINT64, "bytes"),
        FIELD(op, 0, "op"),
        FIELD(scale, NVTX_PAYLOAD_ENTRY_TYPE_FLOAT, "scale"),
        FIELD(inner, 0, "inner"),
        FIELD(dims, NVTX_PAYLOAD_ENTRY_TYPE_UINT16, "dims"),
        FIELD(tag, NVTX_PAYLOAD_ENTRY_TYPE_CSTRING, "tag"),
        FIELD(note, NVTX_PAYLOAD_ENTRY_TYPE_CSTRING, "note"),
        FIELD(string, NVTX_PAYLOAD_ENTRY_TYPE_NVTX_REGISTERED_STRING_HANDLE, "string"),
        FIELD(which, NVTX_PAYLOAD_ENTRY_TYPE_UINT32, "which"),
        FIELD(choice, 0, "choice"),
        FIELD(items, NVTX_PAYLOAD_ENTRY_TYPE_UINT32, "items"),
        FIELD(item, NVTX_PAYLOAD_ENTRY_TYPE_INT32, "item"),
    };

    outer[1].type = nvtxPayloadEnumRegister(domain, &op);
    outer[3].type =
        ranges_schema(domain, inner, 2, NVTX_PAYLOAD_SCHEMA_TYPE_STATIC, sizeof(struct inner));
    outer[4].flags = NVTX_PAYLOAD_ENTRY_FLAG_ARRAY_FIXED_SIZE;
    outer[4].arrayOrUnionDetail = 3;
    outer[5].arrayOrUnionDetail = 8;
    outer[9].type = ranges_schema(domain, choice, 2, NVTX_PAYLOAD_SCHEMA_TYPE_UNION, 4);
    outer[9].arrayOrUnionDetail = 8;
    outer[11].flags = NVTX_PAYLOAD_ENTRY_FLAG_POINTER | NVTX_PAYLOAD_ENTRY_FLAG_ARRAY_LENGTH_INDEX;
    outer[11].arrayOrUnionDetail = 10;
    return ranges_schema(domain, outer, 12, NVTX_PAYLOAD_SCHEMA_TYPE_STATIC, sizeof(struct outer));
}

void ranges_by_schema(nvtxDomainHandle_t domain)
{
    static const int32_t items[] = {5, -6, 7};
    uint64_t schema = register_outer(domain);
    struct outer o = {.bytes = 1ull << 40,
                      .op = 3,
                      .scale = 0.25f,
                      .inner = {-1, 2},
                      .dims = {3, 4, 5},
                      .tag = "tag\"",
                      .note = "a note",
                      .string = nvtxDomainRegisterStringA(domain, "registered"),
                      .which = 1,
                      .choice = {.real = 2.5f},
                      .items = 3,
                      .item = items};
    nvtxPayloadData_t data[] = {{schema, sizeof(o), &o}};
    nvtxEventAttributes_t a = ranges_event("with schema");

    /* NVTX's macro for a schema does not compile as C. */
    a.payloadType = NVTX_PAYLOAD_TYPE_EXT;
    a.reserved0 = 1;
    a.payload.ullValue = (uintptr_t)data;
    nvtxDomainRangePushEx(domain, &a);
    memset(&o, 0xff, sizeof(o)); /* overwritten, because NVTX must have copied the payload */
    nvtxRangePopPayload(domain, &(nvtxPayloadData_t){NVTX_PAYLOAD_ENTRY_TYPE_INT32, 4, &items[1]},
                        1);
}
