/*
 * wire.h - protobuf's wire format: varints and tagged fields, put into memory that has the room.
 *
 * Pure inline functions; any thread. Numbers as in the encoding's specification: a field's tag is
 * its number << 3 | wire type (0 varint, 2 length-delimited).
 */
#ifndef SL_CHAKRA_WIRE_H
#define SL_CHAKRA_WIRE_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum {
    SL_WIRE_VARINT = 0,
    SL_WIRE_BYTES = 2,
    SL_WIRE_VARINT_MAX = 10 /* bytes of the longest varint */
};

#define SL_WIRE_TAG(field, type) ((uint32_t)(field) << 3 | (type))

static inline char *sl_wire_varint(char *at, uint64_t v)
{
    while (v >= 0x80) {
        *at++ = (char)(v | 0x80);
        v >>= 7;
    }
    *at++ = (char)v;
    return at;
}

/* Bytes that sl_wire_varint() takes. */
static inline size_t sl_wire_varint_size(uint64_t v)
{
    return ((size_t)(64 - __builtin_clzll(v | 1)) + 6) / 7;
}

static inline char *sl_wire_u64(char *at, uint32_t field, uint64_t v)
{
    return sl_wire_varint(sl_wire_varint(at, SL_WIRE_TAG(field, SL_WIRE_VARINT)), v);
}

static inline char *sl_wire_bytes(char *at, uint32_t field, const void *data, size_t size)
{
    at = sl_wire_varint(sl_wire_varint(at, SL_WIRE_TAG(field, SL_WIRE_BYTES)), size);
    memcpy(at, data, size);
    return at + size;
}

#endif
