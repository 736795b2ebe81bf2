/*
 * nccl_bench.c - measures what our profiler plugin for NCCL costs the thread that calls NCCL.
 *
 * Three parts measure a collective with its twelve calls of the plugin, with our plugin and with an
 * empty one (nccl_empty_plugin.c):
 * - own: this program calls the plugin's functions as NCCL does.
 * - real: the event functions inside NVIDIA's libnccl.so call the plugin, which is this program.
 *   Needs --nccl; tests/e2e/nccl_library.py tells where the functions and members are.
 * - simulated: a job makes collectives with the simulated NCCL on the simulated GPU. The recorder
 *   thread reads the records meanwhile.
 *
 * In the first two parts the thread's lane is emptied between the measured times, because a record
 * for a full lane costs less. The fastest of many short rounds counts, because other rounds were
 * disturbed. The 99th percentile is that of single collectives.
 *
 *   nccl_bench [--json FILE] [--nccl FILE] [--collectives N --step-us N]
 *
 * With the number of collectives in a step of a job and the time of the step, prints the share of
 * the step that the plugin takes. bench/nccl_bench.sh passes these options.
 */
#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "collect/lane/lane.h"
#include "collect/nccl/level.h"
#include "collect/nccl/plugin.h"
#include "must.h"
#include "table.h"

enum {
    BATCH = 50, /* collectives in a round, whose records fit into a lane */
    ROUNDS = 4000,
    WARM = 200,                        /* first rounds, which do not count */
    SAMPLES = (ROUNDS - WARM) * BATCH, /* collectives that are measured one by one */
    RECORDS = 4, /* of a collective: the call, the launch, its end, the collective in the kernel */
    SIM_CALLS = 20000,
    SIM_TURNS = 5,
};

enum { /* types of the deep levels */
    PROXY_OP = 8,
    PROXY_STEP = 16,
    KERNEL_CHANNEL = 64,
};

struct cost {
    double ns, p99_ns; /* of one collective, or of one call of the plugin */
};

/* ---- measuring ---- */

static double ns_per_tick;
static uint32_t *sample;
static uint64_t records; /* read from the lane */

static uint64_t ticks(void)
{
    uint64_t now = sl_clock_ticks();

    return now ? now : bench_wall_ns();
}

static void measure_ticks(void)
{
    uint64_t ns = bench_wall_ns(), from = ticks();

    while (bench_wall_ns() - ns < 50000000)
        ;
    ns_per_tick = (double)(bench_wall_ns() - ns) / (double)(ticks() - from);
}

static void drain(void)
{
    const struct sl_lane_record *r;

    for (unsigned i = 0; i < sl_lanes_used(); i++)
        while ((r = sl_lane_next(sl_lane_at(i)))) {
            records += r->what == SL_LANE_NCCL;
            sl_lane_read(sl_lane_at(i), r);
        }
}

static int by_value(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

    return (x > y) - (x < y);
}

static void nothing(void)
{
}

/* Volatile, so that the compiler cannot see which function is called. */
static void (*volatile collective)(void);

static struct cost measure_one(void (*function)(void))
{
    uint64_t best = UINT64_MAX, at = 0;

    collective = function;
    for (int round = 0; round < ROUNDS; round++) {
        uint64_t from = ticks(), to;

        for (int i = 0; i < BATCH; i++)
            collective();
        to = ticks();
        if (to - from < best)
            best = to - from;
        drain();
        for (int i = 0; i < BATCH; i++) {
            from = ticks();
            collective();
            to = ticks();
            if (round >= WARM)
                sample[at++] = (uint32_t)(to - from);
        }
        drain();
    }
    qsort(sample, SAMPLES, sizeof(*sample), by_value);
    return (struct cost){(double)best * ns_per_tick / BATCH,
                         sample[SAMPLES / 100 * 99] * ns_per_tick};
}

/* Returns the cost without that of the measurement. `each`: the number of records that the function
 * must write; -1: any number */
static struct cost measure(void (*function)(void), int each)
{
    struct cost none = measure_one(nothing), all;

    records = 0;
    all = measure_one(function);
    must(each < 0 || records == (uint64_t)each * 2 * ROUNDS * BATCH ? 0 : -EBADMSG, "records");
    return (struct cost){all.ns - none.ns, all.p99_ns - none.p99_ns};
}

/* ---- the part `own` ---- */

static struct sl_nccl_plugin plugin;
static void *context;

