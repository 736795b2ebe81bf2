/*
 * edge_test.c - the engine as a whole: records in any order, windows, losses, its bound.
 *
 * Every test says the whole list of edges: a false one fails it as much as a missing one.
 */
#include "sync/job.h"

static void order_of_delivery_does_not_matter(void **state)
{
    (void)state;
    for (unsigned seed = 1; seed < 50; seed++) {
        struct job *j = begin();

        srand(seed);
        j->keep = 1;
        uint64_t side = job_kernel(j, 20, 10, 20, 90);

        job_record(j, 20, 5, 1, 13);
        job_wait_event(j, 13, 5, 1, 15);
        uint64_t next = job_kernel(j, 13, 17, 92, 95);
        uint64_t sync = job_stream_sync(j, 13, 20, 99);

        for (size_t left = j->kept_count; left; left--) {
            size_t i = (size_t)rand() % left;

            sl_edges_event(j->edges, &j->kept[i]);
            sl_edges_delivered(j->edges, 10 * US);
            j->kept[i] = j->kept[left - 1];
        }
        sl_edges_flush(j->edges);
        assert_int_equal(j->count, 2);
        assert_wait(job_edge(j, side, next), SL_EDGE_STREAM_WAIT, 71, 2, 1);
        assert_wait(job_edge(j, next, sync), SL_EDGE_STREAM_SYNC, 75, 4, 1);
        job_end(j);
    }
}

/* A wait's record tells the context alone: its device is known when the context's record is in. */
static void a_context_is_known_without_its_device(void **state)
{
    struct job *j = begin();
    struct sl_event ev = {.kind = SL_EV_KERNEL, .device = 1, .context = 1, .stream = 13};
    (void)state;

    ev.correlation = job_call(j, LAUNCH, 10, 12);
    ev.start_ns = 15 * US;
    ev.end_ns = 60 * US;
    uint64_t sync = job_stream_sync(j, 13, 20, 66);

    sl_edges_event(j->edges, &ev);
    sl_edges_flush(j->edges);
    assert_int_equal(j->count, 1);
    assert_wait(job_edge(j, ev.correlation, sync), SL_EDGE_STREAM_SYNC, 40, 6, 1);
    assert_int_equal(j->got[0].source.device, 1);
    job_end(j);
}

static void decided_when_all_that_ended_before_is_in(void **state)
{
    struct job *j = begin();
    (void)state;
    job_kernel(j, 13, 10, 15, 60);
    uint64_t sync = job_stream_sync(j, 13, 20, 66);

    sl_edges_delivered(j->edges, 66 * US);
    assert_int_equal(j->count, 0);
    assert_true(sl_edges_undecided(j->edges) <= sync);
    sl_edges_delivered(j->edges, 66 * US + 1);
    assert_int_equal(j->count, 1);
    assert_true(sl_edges_undecided(j->edges) > sync);
    sl_edges_flush(j->edges);
    assert_int_equal(j->count, 1);
    job_end(j);
}

static void a_window_ends_while_work_goes_on(void **state)
{
    struct job *j = begin();
    (void)state;
    uint64_t inside = job_kernel(j, 13, 10, 15, 60);
    uint64_t sync = job_stream_sync(j, 13, 20, 66);

    uint64_t later = job_kernel(j, 13, 70, 75, 90);
    uint64_t after = job_stream_sync(j, 13, 80, 95);

    sl_edges_close(j->edges, 70 * US);
    assert_int_equal(j->count, 1);
    assert_non_null(job_edge(j, inside, sync));
    assert_int_equal(sl_edges_undecided(j->edges), later);
    sl_edges_delivered(j->edges, 100 * US);
    assert_int_equal(j->count, 2);
    assert_non_null(job_edge(j, later, after));
    job_end(j);
}

