/* layout_test.c - an NVTX payload schema has no offsets, so syncline computes the offsets that a
 * compiler gives the fields of the struct. Schemas that refer to other schemas are resolved. */
#include <string.h>

#include "collect/nvtx/layout.h"
#include "unit/collect/nvtx/schemas.h"

/* The payload of the test, and the number of bytes that its fields may still read. */
static unsigned left;
static nvtxPayloadData_t data[4];

static struct sl_nvtx_blob blob(uint64_t schema, const void *bytes, size_t size)
{
    left = SL_NVTX_PAYLOAD_STEPS;
    data[0] = (nvtxPayloadData_t){schema, size, bytes};
    return sl_nvtx_blob(0, data, 4, 0, &left);
}

static size_t offset_of(uint64_t schema, size_t i)
{
    static const char zeros[256];
    const struct sl_nvtx_blob b = blob(schema, zeros, sizeof(zeros));

    return sl_nvtx_layout_offset(&b, sl_nvtx_schema_find(0, schema), i);
}

static int integer(uint64_t schema, const void *bytes, size_t size, size_t i, int64_t *out)
{
    const struct sl_nvtx_blob b = blob(schema, bytes, size);

    return sl_nvtx_layout_integer(&b, sl_nvtx_schema_find(0, schema), i, out);
}

/* ---- positions ---- */

static void fields_stand_where_the_compiler_puts_them(void **state)
{
    struct plain {
        uint8_t a;
        uint16_t b[3];
        uint8_t c;
        double d;
        char e[5];
        const char *f;
        uint8_t g;
        __int128 h;
    };
    struct sl_nvtx_field fields[] = {
        {.type = TYPE(UINT8)},
        {.type = TYPE(UINT16), .flags = FLAG(ARRAY_FIXED_SIZE), .detail = 3},
        {.type = TYPE(UINT8)},
        {.type = TYPE(DOUBLE)},
        {.type = TYPE(CSTRING), .detail = 5},
        {.type = TYPE(CSTRING)},
        {.type = TYPE(UINT8), .flags = FLAG(HIDE)},
        {.type = TYPE(INT128)},
    };
    const size_t places[] = {offsetof(struct plain, a), offsetof(struct plain, b),
                             offsetof(struct plain, c), offsetof(struct plain, d),
                             offsetof(struct plain, e), offsetof(struct plain, f),
                             offsetof(struct plain, g), offsetof(struct plain, h)};
    uint64_t schema = add(fields, 8, sizeof(struct plain));

    for (size_t i = 0; i < 8; i++)
        assert_int_equal(offset_of(schema, i), places[i]);
}

static void packed_fields_stand_closer(void **state)
{
    struct __attribute__((packed, aligned(2))) packed {
        uint8_t a;
        uint64_t b __attribute__((aligned(2)));
        uint8_t c;
        uint32_t d __attribute__((aligned(2)));
    };
    struct sl_nvtx_field fields[] = {{.type = TYPE(UINT8)},
                                     {.type = TYPE(UINT64)},
                                     {.type = TYPE(UINT8)},
                                     {.type = TYPE(UINT32)}};
    uint64_t schema = add_packed(SL_NVTX_STRUCT, fields, 4, sizeof(struct packed), 2);

    assert_int_equal(offset_of(schema, 1), offsetof(struct packed, b));
    assert_int_equal(offset_of(schema, 2), offsetof(struct packed, c));
    assert_int_equal(offset_of(schema, 3), offsetof(struct packed, d));
}

/* Returns the offset of a field of this type that follows a field of one byte. */
static size_t behind_a_byte(uint64_t type)
{
    struct sl_nvtx_field fields[] = {{.type = TYPE(UINT8)}, {.type = type}};

    return offset_of(add(fields, 2, 128), 1);
}

