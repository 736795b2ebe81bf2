"""Patterns of the calls that are recorded by default, for docs/trace-format-details.md and generate_tables.py,
and of the calls that wait, for generate_tables.py. In a pattern, {a,b} stands for a or b, and * for any letters."""
import re
import textwrap

LAUNCHES = "Put an operation of their own on the GPU, which has a record with their correlation id"
CALLS = {  # purpose -> patterns
    LAUNCHES: """cudaLaunch cudaLaunchKernel{,ExC} cudaLaunchCooperativeKernel{,MultiDevice} cudaGraphLaunch
        cudaMemcpy* cudaMemset* cuLaunch cuLaunchGrid{,Async} cuLaunchKernel{,Ex}
        cuLaunchCooperativeKernel{,MultiDevice} cuGraphLaunch{,WithArguments} cuSubgridScheduleLaunch
        cu{,64}Memcpy* cu{,64}Memset*""",
    "Wait or ask": """cuda{Device,Thread,Stream,Event,ExecutionCtx}Synchronize cuda{Stream,Event}Query
        cu{Ctx,Stream,Event}Synchronize cu{Stream,Event}Query""",
    "Order streams, call the host": """cudaEventRecord{,WithFlags} cudaStreamWaitEvent
        cudaExecutionCtx{RecordEvent,WaitEvent} cuda{Signal,Wait}ExternalSemaphoresAsync cudaLaunchHostFunc
        cudaStreamAddCallback cuEventRecord{,WithFlags} cuStreamWaitEvent cu{Ctx,GreenCtx}{RecordEvent,WaitEvent}
        cu{Signal,Wait}ExternalSemaphoresAsync cuStream{WaitValue,WriteValue}{32,64} cuStreamBatchMemOp
        cuLaunchHostFunc cuStreamAddCallback""",
    "Make and end streams, events, contexts": """cuda{Stream,Event}{Create*,Destroy} cudaExecutionCtx{StreamCreate,Destroy}
        cudaGreenCtxCreate cudaInitDevice cudaDeviceReset cudaThreadExit cudaDevice{Enable,Disable}PeerAccess
        cu{Stream,Event}{Create*,Destroy} cu{Ctx,GreenCtx}{Create,Destroy,StreamCreate}
        cuDevicePrimaryCtx{Retain,Release,Reset} cuCtx{Enable,Disable}PeerAccess""",
    "Memory": """cudaMalloc* cudaFree* cudaHost{Alloc,Register,Unregister} cudaMemPool{Create,Destroy,TrimTo}
        cudaDeviceGraphMemTrim cudaIpc{Open,Close}MemHandle cudaMem{Prefetch,Discard}*Async cu{,64}MemAlloc*
        cu{,64}MemFree* cu{,64}MemHost{Alloc,Register,Unregister}
        cuMem{Create,Release,Map,Unmap,SetAccess,AddressReserve,AddressFree,MapArrayAsync}
        cuMemPool{Create,Destroy,TrimTo} cuDeviceGraphMemTrim cu{,64}{,Mipmapped}Array{,3D}{Create,Destroy}
        cuIpc{Open,Close}MemHandle cuMem{Prefetch,Discard}*Async cuMemBatchDecompressAsync""",
    "Graphs as a whole": """cudaGraph{Instantiate*,Upload,ExecUpdate,ExecDestroy,Destroy}
        cudaStream{BeginCapture*,BeginRecapture*,EndCapture} cuGraph{Instantiate*,Upload,ExecUpdate,ExecDestroy,Destroy}
        cuStream{BeginCapture*,BeginRecapture*,EndCapture*}""",
    "Load code, which takes long": """cudaLibrary{LoadData,LoadFromFile,Unload} cuModule{Load*,Unload}
        cuLibrary{LoadData,LoadFromFile,Unload} cuLink{Create,Complete}""",
}
# Examples of calls that are not recorded by default, for the documentation.
LEFT_OUT = {
    "queries that frameworks make at every step": "cudaGetDevice cudaSetDevice cudaGetLastError cudaStreamIsCapturing "
                                         "cudaStreamGetCaptureInfo cuCtxGetCurrent",
    "attributes, properties and occupancy": "cudaFuncSetAttribute cudaDeviceGetAttribute "
                                            "cudaOccupancyMaxActiveBlocksPerMultiprocessor",
    "reads of events and memory": "cudaEventElapsedTime cudaHostGetDevicePointer",
    "building a graph node by node": "cudaGraphCreate cudaGraphAddKernelNode",
}
# enum sl_call_class of sync/call_class.h -> patterns; all other calls are SL_CALL_OTHER.
CLASSES = {
    "DEVICE_SYNC": "cuda{Device,Thread}Synchronize",
    "CONTEXT_SYNC": "cuCtxSynchronize",
    "STREAM_SYNC": "cu{,da}StreamSynchronize",
    "STREAM_QUERY": "cu{,da}StreamQuery",
    "EVENT_SYNC": "cu{,da}EventSynchronize",
    "EVENT_QUERY": "cu{,da}EventQuery",
    "STREAM_WAIT": "cu{,da}StreamWaitEvent",
    "CONTEXT_WAIT": "cu{Ctx,GreenCtx,daExecutionCtx}WaitEvent",
    "CONTEXT_RECORD": "cu{Ctx,GreenCtx,daExecutionCtx}RecordEvent",
    "FREE": "cudaFree{,Array,Host,MipmappedArray} cuMemFree{,Host} cu{,Mipmapped}ArrayDestroy",
    # cudaThreadExit is the old name of cudaDeviceReset
    "UNLOAD": "cuda{ThreadExit,DeviceReset,LibraryUnload} cuCtxDestroy cu{Module,Library}Unload cuDevicePrimaryCtxReset",
    "BLOCKING_COPY": """cudaMemcpy{,2D,3D}{,ToArray,FromArray,ArrayToArray} cudaMemcpy{ToSymbol,FromSymbol,Peer,3DPeer}
        cudaMemset{,2D,3D} cu{,64}Memcpy{HtoD,DtoH,DtoD,DtoA,AtoD,HtoA,AtoH,AtoA,3D} cuMemcpy{,2D,2DUnaligned,Peer,3DPeer}
        cu{,64}MemsetD{,2D}{8,16,32}""",
    "KERNEL_LAUNCH": """cudaLaunch cudaLaunchKernel{,ExC} cudaLaunchCooperativeKernel{,MultiDevice} cuLaunch
        cuLaunchGrid{,Async} cuLaunchKernel{,Ex} cuLaunchCooperativeKernel{,MultiDevice} cuSubgridScheduleLaunch""",
    "GRAPH_LAUNCH": "cudaGraphLaunch cuGraphLaunch{,WithArguments}",
    "ASYNC_COPY": """cudaMemcpy{,2D}{,ToArray,FromArray}Async cudaMemcpy{3D,ToSymbol,FromSymbol}Async
        cuMemcpy{,DtoH,AtoH,2D,3D}Async cu64Memcpy3DAsync cu{,da}Memcpy{,3D}BatchAsync""",
    "CAPTURE_BEGIN": "cu{,da}Stream{BeginCapture{,ToGraph},BeginRecaptureToGraph}",
    "CAPTURE_END": "cu{,da}StreamEndCapture",
}
HEADING = "## Calls that are recorded by default"