static void nothing_is_claimed_after_a_loss(void **state)
{
    struct job *j = begin();
    (void)state;
    job_stream(j, 13, 1);
    job_kernel(j, 13, 10, 15, 60);
    job_record(j, 13, 5, 1, 13);
    job_stream_sync(j, 13, 20, 66);
    sl_edges_forget(j->edges, SL_EDGE_LOST_GAVE_UP);
    assert_int_equal(sl_edges_lost(j->edges, SL_EDGE_LOST_GAVE_UP), 1);
    assert_int_equal(sl_edges_undecided(j->edges), UINT64_MAX);

    job_stream_sync(j, 13, 70, 80);
    job_event_sync(j, 5, 1, 82, 90);
    sl_edges_delivered(j->edges, 95 * US);
    assert_int_equal(sl_edges_lost(j->edges, SL_EDGE_LOST_BEFORE_WINDOW), 2);

    /* known again with the first operation that comes */
    uint64_t known = job_kernel(j, 13, 100, 105, 120);
    uint64_t sync = job_stream_sync(j, 13, 110, 125);

    sl_edges_flush(j->edges);
    assert_int_equal(j->count, 1);
    assert_wait(job_edge(j, known, sync), SL_EDGE_STREAM_SYNC, 10, 5, 1);
    job_end(j);
}

/* A kernel of the recording before, whose record came late, and one behind it that has none. */
static void calls_from_before_the_recording_are_ignored(void **state)
{
    struct job *j = begin();
    (void)state;
    sl_edges_forget(j->edges, SL_EDGE_LOST_BEFORE_WINDOW);
    sl_edges_begin(j->edges, 18 * US);
    job_kernel(j, 13, 10, 15, 60);
    job_stream_sync(j, 13, 20, 66);
    uint64_t seen = job_kernel(j, 13, 70, 75, 90);
    uint64_t sync = job_stream_sync(j, 13, 80, 96);

    sl_edges_flush(j->edges);
    assert_int_equal(j->count, 1);
    assert_wait(job_edge(j, seen, sync), SL_EDGE_STREAM_SYNC, 10, 6, 1);
    assert_int_equal(sl_edges_lost(j->edges, SL_EDGE_LOST_BEFORE_WINDOW), 1);
    job_end(j);
}

/* Its record is made when it returns, which is after the window: when it enqueued is not known. */
static void a_call_that_has_not_returned_at_the_close_is_counted(void **state)
{
    struct job *j = job_begin((struct sl_edges_options){.online = 1});
    (void)state;
    job_stream(j, 13, 1);
    job_kernel(j, 13, 10, 15, 60);
    j->correlation++;
    job_ran(j, 7, 60, 70);
    sl_edges_close(j->edges, 100 * US);
    assert_int_equal(j->count, 0);
    assert_int_equal(sl_edges_lost(j->edges, SL_EDGE_LOST_NO_RECORD), 1);

    uint64_t known = j->correlation;
    uint64_t sync = job_stream_sync(j, 7, 65, 110);

    sl_edges_delivered(j->edges, 200 * US);
    assert_int_equal(j->count, 1);
    assert_wait(job_edge(j, known, sync), SL_EDGE_STREAM_SYNC, 5, 40, 1);
    job_end(j);
}

/* Between two operations of one call, or before its end, its thread may have to wait for a
 * processor: a second is left to it, as long as there is room for what comes meanwhile. */
static void a_call_may_take_long_to_return(void **state)
{
    struct job *j = job_begin((struct sl_edges_options){.online = 1});
    (void)state;
    job_stream(j, 13, 1);
    uint64_t blocking = job_kernel(j, 13, 10, 15, 60);
    uint64_t legacy = ++j->correlation;

    job_ran(j, 7, 61, 70);
    sl_edges_delivered(j->edges, 900 * 1000 * US);
    assert_int_equal(j->count, 0);
    assert_int_equal(sl_edges_undecided(j->edges), legacy);
    j->correlation--;
    job_call(j, LAUNCH, 20, 800 * 1000);
    sl_edges_delivered(j->edges, 901 * 1000 * US);
    assert_int_equal(j->count, 1);
    assert_wait(job_edge(j, blocking, legacy), SL_EDGE_LEGACY_DEFAULT, 0, 0, 0);
    job_end(j);
}

