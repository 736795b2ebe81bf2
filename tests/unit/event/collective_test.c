/* collective_test.c - collectives: PyTorch's names are converted to Chakra's, and each list of
 * ranks becomes one process group. */
#include "test.h"

#include <stdio.h>
#include <string.h>

#include "event/collective.h"

static struct sl_collectives *comms;

static int set_up(void **state)
{
    assert_int_equal(sl_collectives_create(&comms, 1 << 20), 0);
    sl_collectives_world(comms, 4);
    return 0;
}

static int tear_down(void **state)
{
    sl_collectives_destroy(comms);
    return 0;
}

static struct sl_collective_text text(const char *s)
{
    return (struct sl_collective_text){s, s ? strlen(s) : 0};
}

/* Returns the arguments of a collective, with only its kind and size. */
static struct sl_collective_args told(const char *collective, const char *dtype, int64_t elements)
{
    return (struct sl_collective_args){.collective = text(collective),
                                       .dtype = text(dtype),
                                       .elements = elements,
                                       .out_elements = -1,
                                       .rank = -1,
                                       .message_bytes = -1,
                                       .group_size = -1,
                                       .group_start = -1,
                                       .group_stride = -1,
                                       .src_rank = -1,
                                       .dst_rank = -1};
}

static struct sl_collective found;

static uint32_t put(const struct sl_collective_args *t)
{
    uint32_t number = sl_collectives_put(comms, t);

    memset(&found, 0, sizeof(found));
    assert_int_equal(sl_collectives_get(comms, number, &found), number != 0);
    return number;
}

static uint32_t put_ranks(const char *ranks)
{
    struct sl_collective_args t = told("allreduce", "Float", 1);

    t.group_ranks = text(ranks);
    return put(&t);
}

static void names_of_all_versions_mean_one_thing(void **state)
{
    static const struct {
        const char *name;
        enum sl_collective_type type;
    } known[] = {
        {"allreduce", SL_COLLECTIVE_ALL_REDUCE},
        {"allreduce_coalesced", SL_COLLECTIVE_ALL_REDUCE},
        {"_allgather_base", SL_COLLECTIVE_ALL_GATHER},
        {"all_gather_into_tensor", SL_COLLECTIVE_ALL_GATHER},
        {"allGatherSingleImpl", SL_COLLECTIVE_ALL_GATHER},
        {"reduceScatterSingleImpl", SL_COLLECTIVE_REDUCE_SCATTER},
        {"_reduce_scatter_base", SL_COLLECTIVE_REDUCE_SCATTER},
        {"all_to_allv", SL_COLLECTIVE_ALL_TO_ALL},
        {"Broadcast", SL_COLLECTIVE_BROADCAST},
        {"reduce", SL_COLLECTIVE_REDUCE},
        {"gather", SL_COLLECTIVE_GATHER},
        {"scatter", SL_COLLECTIVE_SCATTER},
        {"barrier", SL_COLLECTIVE_BARRIER},
    };
    struct sl_collective_args t;

    for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
        t = told(known[i].name, "Int", 3);
        t.group_size = 4;
        assert_int_not_equal(put(&t), 0);
        assert_int_equal(found.type, known[i].type);
        assert_int_equal(found.bytes, 12);
    }
    for (unsigned i = 0; i < 2; i++) {
        t = told(i ? "broadcastUniqueNCCLID" : "wait", "Int", 3);
        t.group_size = 4;
        assert_int_equal(put(&t), 0);
        assert_null(sl_collective_call(t.collective));
        assert_int_equal(sl_collective_message_bytes(&t), -1);
    }
}

/* The size is the same on all ranks, for example on ranks that only send to the root of a gather.
 */
