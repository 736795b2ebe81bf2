/* stats_test.c - every counter works, has its own name and help text, and is in the
 * documentation. */
#include "test.h"

#include <string.h>

#include "base/stats.h"
#include "unit/page.h"

static void every_counter_is_named_once(void **state)
{
    for (int i = 0; i < SL_STAT_COUNT; i++) {
        const char *name = sl_stats_name((enum sl_stat)i);

        assert_non_null(name);
        assert_true(strspn(name, "abcdefghijklmnopqrstuvwxyz_") == strlen(name));
        assert_true(strlen(sl_stats_help(name)) > 10);
        for (int j = 0; j < i; j++)
            assert_string_not_equal(name, sl_stats_name((enum sl_stat)j));
    }
    assert_string_equal(sl_stats_name(SL_STAT_DROPPED_RING), "dropped_ring");
    assert_string_equal(sl_stats_name(SL_STAT_CUPTI_ERRORS), "cupti_errors");
    assert_null(sl_stats_help("of_another_version"));
}

static void a_page_has(const char *page, const char *before, const char *name, const char *behind)
{
    char wanted[128];

    snprintf(wanted, sizeof(wanted), "%s%s%s", before, name, behind);
    if (!strstr(page_read(page), wanted))
        fail_msg("docs/%s does not say %s", page, wanted);
}

/* Every counter is in the documentation. For counters of omitted sync edges, the documentation has
 * the reason instead of the counter's name. */
static void every_counter_is_in_the_docs(void **state)
{
    static const char lost[] = "edges_lost_";
    const size_t length = sizeof(lost) - 1;

    for (int i = 0; i < SL_STAT_COUNT; i++) {
        const char *name = sl_stats_name((enum sl_stat)i);

        if (strncmp(name, lost, length))
            a_page_has("trace-format.md", "`", name, "`");
        else
            a_page_has("sync-edges.md", "\n| `", name + length, "` |");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_counter_is_named_once),
        cmocka_unit_test(every_counter_is_in_the_docs),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
