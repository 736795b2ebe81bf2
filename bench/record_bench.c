/*
 * record_bench.c - measures the path of a CUPTI record from the buffer to the compressed file.
 *
 * The benchmark has four parts, which all use the records of mix.h:
 * - stages: each stage alone, on one thread, in one run: decode, assemble, format, and zstd on the
 *   formatted text. In this part zstd searches for repetitions itself. Then the records go through
 *   the same modules into a file. In the file, zstd does not search, because the writer passes the
 *   repetitions that it knows to zstd. Figures are CPU time per record. The ratio of the whole path
 *   to zstd alone matters, because it does not depend on the machine.
 * - edges: the whole path again, with the edge engine as the runtime's writer runs it.
 * - variants: the whole path with lean detail, and with level -5 of zstd.
 * - paced: recorder and writer on separate threads with the ring between them, at 500 000 records
 *   a second. No record may be dropped and memory must not grow.
 *
 *     record_bench [--records N] [--rate R] [--only stages|paced] [--json FILE]
 *
 * --records: number of records in the paced part (default 10 000 000; 100 000 000 take 200 s).
 */
#include <pthread.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/stats.h"
#include "event/ring.h"
#include "mix.h"
#include "must.h"
#include "record_path.h"
#include "table.h"
#include "write/edge_rows.h"
#include "write/kineto/kineto.h"
#include "write/writer.h"

enum {
    BUFFER_BYTES = 1 << 20,
    STAGE_BUFFERS = 160, /* 1.3 million records: half a minute of a busy job */
    ROUNDS = 3,
    RING_SLOTS = 131072, /* 8 MiB */
};

/* ---- sinks without a cost of their own ---- */

/* A sink that keeps the text of the events of one buffer. */
struct text_sink {
    struct sl_sink sink;
    char *data;
    size_t size, total;
};

static int text_write(struct sl_sink *sink, const void *data, size_t size)
{
    struct text_sink *t = (struct text_sink *)sink;

    memcpy(t->data + t->size, data, size);
    t->size += size;
    t->total += size;
    return 0;
}

struct count_sink {
    struct sl_sink sink;
    size_t total;
};

static int count_write(struct sl_sink *sink, const void *data, size_t size)
{
    (void)data;
    ((struct count_sink *)sink)->total += size;
    return 0;
}

static int count_sync(struct sl_sink *sink)
{
    (void)sink;
    return 0;
}

static int count_close(struct sl_sink *sink, int complete)
{
    (void)sink;
    (void)complete;
    return 0;
}

/* ---- the part `stages` ---- */

struct figures { /* ns of CPU and bytes, per CUPTI record */
    double decode, assemble, format, zstd, whole, text_bytes, zstd_bytes, file_bytes;
    double edges, edges_whole, edges_file_bytes; /* results with edges: the number of edges, the
                                                    cost of the whole path, and the bytes of the
                                                    file */
};

/* A frame ends after this number of buffers, which is once a second at 500 000 records a second, as
 * in the writer. */
#define BUFFERS_A_FRAME 50

/* If edges are measured, the benchmark reports to the edge engine after every BUFFERS_A_DELIVERY
 * buffers that all events up to LATE_NS ago have been delivered. */
#define BUFFERS_A_DELIVERY 4
#define LATE_NS            50000000

static void measure_stages(struct figures *f, enum sl_detail detail, int level)
{
    uint64_t decode = 0, assemble = 0, format = 0, zstd = 0;
    struct text_sink text = {
        .sink = {.write = text_write, .sync = count_sync, .close = count_close}};
    struct count_sink out = {
        .sink = {.write = count_write, .sync = count_sync, .close = count_close}};
    uint8_t *buffer = malloc(BUFFER_BYTES);
    struct sl_sink *compress;
    size_t records = 0, n;
    struct path p;
    struct mix m;

    text.data = malloc(64 << 20);
    must(mix_init(&m, START_NS), "mix");
    path_init(&p, detail, NULL);
    must(sl_sink_compress_open(&compress, &out.sink, SL_COMPRESS_ZSTD, level), "zstd");
    must(sl_kineto_begin(p.trace.kineto, &text.sink, &trace_meta), "begin");
    for (unsigned i = 0; i < STAGE_BUFFERS; i++) {
        size_t valid = mix_fill(&m, buffer, BUFFER_BYTES, &n);
        uint64_t t0 = bench_thread_cpu_ns(), t1, t2, t3, t4;

        run_decode(&p, buffer, valid);
        t1 = bench_thread_cpu_ns();
        run_assemble(&p, m.cpu_ns);
        t2 = bench_thread_cpu_ns();
        text.size = 0;
        sl_kineto_events(p.trace.kineto, p.assembled, p.assembled_count);
        t3 = bench_thread_cpu_ns();
        compress->write(compress, text.data, text.size);
        if (i % BUFFERS_A_FRAME == BUFFERS_A_FRAME - 1)
            compress->sync(compress);
        t4 = bench_thread_cpu_ns();
        records += n;
        decode += t1 - t0;
        assemble += t2 - t1;
        format += t3 - t2;
        zstd += t4 - t3;
    }
    sl_kineto_end(p.trace.kineto, m.cpu_ns);
    compress->close(compress, 1);
    f->decode = (double)decode / (double)records;
    f->assemble = (double)assemble / (double)records;
    f->format = (double)format / (double)records;
    f->zstd = (double)zstd / (double)records;
    f->text_bytes = (double)text.total / (double)records;
    f->zstd_bytes = (double)out.total / (double)records;
    path_free(&p);
    mix_free(&m);
    free(text.data);
    free(buffer);
}

