/*
 * nccl_plugin.c - loads a profiler plugin as NCCL does, and sends it NCCL's events.
 *
 * The option `nccl` chooses a version, which determines the table of the plugin. Descriptors are
 * written by offset, byte for byte as in NCCL's binary interface (and not by the declarations of
 * the plugin under test). Bytes that NCCL does not set have a pattern.
 *
 * A call sends, on its thread:
 *     GroupApi start, CollApi or P2pApi start and stop, GroupApi states,
 *     for each kernel: KernelLaunch start and stop; Group start; a Coll or P2p start and stop for
 *     each collective and message; Group stop,
 *     GroupApi stop
 * In place of KernelLaunch, Group and Coll, a collective of copy engines has a CeColl around its
 * copies. Version 4 of the interface has only Group, Coll and P2p.
 * Calls that are captured into a graph send no Group, Coll and P2p, neither then nor in replays, as
 * in NCCL with all ranks on one node.
 * Application threads. The mask and the loaded plugin belong to the process.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "libraries/nccl.h"

enum {
    GROUP = 1,
    COLL = 2,
    P2P = 4,
    GROUP_API = 256,
    COLL_API = 512,
    P2P_API = 1024,
    KERNEL_LAUNCH = 2048,
    CE_COLL = 4096,
    ANY_GROUP = COLL | P2P,
    ANY_API = GROUP | COLL | P2P | GROUP_API | COLL_API | P2P_API | KERNEL_LAUNCH,
    GROUP_START_API_STOP = 23,
    GROUP_END_API_START = 24,
    DESCRIPTOR_BYTES = 136,
    RAS_SETS_MASK = 23100,
    OLDEST_TABLE = 4 /* tables of earlier versions have other functions */
};

static const struct {
    const char *name;
    int version, table;
} versions[] = {{"2.25", 22501, 2}, {"2.27", 22707, 4}, {"2.28", 22809, 5},
                {"2.29", 22907, 6}, {"2.31", 23102, 7}, {"2.28-fork", 22809, 7}};

struct table {
    const char *name;
    union {
        int (*init)(void **context, uint64_t hash, int *mask, const char *name, int nodes,
                    int ranks, int rank, void *log);
        int (*init_v4)(void **context, int *mask, const char *name, uint64_t hash, int nodes,
                       int ranks, int rank, void *log);
    };
    int (*start)(void *context, void **handle, void *descriptor);
    int (*stop)(void *handle);
    int (*state)(void *handle, int state, void *args);
    int (*finalize)(void *context);
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static enum {
    NOT_LOOKED,
    LOADED,
    FAILED
} state;
static const struct table *table;
static int table_version;
static int mask;

static __thread void *group_handle, *tasks_handle, *last_call;
static __thread bool in_group;

static int chosen(void)
{
    const char *name = sim_option("NCCL");

    for (int i = 0; name && i < (int)(sizeof versions / sizeof *versions); i++) {
        if (strcmp(versions[i].name, name) == 0) {
            return i;
        }
    }
    return 2;
}

int sim_nccl_version(void)
{
    return versions[chosen()].version;
}

/* ---- loading ---- */

static void load(void)
{
    const char *wanted = getenv("NCCL_PROFILER_PLUGIN");
    char symbol[32] = "ncclProfiler_v0";
    void *library = NULL;

    if (!wanted || !*wanted) {
        library = dlopen("libnccl-profiler.so", RTLD_NOW | RTLD_LOCAL);
    } else if (strcmp(wanted, "none") != 0) {
        library = dlopen(wanted, RTLD_NOW | RTLD_LOCAL);
    }
    for (int v = versions[chosen()].table; library && !table && v >= OLDEST_TABLE; v--) {
        table_version = v;
        symbol[sizeof "ncclProfiler_v0" - 2] = (char)('0' + v);
        table = dlsym(library, symbol);
    }
    state = table ? LOADED : FAILED;
}

static uint64_t hash_of(const struct sim_nccl_comm *comm)
{
    uint64_t hash = 0xcbf29ce484222325u;

    for (const char *at = comm->id.path; *at; at++) {
        hash = (hash ^ (unsigned char)*at) * 0x100000001b3u;
    }
    return hash;
}

static int init(struct sim_nccl_comm *comm)
{
    return table_version == 4 ? table->init_v4(&comm->context, &mask, NULL, comm->hash, 1,
                                               comm->ranks, comm->rank, NULL)
                              : table->init(&comm->context, comm->hash, &mask, NULL, 1, comm->ranks,
                                            comm->rank, NULL);
}

void sim_nccl_plugin_attach(struct sim_nccl_comm *comm)
{
    pthread_mutex_lock(&lock);
    comm->hash = hash_of(comm);
    if (state == NOT_LOOKED) {
        load();
    }
    if (state == LOADED && init(comm)) {
        state = FAILED;
        mask = 0;
    }
    comm->told = state == LOADED;
    if (comm->told && sim_option("NCCL_RAS") && sim_nccl_version() >= RAS_SETS_MASK) {
        __atomic_store_n(&mask, (int)strtol(sim_option("NCCL_RAS"), NULL, 0), __ATOMIC_RELAXED);
    }
    pthread_mutex_unlock(&lock);
}

void sim_nccl_plugin_detach(struct sim_nccl_comm *comm)
{
    if (comm->told) {
        table->finalize(comm->context);
    }
    comm->told = false;
}

/* ---- descriptors ---- */

struct descriptor {
    _Alignas(8) unsigned char byte[DESCRIPTOR_BYTES];
};

static void put(struct descriptor *d, size_t at, const void *value, size_t bytes)
{
    memcpy(&d->byte[at], value, bytes);
}

static void put64(struct descriptor *d, size_t at, uint64_t value)
{
    put(d, at, &value, sizeof value);
}

static void put32(struct descriptor *d, size_t at, int32_t value)
{
    put(d, at, &value, sizeof value);
}

static void put_pointer(struct descriptor *d, size_t at, const void *value)
{
    put(d, at, &value, sizeof value);
}

static struct descriptor begin(uint64_t type, void *parent, int rank)
{
    struct descriptor d;

