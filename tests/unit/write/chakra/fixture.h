/*
 * fixture.h - makes programs for the Chakra writer, row by row, and reads the resulting file.
 *
 * Times are microseconds after the window's opening, except where a name says ns. The end of
 * every recorded event is stored, so that the ends of a replay can be compared with the stored
 * ends.
 */
#ifndef SL_CHAKRA_FIXTURE_H
#define SL_CHAKRA_FIXTURE_H

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "unit/write/chakra/dom.h"
#include "write/chakra/chakra.h"

#define BASE 1700000000000000000u

#define EVENT_QUERY 138 /* callback id of cudaEventQuery */

#define CHAKRA_TEST(name) cmocka_unit_test_setup_teardown(name, chakra_set_up, chakra_tear_down)

struct chakra_fixture {
    struct sl_intern *intern;
    struct sl_shape_table *shapes;
    struct sl_chakra *chakra;
    struct sl_trace_meta meta;
    struct sl_sink sink;
    char *data;
    size_t size;
    int sink_fails, open, have_dom;
    struct dom_file dom;
    struct sl_collective collective; /* of NCCL kernels; `bytes` is 0 if unknown */
    struct {
        uint64_t correlation, end_ns;
        int gpu;
    } * row;
    size_t rows;
};

static struct chakra_fixture f;

static inline int fixture_write(struct sl_sink *sink, const void *data, size_t size)
{
    if (f.sink_fails)
        return -ENOSPC;
    f.data = realloc(f.data, f.size + size);
    memcpy(f.data + f.size, data, size);
    f.size += size;
    return 0;
}

static inline int fixture_collective(void *user, const struct sl_event *op,
                                     struct sl_collective *out)
{
    *out = f.collective;
    return f.collective.bytes != 0;
}

static inline void open_file(size_t cap)
{
    struct sl_chakra_options opt = {.intern = f.intern, .shapes = f.shapes, .cap_bytes = cap};

    opt.collective = fixture_collective;
    assert_int_equal(sl_chakra_create(&f.chakra, &opt), 0);
    f.meta.host = "node1";
    f.meta.rank = 3;
    f.meta.opened_ns = BASE;
    f.sink.write = fixture_write;
    assert_int_equal(sl_chakra_begin(f.chakra, &f.sink, &f.meta), 0);
    f.open = 1;
}

static inline int chakra_set_up(void **state)
{
    memset(&f, 0, sizeof(f));
    assert_int_equal(sl_intern_create(&f.intern, 4 << 20), 0);
    assert_int_equal(sl_shape_create(&f.shapes, 1 << 20), 0);
    open_file(0);
    return 0;
}

static inline void close_file(void)
{
    if (f.open)
        sl_chakra_end(f.chakra);
    if (f.have_dom)
        dom_free(&f.dom);
    sl_chakra_destroy(f.chakra);
    free(f.data);
    free(f.row);
    f.data = NULL;
    f.row = NULL;
    f.size = f.rows = 0;
    f.have_dom = 0;
}

static inline int chakra_tear_down(void **state)
{
    close_file();
    sl_shape_destroy(f.shapes);
    sl_intern_destroy(f.intern);
    return 0;
}

static inline void reopen(size_t cap)
{
    close_file();
    open_file(cap);
}

static inline uint32_t text(const char *name)
{
    return sl_intern_put(f.intern, name, strlen(name));
}

static inline void put_event(const struct sl_event *ev)
{
    assert_int_equal(sl_chakra_events(f.chakra, ev, 1), 0);
    if (f.rows % 1024 == 0)
        f.row = realloc(f.row, (f.rows + 1024) * sizeof(*f.row));
    f.row[f.rows].correlation = ev->correlation;
    f.row[f.rows].end_ns = ev->end_ns - BASE;
    f.row[f.rows++].gpu = ev->kind != SL_EV_RUNTIME;
}

static inline void call_ns(const char *name, uint32_t thread, uint64_t start_ns, uint64_t end_ns,
                           uint64_t correlation)
{
    struct sl_event ev = {.kind = SL_EV_RUNTIME, .thread = thread, .correlation = correlation};

    ev.name = text(name);
    ev.start_ns = BASE + start_ns;
    ev.end_ns = BASE + end_ns;
    put_event(&ev);
}

static inline void call(const char *name, uint32_t thread, uint64_t start, uint64_t end,
                        uint64_t correlation)
{
    call_ns(name, thread, start * 1000, end * 1000, correlation);
}

