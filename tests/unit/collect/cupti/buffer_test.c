/* buffer_test.c - the pool of CUPTI buffers. CUPTI gets zeroed buffers, and the recorder gets
 * completed buffers in order. Also tests the memory limit, unknown pointers, buffers completed
 * twice, wake-ups, and many threads at once. */
#include "test.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>

#include "base/stats.h"
#include "collect/cupti/buffer.h"

#define BYTES 8192u

static _Atomic int wakes, first_uses;

static void wake(void)
{
    atomic_fetch_add(&wakes, 1);
}

static void first_use(void)
{
    atomic_fetch_add(&first_uses, 1);
}

static int fresh(void **state)
{
    sl_cupti_pool_reset();
    sl_stats_reset();
    atomic_store(&wakes, 0);
    atomic_store(&first_uses, 0);
    return 0;
}

static uint8_t *request(void)
{
    size_t size = 0, max = 99;
    uint8_t *buffer = NULL;

    sl_cupti_pool_request(&buffer, &size, &max);
    assert_non_null(buffer);
    assert_int_equal((uintptr_t)buffer % 8, 0); /* CUPTI requires this alignment */
    assert_int_equal(max, 0);
    return buffer;
}

static void complete(uint8_t *buffer, size_t valid)
{
    sl_cupti_pool_complete(NULL, 0, buffer, BYTES, valid);
}

static void buffers_go_out_zeroed_and_come_back_oldest_first(void **state)
{
    static const uint8_t zero[BYTES];
    struct sl_cupti_buffer *b;
    uint8_t *one, *two;

    assert_int_equal(sl_cupti_pool_init(BYTES, 2 * BYTES, 2, wake), 0);
    assert_int_equal(sl_cupti_pool_init(BYTES, 2 * BYTES, 2, wake), -EALREADY);
    assert_null(sl_cupti_pool_take());
    one = request();
    two = request();
    assert_ptr_not_equal(one, two);
    assert_int_equal(sl_cupti_pool_outstanding(), 2);
    memset(one, 1, BYTES);
    memset(two, 2, BYTES);
    sl_cupti_pool_complete(&wakes, 7, two, BYTES, 120);
    sl_cupti_pool_complete(NULL, 0, one, BYTES, 80);
    assert_int_equal(sl_cupti_pool_outstanding(), 0);

    b = sl_cupti_pool_take();
    assert_ptr_equal(b->data, two);
    assert_int_equal(b->valid, 120);
    assert_int_equal(b->stream, 7);
    assert_ptr_equal(b->context, &wakes);
    assert_int_equal(b->data[119], 2);
    assert_ptr_equal(b->next->data, one);
    assert_int_equal(b->next->valid, 80);
    assert_null(b->next->next);
    assert_null(sl_cupti_pool_take());

    sl_cupti_pool_recycle(b->next);
    assert_ptr_equal(request(), one);
    assert_memory_equal(one, zero, BYTES);
    sl_cupti_pool_recycle(b);
    assert_ptr_equal(request(), two);
    assert_memory_equal(two, zero, BYTES);
    assert_int_equal(sl_stats_get(SL_STAT_DROPPED_NO_BUFFER), 0);
}

static void at_the_cap_cupti_gets_a_buffer_that_nobody_reads(void **state)
{
    uint8_t *one, *spare;

    assert_int_equal(sl_cupti_pool_init(BYTES, BYTES + 100, 5, wake), 0);
    assert_int_equal(sl_cupti_pool_mapped_bytes(), BYTES);
    one = request();
    spare = request();
    assert_ptr_not_equal(spare, one);
    assert_ptr_equal(request(), spare);
    assert_int_equal(sl_stats_get(SL_STAT_DROPPED_NO_BUFFER), 2);
    assert_int_equal(sl_cupti_pool_outstanding(), 3);
    complete(spare, 4096);
    complete(spare, 0);
    assert_int_equal(sl_stats_get(SL_STAT_DROPPED_RECORDS_DISCARDED), 4096 / 128);
    assert_int_equal(sl_cupti_pool_outstanding(), 1);
    assert_null(sl_cupti_pool_take());
    sl_cupti_pool_refill();
    assert_int_equal(sl_cupti_pool_mapped_bytes(), BYTES);
}

