/* text_test.c - the args of a row's shape at each level of detail, with any name. */
#include "unit/write/kineto/fixture.h"

static void kernels_have_all_that_readers_use(void **state)
{
    struct sl_event ev = kernel_named("_Z3addPfi", 9, 99), graph;
    const struct json *e, *grid;

    (void)state;
    graph = ev;
    graph.graph = 4;
    graph.correlation = 100;
    graph.u.op.graph_node = 17179869187u;
    begin();
    put(device_seen(0));
    put(ev);
    put(graph);
    end();
    e = find("cat", "kernel", 0);
    assert_true(strcmp(json_text(e, "name"), "add(float*, int)") == 0 ||
                strcmp(json_text(e, "name"), "_Z3addPfi") == 0);
    assert_string_equal(json_text(e, "pid"), "0");
    assert_string_equal(json_text(e, "tid"), "7");
    assert_string_equal(json_text(e, "ts"), "5000123.456");
    assert_string_equal(json_text(e, "dur"), "41.407");
    assert_string_equal(arg(e, "queued"), "0");
    assert_string_equal(arg(e, "device"), "0");
    assert_string_equal(arg(e, "context"), "1");
    assert_string_equal(arg(e, "stream"), "7");
    assert_string_equal(arg(e, "priority"), "-1");
    assert_string_equal(arg(e, "correlation"), "99");
    assert_string_equal(arg(e, "registers per thread"), "16");
    assert_string_equal(arg(e, "shared memory"), "400");
    /* The numbers of a real A100's trace for this launch. */
    assert_string_equal(arg(e, "blocks per SM"), "1.185185");
    assert_string_equal(arg(e, "warps per SM"), "4.740741");
    assert_string_equal(arg(e, "est. achieved occupancy %"), "7");
    grid = json_get(json_get(e, "args"), "grid");
    assert_int_equal(grid->count, 3);
    assert_string_equal(grid->child->text, "128");
    assert_null(json_get(json_get(e, "args"), "graph id"));
    e = find("cat", "kernel", 1);
    assert_string_equal(arg(e, "graph id"), "4");
    assert_string_equal(arg(e, "graph node id"), "17179869187");
}

static void an_unknown_device_gives_no_occupancy(void **state)
{
    (void)state;
    begin();
    put(kernel_named("k", 1, 1));
    put(device_seen(0));
    put(kernel_named("k", 1, 2));
    end();
    assert_null(json_get(json_get(find("cat", "kernel", 0), "args"), "est. achieved occupancy %"));
    assert_non_null(
        json_get(json_get(find("cat", "kernel", 1), "args"), "est. achieved occupancy %"));
}

static void lean_leaves_out_and_full_adds(void **state)
{
    struct sl_event flow = event(SL_EV_FLOW, 5, 1000000, 2000000);
    enum sl_detail detail;

    (void)state;
    flow.flags = SL_EVF_FLOW_FIRST;
    for (detail = SL_DETAIL_LEAN; detail <= SL_DETAIL_FULL; detail++) {
        const struct json *kernel, *memcpy_row;

        sl_kineto_destroy(f.kineto);
        make_kineto(detail, 0);
        begin();
        put(device_seen(0));
        put(kernel_named("k", 1, 5));
        put(copy(6, 10, 10));
        put(flow);
        end();
        kernel = json_get(find("cat", "kernel", 0), "args");
        memcpy_row = json_get(find("cat", "gpu_memcpy", 0), "args");
        assert_int_equal(find("ph", "f", 0) == NULL, detail == SL_DETAIL_LEAN);
        assert_int_equal(json_get(kernel, "blocks per SM") == NULL, detail == SL_DETAIL_LEAN);
        assert_int_equal(json_get(memcpy_row, "memory bandwidth (GB/s)") == NULL,
                         detail == SL_DETAIL_LEAN);
        assert_int_equal(json_get(kernel, "cluster") != NULL, detail == SL_DETAIL_FULL);
        assert_non_null(json_get(kernel, "grid"));
    }
}

static void rows_without_a_shape_are_still_rows(void **state)
{
    struct sl_event ev = event(SL_EV_KERNEL, 5, 7000, 9000), other = ev;

    (void)state;
    ev.name = intern("nameless shape");
    other.name = intern("another");
    begin();
    put(ev);
    put(other);
    put(ev);
    end();
    assert_string_equal(json_text(find("cat", "kernel", 0), "name"), "nameless shape");
    assert_string_equal(json_text(find("cat", "kernel", 1), "name"), "another");
    assert_string_equal(json_text(find("cat", "kernel", 2), "name"), "nameless shape");
    assert_string_equal(json_text(find("cat", "kernel", 2), "tid"), "7");
    assert_null(json_get(json_get(find("cat", "kernel", 0), "args"), "priority"));
}

static void odd_names_give_valid_json(void **state)
{
    static const char *const odd[] = {"quote\"back\\slash", "line\nbreak\ttab\x01", "\xff\xfe\x80",
                                      "\xe4\xb8\xad", ""};
    size_t i, length = 64 * 1024;
    char *giant = malloc(length);

    (void)state;
    for (i = 0; i < length; i++)
        giant[i] = (char)(i * 7);
    begin();
    for (i = 0; i < sizeof(odd) / sizeof(odd[0]); i++)
        put(kernel_named(odd[i], strlen(odd[i]), i + 1));
    put(kernel_named(giant, length, 6));
    put(kernel_named(giant, length, 7)); /* cached text that is longer than a block */
    end();
    assert_string_equal(json_text(find("cat", "kernel", 0), "name"), odd[0]);
    assert_string_equal(json_text(find("cat", "kernel", 1), "name"), odd[1]);
    assert_string_equal(json_text(find("cat", "kernel", 2), "name"), "\\xff\\xfe\\x80");
    assert_string_equal(json_text(find("cat", "kernel", 3), "name"), odd[3]);
    assert_true(json_get(find("cat", "kernel", 6), "name")->length >= length);
    free(giant);
}

static void graphs_are_rows_like_kernels(void **state)
{
    struct sl_event ev = event(SL_EV_GRAPH, 5, 7000, 9000);

    (void)state;
    ev.graph = 4;
    begin();
    put(ev);
    end();
    assert_string_equal(json_text(find("cat", "kernel", 0), "name"), "CUDA Graph");
    assert_string_equal(arg(find("cat", "kernel", 0), "graph id"), "4");
    assert_null(json_get(json_get(find("cat", "kernel", 0), "args"), "grid"));
}

/* A newer CUPTI has kinds of copies and memory that syncline cannot name. They are called
 * unknown. */
static void kinds_that_are_not_known_are_called_so(void **state)
{
    struct sl_event ev = event(SL_EV_MEMCPY, 5, 7000, 9000);
    struct sl_shape s;

    (void)state;
    memset(&s, 0, sizeof(s));
    s.kind = SL_EV_MEMCPY;
    s.copy_kind = 200;
    s.src_memory = 201;
    s.dst_memory = 7;
    ev.shape = sl_shape_put(f.shapes, &s);
    begin();
    put(ev);
    end();
    assert_string_equal(json_text(find("cat", "gpu_memcpy", 0), "name"),
                        "Memcpy Unknown (Unknown -> Managed Static)");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(kernels_have_all_that_readers_use),
        CASE(an_unknown_device_gives_no_occupancy),
        CASE(lean_leaves_out_and_full_adds),
        CASE(rows_without_a_shape_are_still_rows),
        CASE(odd_names_give_valid_json),
        CASE(graphs_are_rows_like_kernels),
        CASE(kinds_that_are_not_known_are_called_so),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
