/* event_join_test.c - finds the cudaEventRecord call to which a wait for an event refers. The
 * result is the right call or none, never a wrong call. */
#include "unit/test.h"

#include <stdlib.h>
#include <string.h>

#include "write/event_join.h"

static struct sl_event_join *j;

static int make(void **state)
{
    j = calloc(1, sizeof(*j));
    return 0;
}

static int drop(void **state)
{
    free(j);
    return 0;
}

static struct sl_event event(uint64_t correlation, uint64_t sync_id, uint32_t event_id)
{
    struct sl_event ev;

    memset(&ev, 0, sizeof(ev));
    ev.correlation = correlation;
    ev.context = 1;
    ev.stream = (uint32_t)correlation % 50;
    ev.u.sync.event_sync_id = sync_id;
    ev.u.sync.event_id = event_id;
    return ev;
}

static void record(uint64_t correlation, uint64_t sync_id, uint32_t event_id)
{
    struct sl_event ev = event(correlation, sync_id, event_id);

    sl_event_join_record(j, &ev);
}

static uint64_t find(uint64_t correlation, uint64_t sync_id, uint32_t event_id)
{
    struct sl_event ev = event(correlation, sync_id, event_id);
    const struct sl_event_record *r = sl_event_join_find(j, &ev);

    return r ? r->correlation : 0;
}

static void sync_ids_name_the_record(void **state)
{
    uint64_t i;

    record(10, 1, 5);
    record(20, 2, 5); /* the same event is recorded again */
    assert_int_equal(find(15, 1, 5), 10);
    assert_int_equal(find(25, 1, 5), 10);
    assert_int_equal(find(25, 2, 5), 20);
    assert_int_equal(find(25, 3, 5), 0);
    /* Old records are forgotten. A wait for such a record finds none. */
    for (i = 3; i < 2 * SL_JOIN_RECORDS; i++)
        record(10 * i, i, 5);
    assert_int_equal(find(25, 1, 5), 0);
    assert_int_equal(find(25, SL_JOIN_RECORDS + 1, 5), 10 * (SL_JOIN_RECORDS + 1));
}

static void without_sync_ids_the_last_record_before_the_wait_counts(void **state)
{
    record(10, 0, 5);
    record(30, 0, 5);
    record(20, 0, 5); /* arrives late */
    record(25, 0, 6); /* another event */
    assert_int_equal(find(5, 0, 5), 0);
    assert_int_equal(find(15, 0, 5), 10);
    assert_int_equal(find(28, 0, 5), 20);
    assert_int_equal(find(99, 0, 5), 30);
    assert_int_equal(find(99, 0, 6), 25);
    assert_int_equal(find(99, 0, 7), 0);
}

/* An event is recorded repeatedly, and the rows of waits are delayed for a long time. Each wait
 * finds the record to which it refers. */
static void an_event_that_is_recorded_again_and_again(void **state)
{
    uint64_t i;

    for (i = 1; i <= 3 * SL_JOIN_RECORDS; i++) {
        record(20 * i, 0, 5);
        /* these events share the table's slot with the first event */
        record(20 * i + 1, 0, (uint32_t)(6 + i % 3000));
        if (i <= 300)
            continue;
        assert_int_equal(find(20 * (i - 300) + 5, 0, 5), 20 * (i - 300));
        assert_int_equal(find(20 * i + 5, 0, (uint32_t)(6 + i % 3000)), 20 * i + 1);
    }
    assert_int_equal(find(25, 0, 5), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(sync_ids_name_the_record, make, drop),
        cmocka_unit_test_setup_teardown(without_sync_ids_the_last_record_before_the_wait_counts,
                                        make, drop),
        cmocka_unit_test_setup_teardown(an_event_that_is_recorded_again_and_again, make, drop),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
