/*
 * window_filter_test.c - which of the program's ranges, marks and names are in a window's file.
 * Ranges are truncated to the window. A row is written only if it is known to be inside the window,
 * even if the GPU was not used yet.
 *
 * A process has one pipeline, so each case is a window of the same run, and the order of the cases
 * matters.
 */
#include "pipeline/rig.h"

#include <glob.h>
#include <sys/syscall.h>

#include "base/text_table.h"
#include "collect/nvtx/calls.h"
#include "collect/nvtx/names.h"

static int set_up_ranges(void **state)
{
    return sl_nvtx_init(8 << 20) || set_up(state);
}

static void push(const char *name)
{
    const struct sl_nvtx_event ev = {.message = {.text = name, .length = strlen(name)}};

    assert_true(sl_nvtx_push(0, &ev) >= 0);
}

static void pop(void)
{
    assert_true(sl_nvtx_pop(0, NULL) >= 0);
}

static void mark(const char *name)
{
    const struct sl_nvtx_event ev = {.message = {.text = name, .length = strlen(name)}};

    assert_non_null(sl_nvtx_record_event(SL_LANE_MARK, 0, &ev, 0));
}

static int files(void)
{
    char path[128];
    glob_t found;
    int count;

    snprintf(path, sizeof(path), "%s/*", folder);
    count = glob(path, 0, NULL, &found) ? 0 : (int)found.gl_pathc;
    globfree(&found);
    return count;
}

static int rows(const char *text, const char *name)
{
    char row[128];

    snprintf(row, sizeof(row), "\"cat\":\"user_annotation\",\"name\":\"%s\"", name);
    return count(text, row);
}

/* ---- before the GPU is used ---- */

static void a_window_of_a_process_that_uses_no_gpu_has_no_file(void **state)
{
    open_window(1, SL_REASON_RUN);
    push("of nothing");
    pop();
    sl_pipeline_tick(pipeline);
    close_window(1, SL_REASON_RUN);
    usleep(20000); /* gives a faulty writer time to write a file */
    assert_int_equal(files(), 0);
}

static void ranges_from_before_the_first_use_are_in_its_window(void **state)
{
    const char *text;

    open_window(2, SL_REASON_RUN);
    push("before the first use");
    pop();
    push("around the first use");
    sl_pipeline_tick(pipeline);
    deliver("k_first", sl_clock_now(), 10);
    pop();
    close_window(2, SL_REASON_RUN);
    text = read_window(2);
    assert_int_equal(rows(text, "of nothing"), 0);
    assert_int_equal(rows(text, "before the first use"), 1);
    assert_int_equal(rows(text, "around the first use"), 1);
    assert_int_equal(count(text, "k_first"), 1);
}

/* ---- at a window's edges ---- */

static void marks_belong_by_their_time(void **state)
{
    uint64_t outside = sl_stats_get(SL_STAT_OUTSIDE_WINDOW);
    const char *text;

    mark("too early");
    open_window(5, SL_REASON_API);
    mark("in it");
    sl_pipeline_limit(pipeline, apart());
    mark("too late");
    close_window(5, SL_REASON_API);
    text = read_window(5);
    assert_int_equal(rows(text, "too early"), 0);
    assert_int_equal(rows(text, "in it"), 1);
    assert_true(sl_stats_get(SL_STAT_OUTSIDE_WINDOW) >= outside + 1);
}

/* A training step may already have ended the window without the pipeline knowing. So ranges that
 * are reported after the last check are not written before the next check, which leaves them
 * out. */
static void what_may_be_behind_the_end_waits(void **state)
{
    uint64_t ended_ns;
    const char *text;

    open_window(6, SL_REASON_STEPS);
    push("before the end");
    pop();
    ended_ns = apart();
    sl_pipeline_seen(pipeline, ended_ns);
    push("behind the end");
    pop();
    deliver("k_steps", sl_clock_now(), 10);
    sl_pipeline_tick(pipeline);
    sl_pipeline_limit(pipeline, ended_ns);
    while (sl_pipeline_close(pipeline, 6, SL_REASON_STEPS, ended_ns))
        usleep(1000);
    sl_pipeline_seen(pipeline, UINT64_MAX);
    text = read_window(6);
    assert_int_equal(rows(text, "before the end"), 1);
    assert_int_equal(rows(text, "behind the end"), 0);
}

/* The operation of a graph's second node arrives first, and starts after the window's end. The
 * arrow to the operation of the first node still has both ends. */
