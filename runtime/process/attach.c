/*
 * attach.c - what a process is recorded by: CUPTI, and what the program tells itself.
 *
 * Entered by the thread that initialises CUDA, once. Memory: see process.c.
 */
#include <errno.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/loader.h"
#include "base/log.h"
#include "base/software.h"
#include "collect/cupti/buffer.h"
#include "collect/cupti/clock.h"
#include "collect/cupti/graph_nodes.h"
#include "collect/lane/lane.h"
#include "collect/nvtx/cuda.h"
#include "collect/nvtx/getenv_hook.h"
#include "collect/nvtx/nvtx.h"
#include "collect/python/frames.h"
#include "collect/torch/ops.h"
#include "process/process_impl.h"
#include "session/peer.h"

/* One buffer holds some 4000 records. Every thread that calls CUDA has one out, so larger ones
 * would spend the cap on threads that launch little. */
#define BUFFER_BYTES (512u * 1024u)
/* Threads may begin all at once, faster than the collector makes buffers: of 8 that launched at the
 * same moment, 5 found none of 4. 8 MiB, touched beforehand. */
#define READY_BUFFERS 16
/* CUPTI 13.3. A subscriber of 13.2 is not told of dropped records, and false sync edges come of
 * what is not known to be missing. */
#define FIRST_TO_TELL_DROPS 130300

/* ---- CUPTI ---- */

/* On the collector thread: stderr may stall, and whoever made the first call must not wait. */
static void say_where(void)
{
    const struct sl_identity *who = &sl_process.identity;

    if (who->rank_source)
        sl_log(SL_LOG_INFO, "recording rank %d of %d to %s", who->rank, who->world_size,
               who->folder);
    else
        sl_log(SL_LOG_INFO, "recording to %s (no launcher told a rank: taken for rank 0)",
               who->folder);
}

/* The kinds of the first window go on here, before any context: it is cheap now, and nothing of the
 * window is lost. On demand only those that must never be off. */
static int enable_kinds(uint32_t wanted, int *filter_api)
{
    uint32_t now = wanted, done;

    if (sl_process.config.window_mode == SL_WINDOW_DEMAND)
        now &= SL_COLLECTOR_ALWAYS;
    done = sl_cupti_enable(&sl_process.cupti, now, sl_process.config.api_all, filter_api);
    return done & ~(uint32_t)SL_CUPTI_NAMES || !(now & ~(uint32_t)SL_CUPTI_NAMES) ? 0 : -EIO;
}

/* Another client that has begun before us: torch.profiler gives CUPTI a clock of its own, and
 * before the first session of anybody's it has CLOCK_REALTIME. */
static int is_in_use(const struct sl_cupti_api *api)
{
    struct sl_cupti_clock clock = {0};

    return sl_peer_imports("cuptiActivityRegisterCallbacks") &&
           sl_cupti_clock_look(&clock, api->fn.GetTimestamp) != SL_CUPTI_CLOCK_REALTIME;
}

/* Attributes before callbacks, callbacks before kinds: CUPTI demands it. */
static int attach_to_cupti(void)
{
    struct sl_cupti_api *api = &sl_process.cupti;
    struct sl_collector_options opt = {
        .config = &sl_process.config,
        .identity = &sl_process.identity,
        .cupti = api,
        .kinds = sl_process.config.kinds | SL_CUPTI_NAMES,
        .on_start = say_where,
        .on_failure = sl_process_fail,
    };
    int err;

    if (sl_process.config.window_mode != SL_WINDOW_DEMAND)
        opt.on_since_ns = sl_clock_now();
    sl_cupti_pool_set_first_use(sl_process_on_first_use);
    if (sl_process.config.handover && is_in_use(api)) {
        sl_log(SL_LOG_INFO, "another profiler is recording: syncline begins when it stops");
        sl_process.handed_over = opt.handed_over = 1;
        opt.filter_api = !api->fn.ActivityEnableRuntimeApi && !sl_process.config.api_all;
        return sl_collector_init(&sl_process.collector, &opt);
    }
    err = sl_cupti_attach(api, sl_cupti_pool_request, sl_cupti_pool_complete);
    if (!err)
        err = enable_kinds(opt.kinds, &opt.filter_api);
    if (!err)
        err = sl_collector_init(&sl_process.collector, &opt);
    return err;
}

/* First of all: CUPTI may start threads. */
static void invite_nvtx(void)
{
    if (sl_process.config.nvtx && sl_nvtx_getenv_hook_set() == -EBUSY)
        sl_log(SL_LOG_DEBUG,
               "the process has threads, so that its environment is left alone: payloads of "
               "NVTX's extension are not decoded for objects that have called it before CUDA, "
               "unless NVTX_INJECTION64_PATH names this library");
}

/* NULL, or why nothing can be recorded. The older calls, which torch.profiler makes, and the newer
 * ones do not mix in one process. */
