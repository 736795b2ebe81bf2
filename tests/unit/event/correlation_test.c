/* correlation_test.c - the table of slots by correlation id. If memory is full, completed slots are
 * removed first, from the oldest to the newest. */
#include "test.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "event/correlation.h"

#define BYTES (20 * sizeof(struct sl_corr_page))

static struct sl_corr_table table;
static void *memory;
static uint64_t forgotten[64], forgets;

static void note(void *user, struct sl_corr_page *page)
{
    assert_ptr_equal(user, &table);
    forgotten[forgets++ % 64] = page->number;
}

static int make(void **state)
{
    memory = calloc(1, BYTES);
    forgets = 0;
    return sl_corr_init(&table, memory, BYTES, note, &table);
}

static int drop(void **state)
{
    free(memory);
    return 0;
}

static struct sl_corr_page *touch(uint64_t number)
{
    struct sl_corr_page *page;

    sl_corr_get(&table, number * SL_CORR_PAGE_IDS, &page);
    return page;
}

static void slots_keep_what_was_put(void **state)
{
    struct sl_corr_page *page, *again;
    uint64_t id;

    for (id = 0; id < 10 * SL_CORR_PAGE_IDS; id += 3)
        sl_corr_get(&table, id * 1000000007, &page)->place = (uint32_t)id + 1;
    for (id = 10 * SL_CORR_PAGE_IDS - 60; id < 10 * SL_CORR_PAGE_IDS; id++) {
        struct sl_corr_slot *slot = sl_corr_find(&table, id * 1000000007, &again);

        if (slot && id % 3 == 0)
            assert_int_equal(slot->place, id + 1);
        else if (slot)
            assert_int_equal(slot->place, 0);
    }
    assert_null(sl_corr_find(&table, 1ull << 60, &again));
}

static void the_page_done_longest_goes_first(void **state)
{
    struct sl_corr_page *page;
    uint64_t n;

    for (n = 0; n < table.pages; n++)
        touch(n);
    assert_int_equal(forgets, 0);
    /* This slot still waits, so completed slots are removed first. */
    sl_corr_wait(&table, touch(0));
    sl_corr_wait(&table, touch(1));
    sl_corr_wait_over(&table, touch(1)); /* the newest completed slot */
    for (n = 0; n < table.pages - 1; n++)
        touch(1000 + n);
    assert_int_equal(forgotten[0], 2);
    assert_int_equal(forgotten[1], 3);
    assert_int_equal(forgotten[table.pages - 2], 1);
    assert_non_null(sl_corr_find(&table, 0, &page));
}

static void when_all_wait_the_oldest_goes(void **state)
{
    struct sl_corr_page *page;
    uint64_t n;

    for (n = 0; n < table.pages; n++) {
        page = touch(n);
        sl_corr_wait(&table, page);
        page->slot[5].state = 7;
    }
    page = touch(500);
    assert_int_equal(forgets, 1);
    assert_int_equal(forgotten[0], 0);
    assert_int_equal(page->slot[5].state, 0);
    assert_int_equal(page->waiting, 0);
}

static void too_little_memory_is_refused(void **state)
{
    struct sl_corr_table t;

    assert_int_equal(sl_corr_init(&t, memory, sizeof(struct sl_corr_page), note, &t), -EINVAL);
}

#define T(name) cmocka_unit_test_setup_teardown(name, make, drop)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(slots_keep_what_was_put),
        T(the_page_done_longest_goes_first),
        T(when_all_wait_the_oldest_goes),
        T(too_little_memory_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
