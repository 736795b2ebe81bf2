/*
 * schedule.c - computes when operations run. An operation starts at its enqueue plus the launch
 * latency, or at the end of its last predecessor, whichever is later. It ends after its modelled
 * duration. So the times of an operation are known at enqueue, with one exception: if a predecessor
 * depends on a host callback, the times are computed after the callback has run.
 *
 * Application threads enqueue operations and wait for them. The service thread (service.c) runs
 * host callbacks, and the work that has to wait for host callbacks. sim_lock() guards everything
 * here, but is not held during probes, callbacks and data copies.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "core/fork.h"
#include "core/memory.h"
#include "core/schedule.h"

enum {
    ROOM_NS = 2600 /* measured on a real GPU */
};

struct waiter {
    struct op *op;
    struct waiter *next;
};

struct sim_schedule sim_schedule = {.lock = PTHREAD_MUTEX_INITIALIZER,
                                    .service_wake = PTHREAD_COND_INITIALIZER,
                                    .settled = PTHREAD_COND_INITIALIZER};
static uint64_t last_id;

__attribute__((constructor)) static void hold_lock(void)
{
    sim_fork_hold(&sim_schedule.lock);
}

void sim_lock(void)
{
    pthread_mutex_lock(&sim_schedule.lock);
}

void sim_unlock(void)
{
    pthread_mutex_unlock(&sim_schedule.lock);
}

/* ---- computation of start and end times ---- */

static void add_job(struct op *op)
{
    struct op **at = &sim_schedule.jobs;

    while (*at && (*at)->pub.start_ns <= op->pub.start_ns) {
        at = &(*at)->job_next;
    }
    op->job_next = *at;
    *at = op;
    pthread_cond_signal(&sim_schedule.service_wake);
}

/* Called when the operation's start is known. The operation's end is known too, unless the service
 * thread has to run the operation. */
static void start_op(struct op *op)
{
    uint64_t earliest = op->pub.queued_ns + sim_schedule.latency_ns;

    op->pub.start_ns = op->ready_ns > earliest ? op->ready_ns : earliest;
    if (op->work) {
        add_job(op);
        return;
    }
    op->pub.end_ns = op->pub.start_ns + op->duration_ns;
    op->timed = true;
}

/* Passes the end time of `op` to all operations that follow `op`, then to the followers of these
 * operations, and so on. Uses a list instead of recursion, because chains can have any length. */
void sim_schedule_settle(struct op *op)
{
    struct op *list = op;

    op->settle_next = NULL;
    while (list) {
        struct op *done = list;

        list = done->settle_next;
        while (done->waiters) {
            struct waiter *w = done->waiters;
            struct op *next = w->op;

            done->waiters = w->next;
            free(w);
            if (next->ready_ns < done->pub.end_ns) {
                next->ready_ns = done->pub.end_ns;
            }
            if (--next->blockers == 0) {
                start_op(next);
                if (next->timed) {
                    next->settle_next = list;
                    list = next;
                }
            }
        }
    }
    pthread_cond_broadcast(&sim_schedule.settled);
}

static void come_behind(struct op *op, const struct sim_set *set)
{
    for (int i = 0; i < set->n; i++) {
        struct op *before = set->link[i].op;
        struct waiter *w;

        if (before->timed) {
            op->ready_ns = before->pub.end_ns > op->ready_ns ? before->pub.end_ns : op->ready_ns;
        } else if ((w = malloc(sizeof *w))) {
            *w = (struct waiter){op, before->waiters};
            before->waiters = w;
            op->blockers++;
        }
    }
}

/* ---- enqueue ---- */

static void fill_facts(struct op *op, const struct sim_work *work)
{
    struct sim_op *pub = &op->pub;

    switch (work->kind) {
    case SIM_WORK_KERNEL: {
        const struct sim_kernel *kernel = work->launch.kernel;

        pub->kind = SIM_OP_KERNEL;
        pub->name = kernel->name;
        for (int i = 0; i < 3; i++) {
            pub->grid[i] = work->launch.grid[i];
            pub->block[i] = work->launch.block[i];
            pub->cluster[i] = work->launch.cluster[i];
        }
        pub->registers = kernel->registers;
        pub->static_shared = kernel->static_shared;
        pub->dynamic_shared = work->launch.dynamic_shared;
        pub->local_per_thread = kernel->local;
        op->error = sim_kernel_fault(kernel);
        break;
    }
    case SIM_WORK_COPY:
        pub->kind = SIM_OP_MEMCPY;
        pub->copy_kind = work->copy.copy_kind;
        pub->src_memory = work->copy.src_memory;
        pub->dst_memory = work->copy.dst_memory;
        pub->flags = work->copy.async;
        pub->bytes = work->copy.width * work->copy.height;
        pub->is_peer = work->copy.peer;
        pub->src_device = work->copy.src_device;
        pub->dst_device = work->copy.dst_device;
        pub->src_context = pub->dst_context = op->context->id;
        break;
    case SIM_WORK_SET:
        pub->kind = SIM_OP_MEMSET;
        pub->dst_memory = work->set.memory;
        pub->flags = work->set.async;
        pub->bytes = work->set.width * work->set.height * work->set.size;
        pub->value = work->set.value;
        break;
    case SIM_WORK_HOST:
        pub->kind = SIM_OP_HOST;
        break;
    default:
        pub->kind = SIM_OP_MARKER;
        break;
    }
}

