/*
 * train_like.c - the GPU work of a training job, without the mathematics.
 *
 * A prefetch thread copies pinned batches to the GPU on a separate stream, two steps ahead of their
 * use. Forward and backward kernels run on the compute stream. Every layer's gradient is reduced on
 * a third stream while the next layer computes. An optimizer kernel ends the step. Once a step the
 * CPU reads back the loss, and waits for the GPU to do so. The kernels compute nothing; each kernel
 * only runs for a given time. A memset writes the loss, so that the read-back has a value.
 *
 * Threads: main enqueues everything except the batches. The prefetch thread owns the copy stream
 * and the pinned batches. The two threads hand over batch slots under `queue.lock`.
 *
 * Options: --steps N (50), --step-us N GPU time of a step (8000), --layers N (6). The result is
 * printed on stdout, and the elapsed time on stderr.
 */
#include "cuda_load.h"

#include <getopt.h>
#include <pthread.h>
#include <string.h>
#include <time.h>

#include "spin_kernel.h"

#define SLOTS       2
#define BATCH_BYTES (2u << 20)
#define GRAD_BYTES  (8u << 20)

/* The kinds of GPU work in a step. The shares (in thousandths of the step's GPU time, for all
 * layers together) add up to 1000 on the compute stream. The all-reduce overlaps with the backward
 * pass. */
enum work {
    EMBEDDING,
    LAYER_NORM,
    ATTENTION,
    LINEAR,
    LOSS,
    LINEAR_BACKWARD,
    ATTENTION_BACKWARD,
    OPTIMIZER,
    ALL_REDUCE,
    WORK_COUNT
};

static const char ptx[] =
    SPIN_MODULE SPIN_KERNEL("embedding_spin_ns") SPIN_KERNEL("layer_norm_spin_ns")
        SPIN_KERNEL("flash_attention_spin_ns") SPIN_KERNEL("gemm_128x128_spin_ns")
            SPIN_KERNEL("cross_entropy_spin_ns") SPIN_KERNEL("gemm_128x128_backward_spin_ns")
                SPIN_KERNEL("flash_attention_backward_spin_ns") SPIN_KERNEL("adamw_spin_ns")
                    SPIN_KERNEL("ncclDevKernel_AllReduce_Sum_f32_RING_LL_spin_ns");

static const struct {
    const char *name;
    unsigned blocks, threads, share;
} works[WORK_COUNT] = {
    [EMBEDDING] = {"embedding_spin_ns", 64, 256, 10},
    [LAYER_NORM] = {"layer_norm_spin_ns", 32, 128, 30},
    [ATTENTION] = {"flash_attention_spin_ns", 96, 128, 110},
    [LINEAR] = {"gemm_128x128_spin_ns", 128, 256, 180},
    [LOSS] = {"cross_entropy_spin_ns", 16, 1024, 20},
    [LINEAR_BACKWARD] = {"gemm_128x128_backward_spin_ns", 128, 256, 350},
    [ATTENTION_BACKWARD] = {"flash_attention_backward_spin_ns", 96, 128, 220},
    [OPTIMIZER] = {"adamw_spin_ns", 256, 512, 80},
    [ALL_REDUCE] = {"ncclDevKernel_AllReduce_Sum_f32_RING_LL_spin_ns", 8, 512, 400},
};

static struct {
    unsigned long steps, layers;
    uint64_t step_ns;
} job = {.steps = 50, .layers = 6, .step_ns = 8000000};

static struct {
    CUcontext context;
    CUmodule module;
    CUfunction kernel[WORK_COUNT];
    CUstream compute, communication;
    CUevent *gradient_ready; /* one per layer */
    CUevent reduced;
    CUdeviceptr gradients, loss;
    float *loss_pinned;
} gpu;

static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    unsigned long filled, released; /* number of batches that the prefetch thread has filled, and
                                       that the main thread has released */
    CUdeviceptr batch[SLOTS];
    CUevent copied[SLOTS], consumed[SLOTS];
} queue = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

/* Launches one kernel. The kind of work has `parts` launches in a step, which share its time
 * equally. */
static void launch(enum work work, CUstream stream, unsigned long parts)
{
    spin_launch(gpu.kernel[work], stream, works[work].blocks, works[work].threads,
                job.step_ns * works[work].share / 1000 / parts);
}

