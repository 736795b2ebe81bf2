/* wait_sites_test.c - a call of the CUDA runtime that is not part of an operator leaves the line of
 * its caller. Its result is unchanged. The cases share one process, like a job. */
#include "unit/collect/python/objects.h"

#include "collect/python/frames.h"
#include "collect/torch/ops.h"
#include "collect/torch/ops_abi.h"
#include "collect/torch/wait_sites.h"
#include "unit/collect/torch/fixture_waits.h"
#include "unit/collect/torch/records.h"

static const struct fixture_c10 *pytorch;

/* The thread's state, which points to its innermost frame. */
static char thread[4096];

/* The last call that the CUDA runtime received. */
static struct {
    const char *name;
    void *object;
    unsigned calls;
} asked;

static int answer(const char *name, void *object)
{
    asked.name = name;
    asked.object = object;
    return (int)++asked.calls;
}

static int set_up(void **state)
{
    void *library = dlopen(FIXTURE_C10_CUDA, RTLD_NOW | RTLD_LOCAL);
    int (**to)(const char *, void *);

    (void)state;
    if (!library)
        return -1;
    pytorch = dlsym(library, "fixture_c10");
    to = (int (**)(const char *, void *))dlsym(library, "fixture_cuda");
    if (!pytorch || !to || sl_lanes_init(8 << 20))
        return -1;
    *to = answer;
    return 0;
}

static void run_frame(const void *frame)
{
    put_pointer(thread, layout.thread_frame, frame);
}

/* Returns the line in the record of a wait. The wait's end must follow it directly. */
static const char *noted_line(void)
{
    assert_int_equal(read_seen(), 2);
    assert_int_equal(seen[0].op.scope, SL_TORCH_SCOPE_SITE);
    assert_int_equal(seen[1].record.what, SL_LANE_OP_END);
    return sl_python_line_text(seen[0].record.aux, NULL);
}

static void all_of_it_is_passed_on(void **state)
{
    int object;

    (void)state;
    assert_int_equal(pytorch->stream_synchronize(&object), 1);
    sl_wait_sites_watch();
    assert_int_equal(pytorch->stream_synchronize(&object), 2);
    assert_string_equal(asked.name, "cudaStreamSynchronize");
    assert_ptr_equal(asked.object, &object);
    assert_int_equal(pytorch->device_synchronize(), 3);
    assert_string_equal(asked.name, "cudaDeviceSynchronize");
    assert_int_equal(pytorch->event_query(&asked), 4);
    assert_string_equal(asked.name, "cudaEventQuery");
    assert_ptr_equal(asked.object, &asked);
    assert_int_equal(pytorch->empty_cache(&object), 5);
    assert_string_equal(asked.name, "cudaFree");
    assert_ptr_equal(asked.object, &object);
    assert_int_equal(read_seen(), 0); /* there is no window and no Python */
    sl_torch_ops_enable(1);
    pytorch->device_synchronize();
    assert_int_equal(read_seen(), 0);
}

static void each_has_the_line_that_called(void **state)
{
    void *code, *first, *second;

    (void)state;
    load_python();
    objects_of_python(14); /* in this version a thread's state contains its frame directly */
    assert_int_equal(sl_python_lines_init(1), 0);
    cpython.said->thread = thread;
    code = new_code("/home/me/train.py", "step", 10);
    first = new_frame(code, NULL, 0);
    second = new_frame(code, NULL, 1);
    run_frame(first);
    pytorch->device_synchronize();
    assert_string_equal(noted_line(), "/home/me/train.py:10 step");
    run_frame(second);
    pytorch->stream_synchronize(NULL);
    assert_string_equal(noted_line(), "/home/me/train.py:13 step");
    pytorch->event_query(NULL);
    assert_string_equal(noted_line(), "/home/me/train.py:13 step");
    sl_torch_ops_enable(0);
    pytorch->device_synchronize();
    assert_int_equal(read_seen(), 0);
    sl_torch_ops_enable(1);
    free(first);
    free(second);
    free_code(code);
}

/* Inside an operator, the operator's own line is used. Python code that the operator calls gets its
 * own line if it waits. */
static void inside_an_operator_nothing_is_noted(void **state)
{
    const struct sl_torch_op op = {
        .name = "aten::item", .name_length = 10, .handle = 1, .sequence = -1};
    void *code = new_code("/home/me/train.py", "backward", 20), *outer = new_frame(code, NULL, 0),
         *inner = new_frame(code, outer, 1);

    (void)state;
    run_frame(outer);
    sl_torch_ops_begin(&op);
    read_seen();
    pytorch->stream_synchronize(NULL);
    assert_int_equal(read_seen(), 0);
    run_frame(inner);
    pytorch->stream_synchronize(NULL);
    assert_string_equal(noted_line(), "/home/me/train.py:23 backward");
    run_frame(outer);
    sl_torch_ops_end(1, SL_TORCH_SCOPE_FUNCTION, 0);
    read_seen();
    pytorch->stream_synchronize(NULL);
    assert_string_equal(noted_line(), "/home/me/train.py:20 backward");
    free(inner);
    free(outer);
    free_code(code);
}

static void after_a_fork_calls_are_passed_on(void **state)
{
    (void)state;
    sl_torch_ops_stop();
    sl_python_lines_stop();
    asked.calls = 0;
    assert_int_equal(pytorch->device_synchronize(), 1);
    assert_int_equal(read_seen(), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_of_it_is_passed_on),
        cmocka_unit_test(each_has_the_line_that_called),
        cmocka_unit_test(inside_an_operator_nothing_is_noted),
        cmocka_unit_test(after_a_fork_calls_are_passed_on),
    };

    return cmocka_run_group_tests(tests, set_up, NULL);
}
