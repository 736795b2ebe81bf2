/* et_comms_test.c - a PyTorch operator has the description of a collective. GPU operations that are
 * launched inside the operator get this description. */
#include "unit/test.h"

#include <stdio.h>
#include <string.h>

#include "event/op_detail.h"
#include "event/ops.h"
#include "write/chakra/et_comms.h"
#include "write/distributed.h"

#define ALL_REDUCE                                                                                 \
    "\"Collective name\":\"allreduce\",\"dtype\":\"Float\",\"In msg nelems\":256,"                 \
    "\"Group size\":4,\"Process Group Name\":\"0\",\"Process Group Ranks\":\"[0, 1, 2, 3]\""
#define OF_A_PAIR                                                                                  \
    "\"Collective name\":\"_allgather_base\",\"dtype\":\"Half\",\"In msg nelems\":10,"             \
    "\"Group size\":2,\"Process Group Name\":\"1\",\"Process Group Ranks\":\"[1, 3]\""
#define MORE_OF_THE_PAIR                                                                           \
    "\"Collective name\":\"allreduce\",\"dtype\":\"Half\",\"In msg nelems\":20,"                   \
    "\"Group size\":2,\"Process Group Name\":\"1\",\"Process Group Ranks\":\"[1, 3]\""
#define SENT                                                                                       \
    "\"Collective name\":\"send\",\"dtype\":\"Long\",\"In msg nelems\":1,\"Dst Rank\":3,"          \
    "\"Group size\":4,\"Process Group Ranks\":\"[0, 1, 2, 3]\""
#define OF_WHOM                                                                                    \
    "\"Collective name\":\"allreduce\",\"dtype\":\"Float\",\"In msg nelems\":1,"                   \
    "\"Group size\":2,\"Process Group Ranks\":\"[0, ...]\""

static struct sl_intern *places, *details;
static struct sl_et_comms *comms;

static int set_up(void **state)
{
    assert_int_equal(sl_intern_create(&places, 1 << 20), 0);
    assert_int_equal(sl_intern_create(&details, 16 << 20), 0);
    if (sl_et_comms_create(&comms, places, details) != 0)
        return -1;
    sl_et_comms_world(comms, 4);
    return 0;
}

static int tear_down(void **state)
{
    sl_et_comms_destroy(comms);
    sl_intern_destroy(details);
    sl_intern_destroy(places);
    return 0;
}

/* Makes a call inside an operator with this description. If it is NULL, the operator is not a
 * collective. */
static int call(uint64_t correlation, const char *members)
{
    struct sl_op_place place = {0, 7};
    struct sl_event ev = {.kind = SL_EV_RUNTIME, .correlation = correlation};
    char text[512];

    if (members) {
        const struct sl_op_detail d = {.more = members, .more_length = strlen(members)};

        place.collective = sl_intern_put(details, text, sl_op_detail_pack(text, &d));
    }
    ev.place = sl_intern_put(places, (const char *)&place, sizeof(place));
    return sl_et_comms_call(comms, &ev);
}

static struct sl_collective found;

static int find(uint64_t correlation)
{
    const struct sl_event op = {.kind = SL_EV_KERNEL, .correlation = correlation};

    return sl_et_comms_find(comms, &op, &found);
}

static void operations_do_what_their_call_is_part_of(void **state)
{
    /* the description has no group, so the collective is of all ranks */
    assert_int_equal(call(10, ALL_REDUCE), 0);
    assert_int_equal(call(11, ALL_REDUCE), 0);
    assert_int_equal(call(12, NULL), 0);
    for (uint64_t id = 10; id <= 11; id++) {
        assert_int_equal(find(id), 1);
        assert_int_equal(found.type, SL_COLLECTIVE_ALL_REDUCE);
        assert_int_equal(found.bytes, 1024);
        assert_int_equal(found.group, 0); /* all ranks */
    }
    assert_int_equal(find(12), 0);
    assert_int_equal(find(13), 0);
    assert_int_equal(find(0), 0);
}

static unsigned groups;

static void take(void *user, uint32_t number, const uint32_t *rank, size_t ranks)
{
    assert_int_equal(number, found.group);
    assert_int_equal(ranks, 2);
    assert_true(rank[0] == 1 && rank[1] == 3);
    groups++;
}

