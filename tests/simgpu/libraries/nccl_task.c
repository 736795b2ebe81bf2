/*
 * nccl_task.c - runs the tasks (collectives and messages) of a group on one communicator. As in
 * NCCL, one kernel runs all of them. The kernel starts on its stream, waits for the other ranks,
 * and ends on all ranks at the same time.
 *
 * Application threads launch the kernel. The service thread polls the shared memory until all ranks
 * have launched, and then moves the data. A rank's data area holds the input of one collective at a
 * time.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libraries/nccl.h"

enum {
    FIXED_NS = 8000,
    BYTES_PER_US = 200000, /* rate of NVLink in one direction */
    MAX_CHANNELS = 24,
    CHANNEL_BYTES = 128 << 10
};

struct group {
    struct sim_remote remote; /* the first member, because poll() and begin() get a pointer to it */
    struct sim_nccl_comm *comm;
    int count;
    struct sim_nccl_task task[];
};

enum step {
    WAITING, /* waits until all ranks have read the previous collective's input, or the receiver the
                last message */
    HANDED,  /* the input is in the data area; waits for the other ranks */
    FINISHED
};

/* The state of one launch. */
struct launch {
    struct group *group;
    uint64_t end_ns;
    struct {
        uint64_t number;
        enum step step;
    } task[];
};

static bool is_message(const struct sim_nccl_task *task)
{
    return task->verb == NCCL_SEND || task->verb == NCCL_RECEIVE;
}

/* Returns the number of bytes of a rank's input. */
static size_t input_bytes(const struct sim_nccl_comm *comm, const struct sim_nccl_task *task)
{
    size_t bytes = task->count * sim_nccl_size(task->type);
    bool each = task->verb == NCCL_REDUCE_SCATTER || task->verb == NCCL_ALL_TO_ALL ||
                (task->verb == NCCL_SCATTER && task->peer == comm->rank);

    return each ? bytes * (size_t)comm->ranks : bytes;
}

static uint64_t cost(const struct sim_nccl_comm *comm, const struct sim_nccl_task *task)
{
    double bytes = (double)input_bytes(comm, task), n = comm->ranks;
    double share = is_message(task)                                            ? 1
                   : task->verb == NCCL_ALL_REDUCE                             ? 2 * (n - 1) / n
                   : task->verb == NCCL_ALL_GATHER                             ? n - 1
                   : task->verb == NCCL_BROADCAST || task->verb == NCCL_REDUCE ? 1
                                                                               : (n - 1) / n;

    return sim_clock_scaled(FIXED_NS + (uint64_t)(bytes * share * 1000 / BYTES_PER_US));
}

/* ---- collectives ---- */

static void hand_over(const struct sim_nccl_comm *comm, const struct sim_nccl_task *task)
{
    bool is_root_only = task->verb == NCCL_BROADCAST || task->verb == NCCL_SCATTER;

    if (!is_root_only || task->peer == comm->rank) {
        memcpy(sim_nccl_data(comm, comm->rank), task->in, input_bytes(comm, task));
    }
}

static void take(const struct sim_nccl_comm *comm, const struct sim_nccl_task *task)
{
    size_t bytes = task->count * sim_nccl_size(task->type), n = (size_t)comm->ranks;
    size_t own = (size_t)comm->rank * bytes;
    const char *in[SIM_NCCL_RANKS];

    for (int r = 0; r < comm->ranks; r++) {
        in[r] = sim_nccl_data(comm, r) + (task->verb == NCCL_REDUCE_SCATTER ? own : 0);
    }
    switch (task->verb) {
    case NCCL_SCATTER:
        memcpy(task->out, in[task->peer] + own, bytes);
        break;
    case NCCL_GATHER:
        for (size_t r = 0; r < n && task->peer == comm->rank; r++) {
            memcpy((char *)task->out + r * bytes, in[r], bytes);
        }
        break;
    case NCCL_BROADCAST:
        memcpy(task->out, in[task->peer], bytes);
        break;
    case NCCL_ALL_GATHER:
    case NCCL_ALL_TO_ALL:
        for (size_t r = 0; r < n; r++) {
            memcpy((char *)task->out + r * bytes, in[r] + (task->verb == NCCL_ALL_TO_ALL ? own : 0),
                   bytes);
        }
        break;
    case NCCL_REDUCE:
        if (task->peer != comm->rank) {
            break;
        } /* fall through */
    default:
        sim_nccl_reduce(task->out, in, comm->ranks, task->count, task->type, task->op,
                        task->factor);
        break;
    }
}