static void a_call_that_does_not_return_is_not_waited_for_at_any_cost(void **state)
{
    enum {
        KERNELS = 6000
    };
    struct job *j = job_begin((struct sl_edges_options){.cap_bytes = 2 << 20, .online = 1});
    (void)state;
    job_call(j, LAUNCH, 10, 12);
    uint64_t lost = ++j->correlation;

    job_ran(j, 13, 15, 60);
    sl_edges_delivered(j->edges, 200 * 1000 * US);
    assert_int_equal(sl_edges_undecided(j->edges), lost);
    for (unsigned i = 0; i < KERNELS; i++)
        job_kernel(j, 13, 100 + 10 * i, 103 + 10 * i, 108 + 10 * i);
    sl_edges_delivered(j->edges, 201 * 1000 * US);
    assert_true(sl_edges_undecided(j->edges) == UINT64_MAX);
    job_end(j);
}

/* Copies and frees that wait have no record of that, and a stream that is made to wait has. */
static void what_is_given_up_is_counted_once_a_call(void **state)
{
    struct job *j = begin();
    (void)state;
    job_kernel(j, 13, 10, 15, 60);
    job_stream_sync(j, 13, 20, 66);
    job_call(j, FREE, 67, 70);
    job_call(j, MEMCPY, 71, 80);
    job_wait_event(j, 14, 3, 1, 81);
    sl_edges_forget(j->edges, SL_EDGE_LOST_GAVE_UP);
    assert_int_equal(sl_edges_lost(j->edges, SL_EDGE_LOST_GAVE_UP), 4);

    /* records of a call that came late */
    job_synced(j, SL_SYNC_STREAM, 13, 0, 0, 81, 82);
    assert_int_equal(sl_edges_lost(j->edges, SL_EDGE_LOST_GAVE_UP), 4);
    j->correlation -= 4;
    job_synced(j, SL_SYNC_STREAM, 13, 0, 0, 20, 66);
    assert_int_equal(sl_edges_lost(j->edges, SL_EDGE_LOST_GAVE_UP), 5);
    job_end(j);
}

static void what_comes_late_of_forgotten_calls_is_no_tail(void **state)
{
    struct job *j = begin();
    (void)state;
    job_call(j, LAUNCH, 10, 12);
    sl_edges_forget(j->edges, SL_EDGE_LOST_GAVE_UP);
    job_ran(j, 13, 15, 60); /* and another, enqueued behind it, whose record is gone */
    job_stream_sync(j, 13, 20, 90);
    sl_edges_flush(j->edges);
    assert_int_equal(j->count, 0);
    assert_int_equal(sl_edges_lost(j->edges, SL_EDGE_LOST_BEFORE_WINDOW), 1);
    job_end(j);
}

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

static void before_the_window_nothing_is_claimed(void **state)
{
    struct job *j = job_begin((struct sl_edges_options){.recording_since_ns = 5 * US});
    (void)state;
    job_stream_sync(j, 13, 10, 20);
    uint64_t known = job_kernel(j, 14, 22, 25, 40);
    uint64_t sync = job_stream_sync(j, 14, 26, 44);

    uint64_t first = job_device_sync(j, 46, 60); /* of stream 13 nobody knows */
    uint64_t last = job_kernel(j, 15, 62, 65, 80);
    uint64_t whole = job_device_sync(j, 70, 85);

    sl_edges_flush(j->edges);
    assert_int_equal(j->count, 4);
    assert_int_equal(job_edge(j, known, first)->basis, SL_BASIS_INFERRED);
    assert_int_equal(job_edge(j, known, whole)->basis, SL_BASIS_EXACT);
    assert_wait(job_edge(j, known, sync), SL_EDGE_STREAM_SYNC, 14, 4, 1);
    assert_wait(job_edge(j, last, whole), SL_EDGE_DEVICE_SYNC, 10, 5, 1);
    assert_non_null(job_edge(j, known, whole));
    assert_int_equal(sl_edges_lost(j->edges, SL_EDGE_LOST_BEFORE_WINDOW), 2);
    job_end(j);
}