static void *begin(const struct sl_nccl_descriptor *d)
{
    void *handle;

    plugin.start(context, &handle, d);
    return handle;
}

static void one(uint64_t type, void *parent)
{
    plugin.stop(begin(&(struct sl_nccl_descriptor){.type = type, .parent = parent}));
}

static void run(const struct sl_nccl_descriptor *call, const struct sl_nccl_descriptor *task)
{
    void *group = begin(&(struct sl_nccl_descriptor){.type = SL_NCCL_GROUP_API});
    struct sl_nccl_descriptor d = *call;

    plugin.record_state(group, 23, NULL);
    d.parent = group;
    d.parent = begin(&d);
    plugin.stop(d.parent);
    plugin.record_state(group, 24, NULL);
    one(SL_NCCL_KERNEL_LAUNCH, group);
    one(SL_NCCL_GROUP, group);
    group = d.parent;
    d = *task;
    d.parent = group;
    plugin.stop(begin(&d));
    plugin.stop(group);
}

static void all_reduce(void)
{
    static const struct sl_nccl_descriptor call = {
        .type = SL_NCCL_COLL_API,
        .coll_api = {.func = "AllReduce", .count = 1000, .dtype = "ncclFloat32"}};
    static const struct sl_nccl_descriptor task = {.type = SL_NCCL_COLL,
                                                   .coll = {.number = 7,
                                                            .func = "AllReduce",
                                                            .count = 1000,
                                                            .dtype = "ncclFloat32",
                                                            .channels = 4,
                                                            .algorithm = "RING",
                                                            .protocol = "LL"}};

    run(&call, &task);
}

static void message(void)
{
    static const struct sl_nccl_descriptor call = {
        .type = SL_NCCL_P2P_API,
        .p2p_api = {.func = "Send", .count = 1000, .dtype = "ncclFloat32"}};
    static const struct sl_nccl_descriptor task = {
        .type = SL_NCCL_P2P, .p2p = {.func = "Send", .count = 1000, .dtype = "ncclFloat32"}};

    run(&call, &task);
}

/* Three calls of a level that is deeper. */
static void deep(uint64_t type)
{
    void *handle = begin(&(struct sl_nccl_descriptor){.type = type});
    uint64_t args = 1; /* bytes, or the GPU's timer, where 0 is no time */

    plugin.record_state(handle, type == KERNEL_CHANNEL ? 22 : type == PROXY_OP ? 19 : 8, &args);
    plugin.stop(handle);
}

static void channel(void)
{
    deep(KERNEL_CHANNEL);
}

static void proxy_step(void)
{
    deep(PROXY_STEP);
}

extern const struct sl_nccl_plugin ncclProfiler_v5;

/* Steps are only summed, and their operation writes the record. */
static const char *of_records(void)
{
    return records ? NULL : "no record of its own";
}

static struct cost own(struct bench_table *t)
{
    static int mask;
    struct cost reduce, send, off, channels, network;
    const char *of_channels, *of_network;

    plugin = ncclProfiler_v5;
    plugin.init_v5(&context, 1, &mask, NULL, 1, 2, 0, NULL);
    off = measure(all_reduce, 0);
    sl_nccl_level_enable(1);
    reduce = measure(all_reduce, RECORDS);
    send = measure(message, RECORDS);
    sl_nccl_level_set(SL_NCCL_CHANNELS);
    sl_nccl_level_enable(1);
    channels = measure(channel, -1);
    of_channels = of_records();
    sl_nccl_level_set(SL_NCCL_NETWORK);
    sl_nccl_level_enable(1);
    network = measure(proxy_step, -1);
    of_network = of_records();
    sl_nccl_level_set(SL_NCCL_CALLS);
    sl_nccl_level_enable(1);
    bench_row(t, (struct bench_row){"own: AllReduce", reduce.ns, "ns", .goal = 500});
    bench_row(t, (struct bench_row){"own: AllReduce, p99", reduce.p99_ns, "ns", .goal = 1500});
    bench_row(t, (struct bench_row){"own: Send", send.ns, "ns", .goal = 300});
    bench_row(t, (struct bench_row){"own: channels, a call of the plugin", channels.ns / 3, "ns",
                                    .goal = 60, .against = of_channels});
    bench_row(t, (struct bench_row){"own: network, a call of the plugin", network.ns / 3, "ns",
                                    .goal = 60, .against = of_network});
    bench_row(t, (struct bench_row){"own: outside windows, a call of the plugin", off.ns / 12, "ns",
                                    .goal = 5});
    return reduce;
}