static bool all_have(const struct sim_nccl_comm *comm, uint64_t number, bool done)
{
    for (int r = 0; r < comm->ranks; r++) {
        const struct sim_nccl_rank *rank = &comm->shared->rank[r];

        /* The acquire pairs with the other rank's release. So this thread sees the other rank's
         * data and time (`arrived`), or may overwrite the data that the other rank has read
         * (`done`). */
        if (atomic_load_explicit(done ? &rank->done : &rank->arrived, memory_order_acquire) <
            number) {
            return false;
        }
    }
    return true;
}

static enum step go_on(const struct sim_nccl_comm *comm, const struct sim_nccl_task *task,
                       uint64_t number, enum step step, uint64_t start_ns, uint64_t *end_ns)
{
    struct sim_nccl_rank *own = &comm->shared->rank[comm->rank];
    uint64_t last = 0;

    if (step == WAITING && all_have(comm, number - 1, true)) {
        hand_over(comm, task);
        own->start_ns = start_ns;
        atomic_store_explicit(&own->arrived, number, memory_order_release);
        step = HANDED;
    }
    if (step == HANDED && all_have(comm, number, false)) {
        for (int r = 0; r < comm->ranks; r++) {
            uint64_t start = comm->shared->rank[r].start_ns;

            last = start > last ? start : last;
        }
        take(comm, task);
        *end_ns = last + cost(comm, task);
        atomic_store_explicit(&own->done, number, memory_order_release);
        step = FINISHED;
    }
    return step;
}

/* ---- messages: the sender's kernel ends when the receiver has read the message ---- */

static enum step send(const struct sim_nccl_comm *comm, const struct sim_nccl_task *task,
                      uint64_t number, enum step step, uint64_t start_ns, uint64_t *end_ns)
{
    struct sim_nccl_pair *pair = sim_nccl_pair(comm, comm->rank, task->peer);

    if (step == WAITING &&
        atomic_load_explicit(&pair->received, memory_order_acquire) == number - 1) {
        memcpy(sim_nccl_pair_data(comm, comm->rank, task->peer), task->in, input_bytes(comm, task));
        pair->send_ns = start_ns;
        atomic_store_explicit(&pair->sent, number, memory_order_release);
        step = HANDED;
    }
    if (step == HANDED && atomic_load_explicit(&pair->received, memory_order_acquire) >= number) {
        *end_ns = (pair->receive_ns > start_ns ? pair->receive_ns : start_ns) + cost(comm, task);
        step = FINISHED;
    }
    return step;
}

static enum step receive(const struct sim_nccl_comm *comm, const struct sim_nccl_task *task,
                         uint64_t number, enum step step, uint64_t start_ns, uint64_t *end_ns)
{
    struct sim_nccl_pair *pair = sim_nccl_pair(comm, task->peer, comm->rank);

    if (atomic_load_explicit(&pair->sent, memory_order_acquire) < number) {
        return step;
    }
    memcpy(task->out, sim_nccl_pair_data(comm, task->peer, comm->rank), input_bytes(comm, task));
    *end_ns = (pair->send_ns > start_ns ? pair->send_ns : start_ns) + cost(comm, task);
    pair->receive_ns = start_ns;
    atomic_store_explicit(&pair->received, number, memory_order_release);
    return FINISHED;
}

