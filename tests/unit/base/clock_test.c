/* clock_test.c - tests how the clock converts ticks to time. The tests use fake clocks, and change
 * the rate of a clock or set the wall clock. */
#include "test.h"

#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#include "base/clock.h"

#define SECOND 1000000000u

/* The fake clocks: a counter with 3 ticks per ns since `origin`, and a wall clock that a test can
 * set. */
static struct {
    _Atomic uint64_t ticks, realtime;
    _Atomic int kernel_asked;
} fake;

static uint64_t fake_realtime(void)
{
    fake.kernel_asked++;
    return fake.realtime;
}

static uint64_t fake_monotonic(void)
{
    return fake.ticks / 3;
}

static uint64_t fake_ticks(void)
{
    return fake.ticks;
}

static const struct sl_clock_source fake_source = {fake_realtime, fake_monotonic, fake_ticks};
static const struct sl_clock_source fake_source_no_ticks = {fake_realtime, fake_monotonic, NULL};

/* Advances both clocks. The wall clock runs faster than the counter by `slew_ppm` parts per
 * million. */
static void advance(uint64_t ns, int64_t slew_ppm)
{
    fake.ticks += ns * 3;
    fake.realtime += ns + (uint64_t)((int64_t)ns / 1000000 * slew_ppm);
}

static int use_fake(void **state)
{
    fake.ticks = 123456789;
    fake.realtime = 1700000000ull * SECOND;
    fake.kernel_asked = 0;
    sl_clock_set_source(&fake_source);
    return 0;
}

static int use_real(void **state)
{
    sl_clock_set_source(NULL);
    return 0;
}

static void calibrate_over(uint64_t ns, int64_t slew_ppm)
{
    sl_clock_calibrate();
    advance(ns, slew_ppm);
    sl_clock_calibrate();
}

static void before_calibration_the_kernel_is_asked(void **state)
{
    assert_int_equal(sl_clock_now(), fake.realtime);
    assert_int_equal(fake.kernel_asked, 1);
    sl_clock_calibrate(); /* one measurement does not give the clock's rate */
    advance(1000, 0);
    assert_int_equal(sl_clock_now(), fake.realtime);
}

static void after_it_the_counter_gives_the_time(void **state)
{
    uint64_t start;

    calibrate_over(SECOND, 0);
    fake.kernel_asked = 0;
    start = fake.realtime;
    advance(SECOND / 2, 0);
    assert_in_range(sl_clock_now(), start + SECOND / 2 - 2, start + SECOND / 2 + 2);
    assert_int_equal(fake.kernel_asked, 0);
}

static void a_slewed_clock_is_followed(void **state)
{
    calibrate_over(SECOND, 0);
    calibrate_over(SECOND, 200); /* NTP begins to slew the wall clock */
    advance(SECOND, 200);
    assert_in_range(sl_clock_now(), fake.realtime - 20, fake.realtime + 20);
}

static void a_slew_change_errs_by_no_more_than_one_interval_of_it(void **state)
{
    calibrate_over(SECOND, 0);
    advance(SECOND / 4, 100);
    assert_in_range(sl_clock_now(), fake.realtime - 25100, fake.realtime);
    sl_clock_calibrate();
    assert_in_range(sl_clock_now(), fake.realtime - 5, fake.realtime + 5);
}

static void a_clock_set_by_hand_is_not_a_slope(void **state)
{
    calibrate_over(SECOND, 0);
    advance(SECOND, 0);
    fake.realtime += 3600ull * SECOND;
    sl_clock_calibrate();
    advance(1000, 0);
    /* the kernel's clock is used until the rate has been measured again */
    assert_int_equal(sl_clock_now(), fake.realtime);
    advance(SECOND, 0);
    sl_clock_calibrate();
    fake.kernel_asked = 0;
    advance(SECOND, 0);
    assert_in_range(sl_clock_now(), fake.realtime - 5, fake.realtime + 5);
    assert_int_equal(fake.kernel_asked, 0);
}

static void a_clock_set_back_and_a_counter_restarted(void **state)
{
    calibrate_over(SECOND, 0);
    advance(SECOND, 0);
    fake.realtime -= 3600ull * SECOND;
    sl_clock_calibrate();
    advance(1000, 0);
    assert_int_equal(sl_clock_now(), fake.realtime);
    calibrate_over(SECOND, 0);
    fake.ticks = 17;
    fake.realtime += SECOND;
    sl_clock_calibrate();
    assert_int_equal(sl_clock_now(), fake.realtime);
}

/* The wall clock is set forwards, then backwards. The next check notices the change, even directly
 * after a calibration. */
static void a_clock_set_by_hand_is_followed(void **state)
{
    calibrate_over(SECOND, 0);
    assert_int_equal(sl_clock_follow(), 0);
    fake.realtime += 3600ull * SECOND;
    assert_int_equal(sl_clock_follow(), 1);
    assert_int_equal(sl_clock_now(), fake.realtime);
    assert_int_equal(sl_clock_follow(), 0);
    calibrate_over(SECOND, 0);
    fake.realtime -= SECOND / 100;
    assert_int_equal(sl_clock_follow(), 1);
    assert_int_equal(sl_clock_now(), fake.realtime);
    calibrate_over(SECOND, 0);
    fake.kernel_asked = 0;
    advance(SECOND, 0);
    assert_in_range(sl_clock_now(), fake.realtime - 5, fake.realtime + 5);
    assert_int_equal(fake.kernel_asked, 0);
}

