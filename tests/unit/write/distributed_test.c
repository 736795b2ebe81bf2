/* distributed_test.c - the job reports its process groups of torch.distributed. A reader always
 * gets the latest report. */
#include "unit/test.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "write/distributed.h"

static void nothing_was_said(void **state)
{
    uint32_t version = 9;
    size_t length = 9;

    assert_null(sl_distributed_get(&length, &version));
    assert_true(length == 0 && version == 0);
}

static void what_is_no_object_is_refused(void **state)
{
    char *large = malloc(SL_DISTRIBUTED_MOST + 1);

    assert_int_equal(sl_distributed_set(NULL), -EINVAL);
    assert_int_equal(sl_distributed_set(""), -EINVAL);
    assert_int_equal(sl_distributed_set("[1]"), -EINVAL);
    assert_int_equal(sl_distributed_set("{\"a\":\n1}"), -EINVAL);
    memset(large, '{', SL_DISTRIBUTED_MOST);
    large[SL_DISTRIBUTED_MOST] = '\0';
    assert_int_equal(sl_distributed_set(large), -E2BIG);
    free(large);
}

static void is_rank(const char *json, int rank, int world_size)
{
    int its = -1, size = -1;

    assert_int_equal(sl_distributed_set(json), 0);
    assert_int_equal(sl_distributed_rank(&its, &size), world_size != 0);
    assert_true(!world_size || (its == rank && size == world_size));
}

static void the_rank_is_read_from_the_text(void **state)
{
    is_rank("{\"backend\": \"gloo\"}", 0, 0);
    is_rank("{\"rank\": 0}", 0, 0);
    is_rank("{\"rank\": x, \"world_size\": 4}", 0, 0);
    is_rank("{\"rank\": 4, \"world_size\": 4}", 0, 0);
    is_rank("{\"rank\": 99999999999, \"world_size\": 999999999999}", 0, 0);
    is_rank("{\"backend\": \"gloo\", \"rank\": 3, \"world_size\": 4, \"rank\": 9}", 3, 4);
    is_rank("{\"backend\": \"gloo\", \"rank\": 0, \"world_size\": 1}", 0, 1);
    is_rank("{}", 0, 1); /* the job has left its groups; it keeps the rank */
}

static _Atomic int over;

static void *say(void *unused)
{
    char text[64];

    for (int i = 1; i <= 100000; i++) {
        snprintf(text, sizeof(text), "{\"n\": %d, \"again\": %d}", i, i);
        sl_distributed_set(text);
    }
    atomic_store(&over, 1);
    return NULL;
}

static void each_text_is_whole_and_none_comes_back(void **state)
{
    uint32_t version, before = 0;
    int last = 0, n, again, done;
    const char *text;
    pthread_t thread;
    size_t length;

    assert_int_equal(pthread_create(&thread, NULL, say, NULL), 0);
    do {
        done = atomic_load(&over);
        text = sl_distributed_get(&length, &version);
        if (!text)
            continue;
        assert_int_equal(sscanf(text, "{\"n\": %d, \"again\": %d}", &n, &again), 2);
        assert_true(n == again && n >= last && version >= before);
        last = n;
        before = version;
    } while (!done);
    assert_int_equal(last, 100000);
    pthread_join(thread, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(nothing_was_said),
                                       cmocka_unit_test(what_is_no_object_is_refused),
                                       cmocka_unit_test(each_text_is_whole_and_none_comes_back),
                                       cmocka_unit_test(the_rank_is_read_from_the_text)};

    return cmocka_run_group_tests_name("distributed", tests, NULL, NULL);
}