static void sizes_are_those_of_nccl_tests(void **state)
{
    static const struct {
        const char *name, *call;
        int64_t in, out, bytes;
    } known[] = {
        {"allreduce", "all_reduce", 3, 3, 6},
        {"all_reduce", "all_reduce", 3, 3, 6},
        {"allreduce_coalesced", "all_reduce", 3, 3, 6},
        {"broadcast", "broadcast", 3, 3, 6},
        {"_broadcast_oop", "broadcast", 3, 3, 6},
        {"reduce", "reduce", 3, 3, 6},
        {"all_gather", "all_gather", 3, 12, 24},
        {"_allgather_base", "all_gather_into_tensor", 3, 12, 24},
        {"allGatherSingleImpl", "all_gather_into_tensor", 3, 12, 24},
        {"allgather_into_tensor_coalesced", "all_gather_into_tensor", 3, 12, 24},
        {"reduce_scatter", "reduce_scatter", 12, 3, 24},
        {"_reduce_scatter_base", "reduce_scatter_tensor", 12, 3, 24},
        {"reduce_scatter_tensor_coalesced", "reduce_scatter_tensor", 12, 3, 24},
        {"all_to_all", "all_to_all", 12, 12, 24},
        {"all_to_allv", "all_to_all_single", 5, 9, 10},
        {"gather", "gather", 3, 12, 24},
        {"gather", "gather", 3, 0, 24},
        {"scatter", "scatter", 12, 3, 24},
        {"scatter", "scatter", 0, 3, 24},
        {"send", "send", 3, 3, 6},
        {"recv", "recv", 3, 3, 6},
        {"barrier", "barrier", 0, 0, 0},
        /* The size follows from one of the numbers. */
        {"all_gather", "all_gather", 3, -1, 24},
        {"scatter", "scatter", 12, -1, 24},
        {"all_reduce", "all_reduce", -1, 3, 6},
        /* Numbers that the row does not have, or that are too large. */
        {"all_gather", "all_gather", -1, -1, -1},
        {"gather", "gather", -1, 12, -1},
        {"send", "send", INT64_MAX, -1, -1},
        {"gather", "gather", INT64_MAX, 3, -1},
    };

    for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
        struct sl_collective_args t = told(known[i].name, "Half", known[i].in);

        t.out_elements = known[i].out;
        t.group_size = 4;
        t.src_rank = t.dst_rank = 1;
        assert_int_equal(sl_collective_message_bytes(&t), known[i].bytes);
        assert_string_equal(sl_collective_call(t.collective), known[i].call);
        if (put(&t))
            assert_int_equal(found.message_bytes, known[i].bytes);
    }
}

/* A batch has several tensors, which may have several types. Only `Message size` has its bytes. */
static void a_batch_has_its_size(void **state)
{
    struct sl_collective_args t = told("batch_isend_irecv", NULL, 7);

    t.group_size = 4;
    assert_int_equal(put(&t), 0);
    t.message_bytes = 100;
    assert_int_not_equal(put(&t), 0);
    assert_int_equal(found.type, SL_COLLECTIVE_BATCH);
    assert_true(found.bytes == 100 && found.message_bytes == 100 && found.dtype == 0);
    t.dtype = text("Float");
    assert_int_not_equal(put(&t), 0);
    assert_true(found.bytes == 100 && found.dtype != 0);
    t = told("send", NULL, 7);
    t.group_size = 4;
    t.dst_rank = 1;
    t.message_bytes = 60;
    assert_int_not_equal(put(&t), 0);
    assert_true(found.bytes == 60 && found.message_bytes == 60);
}

/* PyTorch writes the root as a number within the group. */
static void a_root_is_a_rank_of_the_job(void **state)
{
    struct sl_collective_args t = told("broadcast", "Float", 1);

    t.rank = 1;
    assert_int_equal(sl_collective_root(&t), -1);
    t.group_ranks = text("[4, 27]");
    assert_int_equal(sl_collective_root(&t), 27);
    t.rank = 2; /* the group has no such rank */
    assert_int_equal(sl_collective_root(&t), -1);
    t.group_ranks = text("[10, 12, ..., 98]");
    t.group_start = 10;
    t.group_stride = 2;
    assert_int_equal(sl_collective_root(&t), 14);
    t.rank = 1;
    t.collective = text("allreduce"); /* `Rank` is not a root */
    assert_int_equal(sl_collective_root(&t), -1);
}

