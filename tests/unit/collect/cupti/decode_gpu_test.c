/* decode_gpu_test.c - decodes every field of a GPU operation from the record layouts of every known
 * version. Also tests the events that describe a device or stream, which precede its first
 * operation, and invalid start and end times. */
#include "test.h"

#include "unit/collect/cupti/record.h"

static const char kernel_name[] = "_Z6kernelPfi";

/* Writes the fields that kernels, copies and memsets have in common, at the offsets of the record's
 * type. */
#define PUT_OPERATION(r, at)                                                                       \
    do {                                                                                           \
        put64((r), (at)->start, 1700000000000001000u);                                             \
        put64((r), (at)->end, 1700000000000002500u);                                               \
        put32((r), (at)->device, 3);                                                               \
        put32((r), (at)->context, 5);                                                              \
        put32((r), (at)->stream, 13);                                                              \
        put32((r), (at)->correlation, 4000000000u);                                                \
        put32((r), (at)->graph, 21);                                                               \
    } while (0)

#define PUT_NODE(r, at)                                                                            \
    do {                                                                                           \
        put64((r), (at)->graph_node, 0x1500000007u);                                               \
        put32((r), (at)->channel, 9);                                                              \
        put32((r), (at)->channel_type, 1);                                                         \
    } while (0)

static void check_operation(const struct sl_event *ev, const struct sl_shape *shape)
{
    assert_non_null(ev);
    assert_non_null(shape);
    assert_int_equal(ev->start_ns, 1700000000000001000u);
    assert_int_equal(ev->end_ns, 1700000000000002500u);
    assert_int_equal(ev->device, 3);
    assert_int_equal(ev->context, 5);
    assert_int_equal(ev->stream, 13);
    assert_int_equal(ev->correlation, 4000000000u);
    assert_int_equal(ev->graph, 21);
    assert_int_equal(ev->flags, 0);
    assert_int_equal(shape->kind, ev->kind);
    assert_int_equal(shape->device, 3);
    assert_int_equal(shape->context, 5);
    assert_int_equal(shape->stream, 13);
}

static uint8_t *add_kernel(struct record_rig *b)
{
    const struct sl_cupti_kernel_layout *at = b->layout->kernel;
    uint8_t *r = record_add(b, SL_CUPTI_KIND_CONCURRENT_KERNEL);

    PUT_OPERATION(r, at);
    PUT_NODE(r, at);
    put64(r, at->name, (uintptr_t)kernel_name);
    put16(r, at->registers, 96);
    put32(r, at->grid_x, 1024);
    put32(r, at->grid_y, 2);
    put32(r, at->grid_z, 3);
    put32(r, at->block_x, 256);
    put32(r, at->block_y, 4);
    put32(r, at->block_z, 5);
    put32(r, at->static_shared, 8192);
    put32(r, at->dynamic_shared, 49152);
    put32(r, at->cluster_x, 2);
    put32(r, at->cluster_y, 7);
    put32(r, at->cluster_z, 8);
    return r;
}

static void check_kernel(const struct record_rig *b)
{
    const struct sl_event *ev = record_event(b, SL_EV_KERNEL, 0);
    const struct sl_shape *s = sl_shape_get(b->opt.shapes, ev ? ev->shape : 0);

    check_operation(ev, s);
    assert_string_equal(record_text(b, ev->name), kernel_name);
    assert_int_equal(s->name, ev->name);
    assert_int_equal(ev->u.op.graph_node, 0x1500000007u);
    assert_int_equal(s->channel, 9);
    assert_int_equal(s->channel_type, 1);
    assert_int_equal(s->registers, 96);
    assert_int_equal(s->grid[0], 1024);
    assert_int_equal(s->grid[1], 2);
    assert_int_equal(s->grid[2], 3);
    assert_int_equal(s->block[0], 256);
    assert_int_equal(s->block[1], 4);
    assert_int_equal(s->block[2], 5);
    assert_int_equal(s->static_shared, 8192);
    assert_int_equal(s->dynamic_shared, 49152);
    assert_int_equal(s->cluster[0], 2);
    assert_int_equal(s->cluster[1], 7);
    assert_int_equal(s->cluster[2], 8);
}

static void kernels_of_every_version(void **state)
{
    for (unsigned i = 0; i < sl_cupti_tables_layout_count; i++) {
        struct record_rig *b = record_open(sl_cupti_tables_layouts[i].version, 0);
        uint8_t *r = add_kernel(b);
        const struct sl_shape *s;

        if (b->layout->kernel->priority)
            put32(r, b->layout->kernel->priority, (uint32_t)-5);
        assert_int_equal(record_decode(b), 1);
        check_kernel(b);
        s = sl_shape_get(b->opt.shapes, record_event(b, SL_EV_KERNEL, 0)->shape);
        assert_int_equal(s->priority, b->layout->kernel->priority ? -5 : SL_PRIORITY_UNKNOWN);
        record_close(b);
    }
}

