/* plugin_test.c - calls our profiler plugin as NCCL does, and as NCCL never should. */
#include "test.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/intern.h"
#include "base/text_table.h"
#include "collect/nccl/level.h"
#include "collect/nccl/plugin.h"
#include "collect/nccl/read.h"

static int mask;

static void *init(uint64_t hash, const char *name, int ranks, int rank)
{
    void *context = NULL;

    assert_int_equal(sl_nccl_plugin_init_v5(&context, hash, &mask, name, 1, ranks, rank, NULL), 0);
    return context;
}

static void *start(void *context, struct sl_nccl_descriptor d)
{
    void *handle = NULL;

    assert_int_equal(sl_nccl_plugin_start(context, &handle, &d), 0);
    assert_non_null(handle);
    return handle;
}

static struct sl_nccl_descriptor call(void *group, const char *func, uint64_t count)
{
    return (struct sl_nccl_descriptor){
        .type = SL_NCCL_COLL_API,
        .parent = group,
        .coll_api = {.func = func, .count = count, .dtype = "ncclFloat32", .root = 1}};
}

static struct sl_nccl_descriptor coll(void *call, const char *func, uint64_t number)
{
    return (struct sl_nccl_descriptor){.type = SL_NCCL_COLL,
                                       .parent = call,
                                       .coll = {.number = number,
                                                .func = func,
                                                .count = 4096,
                                                .dtype = "ncclInt8",
                                                .channels = 4,
                                                .algorithm = "TREE",
                                                .protocol = "LL128"}};
}

static struct sl_nccl_descriptor of_type(uint64_t type, void *parent)
{
    return (struct sl_nccl_descriptor){.type = type, .parent = parent};
}

/* ---- reading ---- */

static struct sl_intern *names;
static struct sl_launches *launches;
static struct sl_nccl_read *reader;
static uint64_t now_ns = 1000;
static struct sl_nccl_event last[64];

/* Reads all records, each 10 ns after the one before. Returns the number of NCCL's records. */
static unsigned read_all(void)
{
    const struct sl_lane_record *r;
    unsigned count = 0;

    for (unsigned i = 0; i < sl_lanes_used(); i++) {
        while ((r = sl_lane_next(sl_lane_at(i)))) {
            if (r->what == SL_LANE_NCCL && count < 64)
                memcpy(&last[count], r, sizeof(*last));
            count += r->what == SL_LANE_NCCL;
            sl_nccl_read_record(reader, 7, r, now_ns += 10, 0);
            sl_lane_read(sl_lane_at(i), r);
        }
    }
    sl_nccl_read_done(reader);
    return count;
}

/* Returns the text about a launch on thread 7, or "". */
static const char *about(uint64_t ns, uint64_t *number)
{
    const struct sl_launch_about *a = sl_launches_find(launches, 7, ns);

    if (number)
        *number = a ? a->number : 0;
    return a && a->text ? sl_intern_get(names, a->text, NULL) : "";
}

static struct sl_event fact; /* the last fact about a graph node */
static unsigned facts;

static void take_fact(void *user, const struct sl_event *ev)
{
    if (ev->kind == SL_EV_NVTX_RANGE_MARK)
        return;
    assert_int_equal(ev->kind, SL_EV_META_NODE);
    assert_int_equal(ev->fact, SL_NODE_WORK);
    fact = *ev;
    facts++;
}

static int set_up(void **state)
{
    const struct sl_nccl_read_options opt = {.texts_bytes = 1 << 20, .sink = take_fact};
    struct sl_nccl_read_options all = opt;

    (void)state;
    if (sl_lanes_init(16 << 20) || sl_intern_create(&names, 1 << 20) ||
        sl_launches_create(&launches))
        return -1;
    all.names = names;
    all.launches = launches;
    if (sl_nccl_read_create(&reader, &all))
        return -1;
    sl_nccl_level_set(SL_NCCL_CALLS);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    sl_nccl_read_destroy(reader);
    sl_launches_destroy(launches);
    sl_intern_destroy(names);
    return 0;
}

