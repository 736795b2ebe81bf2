/* et_text_test.c - texts in Chakra files that are not UTF-8. protobuf readers refuse them; tests
 * how syncline prints them. */
#include "unit/test.h"

#include <string.h>

#include "read/et_text.h"

#define SPAN(text)                                                                                 \
    ((struct sl_et_span){(const unsigned char *)(text),                                            \
                         (const unsigned char *)(text) + sizeof(text) - 1})

static void test_strings_of_a_message(void **state)
{
    int refused = 0;

    assert_int_equal(sl_et_text_of_strings(SPAN(""), 3, &refused), 1);
    assert_int_equal(sl_et_text_of_strings(SPAN("\x0a\x02\xc3\xa9\x1a\x01x"), 3, &refused), 1);
    /* The invalid text is in a field that the schema does not have here, or that is not a text. */
    assert_int_equal(sl_et_text_of_strings(SPAN("\x22\x01\xff\x08\x7f"), 3, &refused), 1);
    assert_int_equal(refused, 0);
    assert_int_equal(sl_et_text_of_strings(SPAN("\x0a\x02x"), 3, &refused), 0);
    assert_int_equal(sl_et_text_of_strings(SPAN("\x1a\x01\xff\x0a\x01x"), 3, &refused), 1);
    assert_int_equal(refused, 1);
    /* If one text is refused, a later valid text does not change this. */
    assert_int_equal(sl_et_text_of_strings(SPAN("\x0a\x01x"), 1, &refused), 1);
    assert_int_equal(refused, 1);
}

static void test_texts_of_an_attribute(void **state)
{
    struct sl_et_span name;
    struct sl_et_field value;
    int refused = 0;

    assert_int_equal(sl_et_text_of_attribute(SPAN("\xea\x01\x01v\x0a\x02it\x12\x01\x64"), &name,
                                             &value, &refused),
                     1);
    assert_int_equal(name.end - name.at, 2);
    assert_memory_equal(name.at, "it", 2);
    /* fields of type bytes, and a list of them */
    assert_int_equal(sl_et_text_of_attribute(SPAN("\xfa\x01\x01\xff\x82\x02\x03\x0a\x01\xff"),
                                             &name, &value, &refused),
                     1);
    assert_int_equal(name.end - name.at, 0);
    assert_int_equal(refused, 0);
    assert_int_equal(
        sl_et_text_of_attribute(SPAN("\x0a\x01n\xf2\x01\x02\x0a\x01"), &name, &value, &refused), 0);
    /* an invalid text is also refused if a later member of the oneof replaces it */
    assert_int_equal(
        sl_et_text_of_attribute(SPAN("\x0a\x01n\xea\x01\x01\xff\x48\x01"), &name, &value, &refused),
        1);
    assert_int_equal(refused, 1);
}

static void test_names_do_no_harm_to_a_terminal(void **state)
{
    char shown[SL_ET_TEXT_SHOWN], long_name[200];

    sl_et_text_show(shown, "a\x1b[2J\x7f\xff\xc3\xa9", 9);
    assert_string_equal(shown, "a?[2J??\xc3\xa9");
    memset(long_name, 'n', sizeof(long_name));
    sl_et_text_show(shown, long_name, sizeof(long_name));
    assert_int_equal(strlen(shown), SL_ET_TEXT_SHOWN - 1);
    sl_et_text_show(shown, "", 0);
    assert_string_equal(shown, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_strings_of_a_message),
        cmocka_unit_test(test_texts_of_an_attribute),
        cmocka_unit_test(test_names_do_no_harm_to_a_terminal),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
