/* event_state_test.c - which record a wait finds, and which records are kept. */
#include "sync/event_state.h"

#include <errno.h>

#include "sync/streams.h"

enum {
    CONTEXT = 1,
    EVENT = 5
};

/* NULL: it was known already. */
static struct sl_record *put(struct sl_records *records, uint32_t context, uint32_t event,
                             uint64_t sync_id, uint64_t correlation)
{
    struct sl_record *record = NULL;
    struct sl_moment by = {.correlation = correlation};
    int err = sl_records_put(records, context, event, sync_id, &by, &record);

    assert_int_equal(err, record ? 0 : -EEXIST);
    return record;
}

/* For a call that asks, all others being over. */
static const struct sl_record *find(const struct sl_records *records, uint32_t context,
                                    uint32_t event, uint64_t sync_id, uint64_t correlation)
{
    struct sl_moment when = {.correlation = correlation};
    int overlaps = 0;
    const struct sl_record *found =
        sl_records_find(records, context, event, sync_id, &when, &overlaps);

    assert_false(overlaps);
    return found;
}

static void by_sync_id_where_there_is_one(void **state)
{
    struct rig *r = *state;
    struct sl_records records;

    sl_records_init(&records, &r->streams);
    struct sl_record *first = put(&records, CONTEXT, EVENT, 101, 10);
    struct sl_record *again = put(&records, CONTEXT, EVENT, 102, 20);

    assert_non_null(first);
    assert_non_null(again);
    assert_null(put(&records, CONTEXT, EVENT, 102, 20)); /* told twice */
    assert_ptr_equal(find(&records, CONTEXT, EVENT, 101, 30), first);
    assert_ptr_equal(find(&records, CONTEXT, EVENT, 102, 30), again);
    assert_ptr_equal(find(&records, 9, 0, 102, 30), again); /* from elsewhere */
    assert_null(find(&records, CONTEXT, EVENT, 103, 30));
    sl_records_free(&records);
}

static void else_the_last_before_the_call_that_asks(void **state)
{
    struct rig *r = *state;
    struct sl_records records;

    sl_records_init(&records, &r->streams);
    struct sl_record *again = put(&records, CONTEXT, EVENT, 0, 20);
    struct sl_record *first = put(&records, CONTEXT, EVENT, 0, 10); /* came late */

    assert_null(put(&records, CONTEXT, EVENT, 0, 20));
    assert_null(find(&records, CONTEXT, EVENT, 0, 5));
    assert_ptr_equal(find(&records, CONTEXT, EVENT, 0, 15), first);
    assert_ptr_equal(find(&records, CONTEXT, EVENT, 0, 25), again);
    assert_null(find(&records, CONTEXT, EVENT + 1, 0, 25));
    assert_null(find(&records, CONTEXT + 1, EVENT, 0, 25));
    assert_true(sl_records_elsewhere(&records, CONTEXT + 1, EVENT));
    assert_false(sl_records_elsewhere(&records, CONTEXT, EVENT));
    assert_false(sl_records_elsewhere(&records, CONTEXT + 1, EVENT + 1));
    sl_records_free(&records);
}

/* Nobody can wait for it, and it takes no room. */
static void what_nothing_names_is_no_record(void **state)
{
    struct rig *r = *state;
    struct sl_records records;
    struct sl_record *record;

    sl_records_init(&records, &r->streams);
    for (uint64_t i = 1; i <= 1000; i++) {
        struct sl_moment by = {.correlation = i};

        assert_int_equal(sl_records_put(&records, CONTEXT, 0, 0, &by, &record), -EINVAL);
    }
    assert_int_equal(records.count, 0);
    assert_int_equal(records.context_of.slots, 0);
    sl_records_free(&records);
}

static void an_event_keeps_its_last_two(void **state)
{
    struct rig *r = *state;
    struct sl_records records;

    sl_records_init(&records, &r->streams);
    for (uint64_t i = 1; i <= 1000; i++)
        assert_non_null(put(&records, CONTEXT, EVENT, 100 + i, i));
    assert_int_equal(records.count, 2);
    assert_non_null(find(&records, CONTEXT, EVENT, 1100, 2000));
    assert_non_null(find(&records, CONTEXT, EVENT, 1099, 2000));
    assert_null(find(&records, CONTEXT, EVENT, 1098, 2000));
    sl_records_free(&records);
}

