/* captures_test.c - finds the PyTorch operator that captured a graph node. If a node is a copy,
 * directly or through other copies, its operator is that of the captured node. CUPTI's reports may
 * arrive in any order, and a job may make any number of nodes. */
#include "unit/test.h"

#include <stdlib.h>

#include "write/captures.h"

static struct sl_captures c;

static int set_up(void **state)
{
    c = (struct sl_captures){.capture = calloc(SL_CAPTURES, sizeof(*c.capture))};
    return c.capture ? 0 : -1;
}

static int tear_down(void **state)
{
    free(c.capture);
    return 0;
}

static void captured(uint64_t node, uint32_t name, uint64_t handle, int64_t sequence)
{
    struct sl_event ev = {.kind = SL_EV_META_NODE, .fact = SL_NODE_CAPTURED, .name = name};

    ev.node_sequence = sequence;
    ev.u.node.id = node;
    ev.u.node.other = handle;
    sl_captures_tell(&c, &ev);
}

static void told(enum sl_node_fact fact, uint64_t node, uint64_t other)
{
    struct sl_event ev = {.kind = SL_EV_META_NODE, .fact = fact};

    ev.u.node.id = node;
    ev.u.node.other = other;
    sl_captures_tell(&c, &ev);
}

static void assert_by(uint64_t node, uint32_t name, uint64_t handle, int64_t sequence)
{
    const struct sl_capture *by = sl_captures_find(&c, node);

    assert_non_null(by);
    assert_int_equal(by->name, name);
    assert_int_equal(by->handle, handle);
    assert_int_equal(by->sequence, sequence);
}

static void copies_have_their_originals_work(void **state)
{
    struct sl_event work = {.kind = SL_EV_META_NODE, .fact = SL_NODE_WORK, .name = 77};

    captured(21, 5, 50, 7);
    told(SL_NODE_CLONED, 22, 21);
    told(SL_NODE_CLONED, 24, 23); /* 23 has no operator */
    work.u.node.id = 21;
    sl_captures_tell(&c, &work);
    work.u.node.id = 23;
    sl_captures_tell(&c, &work);
    assert_by(22, 5, 50, 7);
    assert_int_equal(sl_captures_find(&c, 22)->work, 77);
    assert_by(24, 0, 0, -1);
    assert_int_equal(sl_captures_find(&c, 24)->work, 77);
}

static void copies_have_their_originals_operator(void **state)
{
    captured(1, 5, 1ull << 40, 7);
    captured(2, 6, 50, -1);
    told(SL_NODE_CLONED, 11, 1);
    told(SL_NODE_CLONED, 12, 2);
    told(SL_NODE_CLONED, 111, 11); /* node 111 is a copy of the copy 11 */
    assert_by(1, 5, 1ull << 40, 7);
    assert_by(11, 5, 1ull << 40, 7);
    assert_by(111, 5, 1ull << 40, 7);
    assert_by(12, 6, 50, -1);
}

static void a_copy_may_be_told_of_first(void **state)
{
    told(SL_NODE_CLONED, 111, 11);
    told(SL_NODE_CLONED, 11, 1);
    assert_null(sl_captures_find(&c, 111));
    captured(1, 5, 40, 7);
    assert_by(111, 5, 40, 7);
    assert_by(11, 5, 40, 7);
}

static void what_no_operator_made_has_none(void **state)
{
    told(SL_NODE_CREATED, 1, 0);
    told(SL_NODE_CLONED, 11, 1);
    told(SL_NODE_DEPENDS, 2, 1);
    assert_null(sl_captures_find(&c, 0));
    assert_null(sl_captures_find(&c, 1));
    assert_null(sl_captures_find(&c, 2));
    assert_null(sl_captures_find(&c, 11));
}

static void copies_of_each_other_end(void **state)
{
    told(SL_NODE_CLONED, 1, 2);
    told(SL_NODE_CLONED, 2, 1);
    told(SL_NODE_CLONED, 3, 3);
    assert_null(sl_captures_find(&c, 1));
    assert_null(sl_captures_find(&c, 3));
}

/* Graphs of a hundred nodes are made and instantiated until the table has been full many times. The
 * operators of the latest nodes are always known, for any node ids. */
static void graphs_by_the_million(void **state)
{
    enum {
        GRAPHS = 10000,
        NODES = 100,
        LATEST = 100,
    };
    uint64_t known = 0;

    for (uint64_t graph = 1; graph <= GRAPHS; graph++) {
        for (uint64_t node = 0; node < NODES; node++)
            captured(2 * graph << 32 | node, (uint32_t)node + 1, graph * NODES + node, -1);
        for (uint64_t node = 0; node < NODES; node++)
            told(SL_NODE_CLONED, (2 * graph + 1) << 32 | node, 2 * graph << 32 | node);
    }
    for (uint64_t graph = 1; graph <= GRAPHS; graph++)
        for (uint64_t node = 0; node < NODES; node++) {
            const struct sl_capture *by = sl_captures_find(&c, (2 * graph + 1) << 32 | node);

            known += by != NULL;
            if (by || graph > GRAPHS - LATEST)
                assert_by((2 * graph + 1) << 32 | node, (uint32_t)node + 1, graph * NODES + node,
                          -1);
        }
    assert_in_range(known, SL_CAPTURES / 4, SL_CAPTURES);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(copies_have_their_originals_operator, set_up, tear_down),
        cmocka_unit_test_setup_teardown(copies_have_their_originals_work, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_copy_may_be_told_of_first, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_no_operator_made_has_none, set_up, tear_down),
        cmocka_unit_test_setup_teardown(copies_of_each_other_end, set_up, tear_down),
        cmocka_unit_test_setup_teardown(graphs_by_the_million, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
