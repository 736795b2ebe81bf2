/*
 * random_waits.c - runs the steps in a file with CUDA on several threads.
 *
 *     random_waits FILE
 *
 * Each line is a step: a thread, a verb and numbers. A line that begins with `#` is a comment.
 * Thread `*` means that all threads wait for each other at this line. Steps name objects by the
 * number of their slot. A step that needs a missing object is skipped, so a valid program stays
 * valid if lines are left out. test_random_waits.py makes programs from seeds, and shrinks a
 * failing program by leaving out lines. Results of calls are ignored, because the programs contain
 * failing calls.
 *
 * The argument API is 0 for the driver, 1 for the runtime, and 2 for the runtime with per-thread
 * default streams. The verbs are:
 *     use C                    Makes context C current. 0 to 3 are primary contexts of devices, or
 *                              more contexts of a device if there are fewer devices.
 *     context C DEVICE         Creates context C (4 to 7) on the device, and makes it current.
 *     stream S NONBLOCKING     Creates stream S. Stream 0 is the legacy default stream. Stream 1 is
 *                              the per-thread default stream.
 *     unstream S               Destroys stream S. Also: unevent E, ungraph G.
 *     event E                  Creates event E.
 *     kernel S US              Launches a kernel of US microseconds on stream S.
 *     record E S API           Records event E on stream S.
 *     wait S E API             Makes stream S wait for event E.
 *     esync E API              Synchronizes event E. `equery` queries the event.
 *     ssync S API              Synchronizes stream S. `squery` queries the stream.
 *     csync API                Synchronizes the context, or with API 1 the device.
 *     copy S WHAT PINNED ASYNC KIB API    Copies memory. WHAT is 0 HtoD, 1 DtoH, 2 DtoD, 3 to the
 *                              next device, or 4 HtoH.
 *     set S ASYNC KIB API PINNED          Sets memory.
 *     alloc M PINNED API       Allocates memory M. `free M API` frees the memory.
 *     allocasync M S           Allocates memory M in the order of stream S. Also: freeasync M S.
 *     module U KIND            Loads module U. KIND is 0 for a module, 1 for a library of the
 *                              driver, or 2 for a library of the runtime.
 *     unload U                 Unloads module U.
 *     first U S US             Launches the kernel of module U, if its KIND is 0, on stream S.
 *     begin S                  Begins a capture on stream S. Other streams join by events.
 *     end S G                  Ends the capture on stream S, and makes graph G.
 *     launch G S API           Launches graph G on stream S.
 *     reset C API              Resets the device of a primary context, or destroys another context.
 *                              All objects of the context are destroyed.
 *     bad WHAT API             Makes a call that fails.
 *     start                    Starts a window by the public API, and waits until it is open.
 *     stop                     Stops the window.
 *     sleep US                 Sleeps for US microseconds.
 *
 * A slot either belongs to one thread, or is filled before the threads first meet and is never
 * emptied.
 */
#include <cuda.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cuda_load.h"
#include "random_objects.h"
#include "random_runtime.h"
#include "syncline/syncline.h"

enum {
    THREADS = 8,
    STEPS = 8192,
    ARGS = 6,
    ALL = -1
};

struct step {
    int thread;
    const struct verb *verb;
    int arg[ARGS];
};

static struct step steps[STEPS];
static int step_count, thread_count = 1;
static pthread_barrier_t meeting;

/* ---- steps that enqueue work ---- */

static void launch_kernel(CUfunction function, int s, int us)
{
    uint64_t ns = (uint64_t)us * 1000;
    void *arguments[] = {&ns};

    if (may_enqueue(s))
        cu.LaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, stream(s), arguments, NULL);
}

static void kernel(const int *arg)
{
    if (current >= 0)
        launch_kernel(contexts[current].kernel, arg[0], arg[1]);
}

static void kernel_of_module(const int *arg)
{
    CUfunction function;

    if (has(modules, arg[0]) && modules[arg[0]].context == current && kind_of_module[arg[0]] == 0 &&
        cu.ModuleGetFunction(&function, modules[arg[0]].object, "work_spin_ns") == CUDA_SUCCESS)
        launch_kernel(function, arg[1], arg[2]);
}

