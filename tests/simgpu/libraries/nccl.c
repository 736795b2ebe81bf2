/*
 * nccl.c - the entries of the NCCL stand-in: unique ids, communicators, groups, collectives.
 *
 * Application threads. The creation of a communicator does not wait for the other ranks. Its first
 * collective does, and a split too.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "libraries/nccl.h"

enum {
    MAX_TASKS = 1024,
    MAX_FACTORS = 64,
    TAG_PLACE = 56,      /* of ncclCollConfig_t's userProfilerTag */
    BLOCKING_PLACE = 16, /* of ncclConfig_t's blocking */
    NO_COLOR = -1        /* NCCL_SPLIT_NOCOLOR */
};

LIBRARY(int, ncclGetVersion, (int *out))
{
    *out = sim_nccl_version();
    return NCCL_SUCCESS;
}

LIBRARY(const char *, ncclGetErrorString, (int result))
{
    return result == NCCL_SUCCESS            ? "no error"
           : result == NCCL_CUDA_ERROR       ? "unhandled cuda error"
           : result == NCCL_SYSTEM_ERROR     ? "unhandled system error"
           : result == NCCL_INVALID_ARGUMENT ? "invalid argument"
                                             : "invalid usage";
}

LIBRARY(const char *, ncclGetLastError, (struct sim_nccl_comm * comm))
{
    return "";
}

/* ---- communicators ---- */

LIBRARY(int, ncclGetUniqueId, (struct sim_nccl_id * out))
{
    return sim_nccl_new_id(out);
}

LIBRARY(int, ncclCommInitRank,
        (struct sim_nccl_comm * *out, int ranks, struct sim_nccl_id id, int rank))
{
    return sim_nccl_attach(&id, ranks, rank, out);
}

LIBRARY(int, ncclCommInitRankConfig,
        (struct sim_nccl_comm * *out, int ranks, struct sim_nccl_id id, int rank, void *config))
{
    int error = sim_nccl_attach(&id, ranks, rank, out), blocking = 1;

    if (config) {
        memcpy(&blocking, (const char *)config + BLOCKING_PLACE, sizeof blocking);
    }
    if (!error) {
        (*out)->is_nonblocking = blocking == 0;
    }
    return error;
}

LIBRARY(int, ncclCommInitRankScalable,
        (struct sim_nccl_comm * *out, int ranks, int rank, int ids, struct sim_nccl_id *id,
         void *config))
{
    return ids < 1 ? NCCL_INVALID_ARGUMENT : sim_nccl_attach(&id[0], ranks, rank, out);
}

LIBRARY(int, ncclCommInitAll, (struct sim_nccl_comm * *out, int count, const int *devices))
{
    struct sim_nccl_id id;
    int error = sim_nccl_new_id(&id);

    for (int i = 0; i < count && !error; i++) {
        error = sim_nccl_attach(&id, count, i, &out[i]);
        if (!error) {
            out[i]->device = devices ? devices[i] : i;
        }
    }
    return error;
}

LIBRARY(int, ncclCommSplit,
        (struct sim_nccl_comm * comm, int color, int key, struct sim_nccl_comm **out, void *config))
{
    struct sim_nccl_id id;
    int ranks, rank;
    int error = sim_nccl_split(comm, color, key, &ranks, &rank, &id);

    *out = NULL;
    return error || color == NO_COLOR ? error : sim_nccl_attach(&id, ranks, rank, out);
}

LIBRARY(int, ncclCommFinalize, (struct sim_nccl_comm * comm))
{
    return comm ? NCCL_SUCCESS : NCCL_INVALID_ARGUMENT;
}

LIBRARY(int, ncclCommDestroy, (struct sim_nccl_comm * comm))
{
    if (comm) {
        sim_nccl_plugin_detach(comm);
        sim_nccl_release(comm);
    }
    return NCCL_SUCCESS;
}

