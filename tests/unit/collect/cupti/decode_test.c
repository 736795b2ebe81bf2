/* decode_test.c - decodes buffers record by record. The sizes of records come from the table or
 * from CUPTI. Buffers are truncated, or have unknown kinds or invalid addresses. Also tests the
 * table of API calls. */
#include "test.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "event/call_name.h"
#include "unit/collect/cupti/record.h"

static uint8_t *add_memset(struct record_rig *b, uint32_t correlation)
{
    uint8_t *r = record_add(b, SL_CUPTI_KIND_MEMSET);

    put64(r, b->layout->memset->start, 10);
    put64(r, b->layout->memset->end, 20);
    put32(r, b->layout->memset->context, 1);
    put32(r, b->layout->memset->stream, 7);
    put32(r, b->layout->memset->correlation, correlation);
    return r;
}

static void check_invalid(struct record_rig *b, size_t records, unsigned events, uint64_t invalid)
{
    unsigned got = 0;

    assert_int_equal(record_decode(b), records);
    while (record_event(b, SL_EV_MEMSET, got))
        got++;
    assert_int_equal(got, events);
    assert_int_equal(sl_stats_get(SL_STAT_RECORDS_INVALID), invalid);
    sl_stats_reset();
}

static void kinds_that_others_enabled_are_stepped_over(void **state)
{
    struct record_rig *b = record_open(130001, 0);

    record_add(b, SL_CUPTI_KIND_EXTERNAL_CORRELATION);
    add_memset(b, 1);
    record_add(b, SL_CUPTI_KIND_MARKER);
    add_memset(b, 2);
    assert_int_equal(record_decode(b), 4);
    assert_int_equal(record_event(b, SL_EV_MEMSET, 1)->correlation, 2);
    assert_int_equal(sl_stats_get(SL_STAT_RECORDS_UNKNOWN), 2);
    assert_int_equal(sl_stats_get(SL_STAT_RECORDS_INVALID), 0);
    record_close(b);
}

static void damage_ends_the_buffer_and_is_counted(void **state)
{
    struct record_rig *b = record_open(130001, 0);

    add_memset(b, 1); /* the end of this record is missing */
    add_memset(b, 2);
    b->valid -= 8;
    check_invalid(b, 1, 1, 1);

    add_memset(b, 1); /* the three remaining bytes do not even hold a kind */
    b->valid += 3;
    check_invalid(b, 1, 1, 1);

    add_memset(b, 1); /* these kinds do not exist */
    put32(add_memset(b, 2), 0, SL_CUPTI_KIND_COUNT);
    add_memset(b, 3);
    check_invalid(b, 1, 1, 1);
    put32(add_memset(b, 2), 0, UINT32_MAX);
    check_invalid(b, 0, 0, 1);
    put32(add_memset(b, 2), 0, 0);
    check_invalid(b, 0, 0, 1);
    record_close(b);
}

static void a_record_that_cannot_be_true_is_left_out_alone(void **state)
{
    struct record_rig *b = record_open(130001, 0);

    put64(add_memset(b, 1), b->layout->memset->end, 5);
    add_memset(b, 2);
    put32(add_memset(b, 3), b->layout->memset->device, 70000);
    check_invalid(b, 3, 1, 2);
    record_close(b);
}