    memset(&d, 0xa5, sizeof d);
    if (table_version == 4) {
        d.byte[0] = (unsigned char)type;
    } else {
        put64(&d, 0, type);
    }
    put_pointer(&d, 8, parent);
    put32(&d, 16, rank);
    return d;
}

static void *start(const struct sim_nccl_comm *comm, struct descriptor *d)
{
    void *handle = NULL;

    table->start(comm->context, &handle, d);
    return handle;
}

static void stop(void *handle)
{
    if (handle) {
        table->stop(handle);
    }
}

static bool is_asked(const struct sim_nccl_comm *comm, int types)
{
    if (table_version == 4) {
        types &= types == ANY_API ? 0 : GROUP | COLL | P2P;
    }
    return comm->told && __atomic_load_n(&mask, __ATOMIC_RELAXED) & types;
}

static const char *const funcs[] = {[NCCL_ALL_REDUCE] = "AllReduce",
                                    [NCCL_BROADCAST] = "Broadcast",
                                    [NCCL_REDUCE] = "Reduce",
                                    [NCCL_ALL_GATHER] = "AllGather",
                                    [NCCL_REDUCE_SCATTER] = "ReduceScatter",
                                    [NCCL_ALL_TO_ALL] = "AlltoAll",
                                    [NCCL_SEND] = "Send",
                                    [NCCL_RECEIVE] = "Recv",
                                    [NCCL_GATHER] = "Gather",
                                    [NCCL_SCATTER] = "Scatter"};
static const char *const types[] = {"ncclInt8",     "ncclUint8",      "ncclInt32",
                                    "ncclUint32",   "ncclInt64",      "ncclUint64",
                                    "ncclFloat16",  "ncclFloat32",    "ncclFloat64",
                                    "ncclBfloat16", "ncclFloat8e4m3", "ncclFloat8e5m2"};

static bool is_message(const struct sim_nccl_task *task)
{
    return task->verb == NCCL_SEND || task->verb == NCCL_RECEIVE;
}

/* NCCL reports these calls only as the messages that they consist of. */
static bool is_of_messages(const struct sim_nccl_task *task)
{
    return !task->is_copied && (task->verb == NCCL_ALL_TO_ALL || task->verb == NCCL_GATHER ||
                                task->verb == NCCL_SCATTER);
}

/* Returns the message number i that the call consists of on this rank, in NCCL's order. Returns
 * false if there are no more. */
static bool message(const struct sim_nccl_comm *comm, const struct sim_nccl_task *task, int i,
                    enum sim_nccl_verb *verb, int *peer)
{
    bool is_root = task->peer == comm->rank;

