/*
 * query.c - the exported functions that return or set one value: version, time, ids and result
 * texts.
 *
 * Any thread.
 */
#include "cupti/simcupti.h"

CUptiResult cuptiGetVersion(uint32_t *version)
{
    SIM_ENTRY();
    if (!version) {
        return sim_error(CUPTI_ERROR_INVALID_PARAMETER);
    }
    *version = sim_version()->number;
    return CUPTI_SUCCESS;
}

CUptiResult cuptiGetTimestamp(uint64_t *timestamp)
{
    SIM_ENTRY();
    sim_clock clock = sim_clock_now();

    if (!timestamp) {
        return sim_error(CUPTI_ERROR_INVALID_PARAMETER);
    }
    *timestamp = clock ? clock() : sim_now_ns();
    return CUPTI_SUCCESS;
}

#define TEXT(name)                                                                                 \
    case name:                                                                                     \
        *str = #name;                                                                              \
        return CUPTI_SUCCESS

CUptiResult cuptiGetResultString(CUptiResult result, const char **str)
{
    SIM_ENTRY();
    if (!str) {
        return sim_error(CUPTI_ERROR_INVALID_PARAMETER);
    }
    switch (result) {
        TEXT(CUPTI_SUCCESS);
        TEXT(CUPTI_ERROR_INVALID_PARAMETER);
        TEXT(CUPTI_ERROR_INVALID_DEVICE);
        TEXT(CUPTI_ERROR_INVALID_CONTEXT);
        TEXT(CUPTI_ERROR_INVALID_OPERATION);
        TEXT(CUPTI_ERROR_OUT_OF_MEMORY);
        TEXT(CUPTI_ERROR_HARDWARE);
        TEXT(CUPTI_ERROR_PARAMETER_SIZE_NOT_SUFFICIENT);
        TEXT(CUPTI_ERROR_API_NOT_IMPLEMENTED);
        TEXT(CUPTI_ERROR_MAX_LIMIT_REACHED);
        TEXT(CUPTI_ERROR_NOT_READY);
        TEXT(CUPTI_ERROR_NOT_COMPATIBLE);
        TEXT(CUPTI_ERROR_NOT_INITIALIZED);
        TEXT(CUPTI_ERROR_QUEUE_EMPTY);
        TEXT(CUPTI_ERROR_INVALID_HANDLE);
        TEXT(CUPTI_ERROR_INVALID_STREAM);
        TEXT(CUPTI_ERROR_INVALID_KIND);
        TEXT(CUPTI_ERROR_DISABLED);
        TEXT(CUPTI_ERROR_HARDWARE_BUSY);
        TEXT(CUPTI_ERROR_NOT_SUPPORTED);
        TEXT(CUPTI_ERROR_INSUFFICIENT_PRIVILEGES);
        TEXT(CUPTI_ERROR_OLD_PROFILER_API_INITIALIZED);
        TEXT(CUPTI_ERROR_LEGACY_PROFILER_NOT_SUPPORTED);
        TEXT(CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED);
        TEXT(CUPTI_ERROR_VIRTUALIZED_DEVICE_NOT_SUPPORTED);
        TEXT(CUPTI_ERROR_CONFIDENTIAL_COMPUTING_NOT_SUPPORTED);
        TEXT(CUPTI_ERROR_CMP_DEVICE_NOT_SUPPORTED);
        TEXT(CUPTI_ERROR_MIG_DEVICE_NOT_SUPPORTED);
        TEXT(CUPTI_ERROR_UNKNOWN);
    default:
        *str = "<unknown>";
        return sim_error(CUPTI_ERROR_INVALID_PARAMETER);
    }
}

CUptiResult cuptiGetContextId(CUcontext context, uint32_t *contextId)
{
    SIM_ENTRY();
    uint32_t device;

    if (!contextId) {
        return sim_error(CUPTI_ERROR_INVALID_PARAMETER);
    }
    if (!context || sim_context_id(context, contextId, &device) < 0) {
        return sim_error(CUPTI_ERROR_INVALID_CONTEXT);
    }
    return CUPTI_SUCCESS;
}

