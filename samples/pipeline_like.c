/*
 * pipeline_like.c - the GPU work of pipeline-parallel training, without the mathematics.
 *
 * Each stage is a process with a rank. Pipes carry what NCCL would: a stage waits for the message
 * of its neighbour on the CPU, and then runs a kernel in the place of NCCL's. Each phase has an
 * NVTX range with the name that zero-bubble's schedules use: F0.0.0 is the forward pass of
 * micro-batch 0 through chunk 0. The kernels compute nothing; each kernel only runs for a given
 * time.
 *
 * Threads: one in each process. The parent makes no CUDA call.
 */
#include "cuda_load.h"

#include <getopt.h>
#include <nvtx3/nvToolsExt.h>
#include <stdbool.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "spin_kernel.h"

#define STAGES_MOST 16
#define MBS_MOST    64
#define CHUNKS_MOST 4
#define ORDER_MOST  (3 * MBS_MOST * CHUNKS_MOST)
#define KERNELS     4 /* in a phase */
#define MESSAGE_NS  20000

enum kind {
    F,
    B,
    W,
    OPTIMIZER,
    SEND_RECV,
    KINDS
};

static const char ptx[] = SPIN_MODULE SPIN_KERNEL("forward_gemm_spin_ns")
    SPIN_KERNEL("backward_gemm_spin_ns") SPIN_KERNEL("weight_gemm_spin_ns")
        SPIN_KERNEL("adamw_spin_ns") SPIN_KERNEL("ncclDevKernel_SendRecv_spin_ns");

static const char *const kernel_names[KINDS] = {"forward_gemm_spin_ns", "backward_gemm_spin_ns",
                                                "weight_gemm_spin_ns", "adamw_spin_ns",
                                                "ncclDevKernel_SendRecv_spin_ns"};

static struct {
    const char *schedule;
    int stages, mbs, chunks, iterations;
    uint64_t ns[KINDS];
} job = {"1f1b", 4, 8, 1, 3, {2000000, 2000000, 2000000, 500000, MESSAGE_NS}};

struct part {
    enum kind kind;
    int mb, chunk;
};

/* One end of the pipes of a stage, in both directions: 0 forward, 1 backward. */
static struct {
    int rank;
    int out[2], in[2];
    int arrived[2][CHUNKS_MOST][MBS_MOST]; /* messages for each chunk and micro-batch */
    struct part order[ORDER_MOST];
    int parts;
    CUfunction kernel[KINDS];
    CUstream stream;
} stage;

/* ---- schedules ---- */

static void add(enum kind kind, int mb, int chunk)
{
    stage.order[stage.parts++] = (struct part){kind, mb, chunk};
}

/* Each stage begins with as many F as there are stages behind it. With `delays`, the W of a
 * micro-batch is put off by as many micro-batches as there are stages before it. */
static void order_1f1b(bool delays)
{
    int warm = job.stages - stage.rank - 1, waiting = 0, done = 0;

    warm = warm < job.mbs ? warm : job.mbs;
    for (int mb = 0; mb < warm; mb++)
        add(F, mb, 0);
    for (int mb = 0; mb < job.mbs; mb++) {
        if (warm + mb < job.mbs)
            add(F, warm + mb, 0);
        add(B, mb, 0);
        if (delays && ++waiting > stage.rank) {
            add(W, done++, 0);
            waiting--;
        }
    }
    while (delays && done < job.mbs)
        add(W, done++, 0);
}

static void add_interleaved(int k, bool is_forward)
{
    int group = job.stages * job.chunks, chunk = k % group / job.stages;

    add(is_forward ? F : B, k / group * job.stages + k % job.stages,
        is_forward ? chunk : job.chunks - 1 - chunk);
}

/* Megatron's order. */
static void order_interleaved(void)
{
    int all = job.mbs * job.chunks;
    int warm = (job.stages - stage.rank - 1) * 2 + (job.chunks - 1) * job.stages;

    warm = warm < all ? warm : all;
    for (int k = 0; k < warm; k++)
        add_interleaved(k, true);
    for (int k = 0; k < all; k++) {
        if (warm + k < all)
            add_interleaved(warm + k, true);
        add_interleaved(k, false);
    }
}

