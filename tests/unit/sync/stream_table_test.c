/* stream_table_test.c - streams are made when named, found again, and give their place to others
 * once they have run dry. */
#include "sync/streams.h"

static void a_stream_is_found_by_its_context_and_id(void **state)
{
    struct rig *r = *state;
    struct sl_streams *s = &r->streams;
    struct sl_stream *a = sl_streams_get(s, 0, 1, 13), *other = sl_streams_get(s, 0, 2, 13);

    assert_ptr_not_equal(a, other);
    assert_ptr_equal(sl_streams_get(s, 0, 1, 13), a);
    assert_ptr_equal(sl_streams_at(s, a->number), a);
    assert_ptr_equal(sl_streams_at(s, other->number), other);
    /* The same ids on another device are another process's, unless there is but one. */
    assert_ptr_not_equal(sl_streams_get(s, 1, 1, 13), a);
}

static void in_one_process_a_context_is_told_by_its_id_alone(void **state)
{
    struct rig *r = *state;

    r->streams.one_process = 1;
    assert_ptr_equal(sl_streams_get(&r->streams, 1, 1, 13), sl_streams_get(&r->streams, 0, 1, 13));
}

static void flags_are_kept_whether_or_not_the_stream_is_there(void **state)
{
    struct rig *r = *state;
    struct sl_streams *s = &r->streams;

    sl_streams_flags(s, 0, 1, 13, SL_STREAM_FLAG_NON_BLOCKING);
    assert_int_equal(sl_streams_get(s, 0, 1, 13)->flags, SL_STREAM_FLAG_NON_BLOCKING);
    sl_streams_flags(s, 0, 1, 13, 99); /* none of CUPTI's */
    assert_int_equal(sl_streams_get(s, 0, 1, 13)->flags, SL_STREAM_FLAG_NON_BLOCKING);
    assert_null(sl_streams_get(s, 0, 1, 14)->context->legacy);
    sl_streams_flags(s, 0, 1, 14, SL_STREAM_FLAG_LEGACY);
    assert_ptr_equal(sl_streams_get(s, 0, 1, 13)->context->legacy, sl_streams_get(s, 0, 1, 14));
}

static void a_context_has_one_stream_that_stands_for_it(void **state)
{
    struct rig *r = *state;
    struct sl_streams *s = &r->streams;
    struct sl_context *context = sl_streams_get(s, 0, 1, 13)->context;
    struct sl_stream *any = sl_context_any(s, context);

    assert_int_equal(any->id, SL_STREAM_NONE);
    assert_ptr_equal(sl_context_any(s, context), any);
    assert_ptr_equal(sl_streams_get(s, 0, 1, SL_STREAM_NONE), any);
}

/* Streams 1000... up to as many as there should be; the first has an operation that ends at
 * `end_us`. */
static struct sl_stream *fill(struct rig *r, unsigned end_us)
{
    struct sl_streams *s = &r->streams;
    struct sl_stream *first = rig_stream(r, 1000, SL_STREAM_FLAG_NON_BLOCKING);

    rig_push(r, first, 10, 20, end_us);
    for (uint32_t id = 1001; s->count < s->most; id++)
        assert_non_null(rig_stream(r, id, SL_STREAM_FLAG_NON_BLOCKING));
    /* Once round, so that none counts as just used. */
    for (size_t i = 0; i < s->count; i++)
        s->numbered[i]->touched = 0;
    return first;
}

static void one_that_has_run_dry_gives_its_place(void **state)
{
    struct rig *r = *state;
    struct sl_streams *s = &r->streams;
    uint32_t place = fill(r, 30)->number;
    size_t count = s->count;
    struct sl_stream *next;

    s->horizon_ns = 1000000 * US;
    next = sl_streams_get(s, 0, 1, 7000000);
    assert_non_null(next);
    assert_int_equal(next->number, place);
    assert_int_equal(s->count, count);
    /* Used again it is a new one, with the flags that were told. */
    assert_int_equal(sl_streams_get(s, 0, 1, 1000)->flags, SL_STREAM_FLAG_NON_BLOCKING);
    assert_null(sl_streams_get(s, 0, 1, 1000)->newest);
}

/* A call that comes later than any may have waited for what it held. */
static void what_a_late_call_lacks_is_counted(void **state)
{
    struct rig *r = *state;
    struct sl_streams *s = &r->streams;
    struct sl_context *context = fill(r, 30)->context;
    struct sl_moment late = rig_call(25, 25), when = rig_call(2000000, 2000000);
    struct sl_set set = {0};

    s->horizon_ns = 1000000 * US;
    assert_non_null(sl_streams_get(s, 0, 1, 7000000));
    for (int i = 0; i < 2; i++) {
        const struct sl_moment *asks = i ? &late : &when;

        sl_set_open(s, &set);
        sl_context_collect(s, context, 0, asks, &set);
        assert_int_equal(set.lost, i ? 1u << SL_EDGE_LOST_GAVE_UP : 0);
        sl_set_clear(s, &set);
        sl_set_open(s, &set);
        sl_stream_collect(s, sl_streams_get(s, 0, 1, 1000), 0, asks, &set); /* it is a new one */
        assert_int_equal(set.lost, i ? 1u << SL_EDGE_LOST_GAVE_UP : 0);
        sl_set_clear(s, &set);
    }
}

static void one_that_may_still_be_waited_for_stays(void **state)
{
    struct rig *r = *state;
    struct sl_streams *s = &r->streams;
    struct sl_stream *first = fill(r, 900000);

    s->horizon_ns = 800000 * US; /* its operation has not ended by then */
    assert_non_null(sl_streams_get(s, 0, 1, 7000000));
    assert_ptr_equal(sl_streams_get(s, 0, 1, 1000), first);
    assert_non_null(first->newest);
}

static void one_that_a_record_names_stays(void **state)
{
    struct rig *r = *state;
    struct sl_streams *s = &r->streams;
    struct sl_stream *first = fill(r, 30);

    first->held = 1;
    s->horizon_ns = 1000000 * US;
    assert_non_null(sl_streams_get(s, 0, 1, 7000000));
    assert_ptr_equal(sl_streams_get(s, 0, 1, 1000), first);
    first->held = 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_stream_is_found_by_its_context_and_id, rig_make,
                                        rig_drop),
        cmocka_unit_test_setup_teardown(in_one_process_a_context_is_told_by_its_id_alone, rig_make,
                                        rig_drop),
        cmocka_unit_test_setup_teardown(flags_are_kept_whether_or_not_the_stream_is_there, rig_make,
                                        rig_drop),
        cmocka_unit_test_setup_teardown(a_context_has_one_stream_that_stands_for_it, rig_make,
                                        rig_drop),
        cmocka_unit_test_setup_teardown(one_that_has_run_dry_gives_its_place, rig_make, rig_drop),
        cmocka_unit_test_setup_teardown(what_a_late_call_lacks_is_counted, rig_make, rig_drop),
        cmocka_unit_test_setup_teardown(one_that_may_still_be_waited_for_stays, rig_make, rig_drop),
        cmocka_unit_test_setup_teardown(one_that_a_record_names_stays, rig_make, rig_drop),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
