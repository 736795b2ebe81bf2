/* find_test.c - the places where syncline searches for libcupti. A libcupti that the process has
 * already loaded is preferred. The steps run in one process, as in a job. */
#include "test.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collect/cupti/find.h"

static char root[] = "/tmp/sl_find_XXXXXX";

/* The files below `root` that the search has passed to accept(), in order. Files outside of `root`
 * are never accepted. */
static char offered[16][512];
static unsigned offers, all_offers;
static const char *wanted; /* the file to accept */

static int accept(void *user, void *handle, char *why, size_t why_size)
{
    struct link_map *map;

    assert_ptr_equal(user, root);
    assert_int_equal(dlinfo(handle, RTLD_DI_LINKMAP, &map), 0);
    all_offers++;
    if (strncmp(map->l_name, root, strlen(root)) == 0 && offers < 16)
        snprintf(offered[offers++], sizeof offered[0], "%s", map->l_name + strlen(root));
    if (wanted && strstr(map->l_name, wanted))
        return 0;
    snprintf(why, why_size, "%s is not wanted", map->l_name);
    return -ENOTSUP;
}

static int find(void **handle, char *path, char *why)
{
    offers = all_offers = 0;
    return sl_cupti_find(accept, root, handle, path, 512, why, 512);
}

static void copy_to(const char *from, const char *to)
{
    char command[1400];

    snprintf(command, sizeof command, "mkdir -p $(dirname %s%s) && cp -L %s %s%s", root, to, from,
             root, to);
    assert_int_equal(system(command), 0);
}

static int set_up(void **state)
{
    char path[512];
    Dl_info cmocka;

    assert_non_null(mkdtemp(root));
    /* NVIDIA's files are installed in three ways */
    copy_to(FIXTURE_CUPTI, "/cuda/extras/CUPTI/lib64/libcupti.so.13");
    copy_to(FIXTURE_CUPTI, "/venv/lib/python3.11/site-packages/nvidia/cu13/lib/libcupti.so.13");
    assert_true(dladdr((void *)(uintptr_t)_cmocka_run_group_tests, &cmocka) != 0);
    copy_to(cmocka.dli_fname, "/pip/nvidia/cuda_runtime/lib/libcudart.so.12");
    copy_to(cmocka.dli_fname, "/pip/nvidia/cuda_cupti/lib/libcupti.so.12");
    snprintf(path, sizeof path, "%s/pip/nvidia/cuda_runtime/lib/libcudart.so.12", root);
    assert_non_null(dlopen(path, RTLD_LAZY | RTLD_LOCAL));
    snprintf(path, sizeof path, "%s/cuda", root);
    setenv("CUDA_HOME", path, 1);
    snprintf(path, sizeof path, "%s/venv", root);
    setenv("VIRTUAL_ENV", path, 1);
    return 0;
}

static int tear_down(void **state)
{
    char command[64];

    snprintf(command, sizeof command, "rm -rf %s", root);
    return system(command);
}

static void the_major_version_in_the_process_comes_first(void **state)
{
    char path[512], why[512];
    void *handle = NULL;

    assert_int_equal(find(&handle, path, why), -ENOTSUP);
    assert_null(handle);
    assert_int_equal(offers, 3);
    assert_string_equal(offered[0],
                        "/pip/nvidia/cuda_runtime/lib/../../cuda_cupti/lib/libcupti.so.12");
    assert_string_equal(offered[1], "/cuda/extras/CUPTI/lib64/libcupti.so.13");
    assert_string_equal(offered[2],
                        "/venv/lib/python3.11/site-packages/nvidia/cu13/lib/libcupti.so.13");
    assert_non_null(strstr(why, "is not wanted"));
}

static void a_copy_in_the_process_is_taken_whatever_else_there_is(void **state)
{
    char path[512], why[512];
    void *handle = NULL;

    /* an earlier step has loaded libcupti into the process */
    assert_int_equal(find(&handle, path, why), -ENOTSUP);
    assert_int_equal(all_offers, 1); /* so no other file is tried */
    assert_null(handle);
    wanted = "libcupti";
    assert_int_equal(find(&handle, path, why), 0);
    assert_int_equal(all_offers, 1);
    assert_non_null(handle);
    assert_non_null(strstr(path, "libcupti.so.1"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_major_version_in_the_process_comes_first),
        cmocka_unit_test(a_copy_in_the_process_is_taken_whatever_else_there_is),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