static void copy(const int *arg)
{
    static const int kinds[] = {1, 2, 3, 4, 0}; /* cudaMemcpyKind */
    const struct context *own, *next = NULL;
    size_t bytes = (size_t)arg[4] * 1024;
    void *host, *from, *to;

    if (!may_enqueue(arg[0]) || arg[1] < 0 || arg[1] > 4 || bytes > BYTES / 2)
        return;
    own = &contexts[current];
    if (arg[1] == 3)
        next = &contexts[(current + 1) % PRIMARY];
    if (next && (!next->memory || next->device == own->device || !arg[3]))
        return;
    host = arg[2] ? own->pinned : own->pageable;
    from = arg[1] == 0 || arg[1] == 4 ? host : (void *)own->memory;
    to = arg[1] == 1   ? host
         : arg[1] == 4 ? (char *)own->pinned + BYTES / 2
         : next        ? (void *)next->memory
                       : (void *)(own->memory + BYTES / 2);
    if (arg[5] && arg[3])
        rt.cudaMemcpyAsync[arg[5] - 1](to, from, bytes, kinds[arg[1]], stream(arg[0]));
    else if (arg[5])
        rt.cudaMemcpy[arg[5] - 1](to, from, bytes, kinds[arg[1]]);
    else if (arg[3])
        more.MemcpyAsync((CUdeviceptr)to, (CUdeviceptr)from, bytes, stream(arg[0]));
    else
        more.Memcpy((CUdeviceptr)to, (CUdeviceptr)from, bytes);
}

static void set(const int *arg)
{
    size_t bytes = (size_t)arg[2] * 1024;

    if (!may_enqueue(arg[0]) || bytes > BYTES)
        return;
    CUdeviceptr to = arg[4] ? (CUdeviceptr)contexts[current].pinned : contexts[current].memory;

    if (arg[3] && arg[1])
        rt.cudaMemsetAsync[arg[3] - 1]((void *)to, 7, bytes, stream(arg[0]));
    else if (arg[3])
        rt.cudaMemset[arg[3] - 1]((void *)to, 7, bytes);
    else if (arg[1])
        cu.MemsetD8Async(to, 7, bytes, stream(arg[0]));
    else
        more.MemsetD8(to, 7, bytes);
}

/* ---- steps that order streams and wait ---- */

static void record(const int *arg)
{
    if (!has(events, arg[0]) || !may_enqueue(arg[1]) || events[arg[0]].context != current)
        return;
    if (arg[2])
        rt.cudaEventRecord[arg[2] - 1](events[arg[0]].object, stream(arg[1]));
    else
        cu.EventRecord(events[arg[0]].object, stream(arg[1]));
}

static void wait_event(const int *arg)
{
    if (!has_stream(arg[0]) || !has(events, arg[1]))
        return;
    if (arg[2])
        rt.cudaStreamWaitEvent[arg[2] - 1](stream(arg[0]), events[arg[1]].object, 0);
    else
        cu.StreamWaitEvent(stream(arg[0]), events[arg[1]].object, 0);
}

static void event_sync(const int *arg)
{
    if (has(events, arg[0]))
        arg[1] ? rt.cudaEventSynchronize(events[arg[0]].object)
               : (int)cu.EventSynchronize(events[arg[0]].object);
}

static void event_query(const int *arg)
{
    if (has(events, arg[0]))
        arg[1] ? rt.cudaEventQuery(events[arg[0]].object)
               : (int)cu.EventQuery(events[arg[0]].object);
}

static void stream_sync(const int *arg)
{
    if (has_stream(arg[0]))
        arg[1] ? rt.cudaStreamSynchronize[arg[1] - 1](stream(arg[0]))
               : (int)cu.StreamSynchronize(stream(arg[0]));
}

static void stream_query(const int *arg)
{
    if (has_stream(arg[0]))
        arg[1] ? rt.cudaStreamQuery[arg[1] - 1](stream(arg[0]))
               : (int)cu.StreamQuery(stream(arg[0]));
}

static void context_sync(const int *arg)
{
    if (current >= 0)
        arg[0] ? rt.cudaDeviceSynchronize() : (int)cu.CtxSynchronize();
}

/* ---- steps with graphs ---- */

static void begin(const int *arg)
{
    if (arg[0] && may_enqueue(arg[0]))
        cu.StreamBeginCapture(stream(arg[0]), CU_STREAM_CAPTURE_MODE_RELAXED);
}

static void end(const int *arg)
{
    CUgraph graph = NULL;

    if (!may_enqueue(arg[0]) || !in(arg[1]) || graphs[arg[1]].object)
        return;
    if (cu.StreamEndCapture(stream(arg[0]), &graph) || !graph)
        return;
    graphs[arg[1]].context = current;
    cu.GraphInstantiate((CUgraphExec *)&graphs[arg[1]].object, graph, 0);
    cu.GraphDestroy(graph);
}

static void launch(const int *arg)
{
    if (!has(graphs, arg[0]) || graphs[arg[0]].context != current || !may_enqueue(arg[1]))
        return;
    if (arg[2])
        rt.cudaGraphLaunch[arg[2] - 1](graphs[arg[0]].object, stream(arg[1]));
    else
        cu.GraphLaunch(graphs[arg[0]].object, stream(arg[1]));
}

static void drop_graph(const int *arg)
{
    if (!has(graphs, arg[0]))
        return;
    cu.GraphExecDestroy(graphs[arg[0]].object);
    graphs[arg[0]].object = NULL;
}

