/*
 * edge_memory_test.c - the engine's bound: what comes and goes takes no memory, and what finds no
 * room is counted and claims nothing.
 */
#include "sync/job.h"

#include "sync/stream_state.h"

/* Each of a stream of its own, far more than the memory has room for. */
static void what_comes_late_of_forgotten_calls_keeps_no_stream(void **state)
{
    struct job *j = job_begin((struct sl_edges_options){.cap_bytes = 3 << 20, .online = 1});
    (void)state;
    job_kernel(j, 13, 10, 15, 60);
    sl_edges_forget(j->edges, SL_EDGE_LOST_GAVE_UP);
    for (uint32_t i = 0; i < 100000; i++)
        job_ran(j, 1000 + i, 15, 60);
    assert_int_equal(sl_edges_lost(j->edges, SL_EDGE_LOST_MEMORY), 0);
    job_end(j);
}

/* A program that makes a stream for everything it does, an event beside it, and takes both away: a
 * bound far below what all of them would need, and a few streams that stay. */
static void streams_that_come_and_go_give_their_memory_back(void **state)
{
    enum {
        STREAMS = 400000,
        LIVE = 50
    };
    struct job *j = job_begin((struct sl_edges_options){.cap_bytes = 3 << 20, .online = 1});
    unsigned at = 10;
    (void)state;

    job_stream(j, 8, 1); /* blocking, used at the beginning and the end */
    job_kernel(j, 8, at, at + 1, at + 4);
    for (uint32_t i = 0; i < LIVE; i++)
        job_stream(j, 100 + i, 2);
    for (uint32_t i = 0; i < STREAMS; i++, at += 40) {
        uint32_t stream = 1000 + i;
        uint64_t kernel, sync, next;

        j->count = 0;
        job_stream(j, stream, 2);
        kernel = job_kernel(j, stream, at, at + 4, at + 10);
        job_record(j, stream, i + 1, i + 1, at + 3);
        job_wait_event(j, 100 + i % LIVE, i + 1, i + 1, at + 4);
        next = job_kernel(j, 100 + i % LIVE, at + 5, at + 11, at + 20);
        sync = job_stream_sync(j, stream, at + 8, at + 12);
        uint64_t last = job_stream_sync(j, 100 + i % LIVE, at + 12, at + 25);

        sl_edges_delivered(j->edges, (uint64_t)(at + 39) * US);
        assert_int_equal(j->count, 3);
        assert_wait(job_edge(j, kernel, sync), SL_EDGE_STREAM_SYNC, 2, 2, 1);
        assert_wait(job_edge(j, kernel, next), SL_EDGE_STREAM_WAIT, 3, 1, 1);
        assert_wait(job_edge(j, next, last), SL_EDGE_STREAM_SYNC, 8, 5, 1);
    }
    /* Its flag is known still: the legacy default stream comes behind it, and behind no other. */
    j->count = 0;
    uint64_t again = job_kernel(j, 8, at, at + 2, at + 30);
    uint64_t legacy = job_kernel(j, 7, at + 3, at + 31, at + 33);

    job_kernel(j, 1000, at + 6, at + 8, at + 9);
    sl_edges_flush(j->edges);
    assert_int_equal(j->count, 1);
    assert_wait(job_edge(j, again, legacy), SL_EDGE_LEGACY_DEFAULT, 25, 1, 1);
    assert_int_equal(job_lost(j), 0);
    job_end(j);
}

static void at_the_cap_edges_are_missing_and_counted(void **state)
{
    struct job *j = job_begin((struct sl_edges_options){.cap_bytes = 1 << 20});
    unsigned at = 10;
    (void)state;
    for (unsigned i = 0; i < 100000; i++, at += 10)
        job_kernel(j, 13, at, at + 3, at + 8);
    assert_true(sl_edges_lost(j->edges, SL_EDGE_LOST_MEMORY) > 0);
    sl_edges_delivered(j->edges, (uint64_t)at * US);
    uint64_t last = job_kernel(j, 13, at, at + 3, at + 80);
    uint64_t sync = job_stream_sync(j, 13, at + 5, at + 85);

    sl_edges_flush(j->edges);
    assert_int_equal(j->count, 1);
    assert_wait(job_edge(j, last, sync), SL_EDGE_STREAM_SYNC, 75, 5, 1);
    job_end(j);
}