/* Formats the events of a buffer as Kineto JSON, and their edges in the same way as the runtime's
 * writer. */
static void run_format(struct path *p, unsigned buffer, uint64_t now_ns)
{
    const struct sl_event ev = {.kind = SL_EV_DELIVERED, .end_ns = now_ns - LATE_NS};

    if (!p->edges) {
        sl_kineto_events(p->trace.kineto, p->assembled, p->assembled_count);
        return;
    }
    sl_edge_rows_events(p->edges, p->assembled, p->assembled_count);
    if (buffer % BUFFERS_A_DELIVERY == 0)
        sl_edge_rows_events(p->edges, &ev, 1);
}

/* These functions are the output of the Kineto writer. They do not end compression frames, because
 * the benchmark ends the frames itself. */
static int out_open(void *kineto, const struct sl_trace_meta *meta, struct sl_window_file *file)
{
    (void)kineto;
    (void)meta;
    (void)file;
    return 0;
}

static int out_events(void *kineto, const struct sl_event *ev, size_t count)
{
    return sl_kineto_events(kineto, ev, count);
}

static int out_edges(void *kineto, const struct sl_output_edges *edges)
{
    return sl_kineto_edges(kineto, edges);
}

static int out_complete(void *kineto, const struct sl_output_progress *progress)
{
    return sl_kineto_complete(kineto, progress);
}

static void out_destroy(void *kineto)
{
    (void)kineto; /* the path owns the writer */
}

static const struct sl_output_functions out_functions = {.open = out_open,
                                                         .events = out_events,
                                                         .edges = out_edges,
                                                         .complete = out_complete,
                                                         .destroy = out_destroy};

static void begin_edges(struct path *p)
{
    const struct sl_edge_rows_options opt = {.shapes = p->trace.shapes, .outputs = &p->outputs};

    sl_stats_reset();
    must(sl_edge_rows_create(&p->edges, &opt), "edges");
    sl_outputs_add(&p->outputs,
                   &(struct sl_output){.functions = &out_functions, .user = p->trace.kineto});
    sl_outputs_open(&p->outputs, &trace_meta, 0);
    sl_edge_rows_open(p->edges, START_NS);
}

/* Runs the same records through the real modules into a file, on this thread. */
static void measure_whole(struct figures *f, enum sl_detail detail, int level, const char *folder,
                          int edges)
{
    uint8_t *buffer = malloc(BUFFER_BYTES);
    struct sl_trace_meta meta = trace_meta;
    struct sl_sink *file, *compress;
    uint64_t cpu = 0;
    size_t records = 0, n;
    struct stat st;
    struct sl_folder place;
    char name[256];
    struct path p;
    struct mix m;

    meta.has_edges = edges;
    snprintf(name, sizeof(name), "%s/whole.zst", folder);
    must(mix_init(&m, START_NS), "mix");
    path_init(&p, detail, NULL);
    must(sl_folder_open(&place, folder, 0600), folder);
    must(sl_sink_file_open(&file, &place, "whole.zst"), name);
    must(sl_sink_compress_open(&compress, file, SL_COMPRESS_ZSTD, level), "zstd");
    must(sl_kineto_begin(p.trace.kineto, compress, &meta), "begin");
    if (edges)
        begin_edges(&p);
    for (unsigned i = 0; i < STAGE_BUFFERS; i++) {
        size_t valid = mix_fill(&m, buffer, BUFFER_BYTES, &n);
        uint64_t t0 = bench_thread_cpu_ns();

        run_decode(&p, buffer, valid);
        run_assemble(&p, m.cpu_ns);
        run_format(&p, i, m.cpu_ns);
        if (i % BUFFERS_A_FRAME == BUFFERS_A_FRAME - 1) {
            sl_kineto_flush(p.trace.kineto);
            must(compress->sync(compress), "sync");
        }
        cpu += bench_thread_cpu_ns() - t0;
        records += n;
    }
    if (edges)
        sl_edge_rows_close(p.edges, m.cpu_ns);
    sl_kineto_end(p.trace.kineto, m.cpu_ns);
    must(compress->close(compress, 1), "close");
    sl_folder_close(&place);
    must(stat(name, &st), name);
    must(unlink(name), name);
    *(edges ? &f->edges_file_bytes : &f->file_bytes) = (double)st.st_size / (double)records;
    *(edges ? &f->edges_whole : &f->whole) = (double)cpu / (double)records;
    if (edges)
        f->edges = (double)sl_stats_get(SL_STAT_EDGES) / (double)records;
    path_free(&p);
    mix_free(&m);
    free(buffer);
}

