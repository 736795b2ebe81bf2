/*
 * op_inputs.c - writes an operator's inputs as the four JSON members that torch.profiler writes.
 *
 * For each of the four lists, the code reads all inputs once. Pure functions.
 */
#include "write/op_inputs.h"

#include <math.h>
#include <string.h>

#include "base/json.h"
#include "event/op_inputs_format.h"

/* The names that torch.profiler writes for element types. The index is an at::ScalarType. */
static const char *const type_name[] = {
    "unsigned char",
    "signed char",
    "short int",
    "int",
    "long int",
    "c10::Half",
    "float",
    "double",
    "c10::complex<c10::Half>",
    "c10::complex<float>",
    "c10::complex<double>",
    "bool",
    "c10::qint8",
    "c10::quint8",
    "c10::qint32",
    "c10::BFloat16",
    "c10::quint4x2",
    "c10::quint2x4",
    "c10::bits1x8",
    "c10::bits2x4",
    "c10::bits4x2",
    "c10::bits8",
    "c10::bits16",
    "c10::Float8_e5m2",
    "c10::Float8_e4m3fn",
    "c10::Float8_e5m2fnuz",
    "c10::Float8_e4m3fnuz",
    "short unsigned int",
    "unsigned int",
    "long unsigned int",
    "c10::dummy_uint1_7_t<1>",
    "c10::dummy_uint1_7_t<2>",
    "c10::dummy_uint1_7_t<3>",
    "c10::dummy_uint1_7_t<4>",
    "c10::dummy_uint1_7_t<5>",
    "c10::dummy_uint1_7_t<6>",
    "c10::dummy_uint1_7_t<7>",
    "c10::dummy_int1_7_t<1>",
    "c10::dummy_int1_7_t<2>",
    "c10::dummy_int1_7_t<3>",
    "c10::dummy_int1_7_t<4>",
    "c10::dummy_int1_7_t<5>",
    "c10::dummy_int1_7_t<6>",
    "c10::dummy_int1_7_t<7>",
    "c10::Float8_e8m0fnu",
    "c10::Float4_e2m1fn_x2",
};

/* The bytes of the inputs that were not read yet. `bad` is set if the bytes are not valid. */
struct reader {
    const uint8_t *at, *end;
    int bad;
};

static uint8_t take_byte(struct reader *r)
{
    if (r->at < r->end)
        return *r->at++;
    r->bad = 1;
    return 0;
}

static uint64_t take_number(struct reader *r)
{
    uint64_t value = 0;
    uint8_t byte;

    for (unsigned shift = 0; shift < 64; shift += 7) {
        byte = take_byte(r);
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80))
            return value;
    }
    r->bad = 1;
    return 0;
}

static double take_double(struct reader *r)
{
    double value = 0;

    if (r->end - r->at < (ptrdiff_t)sizeof(value)) {
        r->bad = 1;
        return 0;
    }
    memcpy(&value, r->at, sizeof(value));
    r->at += sizeof(value);
    return value;
}

/* ---- one input ---- */

/* "1.", "0.10000000000000001", "1e-09", "inf" */
static char *put_double(char *at, double v)
{
    const double whole_most = 9e18;

    if (isnan(v))
        return SL_JSON_LITERAL(at, "nan");
    if (isinf(v))
        return v < 0 ? SL_JSON_LITERAL(at, "-inf") : SL_JSON_LITERAL(at, "inf");
    if (fabs(v) < whole_most && v == (double)(int64_t)v)
        return SL_JSON_LITERAL(sl_json_i64(at, (int64_t)v), ".");
    return sl_json_digits(at, v, 17);
}

static char *put_scalar(char *at, struct reader *r, uint8_t kind)
{
    uint64_t number;
    double imaginary;

    switch (kind) {
    case SL_OP_INPUT_INT:
        number = take_number(r);
        return sl_json_i64(at, (int64_t)(number >> 1) ^ -(int64_t)(number & 1));
    case SL_OP_INPUT_DOUBLE:
        return put_double(at, take_double(r));
    case SL_OP_INPUT_COMPLEX:
        at = put_double(at, take_double(r));
        imaginary = take_double(r);
        if (!(imaginary < 0))
            *at++ = '+';
        return SL_JSON_LITERAL(put_double(at, imaginary), "j");
    case SL_OP_INPUT_FALSE:
        return SL_JSON_LITERAL(at, "False");
    case SL_OP_INPUT_TRUE:
        return SL_JSON_LITERAL(at, "True");
    default:
        r->bad |= kind != SL_OP_INPUT_SYMBOL;
        return at;
    }
}

static char *put_scalars(char *at, struct reader *r)
{
    uint64_t count = take_number(r);

    r->bad |= count > SL_OP_INPUT_LIST_MOST;
    *at++ = '[';
    for (uint64_t i = 0; i < count && !r->bad; i++) {
        if (i)
            at = SL_JSON_LITERAL(at, ", ");
        at = put_scalar(at, r, take_byte(r));
    }
    *at++ = ']';
    return at;
}

