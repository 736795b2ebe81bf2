#!/usr/bin/env python3
"""Makes cupti_tables.h and cupti_tables.c from NVIDIA's own headers and libraries.

    generate_tables.py --write             fetch every version's package and write both files
    generate_tables.py --check INCLUDE...  do the committed tables agree with the CUPTI headers in
                                           those folders? (the build's test; needs no network)
    generate_tables.py --check-all         do they agree with every version's package?

Packages come from PyPI through pip, pinned by version and sha256, into --cache (default
build/cupti-packages), and are reused. Record layouts are not parsed but compiled: a C program per
version prints offsetof and sizeof. Which structure belongs to which kind is read from the
documentation comments in NVIDIA's enum. What may not change between versions (a field's width, an
attribute's value, the meaning of a callback id) is checked here, so that the decoder can rely on
it. Python's standard library, a C compiler ($CC, else cc) and nm are all it needs."""
import argparse
import hashlib
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import textwrap
import zipfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent

# CUDA version -> (PyPI requirement, sha256): the newest patch of each minor. There was no 12.7.
PACKAGES = {
    "12.0": ("nvidia-cuda-cupti-cu12==12.0.146", "218901bafaef99588bc3681a2af61ea1b884b78c53e554fc8d94056d893920a0"),
    "12.1": ("nvidia-cuda-cupti-cu12==12.1.105", "e54fde3983165c624cb79254ae9818a456eb6e87a7fd4d56a2352c24ee542d7e"),
    "12.2": ("nvidia-cuda-cupti-cu12==12.2.142", "ce68d1009dd14215e38ed49643d31374c71d6fea381181cb0b9da7f19dfd1624"),
    "12.3": ("nvidia-cuda-cupti-cu12==12.3.101", "7b984288af7db1faa1e6f1803db075d4350116b72a98d4be0e88d604dc812c0e"),
    "12.4": ("nvidia-cuda-cupti-cu12==12.4.127", "9dec60f5ac126f7bb551c055072b69d85392b13311fcc1bcda2202d172df30fb"),
    "12.5": ("nvidia-cuda-cupti-cu12==12.5.82", "bde77a5feb66752ec61db2adfe47f56b941842825b4c7e2068aff27c9d107953"),
    "12.6": ("nvidia-cuda-cupti-cu12==12.6.80", "6768bad6cab4f19e8292125e5f1ac8aa7d1718704012a0e3272a6f61c4bce132"),
    "12.8": ("nvidia-cuda-cupti-cu12==12.8.90", "ea0cb07ebda26bb9b29ba82cda34849e73c166c18162d3913575b0c9db9a6182"),
    "12.9": ("nvidia-cuda-cupti-cu12==12.9.79", "096bcf334f13e1984ba36685ad4c1d6347db214de03dbb6eebb237b41d9d934f"),
    "13.0": ("nvidia-cuda-cupti==13.0.85", "4eb01c08e859bf924d222250d2e8f8b8ff6d3db4721288cf35d14252a4d933c8"),
    "13.1": ("nvidia-cuda-cupti==13.1.115", "2c76d91807cf76fc0e4b08ad71c4dff0e8e9f678fc8dbbbc43ec55125a70b553"),
    "13.2": ("nvidia-cuda-cupti==13.2.86", "8fa29f15dd8336181f961764d9d95236fc6b931dd0c8fcf8cd70aab0c310b586"),
    "13.3": ("nvidia-cuda-cupti==13.3.75", "a969cc446c44db612e417bd0af722cfad9009c027dabd4ed255262c0e9a9a3d2"),
    "13.4": ("nvidia-cuda-cupti==13.4.92", "037b561575e6983bc4fe1caae644d7a296a8367f451bf6c2a3194f4d0765431c"),
    "13.5": ("nvidia-cuda-cupti==13.5.25", "9dcca41c12a734192b14e7128ae116bc9ce1b9da686e2ebf48ae7a4415f76650"),
}
# cuda.h and the few headers that it needs: CUPTI's take only the names of types from them, so one
# version serves all.
CUDA_PACKAGES = [
    ("nvidia-cuda-runtime==13.0.96", "7f82250d7782aa23b6cfe765ecc7db554bd3c2870c43f3d1821f1d18aebf0548"),
    ("nvidia-cuda-crt==13.0.88", "2c8043c7c9e02492716426e9919fc78d2c5b3b2a7a768a88e952676b08aa55a4"),
]

