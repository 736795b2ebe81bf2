/* stream_trim_test.c - what leaves long sets and long lists, and what does not. */
#include "sync/stream_state_impl.h"

#include "sync/streams.h"

enum {
    STREAMS = 200,
    MEMBERS_KEPT = 16,
    STREAMS_KEPT = 64,
    JOINING = 7000,
    FIRST = 13,
    LATER = 100000 /* microseconds: all is over */
};

/* Each stream's operation ends 5 us after its launch; `joining` is made to wait for each. */
static struct sl_stream *many(struct rig *r)
{
    struct sl_stream *joining = rig_stream(r, JOINING, 2);

    for (unsigned i = 0; i < STREAMS; i++) {
        unsigned at = 10 * (i + 1);
        struct sl_op *op = rig_push(r, rig_stream(r, FIRST + i, 2), at, at + 3, at + 5);
        struct sl_moment by = rig_call(at + 4, at + 4);
        struct sl_link link = {.op = op, .by = op->by};
        struct sl_set set = {0};

        sl_set_open(&r->streams, &set);
        sl_set_add(&r->streams, &set, &link);
        sl_stream_follow(&r->streams, joining, &set, SL_VIA_STREAM_WAIT, &by);
        sl_set_clear(&r->streams, &set);
    }
    return joining;
}

/* All that was enqueued until then was waited for by some thread. */
static void know(struct rig *r, unsigned until)
{
    r->streams.horizon_ns = LATER * US;
    r->streams.all_contexts->covered_ns = until * US;
}

static size_t collect(struct rig *r, struct sl_set *set)
{
    struct sl_moment when = rig_call(LATER, LATER);

    sl_set_clear(&r->streams, set);
    sl_set_open(&r->streams, set);
    sl_context_collect(&r->streams, r->streams.all_contexts, 0, &when, set);
    return set_size(set);
}

static size_t collect_lost(struct rig *r, uint32_t *lost)
{
    struct sl_set set = {0};
    size_t size = collect(r, &set);

    *lost = set.lost;
    sl_set_clear(&r->streams, &set);
    return size;
}

static void a_long_set_loses_what_is_past(void **state)
{
    struct rig *r = *state;
    struct sl_stream *joining = many(r);

    sl_stream_drop_past(&r->streams, joining);
    assert_int_equal(set_size(&joining->extra), STREAMS); /* nobody waited yet */
    know(r, 10 * STREAMS / 2 + 5);
    sl_stream_drop_past(&r->streams, joining);
    assert_int_equal(set_size(&joining->extra), STREAMS / 2);
    assert_null(rig_member(&joining->extra, 10 * STREAMS / 2));
    assert_non_null(rig_member(&joining->extra, 10 * STREAMS / 2 + 10));
    know(r, LATER);
    sl_stream_drop_past(&r->streams, joining);
    assert_int_equal(set_size(&joining->extra), MEMBERS_KEPT);
    assert_non_null(rig_member(&joining->extra, 10 * STREAMS)); /* the latest */
}

static void a_wait_that_is_open_may_look_for_it(void **state)
{
    struct rig *r = *state;
    struct sl_stream *joining = many(r);

    know(r, LATER);
    r->streams.waits_since_ns = (10 * STREAMS / 2 + 6) * US; /* the next ends 9 us later */
    sl_stream_drop_past(&r->streams, joining);
    assert_int_equal(set_size(&joining->extra), STREAMS / 2);
}

static void what_goes_on_stays(void **state)
{
    struct rig *r = *state;
    struct sl_stream *joining = many(r);
    struct sl_op *first = sl_streams_get(&r->streams, 0, 1, FIRST)->newest;

    know(r, LATER);
    first->pub.end_ns = 2 * LATER * US;
    sl_stream_drop_past(&r->streams, joining);
    assert_int_equal(set_size(&joining->extra), MEMBERS_KEPT + 1);
    assert_non_null(rig_member(&joining->extra, 10));
    first->pub.end_ns = 0; /* no time */
    first->no_time = 1;
    sl_stream_drop_past(&r->streams, joining);
    assert_int_equal(set_size(&joining->extra), MEMBERS_KEPT + 1);
}

