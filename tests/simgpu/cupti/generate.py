#!/usr/bin/env python3
"""Writes layout_table.h, cbid_names.h and exports.txt from NVIDIA's CUPTI packages.

    generate.py FOLDER

FOLDER holds one unpacked package per version: FOLDER/12.0/nvidia/... to FOLDER/13.5/nvidia/...
(nvidia-cuda-cupti-cu12 and nvidia-cuda-cupti from PyPI). The compiler computes the offsets (gcc,
with the CUDA toolkit's cuda.h). The newest struct of each kind is used, because CUPTI writes
records of this type. Sizes are compared with the steps that the library's
cuptiActivityGetNextRecord makes over a synthetic buffer (12.0 to 13.1 only, because newer versions
need a driver).
"""
import pathlib
import re
import subprocess
import sys
import tempfile

VERSIONS = ["12.0", "12.1", "12.2", "12.3", "12.4", "12.5", "12.6", "12.8", "12.9",
            "13.0", "13.1", "13.2", "13.3", "13.4", "13.5"]
CUDA = "/usr/local/cuda/include"

# Record: (activity kind, struct name without its number, fields that the simulator fills).
RECORDS = {
    "KERNEL": (10, "Kernel", """kind cacheConfig registersPerThread start end completed deviceId
        contextId streamId gridX gridY gridZ blockX blockY blockZ staticSharedMemory
        dynamicSharedMemory localMemoryPerThread localMemoryTotal correlationId gridId name queued
        submitted launchType sharedMemoryExecuted graphNodeId graphId channelID channelType
        clusterX clusterY clusterZ localMemoryTotal_v2 priority"""),
    "MEMCPY": (1, "Memcpy", """kind copyKind srcKind dstKind flags bytes start end deviceId
        contextId streamId correlationId runtimeCorrelationId graphNodeId graphId channelID
        channelType copyCount"""),
    "MEMCPY2": (22, "MemcpyPtoP", """kind copyKind srcKind dstKind flags bytes start end deviceId
        contextId streamId srcDeviceId srcContextId dstDeviceId dstContextId correlationId
        graphNodeId graphId channelID channelType"""),
    "MEMSET": (2, "Memset", """kind value bytes start end deviceId contextId streamId correlationId
        flags memoryKind graphNodeId graphId channelID channelType"""),
    "API": (5, "API", "kind cbid start end processId threadId correlationId returnValue"),
    "SYNC": (38, "Synchronization", """kind type start end correlationId contextId streamId
        cudaEventId cudaEventSyncId returnValue"""),
    "CUDA_EVENT": (36, "CudaEvent", """kind correlationId contextId streamId eventId deviceId
        deviceTimestamp cudaEventSyncId"""),
    "OVERHEAD": (17, "Overhead", """kind overheadKind objectKind objectId.pt.processId
        objectId.pt.threadId start end correlationId overheadData"""),
    "DEVICE": (8, "Device", """kind flags globalMemoryBandwidth globalMemorySize constantMemorySize
        l2CacheSize numThreadsPerWarp coreClockRate numMemcpyEngines numMultiprocessors maxIPC
        maxWarpsPerMultiprocessor maxBlocksPerMultiprocessor maxSharedMemoryPerMultiprocessor
        maxRegistersPerMultiprocessor maxRegistersPerBlock maxSharedMemoryPerBlock
        maxThreadsPerBlock maxBlockDimX maxBlockDimY maxBlockDimZ maxGridDimX maxGridDimY
        maxGridDimZ computeCapabilityMajor computeCapabilityMinor id uuid name isCudaVisible"""),
    "CONTEXT": (9, "Context", """kind contextId deviceId computeApiKind nullStreamId
        parentContextId numMultiprocessors processId"""),
    "STREAM": (39, "Stream", "kind contextId streamId priority flag correlationId"),
    "EXTERNAL": (39, "ExternalCorrelation", "kind externalKind externalId correlationId"),
    "GRAPH_TRACE": (51, "GraphTrace", """kind correlationId start end deviceId graphId contextId
        streamId endDeviceId endContextId"""),
}