# What the decoder reads: family -> (kinds, {our name: (NVIDIA's name, bytes)}). A name that ends in
# "?" is missing in some versions (offset 0 there: never a field's, `kind` lives there).
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

# User-defined records (13.2 and later): which fields are asked for, those that the decoder makes use
# of. Family -> NVIDIA's prefix, and what it needs none of: flags; a device that follows from the
# context; times that are never turned on. Whole graphs are not recorded.
SELECTIONS = {
    "kernel": ("KERNEL", ()), "memcpy": ("MEMCPY", ("flags",)), "memcpy_peer": ("MEMCPY2", ("flags",)),
    "memset": ("MEMSET", ("flags",)), "api": ("API", ()), "sync": ("SYNCHRONIZATION", ()),
    "cuda_event": ("CUDA_EVENT", ("device", "device_ns")), "overhead": ("OVERHEAD", ("object_kind",)),
    "context": ("CONTEXT", ()), "stream": ("STREAM", ()), "name": ("NAME", ()),
}
# Fields whose id is not named like their member. An id of several members is a union: with its bytes
# and the member's place in it.
FIELD_NAMES = {("kernel", "priority"): "LAUNCH_PRIORITY", ("name", "pid"): "OBJECT_ID", ("name", "thread"): "OBJECT_ID",
               ("name", "device"): "OBJECT_ID", ("name", "context"): "OBJECT_ID", ("name", "stream"): "OBJECT_ID"}
UNION = {("name", "pid"): (12, 0), ("name", "thread"): (12, 4), ("name", "device"): (12, 0),
         ("name", "context"): (12, 4), ("name", "stream"): (12, 8)}


def selection(family: str) -> list:
    """The fields to ask for: (our name, NVIDIA's constant, bytes, place in a union)."""
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

# Calls that put an operation of their own on the GPU, which has a record with their correlation id.
LAUNCHES = re.compile(r"""^(?:
    cudaLaunch | cudaLaunchKernel(?:ExC)? | cudaLaunchCooperativeKernel(?:MultiDevice)? | cudaGraphLaunch |
    cudaMemcpy\w* | cudaMemset\w* |
    cuLaunch | cuLaunchGrid(?:Async)? | cuLaunchKernel(?:Ex)? | cuLaunchCooperativeKernel(?:MultiDevice)? |
    cuGraphLaunch(?:WithArguments)? | cuSubgridScheduleLaunch | cu(?:64)?Memcpy\w* | cu(?:64)?Memset\w*
    )$""", re.X)
