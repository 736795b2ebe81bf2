/* read_start_end_test.c - a range may begin on one thread and end on another. Each thread has a
 * lane (a ring buffer), and the lanes may be read in any order. Ranges that overlap in time get
 * different tracks in the trace. */
#include "unit/collect/nvtx/read_rig.h"

/* A pop says which push it ends, and runs on another thread. The lanes of the two threads may be
 * read in any order. Ranges that were pushed after the ended range stay open. */
static void a_named_push_ends_on_another_thread_whichever_is_read_first(void **state)
{
    const uint64_t one = (uint64_t)ONE << 32 | 1, two = (uint64_t)ONE << 32 | 2;

    started(SL_LANE_PUSH, one, ONE, 10);
    push("inner", ONE, 12);
    started(SL_LANE_POP, one, TWO, 20);
    plain(SL_LANE_POP, 0, ONE, 25);
    started(SL_LANE_POP, two, TWO, 40);
    assert_int_equal(count_of(SL_EV_NVTX_RANGE), 2);
    started(SL_LANE_PUSH, two, ONE, 30);
    assert_range("NVTX range", 0, 10, 20);
    assert_range("inner", 0, 12, 25);
    assert_range("NVTX range", 1, 30, 40);
}

/* The end of a range is read before its start. The end's attributes are added to the range. */
static void an_end_that_is_read_first_adds_to_its_range(void **state)
{
    make(SL_LANE_END, 0, 0);
    add_id(5);
    add_text(SL_LANE_HAS_JSON, "\"end payload\":9");
    hand_over(TWO, 20);
    started(SL_LANE_START, 5, ONE, 10);
    assert_int_equal(count_of(SL_EV_NVTX_RANGE), 1);
    assert_string_equal(args_of(range("NVTX range", 0)), "{\"end payload\":9}");
}

static void an_end_that_says_nothing_changes_nothing(void **state)
{
    for (unsigned first = 0; first < 2; first++) {
        uint64_t id = 600 + first;

        for (unsigned i = 0; i < 2; i++) {
            make(i == first ? SL_LANE_START : SL_LANE_END, sl_nvtx_domain("mine", 4), 0);
            if (i == first) {
                add_look(SL_LANE_HAS_COLOR, 0, 0xff000001);
                add_words(SL_LANE_HAS_VALUE, (const uint64_t[]){SL_NOTE_U64, 4}, 2);
            }
            add_id(id);
            if (i == first)
                add_text(SL_LANE_HAS_TEXT, first ? "read last" : "read first");
            hand_over(ONE, i == first ? 10 : 20);
        }
        assert_range(first ? "read last" : "read first", 0, 10, 20);
        assert_string_equal(args_of(range(first ? "read last" : "read first", 0)),
                            "{\"domain\":\"mine\",\"color\":\"#ff000001\"}");
    }
}

static void a_range_ends_once(void **state)
{
    started(SL_LANE_START, 1, ONE, 10);
    started(SL_LANE_END, 1, ONE, 20);
    started(SL_LANE_END, 1, ONE, 30);
    started(SL_LANE_END, 77, ONE, 30); /* this range never began */
    started(SL_LANE_END, 0, ONE, 30);
    assert_int_equal(count_of(SL_EV_NVTX_RANGE), 1);
    assert_range("NVTX range", 0, 10, 20);
}

/* More ranges overlap than there are tracks. The remaining ranges are on the last track. */
static void ranges_at_one_time_have_rows_of_their_own(void **state)
{
    static uint8_t used[SL_ROW_FIRST + 512];
    unsigned shared = 0;

    for (uint64_t id = 1; id <= 260; id++)
        started(SL_LANE_START, id, ONE, id);
    for (uint64_t id = 1; id <= 260; id++)
        started(SL_LANE_END, id, ONE, 1000 + id);
    assert_int_equal(count_of(SL_EV_NVTX_RANGE), 260);
    for (unsigned i = 0; i < rows; i++) {
        if (row[i].kind != SL_EV_NVTX_RANGE)
            continue;
        assert_in_range(row[i].thread, SL_ROW_FIRST, sizeof(used) - 1);
        shared += used[row[i].thread]++;
    }
    assert_int_equal(shared, 1 + 2 + 3 + 4);
    assert_int_equal(count_of(SL_EV_META_THREAD), 256); /* each track gets a name once */
    rows = 0;
    started(SL_LANE_START, 300, ONE, 2000);
    started(SL_LANE_END, 300, ONE, 2001);
    assert_int_equal(row[0].thread, SL_ROW_FIRST);
}

/* A range that does not fit into memory occupies no track. */
static void ranges_that_are_lost_leave_their_rows(void **state)
{
    struct sl_ranges_counts counts = {0, 0};

    while (counts.lost == 0) {
        plain(SL_LANE_PUSH, 0, ONE, 1);
        sl_ranges_get_counts(ranges, &counts);
    }
    for (uint64_t id = 1; id <= 300; id++)
        started(SL_LANE_START, id, ONE, 2);
    plain(SL_LANE_POP, 0, ONE, 3);
    rows = 0;
    started(SL_LANE_START, 400, ONE, 4);
    started(SL_LANE_END, 400, ONE, 5);
    assert_int_equal(count_of(SL_EV_NVTX_RANGE), 1);
    assert_int_equal(range("NVTX range", 0)->thread, SL_ROW_FIRST);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(a_named_push_ends_on_another_thread_whichever_is_read_first),
        CASE(an_end_that_is_read_first_adds_to_its_range),
        CASE(an_end_that_says_nothing_changes_nothing),
        CASE(a_range_ends_once),
        CASE(ranges_at_one_time_have_rows_of_their_own),
        CASE(ranges_that_are_lost_leave_their_rows),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
