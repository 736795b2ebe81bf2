/*
 * attach.c - attaches to CUPTI, and to the program's own sources of events (NVTX, PyTorch, Python).
 *
 * Threads: called once, by the thread that initialises CUDA. Memory: see process.c.
 */
#include <errno.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/log.h"
#include "collect/cupti/buffer.h"
#include "collect/cupti/clock.h"
#include "collect/cupti/graph_nodes.h"
#include "collect/source.h"
#include "control/run_id.h"
#include "process/process_impl.h"
#include "session/peer.h"
#include "session/session.h"

/* One buffer holds about 4000 records. Every thread that calls CUDA holds one buffer. With larger
 * buffers, threads that launch little would use up the memory limit. */
#define BUFFER_BYTES (512u * 1024u)
/* Buffers prepared in advance (8 MiB, pages touched), because many threads may begin at once,
 * faster than the recorder prepares buffers. In a test with 4 ready buffers, 5 of 8 threads that
 * launched at the same moment found no ready buffer. */
#define READY_BUFFERS 16
/* CUPTI 13.3. CUPTI 13.2 hides dropped records from subscribers, which causes wrong sync edges. */
#define FIRST_TO_TELL_DROPS 130300

/* ---- CUPTI ---- */

/* Logs which rank is recorded, and to which folder. Runs on the recorder thread, because stderr may
 * block and the thread of the first CUDA call must not wait. For other ranks than 0 this is the
 * only line unless something is lost, because a job may have thousands of ranks. */
static void say_where(void)
{
    const struct sl_identity *who = &sl_process.identity;
    const char *what = "recording";

    if (sl_process.config.is_window_invalid)
        what = "waiting for start(), because SYNCLINE_WINDOW is not valid, then recording";
    else if (sl_process.config.window_mode == SL_WINDOW_DEMAND)
        what = "waiting for start(), then recording";

    if (who->rank_source)
        sl_log(SL_LOG_INFO, "%s rank %d of %d to %s", what, who->rank, who->world_size,
               who->folder.path);
    else
        sl_log(SL_LOG_INFO,
               "%s to %s (no rank in the environment (RANK, SLURM_PROCID, ...): using rank 0)",
               what, who->folder.path);
    if (who->rank > 0 && sl_log_get_level() == SL_LOG_INFO)
        sl_log_set_level(SL_LOG_WARN);
}

/* On the recorder thread, before the first file's header is written. */
static void on_start(void)
{
    sl_run_id_find(&sl_process.identity);
    say_where();
}

/* Turns on the kinds of the first window before any context exists. Turning kinds on takes little
 * time before a context exists, and the window misses nothing. If windows open on demand only,
 * turns on only the kinds that must never be off. */
static int enable_kinds(uint32_t wanted, int *filter_api)
{
    uint32_t now = wanted, done;

    if (sl_process.config.window_mode == SL_WINDOW_DEMAND)
        now &= SL_KINDS_ALWAYS;
    done = sl_cupti_enable(&sl_process.cupti, now, sl_process.config.api_all, filter_api);
    return done & ~(uint32_t)SL_CUPTI_NAMES || !(now & ~(uint32_t)SL_CUPTI_NAMES) ? 0 : -EIO;
}

/* Returns whether another client of CUPTI began before us. CUPTI's clock is CLOCK_REALTIME before
 * the first session of any client. torch.profiler sets another clock. */
static int is_in_use(const struct sl_cupti_api *api)
{
    struct sl_cupti_clock clock = {0};

    return sl_peer_imports("cuptiActivityRegisterCallbacks") &&
           sl_cupti_clock_look(&clock, api->fn.GetTimestamp) != SL_CUPTI_CLOCK_REALTIME;
}