static void a_struct_stands_as_what_is_in_it(void **state)
{
    struct sl_nvtx_field wide[] = {{.type = TYPE(UINT8)}, {.type = TYPE(UINT64)}};
    struct sl_nvtx_field narrow[] = {{.type = TYPE(UINT8)}, {.type = TYPE(UINT16)}};
    struct sl_nvtx_field text[] = {{.type = TYPE(CSTRING), .detail = 5}};
    struct sl_nvtx_field wide_text[] = {{.type = TYPE(CSTRING_UTF16), .detail = 5}};
    struct sl_nvtx_field pointer[] = {{.type = TYPE(UINT8), .flags = FLAG(POINTER)}};
    struct sl_nvtx_field again[] = {{.type = TYPE(UINT8)}, {.type = 0}};

    assert_int_equal(behind_a_byte(add(narrow, 2, 4)), 2);
    assert_int_equal(behind_a_byte(add(wide, 2, 16)), 8);
    assert_int_equal(behind_a_byte(add(text, 1, 5)), 1);
    assert_int_equal(behind_a_byte(add(wide_text, 1, 10)), 2);
    assert_int_equal(behind_a_byte(add(pointer, 1, 8)), 8);
    assert_int_equal(behind_a_byte(add_packed(SL_NVTX_STRUCT, wide, 2, 9, 1)), 1);
    assert_int_equal(behind_a_byte(add_packed(SL_NVTX_STRUCT, wide, 2, 12, 4)), 4);
    /* A struct contains other structs. */
    again[1].type = add(wide, 2, 16);
    assert_int_equal(behind_a_byte(add(again, 2, 24)), 8);
    again[1].type = add(text, 1, 5);
    assert_int_equal(behind_a_byte(add(again, 2, 6)), 1);
}

static void an_enum_stands_as_an_integer_of_its_size(void **state)
{
    for (size_t size = 1; size <= 8; size *= 2)
        assert_int_equal(behind_a_byte(add_packed(SL_NVTX_ENUM, NULL, 0, size, 0)), size);
}

/* One schema contains itself. In a chain of other schemas, each contains the next schema 64 times.
 * In both cases the computation ends. */
static void schemas_without_end_end(void **state)
{
    struct sl_nvtx_field itself[] = {{.type = 1u << 24}};
    const struct sl_nvtx_schema s = {
        .id = 1u << 24, .kind = SL_NVTX_STRUCT, .fields = 1, .size = 8};
    struct sl_nvtx_field many[64];
    uint64_t schema;

    assert_int_equal(sl_nvtx_schema_add(&s, fill, itself), 1u << 24);
    assert_int_equal(offset_of(1u << 24, 0), 0);
    for (size_t i = 0; i < 64; i++)
        many[i] = (struct sl_nvtx_field){.type = TYPE(UINT8)};
    schema = add(many, 64, 1);
    for (unsigned level = 0; level < 12; level++) {
        for (size_t i = 0; i < 64; i++)
            many[i].type = schema;
        schema = add(many, 64, 1);
    }
    assert_true(offset_of(schema, 63) <= 63 || offset_of(schema, 63) == SIZE_MAX);
}

/* ---- values outside of the payload ---- */

static void an_integer_behind_a_pointer(void **state)
{
    const int32_t value = -7;
    const struct {
        const int32_t *by_pointer;
        uint64_t from_base, from_here;
        int16_t there;
    } bytes = {&value, 24, 0, -9};
    const struct {
        const int32_t *by_pointer;
        uint64_t from_base, from_here;
        int16_t there;
    } nowhere = {NULL, 25, 2, 0};
    struct sl_nvtx_field fields[] = {
        {.type = TYPE(INT32), .flags = FLAG(POINTER)},
        {.type = TYPE(INT16), .flags = FLAG(OFFSET_FROM_BASE)},
        {.type = TYPE(INT16), .flags = FLAG(OFFSET_FROM_HERE)},
    };
    uint64_t schema = add(fields, 3, 26);
    int64_t got;

    for (size_t i = 0; i < 3; i++) {
        got = 0;
        assert_int_equal(integer(schema, &bytes, 26, i, &got), 1);
        assert_int_equal(got, i == 0 ? -7 : -9);
        assert_int_equal(integer(schema, &nowhere, 26, i, &got), 0);
    }
}

