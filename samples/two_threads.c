/*
 * two_threads.c - two CPU threads with one stream each. The stream of the second thread waits for
 * work of the first thread.
 *
 * The producer thread launches kernels and records an event after each kernel. For each event the
 * consumer thread makes its stream wait for the event, launches its own kernel, and waits for its
 * own kernel on the CPU. The threads share only the event slots and the counters of the slots,
 * under one mutex.
 *
 * Options: --rounds N (20), --kernel-us N (500; 0 makes the kernels as short as possible, to
 * measure the launch cost). The result is printed on stdout, and the elapsed time on stderr.
 */
#include "cuda_load.h"

#include <getopt.h>
#include <pthread.h>
#include <time.h>

#include "spin_kernel.h"

#define SLOTS 4

static const char ptx[] =
    SPIN_MODULE SPIN_KERNEL("producer_spin_ns") SPIN_KERNEL("consumer_spin_ns");

static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    unsigned long produced, consumed; /* number of rounds that each thread has completed */
    CUevent ready[SLOTS];             /* round r uses slot r % SLOTS */
} shared = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

static CUcontext context;
static CUmodule module;
static unsigned long rounds = 20;
static uint64_t kernel_ns = 500000;

static void *produce(void *unused)
{
    CUstream stream;
    CUfunction kernel;

    (void)unused;
    CHECK(cu.CtxSetCurrent(context));
    CHECK(cu.ModuleGetFunction(&kernel, module, "producer_spin_ns"));
    CHECK(cu.StreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    for (unsigned long round = 0; round < rounds; round++) {
        /* An event may be recorded again only after the consumer has waited for its previous
         * recording. */
        pthread_mutex_lock(&shared.lock);
        while (round >= shared.consumed + SLOTS)
            pthread_cond_wait(&shared.changed, &shared.lock);
        pthread_mutex_unlock(&shared.lock);

        spin_launch(kernel, stream, 8, 128, kernel_ns);
        CHECK(cu.EventRecord(shared.ready[round % SLOTS], stream));

        pthread_mutex_lock(&shared.lock);
        shared.produced = round + 1;
        pthread_cond_signal(&shared.changed);
        pthread_mutex_unlock(&shared.lock);
    }
    CHECK(cu.StreamSynchronize(stream));
    CHECK(cu.StreamDestroy(stream));
    return NULL;
}

static void *consume(void *unused)
{
    CUstream stream;
    CUfunction kernel;

    (void)unused;
    CHECK(cu.CtxSetCurrent(context));
    CHECK(cu.ModuleGetFunction(&kernel, module, "consumer_spin_ns"));
    CHECK(cu.StreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    for (unsigned long round = 0; round < rounds; round++) {
        pthread_mutex_lock(&shared.lock);
        while (shared.produced <= round)
            pthread_cond_wait(&shared.changed, &shared.lock);
        pthread_mutex_unlock(&shared.lock);

        CHECK(cu.StreamWaitEvent(stream, shared.ready[round % SLOTS], 0));
        spin_launch(kernel, stream, 16, 64, kernel_ns / 2);
        CHECK(cu.StreamSynchronize(stream));

        pthread_mutex_lock(&shared.lock);
        shared.consumed = round + 1;
        pthread_cond_signal(&shared.changed);
        pthread_mutex_unlock(&shared.lock);
    }
    CHECK(cu.StreamDestroy(stream));
    return NULL;
}

static void parse(int argc, char **argv)
{
    static const struct option options[] = {{"rounds", required_argument, NULL, 'r'},
                                            {"kernel-us", required_argument, NULL, 'k'},
                                            {NULL, 0, NULL, 0}};
    int option;

    while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
        if (option == 'r') {
            rounds = strtoul(optarg, NULL, 10);
        } else if (option == 'k') {
            kernel_ns = strtoull(optarg, NULL, 10) * 1000;
        } else {
            fprintf(stderr, "usage: two_threads [--rounds N] [--kernel-us N]\n");
            exit(2);
        }
    }
}

int main(int argc, char **argv)
{
    pthread_t producer, consumer;
    struct timespec begin, end;
    double seconds;

    parse(argc, argv);
    cuda_open();
    context = cuda_use_device(0);
    CHECK(cu.ModuleLoadData(&module, ptx));
    for (int i = 0; i < SLOTS; i++)
        CHECK(cu.EventCreate(&shared.ready[i], CU_EVENT_DISABLE_TIMING));

    clock_gettime(CLOCK_MONOTONIC, &begin);
    pthread_create(&producer, NULL, produce, NULL);
    pthread_create(&consumer, NULL, consume, NULL);
    pthread_join(producer, NULL);
    pthread_join(consumer, NULL);
    clock_gettime(CLOCK_MONOTONIC, &end);

    for (int i = 0; i < SLOTS; i++)
        CHECK(cu.EventDestroy(shared.ready[i]));
    CHECK(cu.ModuleUnload(module));
    seconds = (double)(end.tv_sec - begin.tv_sec) + 1e-9 * (double)(end.tv_nsec - begin.tv_nsec);
    fprintf(stderr, "%.3f ms, %.2f us a round\n", 1e3 * seconds,
            rounds ? 1e6 * seconds / (double)rounds : 0.0);
    printf("two_threads: %lu rounds, %lu kernels\n", rounds, 2 * rounds);
    return 0;
}
