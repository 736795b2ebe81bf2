/* stream_state_test.c - tails at any moment, legacy order, what is not known. */
#include "sync/streams.h"

/* What a wait of thread 200, from `at` on, is for; not what is enqueued during it by others. */
static struct sl_moment look(uint64_t correlation, unsigned at)
{
    struct sl_moment when = rig_call(correlation, at);

    when.thread = 200;
    return when;
}

static void collect(struct rig *r, struct sl_stream *stream, struct sl_moment when,
                    struct sl_set *set)
{
    sl_set_clear(&r->streams, set);
    sl_set_open(&r->streams, set);
    sl_stream_collect(&r->streams, stream, 0, &when, set);
}

static void a_tail_is_what_it_was_when_asked(void **state)
{
    struct rig *r = *state;
    struct sl_stream *a = rig_stream(r, 13, 2);
    struct sl_set set = {0};

    rig_push(r, a, 10, 20, 30);
    rig_push(r, a, 40, 50, 60);
    collect(r, a, look(45, 45), &set);
    assert_non_null(rig_member(&set, 40));
    collect(r, a, look(20, 20), &set);
    assert_int_equal(set_size(&set), 1);
    assert_non_null(rig_member(&set, 10));
    collect(r, a, look(5, 5), &set);
    assert_int_equal(set_size(&set), 0);
    assert_int_equal(set.lost, 0);
    sl_set_clear(&r->streams, &set);
}

/* The set before an operation is the operation's, wherever the operation is told. */
static void what_came_late_finds_its_place(void **state)
{
    struct rig *r = *state;
    struct sl_stream *a = rig_stream(r, 13, 2), *b = rig_stream(r, 14, 2);
    struct sl_set waited = {0}, before = {0};
    struct sl_link link = {.op = rig_push(r, b, 10, 20, 90)};
    struct sl_moment wait = rig_call(12, 12);

    rig_push(r, a, 11, 15, 18);
    sl_set_open(&r->streams, &waited);
    sl_set_add(&r->streams, &waited, &link);
    sl_stream_follow(&r->streams, a, &waited, SL_VIA_STREAM_WAIT, &wait);
    sl_set_clear(&r->streams, &waited);
    /* the second operation behind the wait is told first */
    rig_push(r, a, 30, 110, 120);
    rig_push_by(r, a, rig_call(20, 20), 92, 100, &before);
    assert_int_equal(a->newest->pub.correlation, 30);
    assert_int_equal(a->newest->older->pub.correlation, 20);
    sl_set_clear(&r->streams, &before);
    collect(r, a, look(16, 16), &waited);
    assert_int_equal(set_size(&waited), 2);
    assert_non_null(rig_member(&waited, 10));
    assert_non_null(rig_member(&waited, 11));
    sl_set_clear(&r->streams, &waited);
}

static void the_same_record_twice_is_one_operation(void **state)
{
    struct rig *r = *state;
    struct sl_stream *a = rig_stream(r, 13, 2);

    assert_non_null(rig_push(r, a, 10, 20, 30));
    assert_null(rig_push(r, a, 10, 20, 30));
    assert_null(a->newest->older);
}

static void legacy_order_adds_blocking_streams(void **state)
{
    struct rig *r = *state;
    struct sl_stream *legacy = rig_stream(r, SL_STREAM_LEGACY, 0);
    struct sl_stream *blocking = rig_stream(r, 13, 1), *apart = rig_stream(r, 14, 2);
    struct sl_set set = {0};

    rig_push(r, blocking, 10, 20, 30);
    rig_push(r, apart, 12, 20, 90);
    collect(r, legacy, look(16, 16), &set);
    assert_int_equal(set_size(&set), 1);
    assert_int_equal(rig_member(&set, 10)->via, SL_VIA_LEGACY);
    rig_push(r, legacy, 20, 31, 40);
    collect(r, legacy, look(24, 24), &set);
    assert_int_equal(set_size(&set), 1); /* the legacy operation stands for what it came behind */
    assert_non_null(rig_member(&set, 20));
    collect(r, blocking, look(25, 25), &set);
    assert_int_equal(set_size(&set), 2);
    assert_int_equal(rig_member(&set, 20)->via, SL_VIA_LEGACY);
    collect(r, apart, look(26, 26), &set);
    assert_int_equal(set_size(&set), 1);
    assert_non_null(rig_member(&set, 12));
    sl_set_clear(&r->streams, &set);
}

/* What another thread does after the moment in question makes neither stream's past new. */
static void legacy_order_names_nothing_twice(void **state)
{
    struct rig *r = *state;
    struct sl_stream *legacy = rig_stream(r, SL_STREAM_LEGACY, 0);
    struct sl_stream *blocking = rig_stream(r, 13, 1);
    struct sl_set set = {0};

    rig_push(r, legacy, 10, 20, 30);
    rig_push(r, blocking, 14, 31, 40);
    rig_push(r, legacy, 50, 60, 70);
    collect(r, blocking, look(20, 20), &set);
    assert_int_equal(set_size(&set), 1);
    assert_non_null(rig_member(&set, 14));
    rig_push(r, blocking, 60, 71, 80);
    collect(r, legacy, look(55, 55), &set);
    assert_int_equal(set_size(&set), 1);
    assert_non_null(rig_member(&set, 50));
    sl_set_clear(&r->streams, &set);
}

