/* pages_test.c - an allocation returns all requested pages, filled with zeros, or fails. errno is
 * unchanged. */
#include "test.h"

#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/pages.h"

static void rounds_up_to_whole_pages(void **state)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);

    assert_int_equal(sl_pages_round(1), page);
    assert_int_equal(sl_pages_round(page), page);
    assert_int_equal(sl_pages_round(page + 1), 2 * page);
    assert_int_equal(sl_pages_round(SIZE_MAX), 0);
}

static void memory_is_zeroed_and_writable_to_the_last_byte(void **state)
{
    size_t bytes = sl_pages_round(10000);
    unsigned char *memory = sl_pages_map(10000);

    assert_non_null(memory);
    for (size_t i = 0; i < bytes; i++)
        assert_int_equal(memory[i], 0);
    memory[bytes - 1] = 1;
    sl_pages_unmap(memory, 10000);
    sl_pages_unmap(NULL, 10000);
}

/* Returns how many pages of the range are in memory. */
static size_t resident(void *memory, size_t bytes)
{
    size_t page = sl_pages_round(1), count = 0;
    unsigned char in[8];

    assert_true(bytes / page <= sizeof(in));
    assert_int_equal(mincore(memory, bytes, in), 0);
    for (size_t i = 0; i < bytes / page; i++)
        count += in[i] & 1;
    return count;
}

static void what_is_cleared_is_zero_and_takes_no_memory(void **state)
{
    size_t page = sl_pages_round(1);
    unsigned char *memory = sl_pages_map(4 * page);

    memory[0] = memory[2 * page - 1] = memory[2 * page] = 1;
    errno = EDOM;
    sl_pages_clear(memory, 2 * page);
    assert_int_equal(errno, EDOM);
    assert_int_equal(resident(memory, 4 * page), 1);
    assert_int_equal(memory[0] | memory[2 * page - 1], 0);
    assert_int_equal(memory[2 * page], 1);
    sl_pages_unmap(memory, 4 * page);
}

static void what_the_job_has_locked_is_cleared_too(void **state)
{
    size_t page = sl_pages_round(1);
    unsigned char *memory = sl_pages_map(page);

    if (mlock(memory, page) != 0)
        skip(); /* the user may not lock memory */
    memory[7] = 1;
    errno = EDOM;
    sl_pages_clear(memory, page);
    assert_int_equal(errno, EDOM);
    assert_int_equal(memory[7], 0);
    sl_pages_unmap(memory, page);
}

static void grows_with_what_is_in_it(void **state)
{
    unsigned char *memory = sl_pages_map(100);

    memory[99] = 7;
    memory = sl_pages_grow(memory, 100, 10 << 20);
    assert_non_null(memory);
    assert_int_equal(memory[99], 7);
    assert_int_equal(memory[(10 << 20) - 1], 0);
    assert_null(sl_pages_grow(memory, 10 << 20, SIZE_MAX / 2));
    assert_int_equal(memory[99], 7);
    sl_pages_unmap(memory, 10 << 20);
}

static void refuses_without_touching_errno(void **state)
{
    errno = ECHILD;
    assert_null(sl_pages_map(0));
    assert_null(sl_pages_map(SIZE_MAX / 2)); /* more bytes than any address space has */
    assert_int_equal(errno, ECHILD);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rounds_up_to_whole_pages),
        cmocka_unit_test(memory_is_zeroed_and_writable_to_the_last_byte),
        cmocka_unit_test(what_is_cleared_is_zero_and_takes_no_memory),
        cmocka_unit_test(what_the_job_has_locked_is_cleared_too),
        cmocka_unit_test(grows_with_what_is_in_it),
        cmocka_unit_test(refuses_without_touching_errno),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
