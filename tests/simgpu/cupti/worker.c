/*
 * worker.c - the CUPTI thread: only this thread completes buffers, late and in any order.
 *
 * Buffers come from full or flushed lanes. A buffer waits here until its records are complete (or
 * the flush was forced), and for the delays of the options cupti-late and cupti-hold. The thread
 * starts when callbacks are first registered; it does not survive a fork.
 */
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "core/fork.h"
#include "cupti/simcupti.h"
#include "cupti/v2.h"

#define POLL_NS 2000000u /* interval for checking pending operations in buffers */

SIM_MUTEX(lock);
static pthread_cond_t work = PTHREAD_COND_INITIALIZER, done = PTHREAD_COND_INITIALIZER;
static struct sim_buffer *queue, **queue_end = &queue; /* in order of arrival */
static uint64_t asked, answered; /* numbers of flushes requested and completed */
static atomic_bool running, ended;
static uint64_t hold_until_ns;
static __thread bool on_worker;

_Atomic uint32_t sim_process_id;

SIM_MUTEX(callbacks_lock);
SIM_MUTEX(starting);
static struct sim_callbacks callbacks_now[SIM_CLIENTS];

void sim_callbacks_set(const struct sim_callbacks *callbacks)
{
    pthread_mutex_lock(&callbacks_lock);
    callbacks_now[sim_client] = *callbacks;
    pthread_mutex_unlock(&callbacks_lock);
}

struct sim_callbacks sim_callbacks_get(void)
{
    pthread_mutex_lock(&callbacks_lock);
    struct sim_callbacks callbacks = callbacks_now[sim_client];
    pthread_mutex_unlock(&callbacks_lock);
    return callbacks;
}

bool sim_worker_alive(void)
{
    return atomic_load_explicit(&running, memory_order_acquire) &&
           !atomic_load_explicit(&ended, memory_order_acquire);
}

void sim_worker_push(struct sim_buffer *b)
{
    pthread_mutex_lock(&lock);
    b->next = NULL;
    *queue_end = b;
    queue_end = &b->next;
    pthread_cond_signal(&work);
    pthread_mutex_unlock(&lock);
}

/* Delivers a buffer to the callbacks that are registered now, even if another client gave the
 * buffer. */
static void deliver(struct sim_buffer *b)
{
    struct sim_callbacks callbacks = sim_callbacks_get();
    uint64_t start = sim_now_ns();
    bool overhead_only = true;

    sim_buffer_give_up(b);
    for (size_t i = 0; i < b->slots; i++) {
        overhead_only = overhead_only && b->slot[i].record == R_OVERHEAD;
    }
    if (sim_trouble.shuffle) {
        sim_trouble_shuffle(b);
    }
    if (sim_trouble.twice > 0) {
        sim_trouble_twice(b);
    }
    if (callbacks.owner == SIM_THIEF || b->owner == SIM_THIEF) {
        sim_log_buffer("given", b); /* lost: the callback or the buffer is the other client's */
    } else if (b->for_show) {
        sim_log_buffer("starved", b);
    }
    uint64_t began = sim_account_begin();

    if (callbacks.complete_v2) {
        struct sim_complete_info info = {.structSize = sizeof info};

        sim_fields_tell(&info, b->places);
        callbacks.complete_v2(b->memory, b->size, b->used, &info);
    } else if (callbacks.complete) {
        callbacks.complete(NULL, 0, b->memory, b->size, b->used);
    } else {
        sim_log_buffer("undelivered", b); /* its client has unsubscribed */
    }
    sim_account_end(SIM_CALLBACK_COMPLETE, began, b->slots, b->used);
    sim_name_retire(&b->names, b->memory);
    sim_buffer_free(b);
    if (!overhead_only) { /* else each flush would make a record that needs a flush */
        sim_overhead(CUPTI_ACTIVITY_OVERHEAD_CUPTI_BUFFER_FLUSH, start, sim_now_ns());
    }
}

static bool deliverable(struct sim_buffer *b, uint64_t now)
{
    if (!b->ready_ns && (sim_buffer_finish(b) || b->forced)) {
        b->ready_ns = now;
        if (sim_trouble.late_ns) {
            double part = 0.5 + 0.5 * sim_random("cupti-late", b->slots ? b->slot->key : 0);

            b->ready_ns += (uint64_t)(part * (double)sim_trouble.late_ns);
        }
    }
    return b->ready_ns && b->ready_ns <= now && (b->forced || hold_until_ns <= now);
}