static void push(struct sim_stream *stream, struct op *op)
{
    op->next = NULL;
    *stream->last = op;
    stream->last = &op->next;
    stream->queued++;
    if (!stream->active_prev) {
        stream->active_next = sim_schedule.active;
        stream->active_prev = &sim_schedule.active;
        if (sim_schedule.active) {
            sim_schedule.active->active_prev = &stream->active_next;
        }
        sim_schedule.active = stream;
    }
    if (sim_schedule.service_idle) {
        sim_schedule.service_idle = false;
        pthread_cond_signal(&sim_schedule.service_wake);
    }
}

/* Takes ownership of `behind`, the set of predecessors. If the service thread has to do the work,
 * the work is copied into the operation. */
static struct op *enqueue(struct sim_stream *stream, const struct sim_work *work,
                          struct sim_set *behind, uint64_t now, bool later)
{
    struct op *op = sim_op_new();

    if (!op) {
        return NULL;
    }
    op->lane = stream;
    op->context = stream->context;
    op->pub.id = ++last_id;
    op->pub.correlation_wide = sim_call_correlation();
    op->pub.correlation = (uint32_t)op->pub.correlation_wide;
    op->pub.device = stream->context->device;
    op->pub.context = stream->context->id;
    op->pub.stream = stream->id;
    op->pub.thread = sim_thread_self()->tid;
    op->pub.priority = stream->priority;
    op->pub.queued_ns = now;
    op->pub.submitted_ns = now + sim_schedule.latency_ns / 2;
    op->pub.channel = stream->id;
    op->pub.channel_type = work->kind == SIM_WORK_COPY ? 2 : 1;
    op->duration_ns = sim_clock_scaled(work->duration_ns);
    fill_facts(op, work);
    come_behind(op, behind);
    op->free_ns = now;
    for (int i = 0; i < behind->n; i++) {
        const struct op *before = behind->link[i].op;

        if (behind->link[i].via == SIM_VIA_STREAM && before->timed &&
            before->pub.end_ns > op->free_ns) {
            op->free_ns = before->pub.end_ns;
        }
    }
    if (work->kind == SIM_WORK_KERNEL && work->launch.remote) {
        op->remote_state = work->launch.remote->begin(work->launch.remote);
        later = true;
    }
    if (later || (op->blockers && (work->kind != SIM_WORK_KERNEL || sim_work_moves(work)))) {
        op->work = malloc(sizeof *op->work);
        if (op->work) {
            *op->work = *work;
        }
    }
    if (!op->blockers) {
        start_op(op);
    }
    if (sim_truth_on) {
        op->behind = *behind;
        if (behind->link == behind->few) {
            op->behind.link = op->behind.few;
        }
        *behind = (struct sim_set){0};
    } else {
        sim_set_clear(behind);
    }
    push(stream, op);
    return op;
}

static void announce(struct op *op)
{
    const struct sim_probe *probe = sim_probe_get();

    if (probe && probe->op_enqueued && op->pub.kind != SIM_OP_MARKER) {
        probe->op_enqueued(&op->pub);
    }
    /* The release pairs with the acquire in reap(), so that no thread reports the end before the
     * beginning. */
    atomic_store_explicit(&op->announced, true, memory_order_release);
}

/* ---- functions that other files call ---- */

void sim_tell_overhead(enum sim_overhead_kind kind, uint64_t start_ns)
{
    const struct sim_probe *probe = sim_probe_get();

    if (probe && probe->overhead) {
        probe->overhead(kind, start_ns, sim_now_ns());
    }
}

/* A full queue blocks the call that enqueues, until the oldest operation has ended. On hardware
 * too, where the call returns about 2.6 us later. */
