/*
 * match_test.c - the writer tells the compressor where text is repeated (matches). For any events,
 * the compressed file must contain the same bytes as an uncompressed file.
 */
#include "unit/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "base/stats.h"
#include "write/kineto/kineto_internal.h"

#define START     1700000000000000000u
#define TEXT_ROOM (64u << 20)

static uint64_t random_state;

static uint32_t pick(uint32_t below)
{
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(random_state >> 33) % below;
}

struct out {
    struct sl_kineto *kineto;
    struct sl_sink *memory, *top;
};

static struct sl_intern *names;
static struct sl_shape_table *shapes;
static uint64_t now_ns, correlation;

static int make_tables(void **state)
{
    return sl_intern_create(&names, 16 << 20) || sl_shape_create(&shapes, 4 << 20);
}

static int drop_tables(void **state)
{
    sl_shape_destroy(shapes);
    sl_intern_destroy(names);
    return 0;
}

static void open_out(struct out *o, enum sl_compression kind, int level, size_t cap)
{
    struct sl_kineto_options opt;
    struct sl_trace_meta meta;

    memset(&opt, 0, sizeof(opt));
    opt.detail = SL_DETAIL_FULL;
    opt.intern = names;
    opt.shapes = shapes;
    opt.cap_bytes = cap;
    memset(&meta, 0, sizeof(meta));
    meta.pid = 77;
    meta.opened_ns = START;
    meta.window = 1;
    assert_int_equal(sl_kineto_create(&o->kineto, &opt), 0);
    assert_int_equal(sl_sink_memory_open(&o->memory), 0);
    assert_int_equal(sl_sink_compress_open(&o->top, o->memory, kind, level), 0);
    assert_int_equal(sl_kineto_begin(o->kineto, o->top, &meta), 0);
}

static uint32_t some_name(uint32_t n)
{
    size_t length = n % 97 == 0 ? 150000 : 10 + n * 37 % 300;
    char *text = malloc(length);
    size_t i;
    uint32_t id;

    for (i = 0; i < length; i++)
        text[i] = (char)('a' + (n * (i + 3) + i * i) % 26);
    id = sl_intern_put(names, text, length);
    free(text);
    return id;
}

/* Returns a random event: numbers with any count of digits, times that decrease, optional members
 * that appear and disappear. The writer's shortcuts must handle all of these. */
static struct sl_event some_event(void)
{
    struct sl_event ev;
    struct sl_shape s;
    uint32_t which = pick(100);

    memset(&ev, 0, sizeof(ev));
    memset(&s, 0, sizeof(s));
    now_ns += pick(20) == 0 ? pick(2000000000) : pick(30000);
    correlation += pick(50) == 0 ? (uint64_t)pick(1000) * pick(1000000) : pick(3);
    ev.correlation = pick(10) == 0 ? pick(100) : correlation;
    ev.start_ns = START + now_ns - (pick(5) == 0 ? pick(100000) : 0);
    ev.end_ns = ev.start_ns + (uint64_t)pick(10) * pick(10) * pick(1000) * (pick(9) ? 1 : 1000);
    if (which < 40) {
        ev.kind = SL_EV_RUNTIME;
        ev.thread = 100 + pick(3);
        ev.u.call.cbid = pick(20);
        ev.u.call.result = pick(10) == 0 ? pick(1000) : 0;
    } else if (which < 70) {
        ev.kind = s.kind = SL_EV_KERNEL;
        s.name = ev.name = some_name(pick(200));
        s.stream = ev.stream = 7 + pick(3);
        s.grid[0] = pick(5);
        ev.shape = pick(30) ? sl_shape_put(shapes, &s) : 0;
        if (pick(4) == 0) {
            ev.graph = 1 + pick(2000);
            ev.u.op.graph_node = pick(1000000);
        }
        ev.flags = pick(50) ? 0 : SL_EVF_STILL_RUNNING;
    } else if (which < 75) {
        ev.kind = s.kind = pick(3) ? SL_EV_MEMCPY : SL_EV_MEMSET;
        s.stream = ev.stream = 7;
        ev.shape = sl_shape_put(shapes, &s);
        ev.u.op.bytes = (uint64_t)pick(1000) * pick(10000000);
    } else if (which < 80) {
        ev.kind = SL_EV_SYNC;
        ev.stream = pick(2) ? SL_STREAM_NONE : 7;
        ev.context = pick(2);
        ev.u.sync.type = (uint8_t)(1 + pick(4));
        ev.u.sync.event_id = pick(3);
        ev.u.sync.event_sync_id = pick(200);
    } else if (which < 82) {
        ev.kind = SL_EV_CUDA_EVENT;
        ev.stream = 7 + pick(30);
        ev.context = pick(2);
        ev.u.sync.event_sync_id = pick(200);
    } else {
        static uint64_t last_start = START;

        ev.kind = SL_EV_FLOW;
        ev.thread = 100 + pick(3);
        ev.stream = 7 + pick(3);
        ev.flags = pick(3) ? SL_EVF_FLOW_FIRST : 0;
        ev.u.flow.head_ns = pick(2) ? last_start : START + now_ns;
        last_start = ev.start_ns;
    }
    return ev;
}