static void copies_of_every_version(void **state)
{
    for (unsigned i = 0; i < sl_cupti_tables_layout_count; i++) {
        struct record_rig *b = record_open(sl_cupti_tables_layouts[i].version, 0);
        const struct sl_cupti_memcpy_layout *at = b->layout->memcpy;
        const struct sl_cupti_memcpy_peer_layout *pat = b->layout->memcpy_peer;
        uint8_t *r = record_add(b, SL_CUPTI_KIND_MEMCPY);
        const struct sl_event *ev;
        const struct sl_shape *s;

        PUT_OPERATION(r, at);
        PUT_NODE(r, at);
        put64(r, at->bytes, (uint64_t)5 << 32);
        r[at->copy_kind] = 1;
        r[at->src_memory] = 2;
        r[at->dst_memory] = 3;
        r = record_add(b, SL_CUPTI_KIND_MEMCPY2);
        PUT_OPERATION(r, pat);
        PUT_NODE(r, pat);
        put64(r, pat->bytes, 4096);
        r[pat->copy_kind] = 10;
        r[pat->src_memory] = 3;
        r[pat->dst_memory] = 3;
        put32(r, pat->src_device, 1);
        put32(r, pat->src_context, 2);
        put32(r, pat->dst_device, 6);
        put32(r, pat->dst_context, 8);
        assert_int_equal(record_decode(b), 2);

        ev = record_event(b, SL_EV_MEMCPY, 0);
        s = sl_shape_get(b->opt.shapes, ev ? ev->shape : 0);
        check_operation(ev, s);
        assert_int_equal(ev->name, 0);
        assert_int_equal(ev->u.op.bytes, (uint64_t)5 << 32);
        assert_int_equal(ev->u.op.graph_node, 0x1500000007u);
        assert_int_equal(s->copy_kind, 1);
        assert_int_equal(s->src_memory, 2);
        assert_int_equal(s->dst_memory, 3);
        assert_int_equal(s->channel, 9);
        assert_int_equal(s->is_peer, 0);

        ev = record_event(b, SL_EV_MEMCPY, 1);
        s = sl_shape_get(b->opt.shapes, ev ? ev->shape : 0);
        check_operation(ev, s);
        assert_int_equal(ev->u.op.bytes, 4096);
        assert_int_equal(s->copy_kind, 10);
        assert_int_equal(s->is_peer, 1);
        assert_int_equal(s->src_device, 1);
        assert_int_equal(s->src_context, 2);
        assert_int_equal(s->dst_device, 6);
        assert_int_equal(s->dst_context, 8);
        record_close(b);
    }
}

static void memsets_and_graphs_of_every_version(void **state)
{
    for (unsigned i = 0; i < sl_cupti_tables_layout_count; i++) {
        struct record_rig *b = record_open(sl_cupti_tables_layouts[i].version, 0);
        const struct sl_cupti_memset_layout *at = b->layout->memset;
        uint8_t *r = record_add(b, SL_CUPTI_KIND_MEMSET);
        const struct sl_event *ev;
        const struct sl_shape *s;

        PUT_OPERATION(r, at);
        PUT_NODE(r, at);
        put64(r, at->bytes, 123456789012u);
        put32(r, at->value, 0xff);
        put16(r, at->memory, 3);
        r = record_add(b, SL_CUPTI_KIND_GRAPH_TRACE);
        PUT_OPERATION(r, b->layout->graph);
        assert_int_equal(record_decode(b), 2);

        ev = record_event(b, SL_EV_MEMSET, 0);
        s = sl_shape_get(b->opt.shapes, ev ? ev->shape : 0);
        check_operation(ev, s);
        assert_int_equal(ev->u.op.bytes, 123456789012u);
        assert_int_equal(ev->u.op.graph_node, 0x1500000007u);
        assert_int_equal(s->memset_value, 0xff);
        assert_int_equal(s->dst_memory, 3);

        ev = record_event(b, SL_EV_GRAPH, 0);
        check_operation(ev, sl_shape_get(b->opt.shapes, ev ? ev->shape : 0));
        record_close(b);
    }
}