LIBRARY(int, ncclCommAbort, (struct sim_nccl_comm * comm))
{
    if (comm) {
        atomic_store(&comm->aborted, true);
        sim_nccl_plugin_detach(comm);
        sim_nccl_release(comm);
    }
    return NCCL_SUCCESS;
}

LIBRARY(int, ncclCommGetAsyncError, (struct sim_nccl_comm * comm, int *out))
{
    *out = NCCL_SUCCESS;
    return NCCL_SUCCESS;
}

#define FACT(name, field)                                                                          \
    LIBRARY(int, name, (const struct sim_nccl_comm *comm, int *out))                               \
    {                                                                                              \
        if (!comm || !out) {                                                                       \
            return NCCL_INVALID_ARGUMENT;                                                          \
        }                                                                                          \
        *out = comm->field;                                                                        \
        return NCCL_SUCCESS;                                                                       \
    }
FACT(ncclCommCount, ranks)
FACT(ncclCommUserRank, rank)
FACT(ncclCommCuDevice, device)

/* Registered buffers are treated like other buffers. */
LIBRARY(int, ncclCommRegister,
        (struct sim_nccl_comm * comm, void *buffer, size_t bytes, void **handle))
{
    *handle = buffer;
    return NCCL_SUCCESS;
}

LIBRARY(int, ncclCommDeregister, (struct sim_nccl_comm * comm, void *handle))
{
    return NCCL_SUCCESS;
}

LIBRARY(int, ncclMemAlloc, (void **out, size_t bytes))
{
    struct sim_context *context;

    if (sim_context_current(&context)) {
        return NCCL_CUDA_ERROR;
    }
    return sim_memory_alloc(context, SIM_DEVICE, bytes, 0, out) ? NCCL_CUDA_ERROR : NCCL_SUCCESS;
}

LIBRARY(int, ncclMemFree, (void *pointer))
{
    return sim_memory_free_waiting(pointer, SIM_DEVICE) ? NCCL_CUDA_ERROR : NCCL_SUCCESS;
}

/* ---- operators that the program creates, numbered from NCCL_OPERATORS ---- */

static _Atomic double factors[MAX_FACTORS];
static atomic_bool factor_used[MAX_FACTORS];

LIBRARY(int, ncclRedOpCreatePreMulSum,
        (int *out, const void *scalar, int type, int residence, struct sim_nccl_comm *comm))
{
    double value = 0;
    float single;

    if (type == NCCL_FLOAT32) {
        memcpy(&single, scalar, sizeof single);
        value = single;
    } else if (type == NCCL_FLOAT64) {
        memcpy(&value, scalar, sizeof value);
    } else {
        return NCCL_INVALID_ARGUMENT;
    }
    for (int i = 0; i < MAX_FACTORS; i++) {
        if (!atomic_exchange(&factor_used[i], true)) {
            atomic_store(&factors[i], value);
            *out = NCCL_OPERATORS + i;
            return NCCL_SUCCESS;
        }
    }
    return NCCL_INVALID_USAGE;
}

LIBRARY(int, ncclRedOpDestroy, (int op, struct sim_nccl_comm *comm))
{
    if (op >= NCCL_OPERATORS && op < NCCL_OPERATORS + MAX_FACTORS) {
        atomic_store(&factor_used[op - NCCL_OPERATORS], false);
    }
    return NCCL_SUCCESS;
}

/* ---- groups: the tasks of a thread since ncclGroupStart; one kernel per communicator ---- */

struct pending {
    struct sim_nccl_comm *comm;
    void *stream;
    struct sim_nccl_task task;
};

static __thread struct pending *pending;
static __thread int pending_count, group_depth;

struct launch {
    struct sim_nccl_comm *comm;
    void *stream, *group;
    const struct sim_nccl_task *tasks;
    int count, error;
};

static void *launch_on_thread(void *user)
{
    struct launch *launch = user;

    sim_nccl_set_group(launch->group);
    launch->error = sim_nccl_launch(launch->comm, launch->stream, launch->tasks, launch->count);
    return NULL;
}

