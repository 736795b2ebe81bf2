"""Plays recordings of real GPUs on the simulated CUPTI (tests/replay). syncline's trace has the recorded
events."""
import collections
import decimal
import json
import re
import subprocess

import pytest

import documented_calls
import harness
from player import dumped, play, played
from real_traces import REAL, TRACES, real

import kineto  # `import player` has added the folder of kineto.py to sys.path
from tiers import cupti_versions

NAMES = [path.name for path in REAL]

GPU = ("kernel", "gpu_memcpy", "gpu_memset")
CALLS = ("cuda_runtime", "cuda_driver")
# Args that must be equal in both files, in every row of the recording that has them.
EXACT = {"correlation", "cbid", "device", "context", "grid", "block", "registers per thread",
         "shared memory", "queued", "bytes", "priority", "graph id", "graph node id", "fromDevice",
         "inDevice", "toDevice", "fromContext", "inContext", "toContext", "cuda_sync_kind",
         "wait_on_stream", "wait_on_cuda_event_id", "wait_on_cuda_event_record_corr_id"}
BANDWIDTH = "memory bandwidth (GB/s)"
# libkineto's name of this call has a version suffix. syncline's names have no suffix
# (tests/replay/README.md).
SUFFIXED = {"cudaStreamGetCaptureInfo_v2": "cudaStreamGetCaptureInfo"}
# Args computed from the kernel and the device. They are compared in as many digits as both files
# have.
COMPUTED = ("blocks per SM", "warps per SM", "est. achieved occupancy %")


def value(key, x):
    if isinstance(x, list):
        return tuple(map(int, x))
    if isinstance(x, str) and key == "cuda_sync_kind":
        return x
    assert decimal.Decimal(x) == int(x), (key, x)
    return int(x)


def row(event, name, start, end, keys):
    """Returns the values of a row that must be equal in both files, as a tuple. It leaves out the
    track. The track of a GPU row follows from its args, and check_places() checks the track of a
    wait. CPU rows have the player's process id instead of the recorded id."""
    args = event["args"]
    stream = args["stream"] % (1 << 32) if "stream" in args else None
    place = event["tid"] % (1 << 32) if event["cat"] in CALLS else stream
    return (event["cat"], name, start, end, place,
            tuple((key, value(key, args[key])) for key in keys if key in args))


def rows_differ(recorded, trace, wanted=lambda event: True):
    """Returns "" if the trace has exactly the wanted rows of the recording, else the difference. Args that
    the recording never has in a category are not compared."""
    cats = (*GPU, *CALLS, "cuda_sync")
    has = collections.defaultdict(set)
    for event in kineto.rows(recorded, *cats):
        has[event["cat"]] |= event["args"].keys() & EXACT
    expected = [row(event, SUFFIXED.get(event["name"], event["name"]), *kineto.times(recorded, event), sorted(has[event["cat"]]))
                for event in kineto.rows(recorded, *cats) if wanted(event)]
    return harness.difference(expected, [
        row(event, event["name"], event["start"], event["end"], sorted(has[event["cat"]]))
        for event in trace.of(*cats)])


def check_computed(recorded, trace):
    """Compares the args that syncline and libkineto both compute from the device's properties. For
    a kernel that uses more shared memory than the default limit, libkineto's occupancy is wrong (0
    %)."""
    if "deviceProperties" not in recorded:
        return
    ours = {(e["args"]["correlation"], e["start"]): e["args"] for e in trace.of("kernel")}
    for event in kineto.rows(recorded, "kernel"):
        mine = ours[event["args"]["correlation"], kineto.times(recorded, event)[0]]
        usual = recorded["deviceProperties"][event["args"]["device"]]["sharedMemPerBlock"]
        for key in COMPUTED:
            if key in event["args"] and (key != COMPUTED[-1]
                                         or event["args"]["shared memory"] <= usual):
                theirs, my = decimal.Decimal(event["args"][key]), decimal.Decimal(mine[key])
                assert abs(theirs - my) <= decimal.Decimal("0.01"), (key, event, mine)


