/*
 * nccl_empty_plugin.c - a profiler plugin for NCCL that asks for the events of SYNCLINE_NCCL=calls
 * and does nothing with them. bench/nccl_bench compares syncline's plugin with this plugin.
 */
#include "collect/nccl/abi.h"

#define EXPORT __attribute__((visibility("default")))
#define EVENTS                                                                                     \
    (SL_NCCL_COLL_API | SL_NCCL_P2P_API | SL_NCCL_KERNEL_LAUNCH | SL_NCCL_COLL | SL_NCCL_P2P)

static int init(void **context, uint64_t hash, int *mask, const char *name, int nodes, int ranks,
                int rank, void *log)
{
    (void)hash;
    (void)name;
    (void)nodes;
    (void)ranks;
    (void)rank;
    (void)log;
    *context = NULL;
    *mask = EVENTS;
    return 0;
}

static int start(void *context, void **handle, const struct sl_nccl_descriptor *d)
{
    (void)context;
    (void)d;
    *handle = (void *)1;
    return 0;
}

static int stop(void *handle)
{
    (void)handle;
    return 0;
}

static int record_state(void *handle, int state, void *args)
{
    (void)handle;
    (void)state;
    (void)args;
    return 0;
}

static int finalize(void *context)
{
    (void)context;
    return 0;
}

#define TABLE                                                                                      \
    {                                                                                              \
        .name = "empty", .init_v5 = init, .start = start, .stop = stop,                            \
        .record_state = record_state, .finalize = finalize                                         \
    }

extern const struct sl_nccl_plugin ncclProfiler_v5, ncclProfiler_v6, ncclProfiler_v7;

EXPORT const struct sl_nccl_plugin ncclProfiler_v5 = TABLE;
EXPORT const struct sl_nccl_plugin ncclProfiler_v6 = TABLE;
EXPORT const struct sl_nccl_plugin ncclProfiler_v7 = TABLE;
