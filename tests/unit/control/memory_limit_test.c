/* memory_limit_test.c - how much memory the limits of cgroups leave, and how this changes the
 * memory options. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "control/memory_limit.h"

#define MB 1000000ull

static char root[] = "/tmp/sl_memory_limit_XXXXXX", made[sizeof(root)];
static struct sl_memory_limit limit;

static void put(const char *path, const char *text)
{
    char full[512], *slash;
    FILE *f;

    snprintf(full, sizeof(full), "%s/%s", made, path);
    for (slash = full + strlen(made) + 1; (slash = strchr(slash, '/')); slash++) {
        *slash = '\0';
        mkdir(full, 0700);
        *slash = '/';
    }
    f = fopen(full, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

static int set_up(void **state)
{
    (void)state;
    strcpy(made, root);
    return mkdtemp(made) ? 0 : -1;
}

static int tear_down(void **state)
{
    char command[128];

    (void)state;
    snprintf(command, sizeof(command), "rm -rf %s", made);
    return system(command);
}

static void no_limit_anywhere(void **state)
{
    (void)state;
    put("proc/self/cgroup", "0::/user.slice\n");
    put("sys/fs/cgroup/user.slice/memory.max", "max\n");
    sl_memory_limit_read(&limit, made, 1, NULL);
    assert_int_equal(limit.share_bytes, UINT64_MAX);
    assert_null(limit.source);
}

/* memory.current includes 800 MB of page cache, which does not count as used memory. */
static void page_cache_is_not_used_memory(void **state)
{
    const struct sl_memory_own own = {.touched_bytes = 10 * MB};

    (void)state;
    put("proc/self/cgroup", "0::/job\n");
    put("sys/fs/cgroup/job/memory.max", "1000000000\n");
    put("sys/fs/cgroup/job/memory.current", "990000000\n");
    put("sys/fs/cgroup/job/memory.stat", "anon 100000000\nfile 800000000\nkernel 50000000\n"
                                         "shmem 40000000\nslab_unreclaimable 10000000\n"
                                         "anon_thp 77000000\n");
    sl_memory_limit_read(&limit, made, 1, NULL);
    assert_int_equal(limit.limit_bytes, 1000 * MB);
    assert_int_equal(limit.used_bytes, 200 * MB);
    assert_int_equal(limit.share_bytes, 100 * MB);
    sl_memory_limit_read(&limit, made, 4, &own); /* 40 MB of the used memory are syncline's */
    assert_int_equal(limit.used_bytes, 160 * MB);
    assert_int_equal(limit.share_bytes, 840 * MB / 8 / 4);
    sl_memory_limit_read(&limit, made, 4, NULL);
    assert_int_equal(limit.share_bytes, 25 * MB);
}

/* The pod's limit is 10 GB, of which 9.6 GB are used. The limit of the container in the pod is 4
 * GB. */
static void a_narrower_cgroup_above(void **state)
{
    (void)state;
    put("proc/self/cgroup", "0::/pod/container\n");
    put("sys/fs/cgroup/pod/memory.max", "10000000000\n");
    put("sys/fs/cgroup/pod/memory.stat", "anon 9600000000\n");
    put("sys/fs/cgroup/pod/container/memory.max", "4000000000\n");
    put("sys/fs/cgroup/pod/container/memory.stat", "anon 1000000000\n");
    sl_memory_limit_read(&limit, made, 1, NULL);
    assert_int_equal(limit.limit_bytes, 10000 * MB);
    assert_int_equal(limit.share_bytes, 50 * MB);
}

/* cgroup version 1. The container's cgroup is mounted as the root, but /proc/self/cgroup has the
 * path from outside of the container. */
static void version_1_in_a_container(void **state)
{
    (void)state;
    put("proc/self/cgroup", "9:cpu:/docker/abc\n4:memory:/docker/abc\n0::/docker/abc\n");
    put("sys/fs/cgroup/memory/memory.limit_in_bytes", "500000000\n");
    put("sys/fs/cgroup/memory/memory.kmem.usage_in_bytes", "20000000\n");
    put("sys/fs/cgroup/memory/memory.stat", "rss 1\ntotal_rss 60000000\ntotal_shmem 20000000\n");
    sl_memory_limit_read(&limit, made, 1, NULL);
    assert_int_equal(limit.used_bytes, 100 * MB);
    assert_int_equal(limit.share_bytes, 50 * MB);
    put("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
    sl_memory_limit_read(&limit, made, 1, NULL);
    assert_int_equal(limit.share_bytes, UINT64_MAX);
}

static void more_is_used_than_allowed(void **state)
{
    (void)state;
    put("proc/self/cgroup", "0::/\n");
    put("sys/fs/cgroup/memory.max", "100\n");
    put("sys/fs/cgroup/memory.stat", "anon 200\n");
    sl_memory_limit_read(&limit, made, 1, NULL);
    assert_int_equal(limit.share_bytes, 0);
}

static void options_follow_the_share(void **state)
{
    static char *const none[] = {NULL};
    static struct sl_config config;
    uint64_t need, again, sum;

    (void)state;
    sl_config_read(&config, none);
    assert_int_equal(sl_memory_limit_apply(&config, UINT64_MAX, &need), 0);
    assert_int_equal(config.memory_bytes, 64 << 20);
    assert_int_equal(sl_memory_limit_apply(&config, need - 1, &again), -ENOMEM);
    assert_int_equal(again, need);
    assert_int_equal(config.memory_bytes, 64 << 20);

    assert_int_equal(sl_memory_limit_apply(&config, 100 * MB, &need), 1);
    sum = config.memory_bytes + config.cupti_memory_bytes + config.nvtx_memory_bytes +
          config.ops_memory_bytes;
    assert_in_range(sum, 100 * MB - 4, 100 * MB);
    assert_in_range(config.memory_bytes, 16 << 20, 64 << 20);

    assert_int_equal(sl_memory_limit_apply(&config, need, &need), 1);
    assert_int_equal(config.memory_bytes, 16 << 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(no_limit_anywhere, set_up, tear_down),
        cmocka_unit_test_setup_teardown(page_cache_is_not_used_memory, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_narrower_cgroup_above, set_up, tear_down),
        cmocka_unit_test_setup_teardown(version_1_in_a_container, set_up, tear_down),
        cmocka_unit_test_setup_teardown(more_is_used_than_allowed, set_up, tear_down),
        cmocka_unit_test(options_follow_the_share),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
