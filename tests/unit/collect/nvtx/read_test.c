/* read_test.c - reads records of nested ranges and marks. The attributes of a record are in its
 * row. */
#include "unit/collect/nvtx/read_rig.h"

static void an_end_adds_to_what_its_range_says(void **state)
{
    make(SL_LANE_PUSH, 0, 0);
    add_look(SL_LANE_HAS_CATEGORY, 2, 0);
    add_text(SL_LANE_HAS_TEXT, "before");
    add_text(SL_LANE_HAS_JSON, "\"payload\":{\"n\":1234567890123}");
    hand_over(ONE, 10);
    make(SL_LANE_POP, 0, 0);
    add_look(SL_LANE_HAS_CATEGORY, 3, 0);
    add_text(SL_LANE_HAS_TEXT, "after");
    add_text(SL_LANE_HAS_JSON, "\"end payload\":2");
    hand_over(ONE, 20);
    assert_int_equal(rows, 1);
    assert_string_equal(name_of(&row[0]), "after");
    assert_string_equal(args_of(&row[0]), "{\"category\":3,\"payload\":"
                                          "{\"n\":1234567890123},\"end payload\":2}");
}

static void the_longest_payloads_of_both_ends_are_kept(void **state)
{
    char json[SL_LANE_JSON_MAX + 1];
    const char *args;

    memset(json, 'b', SL_LANE_JSON_MAX);
    json[SL_LANE_JSON_MAX] = '\0';
    memcpy(json, "\"payload\":\"", 11);
    json[SL_LANE_JSON_MAX - 1] = '"';
    make(SL_LANE_PUSH, 0, 0);
    add_text(SL_LANE_HAS_JSON, json);
    hand_over(ONE, 10);
    memset(json, 'e', SL_LANE_JSON_MAX);
    memcpy(json, "\"end payload\":\"", 15);
    json[SL_LANE_JSON_MAX - 1] = '"';
    make(SL_LANE_POP, 0, 0);
    add_text(SL_LANE_HAS_JSON, json);
    hand_over(ONE, 20);
    args = args_of(&row[0]);
    assert_non_null(strstr(args, "\"payload\":\"bbb"));
    assert_non_null(strstr(args, "\"end payload\":\"eee"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(an_end_adds_to_what_its_range_says),
        CASE(the_longest_payloads_of_both_ends_are_kept),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
