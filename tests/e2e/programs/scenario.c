/*
 * scenario.c - runs the steps in its arguments one after the other with CUDA, so that a test reads
 * as a scenario:
 *
 *     scenario context kernel:3 copy sync exit:7
 *
 * The steps are (`:N` may be left out):
 *     init             Calls only cuInit().
 *     context[:D]      Makes the primary context of device D current.
 *     stream           Makes a new stream the current stream. `stream:0` selects the legacy default
 *                      stream.
 *     kernel[:N]       Launches N kernels of 20 us.
 *     long:MS          Launches one kernel of MS milliseconds.
 *     flood:MS         Launches as many kernels of 1 us as possible in MS milliseconds.
 *     copy[:BYTES]     Copies to the device and back, asynchronously, with pinned memory.
 *     blocking[:BYTES] Copies to the device and back, blocking, with pageable memory.
 *     memset[:BYTES]   Sets memory of the device.
 *     peer             Copies from device 0 to device 1.
 *     event            Records an event, waits on another stream, synchronizes, and queries.
 *     query            Queries a stream and an event, first while work is unfinished, then again.
 *     sync             Synchronizes the current stream.
 *     syncall          Synchronizes the context.
 *     graph[:N]        Captures three kernels and a memset, and launches the graph N times.
 *     threads[:N]      Starts N threads with a stream and 10 kernels each.
 *     start            Starts a window by the public API. Prints `start RESULT`. `stop` and `dump`
 *                      print their results in the same way.
 *     step             Reports a step of the job by the public API.
 *     push:NAME        Begins a range by the public API. `pop` ends the range.
 *     mark:NAME        Makes a mark by the public API.
 *     windows:N        Waits until N windows are complete files, 10 s at most.
 *     lead_in          Waits until a lead-in has begun, 10 s at most.
 *     recording        Waits until a window is open, 10 s at most.
 *     armed            Waits until no window is open, 10 s at most.
 *     lost             Waits until a record was lost, 10 s at most.
 *     ended            Floods until no window is open.
 *     deleted          Floods until the next complete trace was deleted.
 *     passive          Waits until recording has ended for good, 10 s at most.
 *     status           Prints `state N window N completed N`.
 *     chdir:PATH       Changes the working directory.
 *     chroot:PATH      Changes the root folder, and the working directory to it.
 *     unlink:PATH      Removes a file.
 *     sh:COMMAND       Runs a command in a shell.
 *     closefrom:N      Closes all descriptors from N on.
 *     append           Appends a byte to the last complete trace.
 *     load:PATH        Loads a library by dlopen().
 *     sleep:MS         Sleeps for MS milliseconds.
 *     fork             Forks a child, which makes a kernel call and exits with 5. Waits for the
 *                      child.
 *     exec             Replaces the process by this program with the steps that follow.
 *     exit:N           Ends the process. Also: _exit:N, abort, kill, return:N.
 *     thread_exit:N    Calls _exit() from a second thread.
 *
 * The last thing printed before a normal end is `done`. The program has one thread, except for the
 * step `threads`.
 */
#include <cuda.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cuda_load.h"
#include "spin_kernel.h"
#include "syncline/syncline.h"

#define KERNEL_NS     20000
#define COPY_BYTES    65536
#define THREAD_ROUNDS 10

static const char ptx[] =
    SPIN_MODULE SPIN_KERNEL("_ZN6layers14linear_spin_nsIfLi4EEEvy") SPIN_KERNEL("plain_spin_ns");

static struct {
    CUcontext context;
    CUmodule module;
    CUfunction mangled, plain;
    CUstream stream, side;
    CUdeviceptr device, peer;
    unsigned char *pinned;
    int exit_status;
} s;

static void sleep_ms(long ms)
{
    struct timespec left = {ms / 1000, ms % 1000 * 1000000};

    while (nanosleep(&left, &left))
        ;
}

static void do_context(long ordinal)
{
    if (!cu.Init)
        cuda_open();
    s.context = cuda_use_device((int)ordinal);
    CHECK(cu.ModuleLoadData(&s.module, ptx));
    CHECK(cu.ModuleGetFunction(&s.mangled, s.module, "_ZN6layers14linear_spin_nsIfLi4EEEvy"));
    CHECK(cu.ModuleGetFunction(&s.plain, s.module, "plain_spin_ns"));
    CHECK(cu.MemAlloc(&s.device, COPY_BYTES));
    CHECK(cu.MemAllocHost((void **)&s.pinned, COPY_BYTES));
    CHECK(cu.StreamCreate(&s.side, CU_STREAM_NON_BLOCKING));
}