/* Tens of thousands of nodes under way, all enqueued long before the first ends. */
static void operations_without_room_are_nobodys_tail(void **state)
{
    struct job *j = job_begin((struct sl_edges_options){.cap_bytes = 1 << 20});
    uint64_t last = 0;
    (void)state;
    job_kernel(j, 13, 1, 2, 4);
    job_device_sync(j, 5, 6);
    sl_edges_delivered(j->edges, 7 * US);
    j->count = 0;
    for (unsigned i = 0; i < 20000; i++) {
        last = job_kernel(j, 13, 10 + 2 * i, 1000000 + 10 * i, 1000009 + 10 * i);
        if (i % 1000 == 999)
            sl_edges_delivered(j->edges, 3000000 * US);
    }
    job_device_sync(j, 50000, 1200006);
    sl_edges_delivered(j->edges, 3000000 * US);
    assert_true(sl_edges_lost(j->edges, SL_EDGE_LOST_MEMORY) > 0);
    for (size_t i = 0; i < j->count; i++)
        assert_true(j->got[i].source.correlation == last && j->got[i].basis != SL_BASIS_EXACT);

    job_device_sync(j, 1250000, 1250001); /* no room, perhaps, since the other */
    sl_edges_delivered(j->edges, 3000000 * US);
    j->count = 0;
    uint64_t next = job_kernel(j, 13, 1300000, 1300005, 1300100);
    uint64_t sync = job_device_sync(j, 1300010, 1300106);

    sl_edges_flush(j->edges);
    assert_int_equal(j->count, 1);
    assert_wait(job_edge(j, next, sync), SL_EDGE_DEVICE_SYNC, 90, 6, 1);
    job_end(j);
}

static uint64_t launch_graph(struct job *j, unsigned at, unsigned from, unsigned nodes)
{
    struct sl_event node = {.kind = SL_EV_KERNEL, .context = 1, .stream = 13, .graph = 77};

    node.correlation = job_call(j, GRAPH_LAUNCH, at, at + 2);
    for (unsigned i = 0; i < nodes; i++) {
        node.start_ns = (from + 10 * i) * US;
        node.end_ns = (from + 10 * i + 9) * US;
        node.u.op.graph_node = 1000 + i;
        job_tell(j, &node);
    }
    return node.correlation;
}

/* The replays of a benchmark, all launched before the first ends: far more nodes than there is room
 * for, of which each launch's last counts. */
static void graphs_far_ahead_have_their_last_nodes(void **state)
{
    enum {
        LAUNCHES = 100,
        NODES = 500
    };
    struct job *j = job_begin((struct sl_edges_options){.cap_bytes = 1 << 20});
    uint64_t last = 0;
    (void)state;
    job_stream(j, 13, 1);
    for (unsigned i = 0; i < LAUNCHES; i++) {
        last = launch_graph(j, 10 + 3 * i, 1000 + 10 * NODES * i, NODES);
        sl_edges_delivered(j->edges, 3000000 * US);
    }
    uint64_t sync = job_device_sync(j, 400, 1000 + 10 * NODES * LAUNCHES);

    sl_edges_flush(j->edges);
    assert_int_equal(j->count, 1);
    assert_wait(job_edge(j, last, sync), SL_EDGE_DEVICE_SYNC, 599 + 10 * NODES * LAUNCHES, 1, 1);
    assert_int_equal(job_lost(j) - sl_edges_lost(j->edges, SL_EDGE_LOST_GRAPH_INSIDE), 0);
    job_end(j);
}

/* Nothing tells of these streams that they may be forgotten. The short kernel releases nobody. */
static void streams_without_room_are_waited_for_too(void **state)
{
    struct job *j = job_begin((struct sl_edges_options){.cap_bytes = 1 << 18, .online = 1});
    (void)state;
    for (unsigned i = 0; i < 3000; i++) {
        unsigned at = 10 + 50 * i;
        uint64_t brief = job_kernel(j, 13, at, at + 2, at + 10);

        job_kernel(j, 1000 + i, at + 3, at + 5, at + 30);
        uint64_t sync = job_device_sync(j, at + 6, at + 36);

        sl_edges_delivered(j->edges, (uint64_t)(at + 40) * US);
        const struct sl_edge *edge = job_edge(j, brief, sync);

        assert_true(!edge || !edge->released || edge->basis != SL_BASIS_EXACT);
        j->count = 0;
    }
    assert_true(sl_edges_lost(j->edges, SL_EDGE_LOST_MEMORY) > 0);
    job_end(j);
}

