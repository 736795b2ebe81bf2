/* config_print_test.c - the committed page of options equals the page that the program prints. */
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "configuration_page.h"
#include "control/config.h"
#include "unit/page.h"

static char *print_to_memory(void (*print)(FILE *))
{
    static char *text;
    static size_t size;
    FILE *f = open_memstream(&text, &size);

    print(f);
    fclose(f);
    assert_non_null(text);
    return text;
}

static int count(const char *text, const char *what)
{
    int n = 0;

    while ((text = strstr(text, what))) {
        n++;
        text++;
    }
    return n;
}

static void the_committed_page_is_the_table(void **state)
{
    const char *committed = page_read("configuration.md");
    char *text = print_to_memory(sl_config_print_markdown);

    if (strcmp(text, committed))
        print_message("docs/configuration.md is old: build the target configuration_doc\n");
    assert_string_equal(text, committed);
    free(text);
}

/* The page has a row and a section for each option. No value contains `|`, which would end its
 * column. */
static void the_page_has_a_row_and_a_section_for_each_option(void **state)
{
    char *text = print_to_memory(sl_config_print_markdown), line[512];

    for (const struct sl_option *o = sl_config_table; o->name; o++) {
        snprintf(line, sizeof(line), "\n| `%s` | `%s` | %s |\n", o->name,
                 *o->fallback ? o->fallback : "(empty)", o->values);
        assert_int_equal(count(text, line), 1);
        assert_int_equal(count(line, "|"), 4);
        snprintf(line, sizeof(line), "\n## %s\n\n", o->name);
        assert_int_equal(count(text, line), 1);
        for (const struct sl_option_word *w = o->words; w && w->word; w++) {
            snprintf(line, sizeof(line), "| `%s` | %s |\n", w->word, w->help);
            assert_true(count(text, line) >= 1);
        }
    }
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_committed_page_is_the_table),
        cmocka_unit_test(the_page_has_a_row_and_a_section_for_each_option),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
