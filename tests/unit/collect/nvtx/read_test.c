/* read_test.c - nested ranges and marks: the attributes of their records are in their rows. */
#include "unit/collect/nvtx/read_rig.h"

static void ranges_of_a_thread_are_nested(void **state)
{
    (void)state;
    push("outer 7", ONE, 10);
    push("inner", ONE, 20);
    plain(SL_LANE_PUSH, 0, TWO, 25);
    plain(SL_LANE_POP, 0, ONE, 30);
    plain(SL_LANE_POP, 0, ONE, 40);
    plain(SL_LANE_POP, 0, ONE, 50); /* there is no open range */
    plain(SL_LANE_THREAD_END, 0, TWO, 60);
    assert_range("inner", 0, 20, 30);
    assert_range("outer 7", 0, 10, 40);
    assert_range("NVTX range", 0, 25, 60);
    assert_int_equal(rows, 3);
    assert_int_equal(range("inner", 0)->thread, ONE);
}

static void what_a_record_says_stands_in_its_row(void **state)
{
    (void)state;
    make(SL_LANE_MARK, 0, 0);
    add_look(SL_LANE_HAS_CATEGORY | SL_LANE_HAS_COLOR, 7, 0xff00aa11);
    add_words(SL_LANE_HAS_VALUE, (const uint64_t[]){SL_LANE_I64, (uint64_t)-5}, 2);
    add_text(SL_LANE_HAS_TEXT, "a mark \"\\\n");
    add_text(SL_LANE_HAS_JSON, "\"more\":[1,2]");
    hand_over(ONE, 10);
    assert_int_equal(rows, 1);
    assert_int_equal(row[0].kind, SL_EV_NVTX_RANGE_MARK);
    assert_string_equal(name_of(&row[0]), "a mark \"\\\n");
    assert_string_equal(args_of(&row[0]),
                        "{\"category\":7,\"color\":\"#ff00aa11\",\"more\":[1,2]}");
    assert_int_equal(row[0].device, SL_NOTE_I64);
    assert_int_equal((int64_t)row[0].u.note.value, -5);
}

static void an_end_adds_to_what_its_range_says(void **state)
{
    (void)state;
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

    (void)state;
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
        CASE(ranges_of_a_thread_are_nested),
        CASE(what_a_record_says_stands_in_its_row),
        CASE(an_end_adds_to_what_its_range_says),
        CASE(the_longest_payloads_of_both_ends_are_kept),
    };

    return cmocka_run_group_tests(tests, init, NULL);
}