/* A thread for each request: a launch, and a free of what it used, in one of two contexts. */
static void threads_that_come_and_go_take_no_memory(void **state)
{
    struct sl_event other = {.kind = SL_EV_KERNEL, .context = 2, .stream = 20};
    struct job *j = job_begin((struct sl_edges_options){.cap_bytes = 3 << 20, .online = 1});
    (void)state;
    other.correlation = job_call(j, LAUNCH, 1, 2);
    other.start_ns = 3 * US;
    other.end_ns = 5 * US;
    job_tell(j, &other);
    for (uint32_t i = 0; i < 200000; i++) {
        unsigned at = 10 + 20 * i;
        uint64_t kernel;

        j->count = 0;
        j->thread = 1000 + i;
        kernel = job_kernel(j, 13, at, at + 3, at + 9);
        uint64_t freed = job_call(j, FREE, at + 4, at + 12);

        sl_edges_delivered(j->edges, (uint64_t)(at + 15) * US);
        assert_int_equal(j->count, 1);
        assert_non_null(job_edge(j, kernel, freed));
    }
    assert_int_equal(job_lost(j), 0);
    job_end(j);
}

static void past_the_cap_it_counts_and_goes_on(void **state)
{
    struct job *j = job_begin((struct sl_edges_options){.cap_bytes = 1 << 20});
    (void)state;
    for (unsigned i = 0; i < 60000; i++)
        job_kernel(j, 13, 10 + 4 * i, 15 + 4 * i, 18 + 4 * i);
    uint64_t last = j->correlation;
    uint64_t sync = job_stream_sync(j, 13, 400000, 400005);

    sl_edges_flush(j->edges);
    assert_int_equal(j->count, 1);
    assert_non_null(job_edge(j, last, sync));
    assert_true(sl_edges_lost(j->edges, SL_EDGE_LOST_MEMORY) > 0);
    job_end(j);
}

static size_t edges_of(const struct job *j, uint64_t call)
{
    size_t count = 0;

    for (size_t i = 0; i < j->count; i++)
        count += j->got[i].dst_correlation == call;
    return count;
}

static void join_and_sync(struct job *j, uint32_t stream, unsigned at)
{
    job_record(j, stream, 0, j->correlation, at);
    job_wait_event(j, 9, 0, j->correlation - 1, at + 2);
    job_stream_sync(j, 9, at + 4, at + 40);
}

static void sync_legacy(struct job *j, uint32_t stream, unsigned at)
{
    (void)stream;
    job_stream_sync(j, SL_STREAM_LEGACY, at, at + 40);
}

static void record_on_legacy(struct job *j, uint32_t stream, unsigned at)
{
    (void)stream;
    job_record(j, SL_STREAM_LEGACY, 0, j->correlation, at);
    job_event_sync(j, 0, j->correlation - 1, at + 2, at + 40);
}

static void free_memory(struct job *j, uint32_t stream, unsigned at)
{
    (void)stream;
    job_call(j, FREE, at, at + 40);
}

/* A server with a stream for each request: every wait is for its request alone, in little memory. A
 * thread that has not waited yet is told of the latest. */
static void a_stream_for_each_request(void **state)
{
    void (*const waits[])(struct job *, uint32_t, unsigned) = {join_and_sync, sync_legacy,
                                                               record_on_legacy, free_memory};
    const unsigned requests = 900;
    (void)state;

    for (size_t kind = 0; kind < sizeof waits / sizeof *waits; kind++) {
        struct job *j = job_begin((struct sl_edges_options){.online = 1, .cap_bytes = 2 << 20});

        job_stream(j, SL_STREAM_LEGACY, SL_STREAM_FLAG_LEGACY);
        for (unsigned i = 0; i < requests; i++) {
            uint64_t kernel;

            job_stream(j, 20 + i, 1);
            kernel = job_kernel(j, 20 + i, 100 * (i + 1), 100 * (i + 1) + 5, 100 * (i + 1) + 30);
            waits[kind](j, 20 + i, 100 * (i + 1) + 4);
            sl_edges_delivered(j->edges, 100 * (i + 2) * US);
            const struct sl_edge *edge = job_edge(j, kernel, j->correlation);

            assert_non_null(edge);
            assert_true(edge->released);
            assert_int_equal(j->count, i + 1);
        }
        j->thread = 200; /* this one may pass all that the first needed not */
        job_device_sync(j, 100 * (requests + 2), 100 * (requests + 2) + 1);
        j->thread = 300;
        uint64_t sync = job_device_sync(j, 100 * (requests + 3), 100 * (requests + 3) + 1);

        sl_edges_flush(j->edges);
        assert_in_range(edges_of(j, sync), 63, 64 + 17);
        assert_int_equal(job_lost(j), 0);
        job_end(j);
    }
}