/* CUPTI requires that attributes are set first, then callbacks, then kinds. */
static int attach_to_cupti(void)
{
    struct sl_cupti_api *api = &sl_process.cupti;
    struct sl_recorder_options opt = {
        .config = &sl_process.config,
        .identity = &sl_process.identity,
        .cupti = api,
        .kinds = (sl_process.config.kinds & ~(uint32_t)SL_KIND_COLLECTIVES) | SL_CUPTI_NAMES,
        .on_start = on_start,
        .on_failure = sl_process_fail,
    };
    int err;

    if (sl_process.config.window_mode != SL_WINDOW_DEMAND)
        opt.on_since_ns = sl_clock_now();
    sl_cupti_pool_set_first_use(sl_process_on_first_use);
    if (sl_process.config.handover && is_in_use(api)) {
        sl_log(SL_LOG_INFO,
               "another profiler is recording: syncline starts recording when that profiler stops");
        sl_process.handed_over = opt.handed_over = 1;
        opt.filter_api = !api->fn.ActivityEnableRuntimeApi && !sl_process.config.api_all;
        return sl_recorder_init(&sl_process.recorder, &opt);
    }
    err = sl_cupti_attach(api, sl_cupti_pool_request, sl_cupti_pool_complete);
    if (!err)
        err = enable_kinds(opt.kinds, &opt.filter_api);
    if (!err)
        err = sl_recorder_init(&sl_process.recorder, &opt);
    return err;
}

/* Chooses the CUPTI interface. Returns NULL, or the reason why nothing can be recorded. One process
 * cannot use both the older interface, which torch.profiler uses, and the newer interface. */
static const char *choose_api(void)
{
    enum sl_cupti_api_choice choice = sl_process.config.cupti_api;
    char holder[64];
    int err;

    if (choice == SL_CUPTI_API_V1 ||
        (choice == SL_CUPTI_API_AUTO && (sl_process.cupti.version < FIRST_TO_TELL_DROPS ||
                                         sl_peer_imports("cuptiActivityRegisterCallbacks"))))
        return NULL;
    /* A dump needs whole records, whose layout depends only on CUPTI's version. */
    err = sl_cupti_api_use_v2(&sl_process.cupti,
                              choice != SL_CUPTI_API_V2_WHOLE && !*sl_process.config.dump_cupti,
                              holder, sizeof(holder));
    if (err == -EBUSY) {
        snprintf(sl_process.why, sizeof(sl_process.why),
                 "another profiler uses CUPTI (%s): run one profiler at a time",
                 *holder ? holder : "nsys, ncu, cuda-gdb...");
        return sl_process.why;
    }
    if (sl_process.cupti.hides_drops)
        sl_log(SL_LOG_WARN,
               "%s does not report dropped records to subscribers: sync edges are disabled to "
               "avoid wrong ones; use SYNCLINE_CUPTI_API=v1, or CUPTI 13.3 or later",
               sl_process.cupti.path);
    if (err && choice != SL_CUPTI_API_AUTO)
        sl_log(SL_LOG_WARN, "%s %s: using SYNCLINE_CUPTI_API=v1 instead", sl_process.cupti.path,
               err == -ENOTSUP ? "lacks the subscriber interface of CUPTI 13.2"
                               : "refused a subscriber");
    return NULL;
}

const char *sl_process_attach(const struct sl_cupti_functions *cupti)
{
    const char *why;
    int err;

    sl_sources_prepare(&sl_process.config);
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
        return "not enough memory for CUPTI buffers: lower SYNCLINE_CUPTI_MEMORY";
    err = attach_to_cupti();
    /* If graph nodes cannot be recorded, everything else is still recorded. */
    if (!err && sl_process.config.graph_edges)
        (void)sl_graph_nodes_start(&sl_process.cupti);
    if (err == -EBUSY || err == -ENOTSUP)
        return "another profiler uses CUPTI (nsys, ncu, cuda-gdb...): run one profiler at a time";
    return err ? "CUPTI refused to record" : NULL;
}

/* ---- the program ---- */

void sl_process_attach_program(void)
{
    const struct sl_source_setup setup = {
        .config = &sl_process.config,
        .cupti = sl_process.cupti.handle,
        .wake = sl_process_wake,
        .records_at_once = sl_process.config.window_mode != SL_WINDOW_DEMAND,
    };

    sl_sources_attach(&setup);
}
