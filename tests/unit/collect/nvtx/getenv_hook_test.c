/* getenv_hook_test.c - syncline sets NVTX's environment variable to the path of its own library.
 * Whether it does depends on the variable's old value and on the number of threads. The variable is
 * set once per process, so every case runs in a child. */
#include <errno.h>
#include <glob.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "child.h"
#include "collect/nvtx/getenv_hook.h"

#define VARIABLE "NVTX_INJECTION64_PATH"

/* Returns whether the variable names the file that contains syncline's code. Here this file is the
 * test program. */
static int leads_to_us(void)
{
    const char *said = getenv(VARIABLE);

    return said && strstr(said, "getenv_hook_test") != NULL;
}

static int threads(void)
{
    glob_t found;
    int count;

    CHECK(glob("/proc/self/task/*", 0, NULL, &found) == 0);
    count = (int)found.gl_pathc;
    globfree(&found);
    return count;
}

static void play_nothing_said(void)
{
    if (threads() > 1)
        return; /* a sanitizer has a thread of its own, so the process is never single-threaded */
    unsetenv(VARIABLE);
    CHECK(!sl_nvtx_getenv_hook_is_set() && !sl_nvtx_has_other_tool());
    CHECK(sl_nvtx_getenv_hook_set() == 0);
    CHECK(leads_to_us());
    CHECK(sl_nvtx_getenv_hook_is_set() && !sl_nvtx_has_other_tool());
}

/* The variable is empty. NVTX would try to load a tool with an empty name, so syncline sets the
 * variable. */
static void play_empty(void)
{
    if (threads() > 1)
        return;
    setenv(VARIABLE, "", 1);
    CHECK(sl_nvtx_getenv_hook_set() == 0);
    CHECK(leads_to_us());
    CHECK(sl_nvtx_getenv_hook_is_set() && !sl_nvtx_has_other_tool());
}

static void another_tool_is_left_alone(void)
{
    setenv(VARIABLE, "/opt/nsys/libToolsInjection64.so", 1);
    CHECK(sl_nvtx_getenv_hook_set() == -EALREADY);
    CHECK(strcmp(getenv(VARIABLE), "/opt/nsys/libToolsInjection64.so") == 0);
    CHECK(!sl_nvtx_getenv_hook_is_set() && sl_nvtx_has_other_tool());
}

static void *stay(void *end)
{
    char byte;

    CHECK(read(*(int *)end, &byte, 1) == 0);
    return NULL;
}

static void the_environment_of_threads_is_left_alone(void)
{
    pthread_t thread;
    int end[2];

    unsetenv(VARIABLE);
    CHECK(pipe(end) == 0);
    CHECK(pthread_create(&thread, NULL, stay, &end[0]) == 0);
    CHECK(sl_nvtx_getenv_hook_set() == -EBUSY);
    CHECK(!getenv(VARIABLE));
    CHECK(!sl_nvtx_getenv_hook_is_set() && !sl_nvtx_has_other_tool());
    close(end[1]);
    pthread_join(thread, NULL);
}

static void the_variable_leads_to_us_where_nothing_is_said(void **state)
{
    in_child(play_nothing_said);
    in_child(play_empty);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_variable_leads_to_us_where_nothing_is_said),
        CHILD(another_tool_is_left_alone),
        CHILD(the_environment_of_threads_is_left_alone),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