/* 72 others are used while the first stream's kernel runs, which thread 100 waits for; each of
 * their kernels takes 3 us. `made` is made to wait for all of them, if it is one. */
static uint64_t one_long_among_many(struct job *j, uint32_t made)
{
    uint64_t kernel = job_kernel(j, 14, 13, 16, 500);

    for (unsigned i = 0; i < 72; i++) {
        unsigned at = 20 + 5 * i;

        if (i)
            job_kernel(j, 99 + i, at, at + 2, at + 4);
        if (made) {
            job_record(j, i ? 99 + i : 14, 0, j->correlation, at + 2);
            job_wait_event(j, made, 0, j->correlation - 1, at + 3);
        }
    }
    return kernel;
}

/* A free that takes long itself: its record comes when others have passed what it waited for. */
static void a_call_that_comes_late_finds_those_that_left(void **state)
{
    struct job *j = job_begin((struct sl_edges_options){.online = 1});
    (void)state;
    uint64_t kernel = one_long_among_many(j, 0);
    uint64_t late = ++j->correlation;

    job_stream_sync(j, 14, 405, 505);
    job_record(j, SL_STREAM_LEGACY, 0, 9000, 510);
    job_kernel(j, 100, 600, 602, 605);
    sl_edges_delivered(j->edges, 700 * US);
    uint64_t last = j->correlation;

    j->correlation = late - 1;
    j->thread = 200;
    job_call(j, FREE, 402, 900);
    j->correlation = last;
    sl_edges_flush(j->edges);
    const struct sl_edge *edge = job_edge(j, kernel, late);

    assert_non_null(edge);
    assert_int_equal(edge->wait_ns, 98 * US);
    assert_int_equal(job_lost(j), 0);
    job_end(j);
}

/* The same of what a stream was made to wait for: that is gone, and counted. */
static void a_call_that_comes_late_lacks_what_a_set_lost(void **state)
{
    struct job *j = job_begin((struct sl_edges_options){.online = 1});
    (void)state;
    one_long_among_many(j, 9);
    uint64_t late = ++j->correlation;

    job_stream_sync(j, 14, 405, 505);
    job_kernel(j, 100, 600, 602, 605);
    job_record(j, 100, 0, 9000, 603);
    job_wait_event(j, 9, 0, 9000, 604);
    sl_edges_delivered(j->edges, 700 * US);
    uint64_t last = j->correlation;

    j->correlation = late - 1;
    j->thread = 200;
    job_stream_sync(j, 9, 402, 900);
    j->correlation = last;
    sl_edges_flush(j->edges);
    for (size_t i = 0; i < j->count; i++)
        assert_int_not_equal(j->got[i].dst_correlation, late);
    assert_int_equal(sl_edges_lost(j->edges, SL_EDGE_LOST_GAVE_UP), 1);
    assert_int_equal(job_lost(j), 1);
    job_end(j);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_comes_late_of_forgotten_calls_keeps_no_stream),
        cmocka_unit_test(streams_that_come_and_go_give_their_memory_back),
        cmocka_unit_test(at_the_cap_edges_are_missing_and_counted),
        cmocka_unit_test(operations_without_room_are_nobodys_tail),
        cmocka_unit_test(graphs_far_ahead_have_their_last_nodes),
        cmocka_unit_test(streams_without_room_are_waited_for_too),
        cmocka_unit_test(threads_that_come_and_go_take_no_memory),
        cmocka_unit_test(past_the_cap_it_counts_and_goes_on),
        cmocka_unit_test(a_call_that_comes_late_finds_those_that_left),
        cmocka_unit_test(a_call_that_comes_late_lacks_what_a_set_lost),
        cmocka_unit_test(a_stream_for_each_request),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
