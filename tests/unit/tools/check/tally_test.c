/*
 * tally_test.c - counts the rows of each stream and thread. Streams and threads with the same
 * number are distinguished.
 *
 * Threads: one. The test owns the memory of the tally.
 */
#include "unit/test.h"

#include <stdlib.h>

#include "check/tally.h"

static struct sl_tally *tally;
static struct sl_findings findings;

static int set_up(void **state)
{
    findings = (struct sl_findings){0};
    tally = calloc(1, sizeof(*tally));
    sl_tally_init(tally);
    return 0;
}

static int tear_down(void **state)
{
    free(tally);
    return 0;
}

static void kernel(int64_t device, int64_t stream)
{
    const struct sl_trace_row row = {
        .phase = 'X',
        .category = SL_CAT_KERNEL,
        .pid = {.number = device, .is_number = 1},
        .tid = {.number = stream, .is_number = 1},
        .device = device,
        .stream = stream,
        .dur_ns = 10,
    };

    sl_tally_row(tally, &row, 0, &findings);
}

static void streams_are_told_apart(void **state)
{
    const unsigned devices = 16, streams = 200;

    for (int again = 0; again < 2; again++)
        for (unsigned device = 0; device < devices; device++)
            for (unsigned stream = 0; stream < streams; stream++)
                kernel(device, stream);
    assert_int_equal(tally->lanes, devices * streams);
    assert_false(tally->lanes_full);
    for (unsigned i = 0; i < SL_TALLY_LANES; i++)
        if (tally->lane[i].key)
            assert_true(tally->lane[i].events == 2 && tally->lane[i].busy_ns == 20);
}

static void a_stream_is_found_again(void **state)
{
    for (int i = 0; i < 2; i++) {
        kernel(0, 38);
        kernel(1, 7);
        kernel(0, UINT32_MAX);
        kernel(1, 0);
    }
    assert_int_equal(tally->lanes, 4);
    assert_int_equal(tally->gpu_operations, 8);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(streams_are_told_apart, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_stream_is_found_again, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
