/*
 * clock_fit_test.c - GPU times that are too early or too late are recognised, with the number of ns
 * that corrects them. A healthy file, and a few outliers, are not corrected.
 *
 * Threads: one. The test owns no memory.
 */
#include "unit/test.h"

#include "read/clock_fit.h"

enum {
    LAUNCH = 211, /* callback ids */
    STREAM_SYNC = 131,
    DEVICE_SYNC = 165,
    EVENT_SYNC = 137,
    EVENT_RECORD = 135,
    MEMCPY = 31,
    MEMCPY_ASYNC = 41,
    US = 1000,
    CONTEXT = 1,
    STREAM = 7
};

static struct sl_clock_fit fit;
static uint64_t correlation, now_us;
static int64_t shift_ns; /* is added to all GPU times */

static void add(struct sl_event *ev, enum sl_clock_own own)
{
    ev->correlation = correlation;
    sl_clock_fit_event(&fit, ev, own);
}

static void call(uint32_t cbid, uint64_t from_us, uint64_t to_us)
{
    struct sl_event ev = {
        .kind = SL_EV_RUNTIME, .thread = 42, .start_ns = from_us * US, .end_ns = to_us * US};

    ev.u.call.cbid = cbid;
    correlation++;
    add(&ev, SL_CLOCK_OWN_NONE);
}

static void ran(enum sl_clock_own own, uint64_t from_us, uint64_t to_us)
{
    struct sl_event ev = {.kind = own ? SL_EV_MEMCPY : SL_EV_KERNEL,
                          .context = CONTEXT,
                          .stream = STREAM,
                          .start_ns = from_us * US + (uint64_t)shift_ns,
                          .end_ns = to_us * US + (uint64_t)shift_ns};

    add(&ev, own);
}

static void sync_row(uint32_t stream, uint64_t record)
{
    struct sl_event ev = {.kind = SL_EV_SYNC, .context = CONTEXT, .stream = stream};

    ev.u.sync.event_sync_id = record;
    add(&ev, SL_CLOCK_OWN_NONE);
}

static void begin(int64_t ns)
{
    sl_clock_fit_init(&fit, CONTEXT);
    correlation = 0;
    now_us = 1000000;
    shift_ns = ns;
}

/* A launch at now_us, and its kernel of 100 us, which begins 4 us after the call. */
static void launch(void)
{
    call(LAUNCH, now_us, now_us + 2);
    ran(SL_CLOCK_OWN_NONE, now_us + 4, now_us + 104);
}

/* A launch, and a wait for the device that returns 3 us after the kernel's end. */
static void launch_and_wait(void)
{
    launch();
    call(DEVICE_SYNC, now_us + 10, now_us + 107);
    sync_row(SL_STREAM_NONE, 0);
    now_us += 200;
}

static void many(unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        launch_and_wait();
}

static void is(int apart, int64_t skew_ns, const char *text)
{
    char what[256];

    sl_clock_fit_end(&fit);
    assert_int_equal(sl_clock_fit_is_apart(&fit), apart);
    assert_int_equal(sl_clock_fit_skew_ns(&fit), skew_ns);
    assert_string_equal(sl_clock_fit_text(&fit, what, sizeof(what)), text);
}

static void healthy(void **state)
{
    begin(0);
    is(0, 0, "");
    begin(0);
    many(300);
    is(0, 0, "");
    begin(-9 * US); /* 5 us before the call is noise */
    many(300);
    is(0, 0, "");
}

/* The least correction is taken: the kernels begin with their calls. */
static void early(void **state)
{
    begin(-3000 * US);
    many(2);
    is(1, 2996 * US, "2 of 2 GPU operations begin before their call, by up to 2.996 ms");
}

static void late(void **state)
{
    begin(3000 * US);
    many(150);
    is(1, -2997 * US,
       "150 of 150 GPU operations end after the call that waited for them, by up to 2.997 ms");
}