def check_bandwidth(recorded, trace):
    """Compares bandwidths. syncline computes a row's bandwidth from the row's own duration. libkineto used
    nanoseconds, although the file may have whole microseconds."""
    ours = {(e["cat"], e["args"]["correlation"], e["start"]): e for e in trace.of(*GPU[1:])}
    theirs = kineto.rows(recorded, *GPU[1:])
    step = 1 if any(event["dur"] % 1 for event in kineto.rows(recorded, *GPU)) else 1000
    compared_rows = 0
    for event in theirs:
        start, end = kineto.times(recorded, event)
        mine = ours[event["cat"], event["args"]["correlation"], start]
        count, length = decimal.Decimal(mine["args"]["bytes"]), mine["end"] - mine["start"]
        assert (BANDWIDTH in mine["args"]) == (length > 0), mine
        if not length:
            continue
        my = decimal.Decimal(mine["args"][BANDWIDTH])
        digit = decimal.Decimal("0.001" if my >= 1 else "0.000001")
        assert 0 <= count / length - my < digit, mine
        if BANDWIDTH in event["args"]:
            least = count / (end - start + step) - digit if step > 1 else my - digit
            assert least <= event["args"][BANDWIDTH] <= my + digit, (event, mine)
            compared_rows += 1
    assert compared_rows or not any(BANDWIDTH in event["args"] for event in theirs)


def check_places(trace):
    for event in trace.of(*GPU):
        assert (event["pid"], event["tid"]) == (event["args"]["device"], event["args"]["stream"])
    for event in trace.of("cuda_sync"):
        track = {"Stream Wait Event": event["args"]["stream"],
                 "Stream Sync": event["args"]["stream"] + 1000000}.get(event["name"], 1000000)
        assert (event["pid"], event["tid"]) == (event["args"]["device"], track), event
    assert len({event["pid"] for event in trace.of(*CALLS)}) == 1


def check_arrows(trace):
    """Checks that there is one arrow for each operation whose launch is in the recording, and no
    other arrow."""
    calls = {e["args"]["correlation"]: e for e in trace.of(*CALLS)}
    wanted = collections.Counter((e["pid"], e["tid"], e["start"]) for e in trace.of(*GPU)
                                 if e["args"]["correlation"] in calls)
    found = collections.Counter((e["pid"], e["tid"], e["start"])
                                for e in trace.flows() if e["ph"] == "f")
    assert found == wanted
    starts = [e for e in trace.flows() if e["ph"] == "s"]
    tails = {e["id"]: (e["pid"], e["tid"], e["start"]) for e in starts}
    assert len(starts) == len(tails)
    assert tails == {c: (calls[c]["pid"], calls[c]["tid"], calls[c]["start"])
                     for c in {e["args"]["correlation"] for e in trace.of(*GPU)} & calls.keys()}


def check_recording(recorded, trace):
    difference = rows_differ(recorded, trace)
    assert not difference, difference
    check_places(trace)
    check_computed(recorded, trace)
    check_bandwidth(recorded, trace)
    check_arrows(trace)


@real
@pytest.mark.parametrize("name", NAMES)
def test_real_trace(tmp_path, name):
    """Plays a real trace. syncline's trace has every call, operation and wait of the real trace, and no
    others."""
    recorded = kineto.load(TRACES / name)
    trace = played(tmp_path, TRACES / name, api="all")
    assert len(trace.of("kernel")) == len(kineto.rows(recorded, "kernel")) > 0
    check_recording(recorded, trace)
    used = {e["args"]["device"] for e in trace.of(*GPU)}
    known = {d["id"]: d for d in trace.object["deviceProperties"] or
             trace.object["syncline"]["deviceProperties"]}
    for theirs in recorded.get("deviceProperties", []):
        ours = known[theirs["id"]]
        same = theirs.keys() & ours.keys() - {"sharedMemPerBlockOptin"}
        assert len(same) >= 12 and {k: ours[k] for k in same} == {k: theirs[k] for k in same}
    assert used <= known.keys()


@real
@pytest.mark.parametrize("version", cupti_versions(["12.0", "12.4", "12.8", "13.2", "13.5"]))
@pytest.mark.parametrize("name", ["simple_add.json.gz", "cuda_event_sync.json.gz"])
def test_real_trace_in_other_layouts(tmp_path, name, version):
    check_recording(kineto.load(TRACES / name),
                    played(tmp_path, TRACES / name, cupti=version, api="all"))