def headers_of(package):
    return next(package.glob("nvidia/*/include/cupti_activity.h")).parent


def library_of(package):
    return next(package.glob("nvidia/*/lib/libcupti.so.1?"))


def header_text(include, names):
    text = "".join((include / n).read_text(errors="replace") for n in names
                   if (include / n).exists())
    return re.sub(r"/\*.*?\*/", "", text, flags=re.S)


def newest_struct(text, stem):
    """Returns the struct of this stem with the highest number. A name without a number counts as 1."""
    numbers = [int(n or 1) for n in re.findall(r"\}\s*CUpti_Activity%s(\d*)\s*;" % stem, text)]
    if not numbers:
        return None
    return "CUpti_Activity%s%s" % (stem, max(numbers) if max(numbers) > 1 else "")


def struct_body(text, name):
    nested = r"\{(?:[^{}]|\{(?:[^{}]|\{[^{}]*\})*\})*\}"
    return re.search(r"typedef struct[^{};]*(%s)\s*%s\s*;" % (nested, name), text).group(1)


def layouts_of(package):
    """Returns {record: (size, {field: (offset, width)})} from the compiler and this version's headers."""
    include = headers_of(package)
    text = header_text(include, ["cupti_activity.h", "cupti_activity_deprecated.h"])
    lines = []
    for record, (_, stem, fields) in RECORDS.items():
        name = newest_struct(text, stem)
        if name is None:
            continue
        body = struct_body(text, name)
        lines.append(f'printf("{record} size %zu 0\\n", sizeof({name}));')
        for field in fields.split():
            if re.search(r"\b%s\b" % field.split(".")[0], body):
                lines.append(f'printf("{record} {field} %zu %zu\\n", offsetof({name}, {field}),'
                             f' sizeof((({name} *)0)->{field}));')
    lines.append('printf("VERSION size %u 0\\n", CUPTI_API_VERSION);')
    with tempfile.TemporaryDirectory() as folder:
        source = pathlib.Path(folder, "offsets.c")
        source.write_text("#include <cupti_version.h>\n#include <cupti_activity.h>\n#include <stddef.h>\n#include <stdio.h>\n"
                          "int main(void) {\n" + "\n".join(lines) + "\nreturn 0;}\n")
        subprocess.run(["gcc", "-w", "-I", include, "-I", CUDA, source, "-o", folder + "/offsets"],
                       check=True)
        output = subprocess.run([folder + "/offsets"], check=True, capture_output=True, text=True)
    layouts = {}
    for line in output.stdout.splitlines():
        record, field, offset, width = line.split()
        if field == "size":
            layouts[record] = (int(offset), {})
        else:
            layouts[record][1][field] = (int(offset), int(width))
    return layouts


def kind_number(text, name):
    return int(re.search(r"CUPTI_ACTIVITY_KIND_%s\s*=\s*(\d+)" % name, text).group(1))


def facts_of(package):
    """Returns this version's highest kind and its numbers of callback ids."""
    text = header_text(headers_of(package), ["cupti_activity.h"])
    kinds = [int(n) for n in re.findall(r"CUPTI_ACTIVITY_KIND_\w+\s*=\s*(\d+)\s*[,}]", text)]
    return {"max_kind": max(kinds),
            "runtime": len(cbid_names(package, "runtime")),
            "driver": len(cbid_names(package, "driver"))}


def cbid_names(package, domain):
    prefix = {"runtime": "CUPTI_RUNTIME_TRACE_CBID_", "driver": "CUPTI_DRIVER_TRACE_CBID_"}[domain]
    text = header_text(headers_of(package), [f"cupti_{domain}_cbid.h"])
    found = {int(n): name for name, n in re.findall(prefix + r"(\w+)\s*=\s*(\d+)", text)}
    return [found.get(i, "") if i else "" for i in range(max(found) + 1)]