/* Writes sizes or strides if `wanted`; otherwise skips them. */
static char *put_sizes(char *at, struct reader *r, uint64_t count, int wanted)
{
    for (uint64_t i = 0; i < count && !r->bad; i++) {
        uint64_t size = take_number(r);

        if (!wanted)
            continue;
        if (i)
            *at++ = ',';
        at = sl_json_u64(at, size);
    }
    return at;
}

/* Writes a tensor without brackets, and the tensor's at::ScalarType to *type. The caller has
 * already read the byte with the item's kind. */
static char *put_tensor(char *at, struct reader *r, uint8_t kind, enum sl_op_inputs_list list,
                        uint8_t *type)
{
    uint64_t dimensions;

    *type = take_byte(r);
    dimensions = take_number(r);
    at = put_sizes(at, r, dimensions, list == SL_OP_INPUTS_DIMS);
    if (kind == SL_OP_INPUT_TENSOR)
        at = put_sizes(at, r, dimensions, list == SL_OP_INPUTS_STRIDES);
    return at;
}

static char *put_type(char *at, uint8_t type)
{
    const char *name = type < sizeof(type_name) / sizeof(*type_name) ? type_name[type] : "unknown";

    return sl_json_raw(at, name, strlen(name));
}

static char *put_tensors(char *at, struct reader *r, enum sl_op_inputs_list list)
{
    uint64_t count = take_number(r);
    uint8_t kind, type;

    for (uint64_t i = 0; count <= SL_OP_INPUT_LIST_MOST && i < count && !r->bad; i++) {
        kind = take_byte(r);
        r->bad |= kind > SL_OP_INPUT_LAYOUT;
        if (list == SL_OP_INPUTS_DIMS || list == SL_OP_INPUTS_STRIDES) {
            if (i)
                *at++ = ',';
            *at++ = '[';
        }
        if (kind != SL_OP_INPUT_OTHER)
            at = put_tensor(at, r, kind, list, &type);
        if (list == SL_OP_INPUTS_DIMS || list == SL_OP_INPUTS_STRIDES)
            *at++ = ']';
    }
    return list == SL_OP_INPUTS_TYPES ? SL_JSON_LITERAL(at, "TensorList") : at;
}

static char *put_input(char *at, struct reader *r, enum sl_op_inputs_list list)
{
    uint8_t kind = take_byte(r), type;
    char *from = at;

    switch (kind) {
    case SL_OP_INPUT_OTHER:
        return at;
    case SL_OP_INPUT_TENSOR:
    case SL_OP_INPUT_LAYOUT:
        at = put_tensor(at, r, kind, list, &type);
        return list == SL_OP_INPUTS_TYPES ? put_type(at, type) : at;
    case SL_OP_INPUT_TENSORS:
        return put_tensors(at, r, list);
    case SL_OP_INPUT_SCALARS:
        at = put_scalars(at, r);
        break;
    default:
        at = put_scalar(at, r, kind);
        break;
    }
    if (list == SL_OP_INPUTS_VALUES)
        return at;
    at = from;
    if (list == SL_OP_INPUTS_TYPES)
        at = kind == SL_OP_INPUT_SCALARS ? SL_JSON_LITERAL(at, "ScalarList")
                                         : SL_JSON_LITERAL(at, "Scalar");
    return at;
}

char *sl_op_inputs_put_list(char *at, const uint8_t *inputs, size_t length,
                            enum sl_op_inputs_list list)
{
    struct reader r = {inputs, inputs + length, 0};
    int is_text = list == SL_OP_INPUTS_TYPES || list == SL_OP_INPUTS_VALUES;
    char *from;

    *at++ = '[';
    while (r.at < r.end) {
        from = at;
        if (r.at != inputs)
            *at++ = ',';
        *at++ = is_text ? '"' : '[';
        at = put_input(at, &r, list);
        *at++ = is_text ? '"' : ']';
        if (r.bad) {
            at = from;
            break;
        }
    }
    *at++ = ']';
    return at;
}

char *sl_op_inputs_put(char *at, const uint8_t *inputs, size_t length)
{
    if (length == 0)
        return at;
    at = sl_op_inputs_put_list(SL_JSON_LITERAL(at, "\"Input Dims\":"), inputs, length,
                               SL_OP_INPUTS_DIMS);
    at = sl_op_inputs_put_list(SL_JSON_LITERAL(at, ",\"Input type\":"), inputs, length,
                               SL_OP_INPUTS_TYPES);
    at = sl_op_inputs_put_list(SL_JSON_LITERAL(at, ",\"Input Strides\":"), inputs, length,
                               SL_OP_INPUTS_STRIDES);
    return sl_op_inputs_put_list(SL_JSON_LITERAL(at, ",\"Concrete Inputs\":"), inputs, length,
                                 SL_OP_INPUTS_VALUES);
}
