"""Exports of nsys (`nsys export --type sqlite`) as input of every command: recordings of real GPUs, small
databases in the form of each version, and databases that are damaged, locked or of other programs."""
import json
import re
import shlex
import sqlite3

import pytest

import harness
from edges_tool import edges
from real_traces import TRACES
from test_tool import check, one_line, run

NSYS = TRACES / "nsys"
PID, TID = 4242, 4243
PROCESS = 1 << 48 | PID << 24
NONE = 0xffffffff
BASE = 7889238 * 10**9 * 220  # Kineto's form of a base: the same for all ranks of a job
EPOCH = BASE + 5_000_000_000

# ---- recordings of real GPUs (shared/traces/nsys/README.md) ----

REAL = [
    ("streams-wsl2-rtx4060ti-nsys2026.1", "event_sync", 81_330_000, "Memcpy DtoH (Device -> Pinned)"),
    ("streams-wsl2-rtx4060ti-nsys2026.1", "module_load", 32_301_000, "Memcpy HtoD (Pinned -> Device)"),
    ("free-waits-rtx4050-nsys2024.2", "free", 10_903_000,
     "free_world(hittable **, hittable **, Camera **)"),
    ("devicesync-uvm-rtx3090-nsys2025.5", "device_sync", 547_287, "update_Q(int *, const int *, const int *)"),
    ("no-meta-no-event-table-rtx6000", "event_sync", 2_801_000, "probe_group_by_GPU2<128, 4>"),
]


@pytest.mark.parametrize("name, kind, wait_ns, source", REAL)
def test_the_longest_wait_of_a_real_recording_is_found_with_its_source(name, kind, wait_ns, source):
    path = NSYS / f"{name}.sqlite"
    if not path.exists():
        pytest.skip(f"no {path}: set SL_TEST_TRACES")
    check(path)
    found, _ = edges(path)
    longest = max((e for e in found if e["kind"] == kind and e["released"]), key=lambda e: e["wait_ns"])
    assert source in longest["src_name"] and abs(longest["wait_ns"] - wait_ns) < 1000
    run("report", path)


@pytest.mark.skipif(not NSYS.is_dir(), reason="no recordings of nsys: set SL_TEST_TRACES")
def test_the_wait_of_81_ms_is_that_of_the_copy_on_the_legacy_stream():
    found, _ = edges(NSYS / "streams-wsl2-rtx4060ti-nsys2026.1.sqlite")
    (wait,) = (e for e in found if e["kind"] == "event_sync" and e["released"])
    assert (wait["src_correlation"], wait["dst_correlation"]) == (146, 148)
    assert abs(wait["wake_ns"] - 94_000) < 1000


# ---- databases of each version ----

OPERATION = "start end deviceId contextId {green}streamId correlationId globalPid"
OLD = {
    "RUNTIME": "start end eventClass globalTid correlationId nameId returnValue",
    "KERNEL": f"{OPERATION} demangledName shortName registersPerThread gridX gridY gridZ blockX blockY "
              "blockZ staticSharedMemory dynamicSharedMemory graphNodeId",
    "MEMCPY": f"{OPERATION} bytes copyKind srcKind dstKind migrationCause graphNodeId",
    "MEMSET": f"{OPERATION} value bytes graphNodeId memKind",
    "SYNCHRONIZATION": f"{OPERATION} syncType eventId",
}
EVENT = {"CUDA_EVENT": "deviceId contextId {green}streamId correlationId globalPid eventId"}
# By schema: the tables with their columns, what syncType says, and the table of the version.
FAMILIES = {
    "no version": (OLD, "", {"device": 1, "event": 2, "stream": 3, "wait": 3}, None),
    "2.7": ({**OLD, **EVENT}, "", {"device": 1, "event": 2, "stream": 3, "wait": 3}, "EXPORT_META_DATA"),
    "3.11": ({**OLD, **EVENT}, "greenContextId ", {"device": 1, "event": 2, "stream": 3, "wait": 3},
             "META_DATA_EXPORT"),
    "3.14": ({**OLD, **EVENT}, "greenContextId ", {"device": 0, "event": 1, "stream": 2, "wait": 3},
             "META_DATA_EXPORT"),
    "3.24": ({**OLD, "KERNEL": OLD["KERNEL"] + " graphId",
              "SYNCHRONIZATION": OLD["SYNCHRONIZATION"] + " deprecatedSyncType eventSyncId",
              "CUDA_EVENT": "timestamp " + EVENT["CUDA_EVENT"] + " eventSyncId",
              "OVERHEAD": "start end eventClass globalTid correlationId nameId overheadType"},
             "greenContextId ", {"device": 4, "event": 1, "stream": 2, "wait": 2}, "META_DATA_EXPORT"),
}
KERNEL = "void f<float>(float*, \"\u00fc\\\")"

