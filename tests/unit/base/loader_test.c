/* loader_test.c - an iteration over the loaded objects and a fork() wait for each other, but at
 * most for a limited time. */
#include "child.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/loader.h"
#include "base/log.h"

/* No program here loads this library, so loading it changes the list of objects. */
#define NOT_LOADED_YET "libresolv.so.2"
#define HUNG_S         20

static _Atomic int is_inside, has_left, may_leave;

static void wait_until(_Atomic int *flag)
{
    while (!atomic_load(flag))
        usleep(1000);
}

static int look_once_more(struct dl_phdr_info *info, size_t size, void *user)
{
    (void)info;
    (void)size;
    ++*(int *)user;
    return 1;
}

/* A callback of the iteration: holds the dynamic linker's lock for a while, and starts another
 * iteration meanwhile. */
static int linger(struct dl_phdr_info *info, size_t size, void *user)
{
    int inner = 0;

    (void)info;
    (void)size;
    (void)user;
    atomic_store(&is_inside, 1);
    usleep(100000);
    CHECK(sl_loader_look(look_once_more, &inner) == 1 && inner == 1);
    atomic_store(&has_left, 1);
    return 7;
}

static void *look_slowly(void *arg)
{
    (void)arg;
    CHECK(sl_loader_look(linger, NULL) == 7);
    return NULL;
}

static int load_in_a_child(void)
{
    pid_t child = fork();

    if (child == 0) {
        alarm(HUNG_S);
        _exit(dlopen(NOT_LOADED_YET, RTLD_NOW) ? 0 : 1);
    }
    return result_of(child);
}

/* A child loads a library after fork(). Without syncline's fork handlers the child would hang on
 * the linker's lock, and alarm() would kill the child. */
static void a_fork_waits_for_a_look_and_the_looks_in_it(void)
{
    pthread_t thread;

    CHECK(!dlopen(NOT_LOADED_YET, RTLD_NOW | RTLD_NOLOAD));
    pthread_atfork(sl_loader_before_fork, sl_loader_after_fork, sl_loader_fork_child);
    pthread_create(&thread, NULL, look_slowly, NULL);
    /* detached, because ThreadSanitizer would report that the child does not join this thread */
    pthread_detach(thread);
    wait_until(&is_inside);
    CHECK(load_in_a_child() == 0);
    CHECK(atomic_load(&has_left));
}

static void *look_and_tell(void *arg)
{
    int seen = 0;

    errno = ECHILD;
    sl_loader_look(look_once_more, &seen);
    CHECK(errno == ECHILD);
    atomic_store((_Atomic int *)arg, seen);
    return NULL;
}

static void a_look_waits_for_a_fork_of_another_thread(void)
{
    _Atomic int has_looked = 0;
    int seen = 0;
    pthread_t thread;

    sl_loader_before_fork();
    pthread_create(&thread, NULL, look_and_tell, &has_looked);
    usleep(50000);
    CHECK(!atomic_load(&has_looked));
    /* Imitates another library's fork handler in this thread. */
    sl_loader_look(look_once_more, &seen);
    CHECK(seen == 1);
    sl_loader_after_fork();
    pthread_join(thread, NULL);
    CHECK(atomic_load(&has_looked));
}

static void *stay(void *arg)
{
    (void)arg;
    sl_loader_enter();
    atomic_store(&is_inside, 1);
    wait_until(&may_leave);
    sl_loader_leave();
    return NULL;
}

/* A fork and an iteration wait for a thread whose iteration never ends. Both continue when their
 * time limit is reached. */
static void wait_for_what_does_not_end(void)
{
    uint64_t begun = sl_clock_monotonic();
    _Atomic int has_looked = 0;
    pthread_t looks, stays;

    sl_log_set_level(SL_LOG_WARN);
    pthread_create(&stays, NULL, stay, NULL);
    wait_until(&is_inside);
    sl_loader_before_fork();
    CHECK(sl_clock_monotonic() - begun >= SL_LOADER_PATIENCE_NS);
    pthread_create(&looks, NULL, look_and_tell, &has_looked);
    pthread_join(looks, NULL);
    CHECK(atomic_load(&has_looked));
    sl_loader_after_fork();
    atomic_store(&may_leave, 1);
    pthread_join(stays, NULL);
}

static void neither_waits_for_ever(void **state)
{
    char said[512] = "";
    char path[] = "/tmp/loader_test.XXXXXX";
    int fd = mkstemp(path);

    assert_true(fd >= 0);
    child_stderr = path;
    in_child(wait_for_what_does_not_end);
    child_stderr = NULL;
    assert_true(read(fd, said, sizeof(said) - 1) > 0);
    assert_non_null(strstr(said, "fork() ran while syncline was inspecting the loaded libraries"));
    close(fd);
    unlink(path);
}

/* The parent forks during an iteration, while another fork is waiting. In the child, there is no
 * iteration and no waiting fork. */
static void a_child_begins_anew(void)
{
    pid_t child;

    sl_loader_enter();
    child = fork();
    if (child == 0) {
        uint64_t begun = sl_clock_monotonic();

        sl_loader_fork_child();
        sl_loader_before_fork();
        sl_loader_after_fork();
        _exit(sl_clock_monotonic() - begun < SL_LOADER_PATIENCE_NS ? 0 : 1);
    }
    CHECK(result_of(child) == 0);
    sl_loader_leave();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CHILD(a_fork_waits_for_a_look_and_the_looks_in_it),
        CHILD(a_look_waits_for_a_fork_of_another_thread),
        cmocka_unit_test(neither_waits_for_ever),
        CHILD(a_child_begins_anew),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
