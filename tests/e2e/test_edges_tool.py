"""`syncline edges`: on real traces of torch.profiler's, beside HTA; on our own; on made, damaged and
hostile ones."""
import collections
import gzip
import json
import os
import pathlib
import random
import subprocess
import sys
import time

import pytest
import zstandard

import harness
from test_tool import REAL, TOOL, TRACES, frames, one_line, run

GPU = ("kernel", "gpu_memcpy", "gpu_memset")
CALLS = ("cuda_runtime", "cuda_driver")
FIELDS = ["kind", "src_correlation", "src_name", "src_stream", "src_device", "dst_correlation",
          "dst_name", "dst_point", "dst_thread", "dst_stream", "wait_ns", "wake_ns", "released",
          "basis"]

real = pytest.mark.skipif(not REAL, reason=f"no real traces in {TRACES}: set SL_TEST_TRACES")


def edges(path, *options, status=0):
    """The edges, and what was left out by reason."""
    out, error = run("edges", "--json", *options, path, status=status)
    lost = collections.Counter()
    for line in error.splitlines():
        if "edges left out: " in line:
            for part in line.split("edges left out: ")[1].split(", "):
                lost[part.split()[0]] = int(part.split()[1])
    found = [json.loads(line) for line in out.splitlines()]
    assert all(list(edge) == FIELDS for edge in found)
    return found, lost


def pairs(found):
    return {(e["src_correlation"], e["dst_correlation"]) for e in found}


def events_of(path, *categories):
    text = json.loads(gzip.decompress(path.read_bytes()))
    return [e for e in text["traceEvents"] if e["ph"] == "X" and e.get("cat") in categories]


def nanoseconds(event):
    """Start and end; integers even where the file has decimals."""
    start = round(event["ts"] * 1000)
    return start, start + round(event["dur"] * 1000)


# Real traces

@real
@pytest.mark.sanitize
def test_the_edges_of_cuda_event_sync():
    found, lost = edges(TRACES / "cuda_event_sync.json.gz")
    assert {(e["kind"], e["src_correlation"], e["dst_correlation"]) for e in found} == {
        ("copy", 1511, 1511), ("stream_sync", 1511, 1512), ("event_sync", 1526, 1536),
        ("event_query", 1526, 1537), ("device_sync", 1526, 1549)}
    by_call = {e["dst_correlation"]: e for e in found}
    # start 3047, end 3081, kernel until 3073
    assert (by_call[1536]["wait_ns"], by_call[1536]["wake_ns"]) == (26000, 8000)
    assert by_call[1536]["released"] and by_call[1536]["basis"] == "exact"
    assert by_call[1536]["dst_name"] == "cudaEventSynchronize"
    assert by_call[1536]["dst_thread"] == 948300 and by_call[1536]["dst_stream"] is None
    assert by_call[1536]["src_name"].startswith("at::cuda::(anonymous namespace)::spin_kernel")
    assert (by_call[1536]["src_stream"], by_call[1536]["src_device"]) == (7, 0)
    # that the query succeeded stands nowhere
    assert by_call[1537]["basis"] == "inferred" and not by_call[1537]["released"]
    assert (by_call[1549]["wait_ns"], by_call[1549]["wake_ns"]) == (0, 8000)
    # nobody saw the other streams of the context, at the last call
    assert by_call[1549]["basis"] == "inferred" and set(lost) == {"before_window"}


@real
@pytest.mark.sanitize
def test_the_edges_of_simple_add():
    found, _ = edges(TRACES / "simple_add.json.gz")
    assert {(5606, 5894), (5889, 5894)} <= pairs(found)
    assert {e["kind"] for e in found} == {"stream_sync", "device_sync"}
    names = {e["args"]["correlation"]: e["name"] for e in events_of(TRACES / "simple_add.json.gz", *GPU)}
    assert all(e["src_name"] == names[e["src_correlation"]] for e in found)


def unresolved_stream_waits(rows):
    """Stream waits that name no record make one unknown set for each operation behind them."""
    waiting, groups = set(), 0
    for row in sorted(rows, key=lambda e: e["args"]["correlation"]):
        stream = row["args"]["stream"]
        if row["cat"] == "cuda_sync":
            waiting.add(stream)
        elif stream in waiting:
            waiting.remove(stream)
            groups += 1
    return groups


