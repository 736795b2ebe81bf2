/*
 * service.c - the service thread: runs host callbacks (and the work that waits for them), polls
 * kernels that wait for other processes, completes operations, and flushes the truth.
 *
 * Any thread that waits or queries also completes operations (sim_progress). The lists of
 * operations are in schedule.h, under sim_lock(). Callbacks, probes and data copies run without the
 * lock.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

#include "core/memory.h"
#include "core/schedule.h"

enum {
    LAUNCH_LATENCY_NS = 5000, /* 5-10 us in real traces, on an idle stream */
    WAKE_NS = 4000,           /* a waiting call returns 4-8 us after the awaited operation */
    POLL_NS = 1000000,
    FLUSH_NS = 100000000,
    REMOTE_MIN_NS = 20000, /* shortest interval between two polls of other processes; the interval
                              grows with time */
    REMOTE_MAX_NS = 500000,
    BATCH = 64
};

static bool started, stopping;
static pthread_t service;

static void leave_active(struct sim_stream *stream)
{
    *stream->active_prev = stream->active_next;
    if (stream->active_next) {
        stream->active_next->active_prev = stream->active_prev;
    }
    stream->active_prev = NULL;
    stream->active_next = NULL;
}

/* Removes at most BATCH ended operations from the queues. */
static int reap(struct op **batch)
{
    uint64_t now = sim_now_ns();
    struct sim_stream *next;
    int n = 0;

    for (struct sim_stream *stream = sim_schedule.active; stream && n < BATCH; stream = next) {
        struct op *op;

        next = stream->active_next;
        while (n < BATCH && (op = stream->head) && op->timed && op->pub.end_ns <= now &&
               atomic_load_explicit(&op->announced, memory_order_acquire)) {
            stream->head = op->next;
            stream->queued--;
            if (op->error && !op->context->sticky) {
                op->context->sticky = op->error;
            }
            /* The release pairs with an acquire in the CUPTI stand-in, which then sees the written
             * times. */
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

static void finish_job(struct op *op, uint64_t end_ns)
{
    free(op->work);
    op->work = NULL;
    op->pub.end_ns = end_ns;
    op->timed = true;
    sim_schedule_settle(op);
}

/* Polls all kernels that wait for other processes. Returns when to poll again. The caller holds the
 * lock, which is released meanwhile; only this thread uses the list. */
static uint64_t poll_remote(uint64_t now)
{
    uint64_t again = UINT64_MAX, end;

    for (struct op **at = &sim_schedule.polled, *op; (op = *at);) {
        sim_unlock();
        bool finished = op->work->launch.remote->poll(op->remote_state, op->pub.start_ns, &end);

        sim_lock();
        if (finished) {
            *at = op->job_next;
            finish_job(op, end);
            continue;
        }
        uint64_t pause = (now - op->pub.start_ns) / 8;

        pause = pause < REMOTE_MIN_NS   ? REMOTE_MIN_NS
                : pause > REMOTE_MAX_NS ? REMOTE_MAX_NS
                                        : pause;
        again = now + pause < again ? now + pause : again;
        at = &op->job_next;
    }
    return again;
}

static void run_job(struct op *op)
{
    if (op->work->kind == SIM_WORK_KERNEL && op->work->launch.remote) {
        struct op **last = &sim_schedule.polled;

        while (*last) { /* in order of start */
            last = &(*last)->job_next;
        }
        op->job_next = NULL;
        *last = op;
        return;
    }
    int status = op->context->sticky;
    struct sim_work *work = op->work;

    sim_unlock();
    if (work->kind == SIM_WORK_HOST) {
        op->pub.start_ns = sim_now_ns();
    }
    do_work(work, op->lane, status);
    sim_lock();
    finish_job(op, work->kind == SIM_WORK_HOST ? sim_now_ns() : op->pub.start_ns + op->duration_ns);
}

static void *serve(void *unused)
{
    struct op *batch[BATCH];
    uint64_t flush_ns = 0;

    pthread_setname_np(pthread_self(), "simgpu");
    sim_lock();
    while (!stopping) {
        uint64_t now = sim_now_ns(), until = now + (sim_schedule.active ? POLL_NS : FLUSH_NS);

        if (sim_schedule.jobs && sim_schedule.jobs->pub.start_ns <= now) {
            struct op *op = sim_schedule.jobs;

            sim_schedule.jobs = op->job_next;
            run_job(op);
            continue;
        }
        uint64_t again = poll_remote(now);
        int n = reap(batch);

        if (n || now > flush_ns) {
            sim_unlock();
            tell(batch, n);
            if (now > flush_ns) {
                sim_truth_flush();
                sim_record_flush();
                flush_ns = now + FLUSH_NS;
            }
            sim_lock();
            continue;
        }
        if (sim_schedule.jobs && sim_schedule.jobs->pub.start_ns < until) {
            until = sim_schedule.jobs->pub.start_ns;
        }
        until = again < until ? again : until;
        struct timespec ts; /* CLOCK_MONOTONIC, because the wall clock may be set meanwhile */

        clock_gettime(CLOCK_MONOTONIC, &ts);
        until = until - now + (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
        ts = (struct timespec){(time_t)(until / 1000000000u), (long)(until % 1000000000u)};
        sim_schedule.service_idle = !sim_schedule.active;
        pthread_cond_clockwait(&sim_schedule.service_wake, &sim_schedule.lock, CLOCK_MONOTONIC,
                               &ts);
        sim_schedule.service_idle = false;
    }
    sim_unlock();
    return NULL;
}

void sim_schedule_start(void)
{
    sim_lock();
    if (!started && !stopping) {
        sim_schedule.queue_depth = (uint32_t)sim_option_u64("QUEUE_DEPTH", 1022);
        sim_schedule.latency_ns = sim_clock_scaled(LAUNCH_LATENCY_NS);
        sim_schedule.wake_ns = sim_clock_scaled(WAKE_NS);
        started = pthread_create(&service, NULL, serve, NULL) == 0;
    }
    sim_unlock();
}

/* The process ends. This function does not wait for a host callback that hangs, because the process
 * must end. */
void sim_schedule_stop(void)
{
    sim_lock();
    bool running = started && !stopping;

    stopping = true;
    pthread_cond_signal(&sim_schedule.service_wake);
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
    for (struct sim_stream *stream = sim_schedule.active; stream; stream = stream->active_next) {
        for (struct op *op = stream->head; op; op = op->next) {
            sim_truth_op(op, false);
        }
    }
    sim_unlock();
}