/* ---- the kernel ---- */

/* Assigns numbers to the launch's collectives and messages. The numbers follow the order of
 * launches on all streams, because the kernels of real NCCL also run in this order. */
static void *begin(struct sim_remote *remote)
{
    struct group *group = (struct group *)remote;
    struct sim_nccl_comm *comm = group->comm;
    struct launch *launch = calloc(1, sizeof *launch + (size_t)group->count * sizeof *launch->task);

    if (!launch) {
        abort(); /* memory is exhausted, so the test fails in any case */
    }
    launch->group = group;
    sim_nccl_hold(comm);
    for (int i = 0; i < group->count; i++) {
        const struct sim_nccl_task *task = &group->task[i];

        launch->task[i].number = task->verb == NCCL_SEND      ? ++comm->sent[task->peer]
                                 : task->verb == NCCL_RECEIVE ? ++comm->received[task->peer]
                                                              : ++comm->collectives;
    }
    return launch;
}

static bool poll(void *state, uint64_t start_ns, uint64_t *end_ns)
{
    struct launch *launch = state;
    struct group *group = launch->group;
    struct sim_nccl_comm *comm = group->comm;
    bool aborted = atomic_load(&comm->aborted), finished = true;

    for (int i = 0; i < group->count && !aborted; i++) {
        const struct sim_nccl_task *task = &group->task[i];
        enum step step = launch->task[i].step;
        uint64_t end = 0, number = launch->task[i].number;

        if (step == FINISHED) {
            continue;
        }
        step = task->verb == NCCL_SEND      ? send(comm, task, number, step, start_ns, &end)
               : task->verb == NCCL_RECEIVE ? receive(comm, task, number, step, start_ns, &end)
                                            : go_on(comm, task, number, step, start_ns, &end);
        launch->task[i].step = step;
        launch->end_ns = end > launch->end_ns ? end : launch->end_ns;
        finished = finished && step == FINISHED;
    }
    if (!aborted && !finished) {
        return false;
    }
    *end_ns = aborted ? sim_now_ns() : launch->end_ns;
    sim_nccl_release(comm);
    if (!group->remote.kept) {
        free(group);
    }
    free(launch);
    return true;
}

static void name_kernel(const struct sim_nccl_task *task, char *out, size_t size)
{
    static const char *const verbs[] = {[NCCL_ALL_REDUCE] = "AllReduce",
                                        [NCCL_BROADCAST] = "Broadcast",
                                        [NCCL_REDUCE] = "Reduce",
                                        [NCCL_ALL_GATHER] = "AllGather",
                                        [NCCL_REDUCE_SCATTER] = "ReduceScatter",
                                        [NCCL_ALL_TO_ALL] = "SendRecv",
                                        [NCCL_SEND] = "SendRecv",
                                        [NCCL_RECEIVE] = "SendRecv",
                                        [NCCL_GATHER] = "SendRecv",
                                        [NCCL_SCATTER] = "SendRecv"};
    static const char *const ops[] = {"Sum", "Prod", "MinMax", "MinMax", "PreMulSum", "PreMulSum"};
    bool reduces = task->verb == NCCL_ALL_REDUCE || task->verb == NCCL_REDUCE ||
                   task->verb == NCCL_REDUCE_SCATTER;
    char plain[96];

    if (reduces) {
        snprintf(plain, sizeof plain, "ncclDevKernel_%s_%s_%s_RING_LL", verbs[task->verb],
                 ops[task->op < NCCL_OPERATORS ? task->op : NCCL_OPERATORS],
                 sim_nccl_type_name(task->type));
    } else {
        snprintf(plain, sizeof plain, "ncclDevKernel_%s%s", verbs[task->verb],
                 strcmp(verbs[task->verb], "SendRecv") == 0 ? "" : "_RING_LL");
    }
    snprintf(out, size, "_Z%zu%s24ncclDevKernelArgsStorageILm4096EE", strlen(plain), plain);
}

