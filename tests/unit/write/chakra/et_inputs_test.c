/* et_inputs_test.c - writes an operator's inputs to Chakra's Node. The expected bytes were written
 * by hand from the field numbers: Node.inputs = 8, IOInfo.values, shapes, types = 1, 2, 3. */
#include "unit/test.h"

#include <string.h>

#include "event/op_detail.h"
#include "event/op_inputs_format.h"
#include "write/chakra/et_inputs.h"

static struct sl_intern *details;
static struct sl_et_inputs *inputs;
static char out[SL_ET_INPUTS_MOST];

static int set_up(void **state)
{
    assert_int_equal(sl_intern_create(&details, 1 << 20), 0);
    return sl_et_inputs_create(&inputs, details);
}

static int tear_down(void **state)
{
    sl_et_inputs_destroy(inputs);
    sl_intern_destroy(details);
    return 0;
}

static uint32_t detail_of(const uint8_t *bytes, size_t length)
{
    const struct sl_op_detail d = {.inputs = bytes, .inputs_length = length};
    char text[4096];

    return sl_intern_put(details, text, sl_op_detail_pack(text, &d));
}

static size_t find(enum sl_event_kind kind, uint32_t detail)
{
    const struct sl_event op = {.kind = (uint8_t)kind, .inputs = detail};

    memset(out, 0, sizeof(out));
    return sl_et_inputs_find(inputs, &op, out, sizeof(out));
}

/* A float tensor of 2 x 3, and True. */
static const uint8_t two[] = {SL_OP_INPUT_LAYOUT, 6, 2, 2, 3, SL_OP_INPUT_TRUE};

/* Field 8 is length-delimited; fields 1, 2 and 3 follow. */
static const char two_bytes[] = "\x42\x2d"
                                "\x0a\x0b[\"\",\"True\"]"
                                "\x12\x0a[[2,3],[]]"
                                "\x1a\x12[\"float\",\"Scalar\"]";

static void each_list_is_a_field(void **state)
{
    assert_int_equal(find(SL_EV_CPU_OP, detail_of(two, sizeof(two))), sizeof(two_bytes) - 1);
    assert_memory_equal(out, two_bytes, sizeof(two_bytes) - 1);
}

static void what_is_kept_is_that_operators(void **state)
{
    static const uint8_t one[] = {SL_OP_INPUT_FALSE};
    uint32_t first = detail_of(two, sizeof(two)), other;

    /* Two different inputs share a slot of the cache. Both are converted correctly, one after the
     * other, twice. */
    for (int round = 0; round < 2; round++) {
        assert_int_equal(find(SL_EV_CPU_OP, first), sizeof(two_bytes) - 1);
        assert_memory_equal(out, two_bytes, sizeof(two_bytes) - 1);
        do {
            uint8_t number[] = {SL_OP_INPUT_INT, (uint8_t)(sl_intern_count(details) & 0x7f),
                                SL_OP_INPUT_INT, (uint8_t)(sl_intern_count(details) >> 7)};

            other = detail_of(number, sizeof(number));
        } while (other % 256 != first % 256);
        assert_true(find(SL_EV_CPU_OP, other) > 0);
        assert_non_null(memmem(out, sizeof(out), "Scalar\",\"Scalar", 15));
    }
    assert_int_equal(find(SL_EV_CPU_OP, detail_of(one, sizeof(one))), 31);
}

static void nothing_where_nothing_is_known(void **state)
{
    static const uint8_t senseless[] = {0x77, 0x77};

    assert_int_equal(find(SL_EV_CPU_OP, 0), 0);
    assert_int_equal(find(SL_EV_CPU_OP, 99), 0);
    assert_int_equal(find(SL_EV_CPU_OP, detail_of(NULL, 0)), 0);
    assert_int_equal(find(SL_EV_RANGE, detail_of(two, sizeof(two))), 0);
    find(SL_EV_CPU_OP, detail_of(senseless, sizeof(senseless)));
    assert_null(memmem(out, sizeof(out), "\x77", 1));
}

static void long_lists_are_left_out(void **state)
{
    static char text[SL_ET_INPUTS_LIST_MOST + 1];
    struct sl_et_inputs_list fits = {text, SL_ET_INPUTS_LIST_MOST}, none = {NULL, 0};
    struct sl_et_inputs_list longer = {text, sizeof(text)};

    memset(text, 'x', sizeof(text));
    assert_int_equal(sl_et_inputs_put(out, longer, none, longer), 0);
    assert_int_equal(sl_et_inputs_put(out, fits, none, longer), SL_ET_INPUTS_LIST_MOST + 6);
    assert_true(sl_et_inputs_put(out, fits, fits, fits) <= SL_ET_INPUTS_MOST);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(each_list_is_a_field, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_is_kept_is_that_operators, set_up, tear_down),
        cmocka_unit_test_setup_teardown(nothing_where_nothing_is_known, set_up, tear_down),
        cmocka_unit_test(long_lists_are_left_out)};

    return cmocka_run_group_tests_name("et_inputs", tests, NULL, NULL);
}