static void equal_launches_share_a_shape_and_a_name(void **state)
{
    struct record_rig *b = record_open(130001, 0);
    char same_text[sizeof kernel_name];
    uint8_t *r;

    memcpy(same_text, kernel_name, sizeof same_text);
    add_kernel(b);
    r = add_kernel(b);
    put64(r, b->layout->kernel->name, (uintptr_t)same_text);
    put32(r, b->layout->kernel->correlation, 7);
    r = add_kernel(b);
    put32(r, b->layout->kernel->grid_x, 1);
    assert_int_equal(record_decode(b), 3);
    assert_int_equal(record_event(b, SL_EV_KERNEL, 0)->shape,
                     record_event(b, SL_EV_KERNEL, 1)->shape);
    assert_int_not_equal(record_event(b, SL_EV_KERNEL, 0)->shape,
                         record_event(b, SL_EV_KERNEL, 2)->shape);
    assert_int_equal(sl_shape_count(b->opt.shapes), 2);

    /* A name is valid only while its buffer is decoded. Now the same address holds another kernel's
     * name. */
    add_kernel(b);
    memcpy(b->buffer + b->layout->kernel->name, &(uintptr_t){(uintptr_t)same_text}, 8);
    memcpy(same_text, "_Z5otherv", 10);
    record_decode(b);
    assert_string_equal(record_text(b, record_event(b, SL_EV_KERNEL, 0)->name), "_Z5otherv");
    record_close(b);
}

static void times_that_are_none(void **state)
{
    struct record_rig *b = record_open(130001, 0);
    const struct sl_cupti_kernel_layout *at = b->layout->kernel;
    uint8_t *r;

    r = add_kernel(b); /* CUPTI has recorded no times */
    put64(r, at->start, 0);
    put64(r, at->end, 0);
    r = add_kernel(b); /* a forced flush delivered it before its end */
    put64(r, at->end, 0);
    r = add_kernel(b); /* the end is before the start */
    put64(r, at->end, 5);
    assert_int_equal(record_decode(b), 3);
    assert_int_equal(record_event(b, SL_EV_KERNEL, 0)->flags, SL_EVF_NO_TIME);
    assert_int_equal(record_event(b, SL_EV_KERNEL, 1)->flags, SL_EVF_STILL_RUNNING);
    assert_null(record_event(b, SL_EV_KERNEL, 2));
    assert_int_equal(sl_stats_get(SL_STAT_RECORDS_INVALID), 1);
    record_close(b);
}

/* CUPTI has a buffer for each thread. The buffer with a kernel may arrive before the buffer that
 * describes the kernel's stream. */
static void a_priority_is_unknown_until_the_stream_is_described(void **state)
{
    struct record_rig *b = record_open(130000, 0);
    uint8_t *r;

    assert_int_equal(b->layout->kernel->priority, 0);
    add_kernel(b);
    r = record_add(b, SL_CUPTI_KIND_STREAM);
    put32(r, b->layout->stream->context, 5);
    put32(r, b->layout->stream->stream, 13);
    put32(r, b->layout->stream->priority, 0);
    put32(r, b->layout->stream->flag, 2);
    add_kernel(b);
    record_decode(b);
    assert_int_equal(sl_shape_get(b->opt.shapes, record_event(b, SL_EV_KERNEL, 0)->shape)->priority,
                     SL_PRIORITY_UNKNOWN);
    assert_int_equal(sl_shape_get(b->opt.shapes, record_event(b, SL_EV_KERNEL, 1)->shape)->priority,
                     0);
    record_close(b);
}

static void device_context_and_stream_are_told_before_the_first_row(void **state)
{
    struct record_rig *b = record_open(130001, 0);
    static const uint8_t order[] = {SL_EV_META_CONTEXT, SL_EV_META_STREAM, SL_EV_META_DEVICE,
                                    SL_EV_KERNEL, SL_EV_KERNEL};

    add_kernel(b);
    add_kernel(b);
    record_decode(b);
    assert_int_equal(b->events, sizeof order);
    for (unsigned i = 0; i < sizeof order; i++)
        assert_int_equal(b->event[i].kind, order[i]);
    assert_int_equal(b->event[0].device, 3);
    assert_int_equal(b->event[0].context, 5);
    assert_int_equal(b->event[1].context, 5);
    assert_int_equal(b->event[1].stream, 13);
    assert_int_equal(b->event[2].device, 3);
    record_close(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kernels_of_every_version),
        cmocka_unit_test(copies_of_every_version),
        cmocka_unit_test(memsets_and_graphs_of_every_version),
        cmocka_unit_test(equal_launches_share_a_shape_and_a_name),
        cmocka_unit_test(times_that_are_none),
        cmocka_unit_test(a_priority_is_unknown_until_the_stream_is_described),
        cmocka_unit_test(device_context_and_stream_are_told_before_the_first_row),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