static void do_kernels(long n)
{
    for (long i = 0; i < n; i++)
        spin_launch(i % 2 ? s.plain : s.mangled, s.stream, 1 + (unsigned)(i % 3), 128, KERNEL_NS);
}

static int do_append(void)
{
    struct sl_status status = {.size = sizeof(status)};
    FILE *f;

    sl_status(&status);
    f = fopen(status.last_file, "a");
    return !f || fputc('\n', f) == EOF || fclose(f);
}

static void do_flood(long ms)
{
    struct timespec now;
    long long end = 0, at;

    do {
        for (int i = 0; i < 200; i++)
            spin_launch(s.plain, s.stream, 1, 32, 1000);
        CHECK(cu.StreamSynchronize(s.stream));
        clock_gettime(CLOCK_MONOTONIC, &now);
        at = now.tv_sec * 1000ll + now.tv_nsec / 1000000;
        end = end ? end : at + ms;
    } while (at < end);
}

/* Each loop takes two minutes at most. */
static void do_ended(void)
{
    struct sl_status status = {.size = sizeof(status), .state = SL_STATE_RECORDING};

    for (int i = 0; i < 1200 && status.state != SL_STATE_ARMED; i++) {
        do_flood(100);
        sl_status(&status);
    }
}

static void do_deleted(void)
{
    struct sl_status before = {.size = sizeof(before)}, status;

    sl_status(&before);
    status = before;
    for (int i = 0; i < 1200 && strcmp(status.last_file, before.last_file) == 0; i++) {
        do_flood(100);
        sl_status(&status);
    }
    for (int i = 0; i < 1200 && access(status.last_file, F_OK) == 0; i++)
        do_flood(100);
}

static void do_copy(size_t bytes)
{
    CHECK(cu.MemcpyHtoDAsync(s.device, s.pinned, bytes, s.stream));
    CHECK(cu.MemcpyDtoDAsync(s.device, s.device + bytes / 2, bytes / 2, s.stream));
    CHECK(cu.MemcpyDtoHAsync(s.pinned, s.device, bytes, s.stream));
}

static void do_blocking(size_t bytes)
{
    unsigned char *pageable = calloc(1, bytes);

    if (!pageable)
        exit(1);
    CHECK(cu.MemcpyHtoD(s.device, pageable, bytes));
    CHECK(cu.MemcpyDtoH(pageable, s.device, bytes));
    free(pageable);
}

static void do_peer(void)
{
    CUcontext other = cuda_use_device(1);

    CHECK(cu.MemAlloc(&s.peer, COPY_BYTES));
    CHECK(cu.CtxSetCurrent(s.context));
    CHECK(cu.MemcpyPeerAsync(s.peer, other, s.device, s.context, COPY_BYTES, s.stream));
}

static void do_event(void)
{
    CUevent event;

    CHECK(cu.EventCreate(&event, CU_EVENT_DISABLE_TIMING));
    CHECK(cu.EventRecord(event, s.stream));
    CHECK(cu.StreamWaitEvent(s.side, event, 0));
    spin_launch(s.plain, s.side, 1, 32, KERNEL_NS);
    CHECK(cu.EventSynchronize(event));
    CHECK(cu.EventQuery(event));
    CHECK(cu.EventDestroy(event));
}

static void do_query(void)
{
    CUevent event;

    spin_launch(s.plain, s.stream, 1, 32, 50000000);
    CHECK(cu.EventCreate(&event, CU_EVENT_DISABLE_TIMING));
    CHECK(cu.EventRecord(event, s.stream));
    printf("unfinished %d %d\n", cu.StreamQuery(s.stream), cu.EventQuery(event));
    CHECK(cu.StreamSynchronize(s.stream));
    CHECK(cu.StreamQuery(s.stream));
    CHECK(cu.EventQuery(event));
    CHECK(cu.EventDestroy(event));
}

