/*
 * nccl_reduce.c - the arithmetic of reductions, for the data types that support it.
 *
 * Threads: the service thread. Every rank computes each result from the elements of all ranks in
 * the same order, in double precision or 64-bit integers. So all ranks get the same bits.
 */
#include <string.h>

#include "libraries/nccl.h"

static const struct {
    size_t bytes;
    const char *name;
} types[NCCL_TYPES] = {
    [NCCL_INT8] = {1, "i8"},
    [NCCL_UINT8] = {1, "u8"},
    [NCCL_INT32] = {4, "i32"},
    [NCCL_UINT32] = {4, "u32"},
    [NCCL_INT64] = {8, "i64"},
    [NCCL_UINT64] = {8, "u64"},
    [NCCL_FLOAT16] = {2, "f16"},
    [NCCL_FLOAT32] = {4, "f32"},
    [NCCL_FLOAT64] = {8, "f64"},
    [NCCL_BFLOAT16] = {2, "bf16"},
    [NCCL_FLOAT8_E4M3] = {1, "f8e4m3"},
    [NCCL_FLOAT8_E5M2] = {1, "f8e5m2"},
};

size_t sim_nccl_size(enum sim_nccl_type type)
{
    return types[type].bytes;
}

const char *sim_nccl_type_name(enum sim_nccl_type type)
{
    return types[type].name;
}

static float from_half(uint16_t bits)
{
    uint32_t sign = (uint32_t)(bits & 0x8000) << 16, exponent = bits >> 10 & 31,
             rest = bits & 0x3ff;
    uint32_t out;
    float value;

    if (exponent == 0) { /* zero, and numbers below 2^-14 */
        value = (float)rest * 0x1p-24f;
        return sign ? -value : value;
    }
    out = sign | (exponent == 31 ? 0x7f800000u : (exponent + 112) << 23) | rest << 13;
    memcpy(&value, &out, sizeof value);
    return value;
}

/* Converts to half precision. Rounds to the nearest number, ties to even. */
static uint16_t to_half(float value)
{
    uint32_t bits, sign, rounded;

    memcpy(&bits, &value, sizeof bits);
    sign = bits >> 16 & 0x8000;
    bits &= 0x7fffffff;
    if (bits >= 0x7f800000) { /* infinity, not a number */
        return (uint16_t)(sign | (bits > 0x7f800000 ? 0x7e00 : 0x7c00));
    }
    if (bits >= 0x477ff000) {
        return (uint16_t)(sign | 0x7c00);
    }
    if (bits < 0x38800000) { /* below 2^-14: the low bits of the sum with 0.5 are the result */
        float shifted = (value < 0 ? -value : value) + 0.5f;

        memcpy(&rounded, &shifted, sizeof rounded);
        return (uint16_t)(sign | (rounded - 0x3f000000));
    }
    rounded = bits + 0xfff + (bits >> 13 & 1) - 0x38000000;
    return (uint16_t)(sign | rounded >> 13);
}

static bool is_nan_f8(uint8_t bits, enum sim_nccl_type type)
{
    return (bits & 0x7f) > (type == NCCL_FLOAT8_E4M3 ? 0x7e : 0x7c);
}

/* An E5M2 number is the upper byte of a half-precision number. An E4M3 number that is shifted by
 * one bit is a half-precision number that is 2^8 times too small. E4M3 has no infinity. */
static double from_f8(uint8_t bits, enum sim_nccl_type type)
{
    uint16_t sign = (uint16_t)((bits & 0x80) << 8);

    if (type == NCCL_FLOAT8_E5M2 || is_nan_f8(bits, type)) {
        return from_half((uint16_t)(is_nan_f8(bits, type) ? sign | 0x7e00 : bits << 8));
    }
    return from_half((uint16_t)(sign | (bits & 0x7f) << 7)) * 256.0;
}

/* Rounds to the nearest number, ties to even. A number above the range becomes the largest number,
 * as with CUDA's own types. */
static uint8_t to_f8(double value, enum sim_nccl_type type)
{
    uint8_t below = 0, above = type == NCCL_FLOAT8_E4M3 ? 0x7e : 0x7b;
    uint8_t sign = value < 0 || (value == 0 && 1 / value < 0) ? 0x80 : 0;
    double size = sign ? -value : value, middle;

    if (value != value) {
        return 0x7f;
    }
    if (size >= from_f8(above, type)) {
        return sign | above;
    }
    while (above - below > 1) { /* of two positive numbers, the larger has the larger bits */
        uint8_t half = (uint8_t)((below + above) / 2);

        if (from_f8(half, type) <= size) {
            below = half;
        } else {
            above = half;
        }
    }
    middle = (from_f8(below, type) + from_f8(above, type)) / 2;
    return sign | (size > middle || (size == middle && below % 2) ? above : below);
}

