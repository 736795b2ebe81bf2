/* names_test.c - a file has the names of all processes and threads that have rows in the file. */
#include "unit/write/kineto/fixture.h"

/* Returns the number of rows with this name. */
static int rows_named(const char *name)
{
    const struct json *e;
    int n = 0;

    for (e = f.events->child; e; e = e->next)
        n += strcmp(json_text(e, "name"), name) == 0;
    return n;
}

/* There are more threads than the table holds. Each thread still has a row with its name, and
 * threads that the table forgot are counted. */
static void a_full_table_starts_anew(void **state)
{
    struct sl_event ev = call(SL_EV_RUNTIME, 1, 211);
    const int threads = 20000;
    int i;

    sl_stats_reset();
    begin();
    for (i = 1; i <= threads; i++) {
        ev.thread = (uint32_t)i;
        put(ev);
    }
    end();
    assert_int_equal(rows_named("cudaLaunchKernel"), threads);
    assert_int_equal(rows_named("thread_name"), threads);
    assert_in_range(strtoull(counter("names_lost"), NULL, 10), 1, threads);
}

static void events_without_end_do_not_use_up_the_table(void **state)
{
    struct sl_event ev = event(SL_EV_META_EVENT, 0, 0, 0),
                    thread = event(SL_EV_META_THREAD, 0, 0, 0);

    sl_stats_reset();
    thread.thread = 4300;
    thread.name = intern("kept");
    put(thread);
    ev.name = intern("event");
    for (ev.event_handle = 1; ev.event_handle <= 20000; ev.event_handle++)
        put(ev);
    begin();
    put(call(SL_EV_RUNTIME, 5, 211));
    end();
    assert_int_equal(rows_named("cuda_event_name"), 4096);
    assert_string_equal(counter("names_lost"), "15904");
    assert_string_equal(arg(find("name", "thread_name", 0), "name"), "thread 4300 (kept)");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(a_full_table_starts_anew),
        CASE(events_without_end_do_not_use_up_the_table),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
