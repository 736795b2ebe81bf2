/* op_inputs_test.c - converts an operator's inputs, which the observer encodes as bytes, to the
 * text that torch.profiler writes. At an invalid byte, the list of inputs ends. */
#include "unit/test.h"

#include <stdio.h>
#include <string.h>

#include "event/op_inputs_format.h"
#include "write/op_inputs.h"

static void expect(const uint8_t *inputs, size_t length, const char *wanted)
{
    char text[4096];
    char *end = sl_op_inputs_put(text, inputs, length);

    *end = '\0';
    assert_string_equal(text, wanted);
}

static void as_torch_profiler_has_them(void **state)
{
    /* The inputs of aten::add(float [2, 300], [[long [], none]], 3, [1, -1], None). */
    const uint8_t inputs[] = {SL_OP_INPUT_TENSOR,
                              6,
                              2,
                              2,
                              0xac,
                              2,
                              0xac,
                              2,
                              1,
                              SL_OP_INPUT_TENSORS,
                              2,
                              SL_OP_INPUT_TENSOR,
                              4,
                              0,
                              SL_OP_INPUT_OTHER,
                              SL_OP_INPUT_INT,
                              6,
                              SL_OP_INPUT_SCALARS,
                              2,
                              SL_OP_INPUT_INT,
                              2,
                              SL_OP_INPUT_INT,
                              1,
                              SL_OP_INPUT_OTHER,
                              SL_OP_INPUT_TRUE};

    expect(inputs, sizeof(inputs),
           "\"Input Dims\":[[2,300],[[],[]],[],[],[],[]],"
           "\"Input type\":[\"float\",\"TensorList\",\"Scalar\",\"ScalarList\",\"\",\"Scalar\"],"
           "\"Input Strides\":[[300,1],[[],[]],[],[],[],[]],"
           "\"Concrete Inputs\":[\"\",\"\",\"3\",\"[1, -1]\",\"\",\"True\"]");
    expect(inputs, 0, "");
}

static void numbers(void **state)
{
    static const struct {
        double value;
        const char *text;
    } some[] = {{1, "1."},          {0.1, "0.10000000000000001"},
                {-3e-9, "-3e-09"},  {1e10, "10000000000."},
                {1.0 / 0.0, "inf"}, {-2.5, "-2.5"}};
    char wanted[512];
    uint8_t input[9] = {SL_OP_INPUT_DOUBLE};

    for (size_t i = 0; i < sizeof(some) / sizeof(*some); i++) {
        memcpy(input + 1, &some[i].value, 8);
        snprintf(wanted, sizeof(wanted),
                 "\"Input Dims\":[[]],\"Input type\":[\"Scalar\"],\"Input Strides\":[[]],"
                 "\"Concrete Inputs\":[\"%s\"]",
                 some[i].text);
        expect(input, sizeof(input), wanted);
    }
}

/* The bytes are random. The conversion ends, and its result is not longer than the documented
 * limit. */
static void any_bytes(void **state)
{
    uint8_t input[64];
    char text[64 * SL_OP_INPUTS_PER_BYTE + SL_OP_INPUTS_MORE];
    uint32_t random = 1;

    for (int round = 0; round < 20000; round++) {
        size_t length = (size_t)round % sizeof(input);

        for (size_t i = 0; i < length; i++) {
            random = random * 1664525 + 1013904223;
            input[i] = (uint8_t)(random >> 24) % (round % 2 ? 12 : 255);
        }
        assert_true(sl_op_inputs_put(text, input, length) <= text + sizeof(text));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(as_torch_profiler_has_them),
        cmocka_unit_test(numbers),
        cmocka_unit_test(any_bytes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
