/*
 * activity.c - the exported functions of the activity API. They register callbacks, enable kinds,
 * flush, and read records.
 *
 * Any thread. This file checks arguments and returns the errors that the CUPTI headers document.
 * The work is done in other files.
 */
#include <unistd.h>

#include "cupti/simcupti.h"

static __thread CUptiResult last_error;
__thread const void *sim_caller;

CUptiResult sim_error(CUptiResult result)
{
    if (result != CUPTI_SUCCESS) {
        last_error = result;
    }
    return result;
}

CUptiResult cuptiGetLastError(void)
{
    CUptiResult result = last_error;

    last_error = CUPTI_SUCCESS;
    return result;
}

CUptiResult cuptiActivityRegisterCallbacks(CUpti_BuffersCallbackRequestFunc funcBufferRequested,
                                           CUpti_BuffersCallbackCompleteFunc funcBufferCompleted)
{
    SIM_ENTRY();
    struct sim_callbacks callbacks = {
        .request = funcBufferRequested, .complete = funcBufferCompleted, .owner = SIM_CLIENT};

    if (sim_v2_on()) {
        return sim_error(CUPTI_ERROR_NOT_COMPATIBLE);
    }
    if (!funcBufferRequested || !funcBufferCompleted) {
        return sim_error(CUPTI_ERROR_INVALID_PARAMETER);
    }
    sim_callbacks_set(&callbacks);
    sim_worker_start();
    sim_log("{\"what\":\"callbacks\",\"by\":\"%s\",\"correlation\":%llu}", sim_caller_name(),
            (unsigned long long)sim_correlation_now());
    return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityEnable(CUpti_ActivityKind kind)
{
    SIM_ENTRY();
    if (sim_v2_on()) {
        return sim_error(CUPTI_ERROR_NOT_COMPATIBLE);
    }
    return sim_error(sim_kind_set(kind, true));
}

CUptiResult cuptiActivityDisable(CUpti_ActivityKind kind)
{
    SIM_ENTRY();
    if (sim_v2_on()) {
        return sim_error(CUPTI_ERROR_NOT_COMPATIBLE);
    }
    return sim_error(sim_kind_set(kind, false));
}

CUptiResult cuptiActivityEnableAndDump(CUpti_ActivityKind kind)
{
    SIM_ENTRY();
    CUptiResult result = sim_kind_set(kind, true);

    return sim_error(result == CUPTI_SUCCESS ? sim_dump_objects(kind) : result);
}

static CUptiResult set_context(CUcontext context, CUpti_ActivityKind kind, bool on)
{
    uint32_t id, device;

    if (!context || sim_context_id(context, &id, &device) < 0) {
        return sim_error(CUPTI_ERROR_INVALID_CONTEXT);
    }
    return sim_error(sim_kind_set_context(id, kind, on));
}

CUptiResult cuptiActivityEnableContext(CUcontext context, CUpti_ActivityKind kind)
{
    SIM_ENTRY();
    return set_context(context, kind, true);
}

CUptiResult cuptiActivityDisableContext(CUcontext context, CUpti_ActivityKind kind)
{
    SIM_ENTRY();
    return set_context(context, kind, false);
}

CUptiResult cuptiActivityEnableRuntimeApi(CUpti_CallbackId cbid, uint8_t enable)
{
    SIM_ENTRY();
    return sim_error(sim_api_set(SIM_RUNTIME, cbid, enable));
}

CUptiResult cuptiActivityEnableDriverApi(CUpti_CallbackId cbid, uint8_t enable)
{
    SIM_ENTRY();
    return sim_error(sim_api_set(SIM_DRIVER, cbid, enable));
}

CUptiResult cuptiActivityEnableAllSyncRecords(uint8_t enable)
{
    SIM_ENTRY();
    sim_switches()->all_sync_records = enable;
    sim_log("{\"what\":\"%s\",\"kind\":\"sync_not_ready\",\"correlation\":%llu,\"by\":\"%s\"}",
            enable ? "enabled" : "disabled", (unsigned long long)sim_correlation_now(),
            sim_caller_name());
    return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityEnableLatencyTimestamps(uint8_t enable)
{
    SIM_ENTRY();
    sim_switches()->latency_timestamps = enable;
    return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityEnableCudaEventDeviceTimestamps(uint8_t enable)
{
    SIM_ENTRY();
    sim_switches()->event_timestamps = enable;
    return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityEnableLaunchAttributes(uint8_t enable)
{
    SIM_ENTRY();
    (void)enable; /* the simulated GPU's launches have no such attributes */
    return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityEnableHWTrace(uint8_t enable)
{
    SIM_ENTRY();
    return sim_error(CUPTI_ERROR_NOT_SUPPORTED); /* Blackwell only */
}

CUptiResult cuptiActivityFlushPeriod(uint32_t time)
{
    SIM_ENTRY();
    (void)time; /* full buffers are delivered within milliseconds anyway; other buffers are not
                 * delivered periodically */
    return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityFlushAll(uint32_t flag)
{
    SIM_ENTRY();
    bool anybody = false;

    SIM_EACH_CLIENT
    {
        struct sim_callbacks callbacks = sim_callbacks_get();

        anybody = anybody || callbacks.complete || callbacks.complete_v2;
    }
    if (!anybody) {
        return sim_error(CUPTI_ERROR_INVALID_OPERATION);
    }
    if (sim_in_client()) {
        sim_log("{\"what\":\"misuse\",\"problem\":\"flush inside a request callback\"}");
        return sim_error(CUPTI_ERROR_INVALID_OPERATION);
    }
    bool forced = flag & CUPTI_ACTIVITY_FLAG_FLUSH_FORCED;

    if (!sim_worker_alive()) {
        return CUPTI_SUCCESS;
    }
    if (forced) {
        sim_log("{\"what\":\"forced\",\"by\":\"%s\"}", sim_caller_name());
    }
    while (forced && sim_trouble.hang) {
        pause();
    }
    sim_progress();
    if (forced) {
        SIM_EACH_CLIENT sim_fields_flushed();
    }
    sim_lane_flush(forced);
    sim_worker_flush(forced);
    sim_replay_count_flush();
    return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityFlush(CUcontext context, uint32_t streamId, uint32_t flag)
{
    return cuptiActivityFlushAll(flag);
}

enum sim_record sim_record_of(uint32_t kind)
{
    static const struct {
        uint8_t kind, record;
    } table[] = {
        {CUPTI_ACTIVITY_KIND_MEMCPY, R_MEMCPY},
        {CUPTI_ACTIVITY_KIND_MEMSET, R_MEMSET},
        {CUPTI_ACTIVITY_KIND_KERNEL, R_KERNEL},
        {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, R_KERNEL},
        {CUPTI_ACTIVITY_KIND_DRIVER, R_API},
        {CUPTI_ACTIVITY_KIND_RUNTIME, R_API},
        {CUPTI_ACTIVITY_KIND_DEVICE, R_DEVICE},
        {CUPTI_ACTIVITY_KIND_CONTEXT, R_CONTEXT},
        {CUPTI_ACTIVITY_KIND_OVERHEAD, R_OVERHEAD},
        {CUPTI_ACTIVITY_KIND_MEMCPY2, R_MEMCPY2},
        {CUPTI_ACTIVITY_KIND_CUDA_EVENT, R_CUDA_EVENT},
        {CUPTI_ACTIVITY_KIND_STREAM, R_STREAM},
        {CUPTI_ACTIVITY_KIND_SYNCHRONIZATION, R_SYNC},
        {CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION, R_EXTERNAL},
    };

    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        if (table[i].kind == kind) {
            return table[i].record;
        }
    }
    return R_COUNT;
}

size_t sim_record_size(uint32_t kind)
{
    const struct sim_layout *layout = sim_layout_of(kind);

    return layout ? layout->size : sim_replay_size(kind);
}

/* Returns the error for an invalid record kind. NVIDIA's libraries 12.0 to 12.3 return UNKNOWN. */
static CUptiResult bad_record(void)
{
    return sim_version()->number < 22 ? CUPTI_ERROR_UNKNOWN : CUPTI_ERROR_INVALID_KIND;
}

CUptiResult cuptiActivityGetNextRecord(uint8_t *buffer, size_t validBufferSizeBytes,
                                       CUpti_Activity **record)
{
    SIM_ENTRY();
    uint8_t *at = buffer;

    if (!buffer || !record) {
        return sim_error(CUPTI_ERROR_INVALID_PARAMETER);
    }
    if (*record) {
        size_t size = sim_record_size((uint32_t)(*record)->kind);

        if (!size) {
            return sim_error(bad_record());
        }
        at = (uint8_t *)*record + size;
    }
    size_t left = validBufferSizeBytes - (size_t)(at - buffer);

    if ((size_t)(at - buffer) >= validBufferSizeBytes) {
        return CUPTI_ERROR_MAX_LIMIT_REACHED;
    }
    size_t size = sim_record_size(*(uint32_t *)(void *)at);

    if (!size || size > left) {
        return sim_error(bad_record());
    }
    *record = (CUpti_Activity *)(void *)at;
    return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityGetNumDroppedRecords(CUcontext context, uint32_t streamId, size_t *dropped)
{
    SIM_ENTRY();
    if (!dropped) {
        return sim_error(CUPTI_ERROR_INVALID_PARAMETER);
    }
    *dropped = sim_v2_on() ? 0 : sim_lane_take_dropped(); /* returns 0 without an error if
                                                           * subscribers exist */
    return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityRegisterTimestampCallback(CUpti_TimestampCallbackFunc funcTimestamp)
{
    SIM_ENTRY();
    if (!funcTimestamp) {
        return sim_error(CUPTI_ERROR_INVALID_PARAMETER);
    }
    sim_clock_register(funcTimestamp);
    return CUPTI_SUCCESS;
}
