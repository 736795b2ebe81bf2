/*
 * attribute.h - AttributeProto: a name and one value.
 *
 * Pure inline functions; any thread. `field` is that of the attribute in its message; names must be
 * shorter than 96 bytes.
 */
#ifndef SL_CHAKRA_ATTRIBUTE_H
#define SL_CHAKRA_ATTRIBUTE_H

#include "write/chakra/wire.h"

/* Field numbers of AttributeProto's values. */
enum sl_chakra_value {
    SL_CHAKRA_NAME = 1,
    SL_CHAKRA_INT32 = 7,
    SL_CHAKRA_INT64 = 9,
    SL_CHAKRA_UINT64 = 13,
    SL_CHAKRA_BOOL = 27,
    SL_CHAKRA_STRING = 29
};

/* A value that is a varint. */
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

/* Texts longer than 4000 bytes are cut. */
char *sl_chakra_text_attribute(char *at, uint32_t field, const char *name, const char *text);

#endif