def edges(path):
    """Returns the edges that `syncline edges` prints for a file, by (kind, source, destination, times)."""
    done = subprocess.run([harness.TOOL, "edges", "--json", path], capture_output=True, text=True,
                          check=True, timeout=60)
    found = [json.loads(line) for line in done.stdout.splitlines()]
    return {(e["kind"], e["src_correlation"], e["src_name"], e["src_stream"], e["dst_correlation"],
             e["dst_name"], e["wait_ns"], e["wake_ns"]): e for e in found}


@real
@pytest.mark.parametrize("name, waits",
                         [("simple_add.json.gz", 16), ("cuda_event_sync.json.gz", 2)])
def test_edges_of_a_real_trace(tmp_path, name, waits):
    """The edges that syncline finds while the records arrive equal the edges that `syncline edges`
    finds in the recorded file."""
    there = {key for key, edge in edges(TRACES / name).items()
             if edge["released"] and edge["basis"] == "exact"}
    here = edges(played(tmp_path, TRACES / name, api="all").path)
    assert len(there) == waits and there <= {key for key, edge in here.items() if edge["released"]}


@real
@pytest.mark.sanitize
def test_real_trace_under_sanitizers(tmp_path):
    trace = played(tmp_path, TRACES / "simple_add.json.gz", api="all")
    check_recording(kineto.load(TRACES / "simple_add.json.gz"), trace)
    # The replay has only the first hundred rows, which are calls. The header has the devices
    # nevertheless.
    assert len(trace.object["deviceProperties"]) == 8


@real
@pytest.mark.sanitize
def test_real_trace_with_trouble(tmp_path):
    """Records are shuffled, and buffers arrive late and in another order. The rows are the same."""
    name = TRACES / "two_ranks.rank-1.json.gz"
    check_recording(kineto.load(name), played(tmp_path, name, "--cupti-shuffle", "--seed", "3",
                                              "--cupti-late", "0.3", api="all"))


@real
@pytest.mark.parametrize("version", cupti_versions(["12.0", "13.0"]))
@pytest.mark.parametrize("name", NAMES)
def test_default_filter(tmp_path, name, version):
    """With the default option, the trace has exactly the calls that are documented as recorded.
    CUPTI 12.0 cannot filter calls, so syncline filters them."""
    recorded = kineto.load(TRACES / name)
    trace = played(tmp_path, TRACES / name, cupti=version)
    difference = rows_differ(recorded, trace, lambda event:
                             event["cat"] not in CALLS or harness.in_default_filter(event["name"]))
    assert not difference, difference
    check_arrows(trace)


@real
def test_the_filter_leaves_out_what_frameworks_ask_at_every_step():
    """Applies the default filter to the calls of real jobs. The calls that are left out are those
    that the documentation lists."""
    names = {event["name"] for name in NAMES
             for event in kineto.rows(kineto.load(TRACES / name), *CALLS)}
    assert {name for name in names if name != harness.plain(name)} == SUFFIXED.keys()
    assert not [name for name in documented_calls.lists()[1] if harness.in_default_filter(name)]
    assert {name for name in names if not harness.in_default_filter(name)} == {
        "cudaStreamIsCapturing", "cudaStreamGetPriority", "cudaDeviceGetStreamPriorityRange",
        "cudaFuncSetAttribute", "cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags",
        "cudaOccupancyMaxActiveBlocksPerMultiprocessor", "cudaStreamGetCaptureInfo_v2",
        "cudaEventElapsedTime", "cudaDeviceGetAttribute", "cudaGetDeviceCount",
        "cudaDriverGetVersion", "cudaGetDeviceProperties", "cudaHostGetDevicePointer",
        "cudaGetSymbolAddress"}


# ---- events that the real traces do not have ---------------------------------------------------

def gpu_row(cat, name, start, dur, **args):
    return {"ph": "X", "cat": cat, "name": name, "ts": start, "dur": dur, "pid": args["device"],
            "tid": args["stream"], "args": args}