static inline void launch(uint32_t thread, uint64_t start, uint64_t end, uint64_t correlation)
{
    struct sl_event ev = {.kind = SL_EV_RUNTIME, .thread = thread, .correlation = correlation};

    ev.flags = SL_EVF_LAUNCH;
    ev.name = text("launch");
    ev.start_ns = BASE + start * 1000;
    ev.end_ns = BASE + end * 1000;
    put_event(&ev);
}

static inline void gpu(uint8_t kind, uint32_t stream, uint64_t start, uint64_t end,
                       uint64_t correlation, const char *name, uint64_t bytes)
{
    struct sl_event ev = {.kind = kind, .stream = stream, .correlation = correlation};

    ev.name = text(name);
    ev.start_ns = BASE + start * 1000;
    ev.end_ns = BASE + end * 1000;
    ev.context = 1;
    ev.u.op.bytes = bytes;
    put_event(&ev);
}

static inline void kernel(uint32_t stream, uint64_t start, uint64_t end, uint64_t correlation,
                          const char *name)
{
    gpu(SL_EV_KERNEL, stream, start, end, correlation, name, 0);
}

static inline struct sl_edge edge_from(uint64_t correlation, uint64_t start, uint64_t end,
                                       uint32_t stream)
{
    struct sl_edge e;

    memset(&e, 0, sizeof(e));
    e.source.correlation = correlation;
    e.source.start_ns = BASE + start * 1000;
    e.source.end_ns = BASE + end * 1000;
    e.source.stream = stream;
    e.source.context = 1;
    return e;
}

static inline void edge_to_call(uint64_t src, uint64_t src_start, uint64_t src_end,
                                uint32_t src_stream, uint64_t dst, uint64_t dst_start,
                                uint64_t dst_end)
{
    struct sl_edge e = edge_from(src, src_start, src_end, src_stream);

    e.dst_correlation = dst;
    e.dst_start_ns = BASE + dst_start * 1000;
    e.dst_end_ns = BASE + dst_end * 1000;
    assert_int_equal(sl_chakra_edges(f.chakra, &e, 1), 0);
}

static inline void edge_to_op(uint64_t src, uint64_t src_start, uint64_t src_end,
                              uint32_t src_stream, uint64_t dst, uint64_t dst_start,
                              uint64_t dst_end, uint32_t dst_stream)
{
    struct sl_edge e = edge_from(src, src_start, src_end, src_stream);

    e.at_start = 1;
    e.dst_correlation = e.dst_op.correlation = dst;
    e.dst_op.start_ns = e.dst_start_ns = BASE + dst_start * 1000;
    e.dst_op.end_ns = e.dst_end_ns = BASE + dst_end * 1000;
    e.dst_op.stream = dst_stream;
    assert_int_equal(sl_chakra_edges(f.chakra, &e, 1), 0);
}

static inline void advance(uint64_t complete)
{
    assert_int_equal(sl_chakra_advance(f.chakra, BASE + complete * 1000), 0);
}

static inline struct sl_chakra_counts counts(void)
{
    struct sl_chakra_counts c;

    sl_chakra_get_counts(f.chakra, &c);
    return c;
}

/* Ends the file, reads it, and checks the rules of every file. */
static inline struct dom_file *read_back(void)
{
    assert_int_equal(sl_chakra_end(f.chakra), 0);
    f.open = 0;
    dom_read(f.data, f.size, &f.dom);
    f.have_dom = 1;
    dom_check(&f.dom);
    dom_replay(&f.dom);
    assert_int_equal(counts().nodes, f.dom.nodes);
    return &f.dom;
}

/* Checks that each row's last node ends in a replay when the row ended, up to `slack` ns. */
static inline void assert_replays(uint64_t slack)
{
    size_t at = 0;

    for (size_t i = 0; i < f.rows; i++) {
        uint64_t end = UINT64_MAX;

        for (size_t j = 0; j < f.dom.nodes; j++, at++) {
            const struct dom_node *n = &f.dom.node[at % f.dom.nodes];

            if (dom_attr(n, "correlation") &&
                (uint64_t)dom_number(n, "correlation") == f.row[i].correlation &&
                dom_number(n, "is_cpu_op") != f.row[i].gpu) {
                end = n->replay_end;
                if (f.dom.nodes > 10000)
                    break; /* in a large file, check only one node of each row */
            }
        }
        if (end > f.row[i].end_ns + slack || end + slack < f.row[i].end_ns)
            fail_msg("row %llu ended at %llu ns, in the replay at %llu",
                     (unsigned long long)f.row[i].correlation, (unsigned long long)f.row[i].end_ns,
                     (unsigned long long)end);
    }
}

#endif
