/*
 * occupancy_test.c - compares the computed occupancy with the results of the CUDA occupancy
 * calculator.
 *
 * The expected numbers of blocks are from cuda_occupancy.h of CUDA 13.0. A comparison of a million
 * random launches on nine architectures gave equal results.
 */
#include "unit/test.h"

#include <string.h>

#include "write/occupancy.h"

static struct sl_device gpu(uint32_t major, uint32_t minor, uint32_t sms, uint32_t threads,
                            uint32_t blocks, uint32_t shared)
{
    struct sl_device d;

    memset(&d, 0, sizeof(d));
    d.known = 1;
    d.compute_major = major;
    d.compute_minor = minor;
    d.multiprocessors = sms;
    d.max_threads_per_sm = threads;
    d.max_blocks_per_sm = blocks;
    d.max_registers_per_sm = 65536;
    d.max_shared_per_sm = shared;
    d.warp_size = 32;
    return d;
}

static struct sl_shape launch(uint32_t grid, uint32_t block, uint32_t registers, uint32_t shared)
{
    struct sl_shape s;

    memset(&s, 0, sizeof(s));
    s.grid[0] = grid;
    s.block[0] = block;
    s.grid[1] = s.grid[2] = s.block[1] = s.block[2] = 1;
    s.registers = registers;
    s.dynamic_shared = shared;
    return s;
}

static void each_limit_holds(void **state)
{
    static const struct {
        uint32_t major, minor, threads, max_blocks, sm_shared, block, registers, shared, blocks;
    } row[] = {
        {8, 0, 2048, 32, 167936, 1024, 16, 0, 2},    /* threads */
        {8, 0, 2048, 32, 167936, 32, 16, 0, 32},     /* blocks */
        {8, 6, 1536, 16, 102400, 32, 16, 0, 16},     /* blocks, another architecture */
        {8, 0, 2048, 32, 167936, 256, 128, 0, 2},    /* registers */
        {8, 0, 2048, 32, 167936, 96, 33, 0, 16},     /* registers: 40 per thread, by partition */
        {6, 0, 2048, 32, 65536, 96, 168, 0, 4},      /* registers: capability 6.0, two partitions */
        {9, 0, 2048, 32, 233472, 128, 32, 48000, 4}, /* shared memory and the driver's 1 KiB */
        {7, 0, 2048, 32, 98304, 128, 32, 12289, 7},  /* shared memory in steps of 256 */
        {9, 0, 2048, 32, 233472, 128, 168, 200000, 1}, /* an opt-in to more than 48 KiB */
        {9, 0, 2048, 32, 233472, 33, 16, 0, 32},       /* part of a warp counts as a whole warp */
    };
    size_t i;

    for (i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
        struct sl_device d = gpu(row[i].major, row[i].minor, 100, row[i].threads, row[i].max_blocks,
                                 row[i].sm_shared);
        struct sl_shape s = launch(1000000, row[i].block, row[i].registers, row[i].shared);

        assert_int_equal(sl_occupancy_blocks(&d, &s), row[i].blocks);
    }
}

/* The launches are from traces that libkineto wrote on A100 GPUs. */
static void percent_is_what_libkineto_shows(void **state)
{
    struct sl_device a100 = gpu(8, 0, 108, 2048, 32, 167936);
    struct sl_shape few = launch(128, 128, 16, 0), many = launch(512, 512, 40, 400);

    assert_int_equal(sl_occupancy_percent(&a100, &few), 7);
    assert_int_equal(sl_occupancy_percent(&a100, &many), 75);
    assert_true(sl_occupancy_blocks_per_sm(&a100, &many) > 4.740740 &&
                sl_occupancy_blocks_per_sm(&a100, &many) < 4.740742);
}

static void what_is_not_known_gives_zero(void **state)
{
    struct sl_device none;
    struct sl_shape s = launch(128, 128, 16, 0), empty;

    memset(&none, 0, sizeof(none));
    memset(&empty, 0, sizeof(empty));
    assert_int_equal(sl_occupancy_blocks(&none, &s), 0);
    assert_int_equal(sl_occupancy_percent(&none, &s), 0);
    none = gpu(8, 0, 0, 2048, 32, 167936);
    assert_int_equal(sl_occupancy_percent(&none, &s), 0);
    assert_int_equal(sl_occupancy_percent(&none, &empty), 0);
}

/* Records and device properties may contain any values. For impossible values the occupancy is
 * 0. */
static void what_cannot_be_gives_zero(void **state)
{
    static const uint32_t blocks[][3] = {
        {UINT32_MAX, 1, 1},
        {UINT32_MAX, UINT32_MAX, UINT32_MAX},
        {1u << 31, 1u << 31, 4},
        {1u << 16, 1u << 16, 1},
        {1u << 31, 2, 1},
        {2049, 1, 1},
        {UINT32_MAX, UINT32_MAX, 0},
        {1u << 22, 1u << 21, 1u << 21},
        {0x55555556u, 3, UINT32_MAX},
    };
    struct sl_device d = gpu(8, 0, 108, 2048, 32, 167936);
    struct sl_shape s = launch(128, 128, 16, 0);

    for (size_t i = 0; i < sizeof(blocks) / sizeof(blocks[0]); i++) {
        memcpy(s.block, blocks[i], sizeof(s.block));
        assert_int_equal(sl_occupancy_blocks(&d, &s), 0);
        assert_int_equal(sl_occupancy_percent(&d, &s), 0);
    }
    s = launch(128, 128, 1u << 27, 0); /* would need 2^32 registers per warp */
    assert_int_equal(sl_occupancy_blocks(&d, &s), 0);
    /* Needs 2^32 bytes together with the memory that the driver reserves. */
    s = launch(128, 128, 16, UINT32_MAX - 1023);
    assert_int_equal(sl_occupancy_blocks(&d, &s), 0);
    s = launch(128, 128, 16, 1u << 31);
    s.static_shared = 1u << 31;
    assert_int_equal(sl_occupancy_blocks(&d, &s), 0);
    s = launch(128, 128, 16, 0);
    d.warp_size = UINT32_MAX;
    assert_int_equal(sl_occupancy_blocks(&d, &s), 0);
    d.warp_size = 0;
    assert_int_equal(sl_occupancy_blocks(&d, &s), 0);
}

/* If the driver does not report a limit, syncline assumes that there is no limit. */
static void limits_that_are_not_told(void **state)
{
    struct sl_device d = gpu(9, 0, 132, 2048, 0, 0);
    struct sl_shape s = launch(1000000, 128, 255, 200000);

    d.max_registers_per_sm = 0;
    assert_int_equal(sl_occupancy_blocks(&d, &s), 16);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_limit_holds),
        cmocka_unit_test(percent_is_what_libkineto_shows),
        cmocka_unit_test(what_is_not_known_gives_zero),
        cmocka_unit_test(what_cannot_be_gives_zero),
        cmocka_unit_test(limits_that_are_not_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
