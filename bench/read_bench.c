/*
 * read_bench.c - `syncline check` on files as syncline writes them.
 *
 * A child process writes a trace of launches, kernels with all their args, copies, waits and arrows
 * with the library's own writer; then the command itself runs on it, as a user runs it. Figures are
 * wall time and peak memory of that process, best of three.
 *
 *   read_bench [--events N] [--tool PATH] [--json FILE]
 *
 * --events: rows in the trace, roughly (default 1 000 000; memory must not depend on it).
 */
#include <errno.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "must.h"
#include "table.h"
#include "trace.h"

#define NAMES         200
#define ROWS_A_LAUNCH 4 /* call, arrow's start and end, kernel */
#define ROUNDS        3

struct kernels {
    uint32_t name[NAMES], shape[NAMES];
};

static void put_kernels(struct kernels *k, struct trace *t)
{
    for (uint32_t i = 0; i < NAMES; i++) {
        struct sl_shape shape = {0};
        char name[320];

        /* As long as PyTorch's names are. */
        snprintf(name, sizeof(name),
                 "void at::native::vectorized_elementwise_kernel<4, at::native::Functor%u<"
                 "c10::BFloat16>, std::array<char*, 3ul> >(int, at::native::Functor%u<"
                 "c10::BFloat16>, std::array<char*, 3ul>)",
                 i, i);
        k->name[i] = sl_intern_put(t->intern, name, strlen(name));
        shape.kind = SL_EV_KERNEL;
        shape.name = k->name[i];
        shape.context = 1;
        shape.stream = 7;
        shape.grid[0] = 128 + i;
        shape.grid[1] = shape.grid[2] = 1;
        shape.block[0] = 256;
        shape.block[1] = shape.block[2] = 1;
        shape.registers = 32;
        k->shape[i] = sl_shape_put(t->shapes, &shape);
    }
}

/* A launch and its kernel. */
static void launch(struct trace *t, const struct kernels *k, uint64_t number)
{
    uint64_t call_ns = START_NS + 1000000 + number * 7013, gpu_ns = call_ns + 5119;
    uint32_t i = (uint32_t)(number * 7 % NAMES);
    struct sl_event ev[3] = {
        {.kind = SL_EV_RUNTIME,
         .start_ns = call_ns,
         .end_ns = call_ns + 3211,
         .correlation = number,
         .thread = 4243,
         .flags = SL_EVF_LAUNCH,
         .u.call = {.cbid = 211}},
        {.kind = SL_EV_FLOW,
         .start_ns = call_ns,
         .end_ns = gpu_ns,
         .correlation = number,
         .thread = 4243,
         .flags = SL_EVF_FLOW_FIRST,
         .context = 1,
         .stream = 7},
        {.kind = SL_EV_KERNEL,
         .start_ns = gpu_ns,
         .end_ns = gpu_ns + 4000 + number % 2000,
         .correlation = number,
         .name = k->name[i],
         .shape = k->shape[i],
         .context = 1,
         .stream = 7},
    };

    must(sl_kineto_events(t->kineto, ev, 3), "events");
}

/* Writes the trace of `launches` launches. Runs in a child: its memory is not the reader's. */
static void write_trace(const char *path, enum sl_compression compression, uint64_t launches)
{
    struct sl_sink *file, *sink;
    struct kernels kernels;
    struct trace t;

    trace_open(&t, SL_DETAIL_DEFAULT);
    put_kernels(&kernels, &t);
    must(sl_sink_file_open(&file, path), path);
    must(sl_sink_compress_open(&sink, file, compression, compression ? 1 : 0), path);
    must(sl_kineto_begin(t.kineto, sink, &trace_meta), "begin");
    for (uint64_t i = 1; i <= launches; i++)
        launch(&t, &kernels, i);
    must(sl_kineto_end(t.kineto, START_NS + 2000000 + launches * 7013), "end");
    must(sink->sync(sink), path);
    must(sink->close(sink, 1), path);
    trace_close(&t);
}

static void in_child(const char *path, enum sl_compression compression, uint64_t launches)
{
    pid_t child = fork();
    int status = -1;

    if (child == 0) {
        write_trace(path, compression, launches);
        _exit(0); /* what stdio holds is the parent's to print */
    }
    if (child < 0 || waitpid(child, &status, 0) != child || status != 0)
        exit(2);
}

/* Runs the command. Returns seconds; its peak memory in *peak_mib, CPU seconds in *cpu. */
static double check(const char *tool, const char *path, double *peak_mib, double *cpu)
{
    uint64_t began = bench_wall_ns();
    struct rusage usage;
    pid_t child = vfork();
    int status = -1;

    if (child == 0) {
        execl(tool, tool, "check", "--quiet", path, (char *)NULL);
        _exit(127);
    }
    if (child < 0 || wait4(child, &status, 0, &usage) != child || status != 0) {
        fprintf(stderr, "read_bench: %s check %s failed (status %d)\n", tool, path, status);
        exit(2);
    }
    *peak_mib = (double)usage.ru_maxrss / 1024;
    *cpu = (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
    return (double)(bench_wall_ns() - began) / 1e9;
}

static void measure(struct bench_table *t, const char *tool, const char *folder,
                    enum sl_compression compression, uint64_t launches)
{
    static const char *const name[] = {"plain", "zstd", "gzip"};
    double best = 0, best_cpu = 0, peak = 0, events = (double)(launches * ROWS_A_LAUNCH);
    char path[256], metric[64];

    snprintf(path, sizeof(path), "%s/trace.%s", folder, name[compression]);
    in_child(path, compression, launches);
    for (int i = 0; i < ROUNDS; i++) {
        double mib, cpu, seconds = check(tool, path, &mib, &cpu);

        if (i == 0 || seconds < best) {
            best = seconds;
            best_cpu = cpu;
        }
        peak = mib > peak ? mib : peak;
    }
    unlink(path);
    snprintf(metric, sizeof(metric), "check, %s", name[compression]);
    bench_row(t,
              (struct bench_row){metric, events / best / 1e6, "M events/s",
                                 .goal = compression == SL_COMPRESS_ZSTD ? 1 : 0, .at_least = 1});
    snprintf(metric, sizeof(metric), "check, %s: CPU an event", name[compression]);
    bench_row(t, (struct bench_row){metric, best_cpu * 1e9 / events, "ns", .goal = 0});
    snprintf(metric, sizeof(metric), "check, %s: peak memory", name[compression]);
    bench_row(t, (struct bench_row){metric, peak, "MiB", .goal = 256});
}

int main(int argc, char **argv)
{
    uint64_t events = strtoull(bench_option(argc, argv, "--events", "1000000"), NULL, 10);
    const char *tool = bench_option(argc, argv, "--tool", NULL);
    char folder[] = "/tmp/read-bench-XXXXXX", beside[4096];
    const char *slash = strrchr(argv[0], '/');
    struct bench_table t;

    snprintf(beside, sizeof(beside), "%.*s/../tools/syncline", slash ? (int)(slash - argv[0]) : 1,
             slash ? argv[0] : ".");
    if (!mkdtemp(folder)) {
        perror(folder);
        return 2;
    }
    bench_begin(&t, "read", argc, argv);
    measure(&t, tool ? tool : beside, folder, SL_COMPRESS_ZSTD, events / ROWS_A_LAUNCH);
    measure(&t, tool ? tool : beside, folder, SL_COMPRESS_GZIP, events / ROWS_A_LAUNCH);
    measure(&t, tool ? tool : beside, folder, SL_COMPRESS_NONE, events / ROWS_A_LAUNCH);
    rmdir(folder);
    return bench_end(&t);
}
