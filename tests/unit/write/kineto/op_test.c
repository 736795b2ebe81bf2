/* op_test.c - rows of operators and calls whose texts are too long or missing. */
#include "event/op_detail.h"
#include "event/ops.h"
#include "unit/write/kineto/fixture.h"

static const struct sl_edge edge = {.kind = SL_EDGE_STREAM_SYNC, .released = 1, .wait_ns = 5};
static const struct sl_output_edges waited = {.edge = &edge, .count = 1, .by = &edge};

/* Sets up a writer as in a job, with the details of operators. */
static int set_up_job(void **state)
{
    set_up(state);
    sl_kineto_destroy(f.kineto);
    f.details = f.intern;
    make_kineto(SL_DETAIL_DEFAULT, 0);
    return 0;
}

static uint32_t detail(const char *members, int was_cut)
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

static struct sl_event operator_row(const char *name, uint64_t handle, uint32_t inputs)
{
    struct sl_event ev = event(SL_EV_CPU_OP, 0, 1000, 3000);

    ev.forward_thread = 0;
    ev.thread = 77;
    ev.name = intern(name);
    ev.inputs = inputs;
    ev.u.row.record_function = handle;
    ev.u.row.sequence = -1;
    return ev;
}

static uint32_t place(const char *line)
{
    struct sl_op_place at = {.line = intern(line)};

    return sl_intern_put(f.intern, (const char *)&at, sizeof(at));
}

/* Long names are truncated, and long details are omitted. The file is valid. */
static void texts_of_any_length(void **state)
{
    char *name = malloc(3000), *members = malloc(6000);
    const struct json *e;

    assert_true(name && members);
    memset(name, '\x01', 2999); /* each byte is escaped as six bytes */
    name[2999] = '\0';
    memset(members, 'm', 5999);
    memcpy(members, "\"n\":\"", 5);
    strcpy(members + 5998, "\"");
    begin();
    put(operator_row(name, 1, detail(members, 0)));
    put(operator_row("cut", 2, detail("", 1)));
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

static void a_line_that_is_too_long_is_left_out(void **state)
{
    struct sl_event ev = call(SL_EV_RUNTIME, 5, 131);
    char line[1100];

    memset(line, 'l', sizeof(line) - 1);
    line[sizeof(line) - 1] = '\0';
    ev.stream = place(line);
    begin();
    assert_int_equal(sl_kineto_call(f.kineto, &ev, &waited), 0);
    end();
    assert_null(json_get(json_get(find("cat", "cuda_runtime", 0), "args"), "wait_at"));
}

/* This writer has no details of operators, so it does not read the source line of a call. */
static void without_details_nothing_is_read_of_a_call(void **state)
{
    struct sl_event ev = call(SL_EV_RUNTIME, 5, 131);

    ev.stream = place("train.py:7");
    begin();
    assert_int_equal(sl_kineto_call(f.kineto, &ev, &waited), 0);
    end();
    assert_null(json_get(json_get(find("cat", "cuda_runtime", 0), "args"), "wait_at"));
}

#define JOB(name) cmocka_unit_test_setup_teardown(name, set_up_job, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        JOB(texts_of_any_length),
        JOB(a_line_that_is_too_long_is_left_out),
        CASE(without_details_nothing_is_read_of_a_call),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
