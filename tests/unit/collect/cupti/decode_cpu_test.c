/* decode_cpu_test.c - decodes calls, waits, event records and overhead from the record layouts of
 * every known version. Also tests the filter of calls, and ids that mean "none". */
#include "test.h"

#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "unit/collect/cupti/record.h"

enum {
    LAUNCH_KERNEL = 211,    /* cudaLaunchKernel */
    GET_DEVICE = 17,        /* cudaGetDevice */
    EVENT_QUERY = 138,      /* cudaEventQuery */
    CU_LAUNCH_KERNEL = 307, /* cuLaunchKernel */
};

static uint8_t *add_call(struct record_rig *b, uint32_t kind, uint32_t cbid)
{
    const struct sl_cupti_api_layout *at = b->layout->api;
    uint8_t *r = record_add(b, kind);

    put32(r, at->cbid, cbid);
    put64(r, at->start, 1000);
    put64(r, at->end, 1900);
    put32(r, at->pid, 77);
    put32(r, at->thread, 78);
    put32(r, at->correlation, 4294967295u);
    put32(r, at->result, 0);
    return r;
}

static void calls_of_every_version(void **state)
{
    for (unsigned i = 0; i < sl_cupti_tables_layout_count; i++) {
        struct record_rig *b = record_open(sl_cupti_tables_layouts[i].version, 0);
        const struct sl_event *ev;

        add_call(b, SL_CUPTI_KIND_RUNTIME, LAUNCH_KERNEL);
        put32(add_call(b, SL_CUPTI_KIND_DRIVER, CU_LAUNCH_KERNEL), b->layout->api->result, 719);
        add_call(b, SL_CUPTI_KIND_RUNTIME, EVENT_QUERY);
        assert_int_equal(record_decode(b), 3);

        ev = record_event(b, SL_EV_RUNTIME, 0);
        assert_non_null(ev);
        assert_string_equal(record_text(b, ev->name), "cudaLaunchKernel");
        assert_int_equal(ev->start_ns, 1000);
        assert_int_equal(ev->end_ns, 1900);
        assert_int_equal(ev->thread, 78);
        assert_int_equal(ev->correlation, 4294967295u);
        assert_int_equal(ev->flags, SL_EVF_LAUNCH);
        assert_int_equal(ev->u.call.cbid, LAUNCH_KERNEL);
        assert_int_equal(ev->u.call.result, 0);

        ev = record_event(b, SL_EV_DRIVER, 0);
        assert_non_null(ev);
        assert_string_equal(record_text(b, ev->name), "cuLaunchKernel");
        assert_int_equal(ev->flags, SL_EVF_LAUNCH);
        assert_int_equal(ev->u.call.result, 719);

        ev = record_event(b, SL_EV_RUNTIME, 1);
        assert_non_null(ev);
        assert_string_equal(record_text(b, ev->name), "cudaEventQuery");
        assert_int_equal(ev->flags, 0);
        record_close(b);
    }
}

static void a_call_without_a_name_says_which_it_is(void **state)
{
    struct record_rig *b = record_open(130001, 0);

    add_call(b, SL_CUPTI_KIND_RUNTIME, 1999);
    add_call(b, SL_CUPTI_KIND_DRIVER, 70000);
    record_decode(b);
    assert_string_equal(record_text(b, record_event(b, SL_EV_RUNTIME, 0)->name), "cuda call 1999");
    assert_string_equal(record_text(b, record_event(b, SL_EV_DRIVER, 0)->name), "cu call 70000");
    record_close(b);
}

static void the_filter_leaves_out_what_readers_do_not_need(void **state)
{
    struct record_rig *b = record_open(22, 1);

    add_call(b, SL_CUPTI_KIND_RUNTIME, GET_DEVICE);
    add_call(b, SL_CUPTI_KIND_RUNTIME, LAUNCH_KERNEL);
    add_call(b, SL_CUPTI_KIND_RUNTIME, 1999);
    assert_int_equal(record_decode(b), 3);
    assert_string_equal(record_text(b, record_event(b, SL_EV_RUNTIME, 0)->name),
                        "cudaLaunchKernel");
    assert_null(record_event(b, SL_EV_RUNTIME, 1));
    assert_int_equal(sl_stats_get(SL_STAT_RECORDS_FILTERED), 2);
    assert_int_equal(sl_stats_get(SL_STAT_RECORDS_INVALID), 0);
    record_close(b);
}

