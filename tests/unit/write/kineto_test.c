/* kineto_test.c - the file as its readers see it, parsed back by a strict reader. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/stats.h"
#include "unit/write/json_dom.h"
#include "write/kineto.h"

#define OPENED 1700000000123456789u
#define BASE   (1700000000u / 7889238u * 7889238u * 1000000000ull)

struct fixture {
    struct sl_intern *intern;
    struct sl_shape_table *shapes;
    struct sl_device_table *devices;
    struct sl_kineto *kineto;
    struct sl_sink *sink;
    struct sl_trace_meta meta;
    struct json *trace;
    const struct json *events;
};

static struct fixture f;

static const char *api_name(enum sl_event_kind domain, uint32_t cbid)
{
    if (domain == SL_EV_RUNTIME)
        return cbid == 211 ? "cudaLaunchKernel" : "cudaStreamSynchronize";
    return cbid == 652 ? "cuLaunchKernelEx" : NULL;
}

static void make_device(uint32_t id)
{
    struct sl_device *d = &f.devices->device[id];

    d->id = id;
    d->known = 1;
    d->compute_major = 8;
    d->multiprocessors = 108;
    d->max_threads_per_block = 1024;
    d->max_threads_per_sm = 2048;
    d->max_blocks_per_sm = 32;
    d->max_warps_per_sm = 64;
    d->max_registers_per_block = d->max_registers_per_sm = 65536;
    d->max_shared_per_block = 49152;
    d->max_shared_per_sm = 167936;
    d->warp_size = 32;
    d->memory_bytes = 42297524224u;
    strcpy(d->name, "NVIDIA \"A100\"");
}

static void make_kineto(enum sl_detail detail, size_t cap)
{
    struct sl_kineto_options opt = {detail, f.intern, f.shapes, f.devices, cap, api_name};

    assert_int_equal(sl_kineto_create(&f.kineto, &opt), 0);
}

static int set_up(void **state)
{
    (void)state;
    memset(&f, 0, sizeof(f));
    f.devices = calloc(1, sizeof(*f.devices));
    assert_int_equal(sl_intern_create(&f.intern, 4 << 20), 0);
    assert_int_equal(sl_shape_create(&f.shapes, 1 << 20), 0);
    make_device(0);
    make_kineto(SL_DETAIL_DEFAULT, 0);
    f.meta.pid = 4242;
    f.meta.rank = 3;
    f.meta.world_size = 8;
    f.meta.host = "node\"1";
    f.meta.job = "job";
    f.meta.process_name = "python3";
    f.meta.syncline_version = "0.1.0";
    f.meta.trace_name = "/tmp/1.pt.trace.json";
    f.meta.cupti_version = 130001;
    f.meta.opened_ns = OPENED;
    f.meta.window = 1;
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    json_free(f.trace);
    sl_kineto_destroy(f.kineto);
    sl_shape_destroy(f.shapes);
    sl_intern_destroy(f.intern);
    free(f.devices);
    return 0;
}

static uint32_t intern(const char *text)
{
    return sl_intern_put(f.intern, text, strlen(text));
}

static struct sl_event event(enum sl_event_kind kind, uint64_t id, uint64_t start, uint64_t end)
{
    struct sl_event ev;

    memset(&ev, 0, sizeof(ev));
    ev.kind = (uint8_t)kind;
    ev.correlation = id;
    ev.start_ns = BASE + start;
    ev.end_ns = BASE + end;
    ev.context = 1;
    ev.stream = 7;
    return ev;
}

static struct sl_event call(enum sl_event_kind kind, uint64_t id, uint32_t cbid)
{
    struct sl_event ev = event(kind, id, 1000000, 1005000);

    ev.context = ev.stream = 0;
    ev.thread = 4300;
    ev.u.call.cbid = cbid;
    ev.u.call.pid = 4242;
    return ev;
}

static struct sl_event kernel_named(const char *name, size_t length, uint64_t id)
{
    struct sl_event ev = event(SL_EV_KERNEL, id, 5000123456, 5000123456 + 41407);
    struct sl_shape s;

    memset(&s, 0, sizeof(s));
    s.kind = SL_EV_KERNEL;
    s.name = sl_intern_put(f.intern, name, length);
    s.context = 1;
    s.stream = 7;
    s.priority = -1;
    s.grid[0] = 128;
    s.grid[1] = s.grid[2] = 1;
    s.block[0] = 128;
    s.block[1] = s.block[2] = 1;
    s.registers = 16;
    s.static_shared = 100;
    s.dynamic_shared = 300;
    ev.name = s.name;
    ev.shape = sl_shape_put(f.shapes, &s);
    return ev;
}

static struct sl_event copy(uint64_t id, uint64_t bytes, uint64_t ns)
{
    struct sl_event ev = event(SL_EV_MEMCPY, id, 2000000, 2000000 + ns);
    struct sl_shape s;

    memset(&s, 0, sizeof(s));
    s.kind = SL_EV_MEMCPY;
    s.context = 1;
    s.stream = 7;
    s.copy_kind = 1;
    s.src_memory = 2;
    s.dst_memory = 3;
    ev.shape = sl_shape_put(f.shapes, &s);
    ev.u.op.bytes = bytes;
    return ev;
}

static struct sl_event device_seen(uint16_t device)
{
    struct sl_event ev = event(SL_EV_META_DEVICE, 0, 0, 0);

    ev.device = device;
    ev.u.meta.index = device;
    return ev;
}

static void begin(void)
{
    assert_int_equal(sl_sink_memory_open(&f.sink), 0);
    assert_int_equal(sl_kineto_begin(f.kineto, f.sink, &f.meta), 0);
}

static void put(struct sl_event ev)
{
    assert_int_equal(sl_kineto_events(f.kineto, &ev, 1), 0);
}

/* Ends the file and reads it. */
static void end(void)
{
    const void *data;
    size_t size;

    assert_int_equal(sl_kineto_end(f.kineto, OPENED + 1000000000), 0);
    sl_sink_memory_get(f.sink, &data, &size);
    json_free(f.trace);
    f.trace = json_parse(data, size);
    assert_non_null(f.trace);
    f.events = json_get(f.trace, "traceEvents");
    assert_non_null(f.events);
    assert_int_equal(f.sink->close(f.sink, 1), 0);
}

