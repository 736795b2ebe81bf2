/* lane_full_test.c - a lane is the ring buffer for the records of a thread. A full lane becomes
 * longer, at any positions of writer and reader. Records stay complete and in order. */
#include "test.h"

#include <pthread.h>
#include <stdatomic.h>

#include "collect/lane/lane.h"

#define RECORD_WORDS 4u
#define FIRST_ROOM   (SL_LANE_WORDS / RECORD_WORDS)
/* ThreadSanitizer cannot find a race here, because only one thread runs at a time. It would also
 * take 30 times as long. */
#ifdef __SANITIZE_THREAD__
#define LANES 4
#else
#define LANES 40
#endif
#define STEPS     4000
#define OPEN_MOST 50
#define NUMBERS   200000

static _Atomic int failed; /* the first failing line of any thread, because cmocka's assertions work
                            * only in the main thread */

static void check(int fact, int line)
{
    int none = 0;

    if (!fact)
        atomic_compare_exchange_strong(&failed, &none, line);
}

#define CHECK(fact) check(fact, __LINE__)

/* ---- the writer; each word of a record contains the record's number ---- */

static uint32_t put(uint32_t number, unsigned words)
{
    struct sl_lane *lane = sl_lane_get();
    struct sl_lane_record *r = sl_lane_begin(lane, words);

    if (!r)
        return 0;
    *r = (struct sl_lane_record){
        .what = SL_LANE_MARK, .pairs = (uint8_t)(words / 2), .aux = number, .stamp = number};
    for (unsigned i = 2; i < words; i++)
        ((uint64_t *)r)[i] = number;
    sl_lane_put(lane, words);
    return 1;
}

static void put_end(uint32_t number)
{
    struct sl_lane *lane = sl_lane_mine;

    sl_lane_op_ended(lane, lane->ops);
    *sl_lane_reserved(lane) =
        (struct sl_lane_record){.what = SL_LANE_OP_END, .pairs = 1, .aux = number, .stamp = number};
    sl_lane_put(lane, 2);
}

/* ---- the reader, which reads each record exactly once ---- */

static uint32_t read_on(struct sl_lane *lane, uint32_t seen, uint32_t most)
{
    const struct sl_lane_record *r;

    while (most-- && (r = sl_lane_next(lane))) {
        if (r->what == SL_LANE_MARK || r->what == SL_LANE_OP_END) {
            CHECK(r->aux == ++seen);
            for (unsigned i = 2; i < 2u * r->pairs; i++)
                CHECK(((const uint64_t *)r)[i] == seen);
        }
        sl_lane_read(lane, r);
    }
    return seen;
}

struct rounds {
    void (*round)(uint32_t number);
    uint32_t number, count;
};

/* Runs each round in a new thread. The threads of earlier rounds have not ended, so each thread
 * gets a new lane. */
static void *run_rounds(void *user)
{
    struct rounds *r = user;
    pthread_t thread;

    r->round(r->number++);
    if (r->number < r->count) {
        CHECK(pthread_create(&thread, NULL, run_rounds, r) == 0);
        pthread_join(thread, NULL);
    }
    return NULL;
}

static void in_new_lanes(void (*round)(uint32_t), uint32_t count)
{
    struct rounds rounds = {round, 0, count};
    pthread_t thread;

    assert_int_equal(pthread_create(&thread, NULL, run_rounds, &rounds), 0);
    pthread_join(thread, NULL);
}

/* ---- writer and reader at the same time ---- */

static struct sl_lane *_Atomic shared;
static _Atomic uint32_t written; /* UINT32_MAX: the round is not finished yet */

static void *write_all(void *user)
{
    uint32_t number = 0;

    (void)user;
    atomic_store(&shared, sl_lane_get());
    for (uint32_t i = 0; i < NUMBERS; i++)
        number += put(number + 1, 2 + 2 * (i % 30));
    atomic_store(&written, number);
    return NULL;
}

