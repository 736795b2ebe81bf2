/*
 * schema.h - what applications tell NVTX about the layout of their payloads.
 *
 * Threads: any registers and looks up; nothing blocks. Memory: fixed tables, touched as they fill;
 * what has no room is counted as SL_STAT_NAMES_LOST, and payloads of it are shown as bytes.
 */
#ifndef SL_NVTX_SCHEMA_H
#define SL_NVTX_SCHEMA_H

#include <stddef.h>
#include <stdint.h>

/* A field of a struct or union, or a value of an enum (`detail`; flags 1: a set of bits). */
struct sl_nvtx_field {
    uint64_t flags, type, detail, offset; /* as NVTX has them */
    uint64_t clock;                       /* time domain of a timestamp; 0: not told */
    uint32_t name;                        /* registered string; 0: none */
};

enum sl_nvtx_schema_kind {
    SL_NVTX_STRUCT,
    SL_NVTX_DYNAMIC,        /* a struct whose fields have no fixed place */
    SL_NVTX_UNION,          /* which member: told by another field */
    SL_NVTX_SELECTED_UNION, /* told by a member */
    SL_NVTX_ENUM,
};

struct sl_nvtx_schema {
    uint64_t id;
    uint32_t domain;
    uint32_t kind;           /* enum sl_nvtx_schema_kind */
    uint32_t field, fields;  /* the first, how many */
    size_t size, pack_align; /* 0: not told */
};

/* 0, -ENOMEM, -EALREADY. */
int sl_nvtx_schemas_init(void);

/* Its id: the one given, or where that is 0 one that is made; 0: no room. One that is told again
 * is what it was told first. */
uint64_t sl_nvtx_schema_add(const struct sl_nvtx_schema *schema,
                            void (*fill)(void *user, struct sl_nvtx_field *field, size_t i),
                            void *user);

/* NULL: there is none. */
const struct sl_nvtx_schema *sl_nvtx_schema_find(unsigned domain, uint64_t id);
const struct sl_nvtx_field *sl_nvtx_schema_field(const struct sl_nvtx_schema *s, size_t i);

#endif
