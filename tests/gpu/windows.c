/*
 * windows.c - two windows on demand, with work before, between and after them.
 *
 * The name of a kernel says when the kernel is launched, so a test can see which kernels are
 * missing or surplus in a file. Kernels graph_off_* belong to a graph that was captured while
 * nothing was recorded. Kernels graph_on_* belong to a graph that was captured inside the first
 * window. Without the library the program does the same work. One thread. Prints one line that is
 * the same with and without the library. The library's results are printed on stderr.
 */
#include "cuda_load.h"

#include <syncline/syncline.h>
#include <time.h>

#include "spin_kernel.h"

#define MICROSECOND 1000ull

static const char ptx[] = SPIN_MODULE SPIN_KERNEL("outside_spin_ns") SPIN_KERNEL("window_1_spin_ns")
    SPIN_KERNEL("window_2_spin_ns") SPIN_KERNEL("graph_off_spin_ns")
        SPIN_KERNEL("graph_on_spin_ns");

static CUmodule module;
static CUstream stream;

static void work(const char *kernel_name, int launches)
{
    CUfunction kernel;

    CHECK(cu.ModuleGetFunction(&kernel, module, kernel_name));
    for (int i = 0; i < launches; i++)
        spin_launch(kernel, stream, 4, 64, 100 * MICROSECOND);
    CHECK(cu.StreamSynchronize(stream));
}

static CUgraphExec capture(const char *kernel_name, int launches)
{
    CUfunction kernel;
    CUgraph graph;
    CUgraphExec executable;

    CHECK(cu.ModuleGetFunction(&kernel, module, kernel_name));
    CHECK(cu.StreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
    for (int i = 0; i < launches; i++)
        spin_launch(kernel, stream, 4, 64, 50 * MICROSECOND);
    CHECK(cu.StreamEndCapture(stream, &graph));
    CHECK(cu.GraphInstantiate(&executable, graph, 0));
    CHECK(cu.GraphDestroy(graph));
    return executable;
}

static void replay(CUgraphExec executable, int launches)
{
    for (int i = 0; i < launches; i++)
        CHECK(cu.GraphLaunch(executable, stream));
    CHECK(cu.StreamSynchronize(stream));
}

/* Waits until the library is in `state` and `completed` files are complete, ten seconds at most. */
static int wait_for(int32_t state, uint64_t completed)
{
    const struct timespec millisecond = {.tv_nsec = 1000000};
    struct sl_status status = {.size = sizeof(status)};

    for (int i = 0; i < 10000; i++) {
        if (sl_status(&status) != 0)
            return -1; /* no library */
        if (status.state == state && status.windows_completed >= completed)
            return 0;
        nanosleep(&millisecond, NULL);
    }
    fprintf(stderr, "windows: still in state %d with %llu files after 10 s\n", status.state,
            (unsigned long long)status.windows_completed);
    return -1;
}

static void window_begin(uint64_t completed)
{
    int answer = sl_start();

    fprintf(stderr, "windows: sl_start: %d, wait: %d\n", answer,
            wait_for(SL_STATE_RECORDING, completed));
}

static void window_end(uint64_t completed)
{
    int answer = sl_stop();

    fprintf(stderr, "windows: sl_stop: %d, wait: %d\n", answer,
            wait_for(SL_STATE_ARMED, completed));
}

int main(void)
{
    CUgraphExec graph_off, graph_on;

    cuda_open();
    cuda_use_device(0);
    CHECK(cu.ModuleLoadData(&module, ptx));
    CHECK(cu.StreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    work("outside_spin_ns", 3);
    graph_off = capture("graph_off_spin_ns", 4);
    replay(graph_off, 1);

    window_begin(0);
    work("window_1_spin_ns", 10);
    replay(graph_off, 3);
    graph_on = capture("graph_on_spin_ns", 2);
    window_end(1);

    work("outside_spin_ns", 5);
    replay(graph_on, 1);

    window_begin(1);
    work("window_2_spin_ns", 10);
    replay(graph_off, 2);
    replay(graph_on, 2);
    window_end(2);

    work("outside_spin_ns", 3);
    CHECK(cu.GraphExecDestroy(graph_on));
    CHECK(cu.GraphExecDestroy(graph_off));
    CHECK(cu.StreamDestroy(stream));
    CHECK(cu.ModuleUnload(module));
    printf("windows: done\n");
    return 0;
}
