/*
 * edges_bench.c - measures the cost of finding sync edges, per record and per edge, and the memory
 * used.
 *
 * The records of mix.h are decoded and assembled outside the measured time. The events are passed
 * to the engine repeatedly, with later times in each round. The engine gets 4096 events at once,
 * when they are 50 ms old. Further cases are calls that wait for many streams (the cost of an
 * edge), 10^4 streams, 10^6 pending operations, and a new stream per request. CPU time is the best
 * of three rounds.
 *
 *   edges_bench [--records N] [--json FILE]     N: records for the growth test (default 10^7)
 */
#include <errno.h>
#include <inttypes.h>
#include <unistd.h>

#include "mix_events.h"
#include "must.h"
#include "sync/edge.h"
#include "sync/stream_state.h"
#include "table.h"

enum {
    BYTES = 12 << 20, /* bytes of records, about 10^5 records */
    ROUNDS = 3,
    DELIVERY = 4096,
    LATE_NS = 50000000,
    LAUNCH = 211, /* callback id of cudaLaunchKernel */
    STREAM_SYNC = 131,
    DEVICE_SYNC = 165,
    EVENT_RECORD = 135,
    STREAM_WAIT = 147,
    EVENT_SYNC = 137,
    FREE = 22,
    JOINING = 11 /* number of the stream that waits for the request streams */
};

#define START_NS  1700000000000000000u
#define CAP_BYTES ((size_t)256 << 20)
#define MANY      10000u
#define UNDER_WAY 1000000u
#define REQUESTS  60000u
#define RECORDS   "10000000"

struct input {
    struct mix_events all;
    uint64_t span_ns, span_id, span_sync; /* by how much times, correlation ids and event ids grow
                                             from one round to the next */
};

static void measure_span(struct input *in)
{
    uint64_t last_ns = START_NS;

    in->span_id = in->span_sync = 0;
    for (size_t i = 0; i < in->all.count; i++) {
        const struct sl_event *ev = &in->all.event[i];

        if (ev->end_ns > last_ns)
            last_ns = ev->end_ns;
        if (ev->correlation > in->span_id)
            in->span_id = ev->correlation;
        if (ev->kind == SL_EV_CUDA_EVENT && ev->u.sync.event_sync_id > in->span_sync)
            in->span_sync = ev->u.sync.event_sync_id;
    }
    in->span_ns = last_ns - START_NS + 1000000;
}

static void count_edges(void *user, const struct sl_edge *edges, size_t count)
{
    (void)edges;
    *(uint64_t *)user += count;
}

static struct sl_edges *engine(const struct input *in, uint64_t *edges, size_t cap_bytes)
{
    struct sl_edges_options opt = {.cap_bytes = cap_bytes,
                                   .online = 1,
                                   .shapes = in->all.shapes,
                                   .sink = count_edges,
                                   .sink_user = edges};
    struct sl_edges *e;

    *edges = 0;
    must(sl_edges_create(&e, &opt), "engine");
    return e;
}

/* Resident memory of the process, in bytes. */
/* The memory is counted page by page, because /proc/self/statm may differ by 64 pages per thread.
 * */
static size_t resident(void)
{
    unsigned long kib = 0;
    char line[128];
    FILE *file = fopen("/proc/self/smaps_rollup", "r");

    while (file && fgets(line, sizeof line, file))
        if (strncmp(line, "Rss:", 4) == 0)
            kib = strtoul(line + 4, NULL, 10);
    if (file)
        fclose(file);
    return kib * 1024;
}

/* ---- the cost and the memory for the records of mix.h ---- */

static void feed(struct sl_edges *e, const struct input *in, uint64_t round)
{
    for (size_t i = 0; i < in->all.count; i++) {
        struct sl_event ev = in->all.event[i];

        if (ev.correlation) {
            ev.correlation += round * in->span_id;
            if (ev.start_ns)
                ev.start_ns += round * in->span_ns;
            if (ev.end_ns)
                ev.end_ns += round * in->span_ns;
            if ((ev.kind == SL_EV_SYNC || ev.kind == SL_EV_CUDA_EVENT) && ev.u.sync.event_sync_id)
                ev.u.sync.event_sync_id += round * in->span_sync;
        }
        sl_edges_event(e, &ev);
        if (i % DELIVERY == DELIVERY - 1)
            sl_edges_delivered(e, ev.start_ns - LATE_NS);
    }
}