def expression(patterns: str) -> re.Pattern:
    """Returns a regular expression that a whole name must match."""
    text = "|".join(patterns.split())
    for theirs, ours in (("{", "(?:"), ("}", ")"), (",", "|"), ("*", r"\w*")):
        text = text.replace(theirs, ours)
    return re.compile(f"^(?:{text})$")


LAUNCHING = expression(CALLS[LAUNCHES])
WANTED = expression(" ".join(CALLS.values()))
CLASS_OF = {name: expression(patterns) for name, patterns in CLASSES.items()}


def section() -> str:
    """Makes the section of docs/trace-format-details.md, from its heading to the next heading."""
    def code(patterns: str) -> str:
        return ", ".join(f"`{pattern}`" for pattern in patterns.split())

    rows = "".join(f"| {what} | {code(patterns)} |\n" for what, patterns in CALLS.items())
    others = "; ".join(f"{what} ({code(names)})" for what, names in LEFT_OUT.items())
    head = textwrap.fill(
        "With `SYNCLINE_API=default` a call is recorded if its name, without its version (`_v2`) and without "
        "`_ptsz` or `_ptds`, is in this table. `{a,b}` stands for either, `*` for any letters and digits. "
        "With `all` every call is recorded.", 100)
    below = textwrap.fill(f"All other calls are left out. Among them are {others}.", 100)
    return f"{HEADING}\n{head}\n\n| | |\n|---|---|\n{rows}\n{below}\n\n"


def of_document(text: str) -> str:
    """Returns the section that a document contains now."""
    start = text.index(HEADING)
    return text[start:text.index("\n## ", start) + 1]
