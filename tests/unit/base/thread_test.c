/* thread_test.c - a thread of ours starts with default settings, whatever its creator has set. */
#include "test.h"

#include <fenv.h>
#include <signal.h>

#include "base/thread.h"

#define STACK_BYTES 65536

struct seen {
    int rounding, traps, is_blocked;
};

static void *look(void *user)
{
    struct seen *seen = user;
    sigset_t mask;

    seen->rounding = fegetround();
    seen->traps = fegetexcept();
    pthread_sigmask(SIG_BLOCK, NULL, &mask);
    seen->is_blocked = sigismember(&mask, SIGUSR1);
    return NULL;
}

static void a_thread_does_not_inherit_rounding_traps_and_signals(void **state)
{
    struct seen seen = {-1, -1, -1};
    sigset_t mask;
    pthread_t thread;
    int traps;

    fesetround(FE_UPWARD);
    feenableexcept(FE_DIVBYZERO); /* not every AArch64 processor has traps */
    traps = fegetexcept();
    assert_int_equal(sl_thread_start(&thread, STACK_BYTES, look, &seen), 0);
    pthread_join(thread, NULL);
    assert_int_equal(seen.rounding, FE_TONEAREST);
    assert_int_equal(seen.traps, 0);
    assert_int_equal(seen.is_blocked, 1);
    assert_int_equal(fegetround(), FE_UPWARD);
    assert_int_equal(fegetexcept(), traps);
    pthread_sigmask(SIG_BLOCK, NULL, &mask);
    assert_int_equal(sigismember(&mask, SIGUSR1), 0);
    fesetenv(FE_DFL_ENV);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_thread_does_not_inherit_rounding_traps_and_signals)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