# A program: calls (name, correlation, start, end), operations and waits, in microseconds.
CALLS = [("cuInit", 1, 1, 5), ("cudaMemcpyAsync_v3020", 2, 10, 14), ("cudaLaunchKernel_v7000", 3, 20, 24),
         ("cudaEventRecord_v3020", 4, 26, 27), ("cudaStreamWaitEvent_v3020", 5, 28, 29),
         ("cudaLaunchKernel_v7000", 6, 30, 34), ("cudaEventSynchronize_v3020", 7, 40, 205),
         ("cudaStreamSynchronize_v3020", 8, 210, 305), ("cudaMemsetAsync_v3020", 9, 310, 312),
         ("cudaDeviceSynchronize_v3020", 10, 320, 405), ("cuMemcpyDtoH_v2", 11, 410, 450)]
CBIDS = {"cuInit": 1, "cudaMemcpyAsync": 41, "cudaLaunchKernel": 211, "cudaEventRecord": 135,
         "cudaStreamWaitEvent": 147, "cudaEventSynchronize": 137, "cudaStreamSynchronize": 131,
         "cudaMemsetAsync": 51, "cudaDeviceSynchronize": 165, "cuMemcpyDtoH": 278}
OPERATIONS = [("MEMCPY", 2, 15, 20, 13, 1, 1, 2), ("KERNEL", 3, 25, 200, 13), ("KERNEL", 6, 201, 300, 14),
              ("MEMSET", 9, 315, 400, 13), ("MEMCPY", 11, 420, 440, 7, 2, 2, 0)]
WAITS = [("wait", 5, 28, 29, 14, 1), ("event", 7, 40, 204, NONE, 1), ("stream", 8, 210, 304, 14, NONE),
         ("device", 10, 320, 404, NONE, NONE)]


class Database:
    """An export of nsys in the making."""

    def __init__(self, path):
        self.path, self.columns, self.strings = path, {}, {}
        self.db = sqlite3.connect(path)
        self.table("StringIds", "id value")
        self.table("TARGET_INFO_SESSION_START_TIME", "utcEpochNs utcTime", utcEpochNs=EPOCH)
        self.table("TARGET_INFO_GPU", "id name cuDevice", id=0, name="NVIDIA T", cuDevice=0)

    def table(self, name, columns, /, **row):
        self.columns[name] = columns.split()
        self.db.execute(f'CREATE TABLE "{name}" ({",".join(self.columns[name])})')
        if row:
            self.add(name, **row)

    def add(self, name, /, **row):
        """Adds a row. Values of columns that the table lacks are left out."""
        self.db.execute(f'INSERT INTO "{name}" VALUES ({",".join("?" * len(self.columns[name]))})',
                        [row.get(column) for column in self.columns[name]])

    def string(self, text):
        if text not in self.strings:
            self.strings[text] = len(self.strings)
            self.add("StringIds", id=self.strings[text], value=text)
        return self.strings[text]

    def done(self):
        self.db.commit()
        self.db.close()
        return self.path