# The default filter besides those: what makes a thread wait, orders streams, allocates, builds
# graphs or is known to take long. Left out are the queries that frameworks make at every step
# (cudaGetDevice, cudaGetLastError, cudaStreamIsCapturing, cuCtxGetCurrent, attributes, properties,
# occupancy) and what builds a graph node by node.
WANTED = re.compile(r"""^(?:
    cuda(?:Device|Thread|Stream|Event|ExecutionCtx)Synchronize | cuda(?:Stream|Event)Query |
    cudaEventRecord(?:WithFlags)? | cudaStreamWaitEvent | cudaExecutionCtx(?:RecordEvent|WaitEvent|StreamCreate|Destroy) |
    cuda(?:Stream|Event)(?:Create\w*|Destroy) | cudaDeviceReset | cudaThreadExit | cudaInitDevice | cudaGreenCtxCreate |
    cudaMem(?:Prefetch|Discard)\w*Async | cuMem(?:Prefetch|Discard)\w*Async | cuMemBatchDecompressAsync |
    cudaMalloc\w* | cudaFree\w* | cudaHost(?:Alloc|Register|Unregister) |
    cudaMemPool(?:Create|Destroy|TrimTo) | cudaDeviceGraphMemTrim |
    cudaIpc(?:OpenMemHandle|CloseMemHandle) | cudaDevice(?:Enable|Disable)PeerAccess |
    cudaGraph(?:Instantiate\w*|Upload|ExecUpdate|ExecDestroy|Destroy) |
    cudaStream(?:BeginCapture\w*|BeginRecapture\w*|EndCapture) | cudaLaunchHostFunc | cudaStreamAddCallback |
    cuda(?:Signal|Wait)ExternalSemaphoresAsync | cudaLibrary(?:LoadData|LoadFromFile|Unload) |
    cu(?:Ctx|Stream|Event)Synchronize | cu(?:Stream|Event)Query | cuEventRecord(?:WithFlags)? | cuStreamWaitEvent |
    cu(?:Ctx|GreenCtx)(?:RecordEvent|WaitEvent) | cu(?:Ctx|GreenCtx)(?:Create|Destroy|StreamCreate) |
    cuDevicePrimaryCtx(?:Retain|Release|Reset) | cu(?:Stream|Event)(?:Create\w*|Destroy) |
    cu(?:64)?MemAlloc\w* | cu(?:64)?MemFree\w* | cu(?:64)?MemHost(?:Alloc|Register|Unregister) |
    cuMem(?:Create|Release|Map|Unmap|SetAccess|AddressReserve|AddressFree|MapArrayAsync) |
    cuMemPool(?:Create|Destroy|TrimTo) | cuDeviceGraphMemTrim | cu(?:64)?Array(?:3D)?(?:Create|Destroy) |
    cuIpc(?:OpenMemHandle|CloseMemHandle) | cuCtx(?:Enable|Disable)PeerAccess |
    cuGraph(?:Instantiate\w*|Upload|ExecUpdate|ExecDestroy|Destroy) |
    cuStream(?:BeginCapture\w*|BeginRecapture\w*|EndCapture\w*) | cuLaunchHostFunc | cuStreamAddCallback |
    cu(?:Signal|Wait)ExternalSemaphoresAsync | cuStream(?:WaitValue|WriteValue)(?:32|64) | cuStreamBatchMemOp |
    cuModule(?:Load\w*|Unload) | cuLibrary(?:LoadData|LoadFromFile|Unload) | cuLink(?:Create|Complete)
    )$""", re.X)


def braces(cells) -> str:
    """A C initializer, wrapped: no formatter is needed, whose versions would differ."""
    return "{\n" + textwrap.fill(", ".join(cells), 96, initial_indent="    ", subsequent_indent="    ") + "}"


def fail(message: str):
    sys.exit(f"generate_tables: {message}")


# ---- packages -------------------------------------------------------------------------------------

def fetch(requirement: str, digest: str, cache: pathlib.Path) -> pathlib.Path:
    """Downloads and unpacks one pinned package; returns its folder. Done once per cache."""
    out = cache / requirement.replace("==", "-")
    if (out / ".sha256").exists() and (out / ".sha256").read_text() == digest:
        return out
    print(f"fetching {requirement}", file=sys.stderr)
    cache.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=cache) as tmp:
        subprocess.run([sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary", ":all:",
                        "--disable-pip-version-check", "--platform", "manylinux_2_27_x86_64",
                        "--platform", "manylinux_2_25_x86_64", "--platform", "manylinux_2_17_x86_64",
                        "--platform", "manylinux2014_x86_64", "--platform", "manylinux1_x86_64", "-d", tmp, requirement], check=True)
        (wheel,) = pathlib.Path(tmp).glob("*.whl")
        got = hashlib.sha256(wheel.read_bytes()).hexdigest()
        if got != digest:
            fail(f"{wheel.name}: sha256 is {got}, expected {digest}: not used")
        with zipfile.ZipFile(wheel) as z:
            z.extractall(out, [m for m in z.namelist() if "/include/" in m or "/lib/libcupti.so" in m])
        (out / ".sha256").write_text(digest)
    return out


def folder_of(package: pathlib.Path, header: str) -> pathlib.Path:
    (found,) = package.glob(f"nvidia/*/include/{header}")
    return found.parent


# ---- one version ----------------------------------------------------------------------------------

