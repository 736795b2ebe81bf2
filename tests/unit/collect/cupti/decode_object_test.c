/* decode_object_test.c - devices, contexts, streams and names. The decoder reports each object
 * once, and again only if a record has new information. Objects that do not fit into the tables are
 * not reported. */
#include "test.h"

#include <errno.h>
#include <string.h>

#include "unit/collect/cupti/record.h"

static void add_context(struct record_rig *b, uint32_t device, uint32_t context,
                        uint16_t null_stream)
{
    uint8_t *r = record_add(b, SL_CUPTI_KIND_CONTEXT);

    put32(r, b->layout->context->device, device);
    put32(r, b->layout->context->context, context);
    put16(r, b->layout->context->null_stream, null_stream);
}

static void add_stream(struct record_rig *b, uint32_t context, uint32_t stream, uint32_t flag,
                       int32_t priority)
{
    uint8_t *r = record_add(b, SL_CUPTI_KIND_STREAM);

    put32(r, b->layout->stream->context, context);
    put32(r, b->layout->stream->stream, stream);
    put32(r, b->layout->stream->flag, flag);
    put32(r, b->layout->stream->priority, (uint32_t)priority);
}

static uint8_t *add_name(struct record_rig *b, uint32_t object, const char *name)
{
    uint8_t *r = record_add(b, SL_CUPTI_KIND_NAME);

    put32(r, b->layout->name->object_kind, object);
    put64(r, b->layout->name->name, (uintptr_t)name);
    return r;
}

static void add_memset(struct record_rig *b, uint32_t device, uint32_t context, uint32_t stream)
{
    uint8_t *r = record_add(b, SL_CUPTI_KIND_MEMSET);

    put32(r, b->layout->memset->device, device);
    put32(r, b->layout->memset->context, context);
    put32(r, b->layout->memset->stream, stream);
}

static void a_context_brings_its_default_stream(void **state)
{
    for (unsigned i = 0; i < sl_cupti_tables_layout_count; i++) {
        struct record_rig *b = record_open(sl_cupti_tables_layouts[i].version, 0);
        const struct sl_event *ev;

        add_context(b, 4, 2, 7);
        add_context(b, 4, 2, 7); /* CUPTI repeats this record whenever a kind is enabled */
        record_decode(b);
        assert_int_equal(b->events, 3);
        /* The device is first, because a trace's header is written with the first row. */
        assert_int_equal(b->event[0].kind, SL_EV_META_DEVICE);
        assert_int_equal(b->event[0].device, 4);
        ev = record_event(b, SL_EV_META_CONTEXT, 0);
        assert_int_equal(ev->device, 4);
        assert_int_equal(ev->context, 2);
        ev = record_event(b, SL_EV_META_STREAM, 0);
        assert_int_equal(ev->device, 4);
        assert_int_equal(ev->context, 2);
        assert_int_equal(ev->stream, 7);
        assert_int_equal(ev->u.meta.flags, 3);
        record_close(b);
    }
}

static void what_comes_later_is_told_again(void **state)
{
    struct record_rig *b = record_open(130001, 0);
    const struct sl_event *ev;

    add_memset(b, 1, 2, 13); /* this row precedes all descriptions */
    record_decode(b);
    ev = record_event(b, SL_EV_META_STREAM, 0);
    assert_int_equal(ev->u.meta.flags, 0);
    assert_int_equal(ev->device, 1);

    add_stream(b, 2, 13, 2, -1);
    add_stream(b, 2, 13, 2, -1);
    add_memset(b, 1, 2, 13);
    record_decode(b);
    ev = record_event(b, SL_EV_META_STREAM, 0);
    assert_int_equal(ev->u.meta.flags, 2);
    assert_int_equal(ev->u.meta.priority, -1);
    assert_int_equal(ev->device, 1);
    assert_null(record_event(b, SL_EV_META_STREAM, 1));
    record_close(b);
}

static void names_reach_their_objects(void **state)
{
    struct record_rig *b = record_open(130001, 0);
    const struct sl_cupti_name_layout *at = b->layout->name;
    const struct sl_event *ev;
    uint8_t *r;

    r = add_name(b, SL_CUPTI_OBJECT_THREAD, "loader");
    put32(r, at->pid, 50);
    put32(r, at->thread, 51);
    r = add_name(b, SL_CUPTI_OBJECT_DEVICE, "left");
    put32(r, at->device, 3);
    r = add_name(b, SL_CUPTI_OBJECT_CONTEXT, "main");
    put32(r, at->device, 3);
    put32(r, at->context, 9);
    r = add_name(b, SL_CUPTI_OBJECT_STREAM, "prefetch");
    put32(r, at->device, 3);
    put32(r, at->context, 9);
    put32(r, at->stream, 21);
    add_name(b, SL_CUPTI_OBJECT_PROCESS, "ignored");
    record_decode(b);
    assert_int_equal(b->events, 5);
    ev = record_event(b, SL_EV_META_THREAD, 0);
    assert_int_equal(ev->thread, 51);
    assert_int_equal(ev->u.meta.pid, 50);
    assert_string_equal(record_text(b, ev->name), "loader");
    /* The name is not known yet. */
    assert_int_equal(record_event(b, SL_EV_META_DEVICE, 0)->name, 0);
    ev = record_event(b, SL_EV_META_DEVICE, 1);
    assert_int_equal(ev->device, 3);
    assert_int_equal(ev->u.meta.index, 3);
    assert_string_equal(record_text(b, ev->name), "left");
    ev = record_event(b, SL_EV_META_CONTEXT, 0);
    assert_int_equal(ev->context, 9);
    assert_string_equal(record_text(b, ev->name), "main");
    ev = record_event(b, SL_EV_META_STREAM, 0);
    assert_int_equal(ev->device, 3);
    assert_int_equal(ev->stream, 21);
    assert_string_equal(record_text(b, ev->name), "prefetch");
    assert_int_equal(sl_stats_get(SL_STAT_RECORDS_INVALID), 0);
    record_close(b);
}

static void impossible_objects_are_damage(void **state)
{
    struct record_rig *b = record_open(130001, 0);

    add_context(b, 0, 0, 7);
    add_stream(b, 0, 13, 1, 0);
    add_name(b, SL_CUPTI_OBJECT_STREAM, "of no context");
    add_name(b, SL_CUPTI_OBJECT_DEVICE, (const char *)16);
    record_decode(b);
    assert_int_equal(b->events, 0);
    assert_int_equal(sl_stats_get(SL_STAT_RECORDS_INVALID), 4);
    record_close(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_context_brings_its_default_stream),
        cmocka_unit_test(what_comes_later_is_told_again),
        cmocka_unit_test(names_reach_their_objects),
        cmocka_unit_test(impossible_objects_are_damage),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