def make_database(path, family):
    tables, green, sync_types, version = FAMILIES[family]
    d = Database(path)
    if version:
        d.table(version, "name value", name="EXPORT_SCHEMA_VERSION", value=family + ".0")
    for name, columns in tables.items():
        d.table("CUPTI_ACTIVITY_KIND_" + name, columns.format(green=green))
    d.table("NVTX_EVENTS", "start end eventType rangeId text globalTid endGlobalTid textId domainId",
            start=8000, end=500_000, eventType=59, text=None, textId=d.string("train \"it\""),
            globalTid=PROCESS | TID, domainId=0)
    d.add("NVTX_EVENTS", start=0, eventType=75, text="a domain", globalTid=PROCESS | TID, domainId=1)
    d.table("TARGET_INFO_CUDA_STREAM", "streamId hwId vmId processId contextId priority flag")
    d.table("TARGET_INFO_CUDA_NULL_STREAM", "streamId hwId vmId processId deviceId contextId",
            streamId=7, processId=PID, deviceId=0, contextId=1)
    for stream, flag in ((7, 3), (13, 2), (14, 2)):
        d.add("TARGET_INFO_CUDA_STREAM", streamId=stream, processId=PID, contextId=1, flag=flag)
    place = {"deviceId": 0, "contextId": 1, "globalPid": PROCESS}
    for name, correlation, start, end in CALLS:
        d.add("CUPTI_ACTIVITY_KIND_RUNTIME", start=start * 1000, end=end * 1000, returnValue=0,
              eventClass=0 if name.startswith("cuda") else 1, globalTid=PROCESS | TID,
              correlationId=correlation, nameId=d.string(name))
    for kind, correlation, start, end, stream, *copy in OPERATIONS:
        row = {**place, "start": start * 1000, "end": end * 1000, "streamId": stream,
               "correlationId": correlation, "bytes": 4096, "memKind": 2, "registersPerThread": 32,
               "demangledName": d.string(KERNEL), "staticSharedMemory": 16, "dynamicSharedMemory": 1024,
               **{f"{what}{axis}": 2 for what in ("grid", "block") for axis in "XYZ"}}
        if copy:
            row |= {"copyKind": copy[0], "srcKind": copy[1], "dstKind": copy[2]}
        d.add("CUPTI_ACTIVITY_KIND_" + kind, **row)
    for kind, correlation, start, end, stream, event in WAITS:
        d.add("CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", **place, start=start * 1000, end=end * 1000,
              streamId=stream, eventId=event, correlationId=correlation, syncType=sync_types[kind],
              eventSyncId=1 if event == 1 else NONE)
    if "CUDA_EVENT" in tables:
        d.add("CUPTI_ACTIVITY_KIND_CUDA_EVENT", **place, streamId=13, eventId=1, correlationId=4,
              eventSyncId=1, timestamp=0)
    # A migration of unified memory has no call and no stream.
    d.add("CUPTI_ACTIVITY_KIND_MEMCPY", start=16_000, end=900_000, deviceId=0, contextId=0, streamId=0,
          correlationId=0, globalPid=PROCESS, bytes=4096, copyKind=11, migrationCause=2)
    return d.done()