static void do_graph(long launches)
{
    CUgraph graph;
    CUgraphExec exec;
    CUstream stream = s.stream ? s.stream : s.side;

    CHECK(cu.StreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
    spin_launch(s.mangled, stream, 1, 64, KERNEL_NS);
    spin_launch(s.plain, stream, 2, 64, KERNEL_NS);
    CHECK(cu.MemsetD8Async(s.device, 1, COPY_BYTES, stream));
    spin_launch(s.mangled, stream, 3, 64, KERNEL_NS);
    CHECK(cu.StreamEndCapture(stream, &graph));
    CHECK(cu.GraphInstantiate(&exec, graph, 0));
    for (long i = 0; i < launches; i++)
        CHECK(cu.GraphLaunch(exec, stream));
    CHECK(cu.StreamSynchronize(stream));
    CHECK(cu.GraphExecDestroy(exec));
    CHECK(cu.GraphDestroy(graph));
}

static void *thread_main(void *unused)
{
    CUstream stream;

    CHECK(cu.CtxSetCurrent(s.context));
    CHECK(cu.StreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    for (int i = 0; i < THREAD_ROUNDS; i++)
        spin_launch(s.plain, stream, 1, 64, KERNEL_NS);
    CHECK(cu.StreamSynchronize(stream));
    CHECK(cu.StreamDestroy(stream));
    return NULL;
}

static void do_threads(long n)
{
    pthread_t thread[64];

    n = n > 64 ? 64 : n;
    for (long i = 0; i < n; i++) {
        if (pthread_create(&thread[i], NULL, thread_main, NULL))
            exit(1);
    }
    for (long i = 0; i < n; i++)
        pthread_join(thread[i], NULL);
}

static void do_windows(uint64_t wanted)
{
    struct sl_status status = {.size = sizeof(status)};

    for (int i = 0; i < 2000; i++) {
        if (sl_status(&status) == 0 && status.windows_completed >= wanted)
            break;
        sleep_ms(5);
    }
    printf("windows %llu\n", (unsigned long long)status.windows_completed);
}

static void await_state(int state)
{
    struct sl_status status = {.size = sizeof(status)};

    for (int i = 0; i < 2000; i++) {
        if (sl_status(&status) == 0 && status.state == state)
            return;
        sleep_ms(5);
    }
}

static void do_lost(void)
{
    struct sl_status status = {.size = sizeof(status)};

    for (int i = 0; i < 2000; i++) {
        if (sl_status(&status) == 0 && status.dropped > 0)
            break;
        sleep_ms(5);
    }
    printf("lost %d\n", status.dropped > 0);
}

static void do_passive(void)
{
    struct sl_status status = {.size = sizeof(status)};

    for (int i = 0; i < 2000 && !(sl_status(&status) == 0 && *status.reason); i++)
        sleep_ms(5);
}

static void do_status(void)
{
    struct sl_status status = {.size = sizeof(status)};
    int err = sl_status(&status);

    printf("status %d state %d window %u completed %llu reason %s\n", err, (int)status.state,
           status.window, (unsigned long long)status.windows_completed, status.reason);
}

static void do_fork(void)
{
    int status = 0;
    pid_t child = fork();

    if (child == 0) {
        /* CUDA does not work after a fork. syncline must not crash in the child. */
        printf("child start %d\n", sl_start());
        fflush(stdout);
        exit(5);
    }
    waitpid(child, &status, 0);
    printf("child exit %d signal %d\n", WIFEXITED(status) ? WEXITSTATUS(status) : -1,
           WIFSIGNALED(status) ? WTERMSIG(status) : 0);
}

static void *exit_thread(void *status)
{
    fflush(stdout);
    _exit(*(int *)status);
}

static void do_thread_exit(long status)
{
    pthread_t thread;

    s.exit_status = (int)status;
    if (pthread_create(&thread, NULL, exit_thread, &s.exit_status))
        exit(1);
    pause();
}

static void do_load(const char *path)
{
    if (!dlopen(path, RTLD_NOW | RTLD_LOCAL))
        printf("%s\n", dlerror());
}

static void finish(void)
{
    puts("done");
    fflush(stdout);
}

/* Ends the process if the step is an end, such as `exit`. Otherwise does nothing. */
static void do_end(const char *step, long n)
{
    if (!strcmp(step, "exit")) {
        finish();
        exit((int)n);
    } else if (!strcmp(step, "_exit")) {
        finish();
        _exit((int)n);
    } else if (!strcmp(step, "thread_exit")) {
        finish();
        do_thread_exit(n);
    } else if (!strcmp(step, "abort")) {
        finish();
        abort();
    } else if (!strcmp(step, "kill")) {
        finish();
        raise(SIGKILL);
    }
}

static int do_step(const char *step, long n, const char *text)
{
    if (!strcmp(step, "init"))
        cuda_open();
    else if (!strcmp(step, "context"))
        do_context(n);
    else if (!strcmp(step, "stream") && text && !n)
        s.stream = NULL;
    else if (!strcmp(step, "stream"))
        CHECK(cu.StreamCreate(&s.stream, CU_STREAM_NON_BLOCKING));
    else if (!strcmp(step, "kernel"))
        do_kernels(text ? n : 1);
    else if (!strcmp(step, "flood"))
        do_flood(n);
    else if (!strcmp(step, "long"))
        spin_launch(s.plain, s.stream, 1, 32, (uint64_t)n * 1000000);
    else if (!strcmp(step, "copy"))
        do_copy(text ? (size_t)n : COPY_BYTES);
    else if (!strcmp(step, "blocking"))
        do_blocking(text ? (size_t)n : COPY_BYTES);
    else if (!strcmp(step, "memset"))
        CHECK(cu.MemsetD8Async(s.device, 7, text ? (size_t)n : COPY_BYTES, s.stream));
    else if (!strcmp(step, "peer"))
        do_peer();
    else if (!strcmp(step, "event"))
        do_event();
    else if (!strcmp(step, "sync"))
        CHECK(cu.StreamSynchronize(s.stream));
    else if (!strcmp(step, "syncall"))
        CHECK(cu.CtxSynchronize());
    else if (!strcmp(step, "query"))
        do_query();
    else if (!strcmp(step, "graph"))
        do_graph(text ? n : 1);
    else if (!strcmp(step, "threads"))
        do_threads(text ? n : 2);
    else if (!strcmp(step, "start"))
        printf("start %d\n", sl_start());
    else if (!strcmp(step, "stop"))
        printf("stop %d\n", sl_stop());
    else if (!strcmp(step, "dump"))
        printf("dump %d\n", sl_dump());
    else if (!strcmp(step, "step"))
        sl_step();
    else if (!strcmp(step, "push"))
        sl_range_push(text);
    else if (!strcmp(step, "pop"))
        sl_range_pop();
    else if (!strcmp(step, "mark"))
        sl_mark(text);
    else if (!strcmp(step, "windows"))
        do_windows((uint64_t)n);
    else if (!strcmp(step, "recording"))
        await_state(SL_STATE_RECORDING);
    else if (!strcmp(step, "armed"))
        await_state(SL_STATE_ARMED);
    else if (!strcmp(step, "lead_in"))
        await_state(SL_STATE_LEAD_IN);
    else if (!strcmp(step, "lost"))
        do_lost();
    else if (!strcmp(step, "ended"))
        do_ended();
    else if (!strcmp(step, "deleted"))
        do_deleted();
    else if (!strcmp(step, "passive"))
        do_passive();
    else if (!strcmp(step, "chdir"))
        return chdir(text);
    else if (!strcmp(step, "chroot"))
        return chroot(text) || chdir("/");
    else if (!strcmp(step, "unlink"))
        return unlink(text);
    else if (!strcmp(step, "sh"))
        return system(text);
    else if (!strcmp(step, "closefrom"))
        closefrom((int)n);
    else if (!strcmp(step, "append"))
        return do_append();
    else if (!strcmp(step, "status"))
        do_status();
    else if (!strcmp(step, "load"))
        do_load(text);
    else if (!strcmp(step, "sleep"))
        sleep_ms(n);
    else if (!strcmp(step, "fork"))
        do_fork();
    else
        return -1;
    return 0;
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        char *text = strchr(argv[i], ':');
        long n;

        if (text)
            *text++ = '\0';
        n = text ? strtol(text, NULL, 0) : 0;
        /* A forked child must not print text that its parent has buffered. */
        fflush(stdout);
        do_end(argv[i], n);
        if (!strcmp(argv[i], "exec")) {
            argv[i] = argv[0];
            execv("/proc/self/exe", argv + i);
        }
        if (!strcmp(argv[i], "return")) {
            finish();
            return (int)n;
        }
        if (do_step(argv[i], n, text)) {
            fprintf(stderr, "scenario: no step '%s'\n", argv[i]);
            return 2;
        }
    }
    finish();
    return 0;
}