static void measure(struct figures *best, enum sl_detail detail, int level, const char *folder)
{
    for (int i = 0; i < ROUNDS; i++) {
        struct figures f;

        measure_stages(&f, detail, level);
        measure_whole(&f, detail, level, folder, 0);
        measure_whole(&f, detail, level, folder, 1);
        /* Other work may disturb a round, so the least disturbed round counts. */
        if (i == 0 || f.whole + f.zstd < best->whole + best->zstd)
            *best = f;
    }
}

static void stages(struct bench_table *t, const char *folder)
{
    struct figures f;
    double ours;

    measure(&f, SL_DETAIL_DEFAULT, 1, folder);
    ours = f.decode + f.assemble + f.format;
    bench_row(t, (struct bench_row){"decode", f.decode, "ns", .goal = 0});
    bench_row(t, (struct bench_row){"assemble", f.assemble, "ns", .goal = 0});
    bench_row(t, (struct bench_row){"format", f.format, "ns", .goal = 0});
    bench_row(t, (struct bench_row){"ours: decode + assemble + format", ours, "ns", .goal = 200});
    bench_row(t, (struct bench_row){"zstd level 1 alone", f.zstd, "ns", .goal = 0});
    bench_row(t, (struct bench_row){"whole path", f.whole, "ns",
                                    .against = "libkineto 3800 ns, uncompressed"});
    bench_row(t, (struct bench_row){"whole path / zstd alone", f.whole / f.zstd, "x", .goal = 1.4});
    bench_row(t, (struct bench_row){"text", f.text_bytes, "bytes", .goal = 0});
    bench_row(t, (struct bench_row){"zstd alone: file", f.zstd_bytes, "bytes", .goal = 0});
    bench_row(t, (struct bench_row){"file", f.file_bytes, "bytes", .goal = 26,
                                    .against = "libkineto 679 bytes, uncompressed"});

    bench_row(t, (struct bench_row){"edges: in 1000 records", f.edges * 1000, "", .goal = 0});
    bench_row(t, (struct bench_row){"edges: whole path", f.edges_whole, "ns", .goal = 0});
    bench_row(t, (struct bench_row){"edges: whole path / without", f.edges_whole / f.whole, "x",
                                    .goal = 1.35});
    bench_row(t, (struct bench_row){"edges: an edge, all told", (f.edges_whole - f.whole) / f.edges,
                                    "ns", .goal = 0});
    bench_row(t, (struct bench_row){"edges: file / without", f.edges_file_bytes / f.file_bytes, "x",
                                    .goal = 1.1});

    measure(&f, SL_DETAIL_LEAN, 1, folder);
    bench_row(t, (struct bench_row){"lean, level 1: whole path", f.whole, "ns", .goal = 400});
    bench_row(t, (struct bench_row){"lean, level 1: zstd alone", f.zstd, "ns", .goal = 0});
    bench_row(t, (struct bench_row){"lean, level 1: file", f.file_bytes, "bytes", .goal = 0});
    measure(&f, SL_DETAIL_DEFAULT, -5, folder);
    bench_row(t, (struct bench_row){"default, level -5: whole path", f.whole, "ns", .goal = 400});
    bench_row(t, (struct bench_row){"default, level -5: zstd alone", f.zstd, "ns", .goal = 0});
    bench_row(t, (struct bench_row){"default, level -5: file", f.file_bytes, "bytes", .goal = 0});
}

/* ---- the part `paced` ---- */

static size_t resident_bytes(void)
{
    FILE *f = fopen("/proc/self/statm", "r");
    size_t size = 0, resident = 0;

    if (f && fscanf(f, "%zu %zu", &size, &resident) != 2)
        resident = 0;
    if (f)
        fclose(f);
    return resident * (size_t)sysconf(_SC_PAGESIZE);
}