/* The n-th event (from 0) whose member has this value. */
static const struct json *find(const char *key, const char *value, int n)
{
    const struct json *e;

    for (e = f.events->child; e; e = e->next)
        if (strcmp(json_text(e, key), value) == 0 && n-- == 0)
            return e;
    return NULL;
}

static const char *arg(const struct json *e, const char *key)
{
    return json_text(json_get(e, "args"), key);
}

/* ---- the file ---- */

static void members_stand_in_libkinetos_order(void **state)
{
    static const char *const order[] = {
        "schemaVersion",   "deviceProperties", "cupti_version",   "generator",
        "host_name",       "trace_id",         "displayTimeUnit", "baseTimeNanoseconds",
        "distributedInfo", "traceEvents",      "syncline",        "traceName"};
    const struct json *member, *device, *dist;
    size_t i = 0;

    (void)state;
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
    assert_string_equal(json_text(device, "sharedMemPerMultiprocessor"), "167936");
    dist = json_get(f.trace, "distributedInfo");
    assert_string_equal(json_text(dist, "rank"), "3");
    assert_string_equal(json_text(dist, "world_size"), "8");
    assert_non_null(json_get(json_get(f.trace, "syncline"), "counters"));
    assert_string_equal(json_text(json_get(f.trace, "syncline"), "events"), "1");
}