/* A program that makes an event for everything does not grow us. */
static void the_oldest_are_forgotten(void **state)
{
    struct rig *r = *state;
    struct sl_records records;
    uint32_t last;

    sl_records_init(&records, &r->streams);
    for (last = 1; last <= 20000; last++)
        assert_non_null(put(&records, CONTEXT, last, 0, last));
    last--;
    assert_int_equal(records.count, records.most);
    assert_non_null(find(&records, CONTEXT, last, 0, 30000));
    assert_null(find(&records, CONTEXT, 1, 0, 30000));
    assert_non_null(find(&records, CONTEXT, last - (uint32_t)records.most + 1, 0, 30000));
    assert_null(find(&records, CONTEXT, last - (uint32_t)records.most, 0, 30000));
    sl_records_forget(&records);
    assert_int_equal(records.count, 0);
    assert_null(find(&records, CONTEXT, last, 0, 30000));
    assert_int_equal(records.by_event.used, 0);
    assert_int_equal(records.context_of.used, 0);
    sl_records_free(&records);
}

/* What an event of many streams stands for takes the room of many others. */
static void one_of_many_members_takes_the_room_of_many(void **state)
{
    struct rig *r = *state;
    struct sl_records records;
    struct sl_op *op[100];
    uint32_t last;

    sl_records_init(&records, &r->streams);
    for (unsigned i = 0; i < 100; i++)
        op[i] = rig_push(r, rig_stream(r, 13 + i, 2), 1 + i, 200, 300);
    for (last = 1; last <= 2000; last++) {
        struct sl_record *record = put(&records, CONTEXT, last, 0, last);
        struct sl_set set = {0};

        sl_set_open(&r->streams, &set);
        for (unsigned i = 0; i < 100; i++)
            sl_set_add(&r->streams, &set, &(struct sl_link){.op = op[i]});
        assert_int_equal(set.lost, 0);
        sl_records_fill(&records, record, &set);
    }
    last--;
    assert_in_range(records.count, records.most / 100, records.most / 100 + 1);
    assert_int_equal(set_size(&find(&records, CONTEXT, last, 0, 30000)->set), 100);
    assert_null(find(&records, CONTEXT, last - (uint32_t)records.count, 0, 30000));
    sl_records_forget(&records);
    assert_int_equal(records.more, 0);
    sl_records_free(&records);
}

/* A record keeps the operations it stands for. */
static void forgetting_lets_operations_go(void **state)
{
    struct rig *r = *state;
    struct sl_stream *stream = rig_stream(r, 13, 2);
    struct sl_op *op = rig_push(r, stream, 10, 20, 30);
    struct sl_link link = {.op = op};
    struct sl_records records;

    sl_records_init(&records, &r->streams);
    struct sl_record *record = put(&records, CONTEXT, EVENT, 7, 12);

    sl_set_open(&r->streams, &record->set);
    sl_set_add(&r->streams, &record->set, &link);
    assert_int_equal(op->refs, 2);
    sl_records_forget(&records);
    assert_int_equal(op->refs, 1);
    sl_records_free(&records);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(by_sync_id_where_there_is_one, rig_make, rig_drop),
        cmocka_unit_test_setup_teardown(else_the_last_before_the_call_that_asks, rig_make,
                                        rig_drop),
        cmocka_unit_test_setup_teardown(an_event_keeps_its_last_two, rig_make, rig_drop),
        cmocka_unit_test_setup_teardown(what_nothing_names_is_no_record, rig_make, rig_drop),
        cmocka_unit_test_setup_teardown(the_oldest_are_forgotten, rig_make, rig_drop),
        cmocka_unit_test_setup_teardown(one_of_many_members_takes_the_room_of_many, rig_make,
                                        rig_drop),
        cmocka_unit_test_setup_teardown(forgetting_lets_operations_go, rig_make, rig_drop),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