/* Returns an edge from a random operation to a random call or operation. */
static struct sl_edge some_edge(void)
{
    struct sl_event from = some_event(), to = some_event();
    struct sl_edge edge = {.kind = (uint8_t)pick(SL_EDGE_KIND_COUNT),
                           .basis = (uint8_t)pick(3),
                           .at_start = (uint8_t)pick(2),
                           .released = (uint8_t)pick(2),
                           .wait_ns = pick(3) ? pick(1000000000) : 0,
                           .wake_ns = pick(100000),
                           .dst_correlation = to.correlation,
                           .dst_start_ns = to.start_ns,
                           .dst_end_ns = to.end_ns,
                           .dst_thread = 100 + pick(3),
                           .dst_cbid = pick(20),
                           .dst_domain = SL_EV_RUNTIME};

    edge.source = (struct sl_edge_op){.correlation = from.correlation,
                                      .start_ns = from.start_ns,
                                      .end_ns = from.end_ns,
                                      .name = from.name,
                                      .shape = from.kind == SL_EV_KERNEL ? from.shape : 0,
                                      .stream = 7 + pick(3),
                                      .kind = SL_EV_KERNEL};
    edge.dst_op = edge.source;
    edge.dst_op.stream = 7 + pick(3);
    return edge;
}

static void check(int level, uint64_t seed, uint32_t events, size_t cap)
{
    struct out plain, packed;
    struct sl_event last;
    const void *data, *told;
    char *back = malloc(TEXT_ROOM);
    size_t size, told_size, n;
    uint32_t i;

    random_state = seed;
    open_out(&plain, SL_COMPRESS_NONE, 0, cap);
    open_out(&packed, SL_COMPRESS_ZSTD, level, cap);
    assert_non_null(packed.top->write_matched);
    memset(&last, 0, sizeof(last));
    for (i = 0; i < events; i++) {
        struct sl_event ev = some_event();

        /* The row of an arrow's head directly follows the row of its operation, and has the
         * operation's time. */
        if (ev.kind == SL_EV_FLOW && last.kind == SL_EV_KERNEL && pick(4))
            ev.u.flow.head_ns = last.start_ns;
        last = ev;
        assert_int_equal(sl_kineto_events(plain.kineto, &ev, 1), 0);
        assert_int_equal(sl_kineto_events(packed.kineto, &ev, 1), 0);
        if (pick(5) == 0) {
            struct sl_edge edge[3] = {some_edge(), some_edge(), some_edge()};
            struct sl_output_edges edges = {.edge = edge, .count = 1 + pick(3), .by = edge};
            int arrow = pick(2) != 0;

            ev.kind = SL_EV_RUNTIME;
            ev.name = 0;
            assert_int_equal(sl_kineto_call(plain.kineto, &ev, &edges), 0);
            assert_int_equal(sl_kineto_call(packed.kineto, &ev, &edges), 0);
            assert_int_equal(sl_kineto_edge(plain.kineto, edge, 1, arrow), 0);
            assert_int_equal(sl_kineto_edge(packed.kineto, edge, 1, arrow), 0);
        }
        if (pick(5000) == 0) {
            assert_int_equal(sl_kineto_flush(plain.kineto), 0);
            assert_int_equal(sl_kineto_flush(packed.kineto), 0);
            assert_int_equal(plain.top->sync(plain.top), 0);
            assert_int_equal(packed.top->sync(packed.top), 0);
        }
    }
    sl_stats_reset(); /* reset, because the trailer of each file contains the counters */
    assert_int_equal(sl_kineto_end(plain.kineto, START), 0);
    assert_int_equal(sl_kineto_end(packed.kineto, START), 0);
    assert_int_equal(packed.top->sync(packed.top), 0);
    sl_sink_memory_get(plain.memory, &data, &size);
    sl_sink_memory_get(packed.memory, &told, &told_size);
    n = ZSTD_decompress(back, TEXT_ROOM, told, told_size);
    if (ZSTD_isError(n))
        fail_msg("seed %llu: %s", (unsigned long long)seed, ZSTD_getErrorName(n));
    assert_int_equal(n, size);
    assert_true(memcmp(back, data, size) == 0);
    plain.top->close(plain.top, 1);
    packed.top->close(packed.top, 1);
    sl_kineto_destroy(plain.kineto);
    sl_kineto_destroy(packed.kineto);
    free(back);
}

