/*
 * apply_graph_test.c - what the launch of a graph did: what it comes behind, and what behind it.
 *
 * Every test says the whole list of edges: a false one fails it as much as a missing one.
 */
#include "sync/job.h"

/* What was told when the graph was built. */
static void fact(struct job *j, enum sl_node_fact what, uint64_t id, uint64_t other)
{
    struct sl_event ev = {.kind = SL_EV_META_NODE, .fact = what, .graph = 4};

    ev.u.node.id = id;
    ev.u.node.other = other;
    sl_edges_event(j->edges, &ev);
}

/* Nodes from `first` to `last`. */
static void build(struct job *j, uint64_t first, uint64_t last)
{
    for (uint64_t id = first; id <= last; id++)
        fact(j, SL_NODE_CREATED, id, 0);
}

/* Their copies, whose ids are 100 higher. */
static void instantiate(struct job *j, uint64_t first, uint64_t last)
{
    for (uint64_t id = first; id <= last; id++)
        fact(j, SL_NODE_CLONED, 100 + id, id);
}

/* The edge from one node to another; NULL if there is none. */
static const struct sl_edge *inside(const struct job *j, uint64_t source, uint64_t destination)
{
    for (size_t i = 0; i < j->count; i++)
        if (j->got[i].at_start && j->got[i].source.graph_node == source &&
            j->got[i].dst_op.graph_node == destination)
            return &j->got[i];
    return NULL;
}

/* A kernel, a graph with a branch, a kernel. */
static void assert_waited_for_whole(struct job *j,
                                    void (*ran)(struct job *j, uint32_t stream, uint64_t id,
                                                unsigned from, unsigned to))
{
    uint64_t before = job_kernel(j, 13, 10, 15, 60);
    uint64_t graph = job_call(j, GRAPH_LAUNCH, 13, 16);

    ran(j, 13, 1, 60, 70);
    ran(j, 90, 2, 61, 95);
    uint64_t after = job_kernel(j, 13, 18, 96, 99);

    sl_edges_flush(j->edges);
    assert_int_equal(j->count, 2);
    assert_wait(job_edge(j, before, graph), SL_EDGE_GRAPH, 44, 1, 1);
    assert_wait(job_edge(j, graph, after), SL_EDGE_GRAPH, 25, 1, 1);
    assert_int_equal(sl_edges_lost(j->edges, SL_EDGE_LOST_GRAPH_INSIDE), 1);
    job_end(j);
}

static void a_graph_is_waited_for_whole(void **state)
{
    struct job *j = begin();
    (void)state;
    job_stream(j, 13, 1);
    assert_waited_for_whole(j, job_node);
}

static void nameless(struct job *j, uint32_t stream, uint64_t id, unsigned from, unsigned to)
{
    (void)id;
    job_ran(j, stream, from, to);
}

/* torch.profiler's files do not say which operations are a graph's nodes: those are that one launch
 * put on several streams. */
static void without_ids_it_is_waited_for_whole_too(void **state)
{
    (void)state;
    assert_waited_for_whole(job_begin((struct sl_edges_options){.foreign = 1}), nameless);
}

static void a_graph_waits_for_its_launch_before(void **state)
{
    struct job *j = begin();
    (void)state;
    job_stream(j, 13, 2);
    job_stream(j, 14, 2);
    uint64_t first = job_call(j, GRAPH_LAUNCH, 10, 12);

    job_node(j, 13, 0x400000001, 20, 50);
    job_node(j, 90, 0x400000002, 21, 60); /* a branch */
    uint64_t other = job_call(j, GRAPH_LAUNCH, 13, 15);

    job_node(j, 14, 0x500000001, 20, 30); /* another graph: at the same time */
    uint64_t again = job_call(j, GRAPH_LAUNCH, 16, 18);

    job_node(j, 14, 0x400000001, 61, 70);
    job_node(j, 90, 0x400000002, 62, 65);
    uint64_t third = job_call(j, GRAPH_LAUNCH, 19, 21);

    job_node(j, 14, 0x400000001, 71, 74); /* on the same stream: nothing to say */
    job_node(j, 90, 0x400000002, 72, 75);

    sl_edges_flush(j->edges);
    /* to the node on the launch stream from both, to the branch from the launch stream's: its own
     * and the one that it was launched on */
    unsigned from_first = 0, to_third = 0;

    for (size_t i = 0; i < j->count; i++) {
        const struct sl_edge *edge = &j->got[i];

        assert_int_equal(edge->kind, SL_EDGE_GRAPH);
        assert_int_equal(edge->basis, SL_BASIS_EXACT);
        from_first += edge->source.correlation == first && edge->dst_correlation == again;
        to_third += edge->dst_correlation == third;
        if (edge->source.correlation == other)
            assert_int_equal(edge->dst_op.stream, 90);
        if (edge->source.stream == 90 && edge->dst_correlation == again) {
            assert_int_equal(edge->source.end_ns, 60 * US);
            assert_int_equal(edge->wait_ns, 30 * US); /* 14 was free at 30 */
            assert_int_equal(edge->released, 1);
        }
    }
    assert_int_equal(from_first, 3);
    assert_int_equal(to_third, 2); /* 90 -> 14, 14 -> 90, as any launch behind another */
    assert_int_equal(j->count, 6);
    assert_int_equal(job_lost(j), sl_edges_lost(j->edges, SL_EDGE_LOST_GRAPH_INSIDE));
    job_end(j);
}