static void an_element_has_the_bytes_of_its_type(void **state)
{
    static const struct {
        const char *dtype;
        unsigned bytes;
    } known[] = {{"BFloat16", 2}, {"Half", 2},           {"Double", 8},        {"Bool", 1},
                 {"Long", 8},     {"ComplexDouble", 16}, {"Float8_e4m3fn", 1}, {"UInt16", 2}};
    struct sl_collective_args t;

    for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
        t = told("allreduce", known[i].dtype, 5);
        t.group_size = 4;
        assert_int_not_equal(put(&t), 0);
        assert_int_equal(found.bytes, 5 * known[i].bytes);
        assert_memory_equal(sl_collective_dtype(found.dtype), known[i].dtype,
                            strlen(sl_collective_dtype(found.dtype)));
        assert_string_not_equal(sl_collective_dtype(found.dtype), "");
    }
    assert_string_equal(sl_collective_dtype(UINT8_MAX), "");
    t.elements = 0; /* with all_to_all, a rank may contribute nothing */
    assert_int_not_equal(put(&t), 0);
    assert_int_equal(found.bytes, 0);
    t.dtype = text("Quantum");
    assert_int_equal(put(&t), 0);
    t.dtype = text(NULL);
    assert_int_equal(put(&t), 0);
    t.dtype = text("Long");
    t.elements = INT64_MAX; /* the number of bytes would overflow */
    assert_int_equal(put(&t), 0);
}

static void the_same_is_the_same(void **state)
{
    uint32_t first = put_ranks("[1, 3]"), group = found.group;

    assert_int_not_equal(first, 0);
    assert_int_not_equal(group, 0);
    assert_int_equal(put_ranks("[1, 3]"), first);
    /* The same ranks in another order are another group. */
    assert_int_not_equal(put_ranks("[3, 1]"), first);
    assert_int_not_equal(found.group, group);
    assert_int_not_equal(put_ranks("[0, 1, 2, 3]"), 0);
    assert_int_equal(found.group, 0); /* group 0 means all ranks */
    put_ranks("[0, 1, 2]");
    assert_int_not_equal(found.group, 0);
}

/* The number of a group depends only on its ranks, not on the order in which groups are created. So
 * all ranks of a job compute the same number. */
static void a_group_has_its_number_from_its_ranks(void **state)
{
    struct sl_collective_args t = told("allreduce", "Float", 1);
    uint32_t group;

    put_ranks("[1, 3]");
    group = found.group;
    tear_down(state);
    set_up(state);
    put_ranks("[0, 2]");
    t.group_size = 2;
    t.group_start = 1;
    t.group_stride = 2;
    put(&t);
    assert_int_equal(found.group, group);
}

static char groups[256];

static void take(void *user, uint32_t number, const uint32_t *rank, size_t ranks)
{
    size_t at = strlen(groups);

    (void)user;
    assert_in_range(number, 1, INT32_MAX);
    for (size_t i = 0; i < ranks; i++)
        at += (size_t)snprintf(groups + at, sizeof(groups) - at, "%u ", rank[i]);
    snprintf(groups + at, sizeof(groups) - at, "/ ");
}

static void groups_are_told_once_each(void **state)
{
    put_ranks("[1, 3]");
    put_ranks("[0, 1, 2, 3]");
    put_ranks("[1, 3]");
    put_ranks("[0, 2]");
    groups[0] = '\0';
    sl_collectives_groups(comms, take, NULL);
    assert_string_equal(groups, "0 2 / 1 3 / ");
}

static void a_name_stands_for_its_ranks(void **state)
{
    struct sl_collective_args t = told("broadcast", "Float", 1);

    put_ranks("[0, 2]"); /* these ranks do not belong to the next named group */
    sl_collectives_name(comms, text("data"));
    sl_collectives_name_rank(comms, 1);
    sl_collectives_name_rank(comms, 3);
    sl_collectives_name(comms, text("tensor"));
    sl_collectives_name_ranks(comms, text("[2, 3]"));
    sl_collectives_name(comms, text("nobody"));
    sl_collectives_name_end(comms);
    t.group = text("data");
    assert_int_not_equal(put(&t), 0);
    groups[0] = '\0';
    sl_collectives_groups(comms, take, NULL);
    assert_string_equal(groups, "2 3 / 1 3 / 0 2 / ");
    put_ranks("[1, 3]");
    t.group = text("nobody");
    assert_int_equal(put(&t), 0);
    t.group = text("dat");
    assert_int_equal(put(&t), 0);
}