/* ---- the part `real` ---- */

#define FUNCTIONS(X)                                                                               \
    X(ncclGetVersion)                                                                              \
    X(ncclProfilerPluginInit)                                                                      \
    X(ncclProfilerStartGroupApiEvent)                                                              \
    X(ncclProfilerRecordGroupApiEventState)                                                        \
    X(ncclProfilerStartCollApiEvent)                                                               \
    X(ncclProfilerStopCollApiEvent)                                                                \
    X(ncclProfilerStartKernelLaunchEvent)                                                          \
    X(ncclProfilerStopKernelLaunchEvent)                                                           \
    X(ncclProfilerStartGroupEvent)                                                                 \
    X(ncclProfilerStartTaskEvents)                                                                 \
    X(ncclProfilerStopTaskEvents)                                                                  \
    X(ncclProfilerStopGroupEvent)                                                                  \
    X(ncclProfilerStopGroupApiEvent)
#define MEMBERS(X)                                                                                 \
    X(ncclInfo, coll)                                                                              \
    X(ncclInfo, count)                                                                             \
    X(ncclInfo, datatype)                                                                          \
    X(ncclInfo, comm)                                                                              \
    X(ncclKernelPlan, comm)                                                                        \
    X(ncclKernelPlan, collTaskQueue)                                                               \
    X(ncclTaskColl, func)                                                                          \
    X(ncclTaskColl, count)                                                                         \
    X(ncclTaskColl, datatype)                                                                      \
    X(ncclTaskColl, eActivationMask)

enum {
#define NUMBER_FUNCTION(name)   name,
#define NUMBER_MEMBER(of, name) of##_##name,
    FUNCTIONS(NUMBER_FUNCTION) MEMBERS(NUMBER_MEMBER) PLACES
};

static const char *const places[] = {
#define NAME_FUNCTION(name)   #name,
#define NAME_MEMBER(of, name) #of "." #name,
    FUNCTIONS(NAME_FUNCTION) MEMBERS(NAME_MEMBER)};

static uint64_t place[PLACES]; /* of functions: addresses; of members: offsets */
static unsigned char *nccl_comm, *nccl_info, *nccl_plan, *nccl_task;

static int find_places(const char *library)
{
    char command[4096], line[256], name[128];
    unsigned found = 0;
    FILE *from;
    int used = snprintf(command, sizeof(command), "python3 %s %s", BENCH_NCCL_LIBRARY_PY, library);

    for (unsigned i = 0; i < PLACES; i++)
        used += snprintf(command + used, sizeof(command) - (size_t)used, " %s", places[i]);
    from = popen(command, "r");
    while (from && found < PLACES && fgets(line, sizeof(line), from))
        found +=
            sscanf(line, "%127s %lu", name, &place[found]) == 2 && strcmp(name, places[found]) == 0;
    return from && pclose(from) == 0 && found == PLACES ? 0 : -ENODATA;
}

static void put(unsigned char *at, unsigned member, const void *value, size_t bytes)
{
    memcpy(at + place[member], value, bytes);
}

static int call_nccl(unsigned function, void *first, void *second)
{
    int (*f)(void *, void *) = __extension__(int (*)(void *, void *))(uintptr_t) place[function];

    return f(first, second);
}

static void real_all_reduce(void)
{
    call_nccl(ncclProfilerStartGroupApiEvent, nccl_info, NULL);
    call_nccl(ncclProfilerRecordGroupApiEventState, (void *)23, NULL);
    call_nccl(ncclProfilerStartCollApiEvent, nccl_info, NULL);
    call_nccl(ncclProfilerStopCollApiEvent, NULL, NULL);
    call_nccl(ncclProfilerRecordGroupApiEventState, (void *)24, NULL);
    call_nccl(ncclProfilerStartKernelLaunchEvent, nccl_plan, NULL);
    call_nccl(ncclProfilerStopKernelLaunchEvent, nccl_plan, NULL);
    call_nccl(ncclProfilerStartGroupEvent, nccl_plan, NULL);
    call_nccl(ncclProfilerStartTaskEvents, nccl_plan, NULL);
    call_nccl(ncclProfilerStopTaskEvents, nccl_plan, NULL);
    call_nccl(ncclProfilerStopGroupEvent, nccl_plan, NULL);
    call_nccl(ncclProfilerStopGroupApiEvent, NULL, NULL);
}