/* Whether the graph ran before the recording, and where, nobody knows. */
static void a_graph_first_seen_after_a_pause_is_counted(void **state)
{
    struct job *j = begin();
    (void)state;
    sl_edges_forget(j->edges, SL_EDGE_LOST_BEFORE_WINDOW);
    job_stream(j, 13, 2);
    job_kernel(j, 13, 1, 3, 9);
    job_call(j, GRAPH_LAUNCH, 10, 12);
    job_node(j, 13, 0x400000001, 20, 50);
    sl_edges_flush(j->edges);
    assert_int_equal(j->count, 0);
    assert_int_equal(sl_edges_lost(j->edges, SL_EDGE_LOST_BEFORE_WINDOW), 1);

    job_device_sync(j, 13, 55); /* whatever it was is over */
    job_call(j, GRAPH_LAUNCH, 60, 62);
    job_node(j, 13, 0x500000001, 65, 70);
    sl_edges_flush(j->edges);
    assert_int_equal(sl_edges_lost(j->edges, SL_EDGE_LOST_BEFORE_WINDOW), 2);
    job_call(j, GRAPH_LAUNCH, 72, 74);
    job_node(j, 13, 0x600000001, 75, 80);
    sl_edges_flush(j->edges);
    assert_int_equal(sl_edges_lost(j->edges, SL_EDGE_LOST_BEFORE_WINDOW), 2);
    job_end(j);
}

/* One of a graph's nodes has a record without times: whether it was the last of its stream, or the
 * first, nobody knows, nor since when what comes next there could have gone on. */
static void a_node_without_its_time_may_be_any_of_its_stream(void **state)
{
    struct job *j = begin();
    (void)state;
    job_stream(j, 7, 3);
    job_stream(j, 13, 1);
    job_stream(j, 14, 2);
    job_kernel(j, 14, 1, 2, 3);
    job_record(j, 14, 1, 0, 4);
    job_wait_event(j, 13, 1, 0, 6);
    job_call(j, GRAPH_LAUNCH, 10, 12);
    job_node(j, 13, 0x400000001, 20, 25);
    job_node(j, 13, 0x400000002, 25, 45);
    job_node(j, 90, 0x400000003, 25, 85); /* a branch */
    job_node(j, 13, 0x400000004, 0, 0);   /* really 85 to 105 */
    uint64_t legacy = job_kernel(j, 7, 14, 105, 107);
    uint64_t after = job_kernel(j, 13, 17, 107, 120);
    uint64_t sync = job_stream_sync(j, 13, 20, 125);

    sl_edges_flush(j->edges);
    for (size_t i = 0; i < j->count; i++) {
        assert_int_not_equal(j->got[i].dst_correlation, legacy);
        assert_int_not_equal(j->got[i].dst_correlation, after);
        assert_int_not_equal(j->got[i].dst_op.stream, 13);
    }
    assert_int_equal(j->count, 1);
    assert_wait(job_edge(j, after, sync), SL_EDGE_STREAM_SYNC, 100, 5, 1);
    assert_true(sl_edges_lost(j->edges, SL_EDGE_LOST_GAVE_UP) >= 3);
    job_end(j);
}

/* 1 and 2 are a fork, 3 joins them; between them is one that makes no record. A copy of it is
 * launched, of which 2 runs from `from` to `to`, and 3, if that is what `third` is, from 81 to 90.
 */
