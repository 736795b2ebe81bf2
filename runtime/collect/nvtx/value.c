/*
 * value.c - one payload value of a predefined NVTX type.
 *
 * Pure functions; any thread.
 */
#define NVTX_NO_IMPL
#include <nvtx3/nvToolsExtPayload.h>

#include "collect/nvtx/value.h"

#include <stdalign.h>
#include <string.h>

#include "base/json.h"

#define TYPE(name) NVTX_PAYLOAD_ENTRY_TYPE_##name

enum form {
    NO_FORM,
    SIGNED,
    UNSIGNED,
    REAL,
    HALF,  /* float16 */
    BRAIN, /* bfloat16 */
    HEX,   /* addresses, colors, 128-bit values, and bytes */
    CHARACTER,
    STRING,
    HANDLE, /* handle of a registered string */
};

struct type {
    uint8_t size, align, form, character;
};

#define OF(c_type, form)                                                                           \
    {                                                                                              \
        sizeof(c_type), alignof(c_type), form, 0                                                   \
    }
#define CHARACTERS(bytes)                                                                          \
    {                                                                                              \
        bytes, bytes, CHARACTER, bytes                                                             \
    }
#define STRINGS(bytes)                                                                             \
    {                                                                                              \
        0, alignof(char *), STRING, bytes                                                          \
    }

static const struct type types[] = {
    [TYPE(CHAR)] = CHARACTERS(1),
    [TYPE(UCHAR)] = OF(unsigned char, UNSIGNED),
    [TYPE(SHORT)] = OF(short, SIGNED),
    [TYPE(USHORT)] = OF(unsigned short, UNSIGNED),
    [TYPE(INT)] = OF(int, SIGNED),
    [TYPE(UINT)] = OF(unsigned, UNSIGNED),
    [TYPE(LONG)] = OF(long, SIGNED),
    [TYPE(ULONG)] = OF(unsigned long, UNSIGNED),
    [TYPE(LONGLONG)] = OF(long long, SIGNED),
    [TYPE(ULONGLONG)] = OF(unsigned long long, UNSIGNED),
    [TYPE(INT8)] = OF(int8_t, SIGNED),
    [TYPE(UINT8)] = OF(uint8_t, UNSIGNED),
    [TYPE(INT16)] = OF(int16_t, SIGNED),
    [TYPE(UINT16)] = OF(uint16_t, UNSIGNED),
    [TYPE(INT32)] = OF(int32_t, SIGNED),
    [TYPE(UINT32)] = OF(uint32_t, UNSIGNED),
    [TYPE(INT64)] = OF(int64_t, SIGNED),
    [TYPE(UINT64)] = OF(uint64_t, UNSIGNED),
    [TYPE(FLOAT)] = OF(float, REAL),
    [TYPE(DOUBLE)] = OF(double, REAL),
    [TYPE(LONGDOUBLE)] = OF(long double, REAL),
    [TYPE(SIZE)] = OF(size_t, UNSIGNED),
    [TYPE(ADDRESS)] = OF(void *, HEX),
    [TYPE(WCHAR)] = CHARACTERS(4),
    [TYPE(CHAR8)] = CHARACTERS(1),
    [TYPE(CHAR16)] = CHARACTERS(2),
    [TYPE(CHAR32)] = CHARACTERS(4),
    [TYPE(BYTE)] = OF(uint8_t, HEX),
    [TYPE(INT128)] = OF(__int128, HEX),
    [TYPE(UINT128)] = OF(__int128, HEX),
    [TYPE(FLOAT16)] = OF(uint16_t, HALF),
    [TYPE(FLOAT32)] = OF(float, REAL),
    [TYPE(FLOAT64)] = OF(double, REAL),
    [TYPE(FLOAT128)] = OF(__int128, HEX),
    [TYPE(BF16)] = OF(uint16_t, BRAIN),
    [TYPE(TF32)] = OF(float, REAL),
    [TYPE(CATEGORY)] = OF(uint32_t, UNSIGNED),
    [TYPE(COLOR_ARGB)] = OF(uint32_t, HEX),
    [TYPE(SCOPE_ID)] = OF(uint64_t, UNSIGNED),
    [TYPE(PID_UINT32)] = OF(uint32_t, UNSIGNED),
    [TYPE(PID_UINT64)] = OF(uint64_t, UNSIGNED),
    [TYPE(TID_UINT32)] = OF(uint32_t, UNSIGNED),
    [TYPE(TID_UINT64)] = OF(uint64_t, UNSIGNED),
    [TYPE(CSTRING)] = STRINGS(1),
    [TYPE(CSTRING_UTF8)] = STRINGS(1),
    [TYPE(CSTRING_UTF16)] = STRINGS(2),
    [TYPE(CSTRING_UTF32)] = STRINGS(4),
    [TYPE(NVTX_REGISTERED_STRING_HANDLE)] = OF(uint64_t, HANDLE),
    [TYPE(UNION_SELECTOR)] = OF(uint32_t, UNSIGNED),
};

