/*
 * runtime_test.c - the whole life of the library in a process, on a fake CUPTI: what files appear,
 * what is in them, what the public API says, and what the host notices.
 *
 * The library lives once per process, so every case runs in a child. A child that fails says where
 * and exits with 1.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fake_cupti.h"
#include "runtime.h"

#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);                        \
            _exit(1);                                                                              \
        }                                                                                          \
    } while (0)

/* Waits for what another thread will do; a test that waits in vain is ended by ctest. */
#define UNTIL(condition)                                                                           \
    while (!(condition))                                                                           \
    usleep(1000)

static char folder[] = "/tmp/sl_runtime_XXXXXX";
static char said[256]; /* file with the child's stderr */

static void in_child(void (*play)(void))
{
    int status;
    pid_t child = fork();

    if (child == 0) {
        int fd = open(said, O_RDWR | O_CREAT | O_TRUNC, 0600);

        dup2(fd, STDERR_FILENO);
        play();
        exit(0); /* not _exit: sanitizers look at the end */
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    if (status) {
        char text[4096] = "";
        int fd = open(said, O_RDONLY);

        if (fd >= 0 && read(fd, text, sizeof(text) - 1) >= 0)
            print_error("%s", text);
    }
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

static int make_folder(void **state)
{
    (void)state;
    strcpy(strchr(folder, 0) - 6, "XXXXXX");
    snprintf(said, sizeof(said), "%s.stderr", mkdtemp(folder));
    return 0;
}

static int remove_folder(void **state)
{
    char command[512];

    (void)state;
    snprintf(command, sizeof(command), "rm -rf %s %s", folder, said);
    return system(command) != 0;
}

/* Starts the library as the driver would, with one more variable. */
static int inject(const char *variable)
{
    static char output[128], option[256];
    char *environment[] = {output, (char[]){"SYNCLINE_COMPRESSION=none"},
                           (char[]){"SYNCLINE_LEAD_IN=10ms"}, option, NULL};

    snprintf(output, sizeof(output), "SYNCLINE_OUTPUT=%s", folder);
    snprintf(option, sizeof(option), "%s", variable);
    return sl_runtime_inject_with(&fake_functions, environment);
}

static int files(const char *pattern)
{
    char path[256];
    glob_t found;
    int count;

    snprintf(path, sizeof(path), "%s/*/*/%s", folder, pattern);
    count = glob(path, 0, NULL, &found) ? 0 : (int)found.gl_pathc;
    globfree(&found);
    return count;
}

/* How often `text` stands in the only file that matches. */
static int in_file(const char *pattern, const char *text)
{
    static char content[4 << 20];
    char path[256];
    glob_t found;
    size_t got;
    int count = 0;
    FILE *f;

    snprintf(path, sizeof(path), "%s/*/*/%s", folder, pattern);
    CHECK(glob(path, 0, NULL, &found) == 0 && found.gl_pathc == 1);
    f = fopen(found.gl_pathv[0], "r");
    globfree(&found);
    CHECK(f);
    got = fread(content, 1, sizeof(content) - 1, f);
    fclose(f);
    content[got] = '\0';
    for (const char *at = content; (at = strstr(at, text)); at++)
        count++;
    return count;
}

static int stderr_has(const char *text)
{
    static char content[16384];
    int fd = open(said, O_RDONLY);
    ssize_t got = read(fd, content, sizeof(content) - 1);

    close(fd);
    content[got > 0 ? got : 0] = '\0';
    return strstr(content, text) != NULL;
}

static struct sl_status status_now(void)
{
    struct sl_status s = {.size = sizeof(s)};

    CHECK(sl_runtime_status(&s) == 0);
    return s;
}

/* Threads of ours, by name (a sanitizer may have some too); *blocked: signals all of them block. */
static int our_threads(unsigned long long *blocked)
{
    char line[256], name[64] = "";
    unsigned long long mask = 0;
    glob_t found;
    int ours = 0;

    *blocked = ~0ull;
    CHECK(glob("/proc/self/task/*/status", 0, NULL, &found) == 0);
    for (size_t i = 0; i < found.gl_pathc; i++) {
        FILE *f = fopen(found.gl_pathv[i], "r");

        while (f && fgets(line, sizeof(line), f)) {
            sscanf(line, "Name: %63s", name);
            sscanf(line, "SigBlk: %llx", &mask);
        }
        if (f)
            fclose(f);
        if (strncmp(name, "syncline-", 9))
            continue;
        ours++;
        *blocked &= mask;
    }
    globfree(&found);
    return ours;
}

static int threads(void)
{
    unsigned long long blocked;

    return our_threads(&blocked);
}

#define KERNEL "\"cat\":\"kernel\""

/* ---- the whole run ---- */

static void play_run(void)
{
    CHECK(inject("SYNCLINE_WINDOW=run"));
    CHECK(fake.on[10] && fake.on[5]); /* before any context */
    for (int i = 0; i < 500; i++)
        fake_launch("k_run", 1);
    UNTIL(status_now().records >= 1000);
    CHECK(status_now().state == SL_STATE_RECORDING);
    CHECK(status_now().window == 1);
    CHECK(status_now().memory_bytes > 0);
    UNTIL(files("1.pt.trace.json.part") == 1);
    for (int i = 0; i < 300; i++)
        fake_launch("k_run", 1);
    sl_runtime_exit();
    sl_runtime_exit();
    CHECK(files("1.pt.trace.json") == 1);
    CHECK(files("*") == 1);
    CHECK(in_file("1.pt.trace.json", KERNEL) == 800);
    CHECK(in_file("1.pt.trace.json", "\"name\":\"cudaLaunchKernel\"") == 800);
    CHECK(in_file("1.pt.trace.json", "\"ph\":\"f\"") == 800);
    CHECK(status_now().state == SL_STATE_PASSIVE);
    CHECK(sl_runtime_start() == -ENODEV);
}

static void run_records_everything_into_one_file(void **state)
{
    (void)state;
    in_child(play_run);
}

static void play_no_context(void)
{
    CHECK(sl_runtime_start() == -EAGAIN);
    CHECK(sl_runtime_stop() == -EAGAIN);
    CHECK(sl_runtime_status(&(struct sl_status){.size = sizeof(struct sl_status)}) == -EAGAIN);
    CHECK(inject("SYNCLINE_WINDOW=run"));
    CHECK(!inject("SYNCLINE_WINDOW=run")); /* the driver calls once, others may call again */
    CHECK(threads() == 0);
    CHECK(status_now().state == SL_STATE_ARMED);
    sl_runtime_exit();
    CHECK(files("*") == 0);
    CHECK(!stderr_has("recording"));
}

static void without_a_context_no_thread_and_no_file(void **state)
{
    (void)state;
    in_child(play_no_context);
}

static void play_threads(void)
{
    const unsigned long long standard = 0x7fffffff & ~(1ull << 8 | 1ull << 18); /* KILL, STOP */
    unsigned long long blocked;

    CHECK(inject("SYNCLINE_WINDOW=run"));
    fake_launch("k", 1);
    UNTIL(status_now().records >= 2);
    CHECK(our_threads(&blocked) == 2);
    CHECK((blocked & standard) == standard);
    sl_runtime_exit();
}

static void two_threads_that_take_no_signals(void **state)
{
    (void)state;
    in_child(play_threads);
}

/* ---- on demand ---- */

static void record_window(const char *name, int launches)
{
    uint64_t completed = status_now().windows_completed;

    CHECK(sl_runtime_start() == 0);
    UNTIL(status_now().state == SL_STATE_RECORDING);
    CHECK(sl_runtime_start() == -EALREADY);
    for (int i = 0; i < launches; i++)
        fake_launch(name, 1);
    CHECK(sl_runtime_stop() == 0);
    UNTIL(status_now().windows_completed == completed + 1);
    UNTIL(status_now().state == SL_STATE_ARMED);
}

static void play_demand(void)
{
    char last[64];

    CHECK(inject("SYNCLINE_WINDOW=demand"));
    CHECK(!fake.on[10] && fake.on[5]);
    CHECK(sl_runtime_stop() == -EALREADY);
    fake_launch("k_before", 1);
    record_window("k_first", 50);
    CHECK(fake.enabling_thread != syscall(SYS_gettid)); /* it may stall for seconds */
    UNTIL(!fake.on[10]);
    CHECK(fake.on[5]); /* graphs captured now would lose their nodes for good */
    fake_launch("k_between", 1);
    record_window("k_second", 70);
    CHECK(in_file("1.pt.trace.json", "k_first") == 50);
    CHECK(in_file("1.pt.trace.json", KERNEL) == 50);
    CHECK(in_file("1.pt.trace.json", "cudaLaunchKernel") == 50);
    CHECK(in_file("2.pt.trace.json", "k_second") == 70);
    CHECK(in_file("2.pt.trace.json", KERNEL) == 70);
    snprintf(last, sizeof(last), "/2.pt.trace.json");
    CHECK(strstr(status_now().last_file, last));
    CHECK(status_now().dropped == 0);
    sl_runtime_exit();
    CHECK(files("*") == 2);
}

static void demand_records_between_start_and_stop(void **state)
{
    (void)state;
    in_child(play_demand);
}

static void play_start_before_use(void)
{
    int answer;

    CHECK(inject("SYNCLINE_WINDOW=demand"));
    CHECK(sl_runtime_start() == 0);
    CHECK(sl_runtime_start() == -EALREADY);
    CHECK(sl_runtime_stop() == 0);
    answer = sl_runtime_start();
    CHECK(answer == 0 || answer == -EBUSY); /* the lead-in may have begun, and is being ended */
    UNTIL(status_now().state == SL_STATE_RECORDING);
    CHECK(sl_runtime_stop() == 0);
    CHECK(sl_runtime_start() == -EBUSY); /* kept, and obeyed when the first is closed */
    UNTIL(status_now().window == 2 && status_now().state == SL_STATE_RECORDING);
    fake_launch("k_late", 1);
    CHECK(sl_runtime_stop() == 0);
    UNTIL(status_now().windows_completed == 2);
    CHECK(in_file("2.pt.trace.json", KERNEL) == 1);
    sl_runtime_exit();
}

static void a_start_before_the_first_context_and_while_closing(void **state)
{
    (void)state;
    in_child(play_start_before_use);
}

/* ---- by time ---- */

static void play_time(void)
{
    uint64_t launched = 0;

    CHECK(inject("SYNCLINE_WINDOW=time:30ms/120ms"));
    while (status_now().windows_completed < 3) {
        fake_launch("k_time", 1);
        launched++;
        usleep(500);
    }
    CHECK(files("1.pt.trace.json") == 1 && files("2.pt.trace.json") == 1 &&
          files("3.pt.trace.json") == 1);
    CHECK(fake.disables > 0);
    CHECK(in_file("2.pt.trace.json", KERNEL) > 0);
    CHECK(in_file("2.pt.trace.json", KERNEL) + in_file("3.pt.trace.json", KERNEL) < (int)launched);
    sl_runtime_exit();
    CHECK(files("*.part") == 0);
}

static void time_windows_are_files_of_their_own(void **state)
{
    (void)state;
    in_child(play_time);
}

/* ---- endings ---- */

static void play_long_kernel(void)
{
    CHECK(inject("SYNCLINE_WINDOW=run"));
    for (int i = 0; i < 20; i++)
        fake_launch("k_short", 1);
    fake_launch("k_long", 0);
    for (int i = 0; i < 20; i++)
        fake_launch("k_short", 1);
    CHECK(sl_runtime_stop() == 0);
    UNTIL(status_now().windows_completed == 1); /* although the kernel never ends */
    CHECK(fake.forced_flushes == 1);
    CHECK(in_file("1.pt.trace.json", "k_short") == 40);
    sl_runtime_exit();
}

static void a_kernel_without_end_does_not_lose_the_rest(void **state)
{
    (void)state;
    in_child(play_long_kernel);
}

static void play_hang(void)
{
    CHECK(inject("SYNCLINE_WINDOW=run"));
    for (int i = 0; i < 100; i++)
        fake_launch("k_before_hang", 1);
    UNTIL(files("1.pt.trace.json.part") == 1 &&
          in_file("1.pt.trace.json.part", "k_before_hang") == 100);
    fake.hang = 1;
    fake_launch("k_lost", 1);
    sl_runtime_exit(); /* returns: that is the point */
    CHECK(in_file("1.pt.trace.json", "k_before_hang") == 100);
    CHECK(in_file("1.pt.trace.json", "k_lost") == 0);
    CHECK(in_file("1.pt.trace.json", "\"undelivered_at_exit\":2,") == 1); /* call and kernel */
    CHECK(stderr_has("the 2 records in them are lost"));
    _exit(0); /* the hung thread is still in there */
}

static void a_cupti_that_hangs_does_not_keep_the_process(void **state)
{
    (void)state;
    in_child(play_hang);
}

static void play_killed(void)
{
    CHECK(inject("SYNCLINE_WINDOW=run"));
    fake_launch("k_flushed", 1);
    UNTIL(files("1.pt.trace.json.part") == 1 &&
          in_file("1.pt.trace.json.part", "k_flushed") == 1); /* within a second or so */
    _exit(0);
}

static void what_was_flushed_is_on_disk_without_an_exit(void **state)
{
    (void)state;
    in_child(play_killed);
    assert_int_equal(files("1.pt.trace.json.part"), 1);
    assert_int_equal(files("*"), 1);
}

static void play_drops(void)
{
    CHECK(inject("SYNCLINE_WINDOW=run"));
    fake.drops = 7;
    fake_launch("k", 1);
    UNTIL(status_now().dropped == 7);
    sl_runtime_exit();
    CHECK(stderr_has("CUPTI dropped 7 records"));
    CHECK(in_file("1.pt.trace.json", "dropped_cupti") == 1);
}

static void what_cupti_dropped_is_said_and_in_the_trace(void **state)
{
    (void)state;
    in_child(play_drops);
}

/* ---- forks ---- */

static void play_fork(void)
{
    pid_t child;
    int status;

    CHECK(inject("SYNCLINE_WINDOW=run"));
    pthread_atfork(NULL, NULL, sl_runtime_fork_child);
    fake_launch("k_parent", 1);
    UNTIL(files("1.pt.trace.json.part") == 1);
    child = fork();
    if (child == 0) {
        struct sl_status s = status_now();

        CHECK(s.state == SL_STATE_PASSIVE);
        CHECK(strstr(s.reason, "fork"));
        CHECK(sl_runtime_start() == -ENODEV);
        CHECK(sl_runtime_stop() == -ENODEV);
        CHECK(threads() == 0);
        fake_launch("k_child", 1); /* CUDA does not work there, but nothing may break */
        sl_runtime_exit();
        CHECK(files("*.part") == 1); /* the parent's, still open */
        _exit(0);
    }
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    fake_launch("k_parent", 1);
    sl_runtime_exit();
    CHECK(files("*") == 1);
    CHECK(in_file("1.pt.trace.json", "k_parent") == 2);
    CHECK(in_file("1.pt.trace.json", "k_child") == 0);
}

/* No handler of fork() runs in such a child. */
static void play_bare_clone(void)
{
    pid_t child;
    int status;

    CHECK(inject("SYNCLINE_WINDOW=demand"));
    child = (pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);
    if (child == 0) {
        struct sl_status s = status_now();

        CHECK(s.state == SL_STATE_PASSIVE && strstr(s.reason, "fork"));
        CHECK(sl_runtime_start() == -ENODEV);
        CHECK(threads() == 0);
        sl_runtime_exit();
        _exit(0);
    }
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    CHECK(sl_runtime_start() == 0);
    sl_runtime_exit();
}

static void a_child_of_a_bare_clone_does_nothing(void **state)
{
    (void)state;
    in_child(play_bare_clone);
}

static void a_forked_child_does_nothing(void **state)
{
    (void)state;
    in_child(play_fork);
}

/* ---- passive for good ---- */

static void check_passive(const char *reason)
{
    fake_launch("k", 1);
    CHECK(status_now().state == SL_STATE_PASSIVE);
    CHECK(strstr(status_now().reason, reason));
    CHECK(sl_runtime_start() == -ENODEV);
    CHECK(sl_runtime_stop() == -ENODEV);
    CHECK(threads() == 0);
    sl_runtime_exit();
    CHECK(files("*") == 0);
}

static void play_other_profiler(void)
{
    fake.register_result = 39;
    CHECK(!inject("SYNCLINE_WINDOW=run"));
    CHECK(stderr_has("another profiler holds CUPTI"));
    check_passive("another profiler holds CUPTI");
}

static void play_nothing_enabled(void)
{
    fake.enable_result = 999;
    CHECK(!inject("SYNCLINE_WINDOW=run"));
    CHECK(stderr_has("nothing is recorded, the job is not affected"));
    check_passive("CUPTI refused");
}

static void play_disabled(void)
{
    CHECK(!inject("SYNCLINE_ENABLED=0"));
    CHECK(!fake.request);
    CHECK(!stderr_has("syncline"));
    CHECK(status_now().state == SL_STATE_PASSIVE);
    CHECK(strstr(status_now().reason, "SYNCLINE_ENABLED"));
}

static void play_enable_fails_later(void)
{
    CHECK(inject("SYNCLINE_WINDOW=demand"));
    fake.enable_result = 999;
    CHECK(sl_runtime_start() == 0);
    UNTIL(status_now().state == SL_STATE_PASSIVE);
    CHECK(stderr_has("CUPTI refused every kind"));
    CHECK(sl_runtime_start() == -ENODEV);
    sl_runtime_exit();
    CHECK(files("*") == 0);
}

static void whatever_is_wrong_the_host_runs_on_unprofiled(void **state)
{
    (void)state;
    in_child(play_other_profiler);
    in_child(play_nothing_enabled);
    in_child(play_disabled);
    in_child(play_enable_fails_later);
}

static void play_no_disk(void)
{
    struct sl_status s;
    char path[64];

    /* A file where the job's folder should be: even root cannot write there. */
    snprintf(path, sizeof(path), "%s/local", folder);
    close(open(path, O_CREAT | O_WRONLY, 0600));
    CHECK(inject("SYNCLINE_WINDOW=run"));
    fake_launch("k", 1);
    UNTIL(stderr_has("cannot write"));
    sl_runtime_exit();
    s = status_now();
    CHECK(s.windows_completed == 0);
    CHECK(s.dropped > 0);
}

static void an_unwritable_folder_is_one_line(void **state)
{
    (void)state;
    in_child(play_no_disk);
}

/* ---- the status struct ---- */

static void play_status(void)
{
    struct {
        struct sl_status s;
        char guard[16];
    } old = {.s.size = offsetof(struct sl_status, reason)};

    CHECK(inject("SYNCLINE_WINDOW=run"));
    memset(old.s.reason, 'x', sizeof(old.s.reason));
    memset(old.guard, 'g', sizeof(old.guard));
    CHECK(sl_runtime_status(&old.s) == 0); /* an older, shorter struct */
    CHECK(old.s.size == offsetof(struct sl_status, reason));
    CHECK(old.s.reason[0] == 'x');
    old.s.size = sizeof(old); /* a newer, longer one */
    CHECK(sl_runtime_status(&old.s) == 0);
    CHECK(old.s.reason[0] == '\0');
    CHECK(old.guard[0] == 'g');
    old.s.size = 8;
    CHECK(sl_runtime_status(&old.s) == -EINVAL);
    CHECK(sl_runtime_status(NULL) == -EINVAL);
    sl_runtime_exit();
}

static void status_fills_what_fits(void **state)
{
    (void)state;
    in_child(play_status);
}

/* ---- many threads ---- */

static _Atomic int stop_asking;

static void *ask_all_the_time(void *arg)
{
    unsigned seed = (unsigned)(uintptr_t)arg;

    while (!stop_asking) {
        struct sl_status s = {.size = sizeof(s)};

        switch (rand_r(&seed) % 3) {
        case 0:
            sl_runtime_start();
            break;
        case 1:
            sl_runtime_stop();
            break;
        default:
            sl_runtime_status(&s);
        }
        fake_launch("k_many", 1);
        usleep(200);
    }
    return NULL;
}

static void play_many(void)
{
    pthread_t thread[3];

    CHECK(inject("SYNCLINE_WINDOW=demand"));
    for (uintptr_t i = 0; i < 3; i++)
        CHECK(pthread_create(&thread[i], NULL, ask_all_the_time, (void *)(i + 1)) == 0);
    UNTIL(status_now().windows_completed >= 5);
    sl_runtime_exit(); /* while they go on asking */
    stop_asking = 1;
    for (int i = 0; i < 3; i++)
        pthread_join(thread[i], NULL);
    CHECK(files("*.part") == 0);
    CHECK(files("*.json") >= 5);
}

static void threads_that_start_and_stop_all_the_time(void **state)
{
    (void)state;
    in_child(play_many);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, make_folder, remove_folder)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(run_records_everything_into_one_file),
        CASE(without_a_context_no_thread_and_no_file),
        CASE(two_threads_that_take_no_signals),
        CASE(demand_records_between_start_and_stop),
        CASE(a_start_before_the_first_context_and_while_closing),
        CASE(time_windows_are_files_of_their_own),
        CASE(a_kernel_without_end_does_not_lose_the_rest),
        CASE(a_cupti_that_hangs_does_not_keep_the_process),
        CASE(what_was_flushed_is_on_disk_without_an_exit),
        CASE(what_cupti_dropped_is_said_and_in_the_trace),
        CASE(a_child_of_a_bare_clone_does_nothing),
        CASE(a_forked_child_does_nothing),
        CASE(whatever_is_wrong_the_host_runs_on_unprofiled),
        CASE(an_unwritable_folder_is_one_line),
        CASE(status_fills_what_fits),
        CASE(threads_that_start_and_stop_all_the_time),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