class Version:
    """What the headers of one CUPTI say; `functions` only where its library is at hand."""

    def __init__(self, include: pathlib.Path, cuda_includes: list, library: pathlib.Path = None):
        text = (include / "cupti_activity.h").read_text(errors="replace")
        deprecated = include / "cupti_activity_deprecated.h"
        self.structs = self.kinds_of(text)
        self.everything = text + (deprecated.read_text(errors="replace") if deprecated.exists() else "")
        self.callbacks = {d: self.callbacks_of(include, d) for d in ("runtime", "driver")}
        self.functions = self.functions_of(library) if library else None
        self.compile(include, cuda_includes)

    @staticmethod
    def kinds_of(text: str) -> dict:
        """Kind name -> (value, structure), from the enum and its comments."""
        enum = text[text.index("CUPTI_ACTIVITY_KIND_INVALID"):text.index("} CUpti_ActivityKind;")]
        kinds = {}
        for comment, name, value in re.findall(r"/\*\*(.*?)\*/\s*CUPTI_ACTIVITY_KIND_(\w+)\s*=\s*(\d+)", enum, re.S):
            found = re.findall(r"CUpti_Activity\w+", comment)
            if len(set(found)) != 1:
                fail(f"kind {name}: its comment names {found or 'no structure'}: look at the header")
            kinds[name] = (int(value), found[0])
        return kinds

    @staticmethod
    def callbacks_of(include: pathlib.Path, domain: str) -> dict:
        text = (include / f"cupti_{domain}_cbid.h").read_text()
        ids = {int(i): n for n, i in re.findall(r"TRACE_CBID_(cu\w+)\s*=\s*(\d+)", text)}
        # 64-bit and reserved ids carry placeholder names: cuda439, cuda25
        return {i: None if re.fullmatch(r"cuda\d+(_v\d+)?", n) else re.sub(r"_v\d+", "", n) for i, n in ids.items()}

    @staticmethod
    def functions_of(library: pathlib.Path) -> set:
        out = subprocess.run(["nm", "-D", "--defined-only", library], check=True, capture_output=True, text=True)
        return set(re.findall(r"\b(cupti\w+)(?=@|$)", out.stdout, re.M))

    def body(self, struct: str) -> str:
        end = self.everything.index(f"}} {struct};")
        return re.sub(r"/\*.*?\*/", "", self.everything[self.everything.rindex("typedef struct", 0, end):end], flags=re.S)

    def compile(self, include: pathlib.Path, cuda_includes: list):
        """Asks the compiler for every number, so that packing and alignment are NVIDIA's."""
        lines = []
        for name, (value, struct) in self.structs.items():
            lines.append(f'printf("size {value} %zu\\n", sizeof({struct}));')
            lines.append(f'if (CUPTI_ACTIVITY_KIND_{name} != {value}) return 1;')
        for family, (kinds, fields) in FAMILIES.items():
            structs = {self.structs[k][1] for k in kinds}
            if len(structs) != 1:
                fail(f"{family}: its kinds have different structures: {structs}")
            (struct,) = structs
            body = self.body(struct)
            for ours, (theirs, width) in fields.items():
                top = theirs.split(".")[0]
                if not re.search(rf"\b{top};", body):
                    if not ours.endswith("?"):
                        fail(f"{struct} has no {theirs}: mark it as optional, or find its new name")
                    continue
                lines.append(f'_Static_assert(sizeof((({struct} *)0)->{theirs}) == {width}, "{struct}.{theirs}");')
                lines.append(f'printf("field {family} {ours.rstrip("?")} %zu\\n", offsetof({struct}, {theirs}));')
        for ours, (theirs, names) in ENUMS.items():
            for name in names:
                if re.search(rf"\b{theirs}{name}\b\s*[=,]", self.everything + (include / "cupti_result.h").read_text()):
                    lines.append(f'printf("enum {ours}{name} %d\\n", (int){theirs}{name});')
        if "KERNEL_FIELD_KIND" in self.everything:
            for family, (prefix, _) in SELECTIONS.items():
                for constant in (f"{prefix}_FIELD_KIND", *(c for _, c, _, _ in selection(family))):
                    lines.append(f'printf("id {constant} %d\\n", (int){constant});')
        code = ("#include <stddef.h>\n#include <stdio.h>\n#include <cupti_version.h>\n#include <cupti_activity.h>\n"
                'int main(void)\n{\nprintf("version 0 %d\\n", CUPTI_API_VERSION);\n' + "\n".join(lines) + "\nreturn 0;\n}\n")
        with tempfile.TemporaryDirectory() as tmp:
            source, program = pathlib.Path(tmp, "layout.c"), pathlib.Path(tmp, "layout")
            source.write_text(code)
            flags = [f"-I{p}" for p in (include, *cuda_includes)]
            subprocess.run([os.environ.get("CC", "cc"), "-std=gnu11", "-w", *flags, source, "-o", program], check=True)
            out = subprocess.run([program], check=True, capture_output=True, text=True).stdout
        self.sizes, self.fields, self.enums, self.ids = {}, {f: {} for f in FAMILIES}, {}, {}
        for line in out.splitlines():
            what, *rest = line.split()
            if what == "version":
                self.api = int(rest[1])
            elif what == "size":
                self.sizes[int(rest[0])] = int(rest[1])
            elif what == "enum":
                self.enums[rest[0]] = int(rest[1])
            elif what == "id":
                self.ids[rest[0]] = int(rest[1])
            else:
                self.fields[rest[0]][rest[1]] = int(rest[2])

    def layout(self, family: str) -> tuple:
        kinds, fields = FAMILIES[family]
        size = self.sizes[self.structs[kinds[0]][0]]
        return (size, *(self.fields[family].get(f.rstrip("?"), 0) for f in fields))

    def callback_counts(self) -> tuple:
        return tuple(max(self.callbacks[d]) + 1 for d in ("runtime", "driver"))