static void a_name_at_a_bad_address_is_damage_not_a_crash(void **state)
{
    struct record_rig *b = record_open(130001, 0);
    long page = 4096;
    char *text =
        mmap(NULL, 2 * (size_t)page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    uint8_t *r;

    assert_ptr_not_equal(text, MAP_FAILED);
    assert_int_equal(munmap(text + page, (size_t)page), 0);
    memcpy(text + page - 5, "_Z1f", 5); /* the text ends at the end of a page */
    memset(text, 'x', 100);             /* the rest of the buffer is zeros */
    const uintptr_t address[] = {8, (uintptr_t)text + (uintptr_t)page, UINTPTR_MAX - 3,
                                 (uintptr_t)text + (uintptr_t)page - 5};

    for (unsigned i = 0; i < 4; i++) {
        r = record_add(b, SL_CUPTI_KIND_CONCURRENT_KERNEL);
        put64(r, b->layout->kernel->name, address[i]);
        put64(r, b->layout->kernel->start, 1);
        put64(r, b->layout->kernel->end, 2);
        put32(r, b->layout->kernel->context, 1);
    }
    assert_int_equal(record_decode(b), 4);
    assert_int_equal(sl_stats_get(SL_STAT_RECORDS_INVALID), 3);
    assert_string_equal(record_text(b, record_event(b, SL_EV_KERNEL, 0)->name), "_Z1f");
    assert_null(record_event(b, SL_EV_KERNEL, 1));

    /* A text has no NUL before the end of its page. */
    memset(text, 'x', (size_t)page);
    r = record_add(b, SL_CUPTI_KIND_CONCURRENT_KERNEL);
    put64(r, b->layout->kernel->name, (uintptr_t)text + 64);
    put32(r, b->layout->kernel->context, 1);
    record_decode(b);
    assert_null(record_event(b, SL_EV_KERNEL, 0));
    assert_int_equal(sl_stats_get(SL_STAT_RECORDS_INVALID), 4);
    munmap(text, (size_t)page);
    record_close(b);
}

/* CUPTI is newer than the table. Records are longer than in the table, so their sizes come from
 * CUPTI. */
static int fake_results;

static int step_by_128(uint8_t *buffer, size_t valid, void **record)
{
    uint8_t *next = *record ? (uint8_t *)*record + 128 : buffer;

    if (fake_results)
        return fake_results;
    if (next >= buffer + valid)
        return SL_CUPTI_ERROR_MAX_LIMIT_REACHED;
    *record = next;
    return SL_CUPTI_SUCCESS;
}

static int step_back(uint8_t *buffer, size_t valid, void **record)
{
    *record = *record ? (uint8_t *)*record - 8 : buffer + valid - 104;
    return SL_CUPTI_SUCCESS;
}

static void a_newer_library_steps_by_itself(void **state)
{
    struct record_rig *b = record_open(139900, 0);
    struct sl_decode_options opt = b->opt;
    uint8_t *r;

    sl_decode_destroy(b->decode);
    opt.get_next_record = step_by_128;
    assert_int_equal(sl_decode_create(&b->decode, &opt), 0);
    for (uint32_t i = 0; i < 3; i++) {
        b->valid = i * 128;
        r = add_memset(b, i);
        if (i == 1)
            put32(r, 0, 4000); /* an unknown, future kind */
    }
    b->valid = 3 * 128;
    assert_int_equal(record_decode(b), 3);
    assert_int_equal(record_event(b, SL_EV_MEMSET, 0)->correlation, 0);
    assert_int_equal(record_event(b, SL_EV_MEMSET, 1)->correlation, 2);
    assert_int_equal(sl_stats_get(SL_STAT_RECORDS_UNKNOWN), 1);
    assert_int_equal(sl_stats_get(SL_STAT_RECORDS_INVALID), 0);

    fake_results = SL_CUPTI_ERROR_UNKNOWN;
    b->valid = 128;
    assert_int_equal(record_decode(b), 0);
    assert_int_equal(sl_stats_get(SL_STAT_RECORDS_INVALID), 1);
    fake_results = 0;

    /* By the size that CUPTI reports, the next record would be outside of the buffer, or before
     * this record. The decoder stops. */
    sl_decode_destroy(b->decode);
    opt.get_next_record = step_back;
    assert_int_equal(sl_decode_create(&b->decode, &opt), 0);
    add_memset(b, 1);
    b->valid = 512;
    assert_true(record_decode(b) <= 1);
    assert_int_equal(sl_stats_get(SL_STAT_RECORDS_INVALID), 2);
    record_close(b);
}

static size_t unfinished(struct record_rig *b)
{
    struct sl_decode_held held = {0};

    sl_decode_look(b->layout, b->buffer, sizeof(b->buffer), &held);
    b->valid = 0;
    memset(b->buffer, 0, sizeof(b->buffer));
    return held.unfinished;
}

static void add_launch(struct record_rig *b)
{
    put32(record_add(b, SL_CUPTI_KIND_RUNTIME), b->layout->api->cbid, 51); /* cudaMemsetAsync */
}

/* CUPTI does not deliver a buffer that has an unfinished record. The decoder recognizes unfinished
 * records in a buffer. */
static void what_is_unfinished_in_a_buffer_is_seen(void **state)
{
    struct record_rig *b = record_open(130001, 0);

    add_launch(b);
    add_memset(b, 1);
    add_memset(b, 2); /* the id of a graph's operation */
    assert_int_equal(unfinished(b), 0);
    put64(add_memset(b, 1), b->layout->memset->end, 0);
    record_add(b, SL_CUPTI_KIND_CONCURRENT_KERNEL);
    record_add(b, SL_CUPTI_KIND_MEMCPY);
    record_add(b, SL_CUPTI_KIND_MEMCPY2);
    add_memset(b, 2);
    assert_int_equal(unfinished(b), 4);
    add_memset(b, 1);
    add_launch(b);
    add_launch(b);
    add_launch(b);
    assert_int_equal(unfinished(b), 2);
    record_close(b);
}

static void versions_below_12_are_refused(void **state)
{
    struct sl_decode_options opt = {.version = 17};
    struct sl_decode *d;

    assert_int_equal(sl_decode_create(&d, &opt), -ENOTSUP);
    sl_decode_destroy(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kinds_that_others_enabled_are_stepped_over),
        cmocka_unit_test(damage_ends_the_buffer_and_is_counted),
        cmocka_unit_test(a_record_that_cannot_be_true_is_left_out_alone),
        cmocka_unit_test(a_name_at_a_bad_address_is_damage_not_a_crash),
        cmocka_unit_test(a_newer_library_steps_by_itself),
        cmocka_unit_test(what_is_unfinished_in_a_buffer_is_seen),
        cmocka_unit_test(versions_below_12_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