static void a_thread_is_told_once_with_its_name(void **state)
{
    struct record_rig *b = record_open(130001, 0);
    uint32_t own = (uint32_t)syscall(SYS_gettid);
    const struct sl_event *ev;

    for (int i = 0; i < 2; i++)
        put32(add_call(b, SL_CUPTI_KIND_RUNTIME, LAUNCH_KERNEL), b->layout->api->thread, own);
    add_call(b, SL_CUPTI_KIND_RUNTIME, LAUNCH_KERNEL);
    put32(add_call(b, SL_CUPTI_KIND_RUNTIME, LAUNCH_KERNEL), b->layout->api->thread, own);
    record_decode(b);
    /* the thread's name precedes the first row of the thread */
    assert_int_equal(b->event[0].kind, SL_EV_META_THREAD);
    ev = record_event(b, SL_EV_META_THREAD, 0);
    assert_int_equal(ev->thread, own);
    assert_int_equal(ev->u.meta.pid, 77);
    assert_true(strlen(record_text(b, ev->name)) > 0);
    assert_non_null(strstr(program_invocation_short_name, record_text(b, ev->name)));
    assert_non_null(record_event(b, SL_EV_META_THREAD, 1));
    assert_null(record_event(b, SL_EV_META_THREAD, 2));
    record_close(b);
}

static uint8_t *add_sync(struct record_rig *b, uint32_t type)
{
    const struct sl_cupti_sync_layout *at = b->layout->sync;
    uint8_t *r = record_add(b, SL_CUPTI_KIND_SYNCHRONIZATION);

    put32(r, at->type, type);
    put64(r, at->start, 5000);
    put64(r, at->end, 9000);
    put32(r, at->correlation, 31);
    put32(r, at->context, 1);
    put32(r, at->stream, UINT32_MAX);
    put32(r, at->event, 44);
    return r;
}

static void waits_of_every_version(void **state)
{
    for (unsigned i = 0; i < sl_cupti_tables_layout_count; i++) {
        struct record_rig *b = record_open(sl_cupti_tables_layouts[i].version, 0);
        const struct sl_cupti_sync_layout *at = b->layout->sync;
        const struct sl_event *ev;
        uint8_t *r;

        r = record_add(b, SL_CUPTI_KIND_CONTEXT);
        put32(r, b->layout->context->context, 1);
        put32(r, b->layout->context->device, 6);
        put16(r, b->layout->context->null_stream, 7);
        r = add_sync(b, 1);
        if (at->event_sync)
            put64(r, at->event_sync, (uint64_t)9 << 32);
        r = add_sync(b, 3);
        put32(r, at->stream, 7);
        put32(r, at->event, UINT32_MAX);
        if (at->event_sync)
            put64(r, at->event_sync, UINT64_MAX);
        if (at->result)
            put32(r, at->result, 700);
        r = add_sync(b, 1); /* a query of unfinished work */
        if (at->result)
            put32(r, at->result, 600);
        assert_int_equal(record_decode(b), 4);

        ev = record_event(b, SL_EV_SYNC, 0);
        assert_non_null(ev);
        assert_int_equal(ev->u.sync.type, SL_SYNC_EVENT);
        assert_int_equal(ev->start_ns, 5000);
        assert_int_equal(ev->end_ns, 9000);
        assert_int_equal(ev->correlation, 31);
        assert_int_equal(ev->device, 6);
        assert_int_equal(ev->context, 1);
        assert_int_equal(ev->stream, SL_STREAM_NONE);
        assert_int_equal(ev->u.sync.event_id, 44);
        assert_int_equal(ev->u.sync.event_sync_id, at->event_sync ? (uint64_t)9 << 32 : 0);
        assert_int_equal(ev->u.sync.result, 0);

        ev = record_event(b, SL_EV_SYNC, 1);
        assert_non_null(ev);
        assert_int_equal(ev->u.sync.type, SL_SYNC_STREAM);
        assert_int_equal(ev->stream, 7);
        assert_int_equal(ev->u.sync.event_id, 0);
        assert_int_equal(ev->u.sync.event_sync_id, 0);
        assert_int_equal(ev->u.sync.result, at->result ? 700 : 0);
        assert_int_equal(ev->flags, at->result ? 0 : SL_EVF_NO_RESULT);

        assert_int_equal(record_event(b, SL_EV_SYNC, 2) != NULL, at->result == 0);
        assert_int_equal(sl_stats_get(SL_STAT_RECORDS_FILTERED), at->result != 0);
        record_close(b);
    }
}

