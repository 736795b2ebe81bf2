/*
 * fixture.h - for tests: a Kineto writer that writes to memory, events for the writer, and a strict
 * JSON reader for the resulting file.
 *
 * Threads: the test has only one. A test program has one fixture. set_up() creates the fixture, and
 * tear_down() frees it.
 */
#ifndef TEST_KINETO_FIXTURE_H
#define TEST_KINETO_FIXTURE_H

#include "unit/test.h"

#include <stdlib.h>
#include <string.h>

#include "base/stats.h"
#include "unit/write/json_dom.h"
#include "write/kineto/kineto_internal.h"

#define OPENED 1700000000123456789u
#define BASE   (1700000000u / 7889238u * 7889238u * 1000000000ull)

struct fixture {
    struct sl_intern *intern, *details; /* `details`: texts of operators, or NULL */
    struct sl_shape_table *shapes;
    struct sl_device_table *devices;
    struct sl_kineto *kineto;
    struct sl_sink *sink;
    struct sl_trace_meta meta;
    struct json *trace;
    const struct json *events;
};

static struct fixture f;

static inline const char *api_name(enum sl_event_kind domain, uint32_t cbid)
{
    if (domain == SL_EV_RUNTIME)
        return cbid == 211 ? "cudaLaunchKernel" : "cudaStreamSynchronize";
    return cbid == 652 ? "cuLaunchKernelEx" : NULL;
}

static inline void make_device(uint32_t id)
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
    d->max_shared_opted_in = 166912;
    d->max_shared_per_sm = 167936;
    d->warp_size = 32;
    d->memory_bytes = 42297524224u;
    strcpy(d->name, "NVIDIA \"A100\"");
}

static inline void make_kineto(enum sl_detail detail, size_t cap)
{
    const struct sl_kineto_options opt = {.detail = detail,
                                          .intern = f.intern,
                                          .shapes = f.shapes,
                                          .devices = f.devices,
                                          .cap_bytes = cap,
                                          .held_bytes = 128 << 10,
                                          .details = f.details,
                                          .api_name = api_name};

    assert_int_equal(sl_kineto_create(&f.kineto, &opt), 0);
}

static inline int set_up(void **state)
{
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

static inline int tear_down(void **state)
{
    json_free(f.trace);
    sl_kineto_destroy(f.kineto);
    sl_shape_destroy(f.shapes);
    sl_intern_destroy(f.intern);
    free(f.devices);
    return 0;
}

static inline uint32_t intern(const char *text)
{
    return sl_intern_put(f.intern, text, strlen(text));
}

static inline struct sl_event event(enum sl_event_kind kind, uint64_t id, uint64_t start,
                                    uint64_t end)
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

static inline struct sl_event call(enum sl_event_kind kind, uint64_t id, uint32_t cbid)
{
    struct sl_event ev = event(kind, id, 1000000, 1005000);

    ev.place = 0;
    ev.range_numbers = 0;
    ev.thread = 4300;
    ev.u.call.cbid = cbid;
    return ev;
}

static inline struct sl_event kernel_named(const char *name, size_t length, uint64_t id)
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

static inline struct sl_event copy(uint64_t id, uint64_t bytes, uint64_t ns)
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

static inline struct sl_event device_seen(uint8_t device)
{
    struct sl_event ev = event(SL_EV_META_DEVICE, 0, 0, 0);

    ev.device = device;
    ev.u.meta.index = device;
    return ev;
}

static inline void begin(void)
{
    assert_int_equal(sl_sink_memory_open(&f.sink), 0);
    assert_int_equal(sl_kineto_begin(f.kineto, f.sink, &f.meta), 0);
}

static inline void put(struct sl_event ev)
{
    assert_int_equal(sl_kineto_events(f.kineto, &ev, 1), 0);
}

/* Ends the file and reads it. */
static inline void end(void)
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

/* Returns the n-th event of the file, from 0, whose member `key` has this value. */
static inline const struct json *find(const char *key, const char *value, int n)
{
    const struct json *e;

    for (e = f.events->child; e; e = e->next)
        if (strcmp(json_text(e, key), value) == 0 && n-- == 0)
            return e;
    return NULL;
}

static inline const char *arg(const struct json *e, const char *key)
{
    return json_text(json_get(e, "args"), key);
}

static inline const char *counter(const char *name)
{
    return json_text(json_get(json_get(f.trace, "syncline"), "counters"), name);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

#endif
