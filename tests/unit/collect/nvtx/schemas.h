/* schemas.h - makes schemas of payloads from lists of fields. */
#ifndef SL_NVTX_SCHEMAS_H
#define SL_NVTX_SCHEMAS_H

#define NVTX_NO_IMPL
#include <nvtx3/nvToolsExtPayload.h>

#include "test.h"

#include "collect/nvtx/names.h"
#include "collect/nvtx/schema.h"

#define TYPE(name) NVTX_PAYLOAD_ENTRY_TYPE_##name
#define FLAG(name) NVTX_PAYLOAD_ENTRY_FLAG_##name

/* Writes field `i` of a group of fields. */
static inline void fill(void *user, struct sl_nvtx_field *field, size_t i)
{
    *field = ((const struct sl_nvtx_field *)user)[i];
}

static inline uint64_t add_packed(uint32_t kind, struct sl_nvtx_field *field, uint32_t fields,
                                  size_t size, size_t pack_align)
{
    const struct sl_nvtx_schema s = {
        .kind = kind, .fields = fields, .size = size, .pack_align = pack_align};

    return sl_nvtx_schema_add(&s, fill, field);
}

static inline uint64_t add_of(uint32_t kind, struct sl_nvtx_field *field, uint32_t fields,
                              size_t size)
{
    return add_packed(kind, field, fields, size, 0);
}

static inline uint64_t add(struct sl_nvtx_field *field, uint32_t fields, size_t size)
{
    return add_packed(SL_NVTX_STRUCT, field, fields, size, 0);
}

#endif