STEPS = """
import ctypes, os, sys
library = ctypes.CDLL(sys.argv[1])
for kind in range(1, 64):
    buffer = (ctypes.c_uint32 * 4096)(*([1] * 4096))
    buffer[0] = kind
    record = ctypes.c_void_p()
    steps = []
    for _ in range(2):
        if library.cuptiActivityGetNextRecord(buffer, ctypes.c_size_t(16384), ctypes.byref(record)):
            break
        steps.append(record.value)
    if len(steps) == 2:
        print(kind, steps[1] - steps[0])
sys.stdout.flush()
os._exit(0)
"""


def steps_of(package):
    """Returns {kind: bytes} with which the real library steps through a buffer; empty if the library does not
    answer."""
    run = subprocess.run([sys.executable, "-c", STEPS, str(library_of(package))],
                         capture_output=True, text=True)
    return {int(a): int(b) for a, b in (line.split() for line in run.stdout.splitlines())}


def functions_of(package):
    output = subprocess.run(["nm", "-D", "--defined-only", library_of(package)], check=True,
                            capture_output=True, text=True).stdout
    return {m for m in re.findall(r" T (cupti\w+)", output)
            if not re.search(r"Profiler|Sampling|Metric|EventGroup|EventDomain|Sass|Checkpoint"
                             r"|OpenACC|OpenMp|Nvtx|Event(GetId|GetAttr)|ClockControl", m)}


def identifier(field):
    return field.split(".")[-1]


# Field ids of user-defined records whose names differ from the members' names.
FIELD_NAMES = {("KERNEL", "LAUNCHPRIORITY"): "priority", ("KERNEL", "LOCALMEMORYTOTAL"): "localMemoryTotal_v2"}
FIELD_PREFIXES = {"SYNC": "SYNCHRONIZATION", "EXTERNAL": "EXTERNAL_CORRELATION"}


def field_ids(package):
    """Returns {record: [(id, field)]} of the fields that the simulator fills, from the enums of this
    version's header."""
    text = re.sub(r"//[^\n]*", "", header_text(headers_of(package), ["cupti_activity.h"]))
    ids = {}
    for record, (_, _, fields) in RECORDS.items():
        prefix = FIELD_PREFIXES.get(record, record) + "_FIELD_"
        known = {identifier(f).upper(): identifier(f) for f in fields.split()}
        body = re.search(r"\{\s*(%sKIND\s*=\s*0.*?)\}" % prefix, text, re.S).group(1)
        names = [n.split("=")[0].strip() for n in body.split(",") if n.strip()]
        ids[record] = []
        for number, name in enumerate(names):
            plain = name[len(prefix):].replace("_", "")
            field = FIELD_NAMES.get((record, plain)) or known.get(plain)
            if field:
                ids[record].append((number, field))
    return ids


def c_layouts(layouts):
    """Returns the C text of the distinct layouts, and for each version the name of each record's layout."""
    lines, names, rows = [], {}, {}
    for version in VERSIONS:
        rows[version] = {}
        for record in RECORDS:
            if record not in layouts[version]:
                continue
            size, fields = layouts[version][record]
            key = (record, size, tuple(sorted(fields.items())))
            if key not in names:
                names[key] = f"{record.lower()}_{version.replace('.', '_')}"
                cells = ", ".join("[F_%s] = {%d, %d}" % (identifier(f), o, w)
                                  for f, (o, w) in fields.items())
                lines.append(f"static const struct sim_layout {names[key]} = {{\n"
                             f"    .size = {size}, .field = {{{cells}}}}};")
            rows[version][record] = names[key]
    return lines, rows


