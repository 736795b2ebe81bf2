/*
 * fields_test.c - user-defined records: which fields syncline selects, and how syncline reads the
 * positions of the fields from the layout that CUPTI reports.
 */
#include "test.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>

#include "base/stats.h"
#include "collect/cupti/fields.h"
#include "unit/collect/cupti/record.h"

#define KINDS 64

/* Layouts as CUPTI would report them. CUPTI packs the fields in the selected order, or in reverse
 * order. */
static struct layouts {
    struct sl_cupti_field_place place[KINDS][SL_CUPTI_FIELDS_MOST];
    struct sl_cupti_record_places of[KINDS];
    struct sl_cupti_record_places *kinds[KINDS];
    struct sl_cupti_complete_info info;
} told;

static size_t bytes_of(uint32_t kind, int id)
{
    for (unsigned i = 0; i < sl_cupti_tables_selection_count; i++) {
        const struct sl_cupti_selection *s = &sl_cupti_tables_selections[i];

        for (unsigned f = 0; s->kind == kind && f < s->count; f++)
            if (s->fields[f].id == id)
                return s->fields[f].bytes;
    }
    return sizeof(uint32_t);
}

static void tell(uint32_t kind, int backwards)
{
    size_t count, at = 0;
    const int *ids = sl_cupti_fields_select(kind, &count);
    struct sl_cupti_record_places *r = &told.of[kind];

    assert_non_null(ids);
    for (size_t i = 0; i < count; i++) {
        int id = i && backwards ? ids[count - i] : ids[i];

        told.place[kind][i] =
            (struct sl_cupti_field_place){sizeof(told.place[0][0]), id, at, bytes_of(kind, id), 1};
        at += bytes_of(kind, id);
    }
    *r = (struct sl_cupti_record_places){sizeof(*r), told.place[kind], count, (at + 7) / 8 * 8};
    told.kinds[kind] = r;
    told.info = (struct sl_cupti_complete_info){sizeof(told.info), 1, told.kinds, KINDS};
}

static int setup(void **state)
{
    memset(&told, 0, sizeof(told));
    sl_cupti_fields_reset();
    sl_stats_reset();
    return 0;
}

static void test_what_cannot_be_true(void **state)
{
    struct sl_cupti_complete_info none = {0};

    assert_int_equal(sl_cupti_fields_learn(NULL), -EINVAL);
    assert_int_equal(sl_cupti_fields_learn(&none), -EINVAL);
    tell(SL_CUPTI_KIND_MEMSET, 0);
    told.info.kinds = NULL;
    assert_int_equal(sl_cupti_fields_learn(&told.info), -EINVAL);
    tell(SL_CUPTI_KIND_MEMSET, 0);
    told.of[SL_CUPTI_KIND_MEMSET].record_size = 1 << 20;
    assert_int_equal(sl_cupti_fields_learn(&told.info), -EINVAL);
    tell(SL_CUPTI_KIND_MEMSET, 0);
    told.place[SL_CUPTI_KIND_MEMSET][0].offset = 4; /* overlaps the kind, the first field */
    assert_int_equal(sl_cupti_fields_learn(&told.info), -EINVAL);
    tell(SL_CUPTI_KIND_MEMSET, 0);
    told.place[SL_CUPTI_KIND_MEMSET][0].struct_size = 4;
    assert_int_equal(sl_cupti_fields_learn(&told.info), -EINVAL);
    assert_int_equal(sl_cupti_fields_layout()->record_size[SL_CUPTI_KIND_MEMSET], 0);
}

static void test_another_layout_later(void **state)
{
    tell(SL_CUPTI_KIND_MEMSET, 0);
    assert_int_equal(sl_cupti_fields_learn(&told.info), 0);
    assert_int_equal(sl_cupti_fields_learn(&told.info), 0);
    told.of[SL_CUPTI_KIND_MEMSET].record_size += 8;
    assert_int_equal(sl_cupti_fields_learn(&told.info), -EINVAL);
    assert_int_equal(sl_cupti_fields_layout()->memset->size,
                     told.of[SL_CUPTI_KIND_MEMSET].record_size - 8);
}

/* A buffer comes with a layout that has the same fields and size as before, but another order.
 * syncline ignores this layout, because the decoder would read values from the wrong fields. */
static void test_fields_in_another_order_later(void **state)
{
    tell(SL_CUPTI_KIND_MEMSET, 0);
    assert_int_equal(sl_cupti_fields_learn(&told.info), 0);
    tell(SL_CUPTI_KIND_MEMSET, 1);
    assert_int_equal(sl_cupti_fields_learn(&told.info), -EINVAL);
    tell(SL_CUPTI_KIND_MEMSET, 0);
    assert_int_equal(sl_cupti_fields_learn(&told.info), 0);
}

