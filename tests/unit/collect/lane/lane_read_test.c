/* lane_read_test.c - reads the records of all threads' lanes (ring buffers), and converts their
 * time stamps to times. Records made after a given time are read by a later call. The test's own
 * clock has 2 ticks per nanosecond at first, and another rate later. */
#include "test.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "collect/lane/lane_read.h"

#define SECOND 1000000000u
#define EPOCH  1700000000000000000u

static uint64_t time_ns, ticks; /* the current time of the test's clocks */

static uint64_t realtime(void)
{
    return EPOCH + time_ns;
}

static uint64_t monotonic(void)
{
    return time_ns;
}

static uint64_t tick_counter(void)
{
    return ticks;
}

static const struct sl_clock_source source = {realtime, monotonic, tick_counter};

static void pass(uint64_t ns, unsigned ticks_per_ns)
{
    time_ns += ns;
    ticks += ns * ticks_per_ns;
}

/* ---- the records that were read ---- */

struct read {
    uint32_t thread, aux;
    uint8_t what;
    uint64_t ns;
};

static struct read got[64];
static unsigned got_count;

static void (*meanwhile)(void); /* a function that is called once, while a record is read */

static void take(void *user, uint32_t thread, const struct sl_lane_record *record, uint64_t ns)
{
    void (*happens)(void) = meanwhile;

    meanwhile = NULL;
    if (happens)
        happens();
    assert_ptr_equal(user, got);
    assert_true(got_count < sizeof(got) / sizeof(*got));
    got[got_count++] = (struct read){thread, record->aux, record->what, ns - EPOCH};
}

static struct sl_lane_reader reader;

static void read_until(uint64_t ns)
{
    got_count = 0;
    sl_lane_reader_read(&reader, EPOCH + ns);
}

/* Writes a mark of this thread with the given stamp. */
static void mark_at(uint32_t number, uint64_t stamp)
{
    struct sl_lane_record *r = sl_lane_begin(sl_lane_get(), 2);

    *r = (struct sl_lane_record){.what = SL_LANE_MARK, .pairs = 1, .aux = number, .stamp = stamp};
    sl_lane_put(sl_lane_mine, 2);
}

static void mark(uint32_t number)
{
    mark_at(number, sl_clock_stamp());
}

static void assert_marks(unsigned from, const uint32_t *number, const uint64_t *ns, unsigned count)
{
    assert_int_equal(got_count, from + count);
    for (unsigned i = 0; i < count; i++) {
        assert_int_equal(got[from + i].what, SL_LANE_MARK);
        assert_int_equal(got[from + i].aux, number[i]);
        assert_int_equal(got[from + i].ns, ns[i]);
    }
}

#define ASSERT_MARKS(from, numbers, times)                                                         \
    assert_marks(from, numbers, times, sizeof(numbers) / sizeof(*(numbers)))

static int init(void **state)
{
    const struct sl_lane_reader_options opt = {got, take};

    ticks = 5000;
    time_ns = 1000;
    sl_clock_set_source(&source);
    if (sl_lanes_init(1 << 20))
        return -1;
    sl_lane_reader_init(&reader, &opt);
    return 0;
}

static int end(void **state)
{
    sl_clock_set_source(NULL);
    return 0;
}

/* ---- the test cases, each of which continues the previous case ---- */

static void nothing_is_read_where_there_is_nothing(void **state)
{
    read_until(UINT64_MAX - EPOCH);
    assert_int_equal(got_count, 0);
}

static void a_record_has_its_thread_and_the_time_of_its_stamp(void **state)
{
    static const uint32_t numbers[] = {1, 2};
    static const uint64_t times[] = {1100, 1350};
    uint32_t self = (uint32_t)syscall(SYS_gettid);

    pass(100, 2);
    mark(1);
    pass(250, 2);
    mark(2);
    pass(50, 2);
    read_until(2000);
    assert_int_equal(got[0].what, SL_LANE_THREAD_BEGIN);
    assert_int_equal(got[0].aux, self);
    for (unsigned i = 0; i < got_count; i++)
        assert_int_equal(got[i].thread, self);
    ASSERT_MARKS(1, numbers, times);
}

