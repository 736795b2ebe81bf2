/* op_detail_test.c - stores the details of an operator in one text and reads them from the text
 * again. Members of a detail are found by their JSON keys. */
#include "test.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "event/op_detail.h"

static struct sl_op_detail of(const char *members)
{
    return (struct sl_op_detail){.more = members, .more_length = strlen(members)};
}

static void parts_come_back(void **state)
{
    static const uint8_t inputs[] = {7, 0, 9};
    struct sl_op_detail detail = of("\"n\":5"), back;
    char text[64];
    size_t length;

    detail.inputs = inputs;
    detail.inputs_length = sizeof(inputs);
    for (int cut = 0; cut < 2; cut++) {
        detail.was_cut = cut;
        length = sl_op_detail_pack(text, &detail);
        assert_int_equal(length, SL_OP_DETAIL_HEAD + 5 + 3);
        assert_int_equal(sl_op_detail_unpack(&back, text, length), 0);
        assert_int_equal(back.was_cut, cut);
        assert_int_equal(back.more_length, 5);
        assert_memory_equal(back.more, "\"n\":5", 5);
        assert_int_equal(back.inputs_length, 3);
        assert_memory_equal(back.inputs, inputs, 3);
    }
}

/* Texts are compared by their bytes, so equal details must have equal texts. */
static void equal_details_have_equal_texts(void **state)
{
    char a[64], b[64];
    struct sl_op_detail detail = of("\"n\":5");

    memset(a, 0x11, sizeof(a));
    memset(b, 0x22, sizeof(b));
    assert_int_equal(sl_op_detail_pack(a, &detail), sl_op_detail_pack(b, &detail));
    assert_memory_equal(a, b, SL_OP_DETAIL_HEAD + 5);
}

static void a_part_may_be_missing(void **state)
{
    static const uint8_t inputs[] = {1};
    struct sl_op_detail only_inputs = {.inputs = inputs, .inputs_length = 1}, none = {0}, back;
    char text[16];
    size_t length = sl_op_detail_pack(text, &only_inputs);

    assert_int_equal(sl_op_detail_unpack(&back, text, length), 0);
    assert_int_equal(back.more_length, 0);
    assert_int_equal(back.inputs_length, 1);
    assert_null(sl_op_detail_member(&back, "n", &length));
    length = sl_op_detail_pack(text, &none);
    assert_int_equal(sl_op_detail_unpack(&back, text, length), 0);
    assert_int_equal(back.inputs_length, 0);
}

/* Truncated texts are read. The memory of each text has exactly the text's length, so that the
 * address sanitizer detects a read past the end. */
static void texts_that_end_early(void **state)
{
    struct sl_op_detail detail = of("\"n\":5"), back;
    char text[64];
    size_t length = sl_op_detail_pack(text, &detail);

    assert_int_equal(sl_op_detail_unpack(&back, NULL, 0), -EINVAL);
    for (size_t i = 0; i < length; i++) {
        char *part = malloc(i + !i);

        assert_non_null(part);
        memcpy(part, text, i);
        assert_int_equal(sl_op_detail_unpack(&back, part, i), -EINVAL);
        free(part);
    }
}

static void expect(const struct sl_op_detail *detail, const char *name, const char *wanted)
{
    size_t length = 0;
    const char *value = sl_op_detail_member(detail, name, &length);

    if (!wanted) {
        assert_null(value);
        return;
    }
    assert_non_null(value);
    assert_int_equal(length, strlen(wanted));
    assert_memory_equal(value, wanted, length);
}

static void members_are_found_by_their_whole_names(void **state)
{
    struct sl_op_detail detail = of("\"Ranks\":\"[0, 1]\",\"dtype\":\"Float\",\"n\":5");

    expect(&detail, "Ranks", "\"[0, 1]\"");
    expect(&detail, "dtype", "\"Float\"");
    expect(&detail, "n", "5");
    expect(&detail, "Rank", NULL);
    expect(&detail, "Ranks2", NULL);
    expect(&detail, "Float", NULL); /* "Float" is a value, not a key */
    expect(&detail, "", NULL);
}

/* Separators and brackets inside a value do not end the value. */
static void values_of_any_form(void **state)
{
    struct sl_op_detail detail =
        of("\"text\":\"a,\\\"n\\\":1]\",\"list\":[1,[2,\"}\"],3],\"object\":{\"n\":2,\"m\":[4]},"
           "\"slash\":\"\\\\\",\"n\":true");

    expect(&detail, "text", "\"a,\\\"n\\\":1]\"");
    expect(&detail, "list", "[1,[2,\"}\"],3]");
    expect(&detail, "object", "{\"n\":2,\"m\":[4]}");
    expect(&detail, "slash", "\"\\\\\"");
    expect(&detail, "n", "true");
    expect(&detail, "m", NULL);
}

/* The search never reads past the end of a text, even if the text is not JSON. */
static void members_of_what_is_no_json(void **state)
{
    static const char *const texts[] = {
        "\"",  "\"n", "\"n\"", "n:",  "\"n\":\"",       "\"n\":\"\\",
        ",:,", ":::", "[[[",   "]]]", "\"a\":[,\"n\":1"};

    for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
        size_t length = strlen(texts[i]), found;
        char *text = malloc(length);
        struct sl_op_detail detail = {.more = text, .more_length = length};
        const char *value;

        assert_non_null(text);
        memcpy(text, texts[i], length);
        found = 0;
        value = sl_op_detail_member(&detail, "n", &found);
        assert_true(!value || (value >= text && value + found <= text + length));
        free(text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts_come_back),
        cmocka_unit_test(equal_details_have_equal_texts),
        cmocka_unit_test(a_part_may_be_missing),
        cmocka_unit_test(texts_that_end_early),
        cmocka_unit_test(members_are_found_by_their_whole_names),
        cmocka_unit_test(values_of_any_form),
        cmocka_unit_test(members_of_what_is_no_json),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