    switch (task->verb) {
    case NCCL_ALL_TO_ALL:
        *verb = i % 2 == 0 ? NCCL_SEND : NCCL_RECEIVE;
        *peer = i / 2;
        return i < 2 * comm->ranks;
    case NCCL_GATHER:
        *verb = i == 0 ? NCCL_SEND : NCCL_RECEIVE;
        *peer = i == 0 ? task->peer : i - 1;
        return i < (is_root ? comm->ranks + 1 : 1);
    default:
        *verb = is_root && i < comm->ranks ? NCCL_SEND : NCCL_RECEIVE;
        *peer = *verb == NCCL_SEND ? i : task->peer;
        return i < (is_root ? comm->ranks + 1 : 1);
    }
}

/* ---- calls ---- */

/* Only within CUDA's functions is it known which stream a default stream is. */
bool sim_nccl_is_captured(void *handle)
{
    struct sim_stream *stream;

    return (uintptr_t)handle > 2 && sim_stream_resolve(handle, &stream) == 0 &&
           sim_stream_capturing(stream);
}

static void put_tag(struct descriptor *d, size_t at, const struct sim_nccl_task *task)
{
    if (table_version >= 7) {
        put64(d, at, task->tag);
    }
}

/* Returns the handle of a call of a collective, or of a message. */
static void *tell_one(struct sim_nccl_comm *comm, const struct sim_nccl_task *task,
                      enum sim_nccl_verb verb, void *stream)
{
    bool is_message = verb == NCCL_SEND || verb == NCCL_RECEIVE;
    struct descriptor d = begin(is_message ? P2P_API : COLL_API, group_handle, 0);
    bool is_captured = sim_nccl_is_captured(stream);