static double load_real(const char *at, enum sim_nccl_type type)
{
    uint16_t half;
    float single;
    double value;

    switch (type) {
    case NCCL_FLOAT8_E4M3:
    case NCCL_FLOAT8_E5M2:
        return from_f8((uint8_t)*at, type);
    case NCCL_FLOAT16:
        memcpy(&half, at, sizeof half);
        return from_half(half);
    case NCCL_BFLOAT16: {
        uint32_t bits;

        memcpy(&half, at, sizeof half);
        bits = (uint32_t)half << 16;
        memcpy(&single, &bits, sizeof single);
        return single;
    }
    case NCCL_FLOAT32:
        memcpy(&single, at, sizeof single);
        return single;
    default:
        memcpy(&value, at, sizeof value);
        return value;
    }
}

static void store_real(char *at, enum sim_nccl_type type, double value)
{
    float single = (float)value;
    uint16_t half;
    uint32_t bits;

    switch (type) {
    case NCCL_FLOAT8_E4M3:
    case NCCL_FLOAT8_E5M2:
        *at = (char)to_f8(value, type);
        break;
    case NCCL_FLOAT16:
        half = to_half(single);
        memcpy(at, &half, sizeof half);
        break;
    case NCCL_BFLOAT16:
        memcpy(&bits, &single, sizeof bits);
        bits += (bits & 0x7f800000) == 0x7f800000 ? 0 : 0x7fff + (bits >> 16 & 1);
        half = (uint16_t)(bits >> 16);
        memcpy(at, &half, sizeof half);
        break;
    case NCCL_FLOAT32:
        memcpy(at, &single, sizeof single);
        break;
    default:
        memcpy(at, &value, sizeof value);
        break;
    }
}

static int64_t load_integer(const char *at, enum sim_nccl_type type)
{
    int64_t value = 0;
    size_t bytes = types[type].bytes;
    bool is_signed = type == NCCL_INT8 || type == NCCL_INT32;

    memcpy(&value, at, bytes);
    if (is_signed) {
        int shift = 64 - 8 * (int)bytes;

        value = (int64_t)((uint64_t)value << shift) >> shift;
    }
    return value;
}

static double combine_real(double a, double b, int op)
{
    switch (op) {
    case NCCL_PROD:
        return a * b;
    case NCCL_MAX:
        return a > b ? a : b;
    case NCCL_MIN:
        return a < b ? a : b;
    default:
        return a + b;
    }
}

/* Sums and products give the same bits for unsigned and signed numbers. Comparisons depend on the
 * sign. */
static int64_t combine_integer(int64_t a, int64_t b, int op, bool is_unsigned)
{
    bool less = is_unsigned ? (uint64_t)a < (uint64_t)b : a < b;

    switch (op) {
    case NCCL_PROD:
        return (int64_t)((uint64_t)a * (uint64_t)b);
    case NCCL_MAX:
        return less ? b : a;
    case NCCL_MIN:
        return less ? a : b;
    default:
        return (int64_t)((uint64_t)a + (uint64_t)b);
    }
}

static void reduce_reals(char *out, const char *const *in, int n, size_t count,
                         enum sim_nccl_type type, int op, double factor)
{
    size_t bytes = types[type].bytes;

    for (size_t i = 0; i < count; i++) {
        double value = load_real(in[0] + i * bytes, type) * factor;

        for (int r = 1; r < n; r++) {
            value = combine_real(value, load_real(in[r] + i * bytes, type) * factor, op);
        }
        store_real(out + i * bytes, type, op == NCCL_AVG ? value / n : value);
    }
}

static void reduce_integers(char *out, const char *const *in, int n, size_t count,
                            enum sim_nccl_type type, int op)
{
    size_t bytes = types[type].bytes;
    bool is_unsigned = type == NCCL_UINT8 || type == NCCL_UINT32 || type == NCCL_UINT64;

    for (size_t i = 0; i < count; i++) {
        int64_t value = load_integer(in[0] + i * bytes, type);

        for (int r = 1; r < n; r++) {
            value = combine_integer(value, load_integer(in[r] + i * bytes, type), op, is_unsigned);
        }
        value = op == NCCL_AVG ? value / n : value;
        memcpy(out + i * bytes, &value, bytes);
    }
}

void sim_nccl_reduce(void *out, const char *const *in, int n, size_t count, enum sim_nccl_type type,
                     int op, double factor)
{
    if (type >= NCCL_FLOAT16) {
        reduce_reals(out, in, n, count, type, op, factor);
    } else {
        reduce_integers(out, in, n, count, type, op);
    }
}
