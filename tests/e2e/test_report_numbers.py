"""Tests the tables of `syncline report` beyond parts and idle time, on traces worked out by hand and against an
independent count on real traces."""
import bisect
import collections
import decimal
import gzip
import itertools
import json
import statistics

import pytest

from edges_tool import launch, operation, row, write
from real_traces import REAL, TRACES, real
from test_report import nccl, ns, rank_trace, report, step, table, union
from test_tool import run


def steps_of(starts, kernels, late=()):
    """Returns steps that begin at `starts`, with one kernel each, launched 10 us later, or 500 us later still."""
    rows = []
    for n, (ts, dur) in enumerate(zip(starts, kernels)):
        begin = ts + (510 if n in late else 10)
        rows += [step(n, ts, 900), *launch(n + 1, begin, begin + 10, begin + 10 + dur)]
    return rows


def test_a_long_step_and_the_part_that_grew(tmp_path):
    found = report(write(tmp_path / "t.json", steps_of(range(0, 8000, 1000), [100] * 8, late={5})))
    steps = {s["step"]: s for s in table(found, "steps")}
    assert [steps[n]["step_ns"] / 1000 for n in range(8)] == [100, 1000, 1000, 1000, 1000, 1500, 500, 1000]
    assert [(n, s["grown_part"], s["grown_ns"]) for n, s in steps.items() if s["is_long"]] == [(5, "cpu", 500000)]
    # 900 us of 1000 us are idle before a late launch; the first step begins with its kernel.
    assert [(s["bound"], s["late_ns"] / 1000) for s in steps.values()] == [
        ("GPU", 0), *[("launch", 900)] * 4, ("launch", 1400), ("launch", 400), ("launch", 900)]
    (rank,) = table(found, "ranks")
    assert (rank["steps"], rank["median_ns"], rank["long_steps"], rank["bound"], rank["launch_bound_steps"],
            rank["gpu_bound_steps"], rank["is_drift"], rank["slope_ns"]) == (8, 10**6, 1, "launch", 7, 1, 0, 0)
    path = tmp_path / "t.json"
    assert sum(s["is_long"] for s in table(report("--set", "steps.long_ratio=0.5", path), "steps")) == 0
    assert {s["bound"] for s in table(report("--set", "steps.launch_ratio=0.95", path), "steps")} == {"GPU"}


def test_drift(tmp_path):
    """Each step is 20 us longer than the one before, because its kernel is."""
    starts = [0, *itertools.accumulate(1000 + 20 * n for n in range(9))]
    path = write(tmp_path / "t.json", steps_of(starts, [100 + 20 * n for n in range(10)]))
    (rank,) = table(report(path), "ranks")
    assert (rank["median_ns"], rank["slope_ns"], rank["drift_ns"], rank["is_drift"], rank["drift_part"],
            rank["part_slope_ns"]) == (1080000, 20000, 180000, 1, "compute", 20000)
    (rank,) = table(report("--set", "steps.drift_ratio=0.2", path), "ranks")
    assert (rank["is_drift"], rank["drift_part"]) == (0, None)


