/*
 * interfaces_bench.c - measures the cost of the two CUPTI interfaces for syncline: process-wide
 * (v1), and a separate subscriber (v2). A v2 subscriber gets whole records (v2-whole), or only the
 * fields that syncline reads (v2).
 *
 * The benchmark runs itself as a child process on the simulated GPU, with the library injected. The
 * child launches kernels and waits for their records. Each round runs one child per interface; the
 * table shows medians and the spread of the rounds. NVIDIA's own cost of making a record is not
 * included, because the simulator makes the records.
 *
 *   interfaces_bench [--json FILE] [--launches N] [--rounds N]
 */
#include <dirent.h>
#include <unistd.h>

#include "../samples/cuda_load.h"
#include "../samples/spin_kernel.h"
#include "table.h"

#define CUPTI       "13.5"
#define MOST_ROUNDS 32
#define SETTLE_US   700000 /* time in us in which syncline writes the records of the last flush */

static const char ptx[] = SPIN_MODULE SPIN_KERNEL("bench_spin_ns");
static const char *const interfaces[] = {"v1", "v2-whole", "v2"};

enum {
    OWN_NS,      /* CPU time of syncline's threads, per record */
    CALLBACK_NS, /* CPU time inside syncline's callbacks, per record */
    JOB_NS,      /* CPU time of the launching thread, per launch; most of this time is spent in the
                    simulator */
    BYTES,       /* bytes of CUPTI buffers, per record */
    VALUES
};

/* ---- the child process, which is measured ---- */

/* Returns the CPU time of syncline's threads so far, in ns. */
static uint64_t own_cpu_ns(void)
{
    DIR *tasks = opendir("/proc/self/task");
    const struct dirent *task;
    uint64_t sum = 0;

    while (tasks && (task = readdir(tasks))) {
        char path[300], name[32] = "";
        FILE *comm;
        long id = strtol(task->d_name, NULL, 10);

        snprintf(path, sizeof(path), "/proc/self/task/%s/comm", task->d_name);
        comm = id ? fopen(path, "r") : NULL;
        if (comm && fgets(name, sizeof(name), comm) && strncmp(name, "syncline", 8) == 0)
            sum += bench_clock_ns((clockid_t)((~(unsigned)id << 3) | 6)); /* the id of the thread's
                                                                             CPU clock */
        if (comm)
            fclose(comm);
    }
    if (tasks)
        closedir(tasks);
    return sum;
}

static int child(unsigned long launches)
{
    uint64_t job, own;
    CUmodule module;
    CUfunction kernel;

    cuda_open();
    cuda_use_device(0);
    CHECK(cu.ModuleLoadData(&module, ptx));
    CHECK(cu.ModuleGetFunction(&kernel, module, "bench_spin_ns"));
    spin_launch(kernel, NULL, 1, 32, 1000);
    CHECK(cu.CtxSynchronize());
    usleep(SETTLE_US);
    own = own_cpu_ns();
    job = bench_thread_cpu_ns();
    for (unsigned long i = 0; i < launches; i++)
        spin_launch(kernel, NULL, 1, 32, 1000);
    job = bench_thread_cpu_ns() - job;
    CHECK(cu.CtxSynchronize());
    usleep(SETTLE_US);
    printf("%llu %llu\n", (unsigned long long)(own_cpu_ns() - own), (unsigned long long)job);
    return 0;
}

/* ---- the parent process, which measures ---- */

/* Reads the numbers that the simulator logged about its CUPTI client. Returns 0 or -1. */
static int read_log(const char *path, double *records, double *bytes, double *callbacks)
{
    unsigned long long n, b, requests, request_ns, completions, completion_ns;
    char line[512];
    FILE *log = fopen(path, "r");
    int found = -1;

    while (log && fgets(line, sizeof(line), log)) {
        if (sscanf(line,
                   "{\"what\":\"client\",\"records\":%llu,\"bytes\":%llu,\"requests\":%llu,"
                   "\"request_cpu_ns\":%llu,\"completions\":%llu,\"completion_cpu_ns\":%llu",
                   &n, &b, &requests, &request_ns, &completions, &completion_ns) != 6)
            continue;
        *records = (double)n;
        *bytes = (double)b;
        *callbacks = (double)(request_ns + completion_ns);
        found = n ? 0 : -1;
    }
    if (log)
        fclose(log);
    return found;
}