/* ---- steps with failing calls, with windows, and with sleeps ---- */

static void bad(const int *arg)
{
    static int nothing;

    if (current < 0)
        return;
    switch (arg[0]) {
    case 0:
        cu.LaunchKernel(contexts[current].kernel, 1, 1, 1, 0, 1, 1, 0, NULL, NULL, NULL);
        break;
    case 1: /* the copy is longer than its source */
        rt.cudaMemcpy[0](contexts[current].pinned, (void *)contexts[current].memory,
                         (size_t)BYTES * 2, 2);
        break;
    case 2: /* records an event that does not exist */
        arg[1] ? rt.cudaEventSynchronize(&nothing) : (int)cu.EventSynchronize((CUevent)&nothing);
        break;
    case 3: /* frees memory that CUDA did not allocate */
        arg[1] ? rt.cudaFree(&nothing) : (int)cu.MemFree((CUdeviceptr)&nothing);
        break;
    default:
        cu.StreamWaitEvent(NULL, (CUevent)&nothing, 0);
        break;
    }
}

static void sleep_us(const int *arg)
{
    struct timespec left = {arg[0] / 1000000, arg[0] % 1000000 * 1000};

    while (nanosleep(&left, &left))
        ;
}

static void start(const int *arg)
{
    struct sl_status status = {.size = sizeof status};
    int rc = sl_start();

    for (int i = 0; i < 4000 && (rc == 0 || rc == -EBUSY); i++) {
        if (sl_status(&status) || status.state == SL_STATE_RECORDING)
            break;
        sleep_us((int[]){500});
    }
}

static void stop(const int *arg)
{
    sl_stop();
}

static void meet(const int *arg)
{
    pthread_barrier_wait(&meeting);
}

static const struct verb {
    const char *name;
    void (*run)(const int *arg);
} verbs[] = {
    {"use", use},
    {"context", context},
    {"reset", reset},
    {"stream", new_stream},
    {"unstream", drop_stream},
    {"event", new_event},
    {"unevent", drop_event},
    {"alloc", alloc},
    {"free", free_waiting},
    {"allocasync", alloc_async},
    {"freeasync", free_async},
    {"module", load_module},
    {"unload", unload_module},
    {"kernel", kernel},
    {"first", kernel_of_module},
    {"copy", copy},
    {"set", set},
    {"record", record},
    {"wait", wait_event},
    {"esync", event_sync},
    {"equery", event_query},
    {"ssync", stream_sync},
    {"squery", stream_query},
    {"csync", context_sync},
    {"begin", begin},
    {"end", end},
    {"launch", launch},
    {"ungraph", drop_graph},
    {"bad", bad},
    {"sleep", sleep_us},
    {"start", start},
    {"stop", stop},
    {"meet", meet},
};

static const struct verb *find_verb(const char *name)
{
    for (size_t i = 0; i < sizeof verbs / sizeof *verbs; i++)
        if (strcmp(verbs[i].name, name) == 0)
            return &verbs[i];
    fprintf(stderr, "random_waits: no verb '%s'\n", name);
    exit(2);
}

static void read_steps(const char *path)
{
    FILE *file = fopen(path, "r");
    char line[256], who[16], verb[16];

    if (!file) {
        perror(path);
        exit(2);
    }
    while (fgets(line, sizeof line, file)) {
        struct step *step = &steps[step_count];
        int *arg = step->arg;

        if (line[0] == '#' || sscanf(line, "%15s %15s %d %d %d %d %d %d", who, verb, &arg[0],
                                     &arg[1], &arg[2], &arg[3], &arg[4], &arg[5]) < 2)
            continue;
        step->thread = who[0] == '*' ? ALL : (int)strtol(who, NULL, 10);
        step->verb = find_verb(verb);
        if (step->thread >= THREADS || ++step_count == STEPS)
            exit(2);
        if (step->thread >= thread_count)
            thread_count = step->thread + 1;
    }
    fclose(file);
}

static void *run_thread(void *number)
{
    int self = *(int *)number;

    for (int i = 0; i < step_count; i++)
        if (steps[i].thread == self || steps[i].thread == ALL)
            steps[i].verb->run(steps[i].arg);
    return NULL;
}

int main(int argc, char **argv)
{
    static int numbers[THREADS];
    pthread_t threads[THREADS];

    if (argc != 2)
        return 2;
    read_steps(argv[1]);
    cuda_open();
    random_open();
    CHECK(cu.DeviceGetCount(&device_count));
    pthread_barrier_init(&meeting, NULL, (unsigned)thread_count);
    for (int i = 0; i < thread_count; i++) {
        numbers[i] = i;
        if (i && pthread_create(&threads[i], NULL, run_thread, &numbers[i]))
            return 1;
    }
    run_thread(&numbers[0]);
    for (int i = 1; i < thread_count; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