# ---- all versions ---------------------------------------------------------------------------------

class Tables:
    def __init__(self, versions: dict):
        self.rows = {}  # first API version -> (CUDA versions, Version); 12.0 and 12.1 share number 18
        for cuda, v in versions.items():
            # From 13.0 the last two digits are the patch, and patches keep their minor's layouts
            # (all that are on PyPI were compared; only GREEN_CONTEXT grew within 13.2).
            first = v.api if v.api < 100000 else v.api // 100 * 100
            if first in self.rows:
                names, other = self.rows[first]
                if v.sizes != other.sizes or v.fields != other.fields:
                    fail(f"CUDA {names[-1]} and {cuda} both say API version {v.api}, but differ in layout")
                # the smaller set of callback ids is safe in both
                self.rows[first] = (names + [cuda], other)
            else:
                self.rows[first] = ([cuda], v)
        self.kinds, self.enums = {}, {}
        for cuda, v in versions.items():
            for name, (value, _) in v.structs.items():
                if self.kinds.setdefault(name, value) != value:
                    fail(f"kind {name} changed its value in CUDA {cuda}")
            for name, value in v.enums.items():
                if self.enums.setdefault(name, value) != value:
                    fail(f"{name} changed its value in CUDA {cuda}")
        self.ids = {}
        for cuda, v in versions.items():
            for name, value in v.ids.items():
                if self.ids.setdefault(name, value) != value:
                    fail(f"{name} changed its value in CUDA {cuda}")
        if any(value for name, value in self.ids.items() if name.endswith("_FIELD_KIND")):
            fail("a kind's first field is not its kind")
        self.functions = {}
        for f in FUNCTIONS:
            have = [v.api for v in versions.values() if f"cupti{f}" in v.functions]
            missing = [v.api for v in versions.values() if f"cupti{f}" not in v.functions]
            if not have or (missing and max(missing) > min(have)):
                fail(f"cupti{f} comes and goes: in {have}, not in {missing}")
            self.functions[f] = min(have) if missing else 0
        self.callbacks = {}
        for domain in ("runtime", "driver"):
            names = self.callbacks[domain] = {}
            for v in versions.values():  # oldest first: the newest real name stays
                for i, n in v.callbacks[domain].items():
                    names[i] = n or names.get(i)

    @staticmethod
    def bits(name: str) -> str:
        plain = re.sub(r"_pt[sd][sz]$", "", name)
        launches = bool(LAUNCHES.match(plain))
        wanted = launches or bool(WANTED.match(plain))
        return {(0, 0): "0", (1, 0): "W", (1, 1): "W | L"}[(wanted, launches)]

    def header(self) -> str:
        out = [HEADER_TOP]
        out.append("enum sl_cupti_kind {\n")
        out += [f"    SL_CUPTI_KIND_{n} = {v},\n" for n, v in sorted(self.kinds.items(), key=lambda x: x[1])]
        out.append(f"    SL_CUPTI_KIND_COUNT = {max(self.kinds.values()) + 1}\n}};\n")
        for ours, (theirs, names) in ENUMS.items():
            tag = {"SL_CUPTI_": "result"}.get(ours, ours[len("SL_CUPTI_"):-1].lower())
            out.append(f"\nenum sl_cupti_{tag} {{ /* {theirs}* */\n")
            out += [f"    {ours}{n} = {self.enums[ours + n]},\n" for n in names]
            out.append("};\n")
        types = {1: "uint8_t", 2: "uint16_t", 4: "uint32_t", 8: "uint64_t", 16: "16 bytes"}
        out.append("\n/* Offsets in bytes; the comment is the field's type, the same in every version. */\n")
        for family, (kinds, fields) in FAMILIES.items():
            out.append(f"struct sl_cupti_{family}_layout {{ /* {', '.join(kinds)} */\n    uint16_t size;\n")
            for ours, (theirs, width) in fields.items():
                note = ", not in every version" if ours.endswith("?") else ""
                out.append(f"    uint16_t {ours.rstrip('?')}; /* {types[width]} {theirs}{note} */\n")
            out.append("};\n\n")
        out.append("/* One CUPTI version. */\nstruct sl_cupti_layout {\n    uint32_t version; /* of cuptiGetVersion: this "
                   "one and those up to the next row */\n    const char *cuda;\n    /* by kind: bytes of a record, 0 = "
                   "no such kind */\n    const uint16_t *record_size;\n")
        out += [f"    const struct sl_cupti_{f}_layout *{f};\n" for f in FAMILIES]
        out.append("    /* callback ids of this version are below these */\n"
                   "    uint16_t runtime_callbacks, driver_callbacks;\n};\n")
        out.append(HEADER_END)
        return "".join(out)

    def source(self) -> str:
        out = [SOURCE_TOP]
        pointers = {api: [] for api in self.rows}

        def deduplicated(title: str, ctype: str, value_of, show):
            known = {}
            for api, (_, v) in self.rows.items():
                value = value_of(v)
                if value not in known:
                    known[value] = f"{title}_{api}"
                    out.append(f"static const {ctype.format(name=known[value])} = {show(value)};\n")
                pointers[api].append(known[value])

        top = max(self.kinds.values()) + 1
        deduplicated("sizes", "uint16_t {name}[SL_CUPTI_KIND_COUNT]",
                     lambda v: tuple(v.sizes.get(k, 0) for k in range(top)),
                     lambda s: braces(map(str, s)))
        for family, (_, fields) in FAMILIES.items():
            names = ["size", *(f.rstrip("?") for f in fields)]
            out.append("\n")
            deduplicated(family, f"struct sl_cupti_{family}_layout {{name}}", lambda v, f=family: v.layout(f),
                         lambda s, n=names: braces(f".{a} = {b}" for a, b in zip(n, s)))
        out.append("\nconst struct sl_cupti_layout sl_cupti_tables_layouts[] = {\n")
        for api, (cuda, v) in sorted(self.rows.items()):
            sizes, *families = pointers[api]
            counts = v.callback_counts()
            cells = [str(api), f'"{", ".join(cuda)}"', sizes, *("&" + f for f in families), *map(str, counts)]
            out.append("    " + braces(cells).replace("\n", "\n    ") + ",\n")
        out.append("};\nconst unsigned sl_cupti_tables_layout_count =\n"
                   "    sizeof sl_cupti_tables_layouts / sizeof *sl_cupti_tables_layouts;\n")
        for family in SELECTIONS:
            out.append(f"\nstatic const struct sl_cupti_field {family}_fields[] = {{\n")
            out += [f"    {{{self.ids[c]}, {width}, {within}, offsetof(struct sl_cupti_{family}_layout, {ours})}},\n"
                    for ours, c, width, within in selection(family)]
            out.append("};\n")
        out.append("\nconst struct sl_cupti_selection sl_cupti_tables_selections[] = {\n")
        for family in SELECTIONS:
            out += [f"    {{SL_CUPTI_KIND_{kind}, sizeof {family}_fields / sizeof *{family}_fields, {family}_fields,\n"
                    f"     offsetof(struct sl_cupti_layout, {family})}},\n" for kind in FAMILIES[family][0] if kind != "KERNEL"]
        out.append("};\nconst unsigned sl_cupti_tables_selection_count =\n"
                   "    sizeof sl_cupti_tables_selections / sizeof *sl_cupti_tables_selections;\n")
        out.append("\nconst struct sl_cupti_function sl_cupti_tables_functions[] = {\n")
        out += [f'    {{"{f}", {since}}},\n' for f, since in self.functions.items()]
        out.append("};\nconst unsigned sl_cupti_tables_function_count =\n"
                   "    sizeof sl_cupti_tables_functions / sizeof *sl_cupti_tables_functions;\n")
        out.append("\n#define W SL_CUPTI_CALL_WANTED\n#define L SL_CUPTI_CALL_LAUNCHES\n")
        for domain, names in self.callbacks.items():
            out.append(f"\nconst struct sl_cupti_callback sl_cupti_tables_{domain}[] = {{\n")
            out += [f'    [{i}] = {{"{n}", {self.bits(n)}}},\n' for i, n in sorted(names.items()) if n]
            out.append(f"}};\nconst unsigned sl_cupti_tables_{domain}_count =\n    sizeof sl_cupti_tables_{domain} "
                       f"/ sizeof *sl_cupti_tables_{domain};\n")
        return "".join(out)


