/*
 * chakra_bench.c - what a node of a Chakra trace costs, in time and in bytes.
 *
 * The records of mix.h, decoded and assembled outside the measured time, go through the writer a
 * second of events at a time, as in a job, with an edge for each synchronize. CPU time per node of
 * the best of three rounds, into memory and uncompressed; and bytes per node, raw without the name,
 * and as zstd leaves it.
 */
#include "collect/cupti_decode.h"
#include "event/assemble.h"
#include "mix.h"
#include "table.h"
#include "write/chakra.h"

enum {
    BUFFER_BYTES = 1 << 20,
    BUFFERS = 60, /* half a million records */
    ROUNDS = 3,
    EVENTS_MAX = 1 << 21,
    STEP_EVENTS = 32768
};

#define START_NS 1700000000000000000u

struct input {
    struct sl_intern *intern;
    struct sl_shape_table *shapes;
    struct sl_assemble *assemble;
    struct sl_event *event;
    size_t events;
    struct sl_edge *edge; /* edge[i] joins event edge_at[i] */
    size_t *edge_at;
    size_t edges;
};

static void must(int result, const char *what)
{
    if (result == 0)
        return;
    fprintf(stderr, "chakra_bench: %s: %s\n", what, strerror(-result));
    exit(1);
}

static void assemble_one(void *user, const struct sl_event *ev)
{
    sl_assemble_event(((struct input *)user)->assemble, ev, 0);
}

static int keep(void *user, const struct sl_event *ev)
{
    struct input *in = user;

    if (in->events < EVENTS_MAX)
        in->event[in->events++] = *ev;
    return 0;
}

/* The last operation of the stream before each stream synchronize. */
static void make_edges(struct input *in)
{
    const struct sl_event *last = NULL;

    for (size_t i = 0; i < in->events; i++) {
        const struct sl_event *ev = &in->event[i];
        struct sl_edge *e = &in->edge[in->edges];

        if (ev->kind == SL_EV_MEMCPY && ev->stream == MIX_STREAM_COMPUTE)
            last = ev;
        if (ev->kind != SL_EV_SYNC || ev->u.sync.type != SL_SYNC_STREAM || !last ||
            last->end_ns > ev->end_ns)
            continue;
        e->source.correlation = last->correlation;
        e->source.end_ns = last->end_ns;
        e->dst_correlation = ev->correlation;
        e->dst_end_ns = ev->end_ns;
        in->edge_at[in->edges++] = i;
    }
}

static void make_input(struct input *in)
{
    struct sl_decode_options decode = {.version = MIX_CUPTI_VERSION};
    struct sl_assemble_options assemble = {.sink = keep, .sink_user = in};
    uint8_t *buffer = malloc(BUFFER_BYTES);
    struct sl_decode *d;
    struct mix m;

    memset(in, 0, sizeof(*in));
    in->event = malloc(EVENTS_MAX * sizeof(*in->event));
    in->edge = calloc(EVENTS_MAX / 256, sizeof(*in->edge));
    in->edge_at = calloc(EVENTS_MAX / 256, sizeof(*in->edge_at));
    must(mix_init(&m, START_NS), "mix");
    must(sl_intern_create(&in->intern, 8 << 20), "names");
    must(sl_shape_create(&in->shapes, 4 << 20), "shapes");
    must(sl_assemble_create(&in->assemble, &assemble), "assemble");
    decode.intern = in->intern;
    decode.shapes = in->shapes;
    must(sl_decode_create(&d, &decode), "decode");
    for (unsigned i = 0; i < BUFFERS; i++) {
        size_t valid = mix_fill(&m, buffer, BUFFER_BYTES, NULL);

        sl_decode_buffer(d, buffer, valid, assemble_one, in);
    }
    sl_assemble_flush(in->assemble);
    make_edges(in);
    sl_decode_destroy(d);
    mix_free(&m);
    free(buffer);
}

/* Writes the whole input; gives the CPU time that took. */
static uint64_t write_all(const struct input *in, struct sl_chakra *c, struct sl_sink *sink)
{
    struct sl_trace_meta meta = {.host = "bench", .job = "bench", .opened_ns = START_NS};
    uint64_t before = bench_thread_cpu_ns();
    size_t at = 0, edge = 0;

    must(sl_chakra_begin(c, sink, &meta), "begin");
    while (at < in->events) {
        size_t n = in->events - at < STEP_EVENTS ? in->events - at : STEP_EVENTS;

        must(sl_chakra_events(c, in->event + at, n), "events");
        at += n;
        for (; edge < in->edges && in->edge_at[edge] < at; edge++)
            must(sl_chakra_edges(c, &in->edge[edge], 1), "edges");
        /* What is in now began at least this long ago. */
        must(sl_chakra_advance(c, in->event[at - 1].start_ns - 50000000), "advance");
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

/* Bytes of the names of all nodes: what the file would be smaller by. */
static double name_bytes(const struct input *in, const struct sl_chakra_counts *count, size_t raw,
                         struct sl_chakra *c)
{
    struct sl_sink *sink;
    struct input bare = *in;
    size_t without;

    bare.event = malloc(in->events * sizeof(*bare.event));
    memcpy(bare.event, in->event, in->events * sizeof(*bare.event));
    for (size_t i = 0; i < in->events; i++) {
        bare.event[i].name = sl_intern_put(in->intern, "n", 1);
        bare.event[i].shape = 0;
    }
    must(sl_sink_memory_open(&sink), "memory");
    write_all(&bare, c, sink);
    /* One letter is left of each name, three of a gap's, five behind a wait's. */
    without = sink_size(sink) - count->nodes - 2 * count->gap_nodes - 5 * count->wait_nodes;
    sink->close(sink, 1);
    free(bare.event);
    return (double)(raw - without) / (double)count->nodes;
}

int main(int argc, char **argv)
{
    struct sl_chakra_options opt = {.api_name = sl_decode_api_name};
    struct sl_chakra_counts count;
    struct bench_table table;
    struct sl_sink *sink, *memory;
    uint64_t best = UINT64_MAX;
    double raw = 0, packed, names;
    struct sl_chakra *c;
    struct input in;

    make_input(&in);
    opt.intern = in.intern;
    opt.shapes = in.shapes;
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
    write_all(&in, c, sink);
    must(sink->sync(sink), "sync");
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
    bench_row(&table, (struct bench_row){"nodes per event", (double)count.nodes / (double)in.events,
                                         "nodes", .goal = 0});
    bench_row(&table, (struct bench_row){"sync edges written", (double)count.edges, "edges",
                                         .goal = (double)in.edges, .at_least = 1});
    sl_chakra_destroy(c);
    sl_assemble_destroy(in.assemble);
    sl_shape_destroy(in.shapes);
    sl_intern_destroy(in.intern);
    free(in.event);
    free(in.edge);
    free(in.edge_at);
    return bench_end(&table);
}