/* Returns the CPU time per event in ns. Sets *edges to the number of edges per event. */
static double mix_cost(const struct input *in, double *edges)
{
    uint64_t best = UINT64_MAX, found;
    struct sl_edges *e = engine(in, &found, CAP_BYTES);

    for (uint64_t round = 0; round < 1 + ROUNDS; round++) {
        uint64_t before = bench_thread_cpu_ns(), ns;

        feed(e, in, round);
        ns = bench_thread_cpu_ns() - before;
        best = round && ns < best ? ns : best;
    }
    sl_edges_flush(e);
    *edges = (double)found / (double)(in->all.count * (1 + ROUNDS));
    sl_edges_destroy(e);
    return (double)best / (double)in->all.count;
}

static void print_lost(const struct sl_edges *e)
{
    for (int i = 0; i < SL_EDGE_LOST_COUNT; i++)
        if (sl_edges_lost(e, (enum sl_edge_loss)i) && i != SL_EDGE_LOST_GRAPH_INSIDE)
            printf("  %" PRIu64 " left out: %s\n", sl_edges_lost(e, (enum sl_edge_loss)i),
                   sl_edge_loss_name((enum sl_edge_loss)i));
}

/* Returns by how many bytes the process grows after the first tenth of the records, and prints a
 * line about this. */
static double growth(const struct input *in, uint64_t records)
{
    uint64_t rounds = records / in->all.count + 1, edges;
    struct sl_edges *e = engine(in, &edges, CAP_BYTES);
    size_t early = 0;

    for (uint64_t round = 0; round < rounds; round++) {
        feed(e, in, round);
        if (round == rounds / 10)
            early = resident();
    }
    double grown = (double)resident() - (double)early;

    print_lost(e);
    sl_edges_destroy(e);
    return grown > 0 ? grown / 1024 : 0;
}

/* ---- kinds of waits that the mix lacks ---- */

struct job {
    struct sl_edges *engine;
    uint64_t correlation, ns;
};

static void call(struct job *j, uint32_t cbid, uint64_t from_ns, uint64_t to_ns)
{
    struct sl_event ev = {.kind = SL_EV_RUNTIME,
                          .correlation = ++j->correlation,
                          .start_ns = from_ns,
                          .end_ns = to_ns,
                          .thread = 100};

    ev.u.call.cbid = cbid;
    sl_edges_event(j->engine, &ev);
}

/* Adds a call of 1 us and a kernel of 5 us that ends 10 us after its launch. */
static void launch(struct job *j, uint32_t stream)
{
    struct sl_event ev = {.kind = SL_EV_KERNEL, .context = 1, .stream = stream};

    call(j, LAUNCH, j->ns, j->ns + 1000);
    ev.correlation = j->correlation;
    ev.start_ns = j->ns + 5000;
    ev.end_ns = j->ns + 10000;
    sl_edges_event(j->engine, &ev);
    j->ns += 2000;
}

static void synchronize(struct job *j, uint32_t stream)
{
    struct sl_event ev = {.kind = SL_EV_SYNC, .context = 1, .stream = stream};

    call(j, stream == SL_STREAM_NONE ? DEVICE_SYNC : STREAM_SYNC, j->ns, j->ns + 20000);
    ev.correlation = j->correlation;
    ev.start_ns = j->ns;
    ev.end_ns = j->ns + 20000;
    ev.u.sync.type = stream == SL_STREAM_NONE ? SL_SYNC_CONTEXT : SL_SYNC_STREAM;
    sl_edges_event(j->engine, &ev);
    j->ns += 20000;
    sl_edges_delivered(j->engine, j->ns);
}

/* Repeats rounds of `streams` launches and one wait. Returns the CPU time per round in ns. If
 * `whole` is not 0, the wait is for all streams. */
