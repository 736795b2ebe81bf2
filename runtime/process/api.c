/*
 * api.c - implements the public API, which the program calls.
 *
 * Threads: any. Memory: none; see process.c.
 */
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/stats.h"
#include "collect/lane/lane.h"
#include "collect/nccl/level.h"
#include "collect/nvtx/calls.h"
#include "collect/nvtx/names.h"
#include "collect/source.h"
#include "process/process_impl.h"
#include "session/peer.h"

#define EXPORT __attribute__((visibility("default")))

_Static_assert((int)SL_COLLECTIVES_NETWORK == (int)SL_NCCL_NETWORK, "levels are passed on");
_Static_assert(sizeof(((struct sl_status *)0)->nccl) ==
                   SL_NCCL_COPIES * sizeof(struct sl_status_nccl),
               "the status has room for every copy of NCCL");

/* Returns 0, -EAGAIN before the injection, or -ENODEV if the process is passive for good. */
static int is_there(void)
{
    switch (sl_process_life()) {
    case SL_LIFE_NOT_INJECTED:
    case SL_LIFE_PREPARING:
        return -EAGAIN;
    case SL_LIFE_ARMED:
        if (getpid() == sl_process.pid)
            return 0;
        sl_process_fork_child(); /* a child made by a bare clone(), which runs no fork handler */
        break;
    case SL_LIFE_PASSIVE:
        break;
    }
    return -ENODEV;
}

EXPORT int sl_start(void)
{
    static int said;
    int err = is_there(), answer;

    if (err == -ENODEV && sl_process.config.window_mode == SL_WINDOW_OFF)
        sl_log_once(&said, SL_LOG_ERROR,
                    "start() failed: SYNCLINE_WINDOW=off records nothing; to record between "
                    "start() and stop(), set SYNCLINE_WINDOW=demand");
    if (err)
        return err;
    atomic_store_explicit(&sl_process.is_requested, 1, memory_order_relaxed);
    answer = sl_recorder_request(sl_process.recorder, sl_window_start);
    /* A context may exist although CUPTI has not asked for a buffer yet. */
    sl_process_start_threads();
    return answer;
}

EXPORT int sl_dump(void)
{
    int err = is_there();

    return err ? err : sl_recorder_request(sl_process.recorder, sl_window_renew);
}

EXPORT int sl_collectives(int level)
{
    int err = is_there();

    if (err)
        return err;
    if (level < SL_COLLECTIVES_OFF || level > SL_COLLECTIVES_NETWORK)
        return -EINVAL;
    sl_nccl_level_set((enum sl_nccl_level)level);
    return 0;
}

EXPORT int sl_hand_over(void)
{
    int err = is_there();

    return err ? err : sl_peer_begin();
}

EXPORT int sl_take_back(void)
{
    int err = is_there();

    return err ? err : sl_peer_end();
}

/* Like is_there(), but makes no system call. This function does not recognise a child of a bare
 * clone(). In such a child the lanes fill and nobody reads them, which is harmless. */
static int is_armed(void)
{
    switch (sl_process_life()) {
    case SL_LIFE_ARMED:
        return 0;
    case SL_LIFE_PASSIVE:
        return -ENODEV;
    default:
        return -EAGAIN;
    }
}

int sl_process_step(enum sl_step_source source)
{
    int err = is_armed();

    if (!err)
        sl_step_take(source);
    return err;
}

EXPORT int sl_step(void)
{
    return sl_process_step(SL_STEP_JOB);
}

EXPORT int sl_hook_step(int source)
{
    return source == SL_STEP_LOADER || source == SL_STEP_OPTIMIZER
               ? sl_process_step((enum sl_step_source)source)
               : -EINVAL;
}

/* Our ranges have their own domain, so the application's NVTX pops never end them. */
static unsigned own_domain(void)
{
    static _Atomic unsigned domain;
    unsigned known = atomic_load_explicit(&domain, memory_order_relaxed);

    if (!known) {
        known = sl_nvtx_domain("syncline", sizeof("syncline") - 1);
        atomic_store_explicit(&domain, known, memory_order_relaxed);
    }
    return known;
}

static struct sl_nvtx_event event_of(const char *name)
{
    return (struct sl_nvtx_event){.message = {0, name, strnlen(name, SL_LANE_TEXT_MAX)}};
}

