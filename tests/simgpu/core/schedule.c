/*
 * schedule.c - when operations run. The schedule is analytic: an operation starts at the latest of
 * (its enqueue plus the launch latency) and the ends of what it comes behind, and ends after its
 * modelled duration. So its times are known at enqueue, unless something before it hangs on a host
 * callback: then they are settled once that has run.
 *
 * Application threads enqueue and wait; one service thread runs host callbacks (and work that had
 * to stay behind one), notices ends, and flushes the truth. Everything here is under sim_lock();
 * probes, callbacks and the moving of data are not.
 */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

#include "core/sim.h"

enum {
    LAUNCH_LATENCY_NS = 5000, /* real traces: 5-10 us on an idle stream */
    WAKE_NS = 4000,           /* a call returns 4-8 us after what it waited for */
    POLL_NS = 1000000,
    FLUSH_NS = 100000000,
    BATCH = 64
};

struct waiter {
    struct op *op;
    struct waiter *next;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t service_wake = PTHREAD_COND_INITIALIZER;
static pthread_cond_t settled = PTHREAD_COND_INITIALIZER;
static struct sim_stream *active; /* streams with a queue */
static struct op *jobs;           /* to be run by the service thread, by start */
static uint64_t last_id;
static bool started, stopping, service_idle;
static pthread_t service;
static uint32_t queue_depth;
static uint64_t latency_ns, wake_ns;

void sim_lock(void)
{
    pthread_mutex_lock(&lock);
}

void sim_unlock(void)
{
    pthread_mutex_unlock(&lock);
}

/* ---- settling times ---- */

static void add_job(struct op *op)
{
    struct op **at = &jobs;

    while (*at && (*at)->pub.start_ns <= op->pub.start_ns) {
        at = &(*at)->job_next;
    }
    op->job_next = *at;
    *at = op;
    pthread_cond_signal(&service_wake);
}

/* Its start is known; its end too, unless the service thread has to do it. */
static void start_op(struct op *op)
{
    uint64_t earliest = op->pub.queued_ns + latency_ns;

    op->pub.start_ns = op->ready_ns > earliest ? op->ready_ns : earliest;
    if (op->work) {
        add_job(op);
        return;
    }
    op->pub.end_ns = op->pub.start_ns + op->duration_ns;
    op->timed = true;
}

/* Tells everything behind `op` its end; a chain of any length without recursion. */
static void settle(struct op *op)
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
    pthread_cond_broadcast(&settled);
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
        stream->active_next = active;
        stream->active_prev = &active;
        if (active) {
            active->active_prev = &stream->active_next;
        }
        active = stream;
    }
    if (service_idle) {
        service_idle = false;
        pthread_cond_signal(&service_wake);
    }
}

/* Takes `behind` over. Work that the service thread has to do gets a copy of its own. */
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
    op->pub.submitted_ns = now + latency_ns / 2;
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
    if (later || (op->blockers && work->kind != SIM_WORK_KERNEL)) {
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
    /* Release pairs with the acquire in reap(): nobody hears of the end before the beginning. */
    atomic_store_explicit(&op->announced, true, memory_order_release);
}

/* ---- ends ---- */

static void leave_active(struct sim_stream *stream)
{
    *stream->active_prev = stream->active_next;
    if (stream->active_next) {
        stream->active_next->active_prev = stream->active_prev;
    }
    stream->active_prev = NULL;
    stream->active_next = NULL;
}

/* Takes what has ended off the queues, at most BATCH. */
static int reap(struct op **batch)
{
    uint64_t now = sim_now_ns();
    struct sim_stream *next;
    int n = 0;

    for (struct sim_stream *stream = active; stream && n < BATCH; stream = next) {
        struct op *op;

        next = stream->active_next;
        while (n < BATCH && (op = stream->head) && op->timed && op->pub.end_ns <= now &&
               atomic_load_explicit(&op->announced, memory_order_acquire)) {
            stream->head = op->next;
            stream->queued--;
            if (op->error && !op->context->sticky) {
                op->context->sticky = op->error;
            }
            /* Release pairs with CUPTI's acquire: the times are written. */
            atomic_store_explicit(&op->pub.done, 1, memory_order_release);
            batch[n++] = op;
        }
        if (!stream->head) {
            stream->last = &stream->head;
            leave_active(stream);
            sim_stream_drained(stream);
        }
    }
    return n;
}

static void tell(struct op **batch, int n)
{
    const struct sim_probe *probe = sim_probe_get();

    for (int i = 0; i < n; i++) {
        if (sim_truth_on) {
            sim_truth_op(batch[i], true);
        }
        if (probe && probe->op_done && batch[i]->pub.kind != SIM_OP_MARKER) {
            probe->op_done(&batch[i]->pub);
        }
        sim_op_unref(&batch[i]->pub);
    }
}

void sim_progress(void)
{
    struct op *batch[BATCH];
    int n;

    do {
        sim_lock();
        n = reap(batch);
        sim_unlock();
        tell(batch, n);
    } while (n == BATCH);
}

/* ---- the service thread ---- */

