/* lanes_test.c - a thread that reports ranges or operators gets its name in the trace, even if no
 * CUPTI record names it. window_filter_test.c and ops_test.c test which ranges and operators are in
 * a window. */
#include "pipeline/rig.h"

#include <pthread.h>
#include <sys/syscall.h>

#include "collect/nvtx/calls.h"

static int set_up_lanes(void **state)
{
    identity.pid = (uint32_t)getpid();
    return sl_nvtx_init(8 << 20) || set_up(state);
}

static void push(const char *name)
{
    const struct sl_nvtx_event ev = {.message = {.text = name, .length = strlen(name)}};

    assert_true(sl_nvtx_push(0, &ev) >= 0);
}

static pthread_barrier_t told, heard;

static void *tell(void *thread)
{
    *(uint32_t *)thread = (uint32_t)syscall(SYS_gettid);
    pthread_setname_np(pthread_self(), "loader_9");
    push("loading");
    sl_nvtx_pop(0, NULL);
    pthread_barrier_wait(&told);
    pthread_barrier_wait(&heard); /* the system forgets a thread's name when the thread ends */
    return NULL;
}

static void a_thread_that_calls_no_cuda_has_its_name(void **state)
{
    char row[128];
    uint32_t id = 0;
    pthread_t thread;
    const char *text;

    pthread_barrier_init(&told, NULL, 2);
    pthread_barrier_init(&heard, NULL, 2);
    open_window(1, SL_REASON_API);
    assert_int_equal(pthread_create(&thread, NULL, tell, &id), 0);
    pthread_barrier_wait(&told);
    deliver("k", sl_clock_now(), 10);
    pthread_barrier_wait(&heard);
    pthread_join(thread, NULL);
    close_window(1, SL_REASON_API);
    text = read_window(1);
    assert_int_equal(count(text, "\"name\":\"loading\""), 1);
    snprintf(row, sizeof(row), "\"tid\":%u,\"args\":{\"name\":\"thread %u (loader_9)\"}", id, id);
    assert_int_equal(count(text, row), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_thread_that_calls_no_cuda_has_its_name),
    };

    return cmocka_run_group_tests(tests, set_up_lanes, tear_down);
}