/* The layout entries of a later CUPTI version are larger. */
static void test_larger_entries(void **state)
{
    struct larger {
        struct sl_cupti_field_place place;
        uint64_t more;
    } larger[SL_CUPTI_FIELDS_MOST];
    struct sl_cupti_record_places *r = &told.of[SL_CUPTI_KIND_STREAM];

    tell(SL_CUPTI_KIND_STREAM, 1);
    for (size_t i = 0; i < r->count; i++) {
        larger[i].place = r->fields[i];
        larger[i].place.struct_size = sizeof(larger[i]);
    }
    r->fields = &larger[0].place;
    assert_int_equal(sl_cupti_fields_learn(&told.info), 0);
    assert_non_null(sl_cupti_fields_layout()->stream);
    assert_int_equal(sl_cupti_fields_layout()->stream->flag, sizeof(uint32_t));
}

static void add_memset(struct record_rig *b, uint32_t correlation)
{
    const struct sl_cupti_memset_layout *at = b->layout->memset;
    uint8_t *r = record_add(b, SL_CUPTI_KIND_MEMSET);

    put64(r, at->start, 1000);
    put64(r, at->end, 3000);
    put32(r, at->context, 1);
    put32(r, at->stream, 7);
    put32(r, at->correlation, correlation);
    put64(r, at->bytes, 4096);
}

/* A kind that lacks a needed field is skipped. The rest of the buffer is decoded. */
static void test_decoding(void **state)
{
    struct record_rig *b = record_open(130401, 0);
    const struct sl_event *ev;

    tell(SL_CUPTI_KIND_MEMSET, 1);
    tell(SL_CUPTI_KIND_STREAM, 1);
    told.of[SL_CUPTI_KIND_STREAM].count--;
    assert_int_equal(sl_cupti_fields_learn(&told.info), 0);
    b->layout = sl_cupti_fields_layout();
    sl_decode_set_layout(b->decode, b->layout);
    record_add(b, SL_CUPTI_KIND_STREAM);
    add_memset(b, 40);
    add_memset(b, 41);
    assert_int_equal(record_decode(b), 3);
    ev = record_event(b, SL_EV_MEMSET, 1);
    assert_non_null(ev);
    assert_int_equal(ev->correlation, 41);
    assert_int_equal(ev->u.op.bytes, 4096);
    assert_int_equal(ev->end_ns, 3000);
    assert_int_equal(sl_stats_get(SL_STAT_RECORDS_UNKNOWN), 1);
    assert_int_equal(sl_stats_get(SL_STAT_RECORDS_INVALID), 0);
    /* From here on, the records have the layout of their CUPTI version again. */
    sl_decode_set_layout(b->decode, NULL);
    b->layout = record_layout(130401);
    add_memset(b, 42);
    assert_int_equal(record_decode(b), 1);
    assert_int_equal(record_event(b, SL_EV_MEMSET, 0)->correlation, 42);
    record_close(b);
}

/* Counts the records in a buffer that CUPTI has not delivered. A record of unknown size counts as
 * one. */
static void test_looking(void **state)
{
    struct record_rig *b = record_open(130401, 0);
    struct sl_decode_held held = {0};

    tell(SL_CUPTI_KIND_MEMSET, 1);
    assert_int_equal(sl_cupti_fields_learn(&told.info), 0);
    b->layout = sl_cupti_fields_layout();
    add_memset(b, 40);
    add_memset(b, 41);
    sl_decode_look(b->layout, b->buffer, sizeof(b->buffer), &held);
    assert_int_equal(held.records, 2);
    put32(b->buffer + b->valid, 0, SL_CUPTI_KIND_RUNTIME);
    held = (struct sl_decode_held){0};
    sl_decode_look(b->layout, b->buffer, sizeof(b->buffer), &held);
    assert_int_equal(held.records, 3);
    record_close(b);
}

static void *learn_in_thread(void *result)
{
    for (int i = 0; i < 1000; i++)
        *(int *)result |= sl_cupti_fields_learn(&told.info);
    return NULL;
}

static void test_from_several_threads(void **state)
{
    pthread_t thread[4];
    int result[4] = {0};

    for (unsigned i = 0; i < sl_cupti_tables_selection_count; i++)
        tell(sl_cupti_tables_selections[i].kind, 1);
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&thread[i], NULL, learn_in_thread, &result[i]), 0);
    for (int i = 0; i < 4; i++) {
        pthread_join(thread[i], NULL);
        assert_int_equal(result[i], 0);
    }
    assert_non_null(sl_cupti_fields_layout()->kernel);
    assert_non_null(sl_cupti_fields_layout()->api);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_what_cannot_be_true, setup),
        cmocka_unit_test_setup(test_another_layout_later, setup),
        cmocka_unit_test_setup(test_fields_in_another_order_later, setup),
        cmocka_unit_test_setup(test_larger_entries, setup),
        cmocka_unit_test_setup(test_decoding, setup),
        cmocka_unit_test_setup(test_looking, setup),
        cmocka_unit_test_setup(test_from_several_threads, setup),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
