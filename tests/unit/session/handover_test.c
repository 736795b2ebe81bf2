/* handover_test.c - another profiler takes CUPTI without notice. The recorder detects this by a
 * changed CUPTI clock or by missing records, and prints one message. The file reports the gap. Also
 * tests the case that CUPTI cannot be taken back from a profiler that asks first (peer_test.c). */
#include "life.h"

#include "base/clock.h"
#include "collect/cupti/tables.h"
#include "process/process_impl.h"

/* If set, CUPTI uses the clock of torch.profiler, the tick counter. */
static _Atomic int has_taken;

static int theirs_or_ours(uint64_t *stamp)
{
    *stamp = has_taken ? sl_clock_ticks() : fake_now();
    return 0;
}

/* Starts recording. If `is_busy` is set, CUPTI has a buffer of syncline that it does not return
 * without a flush. */
static void record(int is_busy)
{
    static struct sl_cupti_functions functions;

    functions = fake_functions;
    functions.GetTimestamp = theirs_or_ours;
    CHECK(inject_cupti(&functions, "SYNCLINE_WINDOW=run"));
    fake_launch("k_before", 1);
    UNTIL(status_now().records >= 2);
    if (is_busy)
        fake_launch("k_unfinished", 0);
}

static void begin(int is_busy)
{
    record(is_busy);
    has_taken = 1;
    UNTIL(stderr_has("another profiler took CUPTI while syncline was recording"));
}

/* Returns the end of the only gap in the file. */
static uint64_t gap_end(void)
{
    unsigned long long from_ns = 0, until_ns = 0;
    char path[256], line[4096];
    glob_t found;
    FILE *f;

    snprintf(path, sizeof(path), "%s/*/*/1.pt.trace.json", folder);
    CHECK(glob(path, 0, NULL, &found) == 0 && found.gl_pathc == 1);
    f = fopen(found.gl_pathv[0], "r");
    CHECK(f);
    while (fgets(line, sizeof(line), f)) {
        const char *at = strstr(line, "\"gaps\":[");

        if (at)
            CHECK(sscanf(at, "\"gaps\":[[%llu,%llu]]", &from_ns, &until_ns) == 2);
    }
    fclose(f);
    globfree(&found);
    CHECK(from_ns && from_ns < until_ns);
    return until_ns;
}

/* The other client only changed CUPTI's clock. CUPTI still requests buffers from syncline, so
 * syncline takes CUPTI back and records again. */
static void a_clock_that_was_changed_and_nothing_else(void)
{
    uint64_t back_ns;

    begin(0);
    for (int i = 0; i < 3; i++) {
        uint64_t records = status_now().records;

        fake_launch("k_after", 1);
        UNTIL(status_now().records >= records + 2);
    }
    /* syncline has set its own value again. */
    CHECK(fake.attribute[SL_CUPTI_ATTR_ZEROED_OUT_ACTIVITY_BUFFER] == 1);
    back_ns = sl_clock_now();
    usleep(2000);
    sl_process_exit();
    CHECK(gap_end() < back_ns);
    CHECK(in_file("1.pt.trace.json", "k_after") == 3);
}

/* The other client only changed CUPTI's clock. Calls recorded before syncline notices this have
 * rows on their own threads, like all other calls. */
static void a_clock_alone_leaves_rows_their_threads(void)
{
    char call[64];

    begin(0);
    UNTIL(fake.attribute[SL_CUPTI_ATTR_ZEROED_OUT_ACTIVITY_BUFFER] == 0);
    fake_launch("k_at_once", 1);
    UNTIL(status_now().records >= 4);
    sl_process_exit();
    CHECK(in_file("1.pt.trace.json", "k_at_once") == 1);
    snprintf(call, sizeof(call), "\"pid\":%d,\"tid\":%d,\"args\":{\"cbid\":", getpid(), getpid());
    CHECK(in_file("1.pt.trace.json", call) == 2);
}

/* The other client only changed CUPTI's clock, and the process ends before the recorder notices.
 * CUPTI still has records of syncline. These records are not lost. */
static void a_clock_alone_and_the_end(void)
{
    begin(0);
    UNTIL(fake.attribute[SL_CUPTI_ATTR_ZEROED_OUT_ACTIVITY_BUFFER] == 0);
    fake_launch("k_last", 1);
    sl_process_exit();
    CHECK(in_file("1.pt.trace.json", "k_last") == 1);
    CHECK(!stderr_has("are lost"));
}