def test_busy_bins_and_lengths_of_kernels(tmp_path):
    path = write(tmp_path / "t.json", [
        *launch(1, 5, 10, 60), *nccl(2, 30, 50, 90),
        row("cuda_runtime", "cudaMemcpyAsync", 3, 95, 2, 42, cbid=41),
        operation("gpu_memcpy", "Memcpy HtoD (Pinned -> Device)", 3, 100, 110), *launch(4, 105, 108, 108)])
    found = report("--set", "busy.bins=5", path)
    bins = table(found, "busy")
    assert [(b["begin_ns"] // 1000, b["length_ns"] // 1000) for b in bins] == [
        (10, 20), (30, 20), (50, 20), (70, 20), (90, 20)]
    assert [[b[f"{kind}_ns"] // 1000 for kind in ("busy", "compute", "communication", "copy")] for b in bins] == [
        [20, 20, 0, 0], [20, 20, 0, 0], [20, 10, 20, 0], [20, 0, 20, 0], [10, 0, 0, 10]]
    assert len(table(report(path), "busy")) == 200
    assert [(k["class"], k["from_ns"], k["below_ns"], k["count"], k["sum_ns"])
            for k in table(found, "short_kernels") if k["count"]] == [
        ("compute", 0, 2, 1, 0), ("compute", 32768, 65536, 1, 50000), ("communication", 32768, 65536, 1, 40000)]


def test_collectives_of_two_ranks(tmp_path):
    """All-reduces of 256 bytes. The one of rank 0 waits 40 us for rank 1, and takes 30 us from then on."""
    paths = [rank_trace(tmp_path, 0, 0, 30), rank_trace(tmp_path, 1, 3, 70)]
    first, second = table(report(*paths), "collectives")
    assert {key: first[key] for key in first if key.endswith(("_ns", "_bytes"))} == {
        "input_bytes": 256, "sum_ns": 70000, "mean_ns": 70000, "median_ns": 70000, "waiting_ns": 40000,
        "transfer_ns": 30000}
    assert [first[key] for key in ("rank", "type", "group", "ranks", "dtype", "count", "matched", "late_rank",
                                   "late_ratio")] == [0, "all_reduce", 0, 2, "Float", 1, 1, 1, 1]
    assert first["algorithm_gb_per_s"] == first["bus_gb_per_s"] == pytest.approx(256 / 30000)  # 2 (n-1)/n = 1
    assert (second["waiting_ns"], second["transfer_ns"], second["late_rank"]) == (0, 30000, None)
    (alone,) = table(report(paths[0]), "collectives")
    assert (alone["matched"], alone["waiting_ns"]) == (0, None)
    assert alone["bus_gb_per_s"] == pytest.approx(256 / 70000)


def test_ranks_whose_clocks_differ(tmp_path):
    """By its clock rank 1 begins after rank 0 has ended. The clocks are aligned by this collective alone, within
    its length, so who was late is not known."""
    paths = [rank_trace(tmp_path, 0, 0, 30), rank_trace(tmp_path, 1, 3, 70, baseTimeNanoseconds=10**18 + 500000)]
    found = report(*paths)
    assert {(c["matched"], c["late_rank"], c["waiting_ns"]) for c in table(found, "collectives")} == {(1, None, 0)}
    assert {p["waiting_ns"] for p in table(found, "parts")} == {0}


def host_trace(tmp_path, rank, ahead_us):
    """Steps of 1 ms. The ranks begin each all-reduce late by 40 us in turn, and need 5 us from then on."""
    args = {"Collective name": "allreduce", "In msg nelems": 64, "Out msg nelems": 64, "Group size": 2,
            "dtype": "Float", "Process Group Name": "0", "Process Group Ranks": "[0, 1]"}
    rows = []
    for n in range(10):
        at = 1000 * n + ahead_us
        rows += [step(n, at, 900), *nccl(n + 1, at + 5, at + 10 + 40 * (n % 2 == rank), at + 55, **args)]
    path = tmp_path / f"host-{rank}.json"
    path.write_text(json.dumps({
        "schemaVersion": 1, "baseTimeNanoseconds": 10**18, "traceEvents": rows,
        "distributedInfo": {"backend": "nccl", "rank": rank, "world_size": 2},
        "host_name": f"node{rank}"}))
    return path


def test_waiting_between_hosts_whose_clocks_differ(tmp_path):
    """The clock of rank 1 is 3 ms ahead. The collectives bound this by 5 us, and each wait is 40 us."""
    found = report(host_trace(tmp_path, 0, 0), host_trace(tmp_path, 1, 3000))
    assert [(c["rank"], c["matched"], c["late_rank"], round(c["waiting_ns"], -3)) for c in table(found, "collectives")] == [
        (0, 10, 1, 200000), (1, 10, 0, 200000)]


def test_bandwidth_of_each_type(tmp_path):
    """Each kernel takes 10 us on 4 ranks, with an input of 4000 bytes."""
    rows = []
    for n, name in enumerate(["allreduce", "_allgather_base", "_reduce_scatter_base", "broadcast", "all_to_allv",
                              "gather", "scatter", "reduce", "barrier"]):
        rows += nccl(n + 1, 20 * n, 20 * n + 5, 20 * n + 15, **{
            "Collective name": name, "In msg nelems": 1000, "Out msg nelems": 1000, "Group size": 4,
            "dtype": "Float", "Process Group Name": "0", "Process Group Ranks": "[0, 1, 2, 3]"})
    rows += nccl(50, 500, 505, 515)
    found = {c["type"]: (c["algorithm_gb_per_s"], c["bus_gb_per_s"])
             for c in table(report(write(tmp_path / "t.json", rows)), "collectives")}
    assert found == {
        "all_reduce": (0.4, 0.4 * 1.5), "all_gather": (1.6, 1.6 * 0.75), "reduce_scatter": (0.4, 0.4 * 0.75),
        "broadcast": (0.4, 0.4), "all_to_all": (0.4, 0.4 * 0.75), "gather": (1.6, 1.6 * 0.75),
        "scatter": (0.4, 0.4 * 0.75), "reduce": (0.4, 0.4), "barrier": (None, None), None: (None, None)}


def sized(name, ts, dur, sizes, values=None, thread=42):
    return {"ph": "X", "cat": "cpu_op", "name": name, "pid": 42, "tid": thread, "ts": ts, "dur": dur,
            "args": {"External id": 1, "Input Dims": sizes, "Concrete Inputs": values or [""] * len(sizes)}}


def test_floating_point_operations(tmp_path):
    """Kernels of 10 us each. That of aten::linear counts for the addmm inside, once."""
    convolution = ["", "", "", "[2]", "[1, 1]", "[1, 1]", "False", "[0, 0]", "1"]
    backward = ["", "", "", "[16]", "[2, 2]", "[1, 1]", "[1, 1]", "False", "[0, 0]", "1", "[True, True, False]"]
    calls = [
        ("aten::mm", [[3, 4], [4, 5]], None, 2 * 3 * 4 * 5),
        ("aten::addmm", [[5], [3, 4], [4, 5], [], []], None, 2 * 3 * 4 * 5),
        ("aten::bmm", [[7, 3, 4], [7, 4, 5]], None, 2 * 7 * 3 * 4 * 5),
        ("aten::baddbmm", [[7, 3, 5], [7, 3, 4], [7, 4, 5], [], []], None, 2 * 7 * 3 * 4 * 5),
        ("aten::linear", [[2, 3, 4], [5, 4], [5]], None, 2 * 2 * 3 * 4 * 5),
        # 8 x 10 points with padding 1, kernel 3 and stride 2: 4 x 5 points
        ("aten::convolution", [[2, 6, 8, 10], [16, 3, 3, 3], [16], [], [], [], [], [], []], convolution,
         2 * 2 * (4 * 5) * (16 * 3 * 3 * 3)),
        ("aten::convolution", [[2, 6, 8, 10], [6, 16, 3, 3], [], [], [], [], [], [], []],
         [*convolution[:6], "True", *convolution[7:]], 2 * 2 * (8 * 10) * (6 * 16 * 3 * 3)),
        ("aten::convolution_backward", [[2, 16, 4, 5], [2, 6, 8, 10], [16, 3, 3, 3], *[[]] * 8], backward,
         2 * 2 * 2 * (4 * 5) * (16 * 3 * 3 * 3)),
        ("aten::mm", [[3, 4], [9, 5]], None, None),  # these do not fit
    ]
    rows = []
    for n, (name, sizes, values, _) in enumerate(calls):
        rows += [sized(name, 100 * n, 50, sizes, values), *launch(n + 1, 100 * n + 10, 100 * n + 20, 100 * n + 30)]
    rows += [sized("aten::linear", 2000, 90, [[3, 4], [5, 4], [5]]),
             sized("aten::addmm", 2010, 50, calls[1][1]), *launch(21, 2020, 2030, 2040),
             *launch(22, 2120, 2130, 2140), *launch(23, 2030, 2050, 2060, thread=43)]
    found = table(report(write(tmp_path / "t.json", rows)), "flops")
    assert sorted((f["op"], f["flop_per_call"] or 0, f["calls"], f["kernel_ns"]) for f in found) == sorted(
        [(name, flop or 0, 1, 10000) for name, *_, flop in calls if name != "aten::addmm"]
        + [("aten::addmm", 120, 2, 20000)])
    assert {f["sizes"] for f in found if f["op"] == "aten::addmm"} == {"[[5], [3, 4], [4, 5]]"}
    for f in found:
        assert f["tflop_per_s"] == (pytest.approx(f["flop_per_call"] / 10000 / 1000) if f["flop_per_call"] else None)
        assert f["share_ratio"] == f["kernel_ns"] / 120000


def test_graphs_by_node(tmp_path):
    def replay(correlation, ts, **args):
        return [row("cuda_runtime", "cudaGraphLaunch", correlation, ts, 5, 42, cbid=311),
                *[{**operation("kernel", name, correlation, ts + at, ts + at + dur),
                   "args": {"correlation": correlation, "device": 0, "context": 1, "stream": 7, **more}}
                  for name, at, dur, more in args["nodes"]]]
    nodes = [("a", 10, 4, {"graph id": 3, "graph node id": 31}), ("b", 14, 2, {"graph id": 3, "graph node id": 32}),
             ("a", 16, 6, {"graph id": 3, "graph node id": 33})]
    rows = [*replay(1, 0, nodes=nodes), *replay(2, 100, nodes=nodes),
            *replay(3, 200, nodes=[("whole", 10, 50, {"graph id": 4})]), *replay(4, 300, nodes=[("c", 10, 8, {})]),
            *launch(9, 400, 410, 420)]
    found = report(write(tmp_path / "t.json", rows))
    assert [(g["graph"], g["replays"], g["name"], g["class"], g["count"], g["sum_ns"], g["mean_ns"],
             g["per_replay_ns"], g["share_ratio"]) for g in table(found, "graphs")] == [
        (4, 1, None, None, 1, 50000, 50000, 50000, 1),
        (3, 2, "a", "compute", 4, 20000, 5000, 10000, 20 / 24),
        (None, 1, "c", "compute", 1, 8000, 8000, 8000, 1),
        (3, 2, "b", "compute", 2, 4000, 2000, 2000, 4 / 24)]
    assert "cuda-graph-trace=node" in found["metrics"]["graphs"]["notes"][0]


def overhead(name, ts, dur):
    return {"ph": "X", "cat": "overhead", "name": name, "pid": -1, "tid": 0, "ts": ts, "dur": dur, "args": {}}


def test_the_cost_of_the_recording(tmp_path):
    """Two steps of 100 us and 150 us."""
    rows = [step(1, 0, 100), step(2, 100, 100), *launch(1, 5, 10, 110), *launch(2, 105, 120, 260),
            overhead("Buffer Flush", 20, 4), overhead("Buffer Flush", 120, 2), overhead("Instrumentation", 30, 1),
            overhead("Command Buffer Full", 40, 50), overhead("Instrumentation", 300, 9)]
    found = table(report(write(tmp_path / "t.json", rows)), "cost")
    assert [(c["name"], c["is_recording"], c["count"], c["sum_ns"], c["longest_ns"], c["per_step_ns"],
             c["share_ratio"]) for c in found] == [
        ("Command Buffer Full", 0, 1, 50000, 50000, 25000, 50 / 250),
        ("Buffer Flush", 1, 2, 6000, 4000, 3000, 6 / 250),
        ("Instrumentation", 1, 1, 1000, 1000, 500, 1 / 250)]
    (cost,) = table(report(write(tmp_path / "t.json", [*launch(1, 5, 10, 110), overhead("Buffer Flush", 2, 3),
                                                       overhead("Buffer Flush", 20, 4)])), "cost")
    assert (cost["sum_ns"], cost["share_ratio"]) == (4000, 4 / 100)  # without steps: while the GPU works


def window(tmp_path, number, steps, opened_us, closed_us):
    rows = [r for n, at in enumerate(steps) for r in [
        step(at, 100 * n, 100), *launch(n + 1, 100 * n + 5, 100 * n + 10, 100 * n + 110)]]
    if not steps:
        rows = launch(1, 5, 10, 110)
    path = tmp_path / f"{number}.json"
    path.write_text(json.dumps({
        "schemaVersion": 1, "baseTimeNanoseconds": 10**18 + number * 10**9,
        "distributedInfo": {"backend": "nccl", "rank": 0, "world_size": 1},
        "syncline": {"version": "0.1.0", "opened_ns": 10**18 + opened_us * 1000,
                     "closed_ns": 10**18 + closed_us * 1000}, "traceEvents": rows}))
    return path


def test_totals_of_windows_are_scaled(tmp_path):
    """Windows of steps 1..2 and 9..10 hold 4 of 10 steps; windows of time hold 400 us of 2 ms."""
    scaled = {s["part"]: s for s in table(report(
        window(tmp_path, 1, [1, 2], 0, 200), window(tmp_path, 2, [9, 10], 1800, 2000)), "scaled")}
    assert {(s["windows"], s["basis"], s["recorded"], s["all"], s["factor"]) for s in scaled.values()} == {
        (2, "steps", 4, 10, 2.5)}
    assert (scaled["all"]["recorded_ns"], scaled["all"]["scaled_ns"]) == (400000, 1000000)
    assert scaled["compute"]["scaled_ns"] == 2.5 * scaled["compute"]["recorded_ns"]
    scaled = table(report(window(tmp_path, 1, [], 0, 200), window(tmp_path, 2, [], 1800, 2000)), "scaled")
    assert {(s["basis"], s["recorded"], s["all"], s["factor"]) for s in scaled} == {
        ("time", 400000, 2000000, 5)}
    assert table(report(window(tmp_path, 1, [1], 0, 100)), "scaled") == []


def slope(points):
    slopes = [(b - a) / (n - m) for (m, a), (n, b) in itertools.combinations(points, 2)]
    return statistics.median(slopes) if len(points) >= 5 else 0


@real
@pytest.mark.parametrize("path", REAL, ids=lambda path: path.name)
def test_real_traces_against_an_independent_count(path):
    with gzip.open(path) as f:
        rows = [r for r in json.load(f, parse_float=decimal.Decimal)["traceEvents"] if r.get("ph") == "X"]
    found = report("--set", "busy.bins=7", path)
    parts = [p for p in table(found, "parts") if p["step"] is not None or not found["steps"]]
    steps = collections.defaultdict(list)
    for p in parts:
        steps[p["device"]].append((p["step"] or 0, p["step_ns"]))
    assert {(r["device"], r["steps"], r["median_ns"], r["slope_ns"]) for r in table(found, "ranks")} == {
        (device, len(of), sorted(n for _, n in of)[(len(of) - 1) // 2], slope(of)) for device, of in steps.items()}

    work = collections.defaultdict(list)
    for r in rows:
        if r.get("cat") in ("kernel", "gpu_memcpy", "gpu_memset"):
            work[r["args"]["device"]].append((ns(r["ts"]), ns(r["ts"]) + ns(r.get("dur", 0))))
    for device, spans in work.items():
        begin, end = min(a for a, _ in spans), max(b for _, b in spans)
        edges = [begin + (end - begin) * n // 7 for n in range(8)]
        assert [b["busy_ns"] for b in table(found, "busy") if b["device"] == device] == [
            sum(max(0, min(b, y) - max(a, x)) for a, b in union(spans)) for x, y in zip(edges, edges[1:])]


@real
def test_collectives_of_a_real_trace(tmp_path):
    path = TRACES / "nccl_3steps.json.gz"
    with gzip.open(path) as f:
        rows = [r for r in json.load(f, parse_float=decimal.Decimal)["traceEvents"] if r.get("ph") == "X"]
    begins = sorted(r["ts"] for r in rows if r["name"].startswith("ProfilerStep#") and r["cat"] == "user_annotation")
    calls = {r["args"]["correlation"]: r["ts"] for r in rows if r.get("cat") == "cuda_runtime"}
    expected = collections.defaultdict(list)
    for r in rows:
        if r.get("cat") == "kernel" and r["name"].startswith("nccl"):
            assert bisect.bisect(begins, calls[r["args"]["correlation"]])  # all are in a step
            size = {"Float": 4, "Int": 4, "Long": 8}[r["args"]["dtype"]]
            expected[r["args"]["Collective name"], int(r["args"]["In msg nelems"]) * size].append(ns(r["dur"]))
    found = table(report(path), "collectives")
    assert {(c["type"].replace("_", ""), c["input_bytes"]): (c["count"], c["sum_ns"], c["median_ns"])
            for c in found} == {key: (len(of), sum(of), sorted(of)[(len(of) - 1) // 2])
                                for key, of in expected.items()}
    for c in found:
        assert c["bus_gb_per_s"] == pytest.approx(c["input_bytes"] * c["count"] / c["sum_ns"])


def screen(*arguments):
    """Returns the first screen, and the same as one line without line breaks."""
    out, _ = run("report", *arguments)
    lines = out.splitlines()
    assert len(lines) <= 40 and max(map(len, lines)) <= 100, out
    return out, " ".join(out.split())


def test_sentences_of_the_first_screen(tmp_path):
    path = write(tmp_path / "t.json", steps_of(range(0, 8000, 1000), [100] * 8, late={5}))
    _, text = screen(path)
    assert ("Launch-bound in 7 of 8 steps: late launches (sync, cpu, loader and launch together) cost 89 % of the "
            "time.") in text
    assert "1 of 8 steps is long: step 5 on GPU 0 took 1.50 ms (median 1.00 ms); `cpu` grew most." in text
    starts = [0, *itertools.accumulate(1000 + 20 * n for n in range(9))]
    _, text = screen(write(tmp_path / "t.json", steps_of(starts, [100 + 20 * n for n in range(10)])))
    assert ("Steps become longer on 1 of 1 GPUs: on GPU 0 by 20.0 us each, 16.7 % of a step from the first to "
            "the last; `compute` changes most.") in text
    rows = [step(1, 0, 100), *launch(1, 5, 10, 110), overhead("Buffer Flush", 20, 3),
            *launch(2, 50, 110, 120, **{"graph id": 4})]
    found = report(write(tmp_path / "t.json", rows))
    assert [note.split(":")[0] for note in found["notes"]] == [
        "GPU-bound in all steps", "Of some replays of CUDA graphs the nodes were not recorded",
        "The recording itself cost up to 2.7 % of the steps, which are shorter without it. Details",
        "Waits of streams are not known"]
    assert len(report("--set", "cost.shown_ratio=0.03", tmp_path / "t.json")["notes"]) == 3
    _, text = screen(window(tmp_path, 1, [1, 2], 0, 200), window(tmp_path, 2, [9, 10], 1800, 2000))
    assert "2 windows hold 4 of the 10 steps from the first to the last." in text
    assert "by the factor 2.50: --only scaled" in text


def test_a_long_first_line_is_wrapped(tmp_path):
    path = tmp_path / f"{'long-' * 40}.json"
    path.write_text(json.dumps({
        "traceEvents": [step(10**18, 0, 100), *launch(1, 5, 10, 110)], "host_name": "h" * 60,
        "syncline": {"version": "0.1.0", "job": "j" * 70}}))
    _, text = screen(path)
    assert f"1 rank on {'h' * 60}, 1 GPU; steps {10**18}..{10**18}, 100 us each; complete" in text


def test_lost_records_are_on_the_first_line(tmp_path):
    path = tmp_path / "t.json"
    path.write_text(json.dumps({"traceEvents": launch(1, 5, 10, 110), "syncline": {
        "version": "0.1.0", "counters": {"records": 9, "dropped_cupti": 3, "dropped_ring": 4, "dropped_write": 0}}}))
    out, _ = screen(path)
    assert out.splitlines()[0].endswith("; 7 records were lost")
    found = report(path)
    assert found["inputs"][0]["lost"] == {"edges_before_window": 1, "dropped_cupti": 3, "dropped_ring": 4}
    assert any(note.startswith("7 records were lost, and no file says when") for note in found["notes"])


def wait_at(correlation, ts, dur, line):
    return [row("cuda_runtime", "cudaStreamSynchronize", correlation, ts, dur, 42, cbid=131, wait_at=line)]


def test_the_line_nearest_to_late_launches(tmp_path):
    """A recording of syncline has lines of waits. The CPU is late for kernel 2, after the wait at line 5 and before
    that at line 9; and for kernel 3, in a step without waits."""
    path = tmp_path / "t.json"
    rows = [step(1, 0, 500), *wait_at(10, 30, 5, "/a/train.py:5 main"), *launch(1, 5, 10, 30),
            *launch(2, 300, 310, 330), *wait_at(11, 400, 20, "/a/train.py:9 main"),
            step(2, 500, 500), *launch(3, 700, 710, 720)]
    path.write_text(json.dumps({"traceEvents": rows, "syncline": {"version": "0.1.0"}}))
    found = report("--steps", "1", path)
    (late,) = [f for f in found["findings"] if f["part"] == "cpu"]
    assert late["where"] == {"file": "/a/train.py", "line": 9, "function": "main", "op": None,
                             "call": "cudaLaunchKernel", "relation": "before"}
    assert "cudaLaunchKernel (near train.py:9 main)" in late["text"]
    (late,) = [f for f in report("--steps", "2", path)["findings"] if f["part"] == "cpu"]
    assert (late["where"]["line"], late["where"]["relation"]) == (None, None)
    # Another thread launches, such as autograd's, which has no lines.
    rows[4:] = [*launch(2, 60, 70, 80, thread=43), *launch(3, 450, 460, 470, thread=43), rows[-4]]
    path.write_text(json.dumps({"traceEvents": rows, "syncline": {"version": "0.1.0"}}))
    (late,) = [f for f in report(path)["findings"] if f["part"] == "cpu"]
    assert (late["where"]["line"], late["where"]["relation"]) == (9, "after")


def many_ranks(folder, ranks):
    """Rank 17 comes 400 us late to the all-reduce of each of 3 steps, and rank 40 copies for 300 us. Rank 5 has
    what makes further sentences."""
    args = {"Collective name": "allreduce", "In msg nelems": 64, "Out msg nelems": 64, "Group size": ranks,
            "dtype": "Float", "Process Group Name": "0", "Process Group Ranks": str(list(range(ranks)))}
    for rank in range(ranks):
        rows = []
        for n in range(3):
            at, begin = 1000 * n, 1000 * n + (550 if rank == 17 else 150)
            rows += [step(n, at, 990), *launch(10 * n + 1, at + 5, at + 10, at + 110),
                     *nccl(10 * n + 2, begin - 10, begin, at + 600, **args)]
            if rank == 5:
                rows += [overhead("Buffer Flush", at, 50), *launch(10 * n + 4, at + 610, at + 700, at + 701),
                         *launch(10 * n + 5, at + 620, at + 710, at + 800, **{"graph id": 4})]
            if rank == 40:
                rows += [row("cuda_runtime", "cudaMemcpyAsync", 10 * n + 3, at + 601, 2, 42, cbid=41),
                         operation("gpu_memcpy", "Memcpy HtoD (Pageable -> Device)", 10 * n + 3, at + 605, at + 905)]
        (folder / f"rank-{rank}.json").write_text(json.dumps({
            "schemaVersion": 1, "baseTimeNanoseconds": 10**18, "traceEvents": rows,
            "distributedInfo": {"backend": "nccl", "rank": rank, "world_size": ranks}}))


def test_the_first_screen_of_64_ranks(tmp_path):
    many_ranks(tmp_path, 64)
    out, text = screen(*sorted(tmp_path.iterdir()))
    assert out.startswith("rank-0.json: 64 of 64 ranks, 64 GPUs; steps 0..2, ")
    assert "in NCCL AllReduce, 100 % of it is waiting for rank 17, which loses 399 us more a step to `cpu`" in text
    assert "(of 64 GPUs, those that compute the least, median and most part of a step)" in text
    assert len([line for line in out.splitlines() if line.startswith("  rank ")]) == 3
    assert "cpu: rank 17" in text and "copy: rank 40" in text
    assert "ncclDevKernel_AllReduce" in text
    late = {(c["rank"], c["late_rank"]) for c in table(report(*sorted(tmp_path.iterdir())), "collectives")}
    assert late == {(rank, None if rank == 17 else 17) for rank in range(64)}


def test_tables_of_one_stream(tmp_path):
    path = write(tmp_path / "t.json", [*launch(1, 5, 10, 60), *nccl(2, 30, 50, 90)])  # streams 7 and 20
    found = report("--stream", "7", path)
    assert table(found, "collectives") == []
    assert [k["class"] for k in table(found, "short_kernels")] == ["compute"]
    assert len(table(report("--stream", "20", path), "collectives")) == 1


def test_the_line_of_a_collective(tmp_path):
    """The operator of a collective has the line, not its launch."""
    path = tmp_path / "t.json"
    rows = [{"ph": "X", "cat": "cpu_op", "name": "record_param_comms", "pid": 42, "tid": 42, "ts": 0, "dur": 40,
             "args": {"source": "/a/train.py:7 main", "External id": 1}}, *nccl(1, 5, 10, 60)]
    path.write_text(json.dumps({"traceEvents": rows, "syncline": {"version": "0.1.0"}}))
    (transfer,) = report(path)["findings"]
    assert transfer["where"] == {"file": "/a/train.py", "line": 7, "function": "main", "op": "record_param_comms",
                                 "call": "cudaLaunchKernel", "relation": "at"}
    assert transfer["text"] == "train.py:7 main: NCCL AllReduce, and nothing runs beside it"


@real
def test_a_report_says_which_recording_is_missing():
    """These are ranks 0 and 1 of 128, recorded without rows of synchronization."""
    _, text = screen(*sorted(TRACES.glob("two_ranks*")))
    assert "2 of 128 ranks" in text and "enable_cuda_sync_events=True" in text
    assert "needs the traces of all 128 ranks" in text
