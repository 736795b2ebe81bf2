/* wire_test.c - writes the examples in the specification of protobuf's wire format. */
#include "unit/test.h"

#include "write/chakra/wire.h"

static void test_varints(void **state)
{
    static const struct {
        uint64_t value;
        const char *bytes;
        size_t size;
    } sample[] = {
        {0, "\x00", 1},
        {127, "\x7f", 1},
        {128, "\x80\x01", 2},
        {150, "\x96\x01", 2},
        {16383, "\xff\x7f", 2},
        {16384, "\x80\x80\x01", 3},
        {UINT64_MAX >> 1, "\xff\xff\xff\xff\xff\xff\xff\xff\x7f", 9},
        {UINT64_MAX, "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 10},
    };
    char out[SL_WIRE_VARINT_MAX];

    for (size_t i = 0; i < sizeof(sample) / sizeof(sample[0]); i++) {
        assert_ptr_equal(sl_wire_varint(out, sample[i].value), out + sample[i].size);
        assert_memory_equal(out, sample[i].bytes, sample[i].size);
        assert_int_equal(sl_wire_varint_size(sample[i].value), sample[i].size);
    }
}

static void test_fields(void **state)
{
    char out[16];

    assert_ptr_equal(sl_wire_u64(out, 1, 150), out + 3);
    assert_memory_equal(out, "\x08\x96\x01", 3);
    assert_ptr_equal(sl_wire_bytes(out, 2, "testing", 7), out + 9);
    assert_memory_equal(out, "\x12\x07testing", 9);
    assert_ptr_equal(sl_wire_u64(out, 27, 1), out + 3);
    assert_memory_equal(out, "\xd8\x01\x01", 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_varints),
        cmocka_unit_test(test_fields),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
