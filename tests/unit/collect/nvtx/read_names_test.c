/* read_names_test.c - reads the names of objects and categories from records. If a name does not
 * fit into memory or was never registered, the row gets a substitute name. */
#include "unit/collect/nvtx/read_rig.h"

static void mark_of(unsigned domain, uint32_t category)
{
    make(SL_LANE_MARK, domain, 0);
    add_look(SL_LANE_HAS_CATEGORY, category, 0);
    hand_over(ONE, 1);
}

static void more_categories_than_are_kept_have_numbers(void **state)
{
    struct sl_named name = {.what = SL_NAMED_CATEGORY, .string = string("one of many")};

    for (name.key = 5000; name.key < 7000; name.key++)
        assert_int_not_equal(sl_nvtx_name(&name), 0);
    sl_nvtx_read_names(reader);
    assert_true(sl_nvtx_read_texts_lost(reader) >= 2000 - 1024);
    mark_of(0, 5000);
    mark_of(0, 6999);
    assert_string_equal(args_of(&row[0]), "{\"category\":\"one of many\"}");
    assert_string_equal(args_of(&row[1]), "{\"category\":6999}");
}

static int begin_small(void **state)
{
    return begin_with(600);
}

static void rows_stay_valid_when_texts_have_no_room(void **state)
{
    char text[64];

    for (unsigned i = 0; i < 100; i++) {
        make(SL_LANE_MARK, 0, 0);
        add_look(SL_LANE_HAS_COLOR, 0, i);
        snprintf(text, sizeof(text), "%c%c a name", 'a' + i / 26, 'a' + i % 26);
        add_text(SL_LANE_HAS_TEXT, text);
        snprintf(text, sizeof(text), "\"payload\":\"%c%c\"", 'a' + i / 26, 'a' + i % 26);
        add_text(SL_LANE_HAS_JSON, text);
        hand_over(ONE, i);
    }
    assert_int_equal(rows, 100);
    assert_string_equal(name_of(&row[99]), "(more names than are kept)");
    for (unsigned i = 0; i < 100; i++)
        args_of(&row[i]); /* fails if the args are invalid */
    assert_true(sl_nvtx_read_texts_lost(reader) > 0);
}

/* A range refers to a string that was never registered. The row of the range gets a substitute
 * name. */
static void strings_that_are_none(void **state)
{
    static const uint32_t none[] = {0, 65535, 65536, 65537, UINT32_MAX};

    for (unsigned i = 0; i < sizeof(none) / sizeof(*none); i++) {
        make(SL_LANE_MARK, 0, none[i]);
        made.record.parts = SL_LANE_HAS_STRING;
        hand_over(ONE, 1);
        assert_string_equal(name_of(&row[i]), "NVTX range");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(more_categories_than_are_kept_have_numbers),
        cmocka_unit_test_setup_teardown(rows_stay_valid_when_texts_have_no_room, begin_small, end),
        CASE(strings_that_are_none),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