static void a_foreign_file_has_no_lead_in(void **state)
{
    struct job *j =
        job_begin((struct sl_edges_options){.foreign = 1, .recording_since_ns = 5 * US});
    (void)state;
    uint64_t kernel = job_kernel(j, 13, 10, 15, 60);
    uint64_t sync = job_device_sync(j, 20, 66);

    sl_edges_flush(j->edges);
    assert_int_equal(j->count, 1);
    assert_int_equal(job_edge(j, kernel, sync)->wait_ns, 40 * US);
    assert_int_equal(job_edge(j, kernel, sync)->released, 1);
    assert_int_equal(job_edge(j, kernel, sync)->basis, SL_BASIS_INFERRED);
    assert_int_equal(sl_edges_lost(j->edges, SL_EDGE_LOST_BEFORE_WINDOW), 1);
    job_end(j);
}

/* A job whose window opened later than work was enqueued: an operation that was seen, and a wait
 * for all of them. */
static struct job *begin_with_unseen_work(uint64_t *seen, uint64_t *sync)
{
    struct job *j = job_begin((struct sl_edges_options){.online = 1});

    job_kernel(j, 13, 10, 15, 60);
    sl_edges_forget(j->edges, SL_EDGE_LOST_BEFORE_WINDOW);
    *seen = job_kernel(j, 14, 20, 25, 70);
    *sync = job_device_sync(j, 30, 76);
    return j;
}

/* The same as for a file, while the job runs. */
static void a_wait_for_the_context_is_marked_where_work_may_be_unseen(void **state)
{
    uint64_t seen, sync;
    struct job *j = begin_with_unseen_work(&seen, &sync);
    (void)state;
    uint64_t next = job_kernel(j, 14, 80, 85, 90);
    uint64_t covered = job_device_sync(j, 86, 95);

    sl_edges_flush(j->edges);
    assert_int_equal(j->count, 2);
    assert_int_equal(job_edge(j, seen, sync)->basis, SL_BASIS_INFERRED);
    assert_int_equal(job_edge(j, seen, sync)->released, 1);
    assert_wait(job_edge(j, next, covered), SL_EDGE_DEVICE_SYNC, 4, 5, 1);
    assert_int_equal(sl_edges_lost(j->edges, SL_EDGE_LOST_BEFORE_WINDOW), 1);
    job_end(j);
}

/* It comes behind an event for certain; what its stream held before may have ended later. */
static void an_operation_is_marked_where_its_stream_may_hold_unseen_work(void **state)
{
    struct job *j = job_begin((struct sl_edges_options){.recording_since_ns = 5 * US});
    (void)state;
    uint64_t source = job_kernel(j, 13, 10, 15, 60);
    job_record(j, 13, 5, 1, 20);
    job_wait_event(j, 14, 5, 1, 22);
    uint64_t first = job_kernel(j, 14, 24, 65, 70);
    job_wait_event(j, 14, 5, 1, 72);
    uint64_t second = job_kernel(j, 14, 74, 80, 85);

    sl_edges_flush(j->edges);
    assert_int_equal(job_edge(j, source, first)->basis, SL_BASIS_INFERRED);
    assert_int_equal(job_edge(j, source, first)->wait_ns, 34 * US);
    assert_int_equal(job_edge(j, source, second)->basis, SL_BASIS_EXACT);
    assert_int_equal(sl_edges_lost(j->edges, SL_EDGE_LOST_BEFORE_WINDOW), 1);
    job_end(j);
}