static void collect(void *user, const struct sl_event *ev)
{
    struct path *p = user;

    sl_assemble_event(p->assemble, ev, ev->end_ns);
}

static void push_window(struct path *p, enum sl_event_kind kind, uint64_t ns)
{
    struct sl_event ev = {.kind = (uint8_t)kind, .start_ns = ns, .end_ns = ns};

    ev.u.window.number = 1;
    must(sl_ring_push_control(p->ring, &ev), "control event");
    sl_writer_wake(p->writer);
}

static void paced(struct bench_table *t, const char *folder, uint64_t records, double rate)
{
    uint8_t *buffer = malloc(BUFFER_BYTES);
    struct sl_writer_options opt = {.meta = trace_meta};
    uint64_t done = 0, cpu, spent = 0, begun;
    size_t settled = 0, most = 0, n;
    struct sl_ring *ring;
    struct path p;
    struct mix m;
    char command[300];

    must(sl_ring_create(&ring, RING_SLOTS), "ring");
    path_init(&p, SL_DETAIL_DEFAULT, ring);
    path_output(&p, SL_DETAIL_DEFAULT, 1, folder);
    must(mix_init(&m, START_NS), "mix");
    opt.ring = ring;
    opt.outputs = &p.outputs;
    must(sl_writer_start(&p.writer, &opt), "writer");
    push_window(&p, SL_EV_WINDOW_OPEN, START_NS);
    cpu = bench_process_cpu_ns();
    begun = bench_wall_ns();
    while (done < records) {
        uint64_t filling = bench_thread_cpu_ns(), due, now;
        size_t valid = mix_fill(&m, buffer, 128 << 10, &n), resident;

        spent += bench_thread_cpu_ns() - filling; /* the time of mix_fill() is not part of the
                                                     measurement */
        sl_decode_buffer(p.decode, buffer, valid, collect, &p);
        sl_assemble_tick(p.assemble, m.cpu_ns);
        sl_writer_wake(p.writer);
        done += n;
        due = begun + (uint64_t)((double)done * 1e9 / rate);
        now = bench_wall_ns();
        if (due > now)
            usleep((useconds_t)((due - now) / 1000));
        resident = resident_bytes();
        if (done < records / 4)
            settled = resident > settled ? resident : settled;
        else
            most = resident > most ? resident : most;
    }
    push_window(&p, SL_EV_WINDOW_CLOSE, m.cpu_ns);
    must(sl_writer_stop(p.writer, 60000000000u), "stop");
    cpu = bench_process_cpu_ns() - cpu - spent;
    bench_row(t, (struct bench_row){"paced: records", (double)done, "", .goal = 0});
    bench_row(t, (struct bench_row){"paced: records a second",
                                    (double)done * 1e9 / (double)(bench_wall_ns() - begun), "1/s",
                                    .goal = rate * 0.98, .at_least = 1});
    bench_row(t, (struct bench_row){"paced: CPU of both threads", (double)cpu / (double)done, "ns",
                                    .goal = 0});
    bench_row(t, (struct bench_row){"paced: dropped in the ring", (double)sl_ring_dropped(ring), "",
                                    .goal = 0.5});
    bench_row(t, (struct bench_row){"paced: resident after a quarter", (double)settled / (1 << 20),
                                    "MiB", .goal = 0});
    bench_row(t, (struct bench_row){"paced: growth from there to the end",
                                    most > settled ? (double)(most - settled) / (1 << 20) : 0,
                                    "MiB", .goal = 2});
    snprintf(command, sizeof(command), "%s/1.pt.trace.json.zst", folder);
    must(unlink(command), command);
    path_free(&p);
    mix_free(&m);
    sl_ring_destroy(ring);
    free(buffer);
}

int main(int argc, char **argv)
{
    uint64_t records = strtoull(bench_option(argc, argv, "--records", "10000000"), NULL, 10);
    double rate = atof(bench_option(argc, argv, "--rate", "500000"));
    const char *only = bench_option(argc, argv, "--only", "");
    const char *tmp = getenv("TMPDIR");
    char folder[256];
    struct bench_table t;

    snprintf(folder, sizeof(folder), "%s/record_bench_XXXXXX", tmp ? tmp : "/tmp");
    if (!mkdtemp(folder))
        must(-1, folder);
    bench_begin(&t, "record", argc, argv);
    if (strcmp(only, "paced") != 0)
        stages(&t, folder);
    if (strcmp(only, "stages") != 0)
        paced(&t, folder, records, rate);
    rmdir(folder);
    return bench_end(&t);
}
