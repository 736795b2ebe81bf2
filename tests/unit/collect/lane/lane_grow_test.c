/* lane_grow_test.c - a thread's lane, the ring buffer for its records, becomes longer if its reader
 * is late, up to the memory limit. */
#include "test.h"

#include <pthread.h>
#include <stdatomic.h>

#include "collect/lane/lane.h"

#define RECORD_WORDS 4u
/* The greatest number of mark records that fit into a lane of the initial length. */
#define FIRST_ROOM (SL_LANE_WORDS / RECORD_WORDS)
#define LARGEST    (SL_LANE_WORDS_MAX / RECORD_WORDS)
/* Memory for one lane of the largest size and for a part of another lane. A quarter of the memory
 * is reserved for lanes that do not grow. */
#define MEMORY (2 * 1024 * 1024)

static _Atomic unsigned woken;

static void wake(void)
{
    atomic_fetch_add(&woken, 1);
}

/* Writes `count` records, numbered from `from`. Returns the number of records for which there was
 * room. */
static uint32_t put(uint32_t from, uint32_t count)
{
    struct sl_lane *lane = sl_lane_get();
    uint32_t had_room = 0;

    assert_non_null(lane);
    for (uint32_t i = from; i < from + count; i++) {
        struct sl_lane_record *r = sl_lane_begin(lane, RECORD_WORDS);

        if (!r)
            continue;
        *r =
            (struct sl_lane_record){.what = SL_LANE_MARK, .pairs = RECORD_WORDS / 2, .aux = i + 1u};
        sl_lane_put(lane, RECORD_WORDS);
        had_room++;
    }
    return had_room;
}

/* Reads at most `most` records of a lane, which must be numbered in order from `from`. Returns
 * their number. */
static uint32_t read_on(struct sl_lane *lane, uint32_t from, uint32_t most)
{
    const struct sl_lane_record *r;
    uint32_t seen = 0;

    while (seen < most && (r = sl_lane_next(lane))) {
        if (r->what == SL_LANE_MARK)
            assert_int_equal(r->aux, from + ++seen);
        sl_lane_read(lane, r);
    }
    return seen;
}

/* The reader reads the lane before it is full, so the lane does not grow. */
static void a_lane_that_is_read_stays_small(void **state)
{
    uint64_t bytes;
    uint32_t seen = 0;

    assert_int_equal(put(0, 1), 1);
    bytes = sl_lanes_bytes();
    for (uint32_t i = 0; i < 20; i++) {
        assert_int_equal(put(1 + i * (FIRST_ROOM / 8), FIRST_ROOM / 8), FIRST_ROOM / 8);
        seen += read_on(sl_lane_mine, seen, UINT32_MAX);
    }
    assert_int_equal(seen, 1 + 20 * (FIRST_ROOM / 8));
    assert_int_equal(sl_lanes_bytes(), bytes);
    assert_int_equal(sl_lanes_lost(), 0);
}

struct work {
    uint32_t count, had_room;
};

static void *run_ahead(void *work)
{
    struct work *w = work;

    w->had_room = put(0, w->count);
    return NULL;
}

/* Writes `count` records in a new thread, whose lane is not read. Returns the number of records for
 * which there was room. */
static uint32_t put_in_thread(uint32_t count)
{
    struct work work = {count, 0};
    pthread_t thread;

    assert_int_equal(pthread_create(&thread, NULL, run_ahead, &work), 0);
    pthread_join(thread, NULL);
    return work.had_room;
}

/* A new lane is not read at all. The lane grows, and keeps all records from the first on. */
static void a_new_lane_grows(void **state)
{
    assert_int_equal(put_in_thread(3 * FIRST_ROOM), 3 * FIRST_ROOM);
    assert_int_equal(sl_lanes_used(), 2);
    assert_int_equal(read_on(sl_lane_at(1), 0, UINT32_MAX), 3 * FIRST_ROOM);
    assert_int_equal(sl_lanes_lost(), 0);
}

static void a_lane_that_is_not_read_grows(void **state)
{
    uint32_t had_room, before = atomic_load(&woken);
    uint64_t lost = sl_lanes_lost();

    /* The reader is called long before the ring is full. */
    assert_int_equal(put(0, FIRST_ROOM / 4), FIRST_ROOM / 4);
    assert_true(atomic_load(&woken) > before);
    had_room = FIRST_ROOM / 4 + put(FIRST_ROOM / 4, 2 * LARGEST);
    assert_in_range(had_room, LARGEST - FIRST_ROOM, LARGEST);
    assert_int_equal(sl_lanes_lost() - lost, FIRST_ROOM / 4 + 2 * LARGEST - had_room);
    assert_true(sl_lanes_bytes() <= MEMORY);
    /* Reads all records of a lane that grew several times. The writer has passed the end of the
     * last ring. */
    assert_int_equal(read_on(sl_lane_mine, 0, LARGEST / 2), LARGEST / 2);
    assert_int_equal(put(had_room, LARGEST / 4), LARGEST / 4);
    assert_int_equal(read_on(sl_lane_mine, LARGEST / 2, UINT32_MAX),
                     had_room + LARGEST / 4 - LARGEST / 2);
}

/* A part of the memory is reserved for lanes of later threads, and cannot be used to make a lane
 * longer. */
static void growth_leaves_room_for_others(void **state)
{
    uint32_t had_room = put_in_thread(LARGEST); /* this thread gets the lane of the ended thread */

    /* the lane has not grown further */
    assert_in_range(had_room, 4 * FIRST_ROOM - 16, 4 * FIRST_ROOM);
    assert_int_equal(sl_lanes_used(), 2);
    assert_int_equal(read_on(sl_lane_at(1), 0, UINT32_MAX), had_room);
}

static int init(void **state)
{
    sl_lanes_set_wake(wake);
    return sl_lanes_init(MEMORY);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_lane_that_is_read_stays_small),
        cmocka_unit_test(a_new_lane_grows),
        cmocka_unit_test(a_lane_that_is_not_read_grows),
        cmocka_unit_test(growth_leaves_room_for_others),
    };

    return cmocka_run_group_tests(tests, init, NULL);
}