/* The joining stream has no operation of its own. */
static void a_long_list_loses_what_is_past(void **state)
{
    struct rig *r = *state;
    struct sl_context *context = many(r)->context;
    uint32_t lost;

    assert_int_equal(collect_lost(r, &lost), STREAMS);
    assert_int_equal(context->left, 0);
    know(r, LATER);
    assert_int_equal(collect_lost(r, &lost), STREAMS); /* as it goes, they leave */
    assert_int_equal(context->left, STREAMS + 1 - STREAMS_KEPT);
    /* What it is made to wait for still tells of them. */
    assert_int_equal(collect_lost(r, &lost), STREAMS);
    sl_stream_drop_past(&r->streams, sl_streams_get(&r->streams, 0, 1, JOINING));
    assert_int_equal(collect_lost(r, &lost), STREAMS_KEPT - 1);
    assert_int_equal(lost, 0);
}

static void who_left_comes_back_when_used(void **state)
{
    struct rig *r = *state;
    struct sl_context *context = many(r)->context;
    struct sl_set set = {0};
    uint32_t lost;

    know(r, LATER);
    collect_lost(r, &lost);
    uint32_t left = context->left;

    rig_push(r, sl_streams_get(&r->streams, 0, 1, FIRST), LATER - 9, LATER - 5, LATER + 50);
    assert_int_equal(context->left, left - 1);
    collect(r, &set);
    assert_non_null(rig_member(&set, LATER - 9));
    sl_set_clear(&r->streams, &set);
    /* Late: before what was used last. */
    left = context->left;
    rig_push(r, sl_streams_get(&r->streams, 0, 1, FIRST + 1), 21, 26, 27);
    assert_int_equal(context->left, left - 1);
}

/* Of a stream that left nothing tells that it was not made to wait, with its whole context, since.
 */
static void what_a_context_waits_for_is_lost_for_those_that_left(void **state)
{
    struct rig *r = *state;
    struct sl_moment by = rig_call(LATER - 9, LATER - 9);
    uint32_t lost;

    many(r);
    know(r, LATER);
    collect_lost(r, &lost);
    assert_int_equal(lost, 0);
    for (unsigned i = 0; i < STREAMS_KEPT; i++) /* those in the list come later */
        rig_push(r, rig_stream(r, 8000 + i, 2), LATER - 4, LATER - 3, LATER - 2);
    sl_streams_note_unknown(&r->streams, SL_UNKNOWN_CONTEXT_WAIT, &by, 0);
    collect_lost(r, &lost);
    assert_int_equal(lost, 1u << SL_EDGE_LOST_NO_RECORD);
}

static void what_was_not_seen_keeps_it_in_the_list(void **state)
{
    struct rig *r = *state;
    struct sl_context *context = many(r)->context;
    uint32_t lost;

    know(r, LATER);
    sl_streams_ignore_call(&r->streams, (10 * STREAMS / 2 + 5) * US);
    collect_lost(r, &lost);
    uint32_t left = context->left;

    assert_in_range(left, STREAMS / 2 - STREAMS_KEPT, STREAMS / 2);
    /* Work comes to light on one that left. */
    for (unsigned i = 0; i < STREAMS && context->left == left; i++)
        sl_stream_ignore_op(&r->streams, sl_streams_get(&r->streams, 0, 1, FIRST + i), LATER * US);
    assert_int_equal(context->left, left - 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_long_set_loses_what_is_past, rig_make, rig_drop),
        cmocka_unit_test_setup_teardown(a_wait_that_is_open_may_look_for_it, rig_make, rig_drop),
        cmocka_unit_test_setup_teardown(what_goes_on_stays, rig_make, rig_drop),
        cmocka_unit_test_setup_teardown(a_long_list_loses_what_is_past, rig_make, rig_drop),
        cmocka_unit_test_setup_teardown(who_left_comes_back_when_used, rig_make, rig_drop),
        cmocka_unit_test_setup_teardown(what_a_context_waits_for_is_lost_for_those_that_left,
                                        rig_make, rig_drop),
        cmocka_unit_test_setup_teardown(what_was_not_seen_keeps_it_in_the_list, rig_make, rig_drop),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
