/* op_test.c - rows of operators, and the args in which calls and GPU operations name their
 * operators. */
#include "event/op_detail.h"
#include "event/ops.h"
#include "unit/write/kineto/fixture.h"

#define LINE "train.py:7 \"step\""

static const struct sl_edge waited = {.kind = SL_EDGE_STREAM_SYNC, .released = 1, .wait_ns = 5};

/* Sets up a writer as in a job, with details. */
static int set_up_job(void **state)
{
    struct sl_kineto_options opt;

    set_up(state);
    sl_kineto_destroy(f.kineto);
    opt = (struct sl_kineto_options){.detail = SL_DETAIL_DEFAULT,
                                     .intern = f.intern,
                                     .shapes = f.shapes,
                                     .devices = f.devices,
                                     .api_name = api_name,
                                     .details = f.intern};
    return sl_kineto_create(&f.kineto, &opt);
}

static uint32_t detail_cut(const char *members, int was_cut)
{
    static const uint8_t inputs[] = {7}; /* SL_OP_INPUT_FALSE */
    const struct sl_op_detail detail = {members, strlen(members), inputs, sizeof(inputs), was_cut};
    size_t length;
    char *text = malloc(strlen(members) + SL_OP_DETAIL_HEAD + sizeof(inputs));
    uint32_t id;

    assert_non_null(text);
    length = sl_op_detail_pack(text, &detail);
    id = sl_intern_put(f.intern, text, length);
    free(text);
    return id;
}

static uint32_t detail(const char *members)
{
    return detail_cut(members, 0);
}

static struct sl_event operator_row(const char *name, uint64_t handle, uint32_t shape)
{
    struct sl_event ev = event(SL_EV_CPU_OP, 0, 1000, 3000);

    ev.context = 0;
    ev.thread = 77;
    ev.name = intern(name);
    ev.shape = shape;
    ev.u.row.record_function = handle;
    ev.u.row.sequence = -1;
    return ev;
}

static uint32_t place(uint32_t collective, const char *line)
{
    struct sl_op_place at = {collective, line ? intern(line) : 0};

    return sl_intern_put(f.intern, (const char *)&at, sizeof(at));
}

static void an_operator_has_ids_inputs_and_times(void **state)
{
    const struct json *e;

    (void)state;
    begin();
    put(operator_row("aten::\"add\"", (3ull << 32) + 9, detail("\"n\":5")));
    end();
    e = find("name", "aten::\"add\"", 0);
    assert_string_equal(json_text(e, "cat"), "cpu_op");
    assert_string_equal(json_text(e, "tid"), "77");
    assert_string_equal(json_text(e, "ts"), "1.000");
    assert_string_equal(json_text(e, "dur"), "2.000");
    assert_string_equal(arg(e, "External id"), "9"); /* the id has 32 bits, as in other rows */
    assert_string_equal(arg(e, "Record function id"), "12884901897");
    assert_string_equal(arg(e, "n"), "5");
    assert_non_null(json_get(json_get(e, "args"), "Concrete Inputs"));
    assert_null(json_get(json_get(e, "args"), "Sequence number"));
    assert_null(json_get(json_get(e, "args"), "inputs cut"));
    assert_null(json_get(json_get(e, "args"), "cut end"));
    assert_null(json_get(json_get(e, "args"), "async"));
}

static void an_operator_that_any_thread_may_end_says_so(void **state)
{
    struct sl_event ev = operator_row("fork", 4, 0);

    (void)state;
    ev.flags = SL_EVF_ASYNC;
    begin();
    put(ev);
    end();
    assert_non_null(json_get(json_get(find("name", "fork", 0), "args"), "async"));
}

static void a_backward_operator_says_where_its_forward_one_ran(void **state)
{
    struct sl_event ev = operator_row("backward", 4, 0);
    const struct json *e;

    (void)state;
    ev.u.row.sequence = 1234567890123;
    ev.context = 2;
    ev.flags = SL_EVF_CUT_END;
    begin();
    put(ev);
    end();
    e = find("name", "backward", 0);
    assert_string_equal(arg(e, "Fwd thread id"), "2");
    assert_string_equal(arg(e, "Sequence number"), "1234567890123");
    assert_non_null(json_get(json_get(e, "args"), "cut end"));
}

