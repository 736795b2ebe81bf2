/* request_test.c - other threads send requests to the recorder. The recorder's creation does not
 * affect signals and other threads. */
#include "life.h"
#include "recorder/recorder.h"

static _Atomic int stop_asking;

static void two_threads_that_take_no_signals(void)
{
    const unsigned long long standard = 0x7fffffff & ~(1ull << 8 | 1ull << 18); /* KILL, STOP */
    unsigned long long blocked;

    CHECK(inject("SYNCLINE_WINDOW=run"));
    fake_launch("k", 1);
    UNTIL(status_now().records >= 2);
    CHECK(our_threads(&blocked) == 2);
    CHECK((blocked & standard) == standard);
    sl_process_exit();
}

static void a_start_before_the_first_context_and_while_closing(void)
{
    char name[32];
    uint32_t first;
    int answer;

    CHECK(inject("SYNCLINE_WINDOW=demand"));
    CHECK(sl_start() == 0);
    CHECK(sl_start() == -EALREADY);
    CHECK(sl_stop() == 0);
    answer = sl_start();
    /* -EBUSY: a lead-in (the recording before a window) is being ended. */
    CHECK(answer == 0 || answer == -EBUSY);
    UNTIL(status_now().state == SL_STATE_RECORDING);
    first = status_now().window; /* 2 if the stop found a lead-in */
    CHECK(sl_stop() == 0);
    CHECK(sl_start() == -EBUSY); /* the request is kept until the first window is closed */
    UNTIL(status_now().window == first + 1 && status_now().state == SL_STATE_RECORDING);
    fake_launch("k_late", 1);
    CHECK(sl_stop() == 0);
    UNTIL(status_now().windows_completed == first + 1);
    snprintf(name, sizeof(name), "%u.pt.trace.json", first + 1);
    CHECK(in_file(name, KERNEL) == 1);
    sl_process_exit();
}

static void *ask_all_the_time(void *arg)
{
    unsigned seed = (unsigned)(uintptr_t)arg;

    while (!stop_asking) {
        struct sl_status s = {.size = sizeof(s)};

        switch (rand_r(&seed) % 3) {
        case 0:
            sl_start();
            break;
        case 1:
            sl_stop();
            break;
        default:
            sl_status(&s);
        }
        fake_launch("k_many", 1);
        usleep(200);
    }
    return NULL;
}

static void threads_that_start_and_stop_all_the_time(void)
{
    pthread_t thread[3];

    CHECK(inject("SYNCLINE_WINDOW=demand"));
    for (uintptr_t i = 0; i < 3; i++)
        CHECK(pthread_create(&thread[i], NULL, ask_all_the_time, (void *)(i + 1)) == 0);
    UNTIL(status_now().windows_completed >= 5);
    sl_process_exit(); /* other threads still send requests during the exit */
    stop_asking = 1;
    for (int i = 0; i < 3; i++)
        pthread_join(thread[i], NULL);
    CHECK(files("*.part") == 0);
    CHECK(files("*.json") >= 5);
}

/* Creates a recorder without the rest of the library. */
static struct sl_recorder *prepare(void)
{
    static struct sl_config config = {.window_mode = SL_WINDOW_DEMAND};
    static struct sl_identity identity;
    static struct sl_cupti_api cupti;
    const struct sl_recorder_options opt = {
        .config = &config, .identity = &identity, .cupti = &cupti};
    struct sl_recorder *c = NULL, *second = NULL;

    CHECK(sl_recorder_init(&c, &opt) == 0);
    CHECK(sl_recorder_init(&second, &opt) == -EALREADY);
    CHECK(c && !second);
    return c;
}

static void requests_are_kept_before_there_is_a_thread(void)
{
    struct sl_recorder *c = prepare();
    struct sl_recorder_status s;
    char last[16] = "untouched";

    sl_recorder_get_status(c, &s, last, sizeof(last));
    CHECK(s.state == SL_WIN_PAUSED && !s.started && s.window == 0 && s.windows_completed == 0);
    CHECK(s.memory_bytes == 0);
    CHECK(strcmp(last, "untouched") == 0); /* without a pipeline, there is no last file */
    CHECK(sl_recorder_request(c, sl_window_stop) == -EALREADY);
    CHECK(sl_recorder_request(c, sl_window_start) == 0);
    CHECK(sl_recorder_request(c, sl_window_start) == -EALREADY);
    CHECK(sl_recorder_request(c, sl_window_stop) == 1);
    sl_recorder_wake(c);
    CHECK(threads() == 0);
    sl_recorder_exit(c); /* the recorder was never started, so the exit waits for nothing */
    CHECK(sl_recorder_start(c) == -EALREADY);
    CHECK(threads() == 0);
    CHECK(files("*") == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        LIFE(two_threads_that_take_no_signals),
        LIFE(a_start_before_the_first_context_and_while_closing),
        LIFE(threads_that_start_and_stop_all_the_time),
        LIFE(requests_are_kept_before_there_is_a_thread),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
