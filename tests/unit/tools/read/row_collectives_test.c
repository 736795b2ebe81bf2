/* row_collectives_test.c - reads the arguments of collectives from rows, and process groups from
 * the header of the trace. */
#include "unit/test.h"

#include <stdlib.h>
#include <string.h>

#include "read/row_collectives.h"

static struct sl_row_collectives *c;

static int setup(void **state)
{
    return sl_row_collectives_create(&c);
}

static int teardown(void **state)
{
    sl_row_collectives_destroy(c);
    return 0;
}

static struct sl_text text(const char *t)
{
    return (struct sl_text){t, strlen(t)};
}

static void field(const char *path, const char *value)
{
    sl_row_collectives_field(
        c, path, value[0] >= '0' && value[0] <= '9' ? SL_JSON_NUMBER : SL_JSON_STRING, text(value));
}

static struct sl_trace_row row(const char *name, const char *dtype, int64_t elements,
                               const char *ranks)
{
    struct sl_trace_row r = {.has = SL_HAS_IN_ELEMENTS,
                             .in_elements = elements,
                             .out_elements = -1,
                             .group_rank = -1,
                             .message_size = -1};

    r.collective = text(name);
    r.dtype = text(dtype);
    if (ranks)
        r.group_ranks = text(ranks);
    return r;
}

static struct sl_collective of(const struct sl_trace_row *r)
{
    static uint64_t correlation;
    struct sl_event op = {.correlation = ++correlation};
    struct sl_collective found;

    sl_row_collectives_join(c, correlation, sl_row_collectives_row(c, r));
    if (!sl_row_collectives_find(c, &op, &found))
        memset(&found, 0xff, sizeof(found));
    return found;
}

static void test_names_of_every_version(void **state)
{
    static const struct {
        const char *name;
        enum sl_collective_type type;
    } known[] = {
        {"allreduce", SL_COLLECTIVE_ALL_REDUCE},
        {"all_reduce", SL_COLLECTIVE_ALL_REDUCE},
        {"allreduce_coalesced", SL_COLLECTIVE_ALL_REDUCE},
        {"_allgather_base", SL_COLLECTIVE_ALL_GATHER},
        {"all_gather_into_tensor_coalesced", SL_COLLECTIVE_ALL_GATHER},
        {"_reduce_scatter_base", SL_COLLECTIVE_REDUCE_SCATTER},
        {"all_to_allv", SL_COLLECTIVE_ALL_TO_ALL},
        {"broadcast", SL_COLLECTIVE_BROADCAST},
        {"_broadcast_oop", SL_COLLECTIVE_BROADCAST},
        {"reduce", SL_COLLECTIVE_REDUCE},
        {"gather", SL_COLLECTIVE_GATHER},
        {"scatter", SL_COLLECTIVE_SCATTER},
        {"barrier", SL_COLLECTIVE_BARRIER},
    };
    struct sl_trace_row r;

    field("distributedInfo.world_size", "2");
    for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
        r = row(known[i].name, "BFloat16", 10, "[0, 1]");
        assert_int_equal(of(&r).type, known[i].type);
        assert_int_equal(of(&r).bytes, 20);
        assert_int_equal(of(&r).group, 0);
    }
    r = row("wait", "Float", 10, "[0, 1]");
    assert_int_equal(sl_row_collectives_row(c, &r), 0);
}

static void test_a_group_has_one_number_however_it_is_told(void **state)
{
    struct sl_trace_row listed = row("allreduce", "Float", 1, "[2, 4, 6]");
    struct sl_trace_row strided = row("allreduce", "Float", 1, "[2, 4, ...]");
    struct sl_trace_row named = row("allreduce", "Float", 1, NULL);
    struct sl_trace_row other = row("allreduce", "Float", 1, "[2, 4, 8]");
    uint32_t number;

    field("distributedInfo.world_size", "8");
    field("distributedInfo.pg_config.pg_name", "dp");
    field("distributedInfo.pg_config.ranks", "2");
    field("distributedInfo.pg_config.ranks", "4");
    field("distributedInfo.pg_config.ranks", "6");
    number = of(&listed).group;
    assert_true(number > 0 && number <= INT32_MAX);
    strided.has |= SL_HAS_GROUP_SIZE | SL_HAS_GROUP_START | SL_HAS_GROUP_STRIDE;
    strided.group_size = 3;
    strided.group_start = strided.group_stride = 2;
    assert_int_equal(of(&strided).group, number);
    named.group = text("dp");
    assert_int_equal(of(&named).group, number);
    assert_int_not_equal(of(&other).group, number);
    named.group = text("tp");
    assert_int_equal(sl_row_collectives_row(c, &named), 0);
}

static void test_sends_need_a_peer(void **state)
{
    struct sl_trace_row send = row("send", "Float", 1, "[0, 1]");
    struct sl_trace_row recv = row("recv", "Float", 1, "[0, 1]");

    assert_int_equal(sl_row_collectives_row(c, &send), 0);
    send.has |= SL_HAS_DST_RANK;
    send.dst_rank = 1;
    assert_int_equal(of(&send).type, SL_COLLECTIVE_SEND);
    assert_int_equal(of(&send).peer, 1);
    recv.has |= SL_HAS_SRC_RANK;
    assert_int_equal(of(&recv).type, SL_COLLECTIVE_RECV);
    assert_int_equal(of(&recv).peer, 0);
}

static void test_what_is_told_first_stays(void **state)
{
    struct sl_trace_row a = row("allreduce", "Float", 1, "[0, 1]");
    struct sl_trace_row b = row("allreduce", "Float", 2, "[0, 1]");
    struct sl_event op = {.correlation = 900};
    struct sl_collective found;

    assert_int_equal(sl_row_collectives_find(c, &op, &found), 0);
    sl_row_collectives_join(c, 900, sl_row_collectives_row(c, &a));
    sl_row_collectives_join(c, 900, sl_row_collectives_row(c, &b));
    assert_int_equal(sl_row_collectives_find(c, &op, &found), 1);
    assert_int_equal(found.bytes, 4);
    op.correlation = 0;
    assert_int_equal(sl_row_collectives_find(c, &op, &found), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_names_of_every_version),
        TEST(test_a_group_has_one_number_however_it_is_told),
        TEST(test_sends_need_a_peer),
        TEST(test_what_is_told_first_stays),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
