/* launcher_test.c - finds the launcher of a run in a made /proc. */
#include "folder.h"
#include "test.h"

#include <sys/stat.h>

#include "control/launcher.h"

static int set_up(void **state)
{
    return folder_make();
}

static int tear_down(void **state)
{
    return folder_remove();
}

static void put(uint32_t pid, const char *name, const char *data, size_t size)
{
    char path[128];
    FILE *file;

    snprintf(path, sizeof(path), "%s/%u/%s", folder, pid, name);
    file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(data, 1, size, file), size);
    fclose(file);
}

/* Makes a process that started at 10 times its pid. `environment` has commas in place of NULs. */
static void make(uint32_t pid, uint32_t parent, uint64_t stack, const char *environment,
                 const char *command)
{
    char text[512], path[128];
    size_t size;

    snprintf(path, sizeof(path), "%s/%u", folder, pid);
    assert_int_equal(mkdir(path, 0700), 0);
    size = (size_t)snprintf(text, sizeof(text),
                            "%u (a) b) 4 5) S %u 1 1 0 -1 4194560 100 0 0 0 1 2 3 4 20 0 1 0 %u "
                            "1000 10 184467440737 94 95 %llu 0 0\n",
                            pid, parent, pid * 10, (unsigned long long)stack);
    put(pid, "stat", text, size);
    size = (size_t)snprintf(text, sizeof(text), "%s", environment);
    for (size_t i = 0; i < size; i++)
        text[i] = text[i] == ',' ? '\0' : text[i];
    put(pid, "environ", text, size);
    put(pid, "cmdline", command, strlen(command));
}

/* `rank`: the launcher's child from which `pid` comes */
static void is(uint32_t pid, const char *variable, uint32_t launcher, uint32_t rank)
{
    struct sl_launcher found;

    sl_launcher_find(&found, folder, pid, variable);
    assert_int_equal(found.pid, launcher);
    assert_int_equal(found.start_ticks, launcher * 10);
    assert_int_equal(found.rank_start_ticks, rank * 10);
    /* see copies_have_the_program_from_which_they_were_made */
    assert_int_equal(found.is_copied, pid >= 40 && !variable);
}

/* 10 shell, 20 torchrun, 30 and 31 wrapper scripts of ranks, 40 and 41 ranks, 50 a rank's child */
static void ranks_have_the_launcher_above_their_wrappers(void **state)
{
    make(10, 0, 1, "PATH=/bin", "bash");
    make(20, 10, 2, "PATH=/bin,XRANK=1,RANKS=2", "torchrun");
    make(30, 20, 3, "PATH=/bin,RANK=0", "wrapper");
    make(31, 20, 4, "RANK=1,PATH=/bin", "wrapper");
    make(40, 30, 5, "PATH=/bin,RANK=0", "python");
    make(41, 31, 6, "PATH=/bin,RANK=1", "python");
    make(50, 40, 8, "PATH=/bin,RANK=0", "python");
    is(40, "RANK", 20, 30);
    is(41, "RANK", 20, 31);
    is(50, "RANK", 20, 30);
}

static void a_program_without_a_launcher_is_its_own(void **state)
{
    make(10, 0, 1, "", "bash");
    make(20, 10, 2, "", "python");
    is(20, NULL, 20, 20);
}

/* 20 a supervisor in Python, 30 its program, 40 forked from it, 41 spawned, 42 the fork server, 43
 * a child of that server */
static void copies_have_the_program_from_which_they_were_made(void **state)
{
    make(20, 1, 2, "", "python");
    make(30, 20, 3, "", "python");
    make(40, 30, 3, "", "VLLM::Worker");
    make(41, 30, 4, "", "python-c spawn_main()--multiprocessing-fork");
    make(42, 30, 5, "", "python-cfrom multiprocessing.forkserver import main; main(4)");
    make(43, 42, 5, "", "python-cfrom multiprocessing.forkserver import main; main(4)");
    for (uint32_t pid = 40; pid <= 43; pid++)
        is(pid, NULL, 30, 30);
}

static void what_cannot_be_read_ends_the_walk(void **state)
{
    struct sl_launcher found;

    make(20, 19, 2, "", "python"); /* its parent is gone */
    is(20, NULL, 20, 20);
    is(20, "RANK", 20, 20);
    sl_launcher_find(&found, folder, 77, NULL);
    assert_int_equal(found.pid, 77);
    assert_int_equal(found.start_ticks, 0);
    assert_int_equal(sl_launcher_start_ns(found.start_ticks), 0);
}

/* Parents that form a circle, as in a /proc that changes while it is read. */
static void the_walk_ends(void **state)
{
    struct sl_launcher found;

    make(20, 21, 2, "RANK=1", "python");
    make(21, 20, 2, "RANK=1", "python");
    sl_launcher_find(&found, folder, 20, "RANK");
    sl_launcher_find(&found, folder, 20, NULL);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(ranks_have_the_launcher_above_their_wrappers),
        CASE(a_program_without_a_launcher_is_its_own),
        CASE(copies_have_the_program_from_which_they_were_made),
        CASE(what_cannot_be_read_ends_the_walk),
        CASE(the_walk_ends),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