HEADER_TOP = """\
/*
 * cupti_tables.h - CUPTI's record layouts, values and calls, version by version.
 *
 * Generated by generate_tables.py from NVIDIA's headers and libraries: do not edit. Constant data:
 * any thread.
 */
// clang-format off
#ifndef SL_CUPTI_TABLES_H
#define SL_CUPTI_TABLES_H

#include <stddef.h>
#include <stdint.h>

"""
HEADER_END = """\

/* Ascending by version. */
extern const struct sl_cupti_layout sl_cupti_tables_layouts[];
extern const unsigned sl_cupti_tables_layout_count;

/* A field of user-defined records: its id in NVIDIA's headers, its bytes there, where in them ours
 * is, and which member of the family's layout tells its offset. */
struct sl_cupti_field {
    uint8_t id, bytes, within, slot;
};

/* What is asked for of a kind, besides the kind itself, whose id is 0. */
struct sl_cupti_selection {
    uint8_t kind, count;
    const struct sl_cupti_field *fields;
    size_t family; /* which member of struct sl_cupti_layout */
};
extern const struct sl_cupti_selection sl_cupti_tables_selections[];
extern const unsigned sl_cupti_tables_selection_count;

/* A function without "cupti", and the first version that has it (0 = all). */
struct sl_cupti_function {
    const char *name;
    uint32_t since;
};
extern const struct sl_cupti_function sl_cupti_tables_functions[];
extern const unsigned sl_cupti_tables_function_count;

enum {
    SL_CUPTI_CALL_WANTED = 1 << 0,   /* in the default filter */
    SL_CUPTI_CALL_LAUNCHES = 1 << 1, /* puts an operation on the GPU */
};

/* By callback id; name NULL = an id without a public name. */
struct sl_cupti_callback {
    const char *name; /* without version suffix */
    uint8_t bits;
};
extern const struct sl_cupti_callback sl_cupti_tables_runtime[];
extern const unsigned sl_cupti_tables_runtime_count;
extern const struct sl_cupti_callback sl_cupti_tables_driver[];
extern const unsigned sl_cupti_tables_driver_count;

#endif
"""
SOURCE_TOP = """\
/*
 * cupti_tables.c - CUPTI's record layouts, values and calls, version by version.
 *
 * Generated by generate_tables.py from NVIDIA's headers and libraries: do not edit. Constant data:
 * any thread. Layouts and sizes that several versions share are named after the first.
 */
// clang-format off
#include "collect/cupti_tables.h"

"""