def odd_trace(path):
    """Writes a trace with two devices, a peer copy, graph nodes, a driver call, names with all
    kinds of bytes, and a thread id of an old kind. It also has waits for events, some of whose
    records are in the file."""
    def call(cat, name, cbid, correlation, start, tid=77):
        return {"ph": "X", "cat": cat, "name": name, "ts": start, "dur": 4.25, "pid": 4242,
                "tid": tid, "args": {"cbid": cbid, "correlation": correlation}}

    shape = {"grid": [3, 2, 1], "block": [64, 2, 2], "registers per thread": 32,
             "shared memory": 2048, "queued": 0, "priority": -3}
    rows = [
        call("cuda_runtime", "cudaLaunchKernel", 211, 1, 1.001),
        gpu_row("kernel", 'a\\b "quoted" \t \n line, \u00fc name=x y=1', 9.5, 100.125, device=0,
                context=1, stream=7, correlation=1, **shape),
        call("cuda_driver", "cuMemsetD8Async", 216, 2, 20.5, tid=-549452224),
        gpu_row("gpu_memset", "Memset (Unknown)", 40, 0, device=1, context=2, stream=13,
                correlation=2, bytes=1),
        call("cuda_runtime", "cudaGraphLaunch", 311, 3, 60),
        *[gpu_row("kernel", "node", 110 + n, 0.5, device=0, context=1, stream=7, correlation=3,
                  **shape, **{"graph id": 5, "graph node id": (5 << 32) + n}) for n in range(3)],
        gpu_row("gpu_memset", "Memset (Device)", 120, 2, device=0, context=1, stream=7,
                correlation=3, bytes=64, **{"graph id": 5, "graph node id": (5 << 32) + 9}),
        call("cuda_runtime", "cudaMemcpyPeerAsync", 161, 4, 130),
        gpu_row("gpu_memcpy", "Memcpy PtoP (Device -> Device)", 140, 7, device=0, context=1,
                stream=7, correlation=4, bytes=1 << 33, fromDevice=0, inDevice=0, toDevice=1,
                fromContext=1, inContext=1, toContext=2),
        call("cuda_runtime", "cudaMemcpyAsync", 41, 5, 150),
        gpu_row("gpu_memcpy", "Memcpy DtoH (Device -> Pinned)", 160, 1, device=1, context=2,
                stream=13, correlation=5, bytes=4),
        call("cuda_runtime", "cudaEventRecord", 135, 6, 170),
        call("cuda_runtime", "cudaStreamWaitEvent", 147, 7, 180),
        gpu_row("cuda_sync", "Stream Wait Event", 181, 1, device=1, context=2, stream=15,
                correlation=7, cuda_sync_kind="Stream Wait Event", wait_on_stream=13,
                wait_on_cuda_event_record_corr_id=6, wait_on_cuda_event_id=3),
        call("cuda_runtime", "cudaEventSynchronize", 137, 8, 190),
        gpu_row("cuda_sync", "Event Sync", 191, 1, device=1, context=2, stream=-1, correlation=8,
                cuda_sync_kind="Event Sync", wait_on_stream=13,
                wait_on_cuda_event_record_corr_id=6, wait_on_cuda_event_id=3),
        # The call of this operation is not in the file.
        gpu_row("gpu_memset", "Memset (Managed)", 195, 1, device=0, context=1, stream=7,
                correlation=99, bytes=5),
    ]
    path.write_text(json.dumps({"schemaVersion": 1, "baseTimeNanoseconds": 1_700_000_000 * 10**9,
                                "traceEvents": rows}))
    return path


@pytest.mark.sanitize
@pytest.mark.parametrize("version", cupti_versions(["12.0", "13.0", "13.5"]))
def test_odd_trace(tmp_path, version):
    path = odd_trace(tmp_path / "odd.json")
    trace = played(tmp_path, path, cupti=version, api="all")
    check_recording(kineto.load(path), trace)
    kernels = {e["name"] for e in trace.of("kernel")}
    assert 'a\\b "quoted" \t \n line, \u00fc name=x y=1' in kernels
    assert {e["tid"] for e in trace.of("cuda_driver")} == {(1 << 32) - 549452224}


def made(path, *rows):
    path.write_text(json.dumps({"baseTimeNanoseconds": 1_700_000_000 * 10**9,
                                "traceEvents": list(rows)}))
    return path


def wait_row(correlation, kind="Stream Wait Event", stream=7, **args):
    return gpu_row("cuda_sync", kind, 1000 + 10 * correlation, 1, device=0, context=1,
                   stream=stream, correlation=correlation, cuda_sync_kind=kind, **args)


def waits_of(trace):
    """Returns a map from the correlation id of each wait to the args that name the awaited stream
    or event."""
    return {event["args"]["correlation"]: {k: v for k, v in event["args"].items()
                                           if k.startswith(("wait_on", "cuda_event"))}
            for event in trace.of("cuda_sync")}