static int run(const char *program, const char *folder, const char *interface,
               unsigned long launches, double value[VALUES])
{
    unsigned long long own, job;
    double records = 0, bytes = 0, callbacks = 0;
    char command[8192], log[256];
    FILE *from;
    int got, status;

    snprintf(log, sizeof(log), "%s/log", folder);
    snprintf(command, sizeof(command),
             "SYNCLINE_OUTPUT=%s SYNCLINE_LOG=error SYNCLINE_CHAKRA=off SYNCLINE_CUPTI_API=%s "
             "CUDA_INJECTION64_PATH=%s %s --build %s --cupti " CUPTI " --scale 100 --log %s %s "
             "--child %lu",
             folder, interface, BENCH_LIBRARY, BENCH_SIMGPU_RUN, BENCH_BUILD, log, program,
             launches);
    from = popen(command, "r");
    if (!from)
        return -1;
    got = fscanf(from, "%llu %llu", &own, &job);
    status = pclose(from);
    if (got != 2 || status || read_log(log, &records, &bytes, &callbacks)) {
        fprintf(stderr, "interfaces_bench: a child failed: %s\n", command);
        return -1;
    }
    value[OWN_NS] = (double)own / records;
    value[CALLBACK_NS] = callbacks / records;
    value[JOB_NS] = (double)job / (double)launches;
    value[BYTES] = bytes / records;
    return 0;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static void show(struct bench_table *t, const char *interface, int what, double *value,
                 size_t rounds)
{
    static const char *const names[] = {"own CPU", "callbacks", "launching thread",
                                        "CUPTI's buffers"};
    static const char *const units[] = {"ns/record", "ns/record", "ns/launch", "B/record"};
    char metric[64], against[64];

    qsort(value, rounds, sizeof(*value), by_value);
    snprintf(metric, sizeof(metric), "%s, %s", interface, names[what]);
    snprintf(against, sizeof(against), "rounds: %.1f to %.1f", value[0], value[rounds - 1]);
    bench_row(t, (struct bench_row){metric, value[rounds / 2], units[what], .against = against});
}

int main(int argc, char **argv)
{
    static double value[3][VALUES][MOST_ROUNDS];
    const char *count = bench_option(argc, argv, "--child", NULL);
    unsigned long launches = strtoul(bench_option(argc, argv, "--launches", "200000"), NULL, 10);
    size_t rounds = strtoul(bench_option(argc, argv, "--rounds", "5"), NULL, 10);
    char folder[] = "/tmp/interfaces_bench-XXXXXX", program[4096], command[128];
    struct bench_table t;
    int failed = 0;
    ssize_t n;

    if (count)
        return child(strtoul(count, NULL, 10));
    n = readlink("/proc/self/exe", program, sizeof(program) - 1);
    if (n < 0 || !rounds || rounds > MOST_ROUNDS || !launches || !mkdtemp(folder)) {
        fprintf(stderr, "interfaces_bench: 1 to %d rounds, at least one launch\n", MOST_ROUNDS);
        return 2;
    }
    program[n] = '\0';
    bench_begin(&t, "interfaces", argc, argv);
    for (size_t round = 0; round < rounds && !failed; round++)
        for (size_t i = 0; i < 3 && !failed; i++) {
            double one[VALUES];

            failed = run(program, folder, interfaces[i], launches, one);
            for (int what = 0; what < VALUES && !failed; what++)
                value[i][what][round] = one[what];
        }
    for (int what = 0; what < VALUES && !failed; what++)
        for (size_t i = 0; i < 3; i++)
            show(&t, interfaces[i], what, value[i][what], rounds);
    snprintf(command, sizeof(command), "rm -rf %s", folder);
    if (system(command))
        fprintf(stderr, "interfaces_bench: %s could not be removed\n", folder);
    return bench_end(&t) || failed ? 2 : 0;
}
