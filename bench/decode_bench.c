/*
 * decode_bench.c - measures the cost of turning a CUPTI record into an event, and of the buffer
 * callbacks on an application thread.
 *
 * Decoding runs over buffers of the shared mix (mix.h). Each buffer is refilled outside the
 * measured time, so that the records are as cold in memory as in a job. To measure the callbacks,
 * one thread requests and completes buffers while a collector takes and recycles the completed
 * buffers. The figures of the callbacks are the mean time per call and the worst 99.9th percentile.
 */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include "collect/cupti/buffer.h"
#include "collect/cupti/decode.h"
#include "collect/cupti/tables.h"
#include "mix.h"
#include "table.h"

enum {
    BUFFER_BYTES = 1 << 20,
    BUFFERS = 16,
    CALLS = 200000
};

/* mix.h defines its own structs. This check compares them with the CUPTI 13.0 layouts of the
 * generated table. */
static void check_mix_layout(void)
{
    const struct sl_cupti_layout *l = NULL;

    for (unsigned i = 0; i < sl_cupti_tables_layout_count; i++)
        if (sl_cupti_tables_layouts[i].version <= MIX_CUPTI_VERSION)
            l = &sl_cupti_tables_layouts[i];
    if (!l || l->kernel->size != sizeof(struct mix_kernel) ||
        l->kernel->name != offsetof(struct mix_kernel, name) ||
        l->kernel->cluster_z != offsetof(struct mix_kernel, cluster[2]) ||
        l->memcpy->size != sizeof(struct mix_memcpy) ||
        l->memcpy->graph != offsetof(struct mix_memcpy, graph) ||
        l->memset->size != sizeof(struct mix_memset) ||
        l->memset->memory != offsetof(struct mix_memset, memory_kind) ||
        l->api->size != sizeof(struct mix_api) || l->sync->size != sizeof(struct mix_sync) ||
        l->sync->event_sync != offsetof(struct mix_sync, event_sync) ||
        l->cuda_event->size != sizeof(struct mix_cuda_event) ||
        l->overhead->size != sizeof(struct mix_overhead)) {
        fprintf(stderr, "decode_bench: mix.h is not CUPTI %s any more\n", l ? l->cuda : "?");
        exit(1);
    }
}

static uint64_t events, sum;

static void sink(void *user, const struct sl_event *ev)
{
    (void)user;
    events++;
    sum += ev->end_ns;
}

/* The table that finds the next record, as cuptiActivityGetNextRecord does in one step. */
static const struct sl_cupti_layout *stepping;

static int step(uint8_t *buffer, size_t valid, void **record)
{
    size_t at = 0;

    if (*record) {
        uint32_t kind;

        memcpy(&kind, *record, sizeof kind);
        at = (size_t)((uint8_t *)*record - buffer) + stepping->record_size[kind];
    }
    if (at >= valid)
        return SL_CUPTI_ERROR_MAX_LIMIT_REACHED;
    *record = buffer + at;
    return SL_CUPTI_SUCCESS;
}

static double decode(size_t records, int (*get_next)(uint8_t *buffer, size_t valid, void **record),
                     uint64_t *seen)
{
    struct sl_decode_options opt = {.version = MIX_CUPTI_VERSION, .get_next_record = get_next};
    struct mix m;
    struct sl_decode *d;
    uint64_t ns = 0;
    uint8_t *buffer;
    size_t done = 0;

    opt.devices = calloc(1, sizeof *opt.devices);
    buffer = aligned_alloc(4096, (size_t)BUFFERS * BUFFER_BYTES);
    if (!opt.devices || !buffer || mix_init(&m, 1700000000000000000u) ||
        sl_intern_create(&opt.intern, 16 << 20) || sl_shape_create(&opt.shapes, 16 << 20) ||
        sl_decode_create(&d, &opt)) {
        fprintf(stderr, "decode_bench: out of memory\n");
        exit(1);
    }
    events = 0;
    while (done < records) {
        size_t valid[BUFFERS];
        uint64_t start;

        for (int i = 0; i < BUFFERS; i++)
            valid[i] = mix_fill(&m, buffer + (size_t)i * BUFFER_BYTES, BUFFER_BYTES, NULL);
        start = bench_thread_cpu_ns();
        for (int i = 0; i < BUFFERS; i++)
            done += sl_decode_buffer(d, buffer + (size_t)i * BUFFER_BYTES, valid[i], sink, NULL);
        ns += bench_thread_cpu_ns() - start;
    }
    *seen = events;
    sl_decode_destroy(d);
    sl_shape_destroy(opt.shapes);
    sl_intern_destroy(opt.intern);
    mix_free(&m);
    free(buffer);
    free(opt.devices);
    return (double)ns / (double)done;
}

