/* read_locks_test.c - ranges that show which thread waited for a lock or held it. Each thread has a
 * lane (a ring buffer), and the lanes may be read in any order. */
#include "unit/collect/nvtx/read_rig.h"

static uint32_t new_lock(const char *name)
{
    const struct sl_named lock = {.what = SL_NAMED_OTHER, .string = string(name)};

    return sl_nvtx_name(&lock);
}

/* Checks that the lock has a range with these args and times. */
static const struct sl_event *lock_range(const char *name, const char *args, unsigned index)
{
    const struct sl_event *ev;

    for (unsigned i = 0; (ev = range(name, i)); i++)
        if (strcmp(args_of(ev), args) == 0 && index-- == 0)
            return ev;
    return NULL;
}

static void assert_lock(const char *name, const char *args, unsigned index, uint64_t start,
                        uint64_t stop)
{
    const struct sl_event *ev = lock_range(name, args, index);

    assert_non_null(ev);
    assert_int_equal(ev->start_ns, start);
    assert_int_equal(ev->end_ns, stop);
}

#define WAITED     "{\"sync\":\"acquire\",\"acquired\":true}"
#define NOT_WAITED "{\"sync\":\"acquire\",\"acquired\":false}"
#define HELD       "{\"sync\":\"held\"}"

/* Lanes are read one after the other. The first thread has held the lock twice. The second thread
 * held the lock in between, but its lane is read last. */
static void threads_that_take_turns_hold_it_one_after_the_other(void **state)
{
    uint32_t lock = new_lock("shared");

    plain(SL_LANE_ACQUIRED, lock, ONE, 10);
    plain(SL_LANE_RELEASE, lock, ONE, 20);
    plain(SL_LANE_ACQUIRED, lock, ONE, 50);
    plain(SL_LANE_ACQUIRED, lock, TWO, 30);
    plain(SL_LANE_RELEASE, lock, TWO, 40);
    plain(SL_LANE_RELEASE, lock, ONE, 60);
    assert_lock("shared", HELD, 0, 10, 20);
    assert_lock("shared", HELD, 1, 30, 40);
    assert_lock("shared", HELD, 2, 50, 60);
    assert_int_equal(count_of(SL_EV_NVTX_RANGE), 3);
}

static void a_lock_that_another_thread_gives_back(void **state)
{
    uint32_t lock = new_lock("semaphore");

    plain(SL_LANE_ACQUIRED, lock, ONE, 10);
    plain(SL_LANE_RELEASE, lock, TWO, 20);
    sl_nvtx_read_done(reader);
    assert_lock("semaphore", HELD, 0, 10, 20);
    plain(SL_LANE_ACQUIRED, lock, TWO, 30);
    plain(SL_LANE_RELEASE, lock, TWO, 40);
    assert_lock("semaphore", HELD, 1, 30, 40);
    /* The releasing thread's lane is read first. */
    plain(SL_LANE_RELEASE, lock, TWO, 60);
    plain(SL_LANE_ACQUIRED, lock, ONE, 50);
    sl_nvtx_read_done(reader);
    assert_lock("semaphore", HELD, 2, 50, 60);
    /* The release of the lock has an earlier time than the acquisition. */
    plain(SL_LANE_RELEASE, lock, TWO, 70);
    plain(SL_LANE_ACQUIRED, lock, ONE, 80);
    sl_nvtx_read_done(reader);
    plain(SL_LANE_RELEASE, lock, ONE, 90);
    assert_lock("semaphore", HELD, 3, 80, 90);
    assert_int_equal(count_of(SL_EV_NVTX_RANGE), 4);
}

static void what_nobody_gives_back_without_end(void **state)
{
    uint32_t lock = new_lock("without end");

    plain(SL_LANE_ACQUIRED, lock, ONE, 10);
    for (unsigned i = 0; i < 1000; i++)
        plain(SL_LANE_RELEASE, new_lock("of nobody"), TWO, 11 + i);
    plain(SL_LANE_RELEASE, lock, TWO, 2000);
    sl_nvtx_read_done(reader);
    assert_lock("without end", HELD, 0, 10, 2000);
}

/* A program uses a lock handle of another tool. The handle is treated like any number. */
static void a_lock_of_another_tool_touches_no_ranges(void **state)
{
    push("mine", ONE, 10);
    for (uint64_t handle = 1; handle; handle = (uint32_t)(handle * 2)) {
        plain(SL_LANE_ACQUIRE, (uint32_t)handle, ONE, 20);
        plain(SL_LANE_ACQUIRED, (uint32_t)handle, ONE, 21);
        plain(SL_LANE_RELEASE, (uint32_t)handle, ONE, 22);
    }
    /* this would be the default domain if the two numbers were added */
    plain(SL_LANE_NOT_ACQUIRED, 0u - 0x10000u, ONE, 30);
    assert_null(range("mine", 0));
    plain(SL_LANE_POP, 0, ONE, 40);
    assert_range("mine", 0, 10, 40);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(threads_that_take_turns_hold_it_one_after_the_other),
        CASE(a_lock_that_another_thread_gives_back),
        CASE(what_nobody_gives_back_without_end),
        CASE(a_lock_of_another_tool_touches_no_ranges),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