/* The host has less free memory than at the start, so syncline maps no more buffers for now. */
static void a_lower_limit_maps_no_more(void **state)
{
    uint8_t *one, *spare;

    (void)state;
    assert_int_equal(sl_cupti_pool_init(BYTES, 4 * BYTES, 1, wake), 0);
    sl_cupti_pool_limit(BYTES);
    one = request();
    spare = request();
    assert_ptr_equal(request(), spare);
    sl_cupti_pool_refill();
    assert_int_equal(sl_cupti_pool_mapped_bytes(), BYTES);
    sl_cupti_pool_limit(100 * BYTES);
    assert_ptr_not_equal(request(), spare);
    complete(one, 64);
    assert_ptr_equal(sl_cupti_pool_take()->data, one);
}

/* Buffers above a lowered limit give their memory back: a ready one at once, and one that CUPTI
 * holds when it comes back. When the limit is raised, both are used again. */
static void a_lower_limit_returns_memory(void **state)
{
    uint8_t *one;

    (void)state;
    assert_int_equal(sl_cupti_pool_init(BYTES, 4 * BYTES, 2, wake), 0);
    one = request();
    assert_int_equal(sl_cupti_pool_mapped_bytes(), 2 * BYTES);
    sl_cupti_pool_limit(0);
    assert_int_equal(sl_cupti_pool_mapped_bytes(), BYTES);
    complete(one, 64);
    sl_cupti_pool_recycle(sl_cupti_pool_take());
    sl_cupti_pool_refill();
    assert_int_equal(sl_cupti_pool_mapped_bytes(), 0);
    sl_cupti_pool_limit(2 * BYTES);
    sl_cupti_pool_refill();
    assert_int_equal(sl_cupti_pool_mapped_bytes(), 2 * BYTES);
    request();
    request();
    assert_int_equal(sl_stats_get(SL_STAT_DROPPED_NO_BUFFER), 0);
}

static void impossible_sizes_are_refused(void **state)
{
    assert_int_equal(sl_cupti_pool_init(BYTES, BYTES - 1, 1, NULL), -EINVAL);
    assert_int_equal(sl_cupti_pool_init(0, BYTES, 1, NULL), -EINVAL);
    assert_int_equal(sl_cupti_pool_init(BYTES, SIZE_MAX / 2, 1, NULL), -EINVAL);
    /* A request before the initialization still returns memory that CUPTI can write to. */
    memset(request(), 1, BYTES);
}