static void a_reader_that_reads_meanwhile_sees_all(void **state)
{
    struct sl_lane *lane;
    uint32_t seen = 0;
    pthread_t thread;

    atomic_store(&written, UINT32_MAX);
    assert_int_equal(pthread_create(&thread, NULL, write_all, NULL), 0);
    while (!(lane = atomic_load(&shared)))
        ;
    while (atomic_load(&written) == UINT32_MAX)
        seen = read_on(lane, seen, 500);
    pthread_join(thread, NULL);
    assert_int_equal(read_on(lane, seen, UINT32_MAX), atomic_load(&written));
    assert_int_equal(atomic_exchange(&failed, 0), 0);
}

/* ---- writer and reader, alternating in one thread ---- */

/* Writes records until `eighths` eighths of the ring are full, and reads these. Then fills the lane
 * until it grows, and reads all records. */
static void fill(uint32_t eighths)
{
    uint32_t count = FIRST_ROOM / 8 * eighths, seen, number = 0;
    struct sl_lane *lane = sl_lane_get();

    while (number < count)
        CHECK(put(++number, RECORD_WORDS) == 1);
    seen = read_on(lane, 0, UINT32_MAX);
    CHECK(seen == count);
    while (number < count + 6 * FIRST_ROOM)
        CHECK(put(++number, RECORD_WORDS) == 1);
    CHECK(read_on(lane, seen, UINT32_MAX) == number);
    /* Writes so many records that the writer passes the end of the longer ring. */
    for (int i = 0; i < 40; i++) {
        for (uint32_t j = 0; j < FIRST_ROOM / 2; j++)
            CHECK(put(++number, RECORD_WORDS) == 1);
        CHECK(read_on(lane, number - FIRST_ROOM / 2, UINT32_MAX) == number);
    }
}

static void it_grows_wherever_the_reader_stopped(void **state)
{
    uint64_t lost = sl_lanes_lost();

    in_new_lanes(fill, 8);
    assert_int_equal(atomic_exchange(&failed, 0), 0);
    assert_int_equal(sl_lanes_lost(), lost);
}

static uint32_t random_below(uint32_t *seed, uint32_t most)
{
    *seed = *seed * 1664525u + 1013904223u;
    return (*seed >> 8) % most;
}

/* Operators begin and end in any nesting. The reader reads any number of records, or none for a
 * long time. No record is lost. */
static void mix(uint32_t seed)
{
    uint32_t number = 0, seen = 0, open = 0;
    struct sl_lane *lane = sl_lane_get();

    for (int i = 0; i < STEPS; i++) {
        uint32_t burst = random_below(&seed, random_below(&seed, 10) ? 40 : 1200);

        while (burst--) {
            if (open && (open == OPEN_MOST || random_below(&seed, 2))) {
                open--;
                put_end(++number);
            } else if (put(number + 1, 2 + 2 * random_below(&seed, 100))) {
                number++;
                open++;
                sl_lane_op_begun(lane, number, 1);
            }
        }
        if (random_below(&seed, 3))
            seen = read_on(lane, seen, random_below(&seed, 800));
    }
    while (open--)
        put_end(++number);
    CHECK(read_on(lane, seen, UINT32_MAX) == number);
}

static void whatever_both_do_records_are_whole(void **state)
{
    uint64_t lost = sl_lanes_lost();

    in_new_lanes(mix, LANES);
    assert_int_equal(atomic_exchange(&failed, 0), 0);
    assert_true(sl_lanes_lost() > lost); /* lanes were really full in this test */
}

static int init(void **state)
{
    return sl_lanes_init((size_t)64 * 1024 * 1024);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_reader_that_reads_meanwhile_sees_all),
        cmocka_unit_test(it_grows_wherever_the_reader_stopped),
        cmocka_unit_test(whatever_both_do_records_are_whole),
    };

    return cmocka_run_group_tests(tests, init, NULL);
}