def main():
    root, here = pathlib.Path(sys.argv[1]), pathlib.Path(__file__).parent
    packages = {v: root / v for v in VERSIONS}
    newest = header_text(headers_of(packages[VERSIONS[-1]]), ["cupti_activity.h"])
    kinds = {"SYNC": "SYNCHRONIZATION", "EXTERNAL": "EXTERNAL_CORRELATION", "API": "RUNTIME",
             "KERNEL": "CONCURRENT_KERNEL"}
    kind = {r: kind_number(newest, kinds.get(r, r)) for r in RECORDS}
    layouts = {v: layouts_of(p) for v, p in packages.items()}
    for version, package in packages.items():
        steps = steps_of(package)
        for record, (size, _) in ((r, x) for r, x in layouts[version].items() if r != "VERSION"):
            step = steps.get(kind[record], size)
            if step != size:
                sys.exit(f"{version} {record}: header says {size}, the library steps {step}")
        print(version, "checked against the library" if steps else "headers alone")

    fields = sorted({identifier(f) for _, _, fs in RECORDS.values() for f in fs.split()})
    body, rows = c_layouts(layouts)
    banner = "/* Generated by generate.py from NVIDIA's CUPTI packages 12.0 to 13.5. */\n"
    out = [banner + "/* clang-format off */", "enum sim_field {"]
    out += [f"    F_{f}," for f in fields] + ["    F_COUNT", "};", "", "enum sim_record {"]
    out += [f"    R_{r}," for r in RECORDS] + ["    R_COUNT", "};", ""]
    out += ["struct sim_layout {", "    uint16_t size;", "    struct {",
            "        uint16_t offset, width; /* width 0: this version has no such field */",
            "    } field[F_COUNT];", "};", ""] + body
    out += ["", "static const struct sim_version sim_versions[] = {"]
    for version in VERSIONS:
        facts = facts_of(packages[version])
        cells = ", ".join(f"[R_{r}] = &{n}" for r, n in rows[version].items())
        out.append(f"    {{\"{version}\", {layouts[version]['VERSION'][0]}, {facts['max_kind']}, "
                   f"{facts['runtime']}, {facts['driver']},\n     {{{cells}}}}},")
    out += ["};", ""]
    out += ["/* Fields of user-defined records, by NVIDIA's ids; those that the simulator fills. */",
            "static const struct sim_field_id {", "    uint8_t record, id, field;",
            "} sim_field_ids[] = {"]
    ids = {v: field_ids(packages[v]) for v in VERSIONS if v >= "13.2"}
    for v in ids:  # newer versions only add ids
        assert all(set(ids["13.2"][r]) <= set(ids[v][r]) for r in RECORDS), v
    for record, known in ids[VERSIONS[-1]].items():
        out += [f"    {{R_{record}, {number}, F_{field}}}," for number, field in known]
    out += ["};", ""]
    text = "\n".join(out)
    version_struct = ("struct sim_version {\n    const char *name;\n    uint32_t number; "
                      "/* cuptiGetVersion */\n    uint32_t max_kind, runtime_cbids, driver_cbids;\n"
                      "    const struct sim_layout *layout[R_COUNT];\n};\n\n")
    marker = "static const struct sim_version"
    (here / "layout_table.h").write_text(text.replace(marker, version_struct + marker))

    last = packages[VERSIONS[-1]]
    out = [banner + "/* clang-format off */"]
    for domain in ("runtime", "driver"):
        out.append(f"static const char *const sim_{domain}_names[] = {{")
        out += [f"    \"{n}\"," if n else "    NULL," for n in cbid_names(last, domain)] + ["};"]
    (here / "cbid_names.h").write_text("\n".join(out) + "\n")

    have = {v: functions_of(p) for v, p in packages.items()}
    every = sorted(set().union(*have.values()))
    (here / "exports.txt").write_text("".join(
        f"{f} {' '.join(v for v in VERSIONS if f in have[v])}\n" for f in every))


if __name__ == "__main__":
    main()