/* The texts of rows are cached by name, by inputs and by thread. Operators are not mixed up. */
static void operators_are_not_taken_for_each_other(void **state)
{
    struct sl_event other = operator_row("a", 3, detail("\"n\":1"));

    (void)state;
    other.thread = 78;
    begin();
    put(operator_row("a", 1, detail("\"n\":1")));
    put(operator_row("a", 2, detail("\"n\":2")));
    put(other);
    put(operator_row("b", 4, detail("\"n\":1")));
    put(operator_row("a", 5, detail("\"n\":1")));
    end();
    assert_string_equal(arg(find("name", "a", 0), "n"), "1");
    assert_string_equal(arg(find("name", "a", 1), "n"), "2");
    assert_string_equal(json_text(find("name", "a", 2), "tid"), "78");
    assert_string_equal(arg(find("name", "b", 0), "External id"), "4");
    assert_string_equal(arg(find("name", "a", 3), "n"), "1");
    assert_string_equal(arg(find("name", "a", 3), "External id"), "5");
    assert_string_equal(json_text(find("name", "a", 3), "tid"), "77");
}

/* Names are truncated and details are left out. The file stays valid. */
static void texts_of_any_length(void **state)
{
    char *name = malloc(3000), *members = malloc(6000);
    const struct json *e;

    (void)state;
    assert_true(name && members);
    memset(name, '\x01', 2999); /* each byte is escaped with six */
    name[2999] = '\0';
    memset(members, 'm', 5999);
    memcpy(members, "\"n\":\"", 5);
    strcpy(members + 5998, "\"");
    begin();
    put(operator_row(name, 1, detail(members)));
    put(operator_row("cut", 2, detail_cut("", 1)));
    put(operator_row("none", 3, 999999));
    end();
    e = find("cat", "cpu_op", 0);
    assert_int_equal(strlen(json_text(e, "name")), 1024);
    assert_null(json_get(json_get(e, "args"), "n"));
    assert_non_null(json_get(json_get(find("name", "cut", 0), "args"), "inputs cut"));
    assert_string_equal(arg(find("name", "none", 0), "External id"), "3");
    free(name);
    free(members);
}

/* A GPU row names the operator of its call, whichever of the two rows arrives first.
 * sl_kineto_expect() announces a call that is held back. */
static void gpu_rows_name_the_operator_of_their_call(void **state)
{
    struct sl_event first = call(SL_EV_RUNTIME, 5, 211), held = call(SL_EV_RUNTIME, 6, 211);
    struct sl_event old = call(SL_EV_RUNTIME, 7, 211), none = call(SL_EV_RUNTIME, 8, 211);

    (void)state;
    first.u.call.op = 40;
    held.u.call.op = 41;
    old.u.call.op = 42;
    begin();
    put(first);
    put(copy(5, 100, 10));
    sl_kineto_expect(f.kineto, &held);
    put(copy(6, 100, 10));
    sl_kineto_expect(f.kineto, &old);
    old.correlation += 1 << 20; /* this correlation id replaces the old one in the table */
    sl_kineto_expect(f.kineto, &old);
    put(copy(7, 100, 10));
    sl_kineto_expect(f.kineto, &none);
    put(copy(8, 100, 10));
    end();
    assert_string_equal(arg(find("name", "cudaLaunchKernel", 0), "External id"), "40");
    assert_string_equal(arg(find("cat", "gpu_memcpy", 0), "External id"), "40");
    assert_string_equal(arg(find("cat", "gpu_memcpy", 1), "External id"), "41");
    assert_null(json_get(json_get(find("cat", "gpu_memcpy", 2), "args"), "External id"));
    assert_null(json_get(json_get(find("cat", "gpu_memcpy", 3), "args"), "External id"));
}

/* The collective's kernel has the description. A copy made for the collective, and the same kernel
 * outside a collective, do not. */