/* ---- lengths of arrays that another field gives ---- */

static size_t count_of(uint64_t schema, const void *bytes, size_t size, size_t i)
{
    const struct sl_nvtx_schema *s = sl_nvtx_schema_find(0, schema);
    const struct sl_nvtx_blob b = blob(schema, bytes, size);
    size_t offset = sl_nvtx_layout_offset(&b, s, i);

    return sl_nvtx_layout_count(&b, s, sl_nvtx_schema_field(s, i), b.data + offset,
                                b.size - offset);
}

static void lengths_that_are_told(void **state)
{
    const struct {
        int32_t length;
        uint16_t item[4];
    } three = {3, {1, 2, 0, 4}}, negative = {-1, {0}};
    struct sl_nvtx_field fields[] = {
        {.type = TYPE(INT32)},
        {.type = TYPE(UINT16), .flags = FLAG(ARRAY_LENGTH_INDEX), .detail = 0},
        {.type = TYPE(UINT16), .flags = FLAG(ARRAY_LENGTH_INDEX), .detail = 2},
        {.type = TYPE(UINT16), .flags = FLAG(ARRAY_LENGTH_INDEX), .detail = 9},
        {.type = TYPE(UINT16), .flags = FLAG(ARRAY_ZERO_TERMINATED), .offset = 4},
        {.type = TYPE(UINT16), .flags = FLAG(ARRAY_LENGTH_PAYLOAD_INDEX), .detail = 1, .offset = 4},
        {.type = TYPE(UINT16), .flags = FLAG(ARRAY_LENGTH_PAYLOAD_INDEX), .detail = 4, .offset = 4},
    };
    const int16_t five = 5;
    uint64_t schema = add(fields, 7, 0);

    data[1] = (nvtxPayloadData_t){TYPE(INT16), 2, &five};
    assert_int_equal(count_of(schema, &three, 12, 1), 3);
    assert_int_equal(count_of(schema, &negative, 12, 1), 0);
    assert_int_equal(count_of(schema, &three, 12, 2), 0); /* the field refers to itself */
    assert_int_equal(count_of(schema, &three, 12, 3), 0); /* the field does not exist */
    assert_int_equal(count_of(schema, &three, 12, 4), 2);
    assert_int_equal(count_of(schema, &three, 8, 4), 2); /* the payload ends before this field */
    assert_int_equal(count_of(schema, &three, 12, 5), 5);
    data[1].size = 1;
    assert_int_equal(count_of(schema, &three, 12, 5), 0);
    data[1] = (nvtxPayloadData_t){TYPE(INT16), 2, NULL};
    assert_int_equal(count_of(schema, &three, 12, 5), 0);
    assert_int_equal(count_of(schema, &three, 12, 6), 0); /* the payload does not exist */
}

static void a_size_that_is_not_told_is_the_schema_s(void **state)
{
    struct sl_nvtx_field fields[] = {{.type = TYPE(UINT32)}};
    const char bytes[64] = "";

    assert_int_equal(blob(add(fields, 1, 24), bytes, SIZE_MAX).size, 24);
    assert_int_equal(blob(TYPE(INT16), bytes, SIZE_MAX).size, 2);
    assert_int_equal(blob(12345, bytes, SIZE_MAX).size, 0);
    assert_int_equal(blob(add(fields, 1, 24), bytes, 5).size, 5);
}

static size_t size_of(uint64_t schema)
{
    const char none[1] = "";
    const struct sl_nvtx_blob b = blob(schema, none, 1);

    return sl_nvtx_layout_size(&b, schema);
}