static double many_streams(const struct input *in, uint32_t streams, int whole, double *edges)
{
    const uint32_t rounds = 2000000 / streams;
    uint64_t found, best = UINT64_MAX;
    struct job j = {.engine = engine(in, &found, CAP_BYTES), .ns = START_NS};

    for (int i = 0; i < ROUNDS; i++) {
        uint64_t before = bench_thread_cpu_ns(), ns, already = found;

        for (uint32_t r = 0; r < rounds; r++) {
            for (uint32_t s = 0; s < streams; s++)
                launch(&j, 13 + s);
            synchronize(&j, whole ? SL_STREAM_NONE : 13);
        }
        ns = bench_thread_cpu_ns() - before;
        best = ns < best ? ns : best;
        *edges = (double)(found - already) / rounds;
    }
    sl_edges_destroy(j.engine);
    return (double)best / rounds;
}

/* ---- the cost of a job that uses a new stream for each request ---- */

static void record(struct job *j, uint32_t stream)
{
    struct sl_event ev = {.kind = SL_EV_CUDA_EVENT, .context = 1, .stream = stream};

    call(j, EVENT_RECORD, j->ns, j->ns + 1000);
    ev.correlation = j->correlation;
    ev.u.sync.event_sync_id = j->correlation;
    sl_edges_event(j->engine, &ev);
    j->ns += 2000;
}

/* Adds a call on the CUDA event that the previous call recorded. */
static void call_for_event(struct job *j, uint32_t cbid, uint32_t stream, uint64_t takes_ns)
{
    struct sl_event ev = {.kind = SL_EV_SYNC, .context = 1, .stream = stream};

    ev.u.sync.event_sync_id = j->correlation;
    ev.u.sync.type = cbid == STREAM_WAIT ? SL_SYNC_STREAM_WAIT : SL_SYNC_EVENT;
    call(j, cbid, j->ns, j->ns + takes_ns);
    ev.correlation = j->correlation;
    ev.start_ns = j->ns;
    ev.end_ns = j->ns + takes_ns;
    sl_edges_event(j->engine, &ev);
    j->ns += takes_ns + 1000;
}

static void join_and_synchronize(struct job *j, uint32_t stream)
{
    record(j, stream);
    call_for_event(j, STREAM_WAIT, JOINING, 1000);
    synchronize(j, JOINING);
}

static void synchronize_legacy(struct job *j, uint32_t stream)
{
    (void)stream;
    synchronize(j, SL_STREAM_LEGACY);
}

static void record_on_legacy(struct job *j, uint32_t stream)
{
    (void)stream;
    record(j, SL_STREAM_LEGACY);
    call_for_event(j, EVENT_SYNC, SL_STREAM_NONE, 20000);
    sl_edges_delivered(j->engine, j->ns);
}

static void free_memory(struct job *j, uint32_t stream)
{
    (void)stream;
    call(j, FREE, j->ns, j->ns + 20000);
    j->ns += 20000;
    sl_edges_delivered(j->engine, j->ns);
}

static void synchronize_device(struct job *j, uint32_t stream)
{
    (void)stream;
    synchronize(j, SL_STREAM_NONE);
}

/* Repeats two calls: a launch on a new stream, and a wait for that stream. Returns the measured
 * cost divided by the expected cost, which is 100 ns per record and 50 ns per edge. The engine has
 * the memory limit of a job, so it must release the streams that are no longer used. */
static double requests(const struct input *in, void (*wait)(struct job *, uint32_t stream))
{
    uint64_t found, took, records;
    struct job j = {.engine = engine(in, &found, 0), .ns = START_NS};

    for (uint32_t s = 0; s <= REQUESTS; s++) {
        struct sl_event ev = {
            .kind = SL_EV_META_STREAM, .context = 1, .stream = s ? 12 + s : SL_STREAM_LEGACY};

        ev.u.meta.flags = s ? 1 : 3; /* blocking, legacy */
        sl_edges_event(j.engine, &ev);
    }
    took = bench_thread_cpu_ns();
    for (uint32_t s = 0; s < REQUESTS; s++) {
        launch(&j, 13 + s);
        wait(&j, 13 + s);
    }
    took = bench_thread_cpu_ns() - took;
    print_lost(j.engine);
    /* Each call and its operation make a record; a free makes no record. */
    records = 2 * j.correlation;
    sl_edges_destroy(j.engine);
    return (double)took / (100.0 * (double)records + 50.0 * (double)found);
}

