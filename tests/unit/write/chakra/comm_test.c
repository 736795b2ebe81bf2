/* comm_test.c - collectives in the form that ASTRA-sim reads, and the file of process groups. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "unit/write/chakra/fixture.h"

#define NCCL "ncclDevKernel_AllReduce_Sum_f32_RING_LL"

static struct dom_node *collective(enum sl_collective_type type, uint64_t bytes, uint32_t group)
{
    f.collective = (struct sl_collective){type, bytes, group, 2};
    launch(10, 10, 15, 1);
    kernel(7, 17, 30, 1, NCCL);
    return dom_find(read_back(), NCCL);
}

static void test_collective_has_type_size_and_group(void **state)
{
    static const uint32_t rank[] = {0, 1, 5};
    struct dom_node *n;

    (void)state;
    assert_int_equal(sl_chakra_group(f.chakra, 4, rank, 3), 0);
    n = collective(SL_COLLECTIVE_REDUCE_SCATTER, 4096, 4);
    assert_int_equal(n->type, 7);
    assert_int_equal(dom_number(n, "comm_type"), 7);
    assert_int_equal(dom_attr(n, "comm_type")->field, 9);
    assert_int_equal(dom_number(n, "comm_size"), 4096);
    assert_int_equal(dom_attr(n, "comm_size")->field, 9);
    assert_string_equal(dom_attr(n, "pg_name")->text, "4");
    assert_int_equal(dom_number(n, "is_cpu_op"), 0);
    assert_int_equal(counts().comm_nodes, 1);
}

static void test_all_ranks_have_an_empty_group(void **state)
{
    (void)state;
    assert_string_equal(dom_attr(collective(SL_COLLECTIVE_ALL_REDUCE, 8, 0), "pg_name")->text, "");
}

static void test_unknown_size_is_computation(void **state)
{
    struct dom_node *n = collective(SL_COLLECTIVE_ALL_REDUCE, 0, 0);

    (void)state;
    assert_int_equal(n->type, 4);
    assert_null(dom_attr(n, "comm_type"));
}

static void test_unlisted_group_is_computation(void **state)
{
    (void)state;
    assert_int_equal(collective(SL_COLLECTIVE_ALL_REDUCE, 8, 12)->type, 4);
}

static void test_other_kernels_are_not_asked_about(void **state)
{
    (void)state;
    f.collective.bytes = 8;
    kernel(7, 17, 30, 1, "gemm");
    assert_int_equal(dom_find(read_back(), "gemm")->type, 4);
}

static void test_types_that_simulators_refuse(void **state)
{
    static const struct {
        enum sl_collective_type type;
        const char *name;
    } refused[] = {{SL_COLLECTIVE_REDUCE, "REDUCE"},
                   {SL_COLLECTIVE_GATHER, "GATHER"},
                   {SL_COLLECTIVE_SCATTER, "SCATTER"},
                   {SL_COLLECTIVE_BARRIER, "BARRIER"}};

    (void)state;
    for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
        struct dom_node *n = collective(refused[i].type, 8, 0);

        assert_int_equal(n->type, 4);
        assert_null(dom_attr(n, "comm_type"));
        assert_string_equal(dom_attr(n, "collective")->text, refused[i].name);
        reopen(0);
    }
}

static void test_send_and_receive_name_their_peer(void **state)
{
    struct dom_node *n = collective(SL_COLLECTIVE_SEND, 8, 0);

    (void)state;
    assert_int_equal(n->type, 5);
    assert_int_equal(dom_number(n, "comm_dst"), 2);
    assert_int_equal(dom_attr(n, "comm_dst")->field, 7);
    assert_int_equal(dom_number(n, "comm_tag"), 0);
    reopen(0);
    n = collective(SL_COLLECTIVE_RECV, 8, 0);
    assert_int_equal(n->type, 6);
    assert_int_equal(dom_number(n, "comm_src"), 2);
    assert_int_equal(dom_attr(n, "comm_tag")->field, 7);
}

static void test_group_file(void **state)
{
    static const uint32_t first[] = {0, 1}, second[] = {2, 3, 4};
    struct sl_sink *sink;
    const void *data;
    size_t size;

    (void)state;
    assert_int_equal(sl_chakra_group(f.chakra, 0, first, 2), -EINVAL);
    assert_int_equal(sl_chakra_group(f.chakra, 1, first, 2), 0);
    assert_int_equal(sl_chakra_group(f.chakra, 2, second, 3), 0);
    assert_int_equal(sl_chakra_group(f.chakra, 2, first, 2), 0); /* the first definition counts */
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
        CHAKRA_TEST(test_all_ranks_have_an_empty_group),
        CHAKRA_TEST(test_unknown_size_is_computation),
        CHAKRA_TEST(test_unlisted_group_is_computation),
        CHAKRA_TEST(test_other_kernels_are_not_asked_about),
        CHAKRA_TEST(test_types_that_simulators_refuse),
        CHAKRA_TEST(test_send_and_receive_name_their_peer),
        CHAKRA_TEST(test_group_file),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