static void *prefetch(void *unused)
{
    CUstream copies;
    unsigned char *pinned[SLOTS];

    (void)unused;
    CHECK(cu.CtxSetCurrent(gpu.context));
    CHECK(cu.StreamCreate(&copies, CU_STREAM_NON_BLOCKING));
    for (int slot = 0; slot < SLOTS; slot++)
        CHECK(cu.MemAllocHost((void **)&pinned[slot], BATCH_BYTES));

    for (unsigned long step = 0; step < job.steps; step++) {
        unsigned slot = step % SLOTS;

        pthread_mutex_lock(&queue.lock);
        while (step >= queue.released + SLOTS)
            pthread_cond_wait(&queue.changed, &queue.lock);
        pthread_mutex_unlock(&queue.lock);

        /* Two waits follow. The CPU waits until the previous copy from this pinned batch has ended.
         * The copy stream waits until the step that uses the GPU's batch has ended, before it
         * overwrites the batch. */
        if (step >= SLOTS) {
            CHECK(cu.EventSynchronize(queue.copied[slot]));
            CHECK(cu.StreamWaitEvent(copies, queue.consumed[slot], 0));
        }
        memset(pinned[slot], (int)step, BATCH_BYTES);
        CHECK(cu.MemcpyHtoDAsync(queue.batch[slot], pinned[slot], BATCH_BYTES, copies));
        CHECK(cu.EventRecord(queue.copied[slot], copies));

        pthread_mutex_lock(&queue.lock);
        queue.filled = step + 1;
        pthread_cond_signal(&queue.changed);
        pthread_mutex_unlock(&queue.lock);
    }
    CHECK(cu.StreamSynchronize(copies));
    for (int slot = 0; slot < SLOTS; slot++)
        CHECK(cu.MemFreeHost(pinned[slot]));
    CHECK(cu.StreamDestroy(copies));
    return NULL;
}

static void forward(float loss)
{
    uint32_t bits;

    launch(EMBEDDING, gpu.compute, 1);
    for (unsigned long layer = 0; layer < job.layers; layer++) {
        launch(LAYER_NORM, gpu.compute, job.layers);
        launch(ATTENTION, gpu.compute, job.layers);
        launch(LINEAR, gpu.compute, job.layers);
    }
    launch(LOSS, gpu.compute, 1);
    memcpy(&bits, &loss, sizeof(bits));
    CHECK(cu.MemsetD32Async(gpu.loss, bits, 1, gpu.compute));
}

/* The loop runs from the last layer to the first. Each gradient is reduced while the next layer
 * computes. */
static void backward(void)
{
    CHECK(cu.MemsetD8Async(gpu.gradients, 0, GRAD_BYTES, gpu.compute));
    for (unsigned long layer = job.layers; layer-- > 0;) {
        launch(LINEAR_BACKWARD, gpu.compute, job.layers);
        launch(ATTENTION_BACKWARD, gpu.compute, job.layers);
        CHECK(cu.EventRecord(gpu.gradient_ready[layer], gpu.compute));
        CHECK(cu.StreamWaitEvent(gpu.communication, gpu.gradient_ready[layer], 0));
        launch(ALL_REDUCE, gpu.communication, job.layers);
    }
    CHECK(cu.EventRecord(gpu.reduced, gpu.communication));
}

static float train_step(unsigned long step)
{
    unsigned slot = step % SLOTS;

    pthread_mutex_lock(&queue.lock);
    while (queue.filled <= step)
        pthread_cond_wait(&queue.changed, &queue.lock);
    pthread_mutex_unlock(&queue.lock);

    CHECK(cu.StreamWaitEvent(gpu.compute, queue.copied[slot], 0));
    forward(2.0f / (float)(step + 1));
    CHECK(cu.EventRecord(queue.consumed[slot], gpu.compute));
    pthread_mutex_lock(&queue.lock);
    queue.released = step + 1;
    pthread_cond_signal(&queue.changed);
    pthread_mutex_unlock(&queue.lock);

    backward();
    CHECK(cu.StreamWaitEvent(gpu.compute, gpu.reduced, 0));
    launch(OPTIMIZER, gpu.compute, 1);

    /* Does what loss.item() does: copies a few bytes, and so waits for all earlier work. */
    CHECK(cu.MemcpyDtoHAsync(gpu.loss_pinned, gpu.loss, sizeof(float), gpu.compute));
    CHECK(cu.StreamSynchronize(gpu.compute));
    return *gpu.loss_pinned;
}