static void an_arrow_to_behind_the_end_does_not_take_the_start(void **state)
{
    uint64_t call_ns, ended_ns;
    const char *text;

    open_window(7, SL_REASON_API);
    call_ns = apart();
    ended_ns = apart();
    sl_pipeline_limit(pipeline, ended_ns);
    deliver("k_behind", call_ns, ended_ns - call_ns);
    correlation--; /* the next operation belongs to the same launch */
    deliver("k_inside", call_ns, 200);
    while (sl_pipeline_close(pipeline, 7, SL_REASON_API, ended_ns))
        usleep(1000);
    text = read_window(7);
    assert_int_equal(count(text, "k_behind"), 0);
    assert_int_equal(count(text, "k_inside"), 1);
    assert_int_equal(count(text, "\"ph\":\"f\",\"bp\":\"e\",\"cat\":\"ac2g\""), 1);
    assert_int_equal(count(text, "\"ph\":\"s\",\"cat\":\"ac2g\""), 1);
}

/* ---- timed windows ---- */

static void deliver_overhead(uint64_t ns)
{
    struct mix_overhead r = {.kind = 17,
                             .overhead_kind = 7u << 16, /* activity buffer request */
                             .object_kind = 2,
                             .object_id = {77, 77},
                             .start = ns,
                             .end = ns + 3000};

    assert_int_equal(sl_pipeline_buffer(pipeline, (const uint8_t *)&r, sizeof(r)), 1);
}

/* Returns the text of the only timed window's file, or NULL if there is none. */
static const char *read_timed(void)
{
    static char text[1 << 20];
    char pattern[sizeof(identity.folder.path) + 32];
    glob_t found;
    size_t got;
    FILE *f;

    usleep(20000); /* time for a writer that wrongly writes a file */
    snprintf(pattern, sizeof(pattern), "%s/*Z.pt.trace.json", identity.folder.path);
    if (glob(pattern, 0, NULL, &found))
        return NULL;
    assert_int_equal(found.gl_pathc, 1);
    f = fopen(found.gl_pathv[0], "r");
    assert_non_null(f);
    got = fread(text, 1, sizeof(text) - 1, f);
    fclose(f);
    text[got] = '\0';
    assert_int_equal(unlink(found.gl_pathv[0]), 0);
    globfree(&found);
    return text;
}

static void await_files(uint64_t wanted)
{
    char last[128];
    uint64_t windows = 0;

    while (windows < wanted) {
        sl_pipeline_last(pipeline, last, sizeof(last), &windows);
        usleep(1000);
    }
}

/* A window whose only events are CUPTI's own, or outside the window, has no file. Its losses are in
 * the next file, whose first event is a range. */
static void a_timed_window_without_events_has_no_file(void **state)
{
    uint64_t before_ns = apart(), windows;
    char last[128];
    const char *text;

    sl_pipeline_last(pipeline, last, sizeof(last), &windows);
    open_window(8, SL_REASON_TIME);
    deliver("k_before", before_ns, 10);
    deliver_overhead(sl_clock_now());
    sl_stats_add(SL_STAT_DROPPED_CUPTI, 7);
    close_window(8, SL_REASON_TIME);
    assert_null(read_timed());

    open_window(9, SL_REASON_TIME);
    deliver_overhead(sl_clock_now());
    push("alone");
    pop();
    sl_pipeline_tick(pipeline);
    deliver_overhead(sl_clock_now());
    close_window(9, SL_REASON_TIME);
    await_files(windows + 1);
    text = read_timed();
    assert_non_null(text);
    assert_int_equal(rows(text, "alone"), 1);
    assert_int_equal(count(text, "\"cat\":\"overhead\""), 2);
    assert_int_equal(count(text, "\"dropped_cupti\":7"), 1);
    assert_int_equal(count(text, "\"window\":9,"), 1);
}

/* Nothing could be recorded in this window, and its file says so. */
static void a_timed_window_in_a_gap_has_a_file(void **state)
{
    uint64_t windows, from_ns;
    char last[128];
    const char *text;

    sl_pipeline_last(pipeline, last, sizeof(last), &windows);
    open_window(10, SL_REASON_TIME);
    from_ns = sl_clock_now();
    sl_pipeline_gap(pipeline, from_ns, from_ns + 1000);
    close_window(10, SL_REASON_TIME);
    await_files(windows + 1);
    text = read_timed();
    assert_non_null(text);
    assert_int_equal(count(text, "\"gaps\":[["), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_window_of_a_process_that_uses_no_gpu_has_no_file),
        cmocka_unit_test(ranges_from_before_the_first_use_are_in_its_window),
        cmocka_unit_test(marks_belong_by_their_time),
        cmocka_unit_test(what_may_be_behind_the_end_waits),
        cmocka_unit_test(an_arrow_to_behind_the_end_does_not_take_the_start),
        cmocka_unit_test(a_timed_window_without_events_has_no_file),
        cmocka_unit_test(a_timed_window_in_a_gap_has_a_file),
    };

    return cmocka_run_group_tests(tests, set_up_ranges, tear_down);
}