static void a_context_has_all_its_streams_and_no_others(void **state)
{
    struct rig *r = *state;
    struct sl_stream *a = rig_stream(r, 13, 2), *b = rig_stream(r, 14, 2);
    struct sl_stream *elsewhere = sl_streams_get(&r->streams, 0, 2, 13);
    struct sl_moment when = look(40, 40);
    struct sl_set set = {0};

    assert_ptr_not_equal(a, elsewhere);
    rig_push(r, a, 10, 20, 30);
    rig_push(r, b, 12, 20, 30);
    rig_push(r, elsewhere, 14, 20, 30);
    sl_set_open(&r->streams, &set);
    sl_context_collect(&r->streams, a->context, 0, &when, &set);
    assert_int_equal(set_size(&set), 2);
    assert_null(rig_member(&set, 14));
    sl_set_clear(&r->streams, &set);
    /* those used since alone: the call of 12 returned at 14 us */
    sl_set_open(&r->streams, &set);
    sl_context_collect(&r->streams, a->context, 13 * US, &when, &set);
    assert_int_equal(set_size(&set), 1);
    assert_non_null(rig_member(&set, 12));
    sl_set_clear(&r->streams, &set);
}

static void what_was_not_seen_is_said(void **state)
{
    struct rig *r = *state;
    const uint32_t unseen = 1u << SL_EDGE_LOST_BEFORE_WINDOW;
    struct sl_set set = {0};

    r->streams.unseen = 1;
    struct sl_stream *a = rig_stream(r, 13, 2), *b = rig_stream(r, 14, 2);

    collect(r, a, look(5, 5), &set);
    assert_int_equal(set.lost, unseen);
    rig_push(r, a, 10, 20, 30);
    collect(r, a, look(20, 20), &set);
    assert_int_equal(set.lost, 0); /* known again after its first operation */
    collect(r, b, look(20, 20), &set);
    assert_int_equal(set.lost, unseen);
    struct sl_moment wait = look(21, 21); /* or a wait for all of it, which returned at 23 us */

    sl_stream_covered(&r->streams, b, &wait);
    sl_context_covered(&r->streams, a->context, &wait);
    collect(r, b, look(24, 24), &set);
    assert_int_equal(set.lost, 0);
    collect(r, b, look(22, 22), &set); /* it had not, yet */
    assert_int_equal(set.lost, unseen);
    sl_streams_forget(&r->streams);
    collect(r, a, look(40, 40), &set);
    assert_int_equal(set_size(&set), 0);
    assert_int_equal(set.lost, unseen);
    sl_set_clear(&r->streams, &set);
}

/* What it waits for is not known: over with the wait for all of it that began after that. */
static void what_was_lost_is_over_with_a_wait(void **state)
{
    struct rig *r = *state;
    struct sl_stream *a = rig_stream(r, 13, 2);
    const struct sl_set unknown = {.lost = 1u << SL_EDGE_LOST_NO_RECORD};
    struct sl_moment by = rig_call(11, 11), early = look(10, 10), wait = look(14, 14);
    struct sl_set set = {0};

    rig_push(r, a, 10, 20, 30);
    sl_stream_follow(&r->streams, a, &unknown, SL_VIA_STREAM_WAIT, &by);
    sl_stream_covered(&r->streams, a, &early);
    collect(r, a, look(20, 20), &set);
    assert_int_equal(set.lost, unknown.lost);
    sl_stream_covered(&r->streams, a, &wait); /* returned at 16 us */
    collect(r, a, look(15, 15), &set);
    assert_int_equal(set.lost, unknown.lost);
    collect(r, a, look(16, 16), &set);
    assert_int_equal(set.lost, 0);
    assert_non_null(rig_member(&set, 10));
    by = rig_call(17, 17);
    sl_stream_follow(&r->streams, a, &unknown, SL_VIA_STREAM_WAIT, &by);
    collect(r, a, look(20, 20), &set);
    assert_int_equal(set.lost, unknown.lost);
    sl_set_clear(&r->streams, &set);
}