static struct job *begin_fork(unsigned from, unsigned to, uint64_t third)
{
    struct job *j = begin();

    build(j, 1, 4);
    fact(j, SL_NODE_DEPENDS, 2, 1);
    fact(j, SL_NODE_DEPENDS, 3, 1);
    fact(j, SL_NODE_DEPENDS, 3, 4);
    fact(j, SL_NODE_DEPENDS, 4, 2);
    instantiate(j, 1, 4);
    job_stream(j, 13, 2);
    job_call(j, GRAPH_LAUNCH, 10, 12);
    job_node(j, 13, third, 81, 90);
    job_node(j, 90, 102, from, to);
    job_node(j, 13, 101, 20, 50);
    return j;
}

static void nodes_that_are_known_come_behind_one_another(void **state)
{
    struct job *j = begin_fork(51, 80, 103);
    (void)state;
    job_kernel(j, 13, 14, 92, 99); /* comes behind the last node, which stands for all */
    uint64_t sync = job_stream_sync(j, 13, 17, 102);

    sl_edges_flush(j->edges);
    assert_int_equal(j->count, 3);
    assert_wait(inside(j, 101, 102), SL_EDGE_GRAPH, 38, 1, 1);
    assert_wait(inside(j, 102, 103), SL_EDGE_GRAPH, 30, 1, 1);
    assert_wait(job_edge(j, sync - 1, sync), SL_EDGE_STREAM_SYNC, 82, 3, 1);
    assert_int_equal(job_lost(j), 0);
    job_end(j);
}

static void a_source_without_its_time_is_no_source_that_began_later(void **state)
{
    struct job *j = begin_fork(0, 0, 103); /* really 51 to 80 */
    (void)state;
    sl_edges_flush(j->edges);
    assert_int_equal(j->count, 0);
    assert_int_equal(sl_edges_lost(j->edges, SL_EDGE_LOST_CYCLE), 0);
    assert_int_equal(sl_edges_lost(j->edges, SL_EDGE_LOST_GAVE_UP), 2); /* 102, 103 */
    job_end(j);
}

static void a_node_that_began_before_its_source_is_counted(void **state)
{
    struct job *j = begin_fork(83, 95, 103);
    (void)state;
    sl_edges_flush(j->edges);
    assert_int_equal(j->count, 1);
    assert_wait(inside(j, 101, 102), SL_EDGE_GRAPH, 38, 33, 1);
    assert_int_equal(sl_edges_lost(j->edges, SL_EDGE_LOST_CYCLE), 1);
    assert_int_equal(job_lost(j), 1);
    job_end(j);
}

/* What one node comes behind was not told: none of the launch's is claimed. */
static void nodes_that_were_not_all_told_are_counted(void **state)
{
    struct job *j = begin_fork(51, 80, 205);
    (void)state;
    sl_edges_flush(j->edges);
    assert_int_equal(j->count, 0);
    assert_int_equal(sl_edges_lost(j->edges, SL_EDGE_LOST_GRAPH_INSIDE), 1);
    job_end(j);
}

/* 3 comes behind 2. The launch takes long: its own record, and 3's, come when the others were
 * looked at, and another graph's since. */
static void a_record_behind_the_others_of_its_launch_is_counted(void **state)
{
    struct job *j = begin();
    (void)state;
    build(j, 1, 6);
    fact(j, SL_NODE_DEPENDS, 2, 1);
    fact(j, SL_NODE_DEPENDS, 3, 2);
    fact(j, SL_NODE_DEPENDS, 5, 4);
    instantiate(j, 1, 6);
    job_stream(j, 13, 2);
    job_stream(j, 14, 2);
    j->correlation = 1;
    job_node(j, 90, 101, 19, 29);
    job_node(j, 93, 106, 20, 28);
    job_node(j, 13, 102, 30, 40);
    j->thread = 200;
    job_call(j, GRAPH_LAUNCH, 14, 16);
    job_node(j, 14, 104, 50, 60);
    job_node(j, 92, 105, 61, 65);
    sl_edges_delivered(j->edges, 100 * US);
    j->thread = 100;
    j->correlation = 0;
    job_call(j, GRAPH_LAUNCH, 10, 105);
    job_node(j, 91, 103, 110, 120);
    sl_edges_flush(j->edges);
    assert_null(inside(j, 105, 103));
    assert_non_null(inside(j, 104, 105));
    assert_int_equal(j->count, 1);
    assert_int_equal(sl_edges_lost(j->edges, SL_EDGE_LOST_GRAPH_INSIDE), 1);
    job_end(j);
}