static void any_events_decompress_to_the_plain_text(void **state)
{
    uint64_t seed;

    for (seed = 1; seed <= 12; seed++)
        check(seed % 2 ? 1 : -5, seed, 20000, 0);
}

/* The small cache forgets texts of rows all the time. The writer has to forget a text's known
 * repetitions together with the text. */
static void a_small_cache_changes_nothing(void **state)
{
    check(1, 77, 20000, 512 * 1024);
}

static void few_events_are_no_special_case(void **state)
{
    uint32_t events;

    for (events = 0; events < 40; events++)
        check(1, 1000 + events, events, 0);
}

/* Rows of one kind differ only in numbers. The writer tells the compressor about the common parts,
 * so each row needs only few compressed bytes. */
static void rows_that_are_alike_cost_little(void **state)
{
    static const enum sl_event_kind kinds[] = {SL_EV_RUNTIME, SL_EV_KERNEL, SL_EV_MEMCPY,
                                               SL_EV_MEMSET, SL_EV_SYNC};
    enum {
        ROWS = 2000,
        BYTES_A_ROW = 30
    };

    for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
        struct sl_shape s = {.kind = (uint8_t)kinds[i], .stream = 7, .name = some_name(1)};
        struct sl_event ev = {.kind = (uint8_t)kinds[i], .stream = 7, .thread = 100};
        struct sl_event mark = {.kind = SL_EV_CUDA_EVENT, .stream = 9};
        const void *told;
        size_t size;
        struct out out;

        random_state = i;
        ev.shape =
            kinds[i] == SL_EV_RUNTIME || kinds[i] == SL_EV_SYNC ? 0 : sl_shape_put(shapes, &s);
        open_out(&out, SL_COMPRESS_ZSTD, 1, 0);
        for (uint32_t n = 1; n <= ROWS; n++) {
            mark.correlation = 3 * n;
            mark.u.sync.event_sync_id = n;
            ev.correlation = 3 * n + 1;
            ev.start_ns = START + n * 1000000 + pick(1000);
            ev.end_ns = ev.start_ns + pick(100000);
            if (kinds[i] == SL_EV_MEMCPY || kinds[i] == SL_EV_MEMSET)
                ev.u.op.bytes = pick(1000000);
            if (kinds[i] == SL_EV_SYNC) {
                ev.u.sync.type = 3;
                ev.u.sync.event_id = pick(3) + 1;
                ev.u.sync.event_sync_id = n;
                assert_int_equal(sl_kineto_events(out.kineto, &mark, 1), 0);
            }
            assert_int_equal(sl_kineto_events(out.kineto, &ev, 1), 0);
        }
        assert_int_equal(sl_kineto_end(out.kineto, START), 0);
        assert_int_equal(out.top->sync(out.top), 0);
        sl_sink_memory_get(out.memory, &told, &size);
        if (size > ROWS * BYTES_A_ROW)
            fail_msg("kind %d: %zu bytes a row", kinds[i], size / ROWS);
        out.top->close(out.top, 1);
        sl_kineto_destroy(out.kineto);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_events_decompress_to_the_plain_text),
        cmocka_unit_test(a_small_cache_changes_nothing),
        cmocka_unit_test(few_events_are_no_special_case),
        cmocka_unit_test(rows_that_are_alike_cost_little),
    };

    return cmocka_run_group_tests(tests, make_tables, drop_tables);
}
