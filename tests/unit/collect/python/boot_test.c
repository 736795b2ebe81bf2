/* boot_test.c - the package's start is queued once, if there is a suitable interpreter. A failure
 * leaves nothing behind. The state belongs to the process, so every case runs in a child. */
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
#include "unit/collect/python/fixture_boot.h"

static char home[] = "/tmp/sl_boot_XXXXXX";
static struct fixture_boot *python;

/* Makes a folder with the file that is executed. */
static int make_home(void **state)
{
    char path[128];
    int fd;

    (void)state;
    if (!mkdtemp(home))
        return -1;
    snprintf(path, sizeof(path), "%s/python", home);
    mkdir(path, 0700);
    strcat(path, "/syncline");
    mkdir(path, 0700);
    strcat(path, "/_boot.py");
    fd = open(path, O_CREAT | O_WRONLY, 0600);
    return fd < 0 ? -1 : close(fd);
}

static int remove_home(void **state)
{
    char command[128];

    (void)state;
    snprintf(command, sizeof(command), "rm -rf %s", home);
    return system(command) != 0;
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

/* Runs the queued call, as Python does. */
static int run_call(void)
{
    return python->call(python->argument);
}

static void play_queue(void)
{
    CHECK(sl_python_boot(home) == -ENOENT); /* there is no Python */
    load();
    python->is_initialized = 0;
    CHECK(sl_python_boot(home) == -ENOENT); /* Python has not started yet */
    python->is_initialized = 1;
    python->is_full = 1;
    CHECK(sl_python_boot(home) == -EAGAIN);
    python->is_full = 0;
    errno = EXDEV;
    CHECK(sl_python_boot(home) == 0);
    CHECK(errno == EXDEV);
    CHECK(sl_python_boot(home) == -EALREADY);
    CHECK(sl_python_boot_again(home) == -EALREADY); /* it is queued */
    CHECK(python->queued == 1);
    CHECK(run_call() == 0);
    CHECK(python->evaluated == 1 && python->references == 0 && python->cleared == 0);
    CHECK(strncmp(python->path, home, strlen(home)) == 0);
    CHECK(strstr(python->path, "/python/syncline/_boot.py"));
    CHECK(sl_python_boot(home) == -EALREADY);
    CHECK(sl_python_boot_again(home) == 0); /* checks again */
    CHECK(python->queued == 2);
    CHECK(run_call() == 0);
    CHECK(python->evaluated == 2 && python->references == 0);
}

static void it_is_queued_once_and_again_when_asked(void **state)
{
    (void)state;
    in_child(play_queue);
}

static void play_left_alone(void)
{
    load();
    python->version = "3.13.0 experimental free-threading build (main)";
    CHECK(sl_python_boot(home) == -ENOTSUP);
    CHECK(sl_python_boot(home) == -EALREADY); /* and it stays so */
    CHECK(python->queued == 0);
}

static void play_no_package(void)
{
    load();
    CHECK(sl_python_boot("/nowhere/at/all") == -ENOTSUP);
    CHECK(sl_python_boot(home) == -EALREADY);
    CHECK(python->queued == 0);
}

static void where_it_is_not_for_nothing_is_queued(void **state)
{
    (void)state;
    in_child(play_left_alone);
    in_child(play_no_package);
}

static void play_sub(void)
{
    load();
    CHECK(sl_python_boot(home) == 0);
    python->is_sub = 1;
    CHECK(run_call() == 0);
    CHECK(python->evaluated == 0 && python->references == 0);
    python->is_sub = 0;
    CHECK(sl_python_boot(home) == 0); /* the main interpreter is asked again */
    CHECK(run_call() == 0);
    CHECK(python->evaluated == 1);
}

static void a_sub_interpreter_is_left_alone(void **state)
{
    (void)state;
    in_child(play_sub);
}

static void play_fork(void)
{
    pid_t child;

    load();
    CHECK(sl_python_boot(home) == 0);
    child = fork();
    if (child == 0) {
        CHECK(run_call() == 0); /* it was queued before */
        CHECK(python->evaluated == 0 && python->references == 0);
        CHECK(sl_python_boot(home) == -EALREADY);
        CHECK(sl_python_boot_again(home) == -EALREADY);
        _exit(0);
    }
    CHECK(result_of(child) == 0);
    CHECK(run_call() == 0 && python->evaluated == 1);
}

static void a_forked_child_leaves_its_interpreter_alone(void **state)
{
    (void)state;
    in_child(play_fork);
}

/* Python refuses something. No exception and no reference of ours is left. */
static void play_trouble(void)
{
    int *wrong[4];

    load();
    wrong[0] = &python->no_dict;
    wrong[1] = &python->no_text;
    wrong[2] = &python->no_item;
    wrong[3] = &python->no_code;
    CHECK(sl_python_boot(home) == 0);
    for (unsigned i = 0; i < 4; i++) {
        *wrong[i] = 1;
        python->cleared = 0;
        CHECK(run_call() == 0);
        CHECK(python->cleared == 1 && python->references == 0 && python->evaluated == 0);
        *wrong[i] = 0;
        CHECK(sl_python_boot_again(home) == 0);
    }
    /* An exception from the program's signal handlers is left to the program. */
    python->raises = 1;
    python->cleared = 0;
    CHECK(run_call() == -1);
    CHECK(python->cleared == 0 && python->references == 0);
}

static void what_goes_wrong_leaves_nothing_behind(void **state)
{
    (void)state;
    in_child(play_trouble);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_is_queued_once_and_again_when_asked),
        cmocka_unit_test(where_it_is_not_for_nothing_is_queued),
        cmocka_unit_test(a_sub_interpreter_is_left_alone),
        cmocka_unit_test(a_forked_child_leaves_its_interpreter_alone),
        cmocka_unit_test(what_goes_wrong_leaves_nothing_behind),
    };

    return cmocka_run_group_tests(tests, make_home, remove_home);
}
