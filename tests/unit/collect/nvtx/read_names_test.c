/* read_names_test.c - names from records: of objects and of categories; also the name of a row
 * whose name does not fit or was never registered. */
#include "unit/collect/nvtx/read_rig.h"

static void names_are_told_once(void **state)
{
    const struct sl_nvtx_name name[] = {
        {.what = SL_NVTX_STREAM, .key = 13, .within = 1, .string = string("copies")},
        {.what = SL_NVTX_OTHER, .string = string("event")},
        {.what = SL_NVTX_CATEGORY, .domain = 3, .key = 9, .string = string("of mine")},
        {.what = SL_NVTX_EVENT, .key = 1ull << 40, .string = string("recorded")},
    };

    (void)state;
    sl_nvtx_read_names(reader); /* names from other cases */
    nameds = 0;
    for (unsigned i = 0; i < 4; i++)
        assert_int_not_equal(sl_nvtx_name(&name[i]), 0);
    sl_nvtx_read_names(reader);
    sl_nvtx_read_names(reader);
    assert_int_equal(nameds, 2);
    assert_int_equal(named[0].key, 13);
    assert_string_equal(text_of(named_as[0], 0), "copies");
    assert_true(named[1].what == SL_NVTX_EVENT && named[1].key == 1ull << 40);
}

static void mark_of(unsigned domain, uint32_t category)
{
    make(SL_LANE_MARK, domain, 0);
    add_look(SL_LANE_HAS_CATEGORY, category, 0);
    hand_over(ONE, 1);
}

static void a_category_has_a_name_from_when_it_is_named(void **state)
{
    const struct sl_nvtx_name name = {
        .what = SL_NVTX_CATEGORY, .domain = 0, .key = 1u << 31, .string = string("the \"name\"")};

    (void)state;
    mark_of(0, 1u << 31);
    sl_nvtx_name(&name);
    sl_nvtx_read_names(reader);
    mark_of(0, 1u << 31);
    mark_of(2, 1u << 31); /* of another domain */
    assert_string_equal(args_of(&row[0]), "{\"category\":2147483648}");
    assert_string_equal(args_of(&row[1]), "{\"category\":\"the \\\"name\\\"\"}");
    assert_string_equal(args_of(&row[2]), "{\"category\":2147483648}");
}

static void more_categories_than_are_kept_have_numbers(void **state)
{
    struct sl_nvtx_name name = {.what = SL_NVTX_CATEGORY, .string = string("one of many")};

    (void)state;
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
    (void)state;
    return begin_with(600);
}

static void rows_stay_valid_when_texts_have_no_room(void **state)
{
    char text[64];

    (void)state;
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

/* A range names a string that was never registered. Its row gets a substitute name. */
static void strings_that_are_none(void **state)
{
    static const uint32_t none[] = {0, 65535, 65536, 65537, UINT32_MAX};

    (void)state;
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
        CASE(names_are_told_once),
        CASE(a_category_has_a_name_from_when_it_is_named),
        CASE(more_categories_than_are_kept_have_numbers),
        cmocka_unit_test_setup_teardown(rows_stay_valid_when_texts_have_no_room, begin_small, end),
        CASE(strings_that_are_none),
    };

    return cmocka_run_group_tests(tests, init, NULL);
}