/* ---- messages ---- */

struct message {
    int mb, chunk;
};

/* Returns 1 if a phase has a message from (step -1) or to (1) a neighbour, and its chunk there. */
static int has_neighbour(const struct part *p, int step, int *chunk)
{
    int place = p->chunk * job.stages + stage.rank + (p->kind == F ? step : -step);

    *chunk = place / job.stages;
    return p->kind <= B && place >= 0 && place < job.stages * job.chunks;
}

static void fail(const char *what)
{
    perror(what);
    exit(1);
}

static void launch(enum kind kind, int parts)
{
    for (int i = 0; i < parts; i++)
        spin_launch(stage.kernel[kind], stage.stream, 64, 256, job.ns[kind] / (unsigned)parts);
}

static void push(const char *name, const struct part *p, int iteration)
{
    char text[64];

    snprintf(text, sizeof(text), "%s%d.%d.%d", name, p->mb, p->chunk, iteration);
    nvtxRangePushA(text);
}

static void receive(const struct part *p, int iteration)
{
    int way = p->kind == B, chunk;
    struct message m;

    if (!has_neighbour(p, -1, &chunk))
        return;
    push(way ? "RECV_BACKWARD." : "RECV_FORWARD.", p, iteration);
    while (stage.arrived[way][p->chunk][p->mb] <= iteration) {
        if (read(stage.in[way], &m, sizeof(m)) != (ssize_t)sizeof(m))
            fail("pipeline_like: a neighbour has ended");
        stage.arrived[way][m.chunk][m.mb]++;
    }
    launch(SEND_RECV, 1);
    nvtxRangePop();
}

static void send(const struct part *p, int iteration)
{
    struct message m = {.mb = p->mb};
    int way = p->kind == B;

    if (!has_neighbour(p, 1, &m.chunk))
        return;
    push(way ? "SEND_BACKWARD." : "SEND_FORWARD.", p, iteration);
    launch(SEND_RECV, 1);
    CHECK(cu.StreamSynchronize(stage.stream));
    if (write(stage.out[way], &m, sizeof(m)) != (ssize_t)sizeof(m))
        fail("pipeline_like: a neighbour has ended");
    nvtxRangePop();
}

/* ---- a stage ---- */

static void run_iteration(int iteration)
{
    static const char *const names[] = {"F", "B", "W"};

    for (int i = 0; i < stage.parts; i++) {
        const struct part *p = &stage.order[i];

        receive(p, iteration);
        push(names[p->kind], p, iteration);
        launch(p->kind, KERNELS);
        nvtxRangePop();
        send(p, iteration);
    }
    nvtxRangePushA("Optimizer");
    launch(OPTIMIZER, 1);
    nvtxRangePop();
    CHECK(cu.StreamSynchronize(stage.stream));
}

static int run_stage(void)
{
    CUmodule module;
    int devices;

    if (strcmp(job.schedule, "interleaved") == 0)
        order_interleaved();
    else
        order_1f1b(strcmp(job.schedule, "zb-h1") == 0);
    cuda_open();
    CHECK(cu.DeviceGetCount(&devices));
    cuda_use_device(stage.rank % devices);
    CHECK(cu.ModuleLoadData(&module, ptx));
    for (int i = 0; i < KINDS; i++)
        CHECK(cu.ModuleGetFunction(&stage.kernel[i], module, kernel_names[i]));
    CHECK(cu.StreamCreate(&stage.stream, CU_STREAM_NON_BLOCKING));
    for (int i = 0; i < job.iterations; i++)
        run_iteration(i);
    CHECK(cu.StreamDestroy(stage.stream));
    CHECK(cu.ModuleUnload(module));
    return 0;
}