static void make_structures(void)
{
    const int all_reduce_number = 4, float32 = 7, every = 0xfff;
    const uint64_t count = 1000;

    nccl_comm = need(calloc(1, 4 << 20));
    nccl_info = need(calloc(1, 4096));
    nccl_plan = need(calloc(1, 4096));
    nccl_task = need(calloc(1, 4096));
    put(nccl_info, ncclInfo_coll, &all_reduce_number, 4);
    put(nccl_info, ncclInfo_count, &count, 8);
    put(nccl_info, ncclInfo_datatype, &float32, 4);
    put(nccl_info, ncclInfo_comm, &nccl_comm, 8);
    put(nccl_plan, ncclKernelPlan_comm, &nccl_comm, 8);
    put(nccl_plan, ncclKernelPlan_collTaskQueue, &nccl_task, 8);
    put(nccl_task, ncclTaskColl_func, &all_reduce_number, 4);
    put(nccl_task, ncclTaskColl_count, &count, 8);
    put(nccl_task, ncclTaskColl_datatype, &float32, 4);
    put(nccl_task, ncclTaskColl_eActivationMask, &every, 4);
}

/* Loads NCCL into this process, and makes NCCL load the plugin. `STATIC_PLUGIN` is this program. */
static struct cost measure_real(const char *library, const char *name)
{
    void *nccl;
    char *base;

    setenv("NCCL_PROFILER_PLUGIN", name, 1);
    nccl = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    base = nccl ? (char *)dlsym(nccl, "ncclGetVersion") - place[ncclGetVersion] : NULL;
    must(base ? 0 : -ENOENT, library);
    for (unsigned i = 0; i <= ncclProfilerStopGroupApiEvent; i++)
        place[i] += (uintptr_t)base;
    make_structures();
    must(call_nccl(ncclProfilerPluginInit, nccl_comm, NULL) ? -EIO : 0, "ncclProfilerPluginInit");
    sl_nccl_level_enable(1);
    return measure(real_all_reduce, strcmp(name, "STATIC_PLUGIN") == 0 ? RECORDS : 0);
}

/* A process of its own, because NCCL keeps a plugin. */
static struct cost measure_real_apart(const char *library, const char *name)
{
    struct cost cost = {0, 0};
    int ends[2];
    pid_t child;

    must(pipe(ends), "pipe");
    child = fork();
    if (child == 0) {
        cost = measure_real(library, name);
        _exit(write(ends[1], &cost, sizeof(cost)) != sizeof(cost));
    }
    close(ends[1]);
    must(read(ends[0], &cost, sizeof(cost)) == sizeof(cost) ? 0 : -EIO, "the real NCCL");
    close(ends[0]);
    waitpid(child, NULL, 0);
    return cost;
}

static void real(struct bench_table *t, const char *library)
{
    struct cost none, empty, ours;

    must(find_places(library), library);
    none = measure_real_apart(library, "none");
    empty = measure_real_apart(library, BENCH_EMPTY_PLUGIN);
    ours = measure_real_apart(library, "STATIC_PLUGIN");
    bench_row(
        t, (struct bench_row){"real: NCCL without a plugin, AllReduce", none.ns, "ns", .goal = 0});
    bench_row(t, (struct bench_row){"real: empty plugin, AllReduce", empty.ns, "ns", .goal = 0});
    bench_row(t, (struct bench_row){"real: more than empty, AllReduce", ours.ns - empty.ns, "ns",
                                    .goal = 500});
    bench_row(t, (struct bench_row){"real: more than empty, AllReduce, p99",
                                    ours.p99_ns - empty.p99_ns, "ns", .goal = 1500});
}

/* ---- the part `simulated` ---- */

static void *symbol(void *library, const char *name)
{
    void *found = library ? dlsym(library, name) : NULL;

    must(found ? 0 : -ENOENT, name);
    return found;
}

#define CALL(library, name, types) (__extension__(int(*) types) symbol(library, name))

