/*
 * read_bench.c - measures `syncline check`, `convert` and `edges` on files that syncline writes.
 *
 * A child process writes a trace of launches, kernels with all their args, waits and arrows with
 * the library's writer. Then the benchmark runs each command on the trace as a user would run it.
 * The figures are wall time, CPU time and peak memory of the fastest of three runs.
 *
 *   read_bench [--events N] [--tool PATH] [--json FILE]
 *
 * --events: approximate number of rows in the trace (default 1 000 000). The peak memory of the
 * commands must not depend on this number.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "must.h"
#include "table.h"
#include "trace.h"

#define NAMES           200
#define ROWS_A_LAUNCH   4 /* the call, the start and the end of its flow arrow, the kernel */
#define LAUNCHES_A_WAIT 16
#define ROWS_A_WAIT     2 /* rows of a wait: the call and the synchronization */
#define ROUNDS          3
#define TRACE           "trace" /* the name of the file */

struct kernels {
    uint32_t name[NAMES], shape[NAMES];
};

static void put_kernels(struct kernels *k, struct trace *t)
{
    for (uint32_t i = 0; i < NAMES; i++) {
        struct sl_shape shape = {0};
        char name[320];

        /* The name is as long as PyTorch's kernel names. */
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

/* Returns the start of a launch. After each wait, the next launch begins 20 us later. */
static uint64_t launched_ns(uint64_t number)
{
    return START_NS + 1000000 + number * 7013 + (number - 1) / LAUNCHES_A_WAIT * 20000;
}

/* Writes a launch and its kernel. */
static void launch(struct trace *t, const struct kernels *k, uint64_t number)
{
    uint64_t call_ns = launched_ns(number), gpu_ns = call_ns + 5119;
    uint32_t i = (uint32_t)(number * 7 % NAMES);
    struct sl_event ev[3] = {
        {.kind = SL_EV_RUNTIME,
         .start_ns = call_ns,
         .end_ns = call_ns + 3211,
         .correlation = 2 * number,
         .thread = 4243,
         .flags = SL_EVF_LAUNCH,
         .u.call = {.cbid = 211}},
        {.kind = SL_EV_FLOW,
         .start_ns = call_ns,
         .u.flow = {.head_ns = gpu_ns},
         .correlation = 2 * number,
         .thread = 4243,
         .flags = SL_EVF_FLOW_FIRST,
         .stream = 7},
        {.kind = SL_EV_KERNEL,
         .start_ns = gpu_ns,
         .end_ns = gpu_ns + 4000 + number % 2000,
         .correlation = 2 * number,
         .name = k->name[i],
         .shape = k->shape[i],
         .context = 1,
         .stream = 7},
    };

    must(sl_kineto_events(t->kineto, ev, 3), "events");
}

/* Writes a wait for the kernel of the launch. */
static void wait_for(struct trace *t, uint64_t number)
{
    uint64_t start_ns = launched_ns(number) + 3500;
    struct sl_event ev[2] = {
        {.kind = SL_EV_RUNTIME,
         .start_ns = start_ns,
         .end_ns = start_ns + 9000,
         .correlation = 2 * number + 1,
         .thread = 4243,
         .u.call = {.cbid = 131}},
        {.kind = SL_EV_SYNC,
         .start_ns = start_ns + 200,
         .end_ns = start_ns + 8800,
         .correlation = 2 * number + 1,
         .context = 1,
         .stream = 7,
         .u.sync = {.type = SL_SYNC_STREAM}},
    };

    must(sl_kineto_events(t->kineto, ev, 2), "events");
}

/* Writes a trace of `launches` launches. This function runs in a child process, so that its memory
 * does not count for the measured command. */
static void write_trace(const char *folder, enum sl_compression compression, uint64_t launches)
{
    struct sl_folder place;
    struct sl_sink *file, *sink;
    struct kernels kernels;
    struct trace t;

    trace_open(&t, SL_DETAIL_DEFAULT);
    put_kernels(&kernels, &t);
    must(sl_folder_open(&place, folder, 0600), folder);
    must(sl_sink_file_open(&file, &place, TRACE), TRACE);
    must(sl_sink_compress_open(&sink, file, compression, compression ? 1 : 0), TRACE);
    must(sl_kineto_begin(t.kineto, sink, &trace_meta), "begin");
    for (uint64_t i = 1; i <= launches; i++) {
        launch(&t, &kernels, i);
        if (i % LAUNCHES_A_WAIT == 0)
            wait_for(&t, i);
    }
    must(sl_kineto_end(t.kineto, launched_ns(launches + 1) + 1000000), "end");
    must(sink->sync(sink), TRACE);
    must(sink->close(sink, 1), TRACE);
    sl_folder_close(&place);
    trace_close(&t);
}

static void in_child(const char *folder, enum sl_compression compression, uint64_t launches)
{
    pid_t child = fork();
    int status = -1;

    if (child == 0) {
        write_trace(folder, compression, launches);
        _exit(0); /* exit() would print the parent's buffered output again */
    }
    if (child < 0 || waitpid(child, &status, 0) != child || status != 0)
        exit(2);
}

/* The cost of one run of the command. */
struct cost {
    double seconds, cpu, peak_mib;
};

static double seconds_of(struct timeval t)
{
    return (double)t.tv_sec + (double)t.tv_usec / 1e6;
}

/* Runs the command and returns its cost. argument[0] is the path of the command. Its output goes to
 * the file `said`. */
static struct cost run(const char *const *argument, const char *said)
{
    uint64_t began = bench_wall_ns();
    struct rusage usage;
    pid_t child = fork();
    int status = -1;

    if (child == 0) {
        int fd = open(said, O_WRONLY | O_CREAT | O_TRUNC, 0600);

        if (fd < 0 || dup2(fd, 1) < 0 || dup2(fd, 2) < 0)
            _exit(126);
        execv(argument[0], (char *const *)(uintptr_t)argument); /* the cast is safe because execv
                                                                   does not change the strings */
        _exit(127);
    }
    if (child < 0 || wait4(child, &status, 0, &usage) != child || status != 0) {
        fprintf(stderr, "read_bench: %s %s failed (status %d); what it said is in %s\n",
                argument[0], argument[1], status, said);
        exit(2);
    }
    return (struct cost){.seconds = (double)(bench_wall_ns() - began) / 1e9,
                         .cpu = seconds_of(usage.ru_utime) + seconds_of(usage.ru_stime),
                         .peak_mib = (double)usage.ru_maxrss / 1024};
}

/* Returns the fastest of three runs, with the highest peak memory of the three. */
static struct cost best_of(const char *const *argument, const char *said)
{
    struct cost best = {0};
    double peak = 0;

    for (int i = 0; i < ROUNDS; i++) {
        struct cost c = run(argument, said);

        peak = c.peak_mib > peak ? c.peak_mib : peak;
        if (i == 0 || c.seconds < best.seconds)
            best = c;
    }
    best.peak_mib = peak;
    return best;
}

/* A trace that is measured: its file name in the benchmark's folder, and its label in the table. */
struct subject {
    struct bench_table *table;
    const char *tool;
    char path[256], out[256], said[256];
    enum sl_compression compression;
    uint64_t launches;
};

static void row(const struct subject *s, const char *command, const char *what,
                struct bench_row values)
{
    static const char *const name[] = {"plain", "zstd", "gzip"};
    char metric[96];

    snprintf(metric, sizeof(metric), "%s, %s%s", command, name[s->compression], what);
    values.metric = metric;
    bench_row(s->table, values);
}

static void measure_check(const struct subject *s)
{
    const char *argument[] = {s->tool, "check", "--quiet", s->path, NULL};
    struct cost best = best_of(argument, s->said);
    double events =
        (double)(s->launches * ROWS_A_LAUNCH + s->launches / LAUNCHES_A_WAIT * ROWS_A_WAIT);

    row(s, "check", "",
        (struct bench_row){.value = events / best.seconds / 1e6,
                           .unit = "M events/s",
                           .goal = s->compression == SL_COMPRESS_ZSTD ? 1 : 0,
                           .at_least = 1});
    row(s, "check", ": CPU an event",
        (struct bench_row){.value = best.cpu * 1e9 / events, .unit = "ns"});
    row(s, "check", ": peak memory",
        (struct bench_row){.value = best.peak_mib, .unit = "MiB", .goal = 256});
}

/* Measures a command on the plain JSON file. The file is not compressed, so its size is the amount
 * of text that the command reads. */
static void measure_json(const struct subject *s, const char *command, const char *const *argument,
                         double speed_goal, double memory_goal)
{
    struct cost best = best_of(argument, s->said);
    struct stat file;

    must(stat(s->path, &file) == 0 ? 0 : -errno, s->path);
    row(s, command, ": a second of CPU",
        (struct bench_row){.value = (double)file.st_size / 1e6 / best.cpu,
                           .unit = "MB",
                           .goal = speed_goal,
                           .at_least = 1});
    row(s, command, ": peak memory",
        (struct bench_row){.value = best.peak_mib, .unit = "MiB", .goal = memory_goal});
}

static double lines_in(const char *path)
{
    FILE *f = fopen(path, "r");
    double lines = 0;
    int c;

    must(f ? 0 : -errno, path);
    while ((c = getc(f)) != EOF)
        lines += c == '\n';
    fclose(f);
    return lines;
}

/* Measures `convert`. Each round replaces the output of the previous round. */
static void measure_convert(const struct subject *s)
{
    const char *argument[] = {s->tool,   "convert", s->path, "--to", "chakra",
                              "--force", "-o",      s->out,  NULL};

    measure_json(s, "convert to Chakra", argument, 50, 500);
    unlink(s->out);
}

static void measure_edges(const struct subject *s)
{
    const char *argument[] = {s->tool, "edges", "--json", s->path, NULL};
    double waits = (double)(s->launches / LAUNCHES_A_WAIT);

    measure_json(s, "edges", argument, 0, 256);
    /* The command prints one line for each edge and one line about edges that were left out. If the
     * command finds no edges, the measurement is invalid. */
    row(s, "edges", ": found",
        (struct bench_row){
            .value = lines_in(s->said), .unit = "edges", .goal = waits, .at_least = 1});
}

static void measure(struct bench_table *t, const char *tool, const char *folder,
                    enum sl_compression compression, uint64_t launches)
{
    struct subject s = {.table = t, .tool = tool, .compression = compression, .launches = launches};

    snprintf(s.path, sizeof(s.path), "%s/" TRACE, folder);
    snprintf(s.out, sizeof(s.out), "%s/out.et", folder);
    snprintf(s.said, sizeof(s.said), "%s/said", folder);
    in_child(folder, compression, launches);
    measure_check(&s);
    if (compression == SL_COMPRESS_NONE) {
        measure_convert(&s);
        measure_edges(&s);
    }
    unlink(s.said);
    unlink(s.path);
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