static void event_records_of_every_version(void **state)
{
    for (unsigned i = 0; i < sl_cupti_tables_layout_count; i++) {
        struct record_rig *b = record_open(sl_cupti_tables_layouts[i].version, 0);
        const struct sl_cupti_cuda_event_layout *at = b->layout->cuda_event;
        uint8_t *r = record_add(b, SL_CUPTI_KIND_CUDA_EVENT);
        const struct sl_event *ev;

        put32(r, at->correlation, 55);
        put32(r, at->context, 2);
        put32(r, at->stream, 17);
        put32(r, at->event, 4);
        if (at->event_sync)
            put64(r, at->event_sync, 1234567890123u);
        assert_int_equal(record_decode(b), 1);
        ev = record_event(b, SL_EV_CUDA_EVENT, 0);
        assert_non_null(ev);
        assert_int_equal(ev->correlation, 55);
        assert_int_equal(ev->context, 2);
        assert_int_equal(ev->stream, 17);
        assert_int_equal(ev->flags, SL_EVF_NO_TIME);
        assert_int_equal(ev->u.sync.event_id, 4);
        assert_int_equal(ev->u.sync.event_sync_id, at->event_sync ? 1234567890123u : 0);
        record_close(b);
    }
}

static void overhead_of_every_version(void **state)
{
    static const struct {
        uint32_t kind;
        const char *name;
        enum sl_overhead_type type;
    } want[] = {
        {1, "Driver Compiler", SL_OVERHEAD_OTHER},
        {1u << 16, "Buffer Flush", SL_OVERHEAD_OTHER},
        {2u << 16, "Instrumentation", SL_OVERHEAD_OTHER},
        {3u << 16, "Resource", SL_OVERHEAD_OTHER},
        {4u << 16, "Runtime Triggered Module Loading", SL_OVERHEAD_MODULE_LOAD},
        {5u << 16, "Lazy Function Loading", SL_OVERHEAD_FUNCTION_LOAD},
        {6u << 16, "Command Buffer Full", SL_OVERHEAD_QUEUE_FULL},
        {7u << 16, "Activity Buffer Request", SL_OVERHEAD_OTHER},
        {8u << 16, "UVM Activity Init", SL_OVERHEAD_OTHER},
        {99u << 16, "Unknown", SL_OVERHEAD_OTHER},
    };

    for (unsigned i = 0; i < sl_cupti_tables_layout_count; i++) {
        struct record_rig *b = record_open(sl_cupti_tables_layouts[i].version, 0);
        const struct sl_cupti_overhead_layout *at = b->layout->overhead;

        for (unsigned k = 0; k < sizeof want / sizeof *want; k++) {
            uint8_t *r = record_add(b, SL_CUPTI_KIND_OVERHEAD);

            put32(r, at->type, want[k].kind);
            put32(r, at->object_kind, k == 0 ? SL_CUPTI_OBJECT_PROCESS : SL_CUPTI_OBJECT_THREAD);
            put32(r, at->pid, 77);
            put32(r, at->thread, 79);
            put64(r, at->start, 100 + k);
            put64(r, at->end, 200 + k);
        }
        record_decode(b);
        for (unsigned k = 0; k < sizeof want / sizeof *want; k++) {
            const struct sl_event *ev = record_event(b, SL_EV_OVERHEAD, k);

            assert_non_null(ev);
            assert_string_equal(record_text(b, ev->name), want[k].name);
            assert_int_equal(ev->u.overhead.type, want[k].type);
            assert_int_equal(ev->thread, k == 0 ? 0 : 79);
            assert_int_equal(ev->start_ns, 100 + k);
            assert_int_equal(ev->end_ns, 200 + k);
        }
        record_close(b);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calls_of_every_version),
        cmocka_unit_test(a_call_without_a_name_says_which_it_is),
        cmocka_unit_test(the_filter_leaves_out_what_readers_do_not_need),
        cmocka_unit_test(a_thread_is_told_once_with_its_name),
        cmocka_unit_test(waits_of_every_version),
        cmocka_unit_test(event_records_of_every_version),
        cmocka_unit_test(overhead_of_every_version),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