/* One of 100 is not more than 1 %. */
static void outliers(void **state)
{
    begin(0);
    many(99);
    shift_ns = -50 * US;
    many(1);
    is(0, 0, "1 of 100 GPU operations begin before their call, by up to 46.000 us");
    shift_ns = -40 * US;
    many(1);
    assert_int_equal(sl_clock_fit_is_apart(&fit), 1);
}

/* The clocks drift apart by 60 us. No number fits, but one repairs most. It contradicts no wait. */
static void drifting(void **state)
{
    begin(-3000 * US);
    many(10);
    shift_ns = -3060 * US;
    many(10);
    is(1, 3003 * US, "20 of 20 GPU operations begin before their call, by up to 3.056 ms");
}

/* From 0 to 20 ms: nothing is repaired. */
static void growing(void **state)
{
    begin(0);
    many(10);
    shift_ns = -20000 * US;
    many(10);
    is(1, 0, "10 of 20 GPU operations begin before their call, by up to 19.996 ms");
}

static void waits_of_all_kinds(void **state)
{
    begin(100 * US);
    launch();
    call(DEVICE_SYNC, now_us + 10, now_us + 107); /* a file without such rows, with one context */
    now_us += 1000;
    call(MEMCPY, now_us, now_us + 50);
    ran(SL_CLOCK_OWN_BLOCKING, now_us + 5, now_us + 45);
    now_us += 1000;
    call(MEMCPY_ASYNC, now_us, now_us + 50);
    ran(SL_CLOCK_OWN_ANY, now_us + 5, now_us + 45);
    now_us += 1000;
    launch();
    call(STREAM_SYNC, now_us + 10, now_us + 107);
    sync_row(STREAM, 0);
    now_us += 1000;
    launch();
    call(EVENT_RECORD, now_us + 10, now_us + 11);
    add(&(struct sl_event){.kind = SL_EV_CUDA_EVENT, .context = CONTEXT, .stream = STREAM},
        SL_CLOCK_OWN_NONE);
    call(EVENT_SYNC, now_us + 12, now_us + 107);
    sync_row(SL_STREAM_NONE, correlation - 1);
    now_us += 1000;
    launch();
    call(DEVICE_SYNC, now_us + 10, now_us + 50); /* its row was lost: it may be of any context */
    is(1, -97 * US,
       "5 of 5 GPU operations end after the call that waited for them, by up to 97.000 us");
}

/* The wait began before the launch had returned, or is for another stream, event or context. */
static void no_wait_for_the_kernel(void **state)
{
    begin(100 * US);
    launch();
    call(STREAM_SYNC, now_us + 1, now_us + 50);
    sync_row(STREAM, 0);
    call(STREAM_SYNC, now_us + 10, now_us + 50);
    sync_row(STREAM + 1, 0);
    call(EVENT_SYNC, now_us + 10, now_us + 50);
    sync_row(SL_STREAM_NONE, 1);
    fit.context = SL_CLOCK_FIT_CONTEXTS;
    call(DEVICE_SYNC, now_us + 10, now_us + 50);
    call(MEMCPY_ASYNC, now_us + 60, now_us + 70); /* to pinned memory */
    ran(SL_CLOCK_OWN_BLOCKING, now_us + 65, now_us + 95);
    is(0, 0, "");
}

/* Files of two processes were merged, so two calls have the id. Their operations prove nothing. */
static void one_id_of_two_processes(void **state)
{
    begin(-100 * US);
    call(LAUNCH, now_us, now_us + 2);
    correlation--;
    call(LAUNCH, now_us + 500, now_us + 502);
    ran(SL_CLOCK_OWN_NONE, now_us, now_us + 5);
    is(0, 0, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(healthy),
        cmocka_unit_test(early),
        cmocka_unit_test(late),
        cmocka_unit_test(outliers),
        cmocka_unit_test(drifting),
        cmocka_unit_test(growing),
        cmocka_unit_test(waits_of_all_kinds),
        cmocka_unit_test(no_wait_for_the_kernel),
        cmocka_unit_test(one_id_of_two_processes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