static bool fits(const struct sim_nccl_comm *comm, const struct sim_nccl_task *task)
{
    return task->type < NCCL_TYPES && task->peer >= 0 && task->peer < comm->ranks &&
           input_bytes(comm, task) <= sim_nccl_room(is_message(task));
}

/* Launches on the communicator's device. The device must be set, because the thread may have
 * changed devices before its group ended, and because a NULL stream means the default stream of the
 * communicator's device. */
static int launch_there(const struct sim_nccl_comm *comm, void *stream,
                        const struct sim_library_kernel *kernel)
{
    struct sim_thread *self = sim_thread_self();
    struct sim_context *context;
    int before = self->device;

    if (self->depth && before == comm->device) {
        return sim_library_launch(stream, kernel);
    }
    int error = sim_context_primary((uint32_t)comm->device, &context);

    error = error ? error : sim_context_push(context);
    if (!error) {
        error = sim_library_launch(stream, kernel);
        sim_context_pop(&context);
    }
    self->device = before;
    return error;
}

void sim_nccl_truth(const struct sim_nccl_comm *comm, const struct sim_nccl_task *tasks, int count,
                    uint64_t before, uint64_t after)
{
    sim_truth_line("{\"t\":\"nccl\",\"before\":%llu,\"after\":%llu,\"tasks\":%d,\"verb\":%d,"
                   "\"count\":%zu,\"type\":%d,\"size\":%zu,\"op\":%d,\"peer\":%d,\"number\":%llu,"
                   "\"hash\":%llu,\"ranks\":%d,\"rank\":%d}",
                   (unsigned long long)before, (unsigned long long)after, count, (int)tasks[0].verb,
                   tasks[0].count, (int)tasks[0].type, sim_nccl_size(tasks[0].type), tasks[0].op,
                   tasks[0].peer, (unsigned long long)tasks[0].number,
                   (unsigned long long)comm->hash, comm->ranks, comm->rank);
}

int sim_nccl_launch(struct sim_nccl_comm *comm, void *stream, const struct sim_nccl_task *tasks,
                    int count)
{
    size_t bytes = 0;
    char name[160];
    struct group *group = calloc(1, sizeof *group + (size_t)count * sizeof *tasks);

    if (!group) {
        return NCCL_SYSTEM_ERROR;
    }
    group->remote = (struct sim_remote){.begin = begin, .poll = poll};
    group->comm = comm;
    group->count = count;
    memcpy(group->task, tasks, (size_t)count * sizeof *tasks);
    for (int i = 0; i < count; i++) {
        if (!fits(comm, &tasks[i])) {
            free(group);
            return NCCL_INVALID_ARGUMENT;
        }
        bytes += input_bytes(comm, &tasks[i]);
    }
    uint32_t channels = (uint32_t)(bytes / CHANNEL_BYTES) + 1;

    name_kernel(&tasks[0], name, sizeof name);
    const struct sim_library_kernel kernel = {
        .name = name,
        .grid = {channels > MAX_CHANNELS ? MAX_CHANNELS : channels, 1, 1},
        .block = {bytes > CHANNEL_BYTES ? 544 : 288, 1, 1},
        .shared = 80 * 1024,
        .cost_ns = FIXED_NS,
        .driver = true,
        .remote = &group->remote,
    };

    uint64_t before = sim_correlation_now();
    void *launch = sim_nccl_tell_launch(comm, tasks, count, stream);
    int error = launch_there(comm, stream, &kernel);
    uint64_t after = sim_correlation_now();

    sim_nccl_tell_launched(comm, launch, stream, tasks, count, kernel.grid[0]);
    if (error) {
        free(group);
        return NCCL_CUDA_ERROR;
    }
    sim_nccl_truth(comm, tasks, count, before, after);
    return NCCL_SUCCESS;
}
