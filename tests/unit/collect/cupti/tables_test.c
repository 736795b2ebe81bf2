/*
 * tables_test.c - properties of the generated tables on which the decoder relies.
 */
#include "test.h"

#include <stdlib.h>
#include <string.h>

#include "collect/cupti/tables.h"
#include "event/call_name.h"

#define ROWS sl_cupti_tables_layout_count

/* A type of records: its kind, the offsets of its fields, and the fields that a version may lack
 * (offset 0). */
struct family {
    const char *name;
    enum sl_cupti_kind kind;
    const uint16_t *offsets; /* the first value is the record's size */
    unsigned count;
    uint32_t optional; /* bit n: the n-th offset may be 0 */
};

#define PLACE(type, field) (1u << offsetof(struct type, field) / 2)
#define FAMILY(member, kind, optional)                                                             \
    {                                                                                              \
#member, kind, (const uint16_t *)row->member, sizeof(*row->member) / 2, optional           \
    }

enum {
    FAMILIES = 14
};

static void families_of(const struct sl_cupti_layout *row, struct family out[FAMILIES])
{
    const struct family all[FAMILIES] = {
        FAMILY(kernel, SL_CUPTI_KIND_CONCURRENT_KERNEL, PLACE(sl_cupti_kernel_layout, priority)),
        FAMILY(kernel, SL_CUPTI_KIND_KERNEL, PLACE(sl_cupti_kernel_layout, priority)),
        FAMILY(memcpy, SL_CUPTI_KIND_MEMCPY, 0),
        FAMILY(memcpy_peer, SL_CUPTI_KIND_MEMCPY2, 0),
        FAMILY(memset, SL_CUPTI_KIND_MEMSET, 0),
        FAMILY(graph, SL_CUPTI_KIND_GRAPH_TRACE, 0),
        FAMILY(api, SL_CUPTI_KIND_RUNTIME, 0),
        FAMILY(api, SL_CUPTI_KIND_DRIVER, 0),
        FAMILY(sync, SL_CUPTI_KIND_SYNCHRONIZATION,
               PLACE(sl_cupti_sync_layout, event_sync) | PLACE(sl_cupti_sync_layout, result)),
        FAMILY(cuda_event, SL_CUPTI_KIND_CUDA_EVENT,
               PLACE(sl_cupti_cuda_event_layout, device) |
                   PLACE(sl_cupti_cuda_event_layout, device_ns) |
                   PLACE(sl_cupti_cuda_event_layout, event_sync)),
        FAMILY(overhead, SL_CUPTI_KIND_OVERHEAD, PLACE(sl_cupti_overhead_layout, correlation)),
        FAMILY(context, SL_CUPTI_KIND_CONTEXT, 0),
        FAMILY(stream, SL_CUPTI_KIND_STREAM, 0),
        FAMILY(name, SL_CUPTI_KIND_NAME, 0),
    };

    memcpy(out, all, sizeof(all));
}

static void rows_ascend_by_version(void **state)
{
    assert_true(ROWS > 1);
    assert_int_equal(sl_cupti_tables_layouts[0].version, 18); /* 12.0, the oldest supported */
    for (unsigned i = 1; i < ROWS; i++)
        assert_true(sl_cupti_tables_layouts[i - 1].version < sl_cupti_tables_layouts[i].version);
}

/* The decoder steps from record to record by record_size, and reads fields by the layout. Both
 * tables must agree: every field is inside its record. */