/* 3 comes behind 4, which makes no record, and that behind 1; in the graph as it was built, not in
 * the copy that is launched, also behind 2. */
static void what_was_changed_behind_a_copy_is_not_taken_for_it(void **state)
{
    struct job *j = begin();
    (void)state;
    build(j, 1, 4);
    fact(j, SL_NODE_DEPENDS, 4, 1);
    fact(j, SL_NODE_DEPENDS, 3, 4);
    instantiate(j, 1, 4);
    fact(j, SL_NODE_DEPENDS, 4, 2);
    job_stream(j, 13, 2);
    job_call(j, GRAPH_LAUNCH, 10, 12);
    job_node(j, 13, 101, 20, 30);
    job_node(j, 90, 102, 21, 40);
    job_node(j, 91, 103, 45, 50);
    sl_edges_flush(j->edges);
    assert_int_equal(j->count, 0);
    assert_int_equal(sl_edges_lost(j->edges, SL_EDGE_LOST_GRAPH_INSIDE), 1);
    assert_int_equal(job_lost(j), 1);
    job_end(j);
}

/* 2 stood between 1 and 3, and was taken out of the graph: 3 comes behind nothing. */
static void a_node_that_was_taken_out_joins_nothing(void **state)
{
    struct job *j = begin();
    (void)state;
    build(j, 1, 3);
    fact(j, SL_NODE_DEPENDS, 2, 1);
    fact(j, SL_NODE_DEPENDS, 3, 2);
    instantiate(j, 1, 1);
    instantiate(j, 3, 3);
    job_stream(j, 13, 2);
    job_call(j, GRAPH_LAUNCH, 10, 12);
    job_node(j, 13, 101, 20, 30);
    job_node(j, 90, 103, 35, 50);
    sl_edges_flush(j->edges);
    assert_int_equal(j->count, 0);
    assert_int_equal(sl_edges_lost(j->edges, SL_EDGE_LOST_GRAPH_INSIDE), 1);
    assert_int_equal(job_lost(j), 1);
    job_end(j);
}

/* What ran on the stream of the launch, if anything, made no record: any stream may come behind the
 * graph. Whoever waits for the context waits for its nodes all the same. */
static void assert_anywhere(struct job *j)
{
    job_kernel(j, 13, 10, 15, 20);
    uint64_t other = job_kernel(j, 14, 13, 15, 21);
    uint64_t graph = job_call(j, GRAPH_LAUNCH, 22, 25);

    job_node(j, 90, 1, 30, 100);
    job_stream_sync(j, 13, 29, 117);
    job_stream_sync(j, 14, 118, 119);
    uint64_t device = job_device_sync(j, 120, 121);
    uint64_t after = job_kernel(j, 13, 122, 125, 130);
    uint64_t sync = job_stream_sync(j, 13, 126, 132);

    sl_edges_flush(j->edges);
    assert_wait(job_edge(j, other, device), SL_EDGE_DEVICE_SYNC, 0, 1, 0);
    assert_wait(job_edge(j, graph, device), SL_EDGE_DEVICE_SYNC, 0, 1, 0);
    assert_wait(job_edge(j, after, sync), SL_EDGE_STREAM_SYNC, 4, 2, 1);
    assert_int_equal(j->count, 4); /* the first kernel, too, was waited for by `device` */
    /* both waits, and what the branch came behind */
    assert_int_equal(sl_edges_lost(j->edges, SL_EDGE_LOST_NO_RECORD), 3);
    assert_int_equal(job_lost(j), 3 + sl_edges_lost(j->edges, SL_EDGE_LOST_GRAPH_INSIDE));
    job_end(j);
}

static void a_graph_on_streams_of_its_own_alone_may_be_anywhere(void **state)
{
    struct job *j = begin();
    (void)state;
    job_stream(j, 13, 2);
    job_stream(j, 14, 2);
    assert_anywhere(j);
    assert_anywhere(job_begin((struct sl_edges_options){.foreign = 1}));
}

/* Until the stream's next operation, which comes behind the graph too; what that waited for is left
 * out. */