/* A group has one rank. PyTorch reports an empty list and no stride. */
static void a_group_of_one_rank(void **state)
{
    struct sl_collective_args t = told("allreduce", "Float", 1);
    uint32_t group;

    put_ranks("[1]");
    group = found.group;
    t.group_ranks = text("[]");
    t.group_size = 1;
    t.group_start = 1;
    assert_int_not_equal(put(&t), 0);
    assert_int_equal(found.group, group);
    t.group_start = -1;
    assert_int_equal(put(&t), 0);
    t.group_start = 1;
    t.group_size = 2;
    assert_int_equal(put(&t), 0);
}

/* If PyTorch reports a list of ranks and a size, the list is used. A truncated list is ignored. */
static void ranks_that_are_not_told_whole(void **state)
{
    struct sl_collective_args t = told("allreduce", "Float", 1);

    t.group_ranks = text("[0, 1, ...]");
    t.group_size = 64;
    assert_int_equal(put(&t), 0);
    t.group_start = 0;
    t.group_stride = 1;
    assert_int_not_equal(put(&t), 0);
    t.group_ranks = text("[0, 1, 2]"); /* the list is shorter than the reported 64 ranks */
    t.group_stride = -1;
    assert_int_equal(put(&t), 0);
    t.group_ranks = text("[-1, 2]"); /* a rank cannot be negative */
    t.group_size = 2;
    assert_int_equal(put(&t), 0);
    t.group_ranks = text("[2, 2]"); /* a rank appears twice */
    assert_int_equal(put(&t), 0);
    t.group_size = 3;
    t.group_ranks = text("[3, 1, 3]");
    assert_int_equal(put(&t), 0);
    t.group_ranks = text("[3, 1, 2]"); /* the refused list has left no incomplete group */
    assert_int_not_equal(put(&t), 0);
    t.group_size = 2;
    t.group_ranks = text("[1099511627776, 1]");
    assert_int_equal(put(&t), 0);
    t.group_ranks = text("[]");
    t.group_size = 4;
    assert_int_not_equal(put(&t), 0);
    assert_int_equal(found.group, 0);
    sl_collectives_name(comms, text("half"));
    sl_collectives_name_ranks(comms, text("[1, x]"));
    sl_collectives_name(comms, text("less"));
    sl_collectives_name_rank(comms, 1);
    sl_collectives_name_rank(comms, -2);
    sl_collectives_name_end(comms);
    t = told("allreduce", "Float", 1);
    t.group = text("half");
    assert_int_equal(put(&t), 0);
    t.group = text("less");
    assert_int_equal(put(&t), 0);
}

static void messages_have_a_peer(void **state)
{
    struct sl_collective_args t = told("send", "Byte", 7);

    t.group_size = 4;
    t.src_rank = 1;
    assert_int_equal(put(&t), 0); /* the destination is missing */
    t.dst_rank = 3;
    assert_int_not_equal(put(&t), 0);
    assert_true(found.type == SL_COLLECTIVE_SEND && found.peer == 3);
    t.collective = text("recvAnySource");
    assert_int_not_equal(put(&t), 0);
    assert_true(found.type == SL_COLLECTIVE_RECV && found.peer == 1);
}

/* A group does not fit into memory. This group stays unknown, and no other group is affected. */
static void groups_that_do_not_fit(void **state)
{
    uint32_t number = 1, first;

    first = put_ranks("[1, 3]");
    for (unsigned i = 0; number && i < 100; i++) {
        struct sl_collective_args t = told("allreduce", "Float", 1);

        t.group_size = 60000;
        t.group_start = i;
        t.group_stride = 1;
        number = put(&t);
    }
    assert_int_equal(number, 0);
    assert_int_equal(put_ranks("[1, 3]"), first);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(names_of_all_versions_mean_one_thing),
        CASE(sizes_are_those_of_nccl_tests),
        CASE(a_batch_has_its_size),
        CASE(a_root_is_a_rank_of_the_job),
        CASE(an_element_has_the_bytes_of_its_type),
        CASE(the_same_is_the_same),
        CASE(a_group_has_its_number_from_its_ranks),
        CASE(groups_are_told_once_each),
        CASE(a_name_stands_for_its_ranks),
        CASE(a_group_of_one_rank),
        CASE(ranks_that_are_not_told_whole),
        CASE(messages_have_a_peer),
        CASE(groups_that_do_not_fit),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