/* Returns the memory per launch, in bytes, for 10^6 launches whose operations are still pending. */
static double under_way(const struct input *in, double *record_ns)
{
    uint64_t edges, began;
    struct job j = {.engine = engine(in, &edges, CAP_BYTES), .ns = START_NS};
    size_t before = resident();

    began = bench_thread_cpu_ns();
    for (uint32_t i = 0; i < UNDER_WAY; i++) {
        call(&j, LAUNCH, j.ns, j.ns + 1000);
        j.ns += 2000;
        if (i % DELIVERY == 0)
            sl_edges_delivered(j.engine, START_NS);
    }
    *record_ns = (double)(bench_thread_cpu_ns() - began) / UNDER_WAY;
    size_t after = resident();

    sl_edges_destroy(j.engine);
    after -= (size_t)sysconf(_SC_PAGESIZE); /* the last page is only partly used, so it is not
                                               counted */
    return (double)(after - before) / UNDER_WAY;
}

int main(int argc, char **argv)
{
    static const struct {
        const char *what;
        void (*wait)(struct job *, uint32_t stream);
    } own[] = {{"its join, synchronized", join_and_synchronize},
               {"the legacy stream's", synchronize_legacy},
               {"an event's on it", record_on_legacy},
               {"a free", free_memory},
               {"the device's", synchronize_device}};
    uint64_t records = strtoull(bench_option(argc, argv, "--records", RECORDS), NULL, 10);
    double per_event, edges, apart, together, none, all, held, held_ns;
    struct bench_table table;
    char what[64];
    struct input in;

    mix_events_make(&in.all, START_NS, BYTES);
    measure_span(&in);
    bench_begin(&table, "edges", argc, argv);
    per_event = mix_cost(&in, &edges);
    bench_row(&table, (struct bench_row){"time per record", per_event, "ns", .goal = 100});
    bench_row(&table, (struct bench_row){"edges per record", edges, "edges", .goal = 0});
    apart = many_streams(&in, 64, 0, &none);
    together = many_streams(&in, 64, 1, &all);
    bench_row(&table, (struct bench_row){"time per edge", (together - apart) / (all - none), "ns",
                                         .goal = 50});
    apart = many_streams(&in, MANY, 0, &none);
    bench_row(&table, (struct bench_row){"time per record, 10^4 streams", apart / (2.0 * MANY + 2),
                                         "ns", .goal = 100});
    together = many_streams(&in, MANY, 1, &all);
    bench_row(&table, (struct bench_row){"time per edge, 10^4 streams",
                                         (together - apart) / (all - none), "ns", .goal = 0});
    bench_row(&table, (struct bench_row){"a wait for 10^4 streams, of 100 ns a record, 50 an edge",
                                         together / (100 * (2.0 * MANY + 2) + 50 * all), "times",
                                         .goal = 1});
    held = under_way(&in, &held_ns);
    bench_row(&table, (struct bench_row){"memory per operation, 10^6 under way", held, "bytes",
                                         .goal = 48});
    bench_row(&table,
              (struct bench_row){"time per record, 10^6 under way", held_ns, "ns", .goal = 100});
    for (size_t i = 0; i < sizeof own / sizeof *own; i++) {
        snprintf(what, sizeof what, "a stream for each request, and %s", own[i].what);
        bench_row(&table, (struct bench_row){what, requests(&in, own[i].wait), "times", .goal = 0});
    }
    snprintf(what, sizeof what, "growth over %.0e records", (double)records);
    bench_row(&table, (struct bench_row){what, growth(&in, records), "KiB", .goal = 64});
    mix_events_free(&in.all);
    return bench_end(&table);
}
