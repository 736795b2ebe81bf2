"""The kinds, record fields, functions and enum values of CUPTI that syncline uses. Data for
generate_tables.py."""
import re

# Fields that the decoder reads: family -> (kinds, {our name: (NVIDIA's name, bytes)}). A name that
# ends in "?" is missing in some versions. The offset of a missing field is 0, which no field but
# `kind` has.
GPU = {"start": ("start", 8), "end": ("end", 8), "device": ("deviceId", 4), "context": ("contextId", 4),
       "stream": ("streamId", 4), "correlation": ("correlationId", 4), "graph": ("graphId", 4)}
OP = {**GPU, "graph_node": ("graphNodeId", 8), "channel": ("channelID", 4), "channel_type": ("channelType", 4)}
COPY = {**OP, "copy_kind": ("copyKind", 1), "src_memory": ("srcKind", 1), "dst_memory": ("dstKind", 1),
        "flags": ("flags", 1), "bytes": ("bytes", 8)}
FAMILIES = {
    "kernel": (["CONCURRENT_KERNEL", "KERNEL"], {
        **OP, "name": ("name", 8), "registers": ("registersPerThread", 2),
        "grid_x": ("gridX", 4), "grid_y": ("gridY", 4), "grid_z": ("gridZ", 4),
        "block_x": ("blockX", 4), "block_y": ("blockY", 4), "block_z": ("blockZ", 4),
        "static_shared": ("staticSharedMemory", 4), "dynamic_shared": ("dynamicSharedMemory", 4),
        "cluster_x": ("clusterX", 4), "cluster_y": ("clusterY", 4), "cluster_z": ("clusterZ", 4),
        "priority?": ("priority", 4)}),
    "memcpy": (["MEMCPY"], COPY),
    "memcpy_peer": (["MEMCPY2"], {
        **COPY, "src_device": ("srcDeviceId", 4), "src_context": ("srcContextId", 4),
        "dst_device": ("dstDeviceId", 4), "dst_context": ("dstContextId", 4)}),
    "memset": (["MEMSET"], {
        **OP, "value": ("value", 4), "bytes": ("bytes", 8), "flags": ("flags", 2), "memory": ("memoryKind", 2)}),
    "graph": (["GRAPH_TRACE"], GPU),
    "api": (["RUNTIME", "DRIVER"], {
        "cbid": ("cbid", 4), "start": ("start", 8), "end": ("end", 8), "pid": ("processId", 4),
        "thread": ("threadId", 4), "correlation": ("correlationId", 4), "result": ("returnValue", 4)}),
    "sync": (["SYNCHRONIZATION"], {
        "type": ("type", 4), "start": ("start", 8), "end": ("end", 8), "correlation": ("correlationId", 4),
        "context": ("contextId", 4), "stream": ("streamId", 4), "event": ("cudaEventId", 4),
        "event_sync?": ("cudaEventSyncId", 8), "result?": ("returnValue", 4)}),
    "cuda_event": (["CUDA_EVENT"], {
        "correlation": ("correlationId", 4), "context": ("contextId", 4), "stream": ("streamId", 4),
        "event": ("eventId", 4), "device?": ("deviceId", 4), "device_ns?": ("deviceTimestamp", 8),
        "event_sync?": ("cudaEventSyncId", 8)}),
    "overhead": (["OVERHEAD"], {
        "type": ("overheadKind", 4), "object_kind": ("objectKind", 4), "pid": ("objectId.pt.processId", 4),
        "thread": ("objectId.pt.threadId", 4), "start": ("start", 8), "end": ("end", 8),
        "correlation?": ("correlationId", 4)}),
    "context": (["CONTEXT"], {
        "context": ("contextId", 4), "device": ("deviceId", 4), "null_stream": ("nullStreamId", 2)}),
    "stream": (["STREAM"], {
        "context": ("contextId", 4), "stream": ("streamId", 4), "priority": ("priority", 4), "flag": ("flag", 4)}),
    "name": (["NAME"], {
        "object_kind": ("objectKind", 4), "pid": ("objectId.pt.processId", 4),
        "thread": ("objectId.pt.threadId", 4), "device": ("objectId.dcs.deviceId", 4),
        "context": ("objectId.dcs.contextId", 4), "stream": ("objectId.dcs.streamId", 4), "name": ("name", 8)}),
}