/* Launches on a new thread if the communicator does not block. Real NCCL returns before that thread
 * has ended. */
static int launch(struct sim_nccl_comm *comm, void *stream, const struct sim_nccl_task *tasks,
                  int count)
{
    struct launch launch = {comm, stream, sim_nccl_group(), tasks, count, NCCL_SYSTEM_ERROR};
    pthread_t thread;

    if (!comm->is_nonblocking) {
        return sim_nccl_launch(comm, stream, tasks, count);
    }
    if (pthread_create(&thread, NULL, launch_on_thread, &launch) == 0) {
        pthread_join(thread, NULL);
    }
    return launch.error;
}

/* Launches all pending tasks of one communicator, the communicator of pending[first], and removes
 * these tasks. */
static int launch_one(int first)
{
    struct sim_nccl_comm *comm = pending[first].comm;
    void *stream = pending[first].stream;
    struct sim_nccl_task *tasks = calloc((size_t)pending_count, sizeof *tasks);
    int count = 0, error = NCCL_SYSTEM_ERROR;

    for (int i = first; tasks && i < pending_count; i++) {
        if (pending[i].comm == comm) {
            tasks[count++] = pending[i].task;
            pending[i].comm = NULL;
        }
    }
    if (tasks) {
        error = launch(comm, stream, tasks, count);
    }
    free(tasks);
    return error;
}

LIBRARY(int, ncclGroupStart, (void))
{
    sim_nccl_range_group(false);
    group_depth++;
    sim_nccl_range_end();
    return NCCL_SUCCESS;
}

static int end_group(void)
{
    int error = NCCL_SUCCESS;

    for (int i = 0; i < pending_count; i++) {
        if (pending[i].comm && !error) {
            error = launch_one(i);
        }
    }
    pending_count = 0;
    sim_nccl_tell_group_end();
    return error;
}

LIBRARY(int, ncclGroupEnd, (void))
{
    int error = NCCL_SUCCESS;

    if (group_depth == 0) {
        return NCCL_INVALID_USAGE;
    }
    sim_nccl_range_group(true);
    if (--group_depth == 0) {
        error = end_group();
    }
    sim_nccl_range_end();
    return error;
}

static int ask_inside(struct sim_nccl_comm *comm, void *stream, struct sim_nccl_task task)
{
    task.factor = 1;
    if (task.op >= NCCL_OPERATORS && task.op < NCCL_OPERATORS + MAX_FACTORS) {
        task.factor = atomic_load(&factors[task.op - NCCL_OPERATORS]);
    }
    task.is_copied = group_depth == 0 && sim_nccl_is_copied(comm, &task);
    sim_nccl_tell_call(comm, &task, stream, group_depth);
    if (group_depth == 0) {
        int error =
            task.is_copied ? sim_nccl_copy(comm, stream, &task) : launch(comm, stream, &task, 1);

        sim_nccl_tell_group_end();
        return error;
    }
    if (!pending && !(pending = calloc(MAX_TASKS, sizeof *pending))) {
        return NCCL_SYSTEM_ERROR;
    }
    if (pending_count == MAX_TASKS) {
        return NCCL_INVALID_USAGE;
    }
    pending[pending_count++] = (struct pending){comm, stream, task};
    return NCCL_SUCCESS;
}

static int ask(struct sim_nccl_comm *comm, void *stream, struct sim_nccl_task task)
{
    if (!comm) {
        return NCCL_INVALID_ARGUMENT;
    }
    sim_nccl_range_call(comm, &task);
    int error = ask_inside(comm, stream, task);

    sim_nccl_range_end();
    return error;
}

/* ---- collectives and messages ---- */

LIBRARY(int, ncclAllReduce,
        (const void *in, void *out, size_t count, int type, int op, struct sim_nccl_comm *comm,
         void *stream))
{
    return ask(comm, stream,
               (struct sim_nccl_task){
                   NCCL_ALL_REDUCE, in, out, count, type, op, 0, 1, {NULL}, 0, false, 0});
}