/* Removes the buffers that can be delivered from the queue and returns them; with cupti-shuffle in
 * another order. The caller holds the lock. */
static struct sim_buffer *take(void)
{
    struct sim_buffer *out = NULL, **out_end = &out;
    uint64_t now = sim_monotonic_ns();

    for (struct sim_buffer **at = &queue; *at;) {
        struct sim_buffer *b = *at;

        if (!deliverable(b, now)) {
            at = &b->next;
            continue;
        }
        *at = b->next;
        if (sim_trouble.shuffle && b->slots &&
            sim_random("cupti-shuffle-buffers", b->slot->key) < 0.5) {
            b->next = out;
            out_end = out ? out_end : &b->next;
            out = b;
        } else {
            b->next = NULL;
            *out_end = b;
            out_end = &b->next;
        }
    }
    queue_end = &queue;
    while (*queue_end) {
        queue_end = &(*queue_end)->next;
    }
    return out;
}

static void wait_for_work(void)
{
    struct timespec until;

    if (!queue && !sim_name_waiting()) {
        pthread_cond_wait(&work, &lock);
        return;
    }
    clock_gettime(CLOCK_MONOTONIC, &until); /* not the wall clock, which may be changed */
    until.tv_nsec += POLL_NS;
    if (until.tv_nsec >= 1000000000) {
        until.tv_nsec -= 1000000000;
        until.tv_sec++;
    }
    pthread_cond_clockwait(&work, &lock, CLOCK_MONOTONIC, &until);
}

static void *worker(void *unused)
{
    on_worker = true;
    pthread_setname_np(pthread_self(), "cupti-worker");
    pthread_mutex_lock(&lock);
    while (!ended) {
        uint64_t seen = asked;
        struct sim_buffer *out = take();

        pthread_mutex_unlock(&lock);
        while (out) {
            struct sim_buffer *next = out->next;

            sim_client = out->client;
            deliver(out);
            sim_client = 0;
            out = next;
        }
        sim_name_spoil(NULL);
        pthread_mutex_lock(&lock);
        answered = seen;
        pthread_cond_broadcast(&done);
        if (asked == seen && !ended) {
            wait_for_work();
        }
    }
    pthread_mutex_unlock(&lock);
    return NULL;
}

static void forked(void)
{
    atomic_store(&ended, true);
}

void sim_worker_start(void)
{
    sigset_t all, before;
    pthread_t thread;

    pthread_mutex_lock(&starting);
    if (!running) {
        sim_process_id = (uint32_t)getpid();
        pthread_atfork(NULL, NULL, forked);
        hold_until_ns = sim_trouble.hold_ns ? sim_monotonic_ns() + sim_trouble.hold_ns : 0;
        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, &before);
        if (pthread_create(&thread, NULL, worker, NULL) == 0) {
            pthread_detach(thread);
            atomic_store_explicit(&running, true, memory_order_release);
        }
        pthread_sigmask(SIG_SETMASK, &before, NULL);
    }
    pthread_mutex_unlock(&starting);
}

void sim_worker_flush(bool forced)
{
    if (!sim_worker_alive()) {
        return;
    }
    pthread_mutex_lock(&lock);
    for (struct sim_buffer *b = queue; forced && b; b = b->next) {
        b->forced = true;
    }
    uint64_t mine = ++asked;

    pthread_cond_signal(&work);
    while (!on_worker && answered < mine && !ended) {
        pthread_cond_wait(&done, &lock);
    }
    pthread_mutex_unlock(&lock);
}

void sim_worker_end(void)
{
    if (!sim_worker_alive()) {
        return;
    }
    pthread_mutex_lock(&lock);
    atomic_store(&ended, true);
    for (struct sim_buffer *b = queue; b; b = b->next) {
        sim_log_buffer("undelivered", b);
    }
    pthread_cond_broadcast(&work);
    pthread_cond_broadcast(&done);
    pthread_mutex_unlock(&lock);
    sim_lane_log_rest();
    sim_account_log();
}