def make_kineto(path, has_records):
    """Writes the rows of make_database() as torch.profiler would."""
    def times(start, end):
        return {"ts": 5_000_000 + start, "dur": end - start}

    def gpu(stream):
        return {"pid": 0, "tid": stream}

    sync_names = {"wait": "Stream Wait Event", "event": "Event Sync", "stream": "Stream Sync",
                  "device": "Context Sync"}
    copies = {(1, 1, 2): "Memcpy HtoD (Pinned -> Device)", (2, 2, 0): "Memcpy DtoH (Device -> Pageable)"}
    events = [{"ph": "X", "cat": "user_annotation", "name": "train \"it\"", "pid": PID, "tid": TID,
               **times(8, 500), "args": {}}]
    for stream, flag in ((7, 3), (13, 2), (14, 2)):
        events.append({"ph": "M", "name": "thread_name", **gpu(stream), "ts": 0,
                       "args": {"name": f"stream {stream}", "context": 1, "stream flags": flag}})
    for name, correlation, start, end in CALLS:
        name = name.split("_v")[0]
        events.append({"ph": "X", "cat": "cuda_runtime" if name.startswith("cuda") else "cuda_driver",
                       "name": name, "pid": PID, "tid": TID, **times(start, end),
                       "args": {"cbid": CBIDS[name], "correlation": correlation}})
    for kind, correlation, start, end, stream, *copy in OPERATIONS:
        args = {"device": 0, "context": 1, "stream": stream, "correlation": correlation}
        if kind == "KERNEL":
            args |= {"registers per thread": 32, "shared memory": 1040, "grid": [2] * 3, "block": [2] * 3}
        else:
            args |= {"bytes": 4096, "memory bandwidth (GB/s)": round(4.096 / (end - start), 6)}
        events.append({"ph": "X", **gpu(stream), **times(start, end), "args": args,
                       "cat": {"KERNEL": "kernel", "MEMCPY": "gpu_memcpy", "MEMSET": "gpu_memset"}[kind],
                       "name": {"KERNEL": KERNEL, "MEMSET": "Memset (Device)"}.get(kind) or
                       copies[tuple(copy)]})
    for kind, correlation, start, end, stream, event in WAITS:
        args = {"cuda_sync_kind": sync_names[kind], "stream": -1 if stream == NONE else stream,
                "correlation": correlation, "device": 0, "context": 1}
        if event != NONE:
            args["wait_on_cuda_event_id"] = event
            if has_records:
                args |= {"wait_on_stream": 13, "wait_on_cuda_event_record_corr_id": 4}
        events.append({"ph": "X", "cat": "cuda_sync", "name": sync_names[kind],
                       **gpu(1_000_000 + (0 if stream == NONE else stream)), **times(start, end),
                       "args": args})
    path.write_text(json.dumps({"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "NVIDIA T"}],
                                "baseTimeNanoseconds": BASE, "traceEvents": events}))
    return path


def without_paths(report, *paths):
    text = json.dumps(report)
    for path in paths:
        text = text.replace(str(path), "PATH").replace(path.name, "PATH")
    return json.loads(text)


@pytest.mark.parametrize("family", FAMILIES)
def test_an_export_gives_what_a_kineto_trace_of_the_same_rows_gives(tmp_path, family):
    nsys = make_database(tmp_path / "a.sqlite", family)
    kineto = make_kineto(tmp_path / "b.json", has_records="CUDA_EVENT" in FAMILIES[family][0])
    check(nsys)
    assert edges(nsys) == edges(kineto)
    found = {(e["kind"], e["src_correlation"], e["dst_correlation"]) for e in edges(nsys)[0] if e["released"]}
    assert {("stream_sync", 6, 8), ("device_sync", 9, 10)} <= found
    if "CUDA_EVENT" in FAMILIES[family][0]:
        assert ("event_sync", 3, 7) in found
    ours, theirs = (json.loads(run("report", "--json", path)[0]) for path in (nsys, kineto))
    assert without_paths(ours, nsys) == without_paths(theirs, kineto)


def test_every_command_takes_an_export_and_its_conversion_is_a_kineto_trace(tmp_path):
    nsys = make_database(tmp_path / "a.sqlite", "3.24")
    for options in (["-o", tmp_path / "a.json"], ["-o", tmp_path / "a.0.et"]):
        run("convert", nsys, *options)
    run("check", tmp_path / "a.json")
    run("check", tmp_path / "a.0.et")
    events = json.loads((tmp_path / "a.json").read_text())["traceEvents"]
    starts = [e["ts"] for e in events if e["ph"] == "X" and e["cat"] != "unified_memory"]
    assert starts == sorted(starts)
    (migration,) = (e for e in events if e.get("cat") == "unified_memory")
    assert "stream" not in migration["args"] and migration["args"]["bytes"] == 4096
    assert edges(tmp_path / "a.json") == edges(nsys)
    (tmp_path / "a.json").unlink()
    assert "1 rank" in run("report", tmp_path)[0]