/* ---- tests ---- */

static void mask_is_set_in_windows_only(void **state)
{
    void *context = init(1, NULL, 2, 0), *handle;

    assert_int_equal(mask, 0);
    sl_nccl_level_enable(1);
    assert_int_equal(mask, 0x1e06);
    sl_nccl_level_enable(0);
    assert_int_equal(mask, 0);
    /* captured graphs keep their mask */
    handle = start(context, call(NULL, "AllReduce", 8));
    assert_int_equal(sl_nccl_plugin_end(handle), 0);
    assert_int_equal(sl_nccl_plugin_end(handle), 0);
    assert_int_equal(read_all(), 0);
    assert_int_equal(sl_nccl_plugin_odd(), 0);
    sl_nccl_level_set(SL_NCCL_OFF);
    sl_nccl_level_enable(1);
    assert_int_equal(mask, 0);
    sl_nccl_level_set(SL_NCCL_CALLS);
    sl_nccl_level_enable(0);
    sl_nccl_plugin_finalize(context);
}

/* NCCL 2.27 has neither call nor launch events. Its type has 8 bits. */
static void version_4_reports_only_collectives(void **state)
{
    static int other = 5; /* a mask of NCCL is written as long as the process lives */
    struct sl_nccl_descriptor d = coll(NULL, "AllReduce", 1);
    void *context = NULL, *handle = NULL;

    d.type |= 0xa5a5a500;
    sl_nccl_level_enable(1);
    assert_int_equal(sl_nccl_plugin_init_v4(&context, &other, "name", 7, 1, 2, 1, NULL), 0);
    assert_int_equal(other, SL_NCCL_COLL | SL_NCCL_P2P);
    assert_int_equal(sl_nccl_plugin_start_v4(context, &handle, &d), 0);
    assert_non_null(handle);
    assert_int_equal(sl_nccl_plugin_end(handle), 0);
    assert_int_equal(read_all(), 1);
    assert_int_equal(last[0].record.parts, SL_NCCL_RECORD_COLL);
    sl_nccl_level_enable(0);
    sl_nccl_plugin_finalize(context);
}

static void version_7_needs_nccl_2_31(void **state)
{
    void *context = &mask;
    int other = 5;

    assert_int_equal(sl_nccl_plugin_init_v7(&context, 1, &other, NULL, 1, 2, 0, NULL), 1);
    assert_int_equal(other, 5);
}

/* Two calls of a group in two kernels, and an AllGather whose Coll has bytes. */
static void kernels_are_described(void **state)
{
    void *context = init(0xabc, "tp", 4, 3), *group, *reduce, *gather, *launch;
    uint64_t number;

    sl_nccl_level_enable(1);
    group = start(context, of_type(SL_NCCL_GROUP_API, NULL));
    reduce = start(context, call(group, "AllReduce", 100));
    gather = start(context, call(group, "AllGather", 1024));
    sl_nccl_plugin_end(gather);
    launch = start(context, of_type(SL_NCCL_KERNEL_LAUNCH, group));
    sl_nccl_plugin_end(launch);
    start(context, coll(reduce, "AllReduce", 5));
    launch = start(context, of_type(SL_NCCL_KERNEL_LAUNCH, group));
    sl_nccl_plugin_end(launch);
    start(context, coll(gather, "AllGather", 6));
    sl_nccl_plugin_end(group);
    /* The last six records are a launch, its end and its collective, twice. Each is 10 ns later. */
    assert_int_equal(read_all(), 8);
    assert_string_equal(
        about(now_ns - 40, &number),
        ",\"NCCL count\":100,\"NCCL dtype\":\"ncclFloat32\",\"NCCL bytes\":400,"
        "\"NCCL call\":\"AllReduce\",\"Algorithm\":\"TREE\",\"Protocol\":\"LL128\",\"Channels\":4,"
        "\"Comm\":\"0x0000000000000abc\",\"Comm name\":\"tp\",\"Comm ranks\":4,\"Comm rank\":3");
    assert_int_equal(number, 5);
    assert_non_null(strstr(about(now_ns - 10, &number), "\"NCCL count\":1024"));
    assert_non_null(strstr(about(now_ns - 10, &number), "\"NCCL call\":\"AllGather\""));
    assert_int_equal(number, 6);
    assert_string_equal(about(now_ns - 30, NULL), "");
    sl_nccl_plugin_finalize(context);
}