EXPORT int sl_range_push(const char *name)
{
    struct sl_nvtx_event ev;
    int err = is_armed();

    if (err || !name)
        return err ? err : -EINVAL;
    ev = event_of(name);
    sl_nvtx_push(own_domain(), &ev);
    return 0;
}

EXPORT int sl_range_pop(void)
{
    int err = is_armed();

    if (!err)
        sl_nvtx_pop(own_domain(), NULL);
    return err;
}

EXPORT uint64_t sl_hook_range_begin(const char *name)
{
    struct sl_nvtx_event ev;

    if (is_armed() || !name)
        return 0;
    ev = event_of(name);
    return sl_nvtx_begin(own_domain(), &ev);
}

EXPORT int sl_hook_range_end(uint64_t id)
{
    if (!is_armed())
        sl_nvtx_finish(own_domain(), id);
    return 0;
}

EXPORT int sl_hook_ops(void)
{
    return is_armed() ? SL_TORCH_OPS_OFF : sl_sources_ops_by_texts();
}

EXPORT int sl_mark(const char *name)
{
    struct sl_nvtx_event ev;
    int err = is_armed();

    if (err || !name)
        return err ? err : -EINVAL;
    ev = event_of(name);
    sl_nvtx_record_event(SL_LANE_MARK, own_domain(), &ev, 0);
    return 0;
}

EXPORT int sl_stop(void)
{
    static int said;
    int err = is_there(), answer;

    if (err)
        return err;
    answer = sl_recorder_request(sl_process.recorder, sl_window_stop);
    if (answer <= 0)
        return answer;
    sl_log_once(&said, SL_LOG_WARN,
                "stop() came right after start(), before recording had begun, so this window has "
                "no file; keep a window open for longer, or call start() earlier");
    return 0;
}

static int32_t public_state(enum sl_window_state state)
{
    switch (state) {
    case SL_WIN_LEAD_IN:
        return SL_STATE_LEAD_IN;
    case SL_WIN_RECORDING:
        return SL_STATE_RECORDING;
    case SL_WIN_DRAINING:
        return SL_STATE_DRAINING;
    case SL_WIN_PAUSED:
        break;
    }
    return SL_STATE_ARMED;
}

static void fill_nccl(struct sl_status *s)
{
    struct sl_nccl_copy copy[SL_NCCL_COPIES];

    s->collectives = (int32_t)sl_nccl_level_get();
    s->nccl_count = sl_nccl_level_copies(copy);
    for (uint32_t i = 0; i < s->nccl_count; i++)
        s->nccl[i] = (struct sl_status_nccl){copy[i].version, (int32_t)copy[i].level,
                                             (uint32_t)copy[i].mask, copy[i].is_foreign};
}

static void fill_status(struct sl_status *s, int passive_now)
{
    struct sl_recorder_status c;

    s->records = sl_stats_get(SL_STAT_RECORDS);
    s->events_written = sl_stats_get(SL_STAT_EVENTS_WRITTEN);
    s->dropped = sl_process_dropped();
    fill_nccl(s);
    /* A fork may have interrupted the writer while it published its last file. The child would wait
     * forever for the writer's next change. */
    if (sl_process.recorder && getpid() == sl_process.pid) {
        sl_recorder_get_status(sl_process.recorder, &c, s->last_file, sizeof(s->last_file));
        s->state = c.started ? public_state(c.state) : SL_STATE_ARMED;
        s->window = c.window;
        s->windows_completed = c.windows_completed;
        s->memory_bytes = c.memory_bytes;
    }
    if (passive_now) {
        s->state = SL_STATE_PASSIVE;
        snprintf(s->reason, sizeof(s->reason), "%s",
                 atomic_load_explicit(&sl_process.reason, memory_order_acquire));
    }
}

EXPORT int sl_status(struct sl_status *out)
{
    struct sl_status full;
    size_t size;
    int err = is_there();

    if (err == -EAGAIN)
        return err;
    /* The caller's struct must include all numbers. In the struct of a caller built with an older
     * header, the texts may be missing or shorter. */
    if (!out || out->size < offsetof(struct sl_status, last_file))
        return -EINVAL;
    size = out->size < sizeof(full) ? out->size : sizeof(full);
    memset(&full, 0, sizeof(full));
    fill_status(&full, err != 0);
    full.size = out->size;
    memcpy(out, &full, size);
    if (size < offsetof(struct sl_status, collectives) &&
        size > offsetof(struct sl_status, last_file))
        ((char *)out)[size - 1] = '\0'; /* terminates a truncated text */
    return 0;
}
