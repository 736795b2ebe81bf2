/*
 * chakra_bench.c - measures the cost of a Chakra node in time and bytes.
 *
 * The records of mix.h are decoded and assembled outside the measured time. As in a job, the writer
 * gets one second of events at a time. Each synchronize gives one edge. The table shows CPU time
 * per node (best of three rounds, uncompressed into memory). The table also shows the bytes of a
 * node: uncompressed and without the name, and compressed by zstd.
 */
#include "event/call_name.h"
#include "mix_events.h"
#include "must.h"
#include "table.h"
#include "write/chakra/chakra.h"

enum {
    BYTES = 60 << 20, /* bytes of records, about half a million records */
    ROUNDS = 3,
    STEP_EVENTS = 32768
};

#define START_NS 1700000000000000000u

struct input {
    struct mix_events all;
    struct sl_edge *edge; /* edge[i] is passed on together with event number edge_at[i] */
    size_t *edge_at;
    size_t edges;
};

/* Makes one edge for each stream synchronize. The source of the edge is the last operation on the
 * stream before the synchronize. */
static void make_edges(struct input *in)
{
    const struct sl_event *last = NULL;

    in->edges = 0;
    in->edge = need(calloc(in->all.count, sizeof(*in->edge)));
    in->edge_at = need(calloc(in->all.count, sizeof(*in->edge_at)));
    for (size_t i = 0; i < in->all.count; i++) {
        const struct sl_event *ev = &in->all.event[i];
        struct sl_edge *e = &in->edge[in->edges];

        if (ev->kind == SL_EV_MEMCPY && ev->stream == MIX_STREAM_COMPUTE)
            last = ev;
        if (ev->kind != SL_EV_SYNC || ev->u.sync.type != SL_SYNC_STREAM || !last ||
            last->end_ns > ev->end_ns)
            continue;
        e->source.correlation = last->correlation;
        e->source.device = last->device;
        e->source.context = last->context;
        e->source.stream = last->stream;
        e->source.end_ns = last->end_ns;
        e->dst_correlation = ev->correlation;
        e->dst_end_ns = ev->end_ns;
        in->edge_at[in->edges++] = i;
    }
}

/* Writes the whole input. Returns the CPU time used, in ns. */
static uint64_t write_all(const struct input *in, struct sl_chakra *c, struct sl_sink *sink)
{
    struct sl_trace_meta meta = {.host = "bench", .job = "bench", .opened_ns = START_NS};
    uint64_t before = bench_thread_cpu_ns();
    size_t at = 0, edge = 0;

    must(sl_chakra_begin(c, sink, &meta), "begin");
    while (at < in->all.count) {
        size_t n = in->all.count - at < STEP_EVENTS ? in->all.count - at : STEP_EVENTS;

        must(sl_chakra_events(c, in->all.event + at, n), "events");
        at += n;
        for (; edge < in->edges && in->edge_at[edge] < at; edge++)
            must(sl_chakra_edges(c, &in->edge[edge], 1), "edges");
        /* States that all rows which began more than 50 ms before this event have been added. */
        must(sl_chakra_advance(c, in->all.event[at - 1].start_ns - 50000000), "advance");
    }
    must(sl_chakra_end(c), "end");
    return bench_thread_cpu_ns() - before;
}

static size_t sink_size(const struct sl_sink *sink)
{
    const void *data;
    size_t size;

    sl_sink_memory_get(sink, &data, &size);
    return size;
}

/* Returns the bytes of a node's name, which is the size of the file with names minus the size
 * without names, per node. */
static double name_bytes(const struct input *in, const struct sl_chakra_counts *count, size_t raw,
                         struct sl_chakra *c)
{
    struct sl_sink *sink;
    struct input bare = *in;
    size_t without;

    bare.all.event = malloc(in->all.count * sizeof(*bare.all.event));
    memcpy(bare.all.event, in->all.event, in->all.count * sizeof(*bare.all.event));
    for (size_t i = 0; i < in->all.count; i++) {
        bare.all.event[i].name = sl_intern_put(in->all.intern, "n", 1);
        if (bare.all.event[i].kind <= SL_EV_GRAPH)
            bare.all.event[i].shape = 0;
    }
    must(sl_sink_memory_open(&sink), "memory");
    write_all(&bare, c, sink);
    /* In the file without names, every name still has one letter. The names of gap nodes have two
     * letters more, and the names of wait nodes have five more. */
    without = sink_size(sink) - count->nodes - 2 * count->gap_nodes - 5 * count->wait_nodes;
    sink->close(sink, 1);
    free(bare.all.event);
    return (double)(raw - without) / (double)count->nodes;
}

int main(int argc, char **argv)
{
    struct sl_chakra_options opt = {.api_name = sl_call_name};
    struct sl_chakra_counts count;
    struct bench_table table;
    struct sl_sink *sink, *memory;
    uint64_t best = UINT64_MAX, packed_ns;
    double raw = 0, packed, names;
    struct sl_chakra *c;
    struct input in;

    mix_events_make(&in.all, START_NS, BYTES);
    make_edges(&in);
    opt.intern = in.all.intern;
    opt.shapes = in.all.shapes;
    must(sl_chakra_create(&c, &opt), "create");
    for (int i = 0; i < ROUNDS; i++) {
        uint64_t ns;

        must(sl_sink_memory_open(&sink), "memory");
        ns = write_all(&in, c, sink);
        best = ns < best ? ns : best;
        raw = (double)sink_size(sink);
        sink->close(sink, 1);
    }
    sl_chakra_get_counts(c, &count);
    must(sl_sink_memory_open(&memory), "memory");
    must(sl_sink_compress_open(&sink, memory, SL_COMPRESS_ZSTD, 0), "zstd");
    packed_ns = bench_thread_cpu_ns();
    write_all(&in, c, sink);
    must(sink->sync(sink), "sync");
    packed_ns = bench_thread_cpu_ns() - packed_ns;
    packed = (double)sink_size(memory) / (double)count.nodes;
    sink->close(sink, 1);
    names = name_bytes(&in, &count, (size_t)raw, c);

    bench_begin(&table, "chakra", argc, argv);
    bench_row(&table, (struct bench_row){"time per node", (double)best / (double)count.nodes, "ns",
                                         .goal = 300});
    bench_row(&table, (struct bench_row){"raw size of a node without its name",
                                         raw / (double)count.nodes - names, "bytes", .goal = 150});
    bench_row(&table, (struct bench_row){"its name", names, "bytes", .goal = 0});
    bench_row(&table, (struct bench_row){"all of it with zstd", packed, "bytes", .goal = 20});
    bench_row(&table, (struct bench_row){"time per node, compressed",
                                         (double)packed_ns / (double)count.nodes, "ns", .goal = 0});
    bench_row(&table,
              (struct bench_row){"nodes per event", (double)count.nodes / (double)in.all.count,
                                 "nodes", .goal = 0});
    bench_row(&table, (struct bench_row){"sync edges written", (double)count.edges, "edges",
                                         .goal = (double)in.edges, .at_least = 1});
    sl_chakra_destroy(c);
    mix_events_free(&in.all);
    free(in.edge);
    free(in.edge_at);
    return bench_end(&table);
}