@pytest.mark.parametrize("version", cupti_versions(["12.8", "13.0"]))
def test_waits_that_name_their_event_in_every_way(tmp_path, version):
    """Waits name their event in every way that docs/trace-format.md describes. There are events
    recorded on the waiting stream, in another context, by an unknown call, and by a call that
    recorded an event on two streams. After a replay the args of the waits are unchanged."""
    rows = {
        11: {"wait_on_context": 1, "wait_on_context_stream": 7,
             "wait_on_context_record_corr_id": 3, "wait_on_cuda_event_id": 1},
        12: {"wait_on_context": 2, "wait_on_context_stream": 7,
             "wait_on_context_record_corr_id": 4, "wait_on_cuda_event_id": 1},
        13: {"wait_on_stream": 9, "wait_on_cuda_event_record_corr_id": 4,
             "wait_on_cuda_event_id": 5},
        14: {"wait_on_cuda_event_id": 2},
        15: {"wait_on_cuda_event_id": 2, "cuda_event_sync_id": 77},
        16: {"wait_on_stream": 9, "wait_on_cuda_event_record_corr_id": 4,
             "wait_on_cuda_event_id": 5},
        17: {},
    }
    path = made(tmp_path / "waits.json", *(wait_row(at, **args) for at, args in rows.items()))
    assert waits_of(played(tmp_path, path, cupti=version)) == {
        at: {k: v for k, v in args.items() if k != "cuda_event_sync_id"}
        for at, args in rows.items()}
    (tmp_path / "full").mkdir()
    full = waits_of(played(tmp_path / "full", path, cupti=version, detail="full"))
    assert full[15] == rows[15] and full[13] == full[16] and "cuda_event_sync_id" in full[13]


@pytest.mark.parametrize("version", cupti_versions(["12.0", "13.0"]))
def test_waits_of_which_torch_profiler_knows_no_record(tmp_path, version):
    """torch.profiler writes -1 for stream and call of an unknown event record. The replay makes no
    event record for such a wait, and no stream with number -1."""
    unknown = {"wait_on_stream": -1, "wait_on_cuda_event_record_corr_id": -1}
    path = made(tmp_path / "waits.json",
                wait_row(21, wait_on_cuda_event_id=2, **unknown),
                wait_row(22, "Event Sync", stream=-1, wait_on_cuda_event_id=2, **unknown))
    text = kineto.convert(kineto.load(path))
    assert "\nevent " not in text and "stream stream" not in text
    trace = played(tmp_path, path, cupti=version)
    assert waits_of(trace) == {21: {"wait_on_cuda_event_id": 2}, 22: {"wait_on_cuda_event_id": 2}}


def test_priorities_come_back(tmp_path):
    """Kernel records of CUPTI 13.0 have no priority, so a kernel has the priority of its stream.
    The record of the stream is in the buffer of another thread, which never becomes full."""
    def launch(n):
        shape = {"grid": [1, 1, 1], "block": [32, 1, 1], "priority": -3}
        call = {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "ts": 10 * n,
                "dur": 2, "pid": 5, "tid": 100 + (n > 1), "args": {"cbid": 211, "correlation": n}}
        return call, gpu_row("kernel", "k", 10 * n + 3, 5, device=0, context=1, stream=7,
                             correlation=n, **shape)
    path = made(tmp_path / "run.json", *(row for n in range(1, 40) for row in launch(n)))
    trace = played(tmp_path, path, "--cupti-buffer-records", "8", cupti="13.0")
    assert [e["args"].get("priority") for e in trace.of("kernel")] == [-3] * 39


@pytest.mark.parametrize("row, said", [
    (wait_row(1, wait_on_context=2), "the cuda_sync row 'Stream Wait Event' at ts 1010 has no "
                                     "args.wait_on_context_stream"),
    ({"ph": "X", "cat": "kernel", "name": "k"}, "the kernel row 'k' at ts None has no ts"),
    (gpu_row("gpu_memset", "Memset (Device)", 4, 1, device=0, context=1, stream=7, bytes=1),
     "has no args.correlation"),
    (gpu_row("gpu_memcpy", "Memcpy", 4, 1, device=0, context=1, stream=7, bytes=1, correlation=2),
     "has a name that does not say what was copied where"),
    (wait_row(1, "Another Sync"), "has an unknown args.cuda_sync_kind, 'Another Sync'")])
