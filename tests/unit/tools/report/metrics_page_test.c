/* metrics_page_test.c - the committed page of metrics equals the page that the program prints. */
#include "unit/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "metrics_page.h"
#include "unit/page.h"

static void the_committed_page_is_the_table(void **state)
{
    const char *committed = page_read("metrics.md");
    char *text;
    size_t size;
    FILE *f = open_memstream(&text, &size);

    assert_non_null(f);
    sl_metrics_print_markdown(f);
    fclose(f);
    if (strcmp(text, committed))
        print_message("docs/metrics.md is old: build the target metrics_doc\n");
    assert_string_equal(text, committed);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_committed_page_is_the_table),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
