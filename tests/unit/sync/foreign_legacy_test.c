/*
 * foreign_legacy_test.c - waits for the legacy default stream in files that have no flags of
 * streams.
 *
 * Every test says the whole list of edges and of what was left out.
 */
#include "sync/job.h"

/* A kernel on the legacy stream from 15 to 60, one on another, and a wait from 20 on: is it taken
 * to have been, perhaps, for the other one? */
static int is_doubted(struct sl_edges_options opt, unsigned other_from, unsigned other_to,
                      unsigned sync_to)
{
    struct job *j = job_begin(opt);
    uint64_t own = job_kernel(j, 7, 10, 15, 60), sync;
    const struct sl_edge *edge;
    int doubted;

    job_kernel(j, 20, 13, other_from, other_to);
    sync = job_stream_sync(j, 7, 20, sync_to);
    sl_edges_flush(j->edges);
    assert_int_equal(j->count, 1);
    edge = job_edge(j, own, sync);
    assert_non_null(edge);
    assert_int_equal(edge->wait_ns, 40 * US);
    assert_int_equal(edge->released, 1);
    doubted = edge->basis == SL_BASIS_INFERRED;
    assert_true(doubted || edge->basis == SL_BASIS_EXACT);
    assert_int_equal(sl_edges_lost(j->edges, SL_EDGE_LOST_FLAG_UNKNOWN), doubted);
    assert_int_equal(job_lost(j), doubted);
    job_end(j);
    return doubted;
}

static void it_may_have_been_for_a_blocking_stream(void **state)
{
    const struct sl_edges_options foreign = {.foreign = 1};
    (void)state;
    assert_true(is_doubted(foreign, 60, 100, 105));
    assert_true(is_doubted(foreign, 61, 100, 120));
    assert_false(is_doubted(foreign, 61, 100, 121)); /* too late to be released by it */
    assert_false(is_doubted(foreign, 61, 106, 105)); /* it was not waited for */
    assert_false(is_doubted(foreign, 61, 70, 80));   /* as late as threads are */
    assert_false(is_doubted(foreign, 30, 100, 105)); /* it ran beside: it is no blocking one */
}

/* Here every blocking stream has flags. */
static void not_in_a_job(void **state)
{
    (void)state;
    assert_false(is_doubted((struct sl_edges_options){0}, 61, 100, 105));
}

/* What ran beside was an earlier one of the same stream. */
static void a_stream_that_ran_beside_is_none(void **state)
{
    struct job *j = job_begin((struct sl_edges_options){.foreign = 1});
    (void)state;
    uint64_t own = job_kernel(j, 7, 10, 15, 60);

    job_kernel(j, 20, 13, 17, 61);
    job_kernel(j, 20, 16, 61, 100);
    uint64_t sync = job_stream_sync(j, 7, 20, 105);

    sl_edges_flush(j->edges);
    assert_int_equal(j->count, 1);
    assert_wait(job_edge(j, own, sync), SL_EDGE_STREAM_SYNC, 40, 45, 1);
    assert_int_equal(job_lost(j), 0);
    job_end(j);
}

/* It ran behind, and the legacy stream would have come behind it. */
static void a_stream_that_was_overtaken_is_none(void **state)
{
    struct job *j = job_begin((struct sl_edges_options){.foreign = 1});
    (void)state;
    job_kernel(j, 20, 10, 61, 100);
    uint64_t own = job_kernel(j, 7, 13, 15, 60);
    uint64_t sync = job_stream_sync(j, 7, 20, 105);

    sl_edges_flush(j->edges);
    assert_int_equal(j->count, 1);
    assert_wait(job_edge(j, own, sync), SL_EDGE_STREAM_SYNC, 40, 45, 1);
    assert_int_equal(sl_edges_lost(j->edges, SL_EDGE_LOST_FLAG_UNKNOWN), 1); /* the operation's */
    assert_int_equal(job_lost(j), 1);
    job_end(j);
}

/* It was waited for, by an event. */
static void what_the_stream_was_made_to_wait_for_is_its_own(void **state)
{
    struct job *j = job_begin((struct sl_edges_options){.foreign = 1});
    (void)state;
    uint64_t own = job_kernel(j, 7, 10, 15, 60);
    uint64_t other = job_kernel(j, 20, 13, 61, 100);

    job_record(j, 20, 5, 1001, 15);
    job_wait_event(j, 7, 5, 1001, 16);
    uint64_t sync = job_stream_sync(j, 7, 20, 105);

    sl_edges_flush(j->edges);
    assert_int_equal(j->count, 2);
    assert_wait(job_edge(j, own, sync), SL_EDGE_STREAM_SYNC, 40, 45, 0);
    assert_wait(job_edge(j, other, sync), SL_EDGE_STREAM_SYNC, 80, 5, 1);
    assert_int_equal(job_lost(j), 0);
    job_end(j);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_may_have_been_for_a_blocking_stream),
        cmocka_unit_test(not_in_a_job),
        cmocka_unit_test(a_stream_that_ran_beside_is_none),
        cmocka_unit_test(a_stream_that_was_overtaken_is_none),
        cmocka_unit_test(what_the_stream_was_made_to_wait_for_is_its_own),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
