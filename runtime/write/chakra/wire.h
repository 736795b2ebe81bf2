/*
 * wire.h - protobuf's wire format: varints and tagged fields, written into memory whose size the
 * caller guarantees.
 *
 * Pure inline functions; any thread. As in protobuf's specification, a field's tag is its number <<
 * 3 | wire type (0: varint, 2: length-delimited).
 */
#ifndef SL_CHAKRA_WIRE_H
#define SL_CHAKRA_WIRE_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum {
    SL_WIRE_VARINT = 0,
    SL_WIRE_BYTES = 2,
    SL_WIRE_VARINT_MAX = 10 /* size of the longest varint in bytes */
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

/* Returns the number of bytes that sl_wire_varint() writes. */
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

/* ---- AttributeProto: a name and one value ----
 *
 * `field` is the attribute's field number in its message; names must be shorter than 96 bytes. */

/* Field numbers of the values in an AttributeProto message. */
enum sl_chakra_value {
    SL_CHAKRA_NAME = 1,
    SL_CHAKRA_INT32 = 7,
    SL_CHAKRA_INT64 = 9,
    SL_CHAKRA_UINT64 = 13,
    SL_CHAKRA_BOOL = 27,
    SL_CHAKRA_STRING = 29
};

/* Writes an attribute whose value is encoded as a varint. */
static inline __attribute__((always_inline)) char *sl_chakra_attribute(char *at, uint32_t field,
                                                                       const char *name,
                                                                       size_t name_length,
                                                                       enum sl_chakra_value type,
                                                                       uint64_t value)
{
    size_t size = 2 + name_length + (type > 15 ? 2 : 1) + sl_wire_varint_size(value);

    at = sl_wire_varint(at, SL_WIRE_TAG(field, SL_WIRE_BYTES));
    *at++ = (char)size;
    at = sl_wire_bytes(at, SL_CHAKRA_NAME, name, name_length);
    return sl_wire_u64(at, type, value);
}

/* Writes an attribute whose value is a text. Texts longer than 4000 bytes are truncated. */
char *sl_chakra_text_attribute(char *at, uint32_t field, const char *name, const char *text);

#endif