static void wait_for_room(struct sim_stream *stream)
{
    struct sim_truth_wait wait = {
        .kind = "queue_full", .context = stream->context->id, .event = SIM_NONE};
    struct sim_set set = {0};

    sim_lock();
    while (stream->queued >= sim_schedule.queue_depth && !sim_thread_self()->in_callback) {
        struct op *head = stream->head;
        uint64_t now = sim_now_ns(), until = now + sim_schedule.wake_ns;

        if (!head->timed || head->pub.end_ns > now) {
            wait.start_ns = wait.start_ns ? wait.start_ns : now;
            until = head->timed ? head->pub.end_ns + sim_clock_scaled(ROOM_NS) : until;
            sim_set_clear(&set);
            sim_set_add(&set, head, SIM_VIA_STREAM, 0);
        }
        sim_unlock();
        sim_clock_sleep_until(until);
        sim_progress();
        sim_lock();
    }
    sim_unlock();
    if (!set.n) {
        return;
    }
    wait.stream = stream->id;
    wait.set = &set;
    wait.end_ns = sim_now_ns();
    if (sim_truth_on) {
        sim_truth_wait(&wait);
    }
    sim_set_clear(&set);
    sim_tell_overhead(SIM_OVERHEAD_QUEUE_FULL, wait.start_ns);
}

bool sim_schedule_ended(const struct sim_set *set, uint64_t now_ns)
{
    for (int i = 0; i < set->n; i++) {
        if (!set->link[i].op->timed || set->link[i].op->pub.end_ns > now_ns) {
            return false;
        }
    }
    return true;
}

static bool all_timed(const struct sim_set *set)
{
    return sim_schedule_ended(set, UINT64_MAX);
}

/* Enqueues work and moves its data. Usually this thread moves the data immediately, without the
 * lock, because all earlier operations moved their data at enqueue. If an earlier operation depends
 * on a host callback, the service thread moves the data later. */
int sim_submit(struct sim_stream *stream, const struct sim_work *work, struct op **out)
{
    bool moves = sim_work_moves(work);
    bool later = work->kind == SIM_WORK_HOST || work->kind == SIM_WORK_FREE;
    struct sim_set behind = {0};

    if (work->kind == SIM_WORK_KERNEL) {
        sim_module_use(stream, work->launch.kernel);
    }
    wait_for_room(stream);
    sim_lock();
    int error = stream->capture ? sim_capture_add(stream, work) : sim_capture_implicit(stream);

    if (stream->capture && work->kind == SIM_WORK_KERNEL && work->launch.remote) {
        work->launch.remote->kept = true;
    }
    if (error || stream->capture) {
        sim_unlock();
        return error;
    }
    if (moves) {
        sim_stream_collect(stream, &behind);
        if (all_timed(&behind)) {
            sim_unlock();
            sim_work_move(work);
            sim_lock();
        }
        sim_set_clear(&behind);
    }
    sim_stream_collect(stream, &behind);
    struct op *op = enqueue(stream, work, &behind, sim_now_ns(), later);

    if (!op) {
        sim_set_clear(&behind);
        sim_unlock();
        return SIM_E_MEMORY;
    }
    sim_stream_replace_tail(stream, op);
    sim_op_ref(&op->pub);
    sim_unlock();
    announce(op);
    if (out) {
        *out = op;
    } else {
        sim_op_unref(&op->pub);
    }
    return SIM_OK;
}

/* A callback of cudaStreamAddCallback cannot be captured into a graph; a callback of
 * cudaLaunchHostFunc can. */
int sim_host_callback(struct sim_stream *stream, const struct sim_work *work)
{
    if (work->host.call_stream && sim_stream_capturing(stream)) {
        return SIM_E_CAPTURE_UNSUPPORTED;
    }
    return sim_submit(stream, work, NULL);
}

struct op *sim_submit_node(struct sim_stream *lane, const struct sim_work *work,
                           const struct sim_set *behind, uint32_t graph, uint64_t node)
{
    struct sim_set set = {0};

    sim_set_merge_as_is(&set, behind);
    /* The service thread moves the node's data, because a graph launch must not move data under the
     * lock. */
    bool later = work->kind != SIM_WORK_KERNEL || sim_work_moves(work);
    struct op *op = enqueue(lane, work, &set, sim_now_ns(), later);

    if (!op) {
        sim_set_clear(&set);
        return NULL;
    }
    op->pub.graph = graph;
    op->pub.graph_node = node;
    sim_op_ref(&op->pub);
    return op;
}

void sim_submit_announce(struct op *op)
{
    announce(op);
    sim_op_unref(&op->pub);
}

void sim_schedule_wait(const struct sim_set *set)
{
    uint64_t end = 0, now;

    sim_lock();
    while (!all_timed(set)) {
        pthread_cond_wait(&sim_schedule.settled, &sim_schedule.lock);
    }
    for (int i = 0; i < set->n; i++) {
        end = set->link[i].op->pub.end_ns > end ? set->link[i].op->pub.end_ns : end;
    }
    sim_unlock();
    now = sim_now_ns();
    if (end > now) {
        double extra = sim_random("wake", sim_call_correlation());

        sim_clock_sleep_until(end + sim_schedule.wake_ns +
                              (uint64_t)(extra * (double)sim_schedule.wake_ns));
    }
    sim_progress();
}