@real
@pytest.mark.parametrize("path", REAL, ids=lambda p: p.name)
@pytest.mark.sanitize
def test_every_sync_call_is_accounted_for(path):
    """It has an edge, or there is a counted reason."""
    found, lost = edges(path)
    rows = events_of(path, "cuda_sync")
    calls = events_of(path, *CALLS)
    done = {e["dst_correlation"] for e in found}
    waits = [e["args"]["correlation"] for e in rows if e["name"] != "Stream Wait Event"]
    if not rows:
        waits = [e["args"]["correlation"] for e in calls if e["name"] in (
            "cudaDeviceSynchronize", "cudaStreamSynchronize", "cudaEventSynchronize",
            "cudaEventQuery", "cudaStreamQuery", "cudaStreamWaitEvent")]
    unknown = [e for e in rows if e["name"] == "Stream Wait Event"
               and e["args"].get("wait_on_cuda_event_record_corr_id", -1) < 0]
    groups = unresolved_stream_waits(unknown + events_of(path, *GPU))
    unaccounted = len(set(waits) - done) + groups
    counted = sum(n for reason, n in lost.items() if reason != "flag_unknown")
    # Counted although there are edges: streams that were not seen yet, at the first wait for all of
    # them, and before the first operation on the legacy default stream.
    assert unaccounted <= counted <= unaccounted + (2 if rows else 3), (unaccounted, lost)


@real
@pytest.mark.parametrize("path", REAL, ids=lambda p: p.name)
def test_what_must_hold_of_every_edge(path):
    """The source was enqueued before the call returned and ended before it did; the numbers are
    those of the definition; one member of a set released the wait."""
    ops = {e["args"]["correlation"]: e for e in events_of(path, *GPU)}
    calls = {e["args"]["correlation"]: e for e in events_of(path, *CALLS)}
    released = collections.Counter()
    found = [e for e in edges(path)[0] if e["dst_point"] == "end"]
    assert found
    for edge in found:
        _, source_end = nanoseconds(ops[edge["src_correlation"]])
        start, end = nanoseconds(calls[edge["dst_correlation"]])
        assert source_end <= end + 1000
        assert nanoseconds(calls[edge["src_correlation"]])[0] <= end
        assert edge["wait_ns"] == max(0, source_end - start)
        assert edge["wake_ns"] == max(0, end - max(source_end, start))
        assert edge["dst_thread"] == calls[edge["dst_correlation"]]["tid"]
        released[edge["dst_correlation"]] += edge["released"]
    for call in {e["dst_correlation"] for e in found}:
        waited = any(e["wait_ns"] for e in found if e["dst_correlation"] == call)
        assert released[call] == waited


@pytest.fixture(scope="module")
def hta():
    made = subprocess.run([harness.REPO / "tests" / "venv.sh", "hta"], capture_output=True, text=True,
                          check=False)
    assert made.returncode == 0, made.stderr
    return made.stdout.strip()


