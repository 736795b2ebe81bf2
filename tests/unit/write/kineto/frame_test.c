/* frame_test.c - the members of a trace file before and after the rows. Some readers search for
 * them by text, so their form matters. */
#include "base/software.h"
#include "unit/write/kineto/fixture.h"
#include "write/distributed.h"

static void members_stand_in_libkinetos_order(void **state)
{
    static const char *const order[] = {
        "schemaVersion",   "deviceProperties", "cupti_version",
        "generator",       "host_name",        "job",
        "trace_id",        "displayTimeUnit",  "baseTimeNanoseconds",
        "distributedInfo", "traceEvents",      "syncline",
        "traceName"};
    const struct json *member, *device, *dist;
    size_t i = 0;

    begin();
    put(device_seen(0));
    put(call(SL_EV_RUNTIME, 5, 211));
    end();
    for (member = f.trace->child; member; member = member->next, i++)
        assert_string_equal(member->key, order[i]);
    assert_int_equal(i, sizeof(order) / sizeof(order[0]));
    assert_string_equal(json_text(f.trace, "host_name"), "node\"1");
    assert_string_equal(json_text(f.trace, "displayTimeUnit"), "ms");
    assert_int_equal(strtoull(json_text(f.trace, "baseTimeNanoseconds"), NULL, 10), BASE);
    device = json_get(f.trace, "deviceProperties")->child;
    assert_string_equal(json_text(device, "name"), "NVIDIA \"A100\"");
    assert_string_equal(json_text(device, "numSms"), "108");
    assert_string_equal(json_text(device, "sharedMemPerBlockOptin"), "166912");
    assert_string_equal(json_text(device, "sharedMemPerMultiprocessor"), "167936");
    dist = json_get(f.trace, "distributedInfo");
    assert_string_equal(json_text(dist, "rank"), "3");
    assert_string_equal(json_text(dist, "world_size"), "8");
    /* Only torch.distributed knows the backend. */
    assert_string_equal(json_text(dist, "backend"), "unknown");
    assert_string_equal(json_text(f.trace, "job"), "job");
    assert_non_null(json_get(json_get(f.trace, "syncline"), "counters"));
    assert_string_equal(json_text(json_get(f.trace, "syncline"), "events"), "1");
}

static void the_run_is_in_the_header(void **state)
{
    begin();
    end();
    assert_null(json_get(f.trace, "run_id"));
    f.meta.run = "5f0c";
    f.meta.run_start_ns = OPENED - 1;
    begin();
    end();
    assert_string_equal(json_text(f.trace, "run_id"), "5f0c");
    assert_int_equal(strtoull(json_text(f.trace, "run_start_ns"), NULL, 10), OPENED - 1);
}

static const char *rank_row(int index)
{
    const struct json *e, *args;

    for (e = f.events->child; e; e = e->next)
        if (!strcmp(json_text(e, "name"), "distributedInfo") && !index--)
            break;
    args = e ? json_get(e, "args") : NULL;
    return args ? json_text(args, "rank") : NULL;
}

/* The process has no launcher: the rank follows the events, and rows say it until then. */
static void a_rank_that_may_change_is_not_in_the_header(void **state)
{
    const struct json *member;

    f.meta.rank_may_change = 1;
    begin();
    put(call(SL_EV_RUNTIME, 5, 211));
    end();
    assert_string_equal(json_text(json_get(f.trace, "distributedInfo"), "rank"), "3");
    assert_string_equal(rank_row(0), "3");
    assert_null(rank_row(1));

    begin();
    put(call(SL_EV_RUNTIME, 5, 211));
    assert_int_equal(sl_kineto_flush(f.kineto), 0);
    assert_int_equal(sl_distributed_set("{\"backend\": \"gloo\", \"rank\": 1, \"world_size\": 2}"),
                     0);
    assert_int_equal(sl_kineto_flush(f.kineto), 0);
    assert_int_equal(sl_kineto_flush(f.kineto), 0);
    end();
    for (member = f.trace->child; member && strcmp(member->key, "distributedInfo");)
        member = member->next;
    assert_string_equal(json_text(member, "backend"), "gloo");
    assert_string_equal(json_text(member, "rank"), "1");
    assert_string_equal(member->next->key, "traceName");
    assert_null(json_get(json_get(f.trace, "syncline"), "distributedInfo"));
    assert_string_equal(rank_row(0), "3");
    assert_string_equal(rank_row(1), "1");
    assert_null(rank_row(2));

    begin(); /* the rank is known at the file's begin */
    end();
    for (member = f.trace->child; strcmp(member->key, "traceEvents");)
        member = member->next;
    assert_string_equal(json_text(json_get(f.trace, "distributedInfo"), "rank"), "1");
    assert_null(rank_row(0));
}

/* HTA runs re.search(r'"rank":\s+(\d+)', line) on each line and uses the first match. */
static void hta_finds_the_rank(void **state)
{
    const void *data;
    const char *rank, *rows;
    char *text;
    size_t size;

    begin();
    put(call(SL_EV_RUNTIME, 5, 211));
    assert_int_equal(sl_kineto_flush(f.kineto), 0);
    sl_sink_memory_get(f.sink, &data, &size);
    text = strndup(data, size);
    rank = strstr(text, "\"rank\":");
    rows = strstr(text, "\"traceEvents\":[\n");
    assert_non_null(rank);
    assert_non_null(rows);
    assert_true(rank < rows);
    assert_memory_equal(rank, "\"rank\": 3,", 10);
    free(text);
    end();
}

