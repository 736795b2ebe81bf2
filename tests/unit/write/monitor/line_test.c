/* line_test.c - lines of calls that the jobs of tests/torch/test_monitor.py do not make. */
#include "unit/test.h"

#include <stdio.h>
#include <string.h>

#include "write/monitor/line.h"

static char line[SL_MONITOR_LINE_MOST];

/* Returns the line of a call with these members, or "". */
static const char *line_of(const struct sl_monitor_who *who, const char *members)
{
    const struct sl_event call = {
        .kind = SL_EV_CPU_OP, .start_ns = 1795693664999000000u, .device = SL_DEVICE_NONE};
    const struct sl_op_detail detail = {.more = members, .more_length = strlen(members)};
    size_t length = sl_monitor_line(line, who, &call, &detail);

    line[length] = '\0';
    return line;
}

#define ALL_REDUCE                                                                                 \
    "\"Collective name\":\"allreduce\",\"Call\":\"all_reduce\",\"dtype\":\"Float\","               \
    "\"In msg nelems\":10,\"Out msg nelems\":10,"

static void a_line_has_what_is_known(void **state)
{
    const struct sl_monitor_who who = {.rank = 0};

    assert_string_equal(line_of(&who, ALL_REDUCE "\"Process Group Description\":\"default_pg\","
                                                 "\"Global rank start\":0"),
                        "{\"name\": \"all_reduce\", \"rank\": 0, \"message_size\": 40, "
                        "\"timestamp\": 1795693664}\n");
    assert_string_equal(line_of(&who, "\"Collective name\":\"wait\",\"Global rank start\":0"), "");
    assert_string_equal(line_of(&who, ""), "");
    /* several lines of code, of which the first has a blank in its path */
    assert_non_null(strstr(line_of(&who, ALL_REDUCE "\"Global rank start\":0,"
                                                    "\"source\":\"/a b.py:3 f < /c.py:7 g\""),
                           "\"source_line\": \"/a b.py:3\""));
}

/* PyTorch cuts a list after 30 ranks. */
#define CUT                                                                                        \
    ALL_REDUCE "\"Group size\":32,\"Process Group Name\":\"7\","                                   \
               "\"Process Group Ranks\":\"[1, 2, 4, ...]\""

static void a_group_of_many_ranks_is_whole(void **state)
{
    static const char groups[] =
        "{\"pg_config\": [{\"pg_name\": \"0\", \"ranks\": [0, 1]}, "
        "{\"pg_name\": \"77\", \"ranks\": [5]}, "
        "{\"pg_name\": \"7\", \"pg_desc\": \"x\", \"ranks\": [1, 2, 4, 8, 9]}]}";
    struct sl_monitor_who who = {.rank = 1};

    /* Without a description of the groups, the rest is not known. */
    assert_null(strstr(line_of(&who, CUT), "group_ranks"));
    who.groups = groups;
    who.groups_length = sizeof(groups) - 1;
    assert_non_null(strstr(line_of(&who, CUT), "\"group_ranks\": [1, 2, 4, 8, 9]"));
    who.rank = 2;
    assert_string_equal(line_of(&who, CUT), ""); /* the first rank prints */
    who.rank = 1;
    who.groups_length = sizeof(groups) - 12; /* a text that ends inside the list */
    assert_null(strstr(line_of(&who, CUT), "group_ranks"));
    /* A group without a list, but with a stride. */
    who.groups = NULL;
    assert_non_null(strstr(line_of(&who, ALL_REDUCE "\"Group size\":3,\"Global rank start\":1,"
                                                    "\"Global rank stride\":4"),
                           "\"group_ranks\": [1, 5, 9]"));
}

/* PyTorch reports an empty list and no stride. */
static void a_group_of_one_rank_has_its_rank(void **state)
{
    const struct sl_monitor_who who = {.rank = 3};

    assert_non_null(strstr(line_of(&who, ALL_REDUCE "\"Group size\":1,\"Global rank start\":3,"
                                                    "\"Process Group Name\":\"4\","
                                                    "\"Process Group Ranks\":\"[]\","
                                                    "\"Process Group Description\":\"undefined\""),
                           "\"group_ranks\": [3]"));
}