static _Atomic int finished;

static void *collector(void *arg)
{
    (void)arg;
    while (!atomic_load(&finished)) {
        struct sl_cupti_buffer *b, *next;

        for (b = sl_cupti_pool_take(); b; b = next) {
            next = b->next;
            sl_cupti_pool_recycle(b);
        }
        sl_cupti_pool_refill();
        sched_yield();
    }
    return NULL;
}

static int by_value(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

    return x < y ? -1 : x > y;
}

/* Fills `request` and `complete` with the mean and the 99.9th percentile, in ns. */
static void callbacks(double request[2], double complete[2])
{
    static uint32_t ns[2][CALLS];
    uint64_t total[2] = {0, 0};
    pthread_t thread;

    if (sl_cupti_pool_init(64 << 10, 32 << 20, 64, NULL) ||
        pthread_create(&thread, NULL, collector, NULL)) {
        fprintf(stderr, "decode_bench: cannot start\n");
        exit(1);
    }
    for (int i = 0; i < CALLS; i++) {
        size_t size, max;
        uint8_t *buffer;
        uint64_t t0 = bench_wall_ns(), t1, t2;

        sl_cupti_pool_request(&buffer, &size, &max);
        t1 = bench_wall_ns();
        sl_cupti_pool_complete(NULL, 0, buffer, size, 64);
        t2 = bench_wall_ns();
        ns[0][i] = (uint32_t)(t1 - t0);
        ns[1][i] = (uint32_t)(t2 - t1);
        total[0] += t1 - t0;
        total[1] += t2 - t1;
        if (i % 64 == 0)
            sched_yield();
    }
    atomic_store(&finished, 1);
    pthread_join(thread, NULL);
    for (int k = 0; k < 2; k++)
        qsort(ns[k], CALLS, sizeof ns[k][0], by_value);
    request[0] = (double)total[0] / CALLS;
    complete[0] = (double)total[1] / CALLS;
    request[1] = ns[0][CALLS - CALLS / 1000];
    complete[1] = ns[1][CALLS - CALLS / 1000];
}

int main(int argc, char **argv)
{
    size_t records = strtoull(bench_option(argc, argv, "--records", "5000000"), NULL, 10);
    double request[2], complete[2], by_table, by_library;
    struct bench_table t;
    uint64_t seen;

    check_mix_layout();
    for (unsigned i = 0; i < sl_cupti_tables_layout_count; i++)
        if (sl_cupti_tables_layouts[i].version <= MIX_CUPTI_VERSION)
            stepping = &sl_cupti_tables_layouts[i];
    bench_begin(&t, "decode", argc, argv);
    by_table = decode(records, NULL, &seen);
    by_library = decode(records, step, &seen);
    bench_row(&t, (struct bench_row){"decode, walk by table", by_table, "ns/record", 60, 0, NULL});
    bench_row(&t, (struct bench_row){"decode, walk by GetNextRecord", by_library, "ns/record", 60,
                                     0, NULL});
    callbacks(request, complete);
    bench_row(&t, (struct bench_row){"buffer request, mean", request[0], "ns", 1000, 0, NULL});
    bench_row(&t, (struct bench_row){"buffer request, 99.9 %", request[1], "ns", 1000, 0, NULL});
    bench_row(&t, (struct bench_row){"buffer complete, mean", complete[0], "ns", 1000, 0, NULL});
    bench_row(&t, (struct bench_row){"buffer complete, 99.9 %", complete[1], "ns", 1000, 0, NULL});
    return bench_end(&t);
}
