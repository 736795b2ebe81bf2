/* nvtx_fallback_test.c - no observer fits this PyTorch, so syncline reads operators from PyTorch's
 * NVTX ranges. NVTX ranges of the program are still ranges in the trace. The tests share one
 * process, as in a job. */
#include "test.h"

#include <dlfcn.h>
#include <pthread.h>

#include "collect/nvtx/calls.h"
#include "collect/torch/nvtx_fallback.h"
#include "collect/torch/ops.h"
#include "collect/torch/ops_abi.h"
#include "unit/collect/torch/records.h"
#include "unit/collect/torch/tree.h"

static struct torch_tree tree;

static int set_up(void **state)
{
    torch_tree_make(&tree, FIXTURE_TORCH);
    torch_tree_version(&tree, "__version__ = '2.99.0'\n");
    torch_tree_link(&tree, "home/observers/torch-2.11.so", FIXTURE_OBSERVER);
    return sl_lanes_init(8 << 20);
}

static int tear_down(void **state)
{
    torch_tree_remove(&tree);
    return 0;
}

static int push_in(unsigned domain, const char *text)
{
    const struct sl_nvtx_event ev = {.message = {0, text, strlen(text)}};

    return sl_nvtx_push(domain, &ev);
}

static int push(const char *text)
{
    return push_in(0, text);
}

static int pop(void)
{
    return sl_nvtx_pop(0, NULL);
}

static void before_that_texts_are_texts(void **state)
{
    sl_torch_ops_enable(1);
    push("aten::mm, op_id = 1");
    pop();
    assert_int_equal(read_seen(), 2);
    assert_true(seen[0].record.what == SL_LANE_PUSH && seen[1].record.what == SL_LANE_POP);
    assert_int_equal(sl_torch_ops_by_strings(), SL_TORCH_OPS_OFF);
}

static void a_version_that_is_not_known(void **state)
{
    static const struct sl_nvtx_text_taker taker = {sl_nvtx_fallback_begin, sl_nvtx_fallback_end};

    assert_non_null(dlopen(tree.library, RTLD_NOW | RTLD_LOCAL));
    assert_int_equal(sl_torch_ops_attach(SL_TORCH_OPS_FULL, tree.home), 1);
    assert_int_equal(sl_torch_ops_attach(SL_TORCH_OPS_FULL, tree.home), 0);
    assert_int_equal(sl_torch_ops_by_strings(), SL_TORCH_OPS_FULL);
    sl_nvtx_set_text_taker(&taker); /* like collect/source.c */
}

static void texts_are_operators(void **state)
{
    assert_int_equal(push("aten::linear, seq = 4, op_id = 7, sizes = [[2, 3], []]"), 0);
    assert_int_equal(push("aten::mm, op_id = 8"), 1);
    assert_int_equal(pop(), 1);
    assert_int_equal(pop(), 0);
    assert_int_equal(read_seen(), 4);
    assert_int_equal(seen[0].record.what, SL_LANE_OP_BEGIN);
    assert_string_equal(seen[0].name, "aten::linear");
    assert_string_equal(seen[0].more, "\"Input Dims\":[[2, 3], []]");
    assert_true(seen[0].op.handle == 7 && seen[0].op.sequence == 4 && seen[0].op.thread == 1);
    assert_string_equal(seen[1].name, "aten::mm");
    assert_string_equal(seen[1].more, "");
    assert_int_equal(seen[2].record.what, SL_LANE_OP_END);
    assert_int_equal(seen[2].record.aux, 8);
    assert_int_equal(seen[3].record.aux, 7);
}

static void scopes_and_backward_ones(void **state)
{
    push("ProfilerStep#3, op_id = 20");
    push("autograd::engine::evaluate_function: MmBackward0, op_id = 21");
    push("MmBackward0, seq = 4, op_id = 22");
    push("aten::mm, op_id = 23");
    for (int i = 0; i < 4; i++)
        pop();
    assert_int_equal(read_seen(), 8);
    assert_int_equal(seen[0].op.scope, SL_TORCH_SCOPE_USER);
    assert_string_equal(seen[0].name, "ProfilerStep#3");
    assert_int_equal(seen[1].op.scope, SL_TORCH_SCOPE_FUNCTION);
    assert_int_equal(seen[2].op.scope, SL_TORCH_SCOPE_BACKWARD);
    assert_int_equal(seen[2].op.forward_thread, 1); /* the thread of texts_are_operators() */
    assert_int_equal(seen[3].op.scope, SL_TORCH_SCOPE_FUNCTION);
}

/* An operator begins between windows. Neither its beginning nor its end gets a record. */
static void between_windows(void **state)
{
    sl_torch_ops_enable(0);
    push("aten::a, op_id = 30");
    push("mine");
    sl_torch_ops_enable(1);
    push("aten::b, op_id = 31");
    sl_torch_ops_enable(0);
    pop();
    pop();
    pop();
    push("a scope, op_id = 32"); /* a scope of the program, which may still be open when a window
                                  * opens */
    sl_torch_ops_enable(1);
    pop();
    assert_int_equal(read_seen(), 6);
    assert_string_equal(seen[4].name, "a scope");
    assert_int_equal(seen[5].record.aux, 32);
    assert_int_equal(seen[0].record.what, SL_LANE_PUSH);
    assert_string_equal(seen[1].name, "aten::b");
    assert_int_equal(seen[2].record.what, SL_LANE_OP_END);
    assert_int_equal(seen[3].record.what, SL_LANE_POP);
}

static void deeper_than_is_kept(void **state)
{
    unsigned begins = 0, ends = 0;

    for (int i = 0; i < 300; i++)
        push("aten::x, op_id = 40");
    for (int i = 0; i < 300; i++)
        pop();
    assert_int_equal(pop(), -2);
    read_seen();
    for (unsigned i = 0; i < seen_count; i++) {
        begins += seen[i].record.what == SL_LANE_OP_BEGIN || seen[i].record.what == SL_LANE_PUSH;
        ends += seen[i].record.what == SL_LANE_OP_END || seen[i].record.what == SL_LANE_POP;
    }
    assert_true(begins == 300 && ends == 300);
}

static void *other_thread(void *unused)
{
    push("aten::mm, seq = 0, op_id = 50");
    pop();
    push("aten::left_open, op_id = 51");
    return unused;
}

/* Several threads run forward passes, so a sequence number does not identify the thread of a
 * backward operator. */
static void several_threads_that_go_forward(void **state)
{
    pthread_t thread;

    for (int i = 0; i < 2; i++) { /* the second thread gets the lane of the first thread */
        assert_int_equal(pthread_create(&thread, NULL, other_thread, NULL), 0);
        pthread_join(thread, NULL);
    }
    assert_int_equal(read_seen(), 6);
    assert_int_equal(seen[0].op.thread, 2);
    assert_int_equal(seen[3].op.thread, 3);
    push("autograd::engine::evaluate_function: MmBackward0, op_id = 60");
    push("MmBackward0, seq = 4, op_id = 61");
    pop();
    pop();
    assert_int_equal(read_seen(), 4);
    assert_int_equal(seen[1].op.scope, SL_TORCH_SCOPE_BACKWARD);
    assert_int_equal(seen[1].op.forward_thread, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(before_that_texts_are_texts),
        cmocka_unit_test(a_version_that_is_not_known),
        cmocka_unit_test(texts_are_operators),
        cmocka_unit_test(scopes_and_backward_ones),
        cmocka_unit_test(between_windows),
        cmocka_unit_test(deeper_than_is_kept),
        cmocka_unit_test(several_threads_that_go_forward),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