static const char *choose_api(void)
{
    enum sl_cupti_api_choice choice = sl_process.config.cupti_api;
    char holder[64];
    int err;

    if (choice == SL_CUPTI_API_V1 ||
        (choice == SL_CUPTI_API_AUTO && (sl_process.cupti.version < FIRST_TO_TELL_DROPS ||
                                         sl_peer_imports("cuptiActivityRegisterCallbacks"))))
        return NULL;
    /* A dump is of records whose layout follows from CUPTI's version. */
    err = sl_cupti_api_use_v2(&sl_process.cupti,
                              choice != SL_CUPTI_API_V2_WHOLE && !*sl_process.config.dump_cupti,
                              holder, sizeof(holder));
    if (err == -EBUSY) {
        snprintf(sl_process.why, sizeof(sl_process.why),
                 "another profiler holds CUPTI (%s): use one at a time",
                 *holder ? holder : "nsys, ncu, cuda-gdb...");
        return sl_process.why;
    }
    if (sl_process.cupti.hides_drops)
        sl_log(SL_LOG_WARN,
               "%s does not tell a subscriber of the records that it drops: no wait is "
               "explained, lest it be by the wrong operation; use "
               "SYNCLINE_CUPTI_API=v1, or CUPTI 13.3 or later",
               sl_process.cupti.path);
    if (err && choice != SL_CUPTI_API_AUTO)
        sl_log(SL_LOG_WARN, "%s %s: SYNCLINE_CUPTI_API=v1 is used", sl_process.cupti.path,
               err == -ENOTSUP ? "has no subscribers of CUPTI 13.2" : "refused a subscriber");
    return NULL;
}

const char *sl_process_attach(const struct sl_cupti_functions *cupti)
{
    const char *why;
    int err;

    invite_nvtx();
    sl_clock_calibrate();
    snprintf(sl_process.why, sizeof(sl_process.why), "the given CUPTI cannot be used");
    if (cupti)
        err = sl_cupti_api_adopt(&sl_process.cupti, cupti);
    else
        err = sl_cupti_api_open(&sl_process.cupti, sl_process.why, sizeof(sl_process.why));
    if (err)
        return sl_process.why;
    why = choose_api();
    if (why)
        return why;
    err = sl_cupti_pool_init(BUFFER_BYTES, sl_process.config.cupti_memory_bytes, READY_BUFFERS,
                             sl_process_wake);
    if (err)
        return "no memory for CUPTI's buffers: lower SYNCLINE_CUPTI_MEMORY";
    err = attach_to_cupti();
    /* Whatever comes of it, the rest is recorded. */
    if (!err && sl_process.config.graph_edges)
        (void)sl_graph_nodes_start(&sl_process.cupti);
    if (err == -EBUSY || err == -ENOTSUP)
        return "another profiler holds CUPTI (nsys, ncu, cuda-gdb...): use one at a time";
    return err ? "CUPTI refused to record" : NULL;
}

/* ---- the program ---- */

/* Lanes and names serve sl_range_push() and steps too. A job without its ranges is better than
 * none. */
static void attach_to_nvtx(void)
{
    int err;

    if (!sl_process.config.nvtx)
        sl_nvtx_detach();
    err = sl_nvtx_init((size_t)(sl_process.config.nvtx_memory_bytes / 3 * 2));
    if (err && err != -EALREADY) {
        sl_log(SL_LOG_WARN, "no memory for ranges: the trace has none; lower SYNCLINE_NVTX_MEMORY");
        sl_nvtx_detach();
        return;
    }
    sl_nvtx_set_ids(sl_nvtx_cuda_ids(&sl_process.cupti));
    sl_lanes_set_wake(sl_process_wake);
    sl_step_set_wake(sl_process_wake);
    if (sl_process.config.nvtx)
        sl_nvtx_attach_all();
}

/* Here rather than when the collector gets to it, so that operators are recorded from this one on.
 * A PyTorch that is loaded later is the collector's to find. */
static void attach_to_torch(void)
{
    sl_torch_ops_attach(sl_process.config.ops, sl_process.config.home);
    if (sl_process.config.window_mode == SL_WINDOW_RUN ||
        sl_process.config.window_mode == SL_WINDOW_TIME)
        sl_torch_ops_enable(1);
}

static void find_python(void)
{
    const char *(*version)(void) =
        __extension__(const char *(*)(void)) sl_loader_symbol(RTLD_DEFAULT, "Py_GetVersion");

    if (version)
        sl_software_set(SL_SOFTWARE_PYTHON, version());
    if (sl_python_lines_init((unsigned)sl_process.config.source_depth) == -ENOTSUP)
        sl_log(SL_LOG_DEBUG, "this Python is not known (3.9 to 3.15 with the usual lock are): "
                             "waits have no source lines");
}

void sl_process_attach_program(void)
{
    attach_to_nvtx();
    find_python();
    attach_to_torch();
}