struct read_event {
    uint32_t thread, kind;
    uint64_t ns, handle, parent, count, number, tasks;
};

/* Passes events of AllReduces to the reader, as one pass over all lanes. */
static void read_events(uint32_t comm, uint64_t from, const struct read_event *all, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct sl_nccl_event e = {.record = {.what = SL_LANE_NCCL,
                                                   .parts = (uint8_t)all[i].kind,
                                                   .pairs = sizeof(e) / 16,
                                                   .aux = comm},
                                        .handle = all[i].handle,
                                        .parent = all[i].parent,
                                        .count = all[i].count,
                                        .number = all[i].number,
                                        .func = sl_text_table_put("AllReduce", 9),
                                        .tasks = all[i].tasks};

        sl_nccl_read_record(reader, all[i].thread, &e.record, from + all[i].ns, 0);
    }
    sl_nccl_read_done(reader);
    now_ns = from + 1000;
}

/* The lane of the thread that launches is read before the lane of the thread that calls, as with
 * communicators that do not block. CUDA's thread reports the collectives of both kernels at the
 * end, in the order of the kernels. */
static void threads_are_put_in_order(void **state)
{
    const uint32_t comm = (uint32_t)(uintptr_t)init(0xdef, NULL, 2, 0);
    static const struct read_event all[] = {
        {9, SL_NCCL_RECORD_COLL, 60, 91, 51, 4096, 7, 901},
        {9, SL_NCCL_RECORD_COLL, 70, 92, 52, 4096, 8, 902},
        {8, SL_NCCL_RECORD_LAUNCH, 20, 81, 50, 0, 0, 0},
        {8, SL_NCCL_RECORD_LAUNCH_END, 30, 81, 0, 0, 0, 0},
        {8, SL_NCCL_RECORD_LAUNCH, 40, 82, 50, 0, 0, 0},
        {8, SL_NCCL_RECORD_LAUNCH_END, 50, 82, 0, 0, 0, 0},
        {7, SL_NCCL_RECORD_CALL, 10, 51, 50, 11, 0, 0},
        {7, SL_NCCL_RECORD_CALL, 11, 52, 50, 22, 0, 0},
    };
    const uint64_t from = now_ns + 1000;

    read_events(comm, from, all, sizeof(all) / sizeof(*all));
    for (uint64_t i = 0; i < 2; i++) {
        const struct sl_launch_about *a = sl_launches_find(launches, 8, from + 25 + 20 * i);

        assert_non_null(a);
        assert_int_equal(a->number, 7 + i);
        assert_non_null(strstr(sl_intern_get(names, a->text, NULL),
                               i ? "\"NCCL count\":22," : "\"NCCL count\":11,"));
    }
    sl_nccl_plugin_finalize((void *)(uintptr_t)comm);
}

/* CUDA's thread reports a captured collective at each replay. The first report adds the number of
 * channels and so on to what is known about the node; no report is lost or changes the launch. */
