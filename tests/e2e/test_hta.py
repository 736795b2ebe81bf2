"""HTA loads syncline's traces, and every analyzer runs. HTA's numbers equal numbers computed from the
truth."""
import collections
import itertools
import json
import shutil
import subprocess

import pytest

import harness

# Two streams, with pauses in which the GPU is idle. The program waits only for the context, because
# HTA counts the rows of other waits as GPU time.
STEPS = ("context stream kernel:20 copy memset stream kernel:10 copy syncall sleep:5 kernel:10 "
         "memset syncall")


@pytest.fixture(scope="module")
def python() -> str:
    made = subprocess.run([harness.REPO / "tests" / "venv.sh", "hta"], capture_output=True, text=True,
                          check=False)
    assert made.returncode == 0, made.stderr
    return made.stdout.strip()


def report_of(python: str, traces) -> dict:
    """Returns HTA's numbers for a folder of traces."""
    report = traces.parent / "report.json"
    result = subprocess.run([python, harness.REPO / "tests" / "e2e" / "hta_report.py", traces, report],
                            capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr[-2000:]
    return json.loads(report.read_text())


def analyse(python: str, run: harness.Run, folder) -> dict:
    traces = folder / "traces"
    traces.mkdir()
    path = run.trace().path
    if path.name.endswith(".zst"):
        subprocess.run([harness.TOOL, "convert", path, "--to", "kineto-gz", "-o",
                        traces / "rank0.json.gz"], check=True, capture_output=True)
    else:
        shutil.copy(path, traces / "rank0.json.gz")
    return report_of(python, traces)


@pytest.fixture(scope="module", params=["gzip", "zstd"])
def analysed(request, python, tmp_path_factory):
    """Returns HTA's analysis of a trace that the library wrote as gzip, or as zstd converted by the tool."""
    folder = tmp_path_factory.mktemp("hta")
    run = harness.scenario(folder, STEPS, compression=request.param, RANK="0")
    assert run.status == 0
    return run, analyse(python, run, folder)


def union(intervals: list[tuple[int, int]]) -> int:
    total, end = 0, 0
    for start, stop in sorted(intervals):
        total += max(0, stop - max(start, end))
        end = max(end, stop)
    return total


def intervals(run: harness.Run, *kinds: str) -> list[tuple[int, int]]:
    return [(op["start"], op["end"]) for op in run.operations() if op["kind"] in kinds]


def test_temporal_breakdown(analysed):
    run, report = analysed
    everything = intervals(run, "kernel", "memcpy", "memset")
    span = max(end for _, end in everything) - min(start for start, _ in everything)
    compute, busy = union(intervals(run, "kernel")), union(everything)
    (row,) = report["temporal"]
    assert row["kernel_time(us)"] == pytest.approx(span / 1000, abs=1)
    assert row["idle_time(us)"] == pytest.approx((span - busy) / 1000, abs=1)
    assert row["idle_time_pctg"] == pytest.approx(100 * (span - busy) / span, abs=0.01)
    assert row["compute_time_pctg"] == pytest.approx(100 * compute / span, abs=0.01)
    assert row["non_compute_time_pctg"] == pytest.approx(100 * (busy - compute) / span, abs=0.01)


def test_idle_breakdown(analysed):
    """HTA's idle time per stream. An idle gap lies between two operations. It counts as "host wait"
    if the second operation was launched after the first had ended. Otherwise a gap below 30 us
    counts as "kernel wait"."""
    run, report = analysed
    launched = {call["corr"]: call["start"] for call in run.truth_of("call")}
    wanted = collections.Counter()
    streams = collections.defaultdict(list)
    for op in run.operations():
        streams[op["stream"]].append(op)
    for stream, ops in streams.items():
        ops.sort(key=lambda op: op["start"])
        for before, op in zip(ops, ops[1:]):
            gap = op["start"] - before["end"]
            kind = ("host_wait" if launched[op["corr"]] > before["end"]
                    else "kernel_wait" if gap < 30000 else "other")
            wanted[stream, kind] += gap
    found = {(row["stream"], row["idle_category"]): row["idle_time"] for row in report["idle"]}
    for key, nanoseconds in wanted.items():
        assert found[key] == pytest.approx(nanoseconds / 1000, abs=1), key


def test_kernel_breakdown(analysed):
    run, report = analysed
    wanted = collections.defaultdict(list)
    for op in run.operations():
        wanted[harness.expected_operation(op)[1]].append((op["end"] - op["start"]) / 1000)
    assert {row["name"] for row in report["kernels"]} == set(wanted)
    for row in report["kernels"]:
        durations = wanted[row["name"]]
        assert row["sum (us)"] == pytest.approx(sum(durations), abs=0.01 * len(durations) + 0.5)
        assert row["max (us)"] == pytest.approx(max(durations), abs=0.5)
    classes = {row["kernel_type"] for row in report["types"] if row["sum"]}
    assert {"COMPUTATION", "MEMORY"} <= classes
    assert sum(row["percentage"] for row in report["types"]) == pytest.approx(100, abs=0.2)


def test_overlap_without_communication(analysed):
    assert [row["comp_comm_overlap_pctg"] for row in analysed[1]["overlap"]] == [None]


def together(run: harness.Run) -> collections.Counter:
    """Returns a map from each set of classes of work to the time in which exactly these classes ran
    at once."""
    def work(op):
        if op["kind"] != "kernel":
            return "MEMORY"
        return "COMMUNICATION" if op["name"].startswith("nccl") else "COMPUTATION"

    edges = sorted(edge for op in run.operations()
                   for edge in ((op["start"], 1, work(op)), (op["end"], -1, work(op))))
    running, times, since = collections.Counter(), collections.Counter(), 0
    for now, change, class_ in edges:
        times[frozenset(name for name, n in running.items() if n)] += now - since
        running[class_] += change
        since = now
    del times[frozenset()]
    return times


def test_overlap_with_communication(python, tmp_path):
    """An all-reduce runs on its own stream beside the backward pass, and copies run beside both. HTA's
    overlap equals the truth's."""
    run = harness.run(tmp_path, harness.BUILD / "samples" / "train_like", "--steps", "10",
                      compression="gzip", RANK="0")
    assert run.status == 0, run.stderr
    report, times = analyse(python, run, tmp_path), together(run)
    both = sum(t for classes, t in times.items() if {"COMMUNICATION", "COMPUTATION"} <= classes)
    communication = sum(t for classes, t in times.items() if "COMMUNICATION" in classes)
    assert 0 < both < communication, "the sample must have both"
    (row,) = report["overlap"]
    assert row["comp_comm_overlap_pctg"] == pytest.approx(100 * both / communication, abs=0.01)
    # HTA truncates each time to whole microseconds, and rounds the percentages to one decimal.
    shares = {frozenset(row["kernel_type"].split(" overlapping ")): row["percentage"]
              for row in report["types"]}
    for classes in times.keys() | shares.keys():
        exact = 100 * times[classes] / sum(times.values())
        assert shares.get(classes, 0) == pytest.approx(exact, abs=0.2), classes


def test_queue_length(analysed):
    """The queue length grows by 1 at each launch, and shrinks by 1 when a kernel starts."""
    run, report = analysed
    launched = {call["corr"]: call["start"] for call in run.truth_of("call")}
    for stream in {op["stream"] for op in run.operations()}:
        ops = [op for op in run.operations() if op["stream"] == stream and op["kind"] == "kernel"]
        rows = [row for row in report["queue"] if row["stream"] == stream]
        assert ops and len(rows) == 2 * len(ops)
        changes = sorted([(launched[op["corr"]], 1) for op in ops] +
                         [(op["start"], -1) for op in ops])
        assert [row["queue_length"] for row in rows] == \
            list(itertools.accumulate(change for _, change in changes))


def test_bandwidth(analysed):
    run, report = analysed
    for name, kind in (("Memcpy HtoD", 1), ("Memcpy DtoH", 2), ("Memcpy DtoD", 8)):
        copies = [op for op in run.operations() if op["kind"] == "memcpy" and op["copy_kind"] == kind]
        found = [row["memory_bw_gbps"] for row in report["bandwidth"]
                 if row["name"] == name and row["memory_bw_gbps"] > 0.001]
        exact = [op["bytes"] / (op["end"] - op["start"]) for op in copies]
        assert sorted(found) == pytest.approx(sorted(exact), abs=0.001), name


def test_a_trace_with_counters(analysed, python, tmp_path):
    """HTA gives the same numbers for a trace with counters. The bandwidth in the trace is the one that HTA
    finds. (HTA's queues lack launches of the driver API.)"""
    run, expected = analysed
    traces = tmp_path / "traces"
    traces.mkdir()
    subprocess.run([harness.TOOL, "report", "--augment", traces / "rank0.json.gz", run.trace().path], check=True,
                   capture_output=True)
    assert report_of(python, traces) == expected
    counters = [event for event in json.loads(harness.decompress(traces / "rank0.json.gz"))["traceEvents"]
                if event.get("ph") == "C"]
    for name in {row["name"] for row in expected["bandwidth"]}:
        assert [event["args"]["Memcpy BW"] for event in counters if event["name"] == name] == pytest.approx(
            [row["memory_bw_gbps"] for row in expected["bandwidth"] if row["name"] == name], abs=0.001)


def test_launch_statistics(python, tmp_path):
    """HTA's launch statistics, which count only launches of the runtime API, equal the truth's."""
    run = harness.run(tmp_path, harness.RUNTIME_CALLS, "13", compression="gzip", RANK="0",
                      sim=["--nested-driver"])
    assert run.status == 0, run.stderr
    report = analyse(python, run, tmp_path)
    calls = {call["corr"]: call for call in run.truth_of("call") if call["domain"] == "runtime"}
    counted = {"cudaLaunchKernel", "cudaLaunchKernelExC", "cudaMemcpyAsync", "cudaMemsetAsync"}
    ops = {op["corr"]: op for op in run.operations()
           if calls.get(op["corr"], {}).get("name", "").split("_")[0] in counted}
    assert {row["correlation"] for row in report["launch"]} == set(ops) and ops
    for row in report["launch"]:
        op, call = ops[row["correlation"]], calls[row["correlation"]]
        delay = max(0, op["start"] - call["end"])
        assert row["cpu_duration"] == pytest.approx((call["end"] - call["start"]) / 1000, abs=1)
        assert row["gpu_duration"] == pytest.approx((op["end"] - op["start"]) / 1000, abs=1)
        assert row["launch_delay"] == pytest.approx(delay / 1000, abs=1)