def test_a_row_that_cannot_be_played(tmp_path, row, said):
    """A row lacks an arg, so it cannot be played. The error names the row and the arg."""
    run = play(tmp_path, made(tmp_path / "run.json", row))
    assert run.status == 1 and not run.files()
    (line,) = run.stderr.splitlines()
    assert said in line and "cannot be played" in line and "is no Kineto trace" not in line


def launches(path, count):
    """Writes a recording of `count` launches with one thread for every thousand."""
    begin = 1_700_000_000 * 10**9
    with path.open("w") as f:
        f.write("syncline-replay 1\n# made up\ndevice device=0 capability=9,0 sms=132 warp=32 "
                "threads=1024,2048 blocks=32 registers=65536,65536 shared=49152,233472 name=H\n")
        for n in range(1, count + 1):
            at = begin + 1000 * n
            thread = f"at={at} pid=5 tid={100 + n // 1000} corr={n}"
            f.write(f"kernel {thread} start={at + 100} end={at + 5000} context=1 stream=7 "
                    f"grid=1,1,1 block=32,1,1 name=k{n % 7}\n"
                    f"runtime {thread} cbid=211 start={at - 50} end={at}\n")
    return path


@pytest.mark.full(seconds=3.4)
def test_a_pool_at_its_cap_is_waited_for(tmp_path):
    """The client returns no buffer for a second and has no free buffer. The replay waits for a
    buffer and loses no record. (A real run would lose records.)"""
    path = launches(tmp_path / "many.replay", 60000)
    trace = played(tmp_path, path, "--cupti-hold", "1", "--cupti-per-thread-buffers", "0",
                   cupti_memory="8MiB")
    assert trace.counters["dropped_no_buffer"] > 0
    correlations = sorted(e["args"]["correlation"] for e in trace.of("kernel"))
    assert correlations == list(range(1, 60001))
    assert len(trace.of("cuda_runtime")) == 60000


@pytest.mark.sanitize
def test_recorded_threads_have_buffers_of_their_own(tmp_path):
    """CUPTI 13 has one buffer per thread. A replay uses one buffer for each recorded thread."""
    path = launches(tmp_path / "many.replay", 9999)
    run = play(tmp_path, path, cupti="13.0", log="warn", dump_cupti=str(tmp_path / "dump"))
    assert (run.status, run.stderr) == (0, "")
    shared = play(tmp_path / "out", path, cupti="12.9", log="warn",
                  dump_cupti=str(tmp_path / "dump12"))
    assert (shared.status, shared.stderr) == (0, "")
    assert dumped(tmp_path / "dump") >= 10 > dumped(tmp_path / "dump12")


def test_speed(tmp_path):
    """A recording of half a second is played at a hundredth of its speed. The rows are the same as at full
    speed."""
    path = odd_trace(tmp_path / "odd.json")
    check_recording(kineto.load(path), played(tmp_path, path, speed="0.01", api="all"))


# ---- invalid recordings and options ------------------------------------------------------------

@pytest.mark.parametrize("text, said", [
    ("", "is no Kineto trace"), ("{}", "is no Kineto trace"), ("\x1f\x8b", "cannot be unpacked"),
    ("syncline-replay 2\n", "no replay stream of version 1"),
    ("syncline-replay 1\nkernel at=x\n", "line 2 cannot be read: kernel at=x"),
    ("syncline-replay 1\n\nnothing at=1\n", "line 3 cannot be read: nothing"),
    ("syncline-replay 1\nkernel colour=1\n", "line 2 cannot be read"),
    ("syncline-replay 1\ndevice device=99\n", "no room for a device 99"),
    ("syncline-replay 1\n", "nothing in the recording has a time"),
    ("SLCUPTI\n", "its header is cut"),
    ("SLCUPTI\n\x02\0\0\0\x40\0\0\0\x12" + "\0" * 50, "format is newer")])
def test_what_cannot_be_played(tmp_path, text, said):
    path = tmp_path / "recording"
    path.write_bytes(text.encode("latin-1"))
    run = play(tmp_path, path)
    assert run.status == 1 and said in run.stderr and "Traceback" not in run.stderr
    assert not run.files()


def test_nobody_listens(tmp_path):
    run = play(tmp_path, odd_trace(tmp_path / "odd.json"), CUDA_INJECTION64_PATH="")
    assert run.status == 1 and re.search("nobody listens", run.stderr)