def load_all(cache: pathlib.Path) -> Tables:
    cuda = [folder_of(fetch(*p, cache), h) for p, h in zip(CUDA_PACKAGES, ("cuda.h", "crt/host_defines.h"))]
    cuda[1] = cuda[1].parent
    versions = {}
    for name, package in PACKAGES.items():
        folder = fetch(*package, cache)
        (library,) = folder.glob("nvidia/*/lib/libcupti.so.*")
        versions[name] = Version(folder_of(folder, "cupti_activity.h"), cuda, library)
    return Tables(versions)


def committed() -> dict:
    """The committed tables, read back: API version -> {family or "sizes": numbers}; and the names."""
    text = (HERE / "cupti_tables.c").read_text()
    arrays = {n: re.sub(r"\s+", " ", b) for n, b in re.findall(r"(\w+_\d+)(?:\[\w+\])? = \{(.*?)\};", text, re.S)}
    numbers = {n: tuple(map(int, re.findall(r"\d+", b))) for n, b in arrays.items()}
    rows = {}
    table = text[text.index("sl_cupti_tables_layouts[]"):text.index("sl_cupti_tables_layout_count")]
    for api, _, rest in re.findall(r'\{\s*(\d+),\s*"([^"]*)",(.*?)\}', table, re.S):
        names = re.findall(r"[a-z_]+_\d+", rest)
        rows[int(api)] = dict(zip(["sizes", *FAMILIES], (numbers[n] for n in names)))
    callbacks = {}
    for domain in ("runtime", "driver"):
        part = text[text.index(f"sl_cupti_tables_{domain}[]"):text.index(f"sl_cupti_tables_{domain}_count")]
        callbacks[domain] = {int(i): n for i, n in re.findall(r'\[(\d+)\] = \{"(\w+)"', part)}
    return {"rows": rows, "callbacks": callbacks}