static void a_part_of_the_ranks_is_a_group(void **state)
{
    assert_int_equal(call(10, OF_A_PAIR), 1);
    /* the group of this collective is already known */
    assert_int_equal(call(12, MORE_OF_THE_PAIR), 0);
    assert_int_equal(call(11, SENT), 0);
    assert_int_equal(find(11), 1);
    assert_int_equal(found.type, SL_COLLECTIVE_SEND);
    assert_int_equal(found.peer, 3);
    assert_int_equal(find(10), 1);
    assert_int_equal(found.type, SL_COLLECTIVE_ALL_GATHER);
    assert_int_equal(found.bytes, 20);
    assert_int_not_equal(found.group, 0);
    groups = 0;
    sl_et_comms_groups(comms, take, NULL);
    assert_int_equal(groups, 1);
}

static void what_is_not_told_whole_is_not_known(void **state)
{
    assert_int_equal(call(10, OF_WHOM), 0);
    assert_int_equal(call(11, "\"Collective name\":\"allreduce\""), 0);
    assert_int_equal(call(12, ""), 0);
    for (uint64_t id = 10; id <= 12; id++)
        assert_int_equal(find(id), 0);
}

/* PyTorch truncates the list of a large group. The job reports the whole list, for a group that was
 * made late after its first collectives. */
static void the_job_knows_the_ranks_of_its_groups(void **state)
{
    static const char info[] =
        "{\"backend\": \"nccl\", \"pg_config\": [{\"pg_name\": \"0\", \"ranks\": [0, 1, 2, 3]}, "
        "{\"pg_name\": \"none\", \"pg_desc\": \"\\\"ranks\\\": [2, 3]\", \"pg_size\": 2}, "
        "{\"pg_name\": \"odd\", \"pg_desc\": \"\", \"ranks\": [1, 3]}]}";

    assert_int_equal(call(10, OF_WHOM ",\"Process Group Name\":\"odd\""), 0);
    assert_int_equal(find(10), 0);
    assert_int_equal(sl_distributed_set(info), 0);
    assert_int_equal(call(10, OF_WHOM ",\"Process Group Name\":\"odd\""), 1);
    assert_int_equal(find(10), 1);
    groups = 0;
    sl_et_comms_groups(comms, take, NULL);
    assert_int_equal(groups, 1);
    assert_int_equal(call(11, OF_WHOM ",\"Process Group Name\":\"none\""), 0);
    assert_int_equal(find(11), 0);
    assert_int_equal(sl_distributed_set(info), 0); /* the same groups again */
    assert_int_equal(call(12, OF_WHOM ",\"Process Group Name\":\"odd\""), 0);
    assert_int_equal(find(12), 1);
}

static void calls_of_long_ago_are_forgotten(void **state)
{
    for (uint64_t id = 10; id <= 10 + 16384; id++)
        call(id, ALL_REDUCE);
    assert_int_equal(find(10), 0);
    assert_int_equal(find(11), 1);
    assert_int_equal(find(10 + 16384), 1);
}

/* Calls of a thread that polls take ids, too. */
static void calls_far_apart_are_both_known(void **state)
{
    for (uint64_t i = 0; i < 100; i++)
        call(10 + i * 16384, i % 2 ? OF_A_PAIR : ALL_REDUCE);
    for (uint64_t i = 0; i < 100; i++) {
        assert_int_equal(find(10 + i * 16384), 1);
        assert_int_equal(found.type, i % 2 ? SL_COLLECTIVE_ALL_GATHER : SL_COLLECTIVE_ALL_REDUCE);
    }
}

/* Each collective has another size, as in a mixture of experts. The size of each node is right. */
static void collectives_of_ever_new_sizes_are_known(void **state)
{
    char members[256];
    for (unsigned i = 1; i <= 20000; i++) {
        snprintf(members, sizeof(members),
                 "\"Collective name\":\"all_to_allv\",\"dtype\":\"Half\",\"In msg nelems\":%u,"
                 "\"Group size\":4,\"Process Group Ranks\":\"[0, 1, 2, 3]\"",
                 i);
        call(i, members);
        assert_int_equal(find(i), 1);
        assert_int_equal(found.bytes, 2 * i);
    }
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(operations_do_what_their_call_is_part_of), CASE(a_part_of_the_ranks_is_a_group),
        CASE(what_is_not_told_whole_is_not_known),      CASE(the_job_knows_the_ranks_of_its_groups),
        CASE(calls_of_long_ago_are_forgotten),          CASE(calls_far_apart_are_both_known),
        CASE(collectives_of_ever_new_sizes_are_known),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
