/*
 * node_state_test.c - nodes of graphs: copies share their original's dependencies.
 */
#include "sync/node_state.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void tell(struct sl_nodes *n, enum sl_node_fact what, uint64_t id, uint64_t other)
{
    struct sl_event ev = {.kind = SL_EV_META_NODE, .fact = what, .graph = 9};

    ev.u.node.id = id;
    ev.u.node.other = other;
    sl_nodes_tell(n, &ev);
}

/* How often the node comes behind the one with this original. */
static int behind(const struct sl_nodes *n, uint64_t id, uint64_t original)
{
    const struct sl_node *node = sl_nodes_find(n, id);
    int times = 0;

    assert_non_null(node);
    for (const struct sl_node_deps *at = &node->deps; at; at = at->more)
        for (int i = 0; i < SL_NODE_DEPS; i++)
            times += at->original[i] == original;
    return times;
}

static void a_copy_comes_behind_what_its_original_did_then(void **state)
{
    struct sl_store store = {.cap_bytes = 1 << 20};
    struct sl_nodes n;
    (void)state;

    sl_nodes_init(&n, &store);
    for (uint64_t id = 1; id <= 10; id++)
        tell(&n, SL_NODE_CREATED, id, 0);
    for (uint64_t id = 1; id <= 9; id++)
        tell(&n, SL_NODE_DEPENDS, 10, id);
    tell(&n, SL_NODE_DEPENDS, 10, 4); /* again */
    tell(&n, SL_NODE_DEPENDS_NO_MORE, 10, 9);
    for (uint64_t id = 1; id <= 10; id++)
        tell(&n, SL_NODE_CLONED, 100 + id, id);
    tell(&n, SL_NODE_DEPENDS_NO_MORE, 10, 1); /* the copy is not touched */
    tell(&n, SL_NODE_CLONED, 210, 110);
    for (uint64_t id = 1; id <= 8; id++)
        assert_int_equal(behind(&n, 210, id), 1);
    assert_int_equal(behind(&n, 210, 9), 0);
    assert_int_equal(behind(&n, 10, 1), 0);
    assert_int_equal(sl_nodes_find(&n, 210)->original, 10);
    assert_int_equal(sl_nodes_find(&n, 210)->home, 9);
    assert_int_equal(sl_nodes_find(&n, 210)->unclear, 0);
    sl_nodes_free(&n);
    assert_int_equal(store.used_bytes, 0);
}

static void what_is_not_told_whole_is_unclear(void **state)
{
    struct sl_store store = {.cap_bytes = 1 << 20};
    struct sl_nodes n;
    (void)state;

    sl_nodes_init(&n, &store);
    tell(&n, SL_NODE_CREATED, 1, 0);
    tell(&n, SL_NODE_DEPENDS, 1, 77);
    assert_int_equal(sl_nodes_find(&n, 1)->unclear, 1);
    tell(&n, SL_NODE_IS_GRAPH, 2, 0);
    assert_int_equal(sl_nodes_find(&n, 2)->unclear, 1);
    tell(&n, SL_NODE_CLONED, 3, 78); /* of what, nobody knows */
    assert_null(sl_nodes_find(&n, 3));
    tell(&n, SL_NODE_FACTS_LOST, 0, 0);
    assert_null(sl_nodes_find(&n, 1));
    assert_int_equal(n.count, 0);
    sl_nodes_free(&n);
}

static void graphs_made_again_and_again_take_no_more_memory(void **state)
{
    struct sl_store store = {.cap_bytes = 1 << 20};
    size_t early = 0;
    struct sl_nodes n;
    (void)state;

    sl_nodes_init(&n, &store);
    for (uint64_t id = 1; id <= 500000; id++) {
        tell(&n, SL_NODE_CREATED, id, 0);
        for (uint64_t back = 1; back < 6 && back < id; back++)
            tell(&n, SL_NODE_DEPENDS, id, id - back);
        if (id == 100000)
            early = store.used_bytes;
    }
    assert_int_equal(store.used_bytes, early);
    assert_true(early <= store.cap_bytes / 2);
    assert_null(sl_nodes_find(&n, 1));
    assert_int_equal(behind(&n, 500000, 499995), 1);
    sl_nodes_free(&n);
}

/* Each behind all that were made before it. */
static void nodes_behind_many_leave_memory_for_others(void **state)
{
    struct sl_store store = {.cap_bytes = 1 << 20};
    struct sl_nodes n;
    (void)state;

    sl_nodes_init(&n, &store);
    for (uint64_t id = 1; id <= 500; id++) {
        tell(&n, SL_NODE_CREATED, id, 0);
        for (uint64_t before = 1; before < id; before++)
            tell(&n, SL_NODE_DEPENDS, id, before);
    }
    assert_true(store.used_bytes <= store.cap_bytes / 2);
    assert_int_equal(behind(&n, 50, 49), 1);
    assert_int_equal(sl_nodes_find(&n, 50)->unclear, 0);
    assert_int_equal(sl_nodes_find(&n, 500)->unclear, 1);
    tell(&n, SL_NODE_FACTS_LOST, 0, 0); /* and there is room again */
    for (uint64_t id = 601; id <= 610; id++)
        tell(&n, SL_NODE_CREATED, id, 0);
    for (uint64_t before = 601; before <= 609; before++)
        tell(&n, SL_NODE_DEPENDS, 610, before);
    assert_int_equal(sl_nodes_find(&n, 610)->unclear, 0);
    sl_nodes_free(&n);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_copy_comes_behind_what_its_original_did_then),
        cmocka_unit_test(what_is_not_told_whole_is_unclear),
        cmocka_unit_test(graphs_made_again_and_again_take_no_more_memory),
        cmocka_unit_test(nodes_behind_many_leave_memory_for_others),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
