/*
 * scenario.c - small programs for truth_test.py. For each, it is known which kernel each wait waits
 * for. The kernels have names, so that an expected answer can be "kernel b ended this wait".
 */
#include <unistd.h>

#include "gpu.h"

/* Duration of a kernel that must still be running when a wait begins: longer than a busy machine
 * preempts a thread. */
#define TICK (5 * MS)

static CUstream s, t, blocking;

/* Kernels run on two streams. The device synchronization waits until the longer kernel has
 * ended. */
static void device_sync(void)
{
    gpu_spin('a', 10 * TICK, s);
    gpu_spin('b', 30 * TICK, t);
    OK(cuCtxSynchronize());
}

/* Stream t has no kernel of its own, but waits for an event. The synchronization of t ends when the
 * operations before the event record have ended. */
static void joined_stream(void)
{
    gpu_spin('a', 20 * TICK, s);
    OK(cuStreamWaitEvent(t, gpu_mark(s), 0));
    OK(cuStreamSynchronize(t));
}

/* Kernel c on stream t waits for kernel a on stream s. */
static void stream_wait(void)
{
    gpu_spin('a', 20 * TICK, s);
    OK(cuStreamWaitEvent(t, gpu_mark(s), 0));
    gpu_spin('c', 5 * TICK, t);
    OK(cuStreamSynchronize(t));
}

/* Kernel b on the legacy stream follows kernel a, and kernel c follows b. The synchronization waits
 * for c. */
static void legacy(void)
{
    gpu_spin('a', 20 * TICK, blocking);
    gpu_spin('b', 5 * TICK, NULL);
    gpu_spin('c', 5 * TICK, blocking);
    OK(cuStreamSynchronize(blocking));
}

/* The event is recorded again after a stream started to wait for it. The wait still refers to the
 * first record. */
static void rerecorded(void)
{
    CUevent e = gpu_event();

    gpu_spin('a', 10 * TICK, s);
    OK(cuEventRecord(e, s));
    OK(cuEventSynchronize(e));
    gpu_spin('b', 10 * TICK, s);
    OK(cuEventRecord(e, s));
    OK(cuEventSynchronize(e));
    OK(cuEventQuery(e));
}

static void blocking_copies(void)
{
    char host[64];
    CUdeviceptr p;

    OK(cuMemAlloc(&p, 64));
    gpu_spin('a', 10 * TICK, NULL);
    OK(cuMemcpyHtoD(p, host, 64)); /* waits for kernel a */
    gpu_spin('b', 10 * TICK, NULL);
    OK(cuMemcpyDtoH(host, p, 64)); /* waits for its own copy */
    gpu_spin('c', 10 * TICK, s);
    OK(cuMemFree(p)); /* waits for kernel c */
}

/* A graph contains a fork and a join. Kernel d follows the graph on the stream. */
static void graph(void)
{
    CUgraph captured;
    CUgraphExec exec;

    OK(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_GLOBAL));
    gpu_spin('a', 5 * TICK, s);
    OK(cuStreamWaitEvent(t, gpu_mark(s), 0));
    gpu_spin('b', 20 * TICK, t);
    OK(cuStreamWaitEvent(s, gpu_mark(t), 0));
    OK(cuStreamEndCapture(s, &captured));
    OK(cuGraphInstantiate(&exec, captured, 0));
    OK(cuGraphLaunch(exec, s));
    gpu_spin('c', 5 * TICK, s);
    OK(cuStreamSynchronize(s));
}

/* The process ends while a kernel runs. The truth file then consists of complete lines. */
static void unfinished(void)
{
    gpu_spin('a', 10000 * MS, s);
    exit(0);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } scenarios[] = {{"device_sync", device_sync},
                     {"joined_stream", joined_stream},
                     {"stream_wait", stream_wait},
                     {"legacy", legacy},
                     {"rerecorded", rerecorded},
                     {"blocking_copies", blocking_copies},
                     {"graph", graph},
                     {"unfinished", unfinished}};

    gpu_setup(NULL);
    s = gpu_stream(CU_STREAM_NON_BLOCKING);
    t = gpu_stream(CU_STREAM_NON_BLOCKING);
    blocking = gpu_stream(0);
    for (size_t i = 0; argc > 1 && i < sizeof scenarios / sizeof *scenarios; i++) {
        if (strcmp(argv[1], scenarios[i].name) == 0) {
            scenarios[i].run();
            return 0;
        }
    }
    return 2;
}