static void set_up(void)
{
    cuda_open();
    gpu.context = cuda_use_device(0);
    CHECK(cu.ModuleLoadData(&gpu.module, ptx));
    for (int work = 0; work < WORK_COUNT; work++)
        CHECK(cu.ModuleGetFunction(&gpu.kernel[work], gpu.module, works[work].name));
    CHECK(cu.StreamCreate(&gpu.compute, CU_STREAM_NON_BLOCKING));
    CHECK(cu.StreamCreate(&gpu.communication, CU_STREAM_NON_BLOCKING));
    CHECK(cu.EventCreate(&gpu.reduced, CU_EVENT_DISABLE_TIMING));
    gpu.gradient_ready = calloc(job.layers, sizeof(*gpu.gradient_ready));
    if (!gpu.gradient_ready)
        exit(1);
    for (unsigned long layer = 0; layer < job.layers; layer++)
        CHECK(cu.EventCreate(&gpu.gradient_ready[layer], CU_EVENT_DISABLE_TIMING));
    CHECK(cu.MemAlloc(&gpu.gradients, GRAD_BYTES));
    CHECK(cu.MemAlloc(&gpu.loss, sizeof(float)));
    CHECK(cu.MemAllocHost((void **)&gpu.loss_pinned, sizeof(float)));
    for (int slot = 0; slot < SLOTS; slot++) {
        CHECK(cu.MemAlloc(&queue.batch[slot], BATCH_BYTES));
        CHECK(cu.EventCreate(&queue.copied[slot], CU_EVENT_DISABLE_TIMING));
        CHECK(cu.EventCreate(&queue.consumed[slot], CU_EVENT_DISABLE_TIMING));
    }
}

static void tear_down(void)
{
    for (int slot = 0; slot < SLOTS; slot++) {
        CHECK(cu.EventDestroy(queue.consumed[slot]));
        CHECK(cu.EventDestroy(queue.copied[slot]));
        CHECK(cu.MemFree(queue.batch[slot]));
    }
    CHECK(cu.MemFreeHost(gpu.loss_pinned));
    CHECK(cu.MemFree(gpu.loss));
    CHECK(cu.MemFree(gpu.gradients));
    for (unsigned long layer = 0; layer < job.layers; layer++)
        CHECK(cu.EventDestroy(gpu.gradient_ready[layer]));
    free(gpu.gradient_ready);
    CHECK(cu.EventDestroy(gpu.reduced));
    CHECK(cu.StreamDestroy(gpu.communication));
    CHECK(cu.StreamDestroy(gpu.compute));
    CHECK(cu.ModuleUnload(gpu.module));
}

static void usage(FILE *out)
{
    fprintf(out, "usage: train_like [--steps N] [--step-us N] [--layers N]\n"
                 "  --steps N    steps to train (50)\n"
                 "  --step-us N  GPU time of a step, in us (8000)\n"
                 "  --layers N   layers, each with its own launches (6)\n");
}

static void parse(int argc, char **argv)
{
    static const struct option options[] = {{"steps", required_argument, NULL, 's'},
                                            {"step-us", required_argument, NULL, 'u'},
                                            {"layers", required_argument, NULL, 'l'},
                                            {"help", no_argument, NULL, 'h'},
                                            {NULL, 0, NULL, 0}};
    int option;

    while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
        switch (option) {
        case 's':
            job.steps = strtoul(optarg, NULL, 10);
            break;
        case 'u':
            job.step_ns = strtoull(optarg, NULL, 10) * 1000;
            break;
        case 'l':
            job.layers = strtoul(optarg, NULL, 10);
            break;
        case 'h':
            usage(stdout);
            exit(0);
        default:
            usage(stderr);
            exit(2);
        }
    }
    if (job.layers == 0 || job.layers > 1000) {
        fprintf(stderr, "train_like: --layers must be 1 to 1000\n");
        exit(2);
    }
}

int main(int argc, char **argv)
{
    pthread_t prefetcher;
    struct timespec begin, end;
    float loss = 0;
    double ms;

    parse(argc, argv);
    set_up();
    clock_gettime(CLOCK_MONOTONIC, &begin);
    pthread_create(&prefetcher, NULL, prefetch, NULL);
    for (unsigned long step = 0; step < job.steps; step++)
        loss = train_step(step);
    pthread_join(prefetcher, NULL);
    CHECK(cu.CtxSynchronize());
    clock_gettime(CLOCK_MONOTONIC, &end);
    tear_down();

    ms = 1e3 * (double)(end.tv_sec - begin.tv_sec) + 1e-6 * (double)(end.tv_nsec - begin.tv_nsec);
    fprintf(stderr, "%.3f ms, %.3f ms a step\n", ms, job.steps ? ms / (double)job.steps : 0.0);
    printf("train_like: %lu steps of %lu layers, last loss %.4f\n", job.steps, job.layers,
           (double)loss);
    return 0;
}
