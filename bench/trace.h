/*
 * trace.h - the objects that a bench program needs to write a Kineto trace: tables of names and
 * shapes, one GPU, and the row writer.
 *
 * Threads: any, one at a time. Memory: trace_close() frees what trace_open() allocates.
 */
#ifndef BENCH_TRACE_H
#define BENCH_TRACE_H

#include "event/call_name.h"
#include "mix.h"
#include "must.h"
#include "write/kineto/kineto.h"

#define START_NS 1700000000000000000u

struct trace {
    struct sl_intern *intern;
    struct sl_shape_table *shapes;
    struct sl_device_table *devices;
    struct sl_kineto *kineto;
};

/* The process id of the records in mix.h, for all traces. */
static const struct sl_trace_meta trace_meta = {.pid = MIX_PID,
                                                .world_size = 1,
                                                .host = "bench",
                                                .job = "bench",
                                                .process_name = "python3",
                                                .syncline_version = "0",
                                                .trace_name = "bench",
                                                .opened_ns = START_NS,
                                                .window = 1};

static const struct sl_event trace_device = {.kind = SL_EV_META_DEVICE};

static inline struct sl_kineto_options trace_options(const struct trace *t, enum sl_detail detail)
{
    return (struct sl_kineto_options){.detail = detail,
                                      .intern = t->intern,
                                      .shapes = t->shapes,
                                      .devices = t->devices,
                                      .api_name = sl_call_name};
}

static inline void trace_open(struct trace *t, enum sl_detail detail)
{
    struct sl_kineto_options kineto;

    must(sl_intern_create(&t->intern, 8 << 20), "names");
    must(sl_shape_create(&t->shapes, 4 << 20), "shapes");
    t->devices = need(calloc(1, sizeof(*t->devices)));
    t->devices->device[0] = (struct sl_device){.known = 1,
                                               .compute_major = 9,
                                               .multiprocessors = 132,
                                               .max_threads_per_block = 1024,
                                               .max_threads_per_sm = 2048,
                                               .max_blocks_per_sm = 32,
                                               .max_registers_per_block = 65536,
                                               .max_registers_per_sm = 65536,
                                               .max_shared_per_sm = 233472,
                                               .warp_size = 32,
                                               .name = "NVIDIA H100 80GB HBM3"};
    kineto = trace_options(t, detail);
    must(sl_kineto_create(&t->kineto, &kineto), "kineto");
    must(sl_kineto_events(t->kineto, &trace_device, 1), "device");
}

static inline void trace_close(struct trace *t)
{
    sl_kineto_destroy(t->kineto);
    sl_shape_destroy(t->shapes);
    sl_intern_destroy(t->intern);
    free(t->devices);
}

#endif