def test_the_commands_of_the_page_for_users_of_nsys_work(tmp_path):
    page = (harness.REPO / "docs" / "from-nsys.md").read_text()
    (block,) = re.findall("```sh\n(.*?)```", page, re.DOTALL)
    commands = [shlex.split(line, comments=True) for line in block.splitlines()]
    make_database(tmp_path / "report.sqlite", "3.24")
    for command in commands:
        run(*command[1:], cwd=tmp_path)
    assert len(commands) == 6 and (tmp_path / "report.html").exists()


# ---- names, overheads, several processes ----

def test_hostile_names_stay_names(tmp_path):
    names = [b'a"b\\c\n\x01\x00z', b"\xff\xfe\xc3(", "\u00fc\U0001f600".encode(), b"</script>]}", b"", b"x" * 100_000]
    d = Database(tmp_path / "odd ?#%41.sqlite")
    d.table("NVTX_EVENTS", "start end eventType text globalTid textId")
    d.table("CUPTI_ACTIVITY_KIND_RUNTIME", OLD["RUNTIME"])
    for i, name in enumerate(names):
        d.db.execute("INSERT INTO NVTX_EVENTS VALUES (?, ?, 59, CAST(? AS TEXT), ?, NULL)",
                     (i * 10, i * 10 + 5, name, PROCESS | TID))
    d.table("ANALYSIS_DETAILS", "stopTime", stopTime=2**63 - 1)
    d.table("PROCESSES", "pid name", pid=PID, name="\x02" * 100_000)
    for gpu in range(1, 70):
        d.add("TARGET_INFO_GPU", id=gpu, name="\x01" * 100_000)
    d.add("NVTX_EVENTS", start=5, eventType=59, text="never ended", globalTid=PROCESS | TID)
    d.add("NVTX_EVENTS", start="no time", end=-2**63, eventType=59, text="t", globalTid=PROCESS | TID)
    d.add("NVTX_EVENTS", start=900, end=950, eventType=60, text=None, textId=777, globalTid=PROCESS | TID)
    d.add("CUPTI_ACTIVITY_KIND_RUNTIME", start=1, end=2, eventClass=0, globalTid=PROCESS | TID,
          correlationId=1, nameId=-5, returnValue=0)
    path = d.done()
    check(path)
    run("convert", path, "-o", tmp_path / "a.json")
    ranges = [e["name"] for e in json.loads((tmp_path / "a.json").read_text())["traceEvents"]
              if e.get("cat") == "user_annotation"]
    assert ranges[0] == 'a"b\\c\n\x01\0z' and ranges[1] == "\\xff\\xfe\\xc3("
    assert ranges[2] == "\u00fc\U0001f600" and ranges[3] == "</script>]}" and ranges[-1] == "(no name)"


def test_a_file_of_several_processes_keeps_their_calls_apart(tmp_path):
    d = Database(tmp_path / "a.sqlite")
    d.table("CUPTI_ACTIVITY_KIND_RUNTIME", OLD["RUNTIME"])
    d.table("CUPTI_ACTIVITY_KIND_KERNEL", OLD["KERNEL"].format(green=""))
    for process in (1, 2):
        pid = 1 << 48 | process << 24
        d.add("CUPTI_ACTIVITY_KIND_RUNTIME", start=process * 10, end=process * 10 + 5, eventClass=0,
              globalTid=pid | process, correlationId=9, nameId=d.string("cudaLaunchKernel_v7000"), returnValue=0)
        d.add("CUPTI_ACTIVITY_KIND_KERNEL", start=process * 100, end=process * 100 + 50, deviceId=process - 1,
              contextId=1, streamId=7, correlationId=9, globalPid=pid, demangledName=d.string("f()"))
    path = d.done()
    assert not problems_of(check(path)) & {"call_twice"}
    run("convert", path, "-o", tmp_path / "a.json")
    events = json.loads((tmp_path / "a.json").read_text())["traceEvents"]
    ids = [e["args"]["correlation"] for e in events if e.get("cat") in ("cuda_runtime", "kernel")]
    assert len(set(ids)) == 2 and len(ids) == 4


