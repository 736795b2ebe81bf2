/*
 * exit_bench.c - measures the time that the library adds to the end of a job.
 *
 * The benchmark runs itself as a child process on the simulated GPU (or, with --gpu, on the real
 * GPU). The child launches kernels, waits for them, and returns from main before CUPTI has
 * delivered their records. The time from that return to the end of the process is measured
 * alternately with and without the library.
 *
 *   exit_bench [--gpu] [--json FILE]
 */
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../samples/cuda_load.h"
#include "../samples/spin_kernel.h"
#include "table.h"

#define ROUNDS 5

extern char **environ;

static const char ptx[] = SPIN_MODULE SPIN_KERNEL("bench_spin_ns");

/* ---- the child process, which is measured ---- */

static int child(unsigned long launches)
{
    CUmodule module;
    CUfunction kernel;

    cuda_open();
    cuda_use_device(0);
    CHECK(cu.ModuleLoadData(&module, ptx));
    CHECK(cu.ModuleGetFunction(&kernel, module, "bench_spin_ns"));
    for (unsigned long i = 0; i < launches; i++)
        spin_launch(kernel, NULL, 1, 32, 1000);
    CHECK(cu.CtxSynchronize());
    printf("%llu\n", (unsigned long long)bench_wall_ns());
    fflush(stdout);
    return 0;
}

/* ---- the parent process, which measures ---- */

static void put_environment(const char *folder, int with_library)
{
    setenv("SYNCLINE_OUTPUT", folder, 1);
    setenv("SYNCLINE_LOG", "error", 1);
    if (with_library)
        setenv("CUDA_INJECTION64_PATH", BENCH_LIBRARY, 1);
    else
        unsetenv("CUDA_INJECTION64_PATH");
}

/* Returns the milliseconds from the child's return to its end; a negative value if the child
 * failed. */
static double exit_ms(char **argv)
{
    posix_spawn_file_actions_t actions;
    unsigned long long returned_ns = 0;
    int pipe_fds[2], status = -1;
    uint64_t ended_ns;
    pid_t pid;
    FILE *from;

    if (pipe(pipe_fds))
        return -1;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, pipe_fds[1], STDOUT_FILENO);
    posix_spawn_file_actions_addclose(&actions, pipe_fds[0]);
    if (posix_spawn(&pid, argv[0], &actions, NULL, argv, environ))
        pid = -1;
    posix_spawn_file_actions_destroy(&actions);
    close(pipe_fds[1]);
    if (pid < 0 || waitpid(pid, &status, 0) != pid)
        status = -1;
    ended_ns = bench_wall_ns();
    from = fdopen(pipe_fds[0], "r");
    if (!from || fscanf(from, "%llu", &returned_ns) != 1)
        status = -1;
    if (from)
        fclose(from);
    return status ? -1 : (double)(ended_ns - returned_ns) / 1e6;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* Measures the medians of ROUNDS pairs. Returns 0, or -1 if a child failed. */
static int measure(const char *program, const char *folder, int on_gpu, unsigned long launches,
                   double *without, double *with)
{
    char count[32];
    char *simulated[] = {BENCH_SIMGPU_RUN, "--build", BENCH_BUILD, (char *)(uintptr_t)program,
                         "--child",        count,     NULL};
    char *real[] = {(char *)(uintptr_t)program, "--child", count, NULL};
    double bare[ROUNDS], injected[ROUNDS];

    snprintf(count, sizeof(count), "%lu", launches);
    for (int i = 0; i < ROUNDS; i++) {
        put_environment(folder, 0);
        bare[i] = exit_ms(on_gpu ? real : simulated);
        put_environment(folder, 1);
        injected[i] = exit_ms(on_gpu ? real : simulated);
        if (bare[i] < 0 || injected[i] < 0)
            return -1;
    }
    qsort(bare, ROUNDS, sizeof(*bare), by_value);
    qsort(injected, ROUNDS, sizeof(*injected), by_value);
    *without = bare[ROUNDS / 2];
    *with = injected[ROUNDS / 2];
    return 0;
}

int main(int argc, char **argv)
{
    static const unsigned long launches[] = {0, 1000, 30000, 200000};
    const char *count = bench_option(argc, argv, "--child", NULL);
    char folder[] = "/tmp/exit_bench-XXXXXX", program[4096], command[128];
    int on_gpu = 0, failed = 0;
    struct bench_table t;
    ssize_t n;

    if (count)
        return child(strtoul(count, NULL, 10));
    for (int i = 1; i < argc; i++)
        on_gpu |= strcmp(argv[i], "--gpu") == 0;
    n = readlink("/proc/self/exe", program, sizeof(program) - 1);
    if (n < 0 || !mkdtemp(folder)) {
        perror("exit_bench");
        return 2;
    }
    program[n] = '\0';
    bench_begin(&t, "exit", argc, argv);
    for (size_t i = 0; i < sizeof(launches) / sizeof(*launches) && !failed; i++) {
        double without, with, undelivered = 2.0 * (double)launches[i];
        char metric[64], against[64];

        failed = measure(program, folder, on_gpu, launches[i], &without, &with);
        if (failed) {
            fprintf(stderr, "exit_bench: a child failed; run it alone: %s%s --child %lu\n",
                    on_gpu ? "" : "tests/simgpu/run ", program, launches[i]);
            break;
        }
        snprintf(metric, sizeof(metric), "added at exit, %.0f records", undelivered);
        snprintf(against, sizeof(against), "bare exit %.1f ms", without);
        bench_row(&t,
                  (struct bench_row){metric, with - without, "ms",
                                     .goal = undelivered < 1950000 ? 50 + undelivered / 1000 : 2000,
                                     .against = against});
    }
    snprintf(command, sizeof(command), "rm -rf %s", folder);
    if (system(command))
        fprintf(stderr, "exit_bench: %s could not be removed\n", folder);
    return bench_end(&t) || failed ? 2 : 0;
}