static void a_slew_is_no_setting(void **state)
{
    calibrate_over(SECOND, 0);
    advance(SECOND / 2, 500);
    assert_int_equal(sl_clock_follow(), 0);
}

static void too_short_an_interval_changes_nothing(void **state)
{
    calibrate_over(SECOND, 0);
    fake.ticks += 3000;
    fake.realtime += 1500; /* the reading was 500 ns late, which makes the rate 50 % wrong */
    sl_clock_calibrate();
    fake.realtime -= 500;
    advance(SECOND / 2, 0);
    assert_in_range(sl_clock_now(), fake.realtime - 5, fake.realtime + 5);
}

static void without_a_counter_the_kernel_is_asked_always(void **state)
{
    sl_clock_set_source(&fake_source_no_ticks);
    calibrate_over(SECOND, 0);
    fake.kernel_asked = 0;
    assert_int_equal(sl_clock_now(), fake.realtime);
    assert_int_equal(fake.kernel_asked, 1);
}

/* The other clock of a comparison, which is 700 ns ahead. Its first, second and third call take
 * 4000, 100 and 2000 ns. Each call returns the time in the middle of the call. */
static int other_clock(void *user, uint64_t *ns)
{
    static const uint64_t half[] = {2000, 50, 1000};
    int *round = user;
    uint64_t half_ns = half[*round % 3];

    (*round)++;
    advance(half_ns, 0);
    *ns = fake.realtime + 700;
    advance(half_ns, 0);
    return 0;
}

static int broken_clock(void *user, uint64_t *ns)
{
    (void)user;
    (void)ns;
    return -1;
}

static void the_tightest_bracket_wins(void **state)
{
    uint64_t uncertainty = 0;
    int round = 0;

    assert_int_equal(sl_clock_offset(other_clock, &round, 3, &uncertainty), 700);
    assert_int_equal(uncertainty, 50);
    assert_int_equal(round, 3);
    assert_int_equal(sl_clock_offset(broken_clock, NULL, 3, &uncertainty), 0);
    assert_true(uncertainty == UINT64_MAX);
}

/* Threads read while another thread calibrates. A conversion uses a line: an offset and a rate.
 * Here the wall clock is an exact function of the counter, so each line gives the exact time. A
 * mixture of two lines would be wrong by a tenth of a second. */
static uint64_t exact_realtime(void)
{
    return 1700000000ull * SECOND + fake.ticks / 3;
}

static const struct sl_clock_source exact_source = {exact_realtime, fake_monotonic, fake_ticks};

static struct {
    _Atomic int stop;
    _Atomic uint64_t readings;
} reading;

static void *read_clock(void *arg)
{
    uintptr_t wrong = 0;

    (void)arg;
    while (!reading.stop) {
        uint64_t low = exact_realtime(), now = sl_clock_now(), high = exact_realtime();

        wrong += now + SECOND / 100 < low || now > high + SECOND / 100;
        reading.readings++;
    }
    return (void *)wrong;
}

static void readers_see_whole_lines(void **state)
{
    pthread_t thread[2];
    void *wrong;

    sl_clock_set_source(&exact_source);
    reading.stop = 0;
    reading.readings = 0;
    sl_clock_calibrate();
    for (int i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&thread[i], NULL, read_clock, NULL), 0);
    while (reading.readings < 200000) {
        fake.ticks += SECOND / 10 * 3;
        sl_clock_calibrate();
    }
    reading.stop = 1;
    for (int i = 0; i < 2; i++) {
        pthread_join(thread[i], &wrong);
        assert_null(wrong);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(before_calibration_the_kernel_is_asked, use_fake, use_real),
        cmocka_unit_test_setup_teardown(after_it_the_counter_gives_the_time, use_fake, use_real),
        cmocka_unit_test_setup_teardown(a_slewed_clock_is_followed, use_fake, use_real),
        cmocka_unit_test_setup_teardown(a_slew_change_errs_by_no_more_than_one_interval_of_it,
                                        use_fake, use_real),
        cmocka_unit_test_setup_teardown(a_clock_set_by_hand_is_not_a_slope, use_fake, use_real),
        cmocka_unit_test_setup_teardown(a_clock_set_back_and_a_counter_restarted, use_fake,
                                        use_real),
        cmocka_unit_test_setup_teardown(a_clock_set_by_hand_is_followed, use_fake, use_real),
        cmocka_unit_test_setup_teardown(a_slew_is_no_setting, use_fake, use_real),
        cmocka_unit_test_setup_teardown(too_short_an_interval_changes_nothing, use_fake, use_real),
        cmocka_unit_test_setup_teardown(without_a_counter_the_kernel_is_asked_always, use_fake,
                                        use_real),
        cmocka_unit_test_setup_teardown(the_tightest_bracket_wins, use_fake, use_real),
        cmocka_unit_test_setup_teardown(readers_see_whole_lines, use_fake, use_real),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
