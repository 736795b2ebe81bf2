/* lane_test.c - each thread writes records into its own lane, a ring buffer. All records are read
 * completely and in order. If there is no room for a range, both its beginning and its end are
 * lost. New threads reuse the lanes of ended threads. */
#include "test.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "base/text_table.h"
#include "collect/nvtx/calls.h"
#include "collect/nvtx/names.h"

#define THREADS 4
#define ROUNDS  20000
/* The number of threads, which run one after the other. ThreadSanitizer needs 20 seconds for so
 * many threads. */
#ifdef __SANITIZE_THREAD__
#define LIVES 10000
#else
#define LIVES 100000
#endif

struct seen {
    uint64_t records, pushes, pops, begins, ends;
    int depth[SL_LANE_DOMAINS];
    uint64_t stamp;
};

static struct seen seen[64];

static void take(struct seen *s, const struct sl_lane_record *r)
{
    s->records++;
    assert_true(r->stamp >= s->stamp);
    s->stamp = r->stamp;
    switch (r->what) {
    case SL_LANE_PUSH:
        s->pushes++;
        s->depth[r->domain]++;
        break;
    case SL_LANE_POP:
        s->pops++;
        assert_true(--s->depth[r->domain] >= 0);
        break;
    case SL_LANE_THREAD_BEGIN:
        s->begins++;
        s->stamp = 0;
        memset(s->depth, 0, sizeof(s->depth));
        break;
    case SL_LANE_THREAD_END:
        s->ends++;
        break;
    default:
        break;
    }
}

static void read_all(void)
{
    for (unsigned i = 0; i < sl_lanes_used(); i++) {
        struct sl_lane *lane = sl_lane_at(i);
        const struct sl_lane_record *r;

        while ((r = sl_lane_next(lane))) {
            take(&seen[i], r);
            sl_lane_read(lane, r);
        }
    }
}

static struct seen total(void)
{
    struct seen sum = {0};

    for (size_t i = 0; i < sizeof(seen) / sizeof(*seen); i++) {
        sum.pushes += seen[i].pushes;
        sum.pops += seen[i].pops;
        sum.begins += seen[i].begins;
        sum.ends += seen[i].ends;
    }
    memset(seen, 0, sizeof(seen));
    return sum;
}

static _Atomic int at_work;

static void *make_ranges(void *user)
{
    static const char text[] = "some text of the program's, of a length that is not even";
    struct sl_nvtx_event ev = {.message = {0, text, sizeof(text) - 1}};

    for (int i = 0; i < ROUNDS; i++) {
        ev.message.length = (size_t)i % sizeof(text);
        sl_nvtx_push(1, &ev);
        sl_nvtx_push_string(2, 1);
        sl_nvtx_pop(1, NULL);
        sl_nvtx_pop(2, NULL);
    }
    atomic_fetch_sub(&at_work, 1);
    return user;
}

static int init(void **state)
{
    return sl_nvtx_init(32 * 70 * 1024);
}

static void records_come_out_whole(void **state)
{
    pthread_t thread[THREADS];
    uint64_t lost = sl_lanes_lost();
    struct seen sum;

    atomic_store(&at_work, THREADS);
    for (int i = 0; i < THREADS; i++)
        pthread_create(&thread[i], NULL, make_ranges, NULL);
    while (atomic_load(&at_work))
        read_all();
    for (int i = 0; i < THREADS; i++)
        pthread_join(thread[i], NULL);
    read_all();
    sum = total();
    assert_int_equal(sum.pushes, sum.pops);
    assert_int_equal(sum.pushes + sl_lanes_lost() - lost, 2 * THREADS * ROUNDS);
    assert_int_equal(sum.begins, sum.ends);
}

/* The lane is full and is not read. The records in the lane stay. Ranges that are open get their
 * ends. New ranges are lost completely. */
static void a_full_lane_keeps_the_nesting(void **state)
{
    uint64_t lost = sl_lanes_lost();
    int level, pushed = 0;
    struct seen sum;

    read_all();
    total();
    for (int i = 0; i < 50; i++)
        assert_int_equal(sl_nvtx_push_string(0, 1), i);
    for (int i = 0; i < ROUNDS; i++) {
        level = sl_nvtx_push_string(0, 1);
        assert_int_equal(level, 50);
        assert_int_equal(sl_nvtx_push_string(0, 1), 51);
        assert_int_equal(sl_nvtx_pop(0, NULL), 51);
        assert_int_equal(sl_nvtx_pop(0, NULL), 50);
        pushed += 2;
    }
    for (int i = 49; i >= 0; i--)
        assert_int_equal(sl_nvtx_pop(0, NULL), i);
    assert_int_equal(sl_nvtx_pop(0, NULL), -2);
    read_all();
    sum = total();
    assert_int_equal(sum.pushes, sum.pops);
    assert_true(sum.pushes > 50 && sum.pushes < (uint64_t)pushed);
    assert_int_equal(sum.pushes + sl_lanes_lost() - lost, (uint64_t)pushed + 50);
}

static void *one_range(void *user)
{
    sl_nvtx_push_string(0, 1);
    sl_nvtx_push_string(0, 1); /* this range ends when its thread ends */
    sl_nvtx_pop(0, NULL);
    return user;
}

static void threads_come_and_go(void **state)
{
    unsigned used = sl_lanes_used();
    uint64_t lost = sl_lanes_lost();
    pthread_t thread;
    struct seen sum;

    read_all();
    total();
    for (int i = 0; i < LIVES; i++) {
        pthread_create(&thread, NULL, one_range, NULL);
        pthread_join(thread, NULL);
        if (i % 100 == 0)
            read_all();
    }
    read_all();
    sum = total();
    assert_true(sl_lanes_used() <= used + 1);
    assert_int_equal(sl_lanes_lost(), lost);
    assert_int_equal(sum.begins, LIVES);
    assert_int_equal(sum.ends, LIVES);
    assert_int_equal(sum.pushes, 2 * LIVES);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(records_come_out_whole),
        cmocka_unit_test(a_full_lane_keeps_the_nesting),
        cmocka_unit_test(threads_come_and_go),
    };

    return cmocka_run_group_tests(tests, init, NULL);
}