/* A record made after the given time is not read yet. A later call reads this record exactly
 * once. */
static void what_came_after_that_time_is_left(void **state)
{
    static const uint32_t first[] = {3}, second[] = {4, 5};
    static const uint64_t first_at[] = {1500}, second_at[] = {1600, 1700};

    pass(100, 2);
    mark(3);
    pass(100, 2);
    mark(4);
    pass(100, 2);
    mark(5);
    pass(100, 2);
    read_until(1600); /* a record made exactly at the given time is not read */
    ASSERT_MARKS(0, first, first_at);
    read_until(1600);
    assert_int_equal(got_count, 0);
    read_until(2000);
    ASSERT_MARKS(0, second, second_at);
}

/* A record has an earlier stamp than the record before, because the writer was interrupted. The
 * later record gets no earlier time than the record before. */
static void times_of_a_thread_never_go_back(void **state)
{
    static const uint32_t numbers[] = {6, 7, 8};
    static const uint64_t times[] = {1900, 1900, 1950};

    pass(100, 2);
    mark(6);
    mark_at(7, ticks - 80); /* 40 ns earlier */
    pass(50, 2);
    mark(8);
    read_until(3000);
    ASSERT_MARKS(0, numbers, times);
}

static _Atomic int stay;
static uint32_t other_thread;

static void *other(void *number)
{
    other_thread = (uint32_t)syscall(SYS_gettid);
    mark((uint32_t)(uintptr_t)number);
    atomic_fetch_add(&stay, 1);
    while (atomic_load(&stay) == 1)
        sched_yield();
    return NULL;
}

/* A thread's lane is read independently of other lanes. When the thread ends, the next thread gets
 * its lane. */
static void each_thread_has_its_own_order(void **state)
{
    pthread_t thread;

    for (uint32_t number = 10; number < 12; number++) {
        atomic_store(&stay, 0);
        assert_int_equal(pthread_create(&thread, NULL, other, (void *)(uintptr_t)number), 0);
        while (!atomic_load(&stay))
            sched_yield();
        mark_at(9, ticks + 2000); /* in the future */
        read_until(time_ns + 500);
        assert_int_equal(got_count, 2);
        assert_int_equal(got[0].what, SL_LANE_THREAD_BEGIN);
        assert_int_equal(got[1].aux, number);
        assert_int_equal(got[1].thread, other_thread);
        atomic_store(&stay, 2);
        pthread_join(thread, NULL);
        pass(2000, 2);
        read_until(time_ns);
        assert_int_equal(got_count, 2);
        assert_true(got[0].aux == 9 || got[1].aux == 9);
        assert_true(got[0].what == SL_LANE_THREAD_END || got[1].what == SL_LANE_THREAD_END);
    }
    assert_int_equal(sl_lanes_used(), 2);
}

static void mark_later(void)
{
    pass(100, 2);
    mark(13);
}

/* A record that is made while lanes are read is not read before the next call. Otherwise the record
 * could be read before an earlier record in a lane that was already finished. */
static void what_is_made_while_lanes_are_read_is_left(void **state)
{
    static const uint32_t first[] = {12}, second[] = {13};
    uint64_t first_at[] = {time_ns}, second_at[] = {time_ns + 100};

    mark(12);
    meanwhile = mark_later;
    read_until(UINT64_MAX - EPOCH);
    ASSERT_MARKS(0, first, first_at);
    read_until(UINT64_MAX - EPOCH);
    ASSERT_MARKS(0, second, second_at);
}

/* The counter changes its rate, or its first measurement was wrong. After two seconds, only recent
 * measurements are used. */
static void the_rate_is_that_of_the_last_seconds(void **state)
{
    uint64_t at;

    for (int i = 0; i < 4; i++) {
        pass(SECOND + 1, 3);
        read_until(time_ns);
    }
    at = time_ns;
    mark(20);
    pass(SECOND / 2, 3);
    read_until(time_ns);
    assert_int_equal(got_count, 1);
    assert_in_range(got[0].ns, at - 1, at + 1);
}