/* The job: two devices, and collectives of both. Prints the CPU time of a collective in ns. */
static int child(void)
{
    void *cuda = dlopen("libcudart.so.13", RTLD_NOW), *nccl = dlopen("libnccl.so.2", RTLD_NOW);
    int (*set)(int) = CALL(cuda, "cudaSetDevice", (int));
    int (*make)(void **, size_t) = CALL(cuda, "cudaMalloc", (void **, size_t));
    int (*sync)(void) = CALL(cuda, "cudaDeviceSynchronize", (void));
    int (*reduce)(void *, void *, size_t, int, int, void *, void *) =
        CALL(nccl, "ncclAllReduce", (void *, void *, size_t, int, int, void *, void *));
    int (*init)(void **, int, const int *) =
        CALL(nccl, "ncclCommInitAll", (void **, int, const int *));
    const int devices[2] = {0, 1};
    void *memory[2], *comm[2];
    uint64_t cpu = 0;

    for (int device = 0; device < 2; device++)
        must(set(device) || make(&memory[device], 4096) ? -EIO : 0, "cudaMalloc");
    must(init(comm, 2, devices) ? -EIO : 0, "ncclCommInitAll");
    for (int i = 0; i < SIM_CALLS; i++) {
        uint64_t from;

        for (int device = 0; device < 2; device++) {
            must(set(device) ? -EIO : 0, "cudaSetDevice");
            from = bench_thread_cpu_ns();
            must(reduce(memory[device], memory[device], 8, 7, 0, comm[device], NULL) ? -EIO : 0,
                 "ncclAllReduce");
            cpu += i < SIM_CALLS / 10 ? 0 : bench_thread_cpu_ns() - from;
        }
        for (int device = 0; i % 50 == 49 && device < 2; device++)
            must(set(device) || sync() ? -EIO : 0, "cudaDeviceSynchronize");
    }
    printf("%.1f\n", (double)cpu / (SIM_CALLS - SIM_CALLS / 10) / 2);
    return 0;
}

static double simulated_job(const char *program, const char *folder, const char *variables)
{
    char command[8192];
    double ns = 0;
    FILE *from;

    snprintf(
        command, sizeof(command),
        "env SYNCLINE_OUTPUT=%s SYNCLINE_LOG=error SYNCLINE_CHAKRA=off "
        "CUDA_INJECTION64_PATH=%s %s %s --build %s --cuda 13 --devices 2 --scale 100 %s --child",
        folder, BENCH_LIBRARY, variables, BENCH_SIMGPU_RUN, BENCH_BUILD, program);
    from = popen(command, "r");
    if (!from || fscanf(from, "%lf", &ns) != 1 || pclose(from)) {
        fprintf(stderr, "nccl_bench: a job failed: %s\n", command);
        exit(1);
    }
    return ns;
}

static void simulated(struct bench_table *t)
{
    char folder[] = "/tmp/nccl_bench-XXXXXX", program[4096], command[128];
    double empty = 1e18, ours = 1e18;
    ssize_t n = readlink("/proc/self/exe", program, sizeof(program) - 1);

    must(n > 0 && mkdtemp(folder) ? 0 : -EIO, "a folder");
    program[n] = '\0';
    for (int turn = 0; turn < SIM_TURNS; turn++) {
        double a = simulated_job(program, folder,
                                 "SYNCLINE_NCCL=off NCCL_PROFILER_PLUGIN=" BENCH_EMPTY_PLUGIN);
        double b = simulated_job(program, folder, "SYNCLINE_NCCL=calls");

        empty = a < empty ? a : empty;
        ours = b < ours ? b : ours;
    }
    bench_row(t, (struct bench_row){"simulated: empty plugin, AllReduce", empty, "ns", .goal = 0});
    bench_row(t, (struct bench_row){"simulated: more than empty, AllReduce", ours - empty, "ns",
                                    .goal = 500});
    snprintf(command, sizeof(command), "rm -rf %s", folder);
    if (system(command))
        fprintf(stderr, "nccl_bench: %s could not be removed\n", folder);
}

int main(int argc, char **argv)
{
    const char *library = bench_option(argc, argv, "--nccl", NULL);
    double collectives = strtod(bench_option(argc, argv, "--collectives", "0"), NULL);
    double step_us = strtod(bench_option(argc, argv, "--step-us", "0"), NULL);
    struct bench_table t;
    struct cost reduce;

    if (argc == 2 && strcmp(argv[1], "--child") == 0)
        return child();
    sl_clock_calibrate();
    measure_ticks();
    sample = need(malloc(SAMPLES * sizeof(*sample)));
    must(sl_lanes_init(16 << 20), "lanes");
    sl_nccl_level_set(SL_NCCL_CALLS);
    bench_begin(&t, "nccl", argc, argv);
    if (library)
        real(&t, library);
    reduce = own(&t);
    simulated(&t);
    if (step_us > 0)
        bench_row(&t, (struct bench_row){"share of a step of ddp.py",
                                         collectives * reduce.ns / step_us / 10, "%", .goal = 0.5,
                                         .against = "collectives of a step x own: AllReduce"});
    return bench_end(&t);
}