static void a_strangers_buffer_is_accepted_and_not_touched(void **state)
{
    uint8_t *strange = mmap(NULL, BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    struct sl_cupti_buffer *b;
    uint8_t *ours;

    assert_ptr_not_equal(strange, MAP_FAILED);
    complete(strange, 100); /* before the initialization */
    assert_int_equal(sl_cupti_pool_init(BYTES, 2 * BYTES, 2, wake), 0);
    ours = request();
    complete(strange, 100);
    complete(NULL, 100);
    complete(ours + 8, 100);
    complete(ours + 2 * BYTES, 100);
    complete(ours - BYTES, 100);
    assert_int_equal(sl_stats_get(SL_STAT_FOREIGN_BUFFERS), 6);
    assert_null(sl_cupti_pool_take());
    assert_int_equal(sl_cupti_pool_outstanding(), 1);

    complete(ours, BYTES * 2); /* CUPTI claims more bytes than the buffer has */
    complete(ours, 50);        /* twice */
    b = sl_cupti_pool_take();
    assert_ptr_equal(b->data, ours);
    assert_int_equal(b->valid, BYTES);
    assert_null(b->next);
    assert_int_equal(sl_stats_get(SL_STAT_FOREIGN_BUFFERS), 7);
    munmap(strange, BYTES);
}

static void the_recorder_is_woken_above_a_quarter_and_when_nothing_is_ready(void **state)
{
    uint8_t *buffer[8];

    assert_int_equal(sl_cupti_pool_init(BYTES, 8 * BYTES, 8, wake), 0);
    for (int i = 0; i < 8; i++)
        buffer[i] = request();
    complete(buffer[0], 1);
    complete(buffer[1], 1);
    assert_int_equal(atomic_load(&wakes), 0);
    complete(buffer[2], 1);
    assert_int_equal(atomic_load(&wakes), 1);
    complete(buffer[3], 1);
    assert_int_equal(atomic_load(&wakes), 1);
    assert_non_null(sl_cupti_pool_take());
    for (int i = 4; i < 7; i++)
        complete(buffer[i], 1);
    assert_int_equal(atomic_load(&wakes), 2);

    request();
    request();
    assert_int_equal(atomic_load(&wakes), 3);
    sl_cupti_pool_refill();
    request();
    assert_int_equal(atomic_load(&wakes), 4);
}

static void more_are_kept_ready_after_a_shortage(void **state)
{
    assert_int_equal(sl_cupti_pool_init(BYTES, 16 * BYTES, 1, wake), 0);
    sl_cupti_pool_refill();
    assert_int_equal(sl_cupti_pool_mapped_bytes(), BYTES);
    request();
    sl_cupti_pool_refill(); /* a buffer is ready again */
    assert_int_equal(sl_cupti_pool_mapped_bytes(), 2 * BYTES);
    request();
    request(); /* no buffer is ready: CUPTI gets one that was never used, and nothing is lost */
    assert_int_equal(sl_stats_get(SL_STAT_DROPPED_NO_BUFFER), 0);
    assert_int_equal(sl_cupti_pool_mapped_bytes(), 3 * BYTES);
    sl_cupti_pool_refill(); /* three buffers are ready now */
    assert_int_equal(sl_cupti_pool_mapped_bytes(), 6 * BYTES);
    for (int i = 3; i < 16; i++)
        request();
    assert_int_equal(sl_stats_get(SL_STAT_DROPPED_NO_BUFFER), 0);
    request(); /* the 17th request, although only 16 buffers exist */
    assert_int_equal(sl_stats_get(SL_STAT_DROPPED_NO_BUFFER), 1);
    for (int i = 0; i < 10; i++) {
        for (int k = 0; k < 20; k++)
            request();
        sl_cupti_pool_refill();
    }
    assert_int_equal(sl_cupti_pool_mapped_bytes(), 16 * BYTES);
}

static void the_first_request_is_told_once(void **state)
{
    sl_cupti_pool_set_first_use(first_use);
    assert_int_equal(sl_cupti_pool_init(BYTES, 2 * BYTES, 1, NULL), 0);
    assert_int_equal(atomic_load(&first_uses), 0);
    request();
    assert_int_equal(atomic_load(&first_uses), 1);
    request();
    assert_int_equal(atomic_load(&first_uses), 1);
}

static void a_passive_pool_gives_and_takes_nothing(void **state)
{
    uint8_t *ours;

    sl_cupti_pool_set_first_use(first_use);
    assert_int_equal(sl_cupti_pool_init(BYTES, 4 * BYTES, 4, wake), 0);
    ours = request();
    sl_cupti_pool_set_passive();
    assert_ptr_equal(request(), request());
    assert_int_equal(sl_stats_get(SL_STAT_DROPPED_NO_BUFFER), 0);
    complete(ours, 100);
    assert_null(sl_cupti_pool_take());
    assert_int_equal(atomic_load(&wakes), 0);
}

/* Many threads use the pool. No buffer is used twice at the same time, no buffer is lost, and no
 * buffer is read before it is complete. */

enum {
    THREADS = 4,
    ROUNDS = 20000
};

static _Atomic int running;
static _Atomic uint64_t discarded, clobbered;
static uint8_t *discard_buffer;

static void *application(void *arg)
{
    uint64_t me = (uint64_t)(uintptr_t)arg;

    for (uint64_t i = 1; i <= ROUNDS; i++) {
        uint64_t mark = me << 32 | i;
        size_t size, max;
        uint8_t *buffer;

        sl_cupti_pool_request(&buffer, &size, &max);
        if (buffer == discard_buffer) {
            atomic_fetch_add(&discarded, 1);
        } else {
            uint64_t *word = (uint64_t *)buffer;

            if (word[0] != 0 || word[BYTES / 8 - 1] != 0)
                atomic_fetch_add(&clobbered, 1);
            word[0] = word[BYTES / 8 - 1] = mark;
            if (i % 16 == 0)
                sched_yield();
            if (word[0] != mark || word[BYTES / 8 - 1] != mark)
                atomic_fetch_add(&clobbered, 1);
        }
        sl_cupti_pool_complete(NULL, (uint32_t)me, buffer, size, 8);
    }
    atomic_fetch_sub(&running, 1);
    return NULL;
}

static void many_threads_share_the_pool(void **state)
{
    pthread_t thread[THREADS];
    uint64_t taken = 0, wrong = 0;
    int last = 0;

    discard_buffer = request();
    complete(discard_buffer, 0);
    sl_cupti_pool_set_first_use(first_use);
    assert_int_equal(sl_cupti_pool_init(BYTES, 6 * BYTES, 2, wake), 0);
    atomic_store(&running, THREADS);
    for (uintptr_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&thread[i], NULL, application, (void *)(i + 1)), 0);
    while (!last) {
        struct sl_cupti_buffer *b, *next;

        last = atomic_load(&running) == 0;
        for (b = sl_cupti_pool_take(); b; b = next) {
            const uint64_t *word = (const uint64_t *)b->data;

            next = b->next;
            wrong += word[0] >> 32 != b->stream || word[0] != word[BYTES / 8 - 1];
            taken++;
            sl_cupti_pool_recycle(b);
        }
        sl_cupti_pool_refill();
        sched_yield();
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(thread[i], NULL);
    assert_int_equal(wrong, 0);
    assert_int_equal(atomic_load(&clobbered), 0);
    assert_int_equal(taken + atomic_load(&discarded), (uint64_t)THREADS * ROUNDS);
    assert_true(taken > 0);
    assert_int_equal(atomic_load(&first_uses), 1);
    assert_int_equal(sl_cupti_pool_outstanding(), 0);
    assert_in_range(sl_cupti_pool_mapped_bytes(), BYTES, 6 * BYTES);
}

static void all_back_looks_only_at_what_was_requested_before(void **state)
{
    uint8_t *early, *late;
    uint64_t turn;

    assert_int_equal(sl_cupti_pool_init(BYTES, 4 * BYTES, 4, wake), 0);
    assert_true(sl_cupti_pool_all_back(sl_cupti_pool_turn()));
    early = request();
    turn = sl_cupti_pool_turn();
    late = request();
    assert_false(sl_cupti_pool_all_back(turn));
    complete(early, 0);
    assert_non_null(sl_cupti_pool_take());
    assert_true(sl_cupti_pool_all_back(turn));
    assert_false(sl_cupti_pool_all_back(sl_cupti_pool_turn()));
    complete(late, 0);
    assert_non_null(sl_cupti_pool_take());
    assert_true(sl_cupti_pool_all_back(sl_cupti_pool_turn()));
}

static void look(void *user, const uint8_t *data, size_t size)
{
    const uint8_t **seen = user;

    assert_int_equal(size, BYTES);
    *seen = data;
}

/* CUPTI's thread can be preempted anywhere in its callback. CUPTI counts as the owner of a
 * completed buffer until the recorder has received the buffer. Otherwise the process could exit
 * without these records and without counting them as lost. */
static void a_buffer_is_back_when_the_recorder_has_it(void **state)
{
    const uint8_t *seen = NULL;
    uint8_t *ours;
    uint64_t turn;

    assert_int_equal(sl_cupti_pool_init(BYTES, 2 * BYTES, 2, wake), 0);
    ours = request();
    turn = sl_cupti_pool_turn();
    assert_int_equal(sl_cupti_pool_lent(turn), 1);
    complete(ours, 100);
    assert_int_equal(sl_cupti_pool_missing(turn), 1);
    assert_int_equal(sl_cupti_pool_lent(turn), 0);
    sl_cupti_pool_look(turn, look, &seen);
    assert_ptr_equal(seen, ours);
    complete(ours, 100); /* twice */
    assert_int_equal(sl_stats_get(SL_STAT_FOREIGN_BUFFERS), 1);

    assert_ptr_equal(sl_cupti_pool_take()->data, ours);
    assert_int_equal(sl_cupti_pool_missing(turn), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(buffers_go_out_zeroed_and_come_back_oldest_first, fresh),
        cmocka_unit_test_setup(at_the_cap_cupti_gets_a_buffer_that_nobody_reads, fresh),
        cmocka_unit_test_setup(a_lower_limit_maps_no_more, fresh),
        cmocka_unit_test_setup(a_lower_limit_returns_memory, fresh),
        cmocka_unit_test_setup(impossible_sizes_are_refused, fresh),
        cmocka_unit_test_setup(a_strangers_buffer_is_accepted_and_not_touched, fresh),
        cmocka_unit_test_setup(the_recorder_is_woken_above_a_quarter_and_when_nothing_is_ready,
                               fresh),
        cmocka_unit_test_setup(more_are_kept_ready_after_a_shortage, fresh),
        cmocka_unit_test_setup(the_first_request_is_told_once, fresh),
        cmocka_unit_test_setup(a_passive_pool_gives_and_takes_nothing, fresh),
        cmocka_unit_test_setup(all_back_looks_only_at_what_was_requested_before, fresh),
        cmocka_unit_test_setup(a_buffer_is_back_when_the_recorder_has_it, fresh),
        cmocka_unit_test_setup(many_threads_share_the_pool, fresh),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