@real
@pytest.mark.parametrize("name, annotation, instance, listed", [
    ("cuda_event_sync", "ProfilerStep", 0,
     [[1511, 1512, "end"], [1526, 1536, "end"], [1526, 1537, "end"], [1526, 1549, "end"]]),
    ("simple_add", "[param|pytorch.model.alex_net|0|0|0|measure|forward]", 1,
     [[5606, 5894, "end"], [5889, 5894, "end"]]),
    ("simple_add", "[param|pytorch.model.alex_net|0|0|0|measure|forward]", 0, None),
    ("simple_add", "[param|pytorch.model.alex_net|0|0|0|warmup|forward]", 0, None),
    ("simple_add", "[param|pytorch.model.alex_net|0|0|0|warmup|forward]", 1, None),
    ("simple_add", "[param|pytorch.model.alex_net|0|0|0]", 0, None),
    ("simple_add", "[param|cuda]", 0, None),
    # The last step of each is cut off: HTA stops with an error of its own.
    ("nccl_3steps", "ProfilerStep#4", 0, None),
    ("nccl_3steps", "ProfilerStep#5", 0, None),
    ("two_ranks.rank-0", "ProfilerStep#551", 0, None),
    ("two_ranks.rank-1", "ProfilerStep#551", 0, None),
])
def test_beside_hta(hta, name, annotation, instance, listed):
    """HTA finds no edge that we do not, and what it does not find is by two faults of its."""
    path = TRACES / f"{name}.json.gz"
    done = subprocess.run([hta, harness.REPO / "tests" / "e2e" / "hta_edges.py", path, annotation,
                           str(instance)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    theirs = json.loads(done.stdout.splitlines()[-1])
    assert listed in (None, theirs)
    spans = [e for e in events_of(path, "user_annotation") if e["name"].startswith(annotation)]
    first, last = nanoseconds(sorted(spans, key=lambda e: e["ts"])[instance])
    inside = {e["args"]["correlation"] for e in events_of(path, *CALLS)
              if first <= nanoseconds(e)[0] <= last}
    ours = {(e["src_correlation"], e["dst_correlation"], e["dst_point"]): e
            for e in edges(path)[0] if e["dst_correlation"] in inside}
    assert {tuple(edge) for edge in theirs} <= set(ours)
    more = set(ours) - {tuple(edge) for edge in theirs}
    # copies that block give it no edge, nor does work launched before the annotation
    assert all(ours[edge]["kind"] == "copy" or edge[0] not in inside for edge in more)


@real
def test_compression_makes_no_difference(tmp_path):
    path = TRACES / "simple_add.json.gz"
    text = gzip.decompress(path.read_bytes())
    (tmp_path / "plain").write_bytes(text)
    (tmp_path / "zstd").write_bytes(frames(text, 5000))
    wanted = run("edges", "--json", path)
    assert wanted[0]
    assert run("edges", "--json", tmp_path / "plain") == wanted
    assert run("edges", "--json", tmp_path / "zstd") == wanted


@real
def test_order_of_rows_makes_no_difference(tmp_path):
    path = TRACES / "simple_add.json.gz"
    trace = json.loads(gzip.decompress(path.read_bytes()))
    random.Random(3).shuffle(trace["traceEvents"])
    shuffled = tmp_path / "t.json"
    shuffled.write_text(json.dumps(trace, ensure_ascii=False))
    assert edges(shuffled) == edges(path)


# Choosing and summing up

@real
def test_choosing():
    path = TRACES / "simple_add.json.gz"
    everything, lost = edges(path)
    assert edges(path, "--kind", "device_sync") == (
        [e for e in everything if e["kind"] == "device_sync"], lost)
    assert edges(path, "--min-wait", 50000)[0] == [e for e in everything if e["wait_ns"] >= 50000]
    assert edges(path, "-k", "stream_sync", "-m", 80000)[0] == [
        e for e in everything if e["kind"] == "stream_sync" and e["wait_ns"] >= 80000]


@real
def test_summary():
    path = TRACES / "two_ranks.rank-0.json.gz"
    found = [e for e in edges(path)[0] if e["released"]]
    summary = json.loads(run("edges", "--summary", "--json", path)[0])
    total = sum(e["wait_ns"] for e in found)
    assert (summary["waits"], summary["total_ns"]) == (len(found), total) and total
    assert summary["longest_ns"] == max(e["wait_ns"] for e in found)
    for table in ("by_kind", "by_source", "by_place", "by_step"):
        assert sum(group["total_ns"] for group in summary[table]) == total
        assert sum(group["waits"] for group in summary[table]) == len(found)
    ops = [e for e in events_of(path, "cpu_op", "user_annotation")]
    calls = {e["args"]["correlation"]: e for e in events_of(path, *CALLS)}
    places, steps = collections.Counter(), collections.Counter()
    for edge in found:
        call = calls[edge["dst_correlation"]]
        around = [e for e in ops if e["ts"] <= call["ts"] < e["ts"] + e["dur"]]
        mine = [e for e in around if e["tid"] == call["tid"]]
        _, innermost = max(enumerate(mine), key=lambda x: (x[1]["ts"], -x[1]["dur"], x[0]))
        places[innermost["name"]] += edge["wait_ns"]
        steps[next(e["name"] for e in around if e["name"].startswith("ProfilerStep#"))] += edge["wait_ns"]
    assert {g["name"]: g["total_ns"] for g in summary["by_place"]} == places
    assert {g["name"]: g["total_ns"] for g in summary["by_step"]} == steps
    assert [w["wait_ns"] for w in summary["longest"]] == sorted(
        (e["wait_ns"] for e in found), reverse=True)[:10]
    text = run("edges", "--summary", path)[0]
    for title in ("by kind", "by what was waited for", "by operator or range", "by step",
                  "longest waits"):
        assert title in text
    assert summary["by_place"][0]["name"] in text and "762.000 us" in text


def test_text():
    path = TRACES / "cuda_event_sync.json.gz"
    if not path.exists():
        pytest.skip(f"no real traces in {TRACES}")
    lines = run("edges", path)[0].splitlines()
    assert lines[0].split()[0] == "waited" and lines[-1].startswith("5 edges")
    assert "26.000 us" in lines[3] and "cudaEventSynchronize in ProfilerStep#100" in lines[3]
    assert "\n0 edges" not in run("edges", "-k", "free", path)[0]
    assert "5 edges, 0 of them as asked for" in run("edges", "-k", "free", path)[0]


# Our own files

@pytest.mark.parametrize("steps", [
    "context stream kernel:5 copy memset event sync graph:3 blocking stream:0 kernel:2 copy memset "
    "long:60 syncall kernel syncall",  # one wait at least that no busy machine comes too late for
    "context stream kernel:3 long:60 sync kernel:2 event sync copy sync syncall"])
@pytest.mark.sanitize
def test_own_file_beside_the_truth(go, steps):
    """Each edge of a call is in the simulator's truth, with its times; what is missing is counted."""
    traced = go(steps)
    assert traced.status == 0
    found, lost = edges(traced.trace().path)
    truth = {wait["corr"]: wait for wait in traced.truth_of("wait")}
    ends = [e for e in found if e["dst_point"] == "end"]
    assert ends
    for edge in ends:
        wait = truth[edge["dst_correlation"]]
        source = {s["corr"]: s for s in wait["sources"]}[edge["src_correlation"]]
        call = next(c for c in traced.truth_of("call") if c["corr"] == wait["corr"])
        assert edge["wait_ns"] == max(0, source["end"] - call["start"])
        assert edge["basis"] == "exact"
        if edge["released"] and wait["released"]:
            assert source["op"] == wait["released"]
        if edge["released"]:  # the truth names none where nothing was left once the wait began
            assert source["end"] == max(s["end"] for s in wait["sources"])
    wanted = {wait["corr"] for wait in truth.values() if wait["released"]}
    missing = wanted - {e["dst_correlation"] for e in ends if e["released"]}
    assert len(missing) <= sum(lost.values())
    assert len(missing) < len(wanted)


def test_own_file_with_stream_order(tmp_path):
    """GPU operations that wait for others, by an event or by the legacy default stream. That a
    stream is blocking stands in its metadata alone."""
    traced = harness.run(tmp_path, harness.BUILD / "samples" / "streams_and_waits")
    assert traced.status == 0, traced.stderr
    found, _ = edges(traced.trace().path)
    starts = [e for e in found if e["dst_point"] == "start"]
    assert {"legacy_default", "stream_wait"} <= {e["kind"] for e in starts}
    ops = {(op["corr"], op["stream"]): op for op in traced.truth_of("op")}
    calls = {call["corr"]: call for call in traced.truth_of("call")}
    for edge in starts:
        op = ops[edge["dst_correlation"], edge["dst_stream"]]
        assert edge["src_correlation"] in {before["corr"] for before in op["after"]}
        assert edge["dst_thread"] == calls[op["corr"]]["thread"]
        assert edge["basis"] == "exact"
    without = tmp_path / "without.json"
    trace = json.loads(harness.decompress(traced.trace().path))
    del trace["syncEdges"]  # else the job's own edges are printed
    for event in trace["traceEvents"]:
        event.get("args", {}).pop("stream flags", None)
    without.write_text(json.dumps(trace))
    assert "legacy_default" not in {e["kind"] for e in edges(without)[0]}


# Made ones

def row(cat, name, correlation, ts, dur, tid=7, **args):
    return {"ph": "X", "cat": cat, "name": name, "pid": 42, "tid": tid, "ts": ts, "dur": dur,
            "args": {"correlation": correlation, **args}}


def launch(correlation, ts, start, end, stream=7, thread=42, **args):
    """A call of 2 us and the kernel that it launched."""
    return [row("cuda_runtime", "cudaLaunchKernel", correlation, ts, 2, thread, cbid=211),
            row("kernel", f"k{correlation}", correlation, start, end - start, stream, device=0,
                context=1, stream=stream, **args)]


def stream_sync(correlation, ts, dur, stream=7):
    return [row("cuda_runtime", "cudaStreamSynchronize", correlation, ts, dur, 42, cbid=131),
            row("cuda_sync", "Stream Sync", correlation, ts + 1, dur - 1, stream, device=0, context=1,
                stream=stream, cuda_sync_kind="Stream Sync")]


def write(path, rows):
    path.write_text(json.dumps({"schemaVersion": 1, "traceEvents": rows}))
    return path


def test_ids_that_wrap(tmp_path):
    """Torch's ids have 32 bits."""
    rows = launch(4294967295, 10, 15, 60) + stream_sync(3, 20, 46)
    found, _ = edges(write(tmp_path / "t", rows))
    assert [(e["src_correlation"], e["dst_correlation"], e["wait_ns"]) for e in found] == [
        (4294967295, 3, 40000)]


def operation(cat, name, correlation, start, end, stream=7):
    return row(cat, name, correlation, start, end - start, stream, device=0, context=1, stream=stream)


def test_launches_of_graphs_without_ids_of_nodes(tmp_path):
    """PyTorch's files have none: the launch's operations on several streams are its nodes."""
    rows = [*launch(50, 1, 3, 9, stream=20), row("cuda_runtime", "cudaGraphLaunch", 54, 140, 5, 42, cbid=311),
            operation("kernel", "a", 54, 145, 170, 20), operation("kernel", "b", 54, 146, 190, 13),
            *stream_sync(55, 150, 50, stream=20)]
    found, lost = edges(write(tmp_path / "t", rows))
    assert sorted((e["kind"], e["src_correlation"], e["src_name"], e["dst_correlation"], e["wait_ns"],
                   e["released"]) for e in found) == [
        ("graph", 50, "k50", 54, 0, False), ("stream_sync", 54, "a", 55, 20000, False),
        ("stream_sync", 54, "b", 55, 40000, True)]
    assert lost == {"graph_inside": 1}


def elsewhere(rows):
    """The GPU's rows are another device's, and their context another."""
    for each in rows:
        if each["cat"] == "kernel":
            each["args"].update(device=1, context=2)
    return rows


def stream_wait(correlation, ts, stream, record, recorded_on):
    return [row("cuda_runtime", "cudaStreamWaitEvent", correlation, ts, 1, 42, cbid=147),
            row("cuda_sync", "Stream Wait Event", correlation, ts, 1, stream, device=0, context=1,
                stream=stream, wait_on_stream=recorded_on, wait_on_cuda_event_record_corr_id=record,
                wait_on_cuda_event_id=4)]


@pytest.mark.parametrize("theirs, edge", [(20, True), (13, False), (7, False)])
def test_an_event_recorded_in_another_context(tmp_path, theirs, edge):
    """torch.profiler's rows name the stream, not its context: it is known where one alone has it."""
    rows = [*launch(1, 10, 15, 30, stream=13), *elsewhere(launch(2, 13, 16, 90, stream=theirs)),
            row("cuda_runtime", "cudaEventRecord", 3, 16, 1, 42, cbid=135),
            *stream_wait(4, 18, 14, 3, theirs), *launch(5, 20, 92, 95, stream=14)]
    found, lost = edges(write(tmp_path / "t", rows))
    assert [(e["kind"], e["src_correlation"], e["src_device"], e["dst_correlation"], e["wait_ns"],
             e["basis"]) for e in found] == [("stream_wait", 2, 1, 5, 68000, "exact")] * edge
    del lost["before_window"]  # what the legacy default stream's first operation came behind
    assert lost == ({} if edge else {"ambiguous": 1})


def test_a_wait_that_names_no_record(tmp_path):
    """Nor does a record say that some other wait names: the event may have been recorded anew."""
    rows = [*launch(1, 10, 15, 60, 13), row("cuda_runtime", "cudaEventRecord", 2, 13, 1, 42, cbid=135)]
    for correlation, args in [(3, {"wait_on_cuda_event_record_corr_id": 2}), (4, {}),
                              (5, {"wait_on_cuda_event_record_corr_id": -1})]:
        rows += [row("cuda_runtime", "cudaEventSynchronize", correlation, correlation * 20, 18, 42, cbid=137),
                 row("cuda_sync", "Event Sync", correlation, correlation * 20, 18, -1, device=0, context=1,
                     stream=-1, wait_on_stream=13, wait_on_cuda_event_id=4, **args)]
    found, lost = edges(write(tmp_path / "t", rows))
    assert [(e["kind"], e["src_correlation"], e["dst_correlation"]) for e in found] == [("event_sync", 1, 3)]
    assert lost == {"no_record": 2}


@pytest.mark.parametrize("memory, waits", [("Pinned", [("memset", 2, 2, 110000)]), ("Device", [])])
def test_memsets(tmp_path, memory, waits):
    """One of the host's memory blocks."""
    rows = [*launch(1, 10, 15, 100), row("cuda_runtime", "cudaMemset", 2, 20, 115, 42, cbid=49),
            operation("gpu_memset", f"Memset ({memory})", 2, 103, 130)]
    found, _ = edges(write(tmp_path / "t", rows))
    assert [(e["kind"], e["src_correlation"], e["dst_correlation"], e["wait_ns"])
            for e in found] == waits


def test_what_stands_nowhere_is_null(tmp_path):
    rows = launch(10, 10, 15, 60) + stream_sync(11, 20, 46)
    del rows[1]["name"]
    (edge,), _ = edges(write(tmp_path / "t", rows))
    assert edge["src_name"] is None and edge["dst_stream"] is None


def test_names_come_through(tmp_path):
    rows = launch(10, 10, 15, 60) + stream_sync(11, 20, 46)
    rows[1]["name"] = 'f<"\u00fc\\\n\U0001f600' + "x" * 300 + '">'
    path = write(tmp_path / "t", rows)
    assert edges(path)[0][0]["src_name"] == rows[1]["name"]
    assert "..." in run("edges", path)[0]


# What cannot work

@pytest.mark.parametrize("content, words", [
    (b"", "empty"),
    (b"hello world", "not a trace"),
    (b"{}", "without traceEvents"),
    (b"\x28\xb5\x2f\xfd garbage", "damaged"),
    (b"\x1f\x8b garbage", "damaged"),
])
@pytest.mark.sanitize
def test_not_a_trace(content, words, tmp_path):
    path = tmp_path / "thing"
    path.write_bytes(content)
    assert words in one_line(run("edges", path, status=2)[1])


def test_wrong_usage(tmp_path):
    assert "FILE is missing" in one_line(run("edges", status=2)[1])
    assert "did you mean stream_sync?" in one_line(run("edges", "-k", "stream_snyc", "x", status=2)[1])
    assert "number" in one_line(run("edges", "--min-wait", "5ms", "x", status=2)[1])
    assert "number" in one_line(run("edges", "--min-wait", "-5", "x", status=2)[1])
    assert "one FILE" in one_line(run("edges", "a", "b", status=2)[1])
    assert "No such file" in one_line(run("edges", tmp_path / "none", status=2)[1])


PROFILED = sorted((pathlib.Path(__file__).parent / "profiler_traces").glob("*.json.gz"))


@pytest.mark.parametrize("path", PROFILED, ids=lambda path: path.name.removesuffix(".json.gz"))
def test_versions_of_torch_profiler(tmp_path, path):
    """None is false; what its file does not tell (events without the record that they name) is left
    out and counted."""
    found, lost = edges(path)
    trace = json.loads(gzip.decompress(path.read_bytes()))
    rows = {row["args"]["correlation"] for row in trace["traceEvents"]
            if row.get("cat") in ("kernel", "gpu_memcpy", "gpu_memset")}
    true = {(source, call) for call, _, sources in trace["waits"] for source in sources
            if source in rows}
    ours = {(e["src_correlation"], e["dst_correlation"]) for e in found if e["dst_point"] == "end"}
    assert ours <= true and len(ours) >= 8
    of_events = {call for call, kind, _ in trace["waits"] if kind.startswith("event")}
    missing = {call for _, call in true - ours if call in of_events}
    assert len({call for _, call in true - ours}) <= sum(lost.values())
    assert missing and lost["no_record"] >= len(missing)
    run("convert", path, "--to", "chakra", "-o", tmp_path / "t.et")
    run("check", tmp_path / "t.et")


@pytest.mark.sanitize
def test_cut_file(tmp_path):
    """The edges of what is there, and that it is not all."""
    rows = [r for i in range(1, 200, 2)
            for r in launch(i, i * 100, i * 100 + 5, i * 100 + 60) + stream_sync(i + 1, i * 100 + 10, 60)]
    path = write(tmp_path / "whole", rows)
    whole, _ = edges(path)
    data = path.read_bytes()
    cut = tmp_path / "cut"
    for part in (data[:len(data) // 2], frames(data, 500)[:-700], gzip.compress(data)[:-300]):
        cut.write_bytes(part)
        out, error = run("edges", "--json", cut, status=1)
        assert "is not whole" in error
        found = [json.loads(line) for line in out.splitlines()]
        assert 0 < len(found) < len(whole) and pairs(found) <= pairs(whole)


@pytest.mark.sanitize
def test_rows_without_sense(tmp_path):
    rows = launch(1, 10, 15, 60) + stream_sync(2, 20, 46) + [
        row("kernel", "no stream", 1, 1, 1), row("kernel", "negative", 3, 70, -5, stream=7),
        row("kernel", "huge", 2**63 - 1, 70, 5, stream=7), row("cuda_sync", "Event Sync", -1, 1, 1),
        row("kernel", "text", "1", "x", 1, stream=[7]), row("cuda_runtime", "again", 2, 21, 1),
        row("kernel", "far", 1, 1e15, 1e15, stream=2**32 - 2), {"ph": "X", "cat": "kernel"}]
    out, error = run("edges", "--json", write(tmp_path / "t", rows), status=1)
    assert "without usable ids or times" in error and "1 rows end before they begin" in error
    assert (1, 2) in pairs(json.loads(line) for line in out.splitlines())


@pytest.mark.sanitize
@pytest.mark.parametrize("seed", range(20))
def test_times_that_go_back(tmp_path, seed):
    """Operations that begin before others that their stream had got earlier."""
    generator = random.Random(seed)
    rows = []
    for i in range(10, 200):
        start = 1000 + 10 * i + generator.choice([3, 3, 3, -500, -1])
        rows += launch(i, 1000 + 10 * i, start, start + 4)
        if generator.random() < 0.3:
            rows[-2].update(name="cudaMemcpyAsync", dur=8)
            rows[-1].update(cat="gpu_memcpy", name="Memcpy DtoH (Device -> Pageable)")
    path = write(tmp_path / "t", rows)
    found, lost = edges(path)
    assert found and lost["cycle"] + len(found) <= len(rows)
    run("convert", path, "--to", "chakra", "-o", tmp_path / "t.et")


@pytest.mark.sanitize
def test_random_damage(tmp_path):
    generator = random.Random(5)
    rows = [r for i in range(1, 20, 2)
            for r in launch(i, i * 100, i * 100 + 5, i * 100 + 60) + stream_sync(i + 1, i * 100 + 10, 60)]
    good = write(tmp_path / "good", rows).read_bytes()
    path = tmp_path / "t"
    for round_ in range(100):
        data = bytearray([good, frames(good, 600), gzip.compress(good)][round_ % 3])
        for _ in range(generator.randint(1, 5)):
            at = generator.randrange(len(data))
            what = generator.randrange(3)
            if what == 0:
                data[at] = generator.randrange(256)
            elif what == 1:
                del data[at:at + generator.randint(1, 40)]
            else:
                data[at:at] = generator.choice([b"9", b"-", b"0000000000", b"e9", generator.randbytes(3)])
        path.write_bytes(data)
        done = subprocess.run([TOOL, "edges", "--json", path], capture_output=True, timeout=60)
        assert done.returncode in (0, 1, 2), (round_, done.stderr)
        for line in done.stdout.splitlines():
            json.loads(line)


PEAK = """
import resource, subprocess, sys
done = subprocess.run(sys.argv[2:])
with open(sys.argv[1], "w") as out:
    print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, file=out)
sys.exit(done.returncode)
"""


def peak_kib(tmp_path, *arguments, status=0):
    """Standard output and error, and the most memory the tool had. A process inherits the peak of
    the one that started it, so a small one starts the tool, not this one."""
    note = tmp_path / "peak"
    done = subprocess.run([sys.executable, "-S", "-c", PEAK, note, TOOL, *map(str, arguments)],
                          capture_output=True, text=True, timeout=100, check=False)
    assert done.returncode == status, done.stderr
    return done.stdout, done.stderr, int(note.read_text())


def write_many(path, count, stream_of):
    """`count` launches and one wait behind each thousandth; calls first, GPU rows later."""
    with zstandard.ZstdCompressor(level=1).stream_writer(open(path, "wb"), closefd=True) as out:
        out.write(b'{"traceEvents":[\n')
        for i in range(1, count + 1):
            out.write(b'{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":4,"tid":4,"ts":%d,'
                      b'"dur":1,"args":{"cbid":211,"correlation":%d}},\n' % (i * 10, 2 * i))
            if i % 1000 == 0:
                out.write(b'{"ph":"X","cat":"cuda_runtime","name":"cudaStreamSynchronize","pid":4,"tid":4,'
                          b'"ts":%d,"dur":6,"args":{"cbid":131,"correlation":%d}},\n' % (i * 10 + 2, 2 * i + 1))
        for i in range(1, count + 1):
            out.write(b'{"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":%d,"dur":3,"args":{'
                      b'"device":0,"context":1,"stream":%d,"correlation":%d}},\n'
                      % (i * 10 + 2, stream_of(i), 2 * i))
            if i % 1000 == 0:
                out.write(b'{"ph":"X","cat":"cuda_sync","name":"Stream Sync","pid":0,"tid":7,"ts":%d,"dur":5,'
                          b'"args":{"device":0,"context":1,"stream":%d,"correlation":%d}},\n'
                          % (i * 10 + 2, stream_of(i), 2 * i + 1))
        out.write(b'{"ph":"M","name":"end"}]}')


@pytest.mark.parametrize("count, streams", [(600000, 8), (300000, 300000)])
def test_memory_is_bounded(tmp_path, count, streams):
    """More rows than are sorted in memory; streams without end, where what is left out is counted."""
    path = tmp_path / "t.zst"
    write_many(path, count, lambda i: 7 + i % streams)
    out, error, peak = peak_kib(tmp_path, "edges", "--json", path)
    assert peak < 256 << 10
    wanted = {(2 * i, 2 * i + 1) for i in range(1000, count + 1, 1000)}
    found = pairs(json.loads(line) for line in out.splitlines())
    assert found <= wanted and found
    assert found == wanted or " memory " in error
    if streams == 8:
        assert found == wanted


def test_no_room_for_sorting(tmp_path):
    path = tmp_path / "t.zst"
    write_many(path, 300000, lambda i: 7)
    done = subprocess.run([TOOL, "edges", path], capture_output=True, text=True, timeout=60,
                          env={**os.environ, "TMPDIR": str(tmp_path / "none")}, check=False)
    assert done.returncode == 2
    assert "sorting the events failed: No such file" in one_line(done.stderr)


def test_a_line_without_end(tmp_path):
    """A name of 20 MB: not looked into, said so, and the rest is read."""
    rows = launch(1, 10, 15, 60) + stream_sync(2, 20, 46) + launch(3, 80, 85, 90)
    rows[4]["name"] = "x" * 5_000_000
    out, error = run("edges", "--json", write(tmp_path / "t", rows), status=1)
    assert "1 too long" in error and len(out.splitlines()) == 1
    rows[4]["name"] = "x" * 20_000_000
    began = time.monotonic()
    out, error = run("edges", "--json", write(tmp_path / "t", rows), status=1)
    assert "is not whole" in error and len(out.splitlines()) == 1
    assert time.monotonic() - began < 60


@pytest.mark.sanitize
def test_cycles_and_repeated_ids(tmp_path):
    """Two streams that each wait for what the other does later, and ids that several calls have: no
    source ends after what it is said to release, and what contradicts is counted."""
    def wait(correlation, ts, stream, record, on):
        return [row("cuda_runtime", "cudaStreamWaitEvent", correlation, ts, 1, 42, cbid=147),
                row("cuda_sync", "Stream Wait Event", correlation, ts, 1, stream, device=0, context=1,
                    stream=stream, wait_on_stream=on, wait_on_cuda_event_record_corr_id=record)]

    rows = (launch(1, 10, 15, 900, 13) + wait(3, 12, 14, 2, 13) + launch(4, 14, 20, 800, 14)
            + wait(6, 16, 13, 5, 14) + launch(7, 18, 30, 700, 13) + launch(1, 20, 40, 50, 15)
            + launch(7, 22, 60, 70, 13) + stream_sync(8, 30, 100, 13) + stream_sync(8, 200, 900, 14))
    found, lost = edges(write(tmp_path / "t", rows))
    assert lost["cycle"] > 0
    ends = {(r["args"]["correlation"], r["tid"]): r["ts"] + r["dur"] for r in rows if r["cat"] == "kernel"}
    for edge in found:
        assert edge["wait_ns"] >= 0 and edge["wake_ns"] >= 0
        assert any(key[0] == edge["src_correlation"] for key in ends)


@pytest.fixture(scope="module")
def million_streams(tmp_path_factory):
    path = tmp_path_factory.mktemp("streams") / "t.zst"
    write_many(path, 1000000, lambda i: 7 + i)
    return path


@pytest.mark.long
def test_edges_of_a_million_streams(tmp_path, million_streams):
    out, error, peak = peak_kib(tmp_path, "edges", "--json", million_streams)
    assert peak < 256 << 10
    found = pairs(json.loads(line) for line in out.splitlines())
    wanted = {(2 * i, 2 * i + 1) for i in range(1000, 1000001, 1000)}
    assert found <= wanted and len(found) >= len(wanted) // 10
    assert " memory " in error


@pytest.mark.long
def test_a_million_streams_converted(tmp_path, million_streams):
    et = tmp_path / "t.et"
    out, _, peak = peak_kib(tmp_path, "convert", "--to", "chakra", "-o", et, million_streams)
    assert peak < 256 << 10
    assert "1 000 000 on the GPU" in out and "edges that the trace does not tell: memory" in out
    out, _, peak = peak_kib(tmp_path, "check", et)
    assert peak < 256 << 10 and "valid" in out


@pytest.mark.long
def test_a_million_streams_checked(tmp_path, million_streams):
    out, _, peak = peak_kib(tmp_path, "check", million_streams)
    assert peak < 256 << 10
    assert "2 002 001" in out and "0 errors" in out


@pytest.fixture(scope="module")
def long_line(tmp_path_factory):
    """A name of two gigabytes, of which nearly nothing is left in the compressed file."""
    path = tmp_path_factory.mktemp("line") / "t.zst"
    rows = launch(1, 10, 15, 60) + stream_sync(2, 20, 46)
    with zstandard.ZstdCompressor(level=1).stream_writer(open(path, "wb"), closefd=True) as out:
        out.write(b'{"traceEvents":[\n' + b"".join(json.dumps(r).encode() + b",\n" for r in rows))
        out.write(b'{"ph":"X","cat":"kernel","name":"')
        for _ in range(2048):
            out.write(b"x" * (1 << 20))
        out.write(b'"}]}')
    return path


def test_edges_of_a_line_of_two_gigabytes(tmp_path, long_line):
    """The file is read once, in bounded memory, and the rest said to be missing."""
    out, error, peak = peak_kib(tmp_path, "edges", "--json", long_line, status=1)
    assert peak < 256 << 10
    assert "is not whole" in error and pairs(json.loads(line) for line in out.splitlines()) == {(1, 2)}


def test_a_line_of_two_gigabytes_converted(tmp_path, long_line):
    et = tmp_path / "t.et"
    out, error, peak = peak_kib(tmp_path, "convert", "--to", "chakra", "-o", et, long_line, status=1)
    assert peak < 256 << 10
    assert "is not whole: one value is longer than 16 MiB" in error and "1 synchronization edge" in out
    assert "valid" in run("check", et)[0]


def test_a_line_of_two_gigabytes_checked(tmp_path, long_line):
    out, _, peak = peak_kib(tmp_path, "check", long_line, status=1)
    assert peak < 256 << 10
    assert "json_invalid" in out and "one value is longer than 16 MiB; what follows was not read" in out
