/* exec_state_test.c - an executable graph is known again by its nodes, and forgotten in turn. */
#include "sync/streams.h"

#include "sync/exec_state.h"

struct execs_rig {
    struct rig *rig;
    struct sl_execs execs;
};

static int make(void **state)
{
    static struct execs_rig e;

    if (rig_make(state))
        return -1;
    e.rig = *state;
    sl_execs_init(&e.execs, &e.rig->streams);
    *state = &e;
    return 0;
}

static int drop(void **state)
{
    struct execs_rig *e = *state;

    sl_execs_forget(&e->execs);
    sl_execs_free(&e->execs);
    *state = e->rig;
    return rig_drop(state);
}

static struct sl_item node(uint64_t id)
{
    return (struct sl_item){.kind = SL_EV_KERNEL, .more = 1, .id = id};
}

static struct sl_exec *get(struct execs_rig *e, const uint64_t *ids, size_t count, int *lost)
{
    struct sl_item item[8];

    assert_in_range(count, 0, 8);
    for (size_t i = 0; i < count; i++)
        item[i] = node(ids[i]);
    return sl_execs_get(&e->execs, item, count, lost);
}

#define IDS(...) (const uint64_t[]){__VA_ARGS__}, sizeof((uint64_t[]){__VA_ARGS__}) / 8

static void it_is_known_by_its_nodes_in_any_order(void **state)
{
    struct execs_rig *e = *state;
    int lost = 0;
    struct sl_exec *a = get(e, IDS(30, 10, 20), &lost);

    assert_non_null(a);
    assert_ptr_equal(get(e, IDS(10, 20, 30), &lost), a);
    assert_ptr_equal(get(e, IDS(20, 20, 10, 30), &lost), a);
    assert_ptr_not_equal(get(e, IDS(40, 50), &lost), a);
    assert_int_equal(lost, 0);
}

static void nodes_that_are_switched_off_make_no_other_graph(void **state)
{
    struct execs_rig *e = *state;
    int lost = 0;
    struct sl_exec *a = get(e, IDS(1, 2, 3, 4, 5, 6), &lost);

    assert_ptr_equal(get(e, IDS(2, 3, 5), &lost), a); /* without 1, 4 and 6 */
    assert_int_equal(lost, 0);
}

static void operations_that_are_no_nodes_are_not_asked(void **state)
{
    struct execs_rig *e = *state;
    const struct sl_item plain = {.kind = SL_EV_KERNEL, .id = 10};
    int lost = 0;

    assert_null(sl_execs_get(&e->execs, &plain, 1, &lost));
    assert_null(sl_execs_get(&e->execs, &plain, 0, &lost));
}

static void what_was_launched_longest_ago_is_forgotten(void **state)
{
    struct execs_rig *e = *state;
    size_t most = e->execs.most;
    int lost = 0;
    struct sl_exec *first = get(e, IDS(1), &lost);

    for (uint64_t id = 2; id <= most; id++)
        assert_non_null(get(e, &id, 1, &lost));
    assert_ptr_equal(get(e, IDS(1), &lost), first); /* used again: 2 is the oldest */
    assert_int_equal(lost, 0);
    assert_non_null(get(e, IDS(1000000), &lost));
    assert_int_equal(e->execs.count, most);
    assert_ptr_equal(get(e, IDS(1), &lost), first);
    assert_int_equal(lost, 0); /* nothing had been launched by the one that went */
}

/* Its last operation has not ended when another takes its place. */
static void to_forget_one_that_runs_is_a_loss(void **state)
{
    struct execs_rig *e = *state;
    struct sl_streams *streams = &e->rig->streams;
    struct sl_stream *stream = rig_stream(e->rig, 13, 2);
    struct sl_link end = {.op = rig_push(e->rig, stream, 10, 20, 900)};
    int lost = 0;
    struct sl_exec *running = get(e, IDS(1), &lost);

    sl_set_open(streams, &running->ends);
    sl_set_add(streams, &running->ends, &end);
    streams->horizon_ns = 500 * US;
    for (uint64_t id = 2; id <= e->execs.most; id++)
        get(e, &id, 1, &lost);
    assert_int_equal(lost, 0);
    get(e, IDS(1000000), &lost);
    assert_int_equal(lost, 1);
}

static void room_for_a_launch_is_clean_each_time(void **state)
{
    struct execs_rig *e = *state;
    struct sl_launched *l = sl_execs_launched(&e->execs, 4);

    assert_non_null(l);
    l[3].is_source = 1;
    l = sl_execs_launched(&e->execs, 300);
    assert_non_null(l);
    for (size_t i = 0; i < 300; i++)
        assert_true(!l[i].op && !l[i].node && !l[i].is_source);
    assert_null(sl_execs_launched(&e->execs, 1u << 24)); /* past the cap */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(it_is_known_by_its_nodes_in_any_order, make, drop),
        cmocka_unit_test_setup_teardown(nodes_that_are_switched_off_make_no_other_graph, make,
                                        drop),
        cmocka_unit_test_setup_teardown(operations_that_are_no_nodes_are_not_asked, make, drop),
        cmocka_unit_test_setup_teardown(what_was_launched_longest_ago_is_forgotten, make, drop),
        cmocka_unit_test_setup_teardown(to_forget_one_that_runs_is_a_loss, make, drop),
        cmocka_unit_test_setup_teardown(room_for_a_launch_is_clean_each_time, make, drop),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