/* The other client changes the clock between two windows, while syncline's kinds are disabled. In
 * the next window the kinds are enabled again. */
static void a_clock_that_was_changed_between_windows(void)
{
    static struct sl_cupti_functions functions;

    functions = fake_functions;
    functions.GetTimestamp = theirs_or_ours;
    CHECK(inject_cupti(&functions, "SYNCLINE_WINDOW=demand"));
    fake_launch("k_context", 1);
    record_window("k_first", 1);
    fake_launch("k_sign", 1);
    UNTIL(!fake.on[SL_CUPTI_KIND_CONCURRENT_KERNEL]);
    has_taken = 1;
    UNTIL(stderr_has("another profiler took CUPTI while syncline was recording"));
    CHECK(sl_start() == 0);
    UNTIL(status_now().state == SL_STATE_RECORDING);
    fake_launch("k_asks", 1);
    UNTIL(fake.on[SL_CUPTI_KIND_CONCURRENT_KERNEL]);
    sl_process_exit();
}

/* ---- before the first record ---- */

/* Returns CUPTI's time, and launches a kernel at the first call of the recorder. So CUPTI requests
 * a buffer from syncline just after the recorder was told that CUPTI had never requested one. */
static int ask_late(uint64_t *stamp)
{
    static _Atomic int has_asked;

    if (syscall(SYS_gettid) != getpid() && !atomic_exchange(&has_asked, 1))
        fake_launch("k_late", 1);
    return fake_GetTimestamp(stamp);
}

static void asked_while_it_is_told_that_it_was_not(void)
{
    struct sl_cupti_functions functions = fake_functions;

    functions.GetTimestamp = ask_late;
    CHECK(inject_cupti(&functions, "SYNCLINE_WINDOW=run"));
    sl_recorder_tell_never_asked(sl_process.recorder);
    sl_process_exit();
    CHECK(!stderr_has("took CUPTI"));
    CHECK(in_file("1.pt.trace.json", "k_late") == 1);
}

static void never_asked_and_no_window(void)
{
    CHECK(inject("SYNCLINE_WINDOW=demand"));
    sl_recorder_tell_never_asked(sl_process.recorder);
    sl_process_exit();
    CHECK(stderr_has("another profiler took CUPTI before the first record"));
    CHECK(!stderr_has("the trace"));
    CHECK(files("*") == 0);
}

/* ---- clients that ask before they take CUPTI ---- */

static int set_clock(sl_cupti_stamp_fn stamp)
{
    (void)stamp;
    return 0;
}

static int subscribe(void **subscriber, void *callback, void *user)
{
    (void)subscriber;
    (void)callback;
    (void)user;
    return 0;
}

/* CUPTI refuses to enable kinds when syncline takes CUPTI back. In this state no client waits for
 * syncline. syncline tries again at the end of the next session. */
static void refused_when_it_is_taken_back(void)
{
    struct sl_cupti_functions functions = fake_functions;

    functions.ActivityRegisterTimestampCallback = set_clock;
    functions.Subscribe = subscribe;
    CHECK(inject_cupti(&functions, "SYNCLINE_WINDOW=run"));
    fake_launch("k_before", 1);
    UNTIL(status_now().records >= 2);
    CHECK(sl_hand_over() == 0);
    fake.enable_result = 999;
    CHECK(sl_take_back() == 0);
    CHECK(stderr_has("CUPTI could not be taken back"));
    CHECK(fake.attribute[SL_CUPTI_ATTR_ZEROED_OUT_ACTIVITY_BUFFER] == 0);
    CHECK(status_now().state == SL_STATE_RECORDING);
    CHECK(sl_hand_over() == 0);
    fake.enable_result = 0;
    CHECK(sl_take_back() == 0);
    fake_launch("k_after", 1);
    UNTIL(status_now().records >= 4);
    sl_process_exit();
    CHECK(gap_end() < sl_clock_now());
    CHECK(in_file("1.pt.trace.json", "\"handovers\":1,") == 1);
    CHECK(in_file("1.pt.trace.json", "k_before") == 1);
    CHECK(in_file("1.pt.trace.json", "k_after") == 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        LIFE(a_clock_that_was_changed_and_nothing_else),
        LIFE(a_clock_alone_leaves_rows_their_threads),
        LIFE(a_clock_alone_and_the_end),
        LIFE(a_clock_that_was_changed_between_windows),
        LIFE(asked_while_it_is_told_that_it_was_not),
        LIFE(never_asked_and_no_window),
        LIFE(refused_when_it_is_taken_back),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