static void every_field_lies_in_its_record(void **state)
{
    struct family family[FAMILIES];

    for (unsigned r = 0; r < ROWS; r++) {
        const struct sl_cupti_layout *row = &sl_cupti_tables_layouts[r];

        families_of(row, family);
        for (int i = 0; i < FAMILIES; i++) {
            const struct family *f = &family[i];
            uint16_t size = f->offsets[0];

            if (row->record_size[f->kind] != size)
                fail_msg("%s of %s: %u bytes, its kind has %u", f->name, row->cuda, size,
                         row->record_size[f->kind]);
            for (unsigned at = 1; at < f->count; at++) {
                uint16_t offset = f->offsets[at];

                /* Bytes 0 to 4 are the kind. */
                if (offset == 0 ? !(f->optional >> at & 1) : offset < 4 || offset >= size)
                    fail_msg("%s of %s: field %u at %u of %u", f->name, row->cuda, at, offset,
                             size);
            }
        }
    }
}

static void wide_fields_end_within_their_record(void **state)
{
    for (unsigned r = 0; r < ROWS; r++) {
        const struct sl_cupti_layout *row = &sl_cupti_tables_layouts[r];
        const struct {
            uint16_t size, offset;
        } wide[] = {
            {row->kernel->size, row->kernel->start},
            {row->kernel->size, row->kernel->end},
            {row->kernel->size, row->kernel->graph_node},
            {row->kernel->size, row->kernel->name},
            {row->memcpy->size, row->memcpy->bytes},
            {row->memcpy->size, row->memcpy->graph_node},
            {row->memcpy_peer->size, row->memcpy_peer->bytes},
            {row->memset->size, row->memset->bytes},
            {row->graph->size, row->graph->end},
            {row->api->size, row->api->end},
            {row->sync->size, row->sync->end},
            {row->sync->size, row->sync->event_sync},
            {row->cuda_event->size, row->cuda_event->event_sync},
            {row->overhead->size, row->overhead->end},
            {row->name->size, row->name->name},
        };

        for (size_t i = 0; i < sizeof(wide) / sizeof(wide[0]); i++) {
            assert_true(wide[i].offset + 8u <= wide[i].size);
            assert_int_equal(wide[i].offset % 8, 0);
        }
    }
}

/* A kind never disappears in a later version, sizes are multiples of a word, and kind 0 does not
 * exist. */
static void record_sizes_are_plausible(void **state)
{
    for (unsigned r = 0; r < ROWS; r++) {
        const uint16_t *size = sl_cupti_tables_layouts[r].record_size;

        assert_int_equal(size[0], 0);
        for (int kind = 0; kind < SL_CUPTI_KIND_COUNT; kind++) {
            assert_int_equal(size[kind] % 8, 0);
            if (r > 0 && sl_cupti_tables_layouts[r - 1].record_size[kind])
                assert_int_not_equal(size[kind], 0);
        }
    }
}

/* A callback id means the same call in all versions, so all versions use one table. A version has
 * all ids below its limit. */
static void callback_ids_only_grow(void **state)
{
    const struct sl_cupti_layout *row = sl_cupti_tables_layouts;

    for (unsigned r = 1; r < ROWS; r++, row++) {
        assert_true(row[0].runtime_callbacks <= row[1].runtime_callbacks);
        assert_true(row[0].driver_callbacks <= row[1].driver_callbacks);
    }
    assert_in_range(sl_call_names_runtime_count, 1, row->runtime_callbacks);
    assert_in_range(sl_call_names_driver_count, 1, row->driver_callbacks);
}

/* Returns the call without the suffix _ptsz or _ptds for per-thread streams. */
static const struct sl_call_name_row *base_of(const struct sl_call_name_row *call, unsigned count,
                                              const char *name)
{
    size_t length = strlen(name) - strlen("_ptsz");

    for (unsigned id = 0; id < count; id++)
        if (call[id].name && strncmp(call[id].name, name, length) == 0 && !call[id].name[length])
            return &call[id];
    return NULL;
}

static int has_version_suffix(const char *name)
{
    const char *at = strstr(name, "_v");

    return at && at[2] >= '0' && at[2] <= '9';
}