/* The clock does not advance, so its rate cannot be measured again. The last measured rate is still
 * used. */
static void a_clock_that_stands(void **state)
{
    uint64_t at = time_ns;

    mark(30);
    for (int i = 0; i < 3; i++)
        read_until(at + 1);
    assert_int_equal(got_count, 0); /* the first read has already returned this record */
    mark(31);
    read_until(at + 1);
    assert_int_equal(got_count, 1);
    assert_int_equal(got[0].ns, at);
}

/* The clock is set back, so earlier records seem to be in the future. These records are still read
 * immediately. */
static void the_clock_is_set_back(void **state)
{
    mark_at(14, ticks + 6 * (uint64_t)SECOND);
    read_until(UINT64_MAX - EPOCH);
    assert_int_equal(got_count, 1);
}

/* The clock is set back by an hour. Later records have the times of the new clock, in order. */
static void records_have_the_time_of_a_clock_that_was_set_back(void **state)
{
    static const uint32_t numbers[] = {40, 41, 42};
    uint64_t times[3];

    pass(7 * (uint64_t)SECOND, 3); /* later than all times of the previous case */
    mark(39);
    pass(100, 3);
    read_until(UINT64_MAX - EPOCH);
    assert_int_equal(got_count, 1);
    time_ns -= 3600 * (uint64_t)SECOND;
    times[0] = time_ns;
    mark(40);
    pass(500, 3);
    times[1] = times[2] = time_ns;
    mark(41);
    mark_at(42, ticks - 120); /* 40 ns earlier than mark 41 */
    pass(100, 3);
    read_until(time_ns);
    assert_int_equal(got_count, 3);
    for (unsigned i = 0; i < 3; i++) {
        assert_int_equal(got[i].aux, numbers[i]);
        assert_true(got[i].ns - times[i] + 1 <= 2);
    }
    assert_true(got[2].ns == got[1].ns);
}

static void *spoil(void *unused)
{
    struct sl_lane_record *r;

    mark(1);
    r = sl_lane_begin(sl_lane_get(), 2);
    *r = (struct sl_lane_record){.what = SL_LANE_MARK, .stamp = sl_clock_stamp()};
    sl_lane_put(sl_lane_mine, 2);
    mark(2);
    return unused;
}

/* A signal handler makes a mark while its thread is writing another. The position of the next
 * record is then unknown. The remaining records of this thread are lost, and no others. */
static void what_a_signal_spoils_is_its_threads_alone(void **state)
{
    pthread_t thread;
    unsigned marks = 0;

    pthread_create(&thread, NULL, spoil, NULL);
    pthread_join(thread, NULL);
    mark(3);
    pass(SECOND, 2);
    read_until(time_ns);
    for (unsigned i = 0; i < got_count; i++) {
        marks += got[i].what == SL_LANE_MARK;
        assert_true(got[i].what != SL_LANE_MARK || got[i].aux == 1 || got[i].aux == 3);
    }
    assert_int_equal(marks, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_read_where_there_is_nothing),
        cmocka_unit_test(a_record_has_its_thread_and_the_time_of_its_stamp),
        cmocka_unit_test(what_came_after_that_time_is_left),
        cmocka_unit_test(times_of_a_thread_never_go_back),
        cmocka_unit_test(each_thread_has_its_own_order),
        cmocka_unit_test(what_is_made_while_lanes_are_read_is_left),
        cmocka_unit_test(the_rate_is_that_of_the_last_seconds),
        cmocka_unit_test(a_clock_that_stands),
        cmocka_unit_test(the_clock_is_set_back),
        cmocka_unit_test(records_have_the_time_of_a_clock_that_was_set_back),
        cmocka_unit_test(what_a_signal_spoils_is_its_threads_alone),
    };

    return cmocka_run_group_tests(tests, init, end);
}