/* Two threads wait for the context at once: what was not seen may have held up both. */
static void what_was_not_seen_is_over_for_later_waits_alone(void **state)
{
    uint64_t seen, sync;
    struct job *j = begin_with_unseen_work(&seen, &sync);
    (void)state;
    j->thread = 101;
    uint64_t beside = job_device_sync(j, 40, 77);

    j->thread = 102;
    uint64_t after = job_device_sync(j, 78, 80);
    sl_edges_flush(j->edges);
    assert_int_equal(job_edge(j, seen, sync)->basis, SL_BASIS_INFERRED);
    assert_int_equal(job_edge(j, seen, beside)->basis, SL_BASIS_INFERRED);
    assert_int_equal(job_edge(j, seen, after)->basis, SL_BASIS_EXACT);
    assert_int_equal(sl_edges_lost(j->edges, SL_EDGE_LOST_BEFORE_WINDOW), 2);
    job_end(j);
}

/* The same for a stream that waits for an event of which nothing is known. */
static void an_unknown_event_holds_up_all_that_wait_at_once(void **state)
{
    struct job *j = job_begin((struct sl_edges_options){.online = 1});
    (void)state;
    uint64_t known = job_kernel(j, 13, 10, 15, 20);
    job_wait_event(j, 13, 5, 9, 12);
    job_stream_sync(j, 13, 30, 76);
    j->thread = 101;
    uint64_t beside = job_stream_sync(j, 13, 40, 77);

    j->thread = 102;
    uint64_t after = job_stream_sync(j, 13, 78, 80);
    sl_edges_flush(j->edges);
    assert_null(job_edge(j, known, beside));
    assert_int_equal(job_edge(j, known, after)->basis, SL_BASIS_EXACT);
    assert_int_equal(sl_edges_lost(j->edges, SL_EDGE_LOST_NO_RECORD), 2);
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

static void every_kind_and_reason_has_a_name(void **state)
{
    (void)state;
    for (int i = 0; i < SL_EDGE_KIND_COUNT; i++)
        assert_string_not_equal(sl_edge_kind_name((enum sl_edge_kind)i), "unknown");
    for (int i = 0; i < SL_EDGE_LOST_COUNT; i++)
        assert_string_not_equal(sl_edge_loss_name((enum sl_edge_loss)i), "unknown");
    assert_string_equal(sl_edge_basis_name(SL_BASIS_INFERRED), "inferred");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(order_of_delivery_does_not_matter),
        cmocka_unit_test(a_context_is_known_without_its_device),
        cmocka_unit_test(decided_when_all_that_ended_before_is_in),
        cmocka_unit_test(a_window_ends_while_work_goes_on),
        cmocka_unit_test(nothing_is_claimed_after_a_loss),
        cmocka_unit_test(calls_from_before_the_recording_are_ignored),
        cmocka_unit_test(a_call_that_has_not_returned_at_the_close_is_counted),
        cmocka_unit_test(a_call_may_take_long_to_return),
        cmocka_unit_test(a_call_that_does_not_return_is_not_waited_for_at_any_cost),
        cmocka_unit_test(what_is_given_up_is_counted_once_a_call),
        cmocka_unit_test(what_comes_late_of_forgotten_calls_is_no_tail),
        cmocka_unit_test(what_comes_late_of_forgotten_calls_keeps_no_stream),
        cmocka_unit_test(streams_that_come_and_go_give_their_memory_back),
        cmocka_unit_test(at_the_cap_edges_are_missing_and_counted),
        cmocka_unit_test(operations_without_room_are_nobodys_tail),
        cmocka_unit_test(graphs_far_ahead_have_their_last_nodes),
        cmocka_unit_test(streams_without_room_are_waited_for_too),
        cmocka_unit_test(threads_that_come_and_go_take_no_memory),
        cmocka_unit_test(before_the_window_nothing_is_claimed),
        cmocka_unit_test(a_foreign_file_has_no_lead_in),
        cmocka_unit_test(a_wait_for_the_context_is_marked_where_work_may_be_unseen),
        cmocka_unit_test(an_operation_is_marked_where_its_stream_may_hold_unseen_work),
        cmocka_unit_test(what_was_not_seen_is_over_for_later_waits_alone),
        cmocka_unit_test(an_unknown_event_holds_up_all_that_wait_at_once),
        cmocka_unit_test(past_the_cap_it_counts_and_goes_on),
        cmocka_unit_test(every_kind_and_reason_has_a_name),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