static struct type type_of(uint64_t type)
{
    return type < sizeof(types) / sizeof(*types) ? types[type] : (struct type){0, 0, 0, 0};
}

size_t sl_nvtx_value_size(uint64_t type)
{
    return type_of(type).size;
}

size_t sl_nvtx_value_align(uint64_t type)
{
    return type_of(type).align ? type_of(type).align : 1;
}

size_t sl_nvtx_value_character(uint64_t type)
{
    return type_of(type).character;
}

int sl_nvtx_value_is_string(uint64_t type)
{
    return type_of(type).form == STRING;
}

int sl_nvtx_value_integer(uint64_t type, const void *at, int64_t *out)
{
    const struct type t = type_of(type);
    uint64_t bits = 0;
    unsigned unused = 64 - 8u * t.size;

    if ((t.form != SIGNED && t.form != UNSIGNED && t.form != CHARACTER && t.form != HANDLE &&
         t.form != HEX) ||
        t.size > sizeof(bits))
        return 0;
    memcpy(&bits, at, t.size); /* the value is little-endian, because every machine with CUDA is */
    *out = t.form == SIGNED ? (int64_t)(bits << unused) >> unused : (int64_t)bits;
    return 1;
}

static char *put_hex(char *at, const unsigned char *bytes, size_t count)
{
    at = SL_JSON_LITERAL(at, "\"0x");
    while (count--)
        at = sl_json_hex(at, bytes[count], 2);
    return SL_JSON_LITERAL(at, "\"");
}

static double half_of(uint16_t bits)
{
    double value = bits & 0x3ff;
    int exponent = bits >> 10 & 31;

    if (exponent == 31)
        value = bits & 0x3ff ? __builtin_nan("") : __builtin_inf();
    else if (exponent)
        value = __builtin_ldexp(value + 1024, exponent - 25);
    else
        value = __builtin_ldexp(value, -24);
    return bits >> 15 ? -value : value;
}

static double real_of(const struct type *t, const void *value)
{
    uint16_t half;
    uint32_t word;
    float narrow;
    double wide;
    long double wider;

    if (t->form == HALF || t->form == BRAIN) {
        memcpy(&half, value, sizeof(half));
        if (t->form == HALF)
            return half_of(half);
        word = (uint32_t)half << 16;
        memcpy(&narrow, &word, sizeof(narrow));
        return narrow;
    }
    if (t->size == sizeof(narrow)) {
        memcpy(&narrow, value, sizeof(narrow));
        return narrow;
    }
    if (t->size == sizeof(wide)) {
        memcpy(&wide, value, sizeof(wide));
        return wide;
    }
    memcpy(&wider, value, sizeof(wider));
    return (double)wider;
}

char *sl_nvtx_value_json(char *at, uint64_t type, const void *value)
{
    const struct type t = type_of(type);
    int64_t integer = 0;

    switch (t.form) {
    case SIGNED:
        sl_nvtx_value_integer(type, value, &integer);
        return sl_json_i64(at, integer);
    case UNSIGNED:
    case CHARACTER:
    case HANDLE:
        sl_nvtx_value_integer(type, value, &integer);
        return sl_json_u64(at, (uint64_t)integer);
    case HEX:
        return put_hex(at, value, t.size);
    case REAL:
    case HALF:
    case BRAIN:
        return sl_json_double(at, real_of(&t, value), t.size == sizeof(float) ? 9 : 17);
    default:
        return SL_JSON_LITERAL(at, "null");
    }
}