static void a_kernel_says_what_its_collective_is_about(void **state)
{
    struct sl_event in = call(SL_EV_RUNTIME, 5, 211), copied = in, out = in;

    (void)state;
    in.u.call.op = copied.u.call.op = out.u.call.op = 40;
    in.stream = copied.stream = place(detail("\"Collective name\":\"allreduce\""), NULL);
    copied.correlation = 6;
    out.correlation = 7;
    begin();
    put(in);
    put(kernel_named("nccl", 4, 5));
    put(copied);
    put(copy(6, 100, 10));
    put(out);
    put(kernel_named("nccl", 4, 7));
    end();
    assert_string_equal(arg(find("cat", "kernel", 0), "Collective name"), "allreduce");
    assert_null(json_get(json_get(find("cat", "kernel", 0), "args"), "Concrete Inputs"));
    assert_null(json_get(json_get(find("cat", "gpu_memcpy", 0), "args"), "Collective name"));
    assert_null(json_get(json_get(find("cat", "kernel", 1), "args"), "Collective name"));
}

static void a_wait_says_at_which_line_it_was_made(void **state)
{
    struct sl_event at_line = call(SL_EV_RUNTIME, 5, 131), nowhere = at_line, too_long = at_line;
    char line[1100];

    (void)state;
    memset(line, 'l', sizeof(line) - 1);
    line[sizeof(line) - 1] = '\0';
    at_line.stream = place(0, LINE);
    nowhere.stream = SL_STREAM_NONE;
    too_long.stream = place(0, line);
    begin();
    assert_int_equal(sl_kineto_call(f.kineto, &at_line, &waited), 0);
    assert_int_equal(sl_kineto_call(f.kineto, &nowhere, &waited), 0);
    assert_int_equal(sl_kineto_call(f.kineto, &too_long, &waited), 0);
    put(at_line); /* it did not wait */
    end();
    assert_string_equal(arg(find("cat", "cuda_runtime", 0), "wait_at"), LINE);
    for (int i = 1; i < 4; i++)
        assert_null(json_get(json_get(find("cat", "cuda_runtime", i), "args"), "wait_at"));
}

/* Without details, calls have no place, and `stream` is not read. */
static void without_details_nothing_is_read_of_a_call(void **state)
{
    struct sl_event ev = call(SL_EV_RUNTIME, 5, 131);

    (void)state;
    ev.stream = place(0, LINE);
    begin();
    assert_int_equal(sl_kineto_call(f.kineto, &ev, &waited), 0);
    end();
    assert_null(json_get(json_get(find("cat", "cuda_runtime", 0), "args"), "wait_at"));
}

static void an_arrow_leads_from_forward_to_backward(void **state)
{
    struct sl_event ev = event(SL_EV_FLOW_BACK, 3, 1000, 9000);
    const struct json *tail, *head;

    (void)state;
    ev.thread = 10;
    ev.context = 20;
    begin();
    put(operator_row("backward", 4, 0));
    put(ev);
    end();
    tail = find("ph", "s", 0);
    head = find("ph", "f", 0);
    assert_string_equal(json_text(tail, "cat"), "fwdbwd");
    assert_string_equal(json_text(tail, "tid"), "10");
    assert_string_equal(json_text(tail, "ts"), "1.000");
    assert_string_equal(json_text(head, "tid"), "20");
    assert_string_equal(json_text(head, "ts"), "9.000");
    assert_string_equal(json_text(head, "bp"), "e");
    assert_string_equal(json_text(tail, "id"), json_text(head, "id"));
}

#define JOB(name) cmocka_unit_test_setup_teardown(name, set_up_job, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        JOB(an_operator_has_ids_inputs_and_times),
        JOB(an_operator_that_any_thread_may_end_says_so),
        JOB(a_backward_operator_says_where_its_forward_one_ran),
        JOB(operators_are_not_taken_for_each_other),
        JOB(texts_of_any_length),
        JOB(gpu_rows_name_the_operator_of_their_call),
        JOB(a_kernel_says_what_its_collective_is_about),
        JOB(a_wait_says_at_which_line_it_was_made),
        CASE(without_details_nothing_is_read_of_a_call),
        JOB(an_arrow_leads_from_forward_to_backward),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