/* Starts the process of a stage. Environment variables tell its rank, as torchrun's do. */
static void start_stage(int rank, int pipes[STAGES_MOST][2][2])
{
    char number[16];
    pid_t pid = fork();

    if (pid < 0)
        fail("pipeline_like: fork");
    if (pid > 0)
        return;
    stage.rank = rank;
    for (int way = 0; way < 2; way++) {
        stage.in[way] = pipes[rank][way][0];
        stage.out[way] = pipes[(rank + (way ? job.stages - 1 : 1)) % job.stages][way][1];
    }
    for (int i = 0; i < job.stages; i++)
        for (int way = 0; way < 2; way++) {
            if (pipes[i][way][0] != stage.in[way])
                close(pipes[i][way][0]);
            if (pipes[i][way][1] != stage.out[way])
                close(pipes[i][way][1]);
        }
    snprintf(number, sizeof(number), "%d", rank);
    setenv("RANK", number, 1);
    setenv("LOCAL_RANK", number, 1);
    snprintf(number, sizeof(number), "%d", job.stages);
    setenv("WORLD_SIZE", number, 1);
    exit(run_stage());
}

static void usage(FILE *out)
{
    fprintf(out, "usage: pipeline_like [options]\n"
                 "  --schedule NAME    1f1b, interleaved or zb-h1 (1f1b)\n"
                 "  --stages N         processes (4)\n"
                 "  --micro-batches N  in an iteration (8); with interleaved a multiple of the "
                 "stages\n"
                 "  --iterations N     (3)\n"
                 "  --phase-us N       GPU time of F, B and W, in us (2000)\n");
}

static int number(const char *text, int most)
{
    char *end;
    long value = strtol(text, &end, 10);

    if (*end || value < 1 || value > most) {
        fprintf(stderr, "pipeline_like: %s is not valid: give 1 to %d\n", text, most);
        exit(2);
    }
    return (int)value;
}

static void parse(int argc, char **argv)
{
    static const struct option options[] = {{"schedule", required_argument, NULL, 's'},
                                            {"stages", required_argument, NULL, 'n'},
                                            {"micro-batches", required_argument, NULL, 'm'},
                                            {"iterations", required_argument, NULL, 'i'},
                                            {"phase-us", required_argument, NULL, 'u'},
                                            {"help", no_argument, NULL, 'h'},
                                            {NULL, 0, NULL, 0}};
    int option;

    while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
        if (option == 's')
            job.schedule = optarg;
        else if (option == 'n')
            job.stages = number(optarg, STAGES_MOST);
        else if (option == 'm')
            job.mbs = number(optarg, MBS_MOST);
        else if (option == 'i')
            job.iterations = number(optarg, 1000);
        else if (option == 'u')
            job.ns[F] = job.ns[B] = job.ns[W] = (uint64_t)number(optarg, 1000000) * 1000;
        else {
            usage(option == 'h' ? stdout : stderr);
            exit(option == 'h' ? 0 : 2);
        }
    }
    if (strcmp(job.schedule, "zb-h1") != 0)
        job.ns[B] += job.ns[W]; /* B computes both gradients */
    if (strcmp(job.schedule, "interleaved") == 0) {
        job.chunks = 2;
        if (job.mbs % job.stages) {
            fprintf(stderr, "pipeline_like: --micro-batches must be a multiple of --stages\n");
            exit(2);
        }
    } else if (strcmp(job.schedule, "1f1b") != 0 && strcmp(job.schedule, "zb-h1") != 0) {
        fprintf(stderr, "pipeline_like: no schedule '%s'\n", job.schedule);
        exit(2);
    }
}

int main(int argc, char **argv)
{
    int pipes[STAGES_MOST][2][2], status, failed = 0;

    parse(argc, argv);
    for (int i = 0; i < job.stages; i++)
        for (int way = 0; way < 2; way++)
            if (pipe(pipes[i][way]) != 0)
                fail("pipeline_like: pipe");
    for (int i = 0; i < job.stages; i++)
        start_stage(i, pipes);
    for (int i = 0; i < job.stages; i++)
        for (int way = 0; way < 2; way++) {
            close(pipes[i][way][0]);
            close(pipes[i][way][1]);
        }
    while (wait(&status) > 0)
        failed |= status != 0;
    printf("pipeline_like: %d iterations of %s, %d stages, %d micro-batches\n", job.iterations,
           job.schedule, job.stages, job.mbs);
    return failed;
}