static void replays_say_what_was_captured(void **state)
{
    const uint32_t comm = (uint32_t)(uintptr_t)init(0xfed, NULL, 2, 0);
    const uint64_t call = 1 << SL_NCCL_KIND_BITS | SL_NCCL_KIND_CAPTURED, from = now_ns + 1000;
    const uint64_t lost = sl_nccl_read_lost(reader);
    const struct read_event capture[] = {
        {7, SL_NCCL_RECORD_CALL, 10, call, 150, 11, 0, 0},
        {7, SL_NCCL_RECORD_LAUNCH, 20, 181, 150, 0, 0, 0},
        {7, SL_NCCL_RECORD_NODE, 25, 181, 150, 0, 4711, 0},
        {7, SL_NCCL_RECORD_LAUNCH_END, 30, 181, 0, 0, 0, 0},
    };
    const struct read_event replay = {9, SL_NCCL_RECORD_COLL, 60, 191, call, 4096, 7, 911};
    const struct read_event again = {9, SL_NCCL_RECORD_COLL, 70, 192, call, 4096, 8, 912};
    uint64_t number;

    facts = 0;
    read_events(comm, from, capture, 4);
    assert_int_equal(facts, 1);
    assert_int_equal(fact.u.node.id, 4711);
    assert_string_equal(sl_intern_get(names, fact.name, NULL), about(from + 25, &number));
    assert_int_equal(number, UINT64_MAX);
    read_events(comm, from, &replay, 1);
    assert_int_equal(facts, 2);
    assert_non_null(strstr(sl_intern_get(names, fact.name, NULL), "\"NCCL count\":11,"));
    read_events(comm, from, &again, 1);
    assert_int_equal(facts, 2);
    assert_int_equal(sl_nccl_read_lost(reader), lost);
    about(from + 25, &number);
    assert_int_equal(number, UINT64_MAX);
    sl_nccl_plugin_finalize((void *)(uintptr_t)comm);
}

static void unreadable_texts_are_left_out(void **state)
{
    void *context = init(2, (const char *)16, 2, 0);
    char longest[300];

    memset(longest, 'x', sizeof(longest));
    longest[299] = '\0';
    sl_nccl_level_enable(1);
    start(context, call(NULL, NULL, UINT64_MAX));
    start(context, call(NULL, (const char *)4711, UINT64_MAX / 2));
    start(context, call(NULL, longest, 1));
    start(context, call(NULL, (const char *)UINTPTR_MAX, 1));
    assert_int_equal(read_all(), 4);
    assert_int_equal(last[0].func, 0);
    assert_int_equal(last[1].func, 0);
    assert_int_equal(strlen(sl_text_table_get(last[2].func, NULL)), 64);
    assert_int_equal(last[3].func, 0);
    sl_nccl_plugin_finalize(context);
}

static void calls_that_do_not_fit_are_counted(void **state)
{
    void *context = init(3, NULL, 2, 1), *launch, *other;
    uint64_t odd = sl_nccl_plugin_odd();

    sl_nccl_level_enable(1);
    launch = start(context, of_type(SL_NCCL_KERNEL_LAUNCH, NULL));
    assert_int_equal(sl_nccl_plugin_end(launch), 0);
    assert_int_equal(sl_nccl_plugin_end(launch), 0); /* twice */
    other = start(context, of_type(SL_NCCL_KERNEL_LAUNCH, launch));
    assert_int_equal(sl_nccl_plugin_end(launch), 0); /* out of order */
    assert_int_equal(sl_nccl_plugin_end(other), 0);
    assert_int_equal(sl_nccl_plugin_end(NULL), 0);
    assert_int_equal(sl_nccl_plugin_end((void *)0xfffffffffffff), 0); /* of another library */
    assert_int_equal(sl_nccl_plugin_odd() - odd, 4);
    assert_int_equal(sl_nccl_plugin_state(NULL, 99, NULL), 0);
    start(context, of_type(UINT64_MAX, NULL));
    start(context, of_type(1 << 15, (void *)1));
    assert_int_equal(sl_nccl_plugin_finalize(context), 0);
    assert_int_equal(sl_nccl_plugin_finalize(context), 0); /* twice */
    assert_int_equal(sl_nccl_plugin_finalize(NULL), 0);
    assert_int_equal(sl_nccl_plugin_odd() - odd, 6);
    start(context, call(NULL, "AllReduce", 1)); /* after the communicator's end */
    start((void *)(uintptr_t)0x123456789, call(NULL, "AllReduce", 1));
    read_all();
}