CUptiResult cuptiGetDeviceId(CUcontext context, uint32_t *deviceId)
{
    SIM_ENTRY();
    uint32_t id;

    if (!deviceId) {
        return sim_error(CUPTI_ERROR_INVALID_PARAMETER);
    }
    return sim_context_id(context, &id, deviceId) < 0 ? sim_error(CUPTI_ERROR_INVALID_DEVICE)
                                                      : CUPTI_SUCCESS;
}

CUptiResult cuptiGetStreamIdEx(CUcontext context, CUstream stream, uint8_t perThreadStream,
                               uint32_t *streamId)
{
    SIM_ENTRY();
    if (!streamId) {
        return sim_error(CUPTI_ERROR_INVALID_PARAMETER);
    }
    return sim_stream_id(context, stream, perThreadStream, streamId) < 0
               ? sim_error(CUPTI_ERROR_INVALID_STREAM)
               : CUPTI_SUCCESS;
}

CUptiResult cuptiGetStreamId(CUcontext context, CUstream stream, uint32_t *streamId)
{
    return cuptiGetStreamIdEx(context, stream, 0, streamId);
}

CUptiResult cuptiGetGraphId(CUgraph graph, uint32_t *pId)
{
    SIM_ENTRY();
    return !graph || !pId || sim_graph_id(graph, pId) < 0 ? sim_error(CUPTI_ERROR_INVALID_PARAMETER)
                                                          : CUPTI_SUCCESS;
}

CUptiResult cuptiGetGraphExecId(CUgraphExec graphExec, uint32_t *pId)
{
    SIM_ENTRY();
    return !graphExec || !pId || sim_graph_id(graphExec, pId) < 0
               ? sim_error(CUPTI_ERROR_INVALID_PARAMETER)
               : CUPTI_SUCCESS;
}

CUptiResult cuptiGetGraphNodeId(CUgraphNode node, uint64_t *nodeId)
{
    SIM_ENTRY();
    return !node || !nodeId || sim_graph_node_id(node, nodeId) < 0
               ? sim_error(CUPTI_ERROR_INVALID_PARAMETER)
               : CUPTI_SUCCESS;
}

CUptiResult cuptiSetThreadIdType(CUpti_ActivityThreadIdType type)
{
    SIM_ENTRY();
    if ((uint32_t)type >= CUPTI_ACTIVITY_THREAD_ID_TYPE_SIZE) {
        return sim_error(CUPTI_ERROR_NOT_SUPPORTED);
    }
    sim_thread_id_type[0] = type;
    return CUPTI_SUCCESS;
}

CUptiResult cuptiGetThreadIdType(CUpti_ActivityThreadIdType *type)
{
    SIM_ENTRY();
    if (!type) {
        return sim_error(CUPTI_ERROR_INVALID_PARAMETER);
    }
    *type = (CUpti_ActivityThreadIdType)sim_thread_id_type[0];
    return CUPTI_SUCCESS;
}

CUptiResult cuptiDeviceSupported(CUdevice dev, int *support)
{
    SIM_ENTRY();
    if (!support) {
        return sim_error(CUPTI_ERROR_INVALID_PARAMETER);
    }
    if (dev < 0 || (uint32_t)dev >= sim_device_count()) {
        return sim_error(CUPTI_ERROR_INVALID_DEVICE);
    }
    *support = 1;
    return CUPTI_SUCCESS;
}

CUptiResult cuptiFinalize(void)
{
    SIM_ENTRY();
    sim_kinds_clear();
    sim_subscriber_clear();
    sim_log("{\"what\":\"finalize\",\"correlation\":%llu}",
            (unsigned long long)sim_correlation_now());
    return CUPTI_SUCCESS;
}
