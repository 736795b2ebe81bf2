/*
 * schema.h - the payload layouts that applications register with NVTX.
 *
 * Threads: any thread may register or look up a schema; nothing blocks. Memory: static tables,
 * whose pages are touched only when entries are added. A schema that finds no room is counted as
 * SL_STAT_NAMES_LOST. Payloads of such a schema are shown as bytes.
 */
#ifndef SL_NVTX_SCHEMA_H
#define SL_NVTX_SCHEMA_H

#include <stddef.h>
#include <stdint.h>

/* A field of a struct or union, or a value of an enum. An enum's value is in `detail`; flags 1
 * means that the value is a set of bits. */
struct sl_nvtx_field {
    uint64_t flags, type, detail, offset; /* values that the program has registered */
    uint64_t clock;                       /* clock of a timestamp field; 0: the field names no
                                           * clock */
    uint32_t name;                        /* number of a registered string; 0: none */
};

enum sl_nvtx_schema_kind {
    SL_NVTX_STRUCT,
    SL_NVTX_DYNAMIC,        /* a struct whose fields have no fixed offsets */
    SL_NVTX_UNION,          /* a union; another field says which member is valid */
    SL_NVTX_SELECTED_UNION, /* a union that has a member that says which member is valid */
    SL_NVTX_ENUM,
};

struct sl_nvtx_schema {
    uint64_t id;
    uint32_t domain;
    uint32_t kind;           /* enum sl_nvtx_schema_kind */
    uint32_t field, fields;  /* index of the first field; number of fields */
    size_t size, pack_align; /* size and packing in bytes; 0: not given */
};

/* Returns the given id, or a new id if the given id is 0. Returns 0 if there is no room. If an id
 * is registered again, the first registration stays valid. */
uint64_t sl_nvtx_schema_add(const struct sl_nvtx_schema *schema,
                            void (*fill)(void *user, struct sl_nvtx_field *field, size_t i),
                            void *user);

/* Returns NULL if no schema has this id. */
const struct sl_nvtx_schema *sl_nvtx_schema_find(unsigned domain, uint64_t id);
const struct sl_nvtx_field *sl_nvtx_schema_field(const struct sl_nvtx_schema *s, size_t i);

#endif