/* The counters in a file contain only losses of this file. Otherwise the next file would seem
 * incomplete, too. */
static void counters_are_those_of_the_file(void **state)
{
    sl_stats_reset();
    sl_stats_add(SL_STAT_DROPPED_RING, 3);
    begin();
    end();
    assert_string_equal(counter("dropped_ring"), "3");
    /* Imitates rows that the writer lost while a failed file was open. */
    sl_stats_add(SL_STAT_DROPPED_WRITE, 7);
    begin();
    sl_stats_add(SL_STAT_DROPPED_RING, 1);
    end();
    assert_string_equal(counter("dropped_ring"), "1");
    assert_string_equal(counter("dropped_write"), "0");
}

static void a_device_seen_late_stands_in_the_trailer(void **state)
{
    const struct json *late;

    make_device(1);
    begin();
    put(device_seen(0));
    put(call(SL_EV_RUNTIME, 5, 211));
    put(device_seen(1));
    end();
    assert_int_equal(json_get(f.trace, "deviceProperties")->count, 1);
    late = json_get(json_get(f.trace, "syncline"), "deviceProperties");
    assert_int_equal(late->count, 1);
    assert_string_equal(json_text(late->child, "id"), "1");
}

/* Returns the trace id of a file of a new writer. The writer writes the id with the first row. */
static void trace_id_of(char *id, size_t size)
{
    begin();
    end();
    snprintf(id, size, "%s", json_text(f.trace, "trace_id"));
}

static void a_trace_id_is_the_files_own(void **state)
{
    char first[64], again[64], window[64], process[64], host[64];

    trace_id_of(first, sizeof(first));
    trace_id_of(again, sizeof(again));
    f.meta.window++;
    trace_id_of(window, sizeof(window));
    f.meta.window--;
    f.meta.pid++;
    trace_id_of(process, sizeof(process));
    f.meta.pid--;
    f.meta.host = "node2";
    trace_id_of(host, sizeof(host));
    assert_int_equal(strlen(first), 32);
    assert_int_equal(strspn(first, "0123456789ABCDEF"), 32);
    assert_string_equal(first, again);
    assert_string_not_equal(first, window);
    assert_string_not_equal(first, process);
    assert_string_not_equal(first, host);
}

static void what_is_not_known_is_left_out(void **state)
{
    f.meta.cuda_runtime_version = 13000;
    f.meta.cupti_version = 0;
    f.meta.host = f.meta.job = f.meta.process_name = f.meta.trace_name = NULL;
    begin();
    end();
    assert_null(json_get(f.trace, "cupti_version"));
    assert_null(json_get(f.trace, "cuda_driver_version"));
    assert_string_equal(json_text(f.trace, "cuda_runtime_version"), "13000");
    assert_string_equal(json_text(f.trace, "host_name"), "");
    assert_string_equal(json_text(f.trace, "traceName"), "");
    assert_int_equal(json_get(f.trace, "deviceProperties")->count, 0);
    assert_null(json_get(json_get(f.trace, "syncline"), "deviceProperties"));
}

static void the_trailer_says_what_window_it_was(void **state)
{
    const struct json *own, *last;

    f.meta.window = 7;
    begin();
    put(call(SL_EV_RUNTIME, 5, 211));
    put(call(SL_EV_RUNTIME, 6, 211));
    end();
    own = json_get(f.trace, "syncline");
    assert_string_equal(json_text(own, "version"), "0.1.0");
    assert_string_equal(json_text(own, "job"), "job");
    assert_string_equal(json_text(own, "detail"), "default");
    assert_string_equal(json_text(own, "window"), "7");
    assert_string_equal(json_text(own, "opened_ns"), "1700000000123456789");
    assert_string_equal(json_text(own, "closed_ns"), "1700000001123456789");
    assert_string_equal(json_text(own, "events"), "2");
    last = f.events->last;
    assert_string_equal(json_text(last, "name"), "Record Window End");
    assert_int_equal(strtoull(json_text(last, "ts"), NULL, 10),
                     (OPENED + 1000000000 - BASE) / 1000);
}

/* Versions that are known when the file begins are written before the rows, so that they are in the
 * file of a killed process, too. Versions that become known later are written after the rows. This
 * case must run last, because versions cannot become unknown again. */
static void versions_stand_where_they_are_known_first(void **state)
{
    sl_software_set(SL_SOFTWARE_PYTHON, "3.11.7 (main)");
    begin();
    put(call(SL_EV_RUNTIME, 5, 211));
    sl_software_set(SL_SOFTWARE_PYTORCH, "2.11.0");
    end();
    assert_string_equal(json_text(f.trace, "python_version"), "3.11.7");
    assert_null(json_get(f.trace, "pytorch_version"));
    assert_string_equal(json_text(json_get(f.trace, "syncline"), "python_version"), "3.11.7");
    assert_string_equal(json_text(json_get(f.trace, "syncline"), "pytorch_version"), "2.11.0");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(members_stand_in_libkinetos_order),
        CASE(hta_finds_the_rank),
        CASE(the_run_is_in_the_header),
        CASE(counters_are_those_of_the_file),
        CASE(a_device_seen_late_stands_in_the_trailer),
        CASE(a_trace_id_is_the_files_own),
        CASE(what_is_not_known_is_left_out),
        CASE(the_trailer_says_what_window_it_was),
        CASE(versions_stand_where_they_are_known_first),
        /* last, because what the job tells cannot be taken back */
        CASE(a_rank_that_may_change_is_not_in_the_header),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
