/*
 * probe_test.c - tests the reports to the CUPTI stand-in: the order of the reports, and correlation
 * ids that wrap after 2^32 - 1. Run with --correlation-start 4294967290 --scale 100. The test has
 * one application thread and the service thread.
 */
#include <stdatomic.h>

#include "gpu.h"

static atomic_int enqueued, done, early, undone;
static uint32_t last_correlation;
static int nested;

static void on_enter(enum sim_domain domain, uint32_t cbid, uint32_t correlation, uint64_t now_ns)
{
    nested += correlation != last_correlation + 1;
    last_correlation = correlation;
}

static void on_exit_call(enum sim_domain domain, uint32_t cbid, uint32_t correlation,
                         uint64_t start_ns, uint64_t end_ns, int result)
{
    assert_true(end_ns >= start_ns);
}

static void on_enqueued(struct sim_op *op)
{
    /* `done` may be set by the service thread at the same time. */
    early += atomic_load(&op->done) != 0;
    assert_int_equal(op->correlation, last_correlation);
    enqueued++;
}

static void on_done(struct sim_op *op)
{
    undone += !atomic_load(&op->done) || op->end_ns < op->start_ns;
    done++;
}

static const struct sim_probe probe = {
    .api_enter = on_enter,
    .api_exit = on_exit_call,
    .op_enqueued = on_enqueued,
    .op_done = on_done,
};

static void the_probe_hears_everything_in_order(void **state)
{
    CUstream s = gpu_stream(CU_STREAM_NON_BLOCKING);

    last_correlation = (uint32_t)sim_correlation_now();
    sim_probe_set(&probe);
    for (int i = 0; i < 5000; i++) {
        gpu_spin('a', 1000, s);
    }
    OK(cuStreamSynchronize(s));
    OK(cuCtxSynchronize());
    sim_probe_set(NULL);
    assert_int_equal(enqueued, 5000);
    assert_int_equal(early, 0);
    assert_int_equal(undone, 0);
    assert_int_equal(nested, 0);
    assert_true(sim_correlation_now() > UINT32_MAX);
}

static void decisions_repeat(void **state)
{
    double first = sim_random("here", 1);

    assert_true(first >= 0 && first < 1);
    assert_true(first != sim_random("here", 2));
    assert_true(first != sim_random("there", 1));
    assert_true(first == sim_random("here", 1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_probe_hears_everything_in_order),
        cmocka_unit_test(decisions_repeat),
    };

    return cmocka_run_group_tests(tests, gpu_setup, NULL);
}