# User-defined records (13.2 and later) are requested with only the fields that the decoder uses.
# Family -> NVIDIA's prefix, and the fields left out: flags; a device that follows from the context;
# times that are never enabled. Whole graphs are not recorded.
SELECTIONS = {
    "kernel": ("KERNEL", ()), "memcpy": ("MEMCPY", ("flags",)), "memcpy_peer": ("MEMCPY2", ("flags",)),
    "memset": ("MEMSET", ("flags",)), "api": ("API", ()), "sync": ("SYNCHRONIZATION", ()),
    "cuda_event": ("CUDA_EVENT", ("device", "device_ns")), "overhead": ("OVERHEAD", ("object_kind",)),
    "context": ("CONTEXT", ()), "stream": ("STREAM", ()), "name": ("NAME", ()),
}
# Fields whose id is not named like their member. If several members share an id, they form a union.
# UNION has the union's size in bytes and the member's offset in the union.
FIELD_NAMES = {("kernel", "priority"): "LAUNCH_PRIORITY", ("name", "pid"): "OBJECT_ID", ("name", "thread"): "OBJECT_ID",
               ("name", "device"): "OBJECT_ID", ("name", "context"): "OBJECT_ID", ("name", "stream"): "OBJECT_ID"}
UNION = {("name", "pid"): (12, 0), ("name", "thread"): (12, 4), ("name", "device"): (12, 0),
         ("name", "context"): (12, 4), ("name", "stream"): (12, 8)}


def selection(family: str) -> list:
    """Returns the fields to request: (our name, NVIDIA's constant, bytes, offset in a union)."""
    prefix, without = SELECTIONS[family]
    chosen = []
    for name, (theirs, width) in FAMILIES[family][1].items():
        ours = name.rstrip("?")
        if ours in without:
            continue
        word = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", theirs.split(".")[-1]).upper()
        word = FIELD_NAMES.get((family, ours), word)
        chosen.append((ours, f"{prefix}_FIELD_{word}", *UNION.get((family, ours), (width, 0))))
    return chosen


# Functions of `struct sl_cupti_functions`, without "cupti".
FUNCTIONS = """GetVersion ActivityRegisterCallbacks ActivityEnable ActivityDisable ActivityEnableRuntimeApi
ActivityEnableDriverApi ActivityEnableAllSyncRecords ActivityFlushAll ActivityGetNextRecord
ActivityGetNumDroppedRecords ActivityRegisterTimestampCallback ActivitySetAttribute ActivityGetAttribute SetThreadIdType Subscribe GetTimestamp
GetResultString Unsubscribe EnableCallback GetGraphId GetGraphNodeId""".split()

ENUMS = {  # our prefix -> (NVIDIA's prefix, names)
    "SL_CUPTI_ATTR_": ("CUPTI_ACTIVITY_ATTR_", [
        "DEVICE_BUFFER_SIZE", "DEVICE_BUFFER_POOL_LIMIT", "ZEROED_OUT_ACTIVITY_BUFFER",
        "DEVICE_BUFFER_PRE_ALLOCATE_VALUE", "PER_THREAD_ACTIVITY_BUFFER", "USER_DEFINED_RECORDS", "ENABLE_ALL_SYNC_RECORDS",
        "THREAD_ID_TYPE"]),
    "SL_CUPTI_": ("CUPTI_", [
        "SUCCESS", "ERROR_INVALID_PARAMETER", "ERROR_OUT_OF_MEMORY", "ERROR_MAX_LIMIT_REACHED", "ERROR_NOT_COMPATIBLE",
        "ERROR_NOT_INITIALIZED", "ERROR_INVALID_KIND", "ERROR_NOT_SUPPORTED", "ERROR_INSUFFICIENT_PRIVILEGES",
        "ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED", "ERROR_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES",
        "ERROR_UNKNOWN"]),
    "SL_CUPTI_OBJECT_": ("CUPTI_ACTIVITY_OBJECT_", ["PROCESS", "THREAD", "DEVICE", "CONTEXT", "STREAM"]),
    "SL_CUPTI_STREAM_CREATE_FLAG_": ("CUPTI_ACTIVITY_STREAM_CREATE_FLAG_", ["DEFAULT", "NON_BLOCKING", "NULL"]),
    "SL_CUPTI_THREAD_ID_TYPE_": ("CUPTI_ACTIVITY_THREAD_ID_TYPE_", ["DEFAULT", "SYSTEM"]),
    "SL_CUPTI_OVERHEAD_": ("CUPTI_ACTIVITY_OVERHEAD_", [
        "DRIVER_COMPILER", "CUPTI_BUFFER_FLUSH", "CUPTI_INSTRUMENTATION", "CUPTI_RESOURCE",
        "RUNTIME_TRIGGERED_MODULE_LOADING", "LAZY_FUNCTION_LOADING", "COMMAND_BUFFER_FULL",
        "ACTIVITY_BUFFER_REQUEST", "UVM_ACTIVITY_INIT"]),
}