def check(includes: list):
    """The headers at hand against the row that the runtime would choose for their version."""
    include = next((i for i in includes if (i / "cupti_activity.h").exists()), None)
    if not include:
        fail(f"no cupti_activity.h in {' '.join(map(str, includes))}")
    v = Version(include, includes)
    have = committed()
    known = [api for api in have["rows"] if api <= v.api]
    if not known:
        fail(f"{include} is CUPTI {v.api}: older than any known; 12.0 is the oldest supported")
    row = have["rows"][max(known)]
    wrong = [f"{f}: header {v.layout(f)}, table {row[f]}" for f in FAMILIES if row[f] != v.layout(f)]
    wrong += [f"kind {k}: header {s} bytes, table {row['sizes'][k] if k < len(row['sizes']) else 'none'}"
              for k, s in v.sizes.items() if k >= len(row["sizes"]) or row["sizes"][k] != s]
    for domain, names in v.callbacks.items():
        wrong += [f"{domain} callback {i} ({n}) is not in the table" for i, n in names.items()
                  if n and i not in have["callbacks"][domain]]
    if wrong:
        fail(f"the tables do not fit {include} (CUPTI {v.api}):\n  " + "\n  ".join(wrong) +
             "\nAdd this version to PACKAGES in runtime/collect/generate_tables.py and run it with --write.")
    print(f"cupti_tables.c agrees with {include} (CUPTI {v.api}, row {max(known)})")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--write", action="store_true")
    what.add_argument("--check", metavar="INCLUDE", nargs="+", type=pathlib.Path)
    what.add_argument("--check-all", action="store_true")
    parser.add_argument("--cache", type=pathlib.Path, default=ROOT / "build" / "cupti-packages")
    options = parser.parse_args()
    if options.check:
        return check(options.check)
    tables = load_all(options.cache.resolve())
    for name, text in (("cupti_tables.h", tables.header()), ("cupti_tables.c", tables.source())):
        path = HERE / name
        if options.write:
            path.write_text(text)
        elif path.read_text() != text:
            fail(f"{name} is not what the packages give: run runtime/collect/generate_tables.py --write")
    print(f"{'wrote' if options.write else 'checked'} {len(tables.rows)} layouts of CUDA {', '.join(PACKAGES)}")


if __name__ == "__main__":
    main()
