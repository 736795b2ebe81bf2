/*
 * request.c - passes requests of other threads to the recorder: start the recorder, open or close a
 * window, report the status.
 *
 * Threads: any; nothing here blocks. The first start request creates the recorder thread. Each
 * other request changes one word and wakes the recorder. Memory: see recorder_impl.h.
 */
#include "recorder/recorder_impl.h"

#include <errno.h>
#include <pthread.h>

#include "base/futex.h"
#include "base/thread.h"
#include "collect/cupti/buffer.h"

/* Stack size in bytes. CUPTI uses this stack too, and compiles instrumentation on it when a kind is
 * first turned on. */
#define STACK_BYTES (1024u * 1024u)

static struct sl_recorder the_recorder;

int sl_recorder_init(struct sl_recorder **out, const struct sl_recorder_options *opt)
{
    struct sl_recorder *r = &the_recorder;
    struct sl_window window;

    if (r->opt.config)
        return -EALREADY;
    r->opt = *opt;
    sl_recorder_prepare_session(r);
    sl_window_init(&window, opt->config, (struct sl_window_now){0, 0}, opt->on_since_ns);
    atomic_store_explicit(&r->request, sl_window_pack(&window), memory_order_relaxed);
    *out = r;
    return 0;
}

static int start(struct sl_recorder *r, int is_exit)
{
    pthread_t thread;
    int err;

    if (atomic_exchange_explicit(&r->started, 1, memory_order_acq_rel))
        return -EALREADY;
    r->is_started_at_exit = is_exit;
    err = sl_thread_start(&thread, STACK_BYTES, sl_recorder_run, r);
    if (err) {
        sl_recorder_end(r);
        return err;
    }
    pthread_detach(thread);
    return 0;
}

int sl_recorder_start(struct sl_recorder *r)
{
    return start(r, 0);
}

void sl_recorder_tell_never_asked(struct sl_recorder *r)
{
    /* CUPTI has never requested a buffer from us. If the recorder runs nevertheless, it has handed
     * CUPTI over, and sl_recorder_start() does nothing. */
    if (!sl_cupti_pool_turn())
        start(r, 1);
}

void sl_recorder_wake(struct sl_recorder *r)
{
    atomic_fetch_add_explicit(&r->wakes, 1, memory_order_release);
    sl_futex_wake(&r->wakes);
}

int sl_recorder_request(struct sl_recorder *r, int (*ask)(struct sl_window *))
{
    uint32_t word = atomic_load_explicit(&r->request, memory_order_acquire);
    struct sl_window w;
    int answer;

    do {
        sl_window_unpack(&w, word);
        answer = ask(&w);
    } while (!atomic_compare_exchange_weak_explicit(&r->request, &word, sl_window_pack(&w),
                                                    memory_order_acq_rel, memory_order_acquire));
    sl_recorder_wake(r);
    return answer;
}

/* Returns the pipeline, which is valid until unuse_pipeline(). Returns NULL if there is no pipeline
 * yet, or no longer. Sequentially consistent with close_status(), so that either close_status()
 * waits for this thread, or this thread sees `closed`.
 */
static struct sl_pipeline *use_pipeline(struct sl_recorder *r)
{
    atomic_fetch_add(&r->status_users, 1);
    if (atomic_load(&r->closed))
        return NULL;
    return atomic_load_explicit(&r->pipeline, memory_order_acquire);
}

static void unuse_pipeline(struct sl_recorder *r)
{
    atomic_fetch_sub(&r->status_users, 1);
}

void sl_recorder_get_status(struct sl_recorder *r, struct sl_recorder_status *out, char *last_file,
                            size_t last_file_size)
{
    struct sl_pipeline *pipeline = use_pipeline(r);
    struct sl_window w;

    sl_window_unpack(&w, atomic_load_explicit(&r->request, memory_order_acquire));
    out->state = w.state;
    if (w.state == SL_WIN_RECORDING && !atomic_load_explicit(&r->is_open, memory_order_acquire))
        out->state = SL_WIN_LEAD_IN;
    out->started = atomic_load_explicit(&r->started, memory_order_relaxed) != 0;
    out->window = atomic_load_explicit(&r->window_number, memory_order_relaxed);
    out->windows_completed = 0;
    out->memory_bytes = sl_cupti_pool_mapped_bytes();
    if (pipeline) {
        sl_pipeline_last(pipeline, last_file, last_file_size, &out->windows_completed);
        out->memory_bytes += sl_pipeline_bytes(pipeline);
    }
    unuse_pipeline(r);
}