static void do_work(const struct sim_work *work, struct sim_stream *stream, int status)
{
    struct sim_thread *self = sim_thread_self();

    if (work->kind != SIM_WORK_HOST) {
        sim_work_move(work);
        return;
    }
    self->in_callback = true;
    if (work->host.call_stream) {
        work->host.call_stream(stream, status, work->host.data);
    } else {
        work->host.call(work->host.data);
    }
    self->in_callback = false;
}

static void run_job(struct op *op)
{
    int status = op->context->sticky;
    struct sim_work *work = op->work;

    sim_unlock();
    if (work->kind == SIM_WORK_HOST) {
        op->pub.start_ns = sim_now_ns();
    }
    do_work(work, op->lane, status);
    sim_lock();
    op->pub.end_ns =
        work->kind == SIM_WORK_HOST ? sim_now_ns() : op->pub.start_ns + op->duration_ns;
    op->work = NULL;
    op->timed = true;
    free(work);
    settle(op);
}

static void *serve(void *unused)
{
    struct op *batch[BATCH];
    uint64_t flush_ns = 0;

    (void)unused;
    sim_lock();
    while (!stopping) {
        uint64_t now = sim_now_ns(), until = now + (active ? POLL_NS : FLUSH_NS);

        if (jobs && jobs->pub.start_ns <= now) {
            struct op *op = jobs;

            jobs = op->job_next;
            run_job(op);
            continue;
        }
        int n = reap(batch);

        if (n || now > flush_ns) {
            sim_unlock();
            tell(batch, n);
            if (now > flush_ns) {
                sim_truth_flush();
                flush_ns = now + FLUSH_NS;
            }
            sim_lock();
            continue;
        }
        if (jobs && jobs->pub.start_ns < until) {
            until = jobs->pub.start_ns;
        }
        struct timespec ts = {(time_t)(until / 1000000000u), (long)(until % 1000000000u)};

        service_idle = !active;
        pthread_cond_timedwait(&service_wake, &lock, &ts);
        service_idle = false;
    }
    sim_unlock();
    return NULL;
}

void sim_schedule_start(void)
{
    sim_lock();
    if (!started && !stopping) {
        queue_depth = (uint32_t)sim_option_u64("QUEUE_DEPTH", 1024);
        latency_ns = sim_clock_scaled(LAUNCH_LATENCY_NS);
        wake_ns = sim_clock_scaled(WAKE_NS);
        started = pthread_create(&service, NULL, serve, NULL) == 0;
    }
    sim_unlock();
}

/* The process ends: a callback that hangs must not keep it. */
void sim_schedule_stop(void)
{
    sim_lock();
    bool running = started && !stopping;

    stopping = true;
    pthread_cond_signal(&service_wake);
    sim_unlock();
    if (running && !pthread_equal(service, pthread_self())) {
        uint64_t until = sim_now_ns() + 1000000000u;
        struct timespec ts = {(time_t)(until / 1000000000u), (long)(until % 1000000000u)};

        pthread_timedjoin_np(service, NULL, &ts);
    }
}

void sim_schedule_report_unfinished(void)
{
    sim_progress();
    sim_lock();
    for (struct sim_stream *stream = active; stream; stream = stream->active_next) {
        for (struct op *op = stream->head; op; op = op->next) {
            sim_truth_op(op, false);
        }
    }
    sim_unlock();
}

/* ---- what the rest calls ---- */

/* A full queue blocks the launching call, as the hardware's does. Lock held, dropped meanwhile. */
static void wait_for_room(struct sim_stream *stream)
{
    struct op *head = stream->head;
    uint64_t end = head->timed ? head->pub.end_ns : 0, now = sim_now_ns();

    sim_unlock();
    sim_clock_sleep_until(end > now ? end : now + wake_ns);
    sim_progress();
    sim_lock();
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

/* Data moves when the times are known: at once, on this thread and outside the lock, since all
 * that comes before has moved its data at its own enqueue. Behind a host callback it stays with
 * the op, and the service thread moves it. */
int sim_submit(struct sim_stream *stream, const struct sim_work *work, struct op **out)
{
    bool moves = work->kind == SIM_WORK_COPY || work->kind == SIM_WORK_SET;
    bool later = work->kind == SIM_WORK_HOST || work->kind == SIM_WORK_FREE;
    struct sim_set behind = {0};

    sim_lock();
    while (stream->queued >= queue_depth && !sim_thread_self()->in_callback) {
        wait_for_room(stream);
    }
    int error = stream->capture ? sim_capture_add(stream, work) : sim_capture_implicit(stream);

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

/* cudaStreamAddCallback's form is not for graphs. */
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
    /* Its data moves on the service thread: a launch must not move it under the lock. */
    struct op *op = enqueue(lane, work, &set, sim_now_ns(), work->kind != SIM_WORK_KERNEL);

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
        pthread_cond_wait(&settled, &lock);
    }
    for (int i = 0; i < set->n; i++) {
        end = set->link[i].op->pub.end_ns > end ? set->link[i].op->pub.end_ns : end;
    }
    sim_unlock();
    now = sim_now_ns();
    if (end > now) {
        double extra = sim_random("wake", sim_call_correlation());

        sim_clock_sleep_until(end + wake_ns + (uint64_t)(extra * (double)wake_ns));
    }
    sim_progress();
}