/* From 2.31: a struct of the given size with further settings of the call, here only the tag. */
LIBRARY(int, ncclAllReduceConfig,
        (const void *in, void *out, size_t count, int type, int op, struct sim_nccl_comm *comm,
         void *stream, const void *config))
{
    struct sim_nccl_task task = {NCCL_ALL_REDUCE, in, out,   count, type, op, 0, 1,
                                 {NULL},          0,  false, 0};

    memcpy(&task.tag, (const char *)config + TAG_PLACE, sizeof task.tag);
    return ask(comm, stream, task);
}

LIBRARY(int, ncclBroadcast,
        (const void *in, void *out, size_t count, int type, int root, struct sim_nccl_comm *comm,
         void *stream))
{
    return ask(comm, stream,
               (struct sim_nccl_task){
                   NCCL_BROADCAST, in, out, count, type, 0, root, 1, {NULL}, 0, false, 0});
}

LIBRARY(int, ncclBcast,
        (void *buffer, size_t count, int type, int root, struct sim_nccl_comm *comm, void *stream))
{
    return ncclBroadcast(buffer, buffer, count, type, root, comm, stream);
}

LIBRARY(int, ncclReduce,
        (const void *in, void *out, size_t count, int type, int op, int root,
         struct sim_nccl_comm *comm, void *stream))
{
    return ask(comm, stream,
               (struct sim_nccl_task){
                   NCCL_REDUCE, in, out, count, type, op, root, 1, {NULL}, 0, false, 0});
}

LIBRARY(int, ncclAllGather,
        (const void *in, void *out, size_t count, int type, struct sim_nccl_comm *comm,
         void *stream))
{
    return ask(comm, stream,
               (struct sim_nccl_task){
                   NCCL_ALL_GATHER, in, out, count, type, 0, 0, 1, {NULL}, 0, false, 0});
}

LIBRARY(int, ncclReduceScatter,
        (const void *in, void *out, size_t count, int type, int op, struct sim_nccl_comm *comm,
         void *stream))
{
    return ask(comm, stream,
               (struct sim_nccl_task){
                   NCCL_REDUCE_SCATTER, in, out, count, type, op, 0, 1, {NULL}, 0, false, 0});
}

LIBRARY(int, ncclAlltoAll,
        (const void *in, void *out, size_t count, int type, struct sim_nccl_comm *comm,
         void *stream))
{
    return ask(comm, stream,
               (struct sim_nccl_task){
                   NCCL_ALL_TO_ALL, in, out, count, type, 0, 0, 1, {NULL}, 0, false, 0});
}

LIBRARY(int, ncclGather,
        (const void *in, void *out, size_t count, int type, int root, struct sim_nccl_comm *comm,
         void *stream))
{
    return ask(
        comm, stream,
        (struct sim_nccl_task){NCCL_GATHER, in, out, count, type, 0, root, 1, {NULL}, 0, false, 0});
}

LIBRARY(int, ncclScatter,
        (const void *in, void *out, size_t count, int type, int root, struct sim_nccl_comm *comm,
         void *stream))
{
    return ask(comm, stream,
               (struct sim_nccl_task){
                   NCCL_SCATTER, in, out, count, type, 0, root, 1, {NULL}, 0, false, 0});
}

LIBRARY(int, ncclSend,
        (const void *in, size_t count, int type, int peer, struct sim_nccl_comm *comm,
         void *stream))
{
    return ask(
        comm, stream,
        (struct sim_nccl_task){NCCL_SEND, in, NULL, count, type, 0, peer, 1, {NULL}, 0, false, 0});
}

LIBRARY(int, ncclRecv,
        (void *out, size_t count, int type, int peer, struct sim_nccl_comm *comm, void *stream))
{
    return ask(comm, stream,
               (struct sim_nccl_task){
                   NCCL_RECEIVE, NULL, out, count, type, 0, peer, 1, {NULL}, 0, false, 0});
}