static void check_calls(const struct sl_call_name_row *call, unsigned count, const char *prefix)
{
    unsigned launches = 0, wanted = 0, named = 0;

    for (unsigned id = 0; id < count; id++) {
        const struct sl_call_name_row *c = &call[id];

        assert_int_equal(c->bits & ~(SL_CALL_NAME_WANTED | SL_CALL_NAME_LAUNCHES), 0);
        if (!c->name) {
            assert_int_equal(c->bits, 0);
            continue;
        }
        named++;
        assert_int_equal(strncmp(c->name, prefix, strlen(prefix)), 0);
        /* Names have no version suffix, because else one call would have several names. */
        assert_false(has_version_suffix(c->name));
        if (strstr(c->name, "_ptsz") || strstr(c->name, "_ptds")) {
            const struct sl_call_name_row *base = base_of(call, count, c->name);

            if (!base || base->bits != c->bits)
                fail_msg("%s is not treated as the call without its suffix", c->name);
        }
        /* Calls that launch kernels are recorded, because a kernel's row would have no arrow
         * without its call. */
        if (c->bits & SL_CALL_NAME_LAUNCHES && !(c->bits & SL_CALL_NAME_WANTED))
            fail_msg("%s launches and is not wanted", c->name);
        launches += c->bits & SL_CALL_NAME_LAUNCHES ? 1 : 0;
        wanted += c->bits & SL_CALL_NAME_WANTED ? 1 : 0;
    }
    assert_null(call[0].name); /* INVALID */
    assert_true(launches > 0 && launches < wanted);
    /* the filter of calls must leave out more than half of all calls */
    assert_true(wanted < named / 2);
}

static void calls_are_named_and_every_launch_is_wanted(void **state)
{
    check_calls(sl_call_names_runtime, sl_call_names_runtime_count, "cuda");
    check_calls(sl_call_names_driver, sl_call_names_driver_count, "cu");
}

/* Compares ids that were copied by hand from NVIDIA's headers. The test detects a table whose ids
 * are all off by one. */
static void well_known_calls_stand_at_their_ids(void **state)
{
    const struct {
        const struct sl_call_name_row *table;
        unsigned id, bits;
        const char *name;
    } known[] = {
        {sl_call_names_runtime, 211, 3, "cudaLaunchKernel"},
        {sl_call_names_runtime, 31, 3, "cudaMemcpy"},
        {sl_call_names_runtime, 131, 1, "cudaStreamSynchronize"},
        {sl_call_names_runtime, 165, 1, "cudaDeviceSynchronize"},
        {sl_call_names_runtime, 10, 0, "cudaGetLastError"},
        {sl_call_names_driver, 307, 3, "cuLaunchKernel"},
        {sl_call_names_driver, 652, 3, "cuLaunchKernelEx"},
    };

    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        assert_string_equal(known[i].table[known[i].id].name, known[i].name);
        assert_int_equal(known[i].table[known[i].id].bits, known[i].bits);
    }
}

static void functions_are_named_once_without_their_prefix(void **state)
{
    const struct sl_cupti_function *f = sl_cupti_tables_functions;
    uint32_t newest = sl_cupti_tables_layouts[ROWS - 1].version;

    for (unsigned i = 0; i < sl_cupti_tables_function_count; i++) {
        assert_int_not_equal(strncmp(f[i].name, "cupti", 5), 0);
        assert_true(f[i].since <= newest);
        for (unsigned j = 0; j < i; j++)
            assert_string_not_equal(f[i].name, f[j].name);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_ascend_by_version),
        cmocka_unit_test(every_field_lies_in_its_record),
        cmocka_unit_test(wide_fields_end_within_their_record),
        cmocka_unit_test(record_sizes_are_plausible),
        cmocka_unit_test(callback_ids_only_grow),
        cmocka_unit_test(calls_are_named_and_every_launch_is_wanted),
        cmocka_unit_test(well_known_calls_stand_at_their_ids),
        cmocka_unit_test(functions_are_named_once_without_their_prefix),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
