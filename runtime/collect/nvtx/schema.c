/*
 * schema.c - the payload layouts that applications register with NVTX.
 *
 * Threads, memory: see schema.h. A thread that adds a schema reserves an entry and fields, fills
 * them, and then publishes the entry in the index.
 */
#include "collect/nvtx/schema.h"

#include <stdatomic.h>

#include "base/stats.h"
#include "base/text_table.h"

enum {
    SCHEMAS = 4096,
    INDEX = 2 * SCHEMAS, /* number of index slots; a power of two */
    FIELDS = 65536,
};

/* First id that we assign to a schema: NVTX_PAYLOAD_SCHEMA_ID_DYNAMIC_START. */
#define FIRST_MADE (1ull << 32)

static struct {
    struct sl_nvtx_schema schema[SCHEMAS];
    struct sl_nvtx_field field[FIELDS];
    _Atomic uint32_t index[INDEX]; /* index of the schema + 1; 0: free slot */
    _Atomic uint32_t schemas, fields;
} table;

/* Returns the index slot of the schema, or the free slot where the schema belongs. */
static _Atomic uint32_t *probe(unsigned domain, uint64_t id)
{
    uint64_t hash = (id ^ (uint64_t)domain << 48) * 0x9e3779b97f4a7c15u;

    for (uint32_t at = (uint32_t)(hash >> 40);; at++) {
        _Atomic uint32_t *slot = &table.index[at % INDEX];
        /* Acquire pairs with the release in sl_nvtx_schema_add(), so that the schema and its fields
         * are visible. */
        uint32_t place = atomic_load_explicit(slot, memory_order_acquire);
        const struct sl_nvtx_schema *s = place ? &table.schema[place - 1] : NULL;

        if (!s || (s->id == id && (s->domain == domain || id >= FIRST_MADE)))
            return slot;
    }
}

uint64_t sl_nvtx_schema_add(const struct sl_nvtx_schema *schema,
                            void (*fill)(void *user, struct sl_nvtx_field *field, size_t i),
                            void *user)
{
    uint32_t place, field = FIELDS, none = 0;
    struct sl_nvtx_schema *s;
    unsigned domain = schema->domain;

    /* Some programs register a schema before each event. */
    if (schema->id && sl_nvtx_schema_find(domain, schema->id))
        return schema->id;
    place = sl_text_table_take_place(&table.schemas, 1, SCHEMAS);
    if (place < SCHEMAS)
        field = sl_text_table_take_place(&table.fields, schema->fields, FIELDS);
    if (place == SCHEMAS || field == FIELDS) {
        sl_stats_add(SL_STAT_NAMES_LOST, 1);
        return 0;
    }
    s = &table.schema[place];
    *s = *schema;
    s->field = field;
    if (!s->id)
        s->id = FIRST_MADE + place;
    if (s->id >= FIRST_MADE)
        domain = s->domain = 0;
    for (size_t i = 0; i < s->fields; i++)
        fill(user, &table.field[field + i], i);
    /* If two threads register schemas with the same id, the first schema stays valid. */
    while (!atomic_compare_exchange_strong_explicit(probe(domain, s->id), &none, place + 1,
                                                    memory_order_acq_rel, memory_order_acquire)) {
        if (table.schema[none - 1].id == s->id && table.schema[none - 1].domain == domain)
            break;
        none = 0;
    }
    return s->id;
}

const struct sl_nvtx_schema *sl_nvtx_schema_find(unsigned domain, uint64_t id)
{
    uint32_t place =
        atomic_load_explicit(probe(id >= FIRST_MADE ? 0 : domain, id), memory_order_acquire);

    return place ? &table.schema[place - 1] : NULL;
}

const struct sl_nvtx_field *sl_nvtx_schema_field(const struct sl_nvtx_schema *s, size_t i)
{
    return &table.field[s->field + i];
}