/* HTA: re.search(r'"rank":\s+(\d+)', line) over the lines, first match. */
static void hta_finds_the_rank(void **state)
{
    const void *data;
    const char *rank, *rows;
    char *text;
    size_t size;

    (void)state;
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

static const char *counter(const char *name)
{
    return json_text(json_get(json_get(f.trace, "syncline"), "counters"), name);
}

/* A loss of one file must not make the next look incomplete. */
static void counters_are_those_of_the_file(void **state)
{
    (void)state;
    sl_stats_reset();
    sl_stats_add(SL_STAT_DROPPED_RING, 3);
    begin();
    end();
    assert_string_equal(counter("dropped_ring"), "3");
    /* What the writer counts while a failed file is open. */
    sl_stats_add(SL_STAT_DROPPED_WRITE, 7);
    begin();
    sl_stats_add(SL_STAT_DROPPED_RING, 1);
    end();
    assert_string_equal(counter("dropped_ring"), "1");
    assert_string_equal(counter("dropped_write"), "0");
}

static void an_empty_window_is_a_valid_file(void **state)
{
    (void)state;
    begin();
    end();
    assert_string_equal(json_text(f.events->child, "name"), "process_name");
    assert_string_equal(json_text(f.events->last, "name"), "Record Window End");
}

static void metadata_comes_first_and_when_first_seen(void **state)
{
    struct sl_event thread = event(SL_EV_META_THREAD, 0, 0, 0);
    struct sl_event stream = event(SL_EV_META_STREAM, 0, 0, 0);
    const struct json *e;
    int file, named = 0, position = 0, row = -1, name_row = -1;

    (void)state;
    thread.thread = 4300;
    thread.name = intern("worker \"1\"");
    stream.name = intern("comm");
    put(thread); /* before any file: kept for those to come */
    put(stream);
    for (file = 0; file < 2; file++) {
        begin();
        put(call(SL_EV_RUNTIME, 5, 211));
        put(call(SL_EV_RUNTIME, 6, 211));
        put(copy(5, 100, 10));
        end();
        assert_string_equal(json_text(f.events->child, "name"), "process_name");
        assert_string_equal(arg(f.events->child, "name"), "python3");
        assert_string_equal(json_text(f.events->child, "pid"), "4242");
        assert_string_equal(arg(find("name", "process_labels", 0), "labels"), "CPU");
        assert_string_equal(arg(find("name", "process_labels", 1), "labels"), "GPU 0");
        assert_string_equal(arg(find("name", "process_sort_index", 1), "sort_index"), "5000000");
        assert_string_equal(arg(find("name", "thread_name", 0), "name"),
                            "thread 4300 (worker \"1\")");
        assert_string_equal(arg(find("name", "thread_name", 1), "name"), "stream 7 comm");
        assert_null(find("name", "thread_name", 2));
        for (e = f.events->child, position = 0, row = name_row = -1; e; e = e->next, position++) {
            if (row < 0 && strcmp(json_text(e, "cat"), "cuda_runtime") == 0)
                row = position;
            if (name_row < 0 && strcmp(json_text(e, "name"), "thread_name") == 0)
                name_row = position;
        }
        assert_true(name_row > 0 && row > name_row);
        named++;
    }
    assert_int_equal(named, 2);
}

static void a_name_that_comes_late_is_written_again(void **state)
{
    struct sl_event thread = event(SL_EV_META_THREAD, 0, 0, 0);

    (void)state;
    thread.thread = 4300;
    thread.name = intern("late");
    begin();
    put(call(SL_EV_RUNTIME, 5, 211));
    put(thread);
    put(thread);
    end();
    assert_string_equal(arg(find("name", "thread_name", 0), "name"), "thread 4300");
    assert_string_equal(arg(find("name", "thread_name", 1), "name"), "thread 4300 (late)");
    assert_null(find("name", "thread_name", 2));
}

/* Two contexts of a device may have a stream of the same number. */
static void streams_have_their_flags(void **state)
{
    struct sl_event stream = event(SL_EV_META_STREAM, 0, 0, 0);

    (void)state;
    stream.context = 1;
    stream.u.meta.flags = 3;
    put(stream);
    begin();
    put(copy(5, 100, 10));
    stream.context = 2;
    stream.u.meta.flags = 1;
    put(stream);
    put(stream);
    end();
    assert_string_equal(arg(find("name", "thread_name", 0), "stream flags"), "3");
    assert_string_equal(arg(find("name", "thread_name", 0), "context"), "1");
    assert_string_equal(arg(find("name", "thread_name", 1), "stream flags"), "1");
    assert_string_equal(arg(find("name", "thread_name", 1), "context"), "2");
    assert_null(find("name", "thread_name", 2));
}

static void a_device_seen_late_stands_in_the_trailer(void **state)
{
    const struct json *late;

    (void)state;
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

/* ---- rows ---- */

static void calls_have_name_ids_and_times(void **state)
{
    struct sl_event failed = call(SL_EV_RUNTIME, 7, 131), driver = call(SL_EV_DRIVER, 8, 652);
    struct sl_event unknown = call(SL_EV_DRIVER, 9, 99999);
    const struct json *e;

    (void)state;
    failed.u.call.result = 700;
    begin();
    put(call(SL_EV_RUNTIME, (1ull << 32) + 5, 211));
    put(failed);
    put(driver);
    put(unknown);
    end();
    e = find("name", "cudaLaunchKernel", 0);
    assert_string_equal(json_text(e, "ph"), "X");
    assert_string_equal(json_text(e, "cat"), "cuda_runtime");
    assert_string_equal(json_text(e, "pid"), "4242");
    assert_string_equal(json_text(e, "tid"), "4300");
    assert_string_equal(json_text(e, "ts"), "1000.000");
    assert_string_equal(json_text(e, "dur"), "5.000");
    assert_string_equal(arg(e, "cbid"), "211");
    assert_string_equal(arg(e, "correlation"), "4294967301");
    assert_null(json_get(json_get(e, "args"), "result"));
    assert_string_equal(arg(find("name", "cudaStreamSynchronize", 0), "result"), "700");
    assert_string_equal(json_text(find("name", "cuLaunchKernelEx", 0), "cat"), "cuda_driver");
    assert_non_null(find("name", "driver call 99999", 0));
}

static void kernels_have_all_that_readers_use(void **state)
{
    struct sl_event ev = kernel_named("_Z3addPfi", 9, 99), graph;
    const struct json *e, *grid;

    (void)state;
    graph = ev;
    graph.graph = 4;
    graph.correlation = 100;
    graph.u.op.graph_node = 17179869187u;
    begin();
    put(device_seen(0));
    put(ev);
    put(graph);
    end();
    e = find("cat", "kernel", 0);
    assert_true(strcmp(json_text(e, "name"), "add(float*, int)") == 0 ||
                strcmp(json_text(e, "name"), "_Z3addPfi") == 0);
    assert_string_equal(json_text(e, "pid"), "0");
    assert_string_equal(json_text(e, "tid"), "7");
    assert_string_equal(json_text(e, "ts"), "5000123.456");
    assert_string_equal(json_text(e, "dur"), "41.407");
    assert_string_equal(arg(e, "queued"), "0");
    assert_string_equal(arg(e, "device"), "0");
    assert_string_equal(arg(e, "context"), "1");
    assert_string_equal(arg(e, "stream"), "7");
    assert_string_equal(arg(e, "priority"), "-1");
    assert_string_equal(arg(e, "correlation"), "99");
    assert_string_equal(arg(e, "registers per thread"), "16");
    assert_string_equal(arg(e, "shared memory"), "400");
    /* As in a real A100's trace of this launch. */
    assert_string_equal(arg(e, "blocks per SM"), "1.185185");
    assert_string_equal(arg(e, "warps per SM"), "4.740741");
    assert_string_equal(arg(e, "est. achieved occupancy %"), "7");
    grid = json_get(json_get(e, "args"), "grid");
    assert_int_equal(grid->count, 3);
    assert_string_equal(grid->child->text, "128");
    assert_null(json_get(json_get(e, "args"), "graph id"));
    e = find("cat", "kernel", 1);
    assert_string_equal(arg(e, "graph id"), "4");
    assert_string_equal(arg(e, "graph node id"), "17179869187");
}

static void an_unknown_device_gives_no_occupancy(void **state)
{
    (void)state;
    begin();
    put(kernel_named("k", 1, 1));
    put(device_seen(0));
    put(kernel_named("k", 1, 2));
    end();
    assert_null(json_get(json_get(find("cat", "kernel", 0), "args"), "est. achieved occupancy %"));
    assert_non_null(
        json_get(json_get(find("cat", "kernel", 1), "args"), "est. achieved occupancy %"));
}

static void copies_have_bytes_and_bandwidth(void **state)
{
    struct sl_event peer = copy(3, 1 << 20, 1000), set = event(SL_EV_MEMSET, 4, 3000, 3100);
    struct sl_shape s;
    const struct json *e;

    (void)state;
    memset(&s, 0, sizeof(s));
    s.kind = SL_EV_MEMCPY;
    s.copy_kind = 10;
    s.src_memory = s.dst_memory = 3;
    s.device = 1;
    s.context = 2;
    s.stream = 20;
    s.is_peer = 1;
    s.src_device = 1;
    s.dst_device = 0;
    s.src_context = 2;
    s.dst_context = 1;
    peer.device = 1;
    peer.shape = sl_shape_put(f.shapes, &s);
    memset(&s, 0, sizeof(s));
    s.kind = SL_EV_MEMSET;
    s.dst_memory = 3;
    s.context = 1;
    s.stream = 7;
    set.shape = sl_shape_put(f.shapes, &s);
    set.u.op.bytes = 4096;
    begin();
    put(copy(1, 6291456, 4960));
    put(copy(2, 1, 2048));
    put(copy(5, 77, 0));
    put(peer);
    put(set);
    end();
    e = find("name", "Memcpy HtoD (Pinned -> Device)", 0);
    assert_string_equal(json_text(e, "cat"), "gpu_memcpy");
    assert_string_equal(arg(e, "bytes"), "6291456");
    assert_string_equal(arg(e, "memory bandwidth (GB/s)"), "1268.438");
    assert_null(json_get(json_get(e, "args"), "fromDevice"));
    e = find("name", "Memcpy HtoD (Pinned -> Device)", 1);
    assert_string_equal(arg(e, "memory bandwidth (GB/s)"), "0.000488");
    e = find("name", "Memcpy HtoD (Pinned -> Device)", 2);
    assert_null(json_get(json_get(e, "args"), "memory bandwidth (GB/s)"));
    e = find("name", "Memcpy PtoP (Device -> Device)", 0);
    assert_string_equal(json_text(e, "pid"), "1");
    assert_string_equal(json_text(e, "tid"), "20");
    assert_string_equal(arg(e, "fromDevice"), "1");
    assert_string_equal(arg(e, "inDevice"), "1");
    assert_string_equal(arg(e, "toDevice"), "0");
    assert_string_equal(arg(e, "fromContext"), "2");
    assert_string_equal(arg(e, "inContext"), "2");
    assert_string_equal(arg(e, "toContext"), "1");
    e = find("name", "Memset (Device)", 0);
    assert_string_equal(json_text(e, "cat"), "gpu_memset");
    assert_string_equal(arg(e, "bytes"), "4096");
    assert_string_equal(arg(e, "memory bandwidth (GB/s)"), "40.96");
}

static struct sl_event sync_of(enum sl_sync_type type, uint64_t id, uint32_t stream)
{
    struct sl_event ev = event(SL_EV_SYNC, id, 7000, 9000);

    ev.stream = stream;
    ev.u.sync.type = (uint8_t)type;
    return ev;
}

static struct sl_event recorded(uint64_t id, uint64_t sync_id, uint32_t event_id, uint32_t stream)
{
    struct sl_event ev = event(SL_EV_CUDA_EVENT, id, 0, 0);

    ev.stream = stream;
    ev.u.sync.event_sync_id = sync_id;
    ev.u.sync.event_id = event_id;
    return ev;
}

static void waits_say_what_they_wait_for(void **state)
{
    struct sl_event wait = sync_of(SL_SYNC_STREAM_WAIT, 50, 20);
    struct sl_event sync = sync_of(SL_SYNC_EVENT, 51, SL_STREAM_NONE);
    struct sl_event unknown = sync_of(SL_SYNC_EVENT, 52, SL_STREAM_NONE);
    struct sl_event far = recorded(46, 12, 4, 28), far_wait = sync_of(SL_SYNC_STREAM_WAIT, 55, 20);
    const struct json *e;

    (void)state;
    wait.u.sync.event_sync_id = 9;
    wait.u.sync.event_id = 3;
    sync.u.sync.event_sync_id = 10;
    sync.u.sync.event_id = 3;
    unknown.u.sync.event_sync_id = 11;
    far.context++;
    far_wait.u.sync.event_sync_id = 12;
    begin();
    put(far);
    put(recorded(40, 9, 3, 7));
    put(wait);
    put(sync); /* its record comes later */
    put(unknown);
    put(recorded(45, 10, 3, 28));
    put(sync_of(SL_SYNC_STREAM, 53, 7));
    put(sync_of(SL_SYNC_CONTEXT, 54, SL_STREAM_NONE));
    put(far_wait);
    end();
    e = find("name", "Stream Wait Event", 0);
    assert_string_equal(json_text(e, "cat"), "cuda_sync");
    assert_string_equal(json_text(e, "tid"), "20");
    assert_string_equal(arg(e, "cuda_sync_kind"), "Stream Wait Event");
    assert_string_equal(arg(e, "wait_on_stream"), "7");
    assert_string_equal(arg(e, "wait_on_cuda_event_record_corr_id"), "40");
    assert_string_equal(arg(e, "wait_on_cuda_event_id"), "3");
    assert_string_equal(arg(e, "correlation"), "50");
    assert_null(json_get(json_get(e, "args"), "wait_on_context"));
    e = find("name", "Stream Wait Event", 1);
    assert_int_equal(atoi(arg(e, "wait_on_context")), atoi(arg(e, "context")) + 1);
    e = find("name", "Event Sync", 0);
    assert_string_equal(arg(e, "stream"), "-1");
    assert_string_equal(arg(e, "wait_on_stream"), "28");
    assert_string_equal(arg(e, "wait_on_cuda_event_record_corr_id"), "45");
    e = find("name", "Event Sync", 1);
    assert_string_equal(arg(e, "correlation"), "52");
    assert_null(json_get(json_get(e, "args"), "wait_on_cuda_event_record_corr_id"));
    e = find("name", "Stream Sync", 0);
    assert_string_equal(json_text(e, "tid"), "1000007");
    assert_string_equal(arg(e, "stream"), "7");
    e = find("name", "Context Sync", 0);
    assert_string_equal(arg(e, "stream"), "-1");
    assert_null(find("cat", "cuda_event", 0));
}

static void arrows_have_one_tail_and_every_head(void **state)
{
    struct sl_event flow = event(SL_EV_FLOW, 77, 1000000, 5000123456);
    const struct json *e;

    (void)state;
    flow.thread = 4300;
    flow.flags = SL_EVF_FLOW_FIRST;
    begin();
    put(call(SL_EV_RUNTIME, 77, 211));
    put(flow);
    flow.flags = 0;
    flow.end_ns += 5;
    put(flow);
    end();
    e = find("ph", "s", 0);
    assert_string_equal(json_text(e, "cat"), "ac2g");
    assert_string_equal(json_text(e, "name"), "ac2g");
    assert_string_equal(json_text(e, "id"), "77");
    assert_string_equal(json_text(e, "pid"), "4242");
    assert_string_equal(json_text(e, "tid"), "4300");
    assert_string_equal(json_text(e, "ts"), "1000.000");
    assert_null(find("ph", "s", 1));
    e = find("ph", "f", 0);
    assert_string_equal(json_text(e, "bp"), "e");
    assert_string_equal(json_text(e, "id"), "77");
    assert_string_equal(json_text(e, "pid"), "0");
    assert_string_equal(json_text(e, "tid"), "7");
    assert_string_equal(json_text(e, "ts"), "5000123.456");
    assert_string_equal(json_text(find("ph", "f", 1), "ts"), "5000123.461");
}

static void overhead_has_its_own_process(void **state)
{
    struct sl_event ev = event(SL_EV_OVERHEAD, 0, 7000, 9000);

    (void)state;
    ev.thread = 4300;
    ev.name = intern("Activity Buffer Request");
    begin();
    put(ev);
    end();
    assert_string_equal(json_text(find("cat", "overhead", 0), "pid"), "-1");
    assert_string_equal(json_text(find("cat", "overhead", 0), "name"), "Activity Buffer Request");
}

static void lean_leaves_out_and_full_adds(void **state)
{
    struct sl_event flow = event(SL_EV_FLOW, 5, 1000000, 2000000);
    enum sl_detail detail;

    (void)state;
    flow.flags = SL_EVF_FLOW_FIRST;
    for (detail = SL_DETAIL_LEAN; detail <= SL_DETAIL_FULL; detail++) {
        const struct json *kernel, *memcpy_row;

        sl_kineto_destroy(f.kineto);
        make_kineto(detail, 0);
        begin();
        put(device_seen(0));
        put(kernel_named("k", 1, 5));
        put(copy(6, 10, 10));
        put(flow);
        end();
        kernel = json_get(find("cat", "kernel", 0), "args");
        memcpy_row = json_get(find("cat", "gpu_memcpy", 0), "args");
        assert_int_equal(find("ph", "f", 0) == NULL, detail == SL_DETAIL_LEAN);
        assert_int_equal(json_get(kernel, "blocks per SM") == NULL, detail == SL_DETAIL_LEAN);
        assert_int_equal(json_get(memcpy_row, "memory bandwidth (GB/s)") == NULL,
                         detail == SL_DETAIL_LEAN);
        assert_int_equal(json_get(kernel, "cluster") != NULL, detail == SL_DETAIL_FULL);
        assert_non_null(json_get(kernel, "grid"));
    }
}

static void a_row_without_a_time_is_left_out(void **state)
{
    struct sl_event ev = call(SL_EV_RUNTIME, 5, 211);

    (void)state;
    ev.start_ns = ev.end_ns = 0;
    begin();
    put(ev);
    end();
    assert_null(find("cat", "cuda_runtime", 0));
}

static void rows_without_a_shape_are_still_rows(void **state)
{
    struct sl_event ev = event(SL_EV_KERNEL, 5, 7000, 9000), other = ev;

    (void)state;
    ev.name = intern("nameless shape");
    other.name = intern("another");
    begin();
    put(ev);
    put(other);
    put(ev);
    end();
    assert_string_equal(json_text(find("cat", "kernel", 0), "name"), "nameless shape");
    assert_string_equal(json_text(find("cat", "kernel", 1), "name"), "another");
    assert_string_equal(json_text(find("cat", "kernel", 2), "name"), "nameless shape");
    assert_string_equal(json_text(find("cat", "kernel", 2), "tid"), "7");
}

static void odd_names_give_valid_json(void **state)
{
    static const char *const odd[] = {"quote\"back\\slash", "line\nbreak\ttab\x01", "\xff\xfe\x80",
                                      "\xe4\xb8\xad", ""};
    size_t i, length = 64 * 1024;
    char *giant = malloc(length);

    (void)state;
    for (i = 0; i < length; i++)
        giant[i] = (char)(i * 7);
    begin();
    for (i = 0; i < sizeof(odd) / sizeof(odd[0]); i++)
        put(kernel_named(odd[i], strlen(odd[i]), i + 1));
    put(kernel_named(giant, length, 6));
    put(kernel_named(giant, length, 7)); /* kept text, longer than a block */
    end();
    assert_string_equal(json_text(find("cat", "kernel", 0), "name"), odd[0]);
    assert_string_equal(json_text(find("cat", "kernel", 1), "name"), odd[1]);
    assert_string_equal(json_text(find("cat", "kernel", 2), "name"), "\\xff\\xfe\\x80");
    assert_string_equal(json_text(find("cat", "kernel", 3), "name"), odd[3]);
    assert_true(json_get(find("cat", "kernel", 6), "name")->length >= length);
    free(giant);
}

/* Many shapes through a cache that holds few: every row is right, whatever was forgotten. */
static void kept_text_may_be_forgotten(void **state)
{
    char name[32], id[32];
    uint32_t i;

    (void)state;
    sl_kineto_destroy(f.kineto);
    make_kineto(SL_DETAIL_DEFAULT, 256 * 1024);
    begin();
    for (i = 1; i <= 6000; i++) {
        snprintf(name, sizeof(name), "kernel %u", i % 2000);
        put(kernel_named(name, strlen(name), i));
    }
    end();
    for (i = 1; i <= 6000; i += 997) {
        const struct json *e = find("cat", "kernel", (int)i - 1);

        snprintf(name, sizeof(name), "kernel %u", i % 2000);
        snprintf(id, sizeof(id), "%u", i);
        assert_string_equal(json_text(e, "name"), name);
        assert_string_equal(arg(e, "correlation"), id);
    }
}

/* ---- failures ---- */

static int refuse(struct sl_sink *sink, const void *data, size_t size)
{
    (void)sink;
    (void)data;
    (void)size;
    return -ENOSPC;
}

static void a_failing_sink_is_a_sticky_error(void **state)
{
    struct sl_sink broken = {.write = refuse};
    struct sl_event ev = call(SL_EV_RUNTIME, 5, 211);
    int error = 0, i;

    (void)state;
    assert_int_equal(sl_kineto_begin(f.kineto, &broken, &f.meta), 0);
    for (i = 0; i < 10000 && !error; i++)
        error = sl_kineto_events(f.kineto, &ev, 1);
    assert_int_equal(error, -ENOSPC);
    assert_int_equal(sl_kineto_flush(f.kineto), -ENOSPC);
    assert_int_equal(sl_kineto_end(f.kineto, OPENED), -ENOSPC);
    /* The next file is not touched by it. */
    begin();
    put(ev);
    end();
    assert_non_null(find("cat", "cuda_runtime", 0));
}

#define T(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(members_stand_in_libkinetos_order),
        T(hta_finds_the_rank),
        T(counters_are_those_of_the_file),
        T(an_empty_window_is_a_valid_file),
        T(metadata_comes_first_and_when_first_seen),
        T(a_name_that_comes_late_is_written_again),
        T(streams_have_their_flags),
        T(a_device_seen_late_stands_in_the_trailer),
        T(calls_have_name_ids_and_times),
        T(kernels_have_all_that_readers_use),
        T(an_unknown_device_gives_no_occupancy),
        T(copies_have_bytes_and_bandwidth),
        T(waits_say_what_they_wait_for),
        T(arrows_have_one_tail_and_every_head),
        T(overhead_has_its_own_process),
        T(lean_leaves_out_and_full_adds),
        T(a_row_without_a_time_is_left_out),
        T(rows_without_a_shape_are_still_rows),
        T(odd_names_give_valid_json),
        T(kept_text_may_be_forgotten),
        T(a_failing_sink_is_a_sticky_error),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