static void a_streams_next_operation_comes_behind_it(void **state)
{
    struct job *j = begin();
    (void)state;
    job_stream(j, 13, 2);
    job_stream(j, 14, 2);
    job_kernel(j, 13, 10, 15, 20);
    job_record(j, 13, 5, 1, 13);
    job_call(j, GRAPH_LAUNCH, 22, 25);
    job_node(j, 90, 1, 30, 100);
    job_record(j, 13, 6, 2, 26);
    job_wait_event(j, 14, 5, 1, 28);
    job_kernel(j, 14, 32, 101, 110);
    job_event_sync(j, 6, 2, 34, 104);
    uint64_t next = job_kernel(j, 14, 106, 110, 120);
    uint64_t sync = job_stream_sync(j, 14, 108, 123);

    sl_edges_flush(j->edges);
    assert_wait(job_edge(j, next, sync), SL_EDGE_STREAM_SYNC, 12, 3, 1);
    assert_int_equal(j->count, 1);
    assert_int_equal(sl_edges_lost(j->edges, SL_EDGE_LOST_NO_RECORD), 3);
    job_end(j);
}

/* The threads' calls overlap: both orders fit. */
static void a_wait_that_had_begun_before_it_keeps_its_edge(void **state)
{
    struct job *j = begin();
    (void)state;
    job_stream(j, 13, 2);
    uint64_t before = job_kernel(j, 13, 10, 15, 90);
    uint64_t sync = job_stream_sync(j, 13, 20, 120);

    j->thread = 200;
    job_call(j, GRAPH_LAUNCH, 22, 25);
    job_node(j, 90, 1, 30, 118);
    sl_edges_flush(j->edges);
    assert_int_equal(j->count, 1);
    assert_non_null(job_edge(j, before, sync));
    assert_int_equal(job_edge(j, before, sync)->basis, SL_BASIS_OVERLAPPING);
    job_end(j);
}

/* Only an application's own can be waited for, and nothing but the legacy default stream is 7. */
static void a_stream_without_a_row_that_was_waited_for_is_the_applications(void **state)
{
    struct job *j = job_begin((struct sl_edges_options){.foreign = 1});
    (void)state;
    job_stream_sync(j, 13, 10, 12);
    for (unsigned i = 0; i < 2; i++) {
        uint32_t stream = i ? 7 : 13;
        uint64_t graph = job_call(j, GRAPH_LAUNCH, 20 + 100 * i, 22 + 100 * i);

        job_node(j, stream, 1 + 2 * i, 30 + 100 * i, 40 + 100 * i);
        job_node(j, 90 + i, 2 + 2 * i, 30 + 100 * i, 80 + 100 * i);
        uint64_t sync = job_stream_sync(j, stream, 25 + 100 * i, 85 + 100 * i);

        sl_edges_flush(j->edges);
        assert_int_equal(j->count, 2 * i + 2);
        for (size_t at = 2 * i; at < j->count; at++) {
            assert_int_equal(j->got[at].source.correlation, graph);
            assert_int_equal(j->got[at].dst_correlation, sync);
            assert_int_equal(j->got[at].basis, SL_BASIS_EXACT);
            assert_int_equal(j->got[at].released, j->got[at].source.stream == 90 + i);
        }
    }
    assert_int_equal(sl_edges_lost(j->edges, SL_EDGE_LOST_NO_RECORD), 0);
    job_end(j);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_graph_is_waited_for_whole),
        cmocka_unit_test(without_ids_it_is_waited_for_whole_too),
        cmocka_unit_test(a_graph_waits_for_its_launch_before),
        cmocka_unit_test(a_graph_first_seen_after_a_pause_is_counted),
        cmocka_unit_test(a_node_without_its_time_may_be_any_of_its_stream),
        cmocka_unit_test(nodes_that_are_known_come_behind_one_another),
        cmocka_unit_test(a_source_without_its_time_is_no_source_that_began_later),
        cmocka_unit_test(a_node_that_began_before_its_source_is_counted),
        cmocka_unit_test(nodes_that_were_not_all_told_are_counted),
        cmocka_unit_test(a_record_behind_the_others_of_its_launch_is_counted),
        cmocka_unit_test(what_was_changed_behind_a_copy_is_not_taken_for_it),
        cmocka_unit_test(a_node_that_was_taken_out_joins_nothing),
        cmocka_unit_test(a_graph_on_streams_of_its_own_alone_may_be_anywhere),
        cmocka_unit_test(a_streams_next_operation_comes_behind_it),
        cmocka_unit_test(a_wait_that_had_begun_before_it_keeps_its_edge),
        cmocka_unit_test(a_stream_without_a_row_that_was_waited_for_is_the_applications),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
