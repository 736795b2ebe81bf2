/* comm_test.c - writes a collective in the form that ASTRA-sim reads. */
#include "unit/test.h"

#include "unit/write/chakra/fixture.h"

#define NCCL "ncclDevKernel_AllReduce_Sum_f32_RING_LL"

static void test_collective_has_type_size_and_group(void **state)
{
    struct dom_node *n;

    f.collective = (struct sl_collective){SL_COLLECTIVE_REDUCE_SCATTER, 4096, 4, 2, 1, 0, 4096};
    kernel(7, 17, 30, 1, NCCL);
    n = dom_find(read_back(), NCCL);
    assert_int_equal(n->type, 7);
    assert_int_equal(dom_number(n, "comm_type"), 7);
    assert_int_equal(dom_attr(n, "comm_type")->field, 9);
    assert_int_equal(dom_number(n, "comm_size"), 4096);
    assert_int_equal(dom_attr(n, "comm_size")->field, 9);
    assert_string_equal(dom_attr(n, "pg_name")->text, "4");
    assert_int_equal(dom_number(n, "is_cpu_op"), 0);
    assert_int_equal(counts().comm_nodes, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CHAKRA_TEST(test_collective_has_type_size_and_group),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
