/* extension.h - calls functions of NVTX's payload extension as a program does, through the function
 * pointers (slots) of NVTX. */
#ifndef SL_NVTX_EXTENSION_H
#define SL_NVTX_EXTENSION_H

#include <nvtx3/nvToolsExtPayload.h>

#include "collect/nvtx/calls.h"

#define TYPE(name) NVTX_PAYLOAD_ENTRY_TYPE_##name
#define FLAG(name) NVTX_PAYLOAD_ENTRY_FLAG_##name

static inline sl_nvtx_function extension_slot(unsigned id)
{
    const struct sl_nvtx_slot *const tables[] = {sl_nvtx_payload_slots, sl_nvtx_deferred_slots};

    for (unsigned i = 0; i < 2; i++)
        for (const struct sl_nvtx_slot *s = tables[i]; s->function; s++)
            if (s->id == id)
                return s->function;
    fail_msg("no function for %u", id);
    return NULL;
}

#define CALL(call, result, ...) ((result(*)(__VA_ARGS__))extension_slot(NVTX3EXT_CBID_##call))

#define SCHEMA_FIELDS                                                                              \
    (NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_TYPE | NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_ENTRIES |                \
     NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NUM_ENTRIES | NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_STATIC_SIZE)

static inline uint64_t register_schema(const nvtxPayloadSchemaAttr_t *a)
{
    return CALL(nvtxPayloadSchemaRegister, uint64_t, nvtxDomainHandle_t,
                const nvtxPayloadSchemaAttr_t *)(NULL, a);
}

static inline uint64_t schema(const nvtxPayloadSchemaEntry_t *entries, size_t count, size_t size)
{
    const nvtxPayloadSchemaAttr_t a = {.fieldMask = SCHEMA_FIELDS,
                                       .type = NVTX_PAYLOAD_SCHEMA_TYPE_STATIC,
                                       .entries = entries,
                                       .numEntries = count,
                                       .payloadStaticSize = size};

    return register_schema(&a);
}

#endif