    put_pointer(&d, 24, funcs[verb]);
    put64(&d, 32, task->count);
    put_pointer(&d, 40, types[task->type]);
    if (is_message) {
        put_pointer(&d, 48, stream);
        put(&d, 56, &is_captured, 1);
        put_tag(&d, 64, task);
    } else {
        put32(&d, 48, task->peer);
        put_pointer(&d, 56, stream);
        put(&d, 64, &is_captured, 1);
        put_tag(&d, 72, task);
    }
    return start(comm, &d);
}

static void tell_messages(struct sim_nccl_comm *comm, struct sim_nccl_task *task, void *stream)
{
    enum sim_nccl_verb verb;
    int peer;

    if (!is_asked(comm, P2P_API)) {
        return;
    }
    task->calls = calloc(2 * (size_t)comm->ranks, sizeof *task->calls);
    for (int i = 0; task->calls && message(comm, task, i, &verb, &peer); i++) {
        task->calls[i] = tell_one(comm, task, verb, stream);
        stop(task->calls[i]);
    }
}

void sim_nccl_tell_call(struct sim_nccl_comm *comm, struct sim_nccl_task *task, void *stream,
                        int depth)
{
    bool is_numbered = !is_message(task) && !is_of_messages(task) && !sim_nccl_is_captured(stream);
    struct descriptor d;

    task->number = task->is_copied ? comm->copies++ : is_numbered ? comm->numbers[task->verb]++ : 0;
    task->call = NULL;
    if (!in_group && is_asked(comm, ANY_API)) {
        d = begin(GROUP_API, NULL, 0);
        put32(&d, 24, 0);
        put32(&d, 28, depth + 1);
        group_handle = start(comm, &d);
        in_group = true;
        table->state(group_handle, GROUP_START_API_STOP, NULL);
    }
    if (is_of_messages(task)) {
        tell_messages(comm, task, stream);
    } else if (is_asked(comm, is_message(task) ? P2P_API : COLL_API)) {
        last_call = task->call = tell_one(comm, task, task->verb, stream);
    }
    /* NCCL keeps the handle of the thread's last call, and stops it even when no plugin asks. */
    if (comm->told) {
        stop(last_call);
    }
}

void *sim_nccl_group(void)
{
    return group_handle;
}

void sim_nccl_set_group(void *group)
{
    group_handle = group;
}

void sim_nccl_tell_group_end(void)
{
    if (!in_group) {
        return;
    }
    stop(group_handle);
    group_handle = NULL;
    in_group = false;
}

/* ---- launches ---- */

/* From 2.29 on, NCCL reports neither launch nor collective of a Broadcast. */
static bool is_hidden(const struct sim_nccl_task *task)
{
    return task->verb == NCCL_BROADCAST && sim_nccl_version() >= 22900;
}

void *sim_nccl_tell_launch(const struct sim_nccl_comm *comm, const struct sim_nccl_task *tasks,
                           int count, void *stream)
{
    struct descriptor d = begin(KERNEL_LAUNCH, group_handle, 0);
    bool shown = false;

    for (int i = 0; i < count; i++) {
        shown = shown || !is_hidden(&tasks[i]);
    }
    if (!shown || !is_asked(comm, KERNEL_LAUNCH)) {
        return NULL;
    }
    if (group_handle) {
        table->state(group_handle, GROUP_END_API_START, NULL);
    }
    put_pointer(&d, 24, stream);
    return start(comm, &d);
}

static void tell_message(const struct sim_nccl_comm *comm, const struct sim_nccl_task *task,
                         void *call, const char *func, int peer)
{
    struct descriptor d = begin(P2P, table_version == 4 ? tasks_handle : call, comm->rank);
    unsigned char channels = 1;

    put_pointer(&d, 24, func);
    put_pointer(&d, 32, task->in);
    put_pointer(&d, 40, types[task->type]);
    put64(&d, 48, task->count);
    put32(&d, 56, peer);
    put(&d, 60, &channels, 1);
    stop(start(comm, &d));
}

/* AllGather and Broadcast have bytes in place of elements. */
static void tell_collective(const struct sim_nccl_comm *comm, const struct sim_nccl_task *task,
                            unsigned channels)
{
    struct descriptor d = begin(COLL, table_version == 4 ? tasks_handle : task->call, comm->rank);
    bool bytes = task->verb == NCCL_ALL_GATHER || task->verb == NCCL_BROADCAST;
    unsigned char few = (unsigned char)channels, warps = 8;

    put64(&d, 24, task->number);
    put_pointer(&d, 32, funcs[task->verb]);
    put_pointer(&d, 40, task->in);
    put_pointer(&d, 48, task->out);
    put64(&d, 56, bytes ? task->count * sim_nccl_size(task->type) : task->count);
    put32(&d, 64, task->peer);
    put_pointer(&d, 72, bytes ? types[NCCL_INT8] : types[task->type]);
    put(&d, 80, &few, 1);
    put(&d, 81, &warps, 1);
    put_pointer(&d, 88, "RING");
    put_pointer(&d, 96, "LL");
    stop(start(comm, &d));
}

static void tell_tasks(const struct sim_nccl_comm *comm, const struct sim_nccl_task *tasks,
                       int count, unsigned channels)
{
    enum sim_nccl_verb verb;
    struct descriptor d;
    void *group;
    int peer;

    if (!is_asked(comm, ANY_GROUP)) {
        return;
    }
    d = begin(GROUP, NULL, comm->rank);
    group = start(comm, &d);
    tasks_handle = group;
    for (int i = 0; i < count; i++) {
        const struct sim_nccl_task *task = &tasks[i];

        if (is_hidden(task)) {
            continue;
        }
        if (is_message(task)) {
            tell_message(comm, task, task->call, funcs[task->verb], task->peer);
        } else if (is_of_messages(task)) {
            for (int m = 0; message(comm, task, m, &verb, &peer); m++) {
                tell_message(comm, task, task->calls ? task->calls[m] : NULL, funcs[verb], peer);
            }
        } else {
            tell_collective(comm, task, channels);
        }
    }
    stop(group);
}

void *sim_nccl_tell_copies(const struct sim_nccl_comm *comm, const struct sim_nccl_task *task,
                           void *stream)
{
    struct descriptor d = begin(CE_COLL, task->call, comm->rank);
    bool bytes = task->verb == NCCL_ALL_GATHER;

    if (!is_asked(comm, CE_COLL)) {
        return NULL;
    }
    put64(&d, 24, task->number);
    put_pointer(&d, 32, funcs[task->verb]);
    put_pointer(&d, 40, task->in);
    put_pointer(&d, 48, task->out);
    put64(&d, 56, bytes ? task->count * sim_nccl_size(task->type) : task->count);
    put32(&d, 64, task->peer);
    put_pointer(&d, 72, bytes ? types[NCCL_INT8] : types[task->type]);
    put_pointer(&d, 80, "UC");
    put_pointer(&d, 104, stream);
    return start(comm, &d);
}

void sim_nccl_tell_copied(const struct sim_nccl_comm *comm, void *copies)
{
    (void)comm;
    stop(copies);
}

void sim_nccl_tell_launched(const struct sim_nccl_comm *comm, void *launch, void *stream,
                            const struct sim_nccl_task *tasks, int count, unsigned channels)
{
    stop(launch);
    if (!sim_nccl_is_captured(stream)) {
        tell_tasks(comm, tasks, count, channels);
    }
    for (int i = 0; i < count; i++) {
        if (is_of_messages(&tasks[i])) {
            free(tasks[i].calls);
        }
    }
}
