/* comm_test.c - collectives as ASTRA-sim takes them, and the comm-group file. */
#include "unit/test.h"

#include "unit/write/chakra/fixture.h"

#define NCCL "ncclDevKernel_AllReduce_Sum_f32_RING_LL"

static void test_collective_has_type_size_and_group(void **state)
{
    static const uint32_t rank[] = {0, 1, 5};
    struct dom_node *n;

    assert_int_equal(sl_chakra_group(f.chakra, 4, rank, 3), 0);
    f.collective = (struct sl_collective){SL_COLLECTIVE_REDUCE_SCATTER, 4096, 4, 2};
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

static void test_group_file(void **state)
{
    static const uint32_t first[] = {0, 1}, second[] = {2, 3, 4};
    struct sl_sink *sink;
    const void *data;
    size_t size;

    assert_int_equal(sl_chakra_group(f.chakra, 0, first, 2), -EINVAL);
    assert_int_equal(sl_chakra_group(f.chakra, 1, first, 2), 0);
    assert_int_equal(sl_chakra_group(f.chakra, 2, second, 3), 0);
    assert_int_equal(sl_chakra_group(f.chakra, 2, first, 2), 0); /* the first telling counts */
    assert_int_equal(sl_chakra_group(f.chakra, 3, first, SIZE_MAX / 4), -ENOSPC);
    assert_int_equal(sl_sink_memory_open(&sink), 0);
    assert_int_equal(sl_chakra_put_groups(f.chakra, sink), 0);
    sl_sink_memory_get(sink, &data, &size);
    assert_int_equal(size, strlen("{\"2\": [2, 3, 4], \"1\": [0, 1]}\n"));
    assert_memory_equal(data, "{\"2\": [2, 3, 4], \"1\": [0, 1]}\n", size);
    sink->close(sink, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CHAKRA_TEST(test_collective_has_type_size_and_group),
        CHAKRA_TEST(test_group_file),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
