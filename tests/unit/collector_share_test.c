/* collector_share_test.c - another profiler takes CUPTI without a word: it is seen by CUPTI's
 * clock, said once, and the file tells since when, and until when, nothing was recorded. Those that
 * ask are collect/cupti_neighbour_test.c's. */
#include "life.h"

#include "base/clock.h"

/* As torch.profiler's: the counter of ticks. */
static _Atomic int has_taken;

static int theirs_or_ours(uint64_t *stamp)
{
    *stamp = has_taken ? sl_clock_ticks() : fake_now();
    return 0;
}

/* `is_busy`: CUPTI has a buffer of ours that it does not give back by itself. */
static void begin(int is_busy)
{
    static struct sl_cupti_functions functions;

    functions = fake_functions;
    functions.GetTimestamp = theirs_or_ours;
    CHECK(inject_cupti(&functions, "SYNCLINE_WINDOW=run"));
    fake_launch("k_before", 1);
    UNTIL(status_now().records >= 2);
    if (is_busy)
        fake_launch("k_unfinished", 0);
    has_taken = 1;
    UNTIL(stderr_has("another profiler has taken CUPTI in the middle of the recording"));
}

/* Of the only gap that the file tells. */
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

/* What it forces out would be cut off for the other one, too. */
static void play_robbed(void)
{
    uint64_t stopped_ns;
    int forced;

    begin(1);
    forced = fake.forced_flushes;
    stopped_ns = sl_clock_now();
    sl_runtime_exit();
    CHECK(fake.forced_flushes == forced);
    CHECK(gap_end() >= stopped_ns);
    CHECK(in_file("1.pt.trace.json", "k_before") == 1);
}

static void what_has_cupti_now_is_not_disturbed(void **state)
{
    (void)state;
    in_child(play_robbed);
}

/* A buffer is asked of us: it had changed the clock alone, and what it records we do too. */
static void play_clock_alone(void)
{
    uint64_t back_ns;

    begin(0);
    for (int i = 0; i < 3; i++) {
        uint64_t records = status_now().records;

        fake_launch("k_after", 1);
        UNTIL(status_now().records >= records + 2);
    }
    back_ns = sl_clock_now();
    usleep(2000);
    sl_runtime_exit();
    CHECK(gap_end() < back_ns);
    CHECK(in_file("1.pt.trace.json", "k_after") == 3);
}

static void a_clock_that_was_changed_and_nothing_else(void **state)
{
    (void)state;
    in_child(play_clock_alone);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(what_has_cupti_now_is_not_disturbed),
        CASE(a_clock_that_was_changed_and_nothing_else),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
