/* outputs_test.c - tests when files are opened again after a failure, and which files are deleted
 * if the disk limit is reached. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "base/stats.h"
#include "write/outputs.h"

static struct {
    struct sl_outputs list;
    struct sl_window_file *file;
    int opened, fails; /* number of opened files; `fails` is the result of events() */
    size_t each;       /* number of bytes that events() writes */
} o;
static char folder[PATH_MAX];
static struct sl_folder place;

static int open_window(void *user, const struct sl_trace_meta *meta, struct sl_window_file *file)
{
    (void)user, (void)meta;
    o.file = file;
    o.opened++;
    return 0;
}

static int take_events(void *user, const struct sl_event *ev, size_t count)
{
    static char block[4096];

    (void)user, (void)ev, (void)count;
    return o.fails ? o.fails : o.file->sink->write(o.file->sink, block, o.each);
}

static int sync_file(void *user)
{
    (void)user;
    return o.file->sink->sync(o.file->sink);
}

static int close_window(void *user, uint64_t closed_ns)
{
    (void)user, (void)closed_ns;
    return sl_window_file_close(o.file, 1);
}

static void ignore(void *user)
{
    (void)user;
}

static const struct sl_output_functions functions = {
    .lost = "",
    .remedy = "",
    .open = open_window,
    .events = take_events,
    .sync = sync_file,
    .close = close_window,
    .fail = ignore,
    .destroy = ignore,
};

static int set_up(void **state)
{
    struct sl_output output = {.functions = &functions, .file = {.folder = &place, .ending = ".t"}};

    (void)state;
    memset(&o, 0, sizeof(o));
    o.each = sizeof("x");
    strcpy(folder, "/tmp/sl_outputs_XXXXXX");
    sl_stats_reset();
    sl_log_set_level(SL_LOG_OFF);
    sl_outputs_add(&o.list, &output);
    return mkdtemp(folder) ? sl_folder_open(&place, folder, 0600) : -1;
}

static int tear_down(void **state)
{
    char command[PATH_MAX + 16];

    (void)state;
    sl_outputs_destroy(&o.list);
    sl_folder_close(&place);
    snprintf(command, sizeof(command), "rm -rf %s", folder);
    return system(command);
}

static void window(uint32_t number, int is_requested)
{
    const struct sl_trace_meta meta = {.window = number};
    const struct sl_event ev = {.kind = SL_EV_RUNTIME};

    sl_outputs_open(&o.list, &meta, is_requested);
    if (sl_outputs_is_open(&o.list))
        sl_outputs_events(&o.list, &ev, 1);
    sl_outputs_sync(&o.list);
    sl_outputs_close(&o.list, 0);
}

static int exists(const char *name)
{
    char path[PATH_MAX + 32];

    snprintf(path, sizeof(path), "%s/%s", folder, name);
    return access(path, F_OK) == 0;
}

/* Windows 2 and 3 begin within a minute after window 1 failed, so no file is opened for them. The
 * program requests window 4, so a file is opened and the series of failures ends. */
static void a_failure_is_not_repeated_for_each_window(void **state)
{
    uint64_t renew_ns;

    (void)state;
    o.fails = -ENOSPC;
    window(1, 0);
    assert_int_equal(sl_outputs_lost_window(&o.list, &renew_ns), 1);
    assert_true(renew_ns > 0);
    assert_false(exists("1.t") || exists("1.t.part"));
    o.fails = 0;
    window(2, 0);
    window(3, 0);
    assert_int_equal(o.opened, 1);
    assert_int_equal(sl_outputs_lost_window(&o.list, &renew_ns), 3);
    assert_int_equal(sl_stats_get(SL_STAT_WINDOWS_FAILED), 3);
    window(4, 1);
    assert_int_equal(o.opened, 2);
    assert_true(exists("4.t"));
    window(5, 0);
    assert_true(exists("5.t"));
}

/* Six windows have files of 4 KB each, and the limit is 16 KB. The files of the first window and of
 * the newest windows are not deleted. Another program replaced the file of window 3, so that file
 * is not touched. */
static void the_oldest_windows_are_deleted(void **state)
{
    const struct sl_disk_options opt = {.folder = &place, .limit_bytes = 4 * 4096};
    char path[PATH_MAX + 32];

    (void)state;
    assert_int_equal(sl_disk_create(&o.list.disk, &opt), 0);
    o.list.entry[0].output.file.disk = o.list.disk;
    o.each = 4096;
    for (uint32_t number = 1; number <= 4; number++)
        window(number, 0);
    snprintf(path, sizeof(path), "%s/3.t", folder);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(close(open(path, O_CREAT | O_WRONLY, 0600)), 0);
    for (uint32_t number = 5; number <= 8; number++)
        window(number, 0);
    assert_true(exists("1.t") && exists("3.t") && exists("8.t"));
    assert_false(exists("2.t") || exists("4.t") || exists("5.t"));
    assert_int_equal(sl_stats_get(SL_STAT_WINDOWS_DELETED), 4);
    sl_disk_destroy(o.list.disk);
}

/* No file may be deleted. So the window ends when the limit is reached, and no other window
 * begins. */
static void a_run_ends_at_the_limit(void **state)
{
    const struct sl_disk_options opt = {.folder = &place, .limit_bytes = 100, .keeps_all = 1};

    (void)state;
    assert_int_equal(sl_disk_create(&o.list.disk, &opt), 0);
    o.list.entry[0].output.file.disk = o.list.disk;
    o.each = 4096;
    window(1, 0);
    assert_int_equal(sl_outputs_full_window(&o.list), 1);
    window(2, 1);
    assert_int_equal(sl_outputs_full_window(&o.list), 2);
    assert_int_equal(o.opened, 1);
    assert_true(exists("1.t"));
    sl_disk_destroy(o.list.disk);
}

/* All writes are within one time between two checks. Bytes, not only time, make a check due. */
static void a_flood_ends_at_the_limit(void **state)
{
    const struct sl_disk_options opt = {.folder = &place, .limit_bytes = 64 * 4096, .keeps_all = 1};
    const struct sl_trace_meta meta = {.window = 1};
    const struct sl_event ev = {.kind = SL_EV_RUNTIME};
    unsigned count = 0;

    (void)state;
    assert_int_equal(sl_disk_create(&o.list.disk, &opt), 0);
    o.list.entry[0].output.file.disk = o.list.disk;
    o.each = 4096;
    sl_outputs_open(&o.list, &meta, 0);
    for (; count < 200 && !sl_outputs_is_full(&o.list); count++) {
        sl_outputs_events(&o.list, &ev, 1);
        sl_outputs_sync(&o.list);
    }
    assert_int_equal(count, 65); /* the first write that exceeds the limit */
    sl_outputs_close(&o.list, 0);
    sl_disk_destroy(o.list.disk);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_failure_is_not_repeated_for_each_window, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(the_oldest_windows_are_deleted, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_run_ends_at_the_limit, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_flood_ends_at_the_limit, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