/* If a schema states no size, syncline uses the size that a compiler gives the struct. */
static void a_schema_s_size_is_the_compiler_s(void **state)
{
    struct inner {
        char c;
        double d;
        uint16_t three[3];
    };
    struct outer {
        char c;
        struct inner two[2];
        char text[5];
        const char *pointer;
        char last;
    };
    struct sl_nvtx_field inner_fields[] = {
        {.type = TYPE(CHAR)},
        {.type = TYPE(DOUBLE)},
        {.type = TYPE(UINT16), .flags = FLAG(ARRAY_FIXED_SIZE), .detail = 3}};
    uint64_t inner = add(inner_fields, 3, 0);
    struct sl_nvtx_field outer_fields[] = {
        {.type = TYPE(CHAR)},
        {.type = inner, .flags = FLAG(ARRAY_FIXED_SIZE), .detail = 2},
        {.type = TYPE(CSTRING), .detail = 5},
        {.type = TYPE(CSTRING)},
        {.type = TYPE(CHAR)}};
    struct sl_nvtx_field union_fields[] = {{.type = TYPE(UINT32)}, {.type = inner}};
    struct sl_nvtx_field open_fields[] = {{.type = TYPE(UINT32)},
                                          {.type = TYPE(CHAR), .flags = FLAG(ARRAY_LENGTH_INDEX)}};
    uint64_t outer = add(outer_fields, 5, 0);

    assert_int_equal(size_of(inner), sizeof(struct inner));
    assert_int_equal(size_of(outer), sizeof(struct outer));
    assert_int_equal(size_of(add_packed(SL_NVTX_STRUCT, outer_fields, 5, 0, 1)),
                     1 + 2 * sizeof(struct inner) + 5 + 8 + 1);
    assert_int_equal(size_of(add_packed(SL_NVTX_UNION, union_fields, 2, 0, 0)),
                     sizeof(struct inner));
    assert_int_equal(size_of(add(open_fields, 2, 0)), 0); /* its size varies */
    assert_int_equal(size_of(add(outer_fields, 5, 96)), 96);
    assert_int_equal(offset_of(outer, 2), offsetof(struct outer, text));
    assert_int_equal(blob(outer, NULL, SIZE_MAX).size, sizeof(struct outer));
}

/* An array has several dimensions, with one length for each. */
static void a_length_of_several_numbers(void **state)
{
    struct {
        uint32_t by[3];
        uint16_t item[24];
    } cube = {.by = {2, 3, 4}}, flat = {.by = {2, 0, 4}}, vast = {.by = {~0u, ~0u, ~0u}};
    struct sl_nvtx_field fields[] = {
        {.type = TYPE(UINT32), .flags = FLAG(ARRAY_FIXED_SIZE), .detail = 3},
        {.type = TYPE(UINT16), .flags = FLAG(ARRAY_LENGTH_INDEX), .detail = 0},
    };
    uint64_t schema = add(fields, 2, 0);

    assert_int_equal(count_of(schema, &cube, sizeof(cube), 1), 24);
    assert_int_equal(count_of(schema, &flat, sizeof(flat), 1), 0);
    assert_int_equal(count_of(schema, &vast, sizeof(vast), 1), 0);
    assert_int_equal(count_of(schema, &cube, 8, 1), 0); /* the last length is missing */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fields_stand_where_the_compiler_puts_them),
        cmocka_unit_test(packed_fields_stand_closer),
        cmocka_unit_test(a_struct_stands_as_what_is_in_it),
        cmocka_unit_test(an_enum_stands_as_an_integer_of_its_size),
        cmocka_unit_test(schemas_without_end_end),
        cmocka_unit_test(an_integer_behind_a_pointer),
        cmocka_unit_test(lengths_that_are_told),
        cmocka_unit_test(a_size_that_is_not_told_is_the_schema_s),
        cmocka_unit_test(a_schema_s_size_is_the_compiler_s),
        cmocka_unit_test(a_length_of_several_numbers),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