def problems_of(report):
    return {p["id"] for p in report["problems"]}


# ---- files that are no whole export ----

def refused(path, *words):
    for command in (["check"], ["edges"], ["report"], ["convert", "-o", path.with_suffix(".json")]):
        out, error = run(*command[:1], path, *command[1:], status=2)
        line = one_line(error)
        assert path.name in line and all(word in line for word in words), line


def test_other_files_are_refused_in_one_line(tmp_path):
    other = sqlite3.connect(tmp_path / "other.sqlite")
    other.execute("CREATE TABLE StringIds (id, value)")
    other.commit()
    refused(tmp_path / "other.sqlite", "another program")
    whole = make_database(tmp_path / "whole.sqlite", "3.24").read_bytes()
    for size in (50, 1000, len(whole) // 2):
        cut = tmp_path / f"cut{size}.sqlite"
        cut.write_bytes(whole[:size])
        refused(cut, "damaged or incomplete")
    (tmp_path / "empty.sqlite").write_bytes(b"")
    refused(tmp_path / "empty.sqlite", "empty")
    (tmp_path / "r.nsys-rep").write_bytes(b"anything")
    refused(tmp_path / "r.nsys-rep", "nsys export --type sqlite")


def test_a_page_that_is_damaged_costs_only_what_follows(tmp_path):
    d = Database(tmp_path / "a.sqlite")
    d.table("CUPTI_ACTIVITY_KIND_RUNTIME", OLD["RUNTIME"])
    for i in range(1, 5000):
        d.add("CUPTI_ACTIVITY_KIND_RUNTIME", start=i * 10, end=i * 10 + 5, eventClass=0,
              globalTid=PROCESS | TID, correlationId=i, nameId=d.string("cudaLaunchKernel_v7000"), returnValue=0)
    path = d.done()
    data = bytearray(path.read_bytes())
    page = len(data) // 2 // 4096 * 4096
    data[page:page + 4096] = b"\xff" * 4096
    path.write_bytes(data)
    out, _ = run("check", "--json", path, status=1)
    assert "database" in out and "damaged" in out
    run("convert", path, "-o", tmp_path / "a.json", status=1)
    calls = json.loads((tmp_path / "a.json").read_text())["traceEvents"]
    assert 100 < len(calls) < 10_000


def test_locks_journals_and_views_are_ignored(tmp_path):
    path = make_database(tmp_path / "a.sqlite", "3.24")
    expected = edges(path)
    lock = sqlite3.connect(path, isolation_level=None)
    lock.execute("BEGIN EXCLUSIVE")
    assert edges(path) == expected
    lock.execute("ROLLBACK")
    lock.execute("PRAGMA journal_mode=WAL")
    lock.execute("UPDATE StringIds SET value = 'changed'")
    before = sorted(tmp_path.iterdir())
    assert (tmp_path / "a.sqlite-wal").stat().st_size > 0
    assert edges(path) == expected
    assert sorted(tmp_path.iterdir()) == before
    lock.close()
    endless = make_database(tmp_path / "b.sqlite", "2.7")
    db = sqlite3.connect(endless)
    db.execute("CREATE VIEW CUPTI_ACTIVITY_KIND_OVERHEAD AS WITH RECURSIVE r(x) AS "
               "(SELECT 1 UNION ALL SELECT x + 1 FROM r) SELECT x AS start, x AS end, x AS overheadType FROM r")
    db.commit()
    db.close()
    run("check", endless)