#define ALL_TO_ALL                                                                                 \
    "\"Collective name\":\"all_to_allv\",\"Call\":\"all_to_all_single\",\"dtype\":\"Half\","       \
    "\"In msg nelems\":60,\"Out msg nelems\":10,\"Group size\":3,"                                 \
    "\"Process Group Ranks\":\"[4, 5, 6]\",\"In split size\":"

static void an_all_to_all_is_without_the_own_part(void **state)
{
    const struct sl_monitor_who who = {.rank = 4};

    /* The splits count rows of ten elements. */
    assert_non_null(strstr(line_of(&who, ALL_TO_ALL "\"[1, 2, 3]\""), "\"message_size\": 100,"));
    assert_non_null(strstr(line_of(&who, ALL_TO_ALL "\"[]\""), "\"message_size\": 80,"));
    assert_non_null(strstr(line_of(&who, ALL_TO_ALL "\"[0, 0, 0]\""), "\"message_size\": 80,"));
    assert_non_null(strstr(line_of(&who, ALL_TO_ALL "\"[...]\""), "\"message_size\": 80,"));
}

static void calls_between_nodes(void **state)
{
    struct sl_monitor_who who = {.rank = 3, .local_ranks = 2, .is_crossnode = 1};
    static const char send[] = "\"Collective name\":\"send\",\"Call\":\"isend\",\"dtype\":\"Char\","
                               "\"In msg nelems\":5,\"Dst Rank\":";
    char to[256];

    for (int peer = 0; peer < 4; peer++) {
        snprintf(to, sizeof(to), "%s%d", send, peer);
        assert_int_equal(line_of(&who, to)[0] != '\0', peer < 2);
    }
    who.rank = 2;
    assert_string_equal(
        line_of(&who, ALL_REDUCE "\"Group size\":2,\"Process Group Ranks\":\"[2, 3]\""), "");
    assert_string_not_equal(
        line_of(&who, ALL_REDUCE "\"Group size\":2,\"Process Group Ranks\":\"[2, 5]\""), "");
    who.local_ranks = 0; /* one node */
    assert_string_equal(
        line_of(&who, ALL_REDUCE "\"Group size\":2,\"Process Group Ranks\":\"[2, 5]\""), "");
}

/* A list that does not fit into a line is left out. */
static void a_huge_group_has_no_list(void **state)
{
    const struct sl_monitor_who who = {.rank = 0, .local_ranks = 8, .is_crossnode = 1};
    const char *text = line_of(&who, ALL_REDUCE "\"Group size\":1000000,\"Global rank start\":0,"
                                                "\"Global rank stride\":1");

    assert_true(strlen(text) > 50 && strlen(text) < 500);
    assert_null(strstr(text, "group_ranks"));
}

/* Numbers that no job has. The sanitizers watch. */
static void absurd_numbers_are_not_known(void **state)
{
    const struct sl_monitor_who who = {
        .rank = 0, .local_ranks = INT32_MAX, .is_crossnode = 0, .groups = "{", .groups_length = 1};
    static const char *const calls[][2] = {{"allreduce", "all_reduce"},
                                           {"gather", "gather"},
                                           {"scatter", "scatter"},
                                           {"all_to_allv", "all_to_all_single"},
                                           {"send", "isend"}};
    static const char huge[] = "999999999999999999";
    char members[1024];

    for (size_t i = 0; i < sizeof(calls) / sizeof(*calls); i++) {
        snprintf(members, sizeof(members),
                 "\"Collective name\":\"%s\",\"Call\":\"%s\",\"dtype\":\"Double\","
                 "\"In msg nelems\":%s,\"Out msg nelems\":%s,\"Group size\":%s,\"Rank\":0,"
                 "\"Global rank start\":0,\"Global rank stride\":%s,\"Dst Rank\":%s,"
                 "\"In split size\":\"[%s, %s]\"",
                 calls[i][0], calls[i][1], huge, huge, huge, huge, huge, huge, huge);
        assert_null(strstr(line_of(&who, members), "message_size"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_line_has_what_is_known),
        cmocka_unit_test(a_group_of_many_ranks_is_whole),
        cmocka_unit_test(a_group_of_one_rank_has_its_rank),
        cmocka_unit_test(an_all_to_all_is_without_the_own_part),
        cmocka_unit_test(calls_between_nodes),
        cmocka_unit_test(a_huge_group_has_no_list),
        cmocka_unit_test(absurd_numbers_are_not_known),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