/* A wait before it covers nothing, although when it was is not known. */
static void what_was_lost_by_a_call_without_a_record_is_not_over(void **state)
{
    struct rig *r = *state;
    struct sl_stream *a = rig_stream(r, 13, 2);
    const struct sl_set unknown = {.lost = 1u << SL_EDGE_LOST_NO_RECORD};
    struct sl_moment by = {.correlation = 20}, wait = look(14, 14);
    struct sl_set set = {0};

    rig_push(r, a, 10, 11, 13);
    r->streams.horizon_ns = 14 * US;
    sl_stream_covered(&r->streams, a, &wait);
    sl_stream_follow(&r->streams, a, &unknown, SL_VIA_STREAM_WAIT, &by);
    collect(r, a, look(30, 30), &set);
    assert_int_equal(set.lost, unknown.lost);
    wait = look(31, 31);
    sl_stream_covered(&r->streams, a, &wait);
    collect(r, a, look(40, 40), &set);
    assert_int_equal(set.lost, 0);
    sl_set_clear(&r->streams, &set);
}

/* One that began before all that is kept is what its call did all the same. */
static void what_is_pushed_outlives_a_look_for_old_ones(void **state)
{
    struct rig *r = *state;
    struct sl_stream *a = rig_stream(r, 13, 2);
    const struct sl_op *op;

    for (unsigned i = 10; i < 13; i++)
        rig_push(r, a, i, 10 * i, 10 * i + 5);
    r->streams.horizon_ns = 1000 * US;
    op = rig_push(r, a, 13, 50, 55); /* the fourth: time for a look */
    assert_non_null(op);
    assert_int_equal(op->pub.correlation, 13);
    assert_int_equal(op->pub.end_ns, 55 * US);
    for (unsigned i = 14; i < 30; i++)
        rig_push(r, a, i, 10 * i, 10 * i + 5);
    assert_true(a->kept <= 8);
}

/* Another thread made the stream wait while the operation was launched there: which came first? */
static void one_launched_while_its_stream_is_made_to_wait_overlaps(void **state)
{
    struct rig *r = *state;
    struct sl_stream *a = rig_stream(r, 13, 2), *b = rig_stream(r, 14, 2);
    struct sl_moment waits = {
        .correlation = 20, .from_ns = 20 * US, .to_ns = 30 * US, .thread = 101};
    struct sl_set set = {0}, before = {0};

    rig_push(r, a, 10, 20, 70);
    collect(r, a, look(12, 12), &set);
    sl_stream_follow(&r->streams, b, &set, SL_VIA_STREAM_WAIT, &waits);
    rig_push_by(r, b, rig_call(25, 25), 80, 90, &before);
    assert_int_equal(rig_member(&before, 10)->overlapping, 1);
    sl_set_clear(&r->streams, &before);
    waits.correlation = 40; /* and one that had returned */
    sl_stream_follow(&r->streams, b, &set, SL_VIA_STREAM_WAIT, &waits);
    rig_push_by(r, b, rig_call(41, 41), 91, 95, &before);
    assert_int_equal(rig_member(&before, 10)->overlapping, 0);
    sl_set_clear(&r->streams, &before);
    sl_set_clear(&r->streams, &set);
}

/* However long a stream works, it keeps what a wait may look behind, and that is little. */
static void history_is_forgotten(void **state)
{
    struct rig *r = *state;
    struct sl_stream *a = rig_stream(r, 13, 2);
    size_t used = 0;

    for (unsigned i = 1; i <= 100000; i++) {
        rig_push(r, a, 10 * i, 10 * i + 5, 10 * i + 9);
        r->streams.horizon_ns = 10 * i * US;
        assert_true(a->kept <= 16);
        if (i == 100)
            used = r->store.used_bytes;
    }
    assert_int_equal(r->store.used_bytes, used);
    assert_true(a->trimmed);
    /* older than all that is kept: it is nobody's tail */
    assert_null(rig_push(r, a, 5, 6, 7));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_tail_is_what_it_was_when_asked, rig_make, rig_drop),
        cmocka_unit_test_setup_teardown(what_came_late_finds_its_place, rig_make, rig_drop),
        cmocka_unit_test_setup_teardown(the_same_record_twice_is_one_operation, rig_make, rig_drop),
        cmocka_unit_test_setup_teardown(legacy_order_adds_blocking_streams, rig_make, rig_drop),
        cmocka_unit_test_setup_teardown(legacy_order_names_nothing_twice, rig_make, rig_drop),
        cmocka_unit_test_setup_teardown(a_context_has_all_its_streams_and_no_others, rig_make,
                                        rig_drop),
        cmocka_unit_test_setup_teardown(what_was_lost_is_over_with_a_wait, rig_make, rig_drop),
        cmocka_unit_test_setup_teardown(what_was_lost_by_a_call_without_a_record_is_not_over,
                                        rig_make, rig_drop),
        cmocka_unit_test_setup_teardown(what_is_pushed_outlives_a_look_for_old_ones, rig_make,
                                        rig_drop),
        cmocka_unit_test_setup_teardown(what_was_not_seen_is_said, rig_make, rig_drop),
        cmocka_unit_test_setup_teardown(one_launched_while_its_stream_is_made_to_wait_overlaps,
                                        rig_make, rig_drop),
        cmocka_unit_test_setup_teardown(history_is_forgotten, rig_make, rig_drop),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