static void communicators_come_and_go(void **state)
{
    void *context[SL_NCCL_COMMS + 10];
    unsigned without = 0;

    for (int i = 0; i < 100000; i++)
        sl_nccl_plugin_finalize(init((uint64_t)i, NULL, 1 << 30, i));
    for (unsigned i = 0; i < SL_NCCL_COMMS + 10; i++)
        without += (context[i] = init(9, "same", INT32_MAX, -1)) == NULL;
    assert_int_equal(without, 10);
    start(NULL, call(NULL, "AllReduce", 1));
    for (unsigned i = 0; i < SL_NCCL_COMMS; i++)
        sl_nccl_plugin_finalize(context[i]);
}

/* Calls with random arguments from several threads. */
static void *hammer(void *seed)
{
    static const uint64_t types[] = {1, 2, 4, 8, 64, 256, 512, 1024, 2048, 4096, 0, UINT64_MAX};
    static const char *const texts[] = {NULL,          "AllReduce", "Broadcast",
                                        "ncclFloat32", (char *)3,   ""};
    unsigned state = (unsigned)(uintptr_t)seed;
    void *handle[8] = {0}, *context = NULL;

    for (int i = 0; i < 20000; i++) {
        unsigned random = (unsigned)rand_r(&state);
        struct sl_nccl_descriptor d = {.type = types[random % 12],
                                       .parent = handle[random >> 4 & 7],
                                       .coll = {.number = random,
                                                .func = texts[random >> 8 & 3],
                                                .send = texts[random >> 10 & 3],
                                                .dtype = texts[random >> 12 & 3],
                                                .algorithm = texts[random >> 14 & 3]}};

        switch (random >> 20 & 7) {
        case 0:
            sl_nccl_plugin_init_v5(&context, random, &mask, texts[random >> 8 & 3], 1, 2, 0, NULL);
            break;
        case 1:
            sl_nccl_plugin_finalize(context);
            break;
        case 2:
        case 3:
            sl_nccl_plugin_end(handle[random >> 4 & 7]);
            break;
        case 4:
            sl_nccl_level_enable((int)random & 1);
            break;
        default:
            if (d.type == 512 || d.type == 1024 ||
                d.type == 4) /* these begin with their function */
                d.coll_api.func = texts[random >> 8 & 3];
            sl_nccl_plugin_start(random & 1 ? context : handle[0], &handle[random >> 4 & 7], &d);
            break;
        }
    }
    return NULL;
}

static void threads_may_call_anything(void **state)
{
    pthread_t thread[4];

    for (uintptr_t i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&thread[i], NULL, hammer, (void *)(i + 1)), 0);
    for (int i = 0; i < 4; i++)
        pthread_join(thread[i], NULL);
    read_all();
}

static void nothing_is_recorded_after_a_stop(void **state)
{
    void *context = init(4, NULL, 2, 0);

    sl_nccl_level_enable(1);
    sl_nccl_level_stop();
    assert_int_equal(mask, 0);
    sl_nccl_level_enable(1);
    assert_int_equal(mask, 0);
    start(context, call(NULL, "AllReduce", 1));
    assert_int_equal(read_all(), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mask_is_set_in_windows_only),
        cmocka_unit_test(version_4_reports_only_collectives),
        cmocka_unit_test(version_7_needs_nccl_2_31),
        cmocka_unit_test(kernels_are_described),
        cmocka_unit_test(threads_are_put_in_order),
        cmocka_unit_test(replays_say_what_was_captured),
        cmocka_unit_test(unreadable_texts_are_left_out),
        cmocka_unit_test(calls_that_do_not_fit_are_counted),
        cmocka_unit_test(communicators_come_and_go),
        cmocka_unit_test(threads_may_call_anything),
        cmocka_unit_test(nothing_is_recorded_after_a_stop),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
