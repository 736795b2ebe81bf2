/*
 * request.c - what other threads ask of the collector: to start, to open and close windows,
 * to tell how it stands.
 *
 * Any thread; nothing here blocks. Starting makes the thread, once; the rest changes one word and
 * wakes.
 */
#include "session/session.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>

#include "base/futex.h"
#include "collect/cupti/buffer.h"

/* CUPTI runs on this stack, and compiles instrumentation on it at a first enabling. */
#define STACK_BYTES (1024u * 1024u)

static struct sl_collector the_collector;

int sl_collector_init(struct sl_collector **out, const struct sl_collector_options *opt)
{
    struct sl_collector *c = &the_collector;
    struct sl_window window;

    if (c->opt.config)
        return -EALREADY;
    c->opt = *opt;
    sl_window_init(&window, opt->config, (struct sl_window_now){0, 0}, opt->on_since_ns);
    atomic_store_explicit(&c->request, sl_window_pack(&window), memory_order_relaxed);
    *out = c;
    return 0;
}

static int start(struct sl_collector *c, int taken_before_start)
{
    pthread_attr_t attributes;
    sigset_t all, before;
    pthread_t thread;
    int err;

    if (atomic_exchange_explicit(&c->started, 1, memory_order_acq_rel))
        return -EALREADY;
    c->taken_before_start = taken_before_start;
    /* The host's signal handlers must never run here; a thread inherits its maker's mask. */
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    pthread_attr_setstacksize(&attributes, STACK_BYTES);
    err = pthread_create(&thread, &attributes, sl_collector_run, c);
    if (err == EINVAL) {
        /* The host's thread-local data does not fit: the host's own default must. */
        pthread_attr_destroy(&attributes);
        pthread_attr_init(&attributes);
        pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
        err = pthread_create(&thread, &attributes, sl_collector_run, c);
    }
    pthread_attr_destroy(&attributes);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (err)
        sl_collector_end(c);
    return -err;
}

int sl_collector_start(struct sl_collector *c)
{
    return start(c, 0);
}

void sl_collector_tell_unasked(struct sl_collector *c)
{
    /* What has started it before was asked, or has handed CUPTI over. */
    if (!sl_cupti_pool_turn())
        start(c, 1);
}

void sl_collector_wake(struct sl_collector *c)
{
    atomic_fetch_add_explicit(&c->wakes, 1, memory_order_release);
    sl_futex_wake(&c->wakes);
}

static int request(struct sl_collector *c, int (*ask)(struct sl_window *))
{
    uint32_t word = atomic_load_explicit(&c->request, memory_order_acquire);
    struct sl_window w;
    int answer;

    do {
        sl_window_unpack(&w, word);
        answer = ask(&w);
    } while (!atomic_compare_exchange_weak_explicit(&c->request, &word, sl_window_pack(&w),
                                                    memory_order_acq_rel, memory_order_acquire));
    sl_collector_wake(c);
    return answer;
}

int sl_collector_request_start(struct sl_collector *c)
{
    return request(c, sl_window_start);
}

int sl_collector_request_stop(struct sl_collector *c)
{
    return request(c, sl_window_stop);
}

int sl_collector_request_dump(struct sl_collector *c)
{
    return request(c, sl_window_renew);
}

/* The pipeline, for a moment; NULL if there is none yet or no more. Sequentially consistent with
 * close_status(): either it waits for us or we see `closed`. */
static struct sl_pipeline *use_pipeline(struct sl_collector *c)
{
    atomic_fetch_add(&c->status_users, 1);
    if (atomic_load(&c->closed))
        return NULL;
    return atomic_load_explicit(&c->pipeline, memory_order_acquire);
}

static void unuse_pipeline(struct sl_collector *c)
{
    atomic_fetch_sub(&c->status_users, 1);
}

void sl_collector_get_status(struct sl_collector *c, struct sl_collector_status *out,
                             char *last_file, size_t last_file_size)
{
    struct sl_pipeline *pipeline = use_pipeline(c);
    struct sl_window w;

    sl_window_unpack(&w, atomic_load_explicit(&c->request, memory_order_acquire));
    out->state = w.state;
    if (w.state == SL_WIN_RECORDING && !atomic_load_explicit(&c->is_open, memory_order_acquire))
        out->state = SL_WIN_LEAD_IN;
    out->started = atomic_load_explicit(&c->started, memory_order_relaxed) != 0;
    out->window = atomic_load_explicit(&c->window_number, memory_order_relaxed);
    out->windows_completed = 0;
    out->memory_bytes = sl_cupti_pool_mapped_bytes();
    if (pipeline) {
        sl_pipeline_last(pipeline, last_file, last_file_size, &out->windows_completed);
        out->memory_bytes += sl_pipeline_bytes(pipeline);
    }
    unuse_pipeline(c);
}
