/* boot_test.c - syncline queues a call that starts its Python package, once, if there is a suitable
 * interpreter. After a failure, no reference and no exception is left. The tested state exists once
 * per process, so every case runs in a child. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "child.h"
#include "collect/python/boot.h"
#include "folder.h"
#include "unit/collect/python/fixture_boot.h"

static struct fixture_boot *python;

/* Makes a folder with the Python file that the queued call executes. */
static int make_home(void **state)
{
    char path[128];
    int fd;

    if (folder_make())
        return -1;
    snprintf(path, sizeof(path), "%s/python", folder);
    mkdir(path, 0700);
    strcat(path, "/syncline");
    mkdir(path, 0700);
    strcat(path, "/_boot.py");
    fd = open(path, O_CREAT | O_WRONLY, 0600);
    return fd < 0 ? -1 : close(fd);
}

static int remove_home(void **state)
{
    return folder_remove();
}

static void load(void)
{
    void *library = dlopen(FIXTURE_BOOT, RTLD_NOW | RTLD_GLOBAL);

    CHECK(library);
    python = dlsym(library, "fixture_boot");
    CHECK(python);
    python->version = "3.12.1 (main)";
    python->is_initialized = 1;
}

/* Runs the queued call, as the Python interpreter would. */
static int run_call(void)
{
    return python->call(python->argument);
}

static void it_is_queued_once_and_again_when_asked(void)
{
    CHECK(sl_python_boot(folder) == -ENOENT); /* there is no Python */
    load();
    python->is_initialized = 0;
    CHECK(sl_python_boot(folder) == -ENOENT); /* Python is loaded, but not initialized */
    python->is_initialized = 1;
    python->is_full = 1;
    CHECK(sl_python_boot(folder) == -EAGAIN);
    python->is_full = 0;
    errno = EXDEV;
    CHECK(sl_python_boot(folder) == 0);
    CHECK(errno == EXDEV);
    CHECK(sl_python_boot(folder) == -EALREADY);
    CHECK(sl_python_boot_again(folder) == -EALREADY); /* the queued call has not run yet */
    CHECK(python->queued == 1);
    CHECK(run_call() == 0);
    CHECK(python->evaluated == 1 && python->references == 0 && python->cleared == 0);
    CHECK(strncmp(python->path, folder, strlen(folder)) == 0);
    CHECK(strstr(python->path, "/python/syncline/_boot.py"));
    CHECK(sl_python_boot(folder) == -EALREADY);
    CHECK(sl_python_boot_again(folder) == 0); /* the second call finds Python ready */
    CHECK(python->queued == 2);
    CHECK(run_call() == 0);
    CHECK(python->evaluated == 2 && python->references == 0);
}

static void play_left_alone(void)
{
    load();
    python->version = "3.13.0 experimental free-threading build (main)";
    CHECK(sl_python_boot(folder) == -ENOTSUP);
    CHECK(sl_python_boot(folder) == -EALREADY); /* nothing is queued a second time */
    CHECK(python->queued == 0);
}

static void play_no_package(void)
{
    load();
    CHECK(sl_python_boot("/nowhere/at/all") == -ENOTSUP);
    CHECK(sl_python_boot(folder) == -EALREADY);
    CHECK(python->queued == 0);
}

static void where_it_is_not_for_nothing_is_queued(void **state)
{
    in_child(play_left_alone);
    in_child(play_no_package);
}

static void a_sub_interpreter_is_left_alone(void)
{
    load();
    CHECK(sl_python_boot(folder) == 0);
    python->is_sub = 1;
    CHECK(run_call() == 0);
    CHECK(python->evaluated == 0 && python->references == 0);
    python->is_sub = 0;
    CHECK(sl_python_boot(folder) == 0); /* the call is queued again for the main interpreter */
    CHECK(run_call() == 0);
    CHECK(python->evaluated == 1);
}

static void a_forked_child_leaves_its_interpreter_alone(void)
{
    pid_t child;

    load();
    CHECK(sl_python_boot(folder) == 0);
    child = fork();
    if (child == 0) {
        CHECK(run_call() == 0); /* this call was queued before the fork */
        CHECK(python->evaluated == 0 && python->references == 0);
        CHECK(sl_python_boot(folder) == -EALREADY);
        CHECK(sl_python_boot_again(folder) == -EALREADY);
        _exit(0);
    }
    CHECK(result_of(child) == 0);
    CHECK(run_call() == 0 && python->evaluated == 1);
}

/* One of syncline's calls of Python fails. No exception and no reference of syncline is left. */
static void what_goes_wrong_leaves_nothing_behind(void)
{
    int *wrong[4];

    load();
    wrong[0] = &python->no_dict;
    wrong[1] = &python->no_text;
    wrong[2] = &python->no_item;
    wrong[3] = &python->no_code;
    CHECK(sl_python_boot(folder) == 0);
    for (unsigned i = 0; i < 4; i++) {
        *wrong[i] = 1;
        python->cleared = 0;
        CHECK(run_call() == 0);
        CHECK(python->cleared == 1 && python->references == 0 && python->evaluated == 0);
        *wrong[i] = 0;
        CHECK(sl_python_boot_again(folder) == 0);
    }
    /* An exception that the program's signal handler raised is not cleared, because it belongs to
     * the program. */
    python->raises = 1;
    python->cleared = 0;
    CHECK(run_call() == -1);
    CHECK(python->cleared == 0 && python->references == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CHILD(it_is_queued_once_and_again_when_asked),
        cmocka_unit_test(where_it_is_not_for_nothing_is_queued),
        CHILD(a_sub_interpreter_is_left_alone),
        CHILD(a_forked_child_leaves_its_interpreter_alone),
        CHILD(what_goes_wrong_leaves_nothing_behind),
    };

    return cmocka_run_group_tests(tests, make_home, remove_home);
}
