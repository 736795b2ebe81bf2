"""Tests the tables of `syncline report` that HolisticTraceAnalysis has too: on traces worked out by hand, and
against an independent count in Python on real traces."""
import collections
import decimal
import gzip
import json
import random
import statistics

import harness
import pytest

from edges_tool import launch, operation, row, stream_sync, write
from real_traces import REAL, TRACES, real
from test_edges_made import stream_wait
from test_report import cpu_op, job_traces, nccl, report, step, table
from test_tool import one_line, run

SUMMARY = ["mean", "std", "min", "p25", "median", "p75", "max"]


def annotation(name, ts, dur, thread=42):
    return {**cpu_op(name, ts, dur, thread), "cat": "user_annotation"}


def us(rows: list[dict], *names) -> list[tuple]:
    """Returns some columns of a table; times are in us."""
    return [tuple(r[name] / 1000 if name.endswith("_ns") and r[name] is not None else r[name] for name in names)
            for r in rows]


def copy(correlation, ts, start, end, size, name="Memcpy HtoD (Pinned -> Device)", stream=7):
    rows = [row("cuda_runtime", "cudaMemcpyAsync", correlation, ts, 1, 42, cbid=41),
            operation("gpu_memcpy", name, correlation, start, end, stream)]
    rows[1]["args"]["bytes"] = size
    return rows


# ---- streams ----

def idle_streams():
    return [
        *launch(1, 0, 10, 20), *launch(2, 5, 22, 30),  # 2 us: kernel wait
        *launch(3, 8, 80, 90),                         # 50 us: other
        *stream_sync(4, 85, 10),                       # until 95
        *launch(5, 100, 105, 110),                     # 5 us of sync, cpu and launch
        *launch(6, 101, 106, 200, stream=20),
        row("cuda_runtime", "cudaEventRecord", 7, 104, 1, 42, cbid=135),
        *stream_wait(8, 106, 7, 7, 20), *launch(9, 107, 201, 210),   # 91 us for stream 20
        operation("kernel", "from_before", 99, 215, 220)]            # 5 us: unknown


def test_idle_time_of_streams(tmp_path):
    path = write(tmp_path / "t.json", idle_streams())
    found = table(report("--only", "streams", path), "streams")
    assert us(found, "stream", "wait", "cause", "gaps", "idle_ns") == [
        (7, "host", "sync", 1, 5), (7, "host", "cpu", 1, 5), (7, "host", "launch", 1, 5),
        (7, "kernel", None, 1, 2), (7, "stream", None, 1, 91), (7, "other", None, 1, 50),
        (7, "unknown", None, 1, 5)]
    assert found[0]["share_ratio"] == 5 / 163 and found[0]["std_ns"] == 0
    found = table(report("--only", "streams", "--set", "streams.consecutive_kernel_delay=2", path), "streams")
    assert us([r for r in found if r["wait"] == "other"], "gaps", "idle_ns", "mean_ns", "min_ns", "p25_ns",
              "max_ns") == [(2, 52, 26, 2, 14, 50)]
    assert table(report("--only", "streams", "--set", "streams.consecutive_kernel_delay=92", path),
                 "streams")[3]["gaps"] == 3


def test_chosen_streams(tmp_path):
    path = write(tmp_path / "t.json", idle_streams())
    found = report("--stream", "20", path)
    assert [k["name"] for k in table(found, "kernels")] == ["k6"]
    assert [q["stream"] for q in table(found, "queue")] == [20]
    assert [sum(r["launches"] for r in table(report("--only", "launch", *streams, path), "launch")) for streams in [
        (), ("--stream", "20"), ("--stream", "7", "--stream=20"), ("--stream", "9")]] == [6, 1, 6, 0]
    assert table(found, "parts") == table(report(path), "parts")
    assert found["metrics"]["parts"]["notes"][-1].startswith("--stream has no effect")
    assert not any("--stream" in note for note in found["metrics"]["kernels"]["notes"])
    for wrong, expected in [(("--stream", "x"), "give a number"), (("--stream", "7"), "--only, --json"),
                            (("--stream", "7", "--only", "parts,idle"), "has no effect")]:
        assert expected in one_line(run("report", *wrong, path, status=2)[1])


# ---- queues ----

def test_queue_lengths(tmp_path):
    """Launches at 0, 1, 2 and 20 us for kernels at 10, 20, 30 and 40 us: the lengths are 1, 2, 3, 2, 2 (a launch
    comes first: 3, then 2), 1 and 0."""
    rows = [*launch(1, 0, 10, 20), *launch(2, 1, 20, 30), *launch(3, 2, 30, 40), *launch(4, 20, 40, 50),
            operation("kernel", "unknown", 9, 60, 70), *launch(5, 100, 99, 120, stream=20)]
    path = write(tmp_path / "t.json", rows)
    found = report("--only", "queue,queue_series", "--set", "queue.max_queue_length=3", path)
    assert us(table(found, "queue_series"), "stream", "begin_ns", "length") == [
        (7, 0, 1), (7, 1, 2), (7, 2, 3), (7, 10, 2), (7, 20, 3), (7, 20, 2), (7, 30, 1), (7, 40, 0),
        (20, 100, 1), (20, 100, 0)]
    queue = table(found, "queue")[0]
    assert (queue["launches"], queue["changes"], queue["blocked_ns"], queue["blocked_ratio"]) == (4, 8, 8000, 8 / 40)
    assert queue["mean_over_time"] == (1 * 1 + 2 * 1 + 3 * 8 + 2 * 10 + 2 * 10 + 1 * 10) / 40
    assert [queue[name] for name in SUMMARY] == [14 / 8, statistics.stdev([1, 2, 3, 2, 3, 2, 1, 0]), 0, 1, 2, 2.25, 3]
    assert table(report("--only", "queue", path), "queue")[0]["blocked_ns"] == 0


def test_a_full_queue_by_default(tmp_path):
    """The launch that has to wait is the one with which 1,022 launches are in the queue: 1,021 wait, one runs."""
    rows = [r for i in range(1022) for r in launch(i + 1, i / 10, 1000 + i, 1001 + i)]
    rows += launch(2000, 500, 2022, 2023)
    (queue,) = table(report("--only", "queue", write(tmp_path / "t.json", rows)), "queue")
    assert (queue["max"], queue["blocked_ns"]) == (1023, int((1001 - 102.1) * 1000))


def test_long_series_keep_their_extremes(tmp_path):
    rows = [r for i in range(2000) for r in launch(i + 1, 10 * i, 10 * i + 5, 10 * i + 6)]
    rows += [r for i in range(7) for r in launch(5000 + i, 7007 + i / 10, 7008 + i / 10, 7008 + i / 10)]
    path = write(tmp_path / "t.json", rows)
    found = [r["length"] for r in table(report("--only", "queue_series", path), "queue_series")]
    assert len(found) <= 2000 and max(found) == 7
    found = table(report("--only", "queue_series", "--set", "queue_series.points=9", path), "queue_series")
    assert len(found) == 8 and max(r["length"] for r in found) == 7 and min(r["length"] for r in found) == 0
    assert [r["begin_ns"] for r in found] == sorted(r["begin_ns"] for r in found)
    rows = [r for i in range(4000) for r in launch(i + 1, 10 * i, 10 * i + 5, 10 * i + 6, stream=i % 400)]
    found = table(report("--only", "queue_series", "--set", "queue_series.points=8", write(path, rows)), "queue_series")
    assert len(found) == 400 * 2


# ---- bandwidth ----

def test_bandwidth(tmp_path):
    """Copies of 1, 2 and 4 GB/s: the second runs in the middle of the first, the third begins at its end."""
    rows = [*copy(1, 0, 10, 20, 10000), *copy(2, 1, 12, 14, 4000, "Memcpy HtoD (Pageable -> Device)", 20),
            *copy(3, 2, 20, 21, 4000), *copy(4, 3, 30, 40, 5000, "Memset (Device)"), *copy(5, 4, 50, 50, 8),
            *copy(6, 5, 60, 61, 0)]
    path = write(tmp_path / "t.json", rows)
    found = report("--only", "bandwidth,bandwidth_series", path)
    assert us(table(found, "bandwidth_series"), "name", "begin_ns", "gb_per_s") == [
        ("Memcpy HtoD", 10, 1), ("Memcpy HtoD", 12, 3), ("Memcpy HtoD", 14, 1), ("Memcpy HtoD", 20, 0),
        ("Memcpy HtoD", 20, 4), ("Memcpy HtoD", 21, 0), ("Memset", 30, 0.5), ("Memset", 40, 0)]
    copies, sets = table(found, "bandwidth")
    assert (copies["copies"], copies["busy_ns"], copies["mean_over_time_gb_per_s"]) == (3, 11000, 18 / 11)
    assert [copies[f"{name}_gb_per_s"] for name in SUMMARY if name != "std"] == [9 / 4, 1, 1, 2, 3.25, 4]
    assert (sets["name"], sets["median_gb_per_s"], sets["std_gb_per_s"]) == ("Memset", 0.5, 0)


# ---- operators and ranges ----

def named(name, rows):
    return [{**r, "name": name} if r["cat"] == "kernel" else r for r in rows]


def nested():
    """Two calls of `outer` with three kernels each, the second inside the annotation `part`."""
    rows = [step(1, 0, 1000)]
    for n, at in [(10, 0), (20, 100)]:
        rows += [cpu_op("aten::outer", at, 50), cpu_op("aten::inner", at + 10, 20),
                 *named("a", launch(n, at + 12, at + 40, at + 50)),
                 *named("b", launch(n + 1, at + 20, at + 50, at + 55)),
                 *named("b", launch(n + 2, at + 35, at + 60, at + 70))]
    return [*rows, annotation("part", 90, 100), annotation("part", 95, 80), annotation("idle", 300, 10),
            *launch(50, 200, 210, 220)]


def test_operators_and_their_kernels(tmp_path):
    path = write(tmp_path / "t.json", nested())
    found = report("--only", "delay,sequences,annotations,annotation_kernels", path)
    assert us(table(found, "delay"), "operator", "calls", "to_launch_mean_ns", "after_launch_mean_ns", "mean_ns",
              "min_ns", "max_ns", "std_ns") == [
        ("aten::outer", 2, 12, 28, 40, 40, 40, 0), ("aten::inner", 2, 2, 28, 30, 30, 30, 0)]
    assert us(table(found, "sequences"), "operator", "count", "operations", "gpu_ns", "gpu_mean_ns", "cpu_ns",
              "sequence") == [("aten::outer", 2, 3, 50, 25, 100, "a | b x 2")]
    assert us(table(found, "annotations"), "annotation", "count", "operations", "gpu_ns", "span_ns",
              "span_max_ns") == [("part", 1, 3, 25, 30, 30)]
    assert us(table(found, "annotation_kernels"), "annotation", "name", "count", "sum_ns") == [
        (None, "b", 2, 15), ("part", "b", 2, 15), (None, "a", 1, 10), ("part", "a", 1, 10),
        (None, "k50", 1, 10)]


def test_sequences_of_a_chosen_operator(tmp_path):
    path = write(tmp_path / "t.json", nested())

    def sequences(*settings):
        options = [word for name in settings for word in ("--set", f"sequences.{name}")]
        return us(table(report("--only", "sequences", *options, path), "sequences"), "operator", "count", "sequence")

    assert sequences("operator=inner") == []
    assert sequences("operator=inner", "min_length=2") == [("aten::inner", 2, "a | b")]
    assert sequences("operator=nothing") == []
    assert sequences("min_length=1", "top=1") == [("aten::outer", 2, "a | b x 2")]


# ---- ranks ----

def rank_steps(tmp_path, rank, starts):
    """Steps of 1 ms, each with an all-reduce of two ranks from one of the starts until 200 us."""
    args = {"Collective name": "allreduce", "In msg nelems": 64, "Out msg nelems": 64, "Group size": 2,
            "dtype": "Float", "Process Group Name": "0", "Process Group Ranks": "[0, 1]"}
    rows = [r for n, start in enumerate(starts)
            for r in [step(n + 1, 1000 * n, 900),
                      *nccl(n + 1, 1000 * n + 5, 1000 * n + start, 1000 * n + 200, **args)]]
    path = tmp_path / f"rank-{rank}.json"
    path.write_text(json.dumps({
        "schemaVersion": 1, "baseTimeNanoseconds": 10**18, "traceEvents": rows,
        "distributedInfo": {"backend": "nccl", "rank": rank, "world_size": 2}}))
    return path


def test_the_rank_that_comes_late(tmp_path):
    """Rank 1 is 40 and 10 us late in the first two steps, and rank 0 5 us in the third."""
    paths = [rank_steps(tmp_path, 0, [20, 20, 25, 20]), rank_steps(tmp_path, 1, [60, 30, 20, 20])]
    found = table(report(*paths), "stragglers")
    assert us(found, "rank", "collectives", "last", "late_steps", "late_ns", "waited_ns", "pattern") == [
        (0, 4, 2, 1, 5, 50, "rotating"), (1, 4, 2, 2, 50, 5, "recurring")]
    # The steps of rank 1 are from 60 to 3200 us, those of rank 0 from 20 us on.
    assert [r["score_ratio"] for r in found] == [1 - 5 / 3140, 1 - 50 / 3180]
    assert found[1]["late_ratio"] == 50 / 55
    first = table(report("--steps", "1", *paths), "stragglers")[1]
    assert (first["late_ns"], first["pattern"]) == (40000, None)
    assert "all ranks" in run("report", "--only", "stragglers", "--rank", "1", *paths)[0]
    assert "No collective was matched" in run("report", "--only", "stragglers", paths[0])[0]


# ---- launches ----

def test_the_worst_launches(tmp_path):
    rows = [cpu_op("aten::slow", 0, 100)]
    for i, (call, delay) in enumerate([(60, 10), (70, 300), (10, 101), (10, 100), (50, 0)]):
        begin = 1000 * i
        rows += [row("cuda_runtime", "cudaLaunchKernel", i + 1, begin, call, 42, cbid=211),
                 operation("kernel", f"k{i}", i + 1, begin + call + delay, begin + call + delay + 1)]
    path = write(tmp_path / "t.json", rows)
    found = table(report("--only", "launch_outliers", path), "launch_outliers")
    assert us(found, "kind", "operation", "begin_ns", "call_ns", "delay_ns", "gpu_ns", "place") == [
        ("slow call", "k1", 1000, 70, 300, 1, None), ("slow call", "k0", 0, 60, 10, 1, "aten::slow"),
        ("late kernel", "k1", 1000, 70, 300, 1, None), ("late kernel", "k2", 2000, 10, 101, 1, None)]
    found = table(report("--only", "launch_outliers", "--set", "launch_outliers.top=1",
                         "--set", "launch_outliers.launch_delay_cutoff=400", path), "launch_outliers")
    assert us(found, "kind", "operation") == [("slow call", "k1")]


# ---- the trace with counters ----

def read(path):
    return json.loads(harness.decompress(path))


@pytest.mark.parametrize("end", ["", ".gz", ".zst"])
def test_the_trace_with_counters(tmp_path, end):
    rows = [*launch(1, 0, 10, 20), *launch(2, 1.5, 20, 30, stream=20), *copy(3, 2, 30, 40, 5000)]
    path, out = write(tmp_path / "t.json", rows), tmp_path / f"out.json{end}"
    text, _ = run("report", "--augment", out, path)
    assert text == run("report", path)[0]
    trace = read(out)
    counters = trace["traceEvents"][len(rows):]
    assert trace["traceEvents"][:len(rows)] == rows and trace["schemaVersion"] == 1
    assert [(c["name"], c.get("id"), c["ts"], *c["args"].items()) for c in counters] == [
        *(("Queue Length", stream, ts, ("Queue Length", length)) for stream, ts, length in [
            (7, 0, 1), (7, 2, 2), (7, 10, 1), (7, 30, 0), (20, 1.5, 1), (20, 20, 0)]),
        ("Memcpy HtoD", None, 30, ("Memcpy BW", 0.5)), ("Memcpy HtoD", None, 40, ("Memcpy BW", 0))]
    assert all((c["ph"], c["pid"]) == ("C", 0) for c in counters)
    assert report(out)["metrics"] == report(path)["metrics"]


def test_traces_with_counters_in_a_folder(tmp_path):
    paths = [rank_steps(tmp_path, 0, [20]), rank_steps(tmp_path, 1, [60])]
    run("report", "--augment", f"{tmp_path}/new/", *paths)
    assert sorted(p.name for p in (tmp_path / "new").iterdir()) == [
        "rank-0_with_counters.json.gz", "rank-1_with_counters.json.gz"]
    for n, path in enumerate(paths):
        events = read(tmp_path / "new" / f"rank-{n}_with_counters.json.gz")["traceEvents"]
        assert events[:-2] == json.loads(path.read_text())["traceEvents"]
    assert "need a folder" in one_line(run("report", "--augment", tmp_path / "x.json", *paths, status=2)[1])


def test_a_folder_of_traces_with_counters(tmp_path):
    """Commands find them in a folder. Where the traces without counters are, too, these are read."""
    first, second = job_traces(tmp_path / "job", "a", "run-a", 5)
    out = tmp_path / "job" / "out"
    alone = report(first, second)
    run("report", "--augment", f"{out}/", first, second)
    made = [out / "0.pt.trace_with_counters.json.gz", out / "1.pt.trace_with_counters.json.gz"]
    assert sorted(out.iterdir()) == made
    for folder, expected in [(out, made), (tmp_path, [first, second])]:
        found = report(folder)
        assert found["metrics"] == alone["metrics"]
        assert [i["path"] for i in found["inputs"]] == [str(path) for path in expected]
        lines = run("check", "--json", folder)[0].splitlines()
        assert [json.loads(line)["file"] for line in lines] == [str(path) for path in expected]
    assert "2 copies of other files" in one_line(run("report", tmp_path)[1])
    run("convert", out, "--to", "hta", "--window", "1", "-d", tmp_path / "hta")


def test_the_input_is_not_overwritten(tmp_path):
    path = write(tmp_path / "t.json", launch(1, 0, 10, 20))
    before = path.read_bytes()
    (tmp_path / "link.json").symlink_to(path)
    for out in [path, tmp_path / "link.json", tmp_path / "." / "t.json"]:
        assert "choose another name" in one_line(run("report", "--augment", out, path, status=2)[1])
    assert path.read_bytes() == before
    again = write(tmp_path / "t_with_counters.json.gz", launch(1, 0, 10, 20))
    assert "is an input" in one_line(run("report", "--augment", f"{tmp_path}/", path, again, status=2)[1])
    assert "standard input" in one_line(run("report", "--augment", tmp_path / "x.json", "-", status=2)[1])


@real
def test_counters_of_a_real_trace(tmp_path):
    path, out = TRACES / "nccl_3steps.json.gz", tmp_path / "out.json.gz"
    run("report", "--augment", out, path)
    counters = [e for e in read(out)["traceEvents"] if e.get("ph") == "C"]
    lengths = collections.Counter(c["id"] for c in counters if c["name"] == "Queue Length")
    assert lengths == {q["stream"]: q["changes"] for q in table(report(path), "queue")}
    assert run("check", out)[0].startswith(f"{out}: valid and complete")


# ---- real traces ----

GPU = ("kernel", "gpu_memcpy", "gpu_memset")


def ns(value) -> int:
    return int(value * 1000)


class Counted:
    """The rows of a trace: operations with their launches, and the ranges around each launch."""

    def __init__(self, path):
        with gzip.open(path) as f:
            rows = [r for r in json.load(f, parse_float=decimal.Decimal)["traceEvents"] if r.get("ph") == "X"]
        steps = sorted((ns(r["ts"]), ns(r["ts"] + r["dur"])) for r in rows
                       if r["name"].startswith("ProfilerStep#") and r["cat"] == "user_annotation")
        self.ranges = self.nest([r for r in rows if r["cat"] in ("cpu_op", "user_annotation")])
        calls = {r["args"]["correlation"]: r for r in rows if r["cat"] in ("cuda_runtime", "cuda_driver")}
        self.operations = []
        for r in rows:
            if r["cat"] not in GPU:
                continue
            call = calls.get(r["args"]["correlation"])
            begin = ns(call["ts"]) if call else ns(r["ts"])
            self.operations.append({
                "name": r["name"], "stream": r["args"]["stream"], "start": ns(r["ts"]), "bytes": r["args"].get("bytes"),
                "end": ns(r["ts"]) + ns(r["dur"]), "id": r["args"]["correlation"], "kind": r["cat"],
                "launch": call and (ns(call["ts"]), ns(call["ts"]) + ns(call["dur"])), "thread": call and call["tid"],
                "chosen": not steps or any(a <= begin < b for a, b in steps)})
        self.operations.sort(key=lambda o: (o["start"], o["id"]))

    @staticmethod
    def nest(rows) -> dict:
        """Returns the ranges of each thread, outer ones first."""
        threads = collections.defaultdict(list)
        for r in sorted(rows, key=lambda r: (ns(r["ts"]), -ns(r["ts"] + r["dur"]))):
            begin, end = ns(r["ts"]), ns(r["ts"]) + ns(r["dur"])
            threads[r["tid"]].append({"name": r["name"], "begin": begin, "end": end,
                                      "is_operator": r["cat"] == "cpu_op", "operations": [],
                                      "around": [] if r["cat"] == "cpu_op" else list(threads[r["tid"]])})
        return threads

    def join(self):
        """Adds each chosen operation to the ranges around its launch."""
        for thread, ranges in self.ranges.items():
            waiting, around = ranges[::-1], []
            for o in sorted((o for o in self.operations if o["chosen"] and o["launch"] and o["thread"] == thread),
                            key=lambda o: o["launch"]):
                while waiting and waiting[-1]["begin"] <= o["launch"][0]:
                    around.append(waiting.pop())
                around = [x for x in around if x["end"] > o["launch"][0]]
                for x in around:
                    if not x["name"].startswith("ProfilerStep#"):
                        x["operations"].append(o)
        return [x for thread in self.ranges.values() for x in thread if x["operations"]]

    def streams(self):
        found = collections.defaultdict(list)
        for o in self.operations:
            found[o["stream"]].append(o)
        return found


def total(rows, *key):
    """Adds up idle_ns of the rows by some columns."""
    found = collections.Counter()
    for r in rows:
        found[tuple(r[name] for name in key)] += r["idle_ns"]
    return found


@real
@pytest.mark.parametrize("path", REAL, ids=lambda path: path.name)
def test_streams_and_counters_against_an_independent_count(path):
    counted = Counted(path)
    found = report("--only", "streams,queue,bandwidth,launch_outliers", "--set", "launch_outliers.top=1000", path)
    idle, queues = collections.Counter(), {}
    for stream, operations in counted.streams().items():
        for before, o in zip(operations, operations[1:]):
            gap = o["start"] - before["end"]
            if gap > 0 and o["chosen"]:
                kind = "unknown" if not o["launch"] or o["launch"][0] >= o["start"] else \
                    "host" if o["launch"][0] >= before["end"] else \
                    "kernel" if o["start"] - min(max(before["end"], o["launch"][1]), o["start"]) < 30000 else "late"
                idle[stream, kind] += gap
        changes = sorted((at, -change, o["chosen"]) for o in operations if o["launch"]
                         for at, change in [(o["launch"][0], 1), (max(o["start"], o["launch"][0]), -1)])
        length, lengths = 0, []
        for at, change, chosen in changes:
            length -= change
            lengths += [length] if chosen else []
        if lengths:
            queues[stream] = (len(lengths), max(lengths), statistics.fmean(lengths), statistics.median(lengths))
    told = collections.Counter()
    for (stream, wait), value in total(table(found, "streams"), "stream", "wait").items():
        told[stream, {"stream": "late", "other": "late"}.get(wait, wait)] += value
    assert told == idle
    assert {q["stream"]: (q["changes"], q["max"], pytest.approx(q["mean"]), q["median"])
            for q in table(found, "queue")} == queues
    copied = collections.defaultdict(list)
    for o in counted.operations:
        if o["kind"] != "kernel" and o["end"] > o["start"] and o["bytes"] and o["chosen"]:
            copied[o["name"].split(" (")[0]].append(float(o["bytes"]) / (o["end"] - o["start"]))
    assert {b["name"]: b["copies"] for b in table(found, "bandwidth")} == {
        name: len(values) for name, values in copied.items()}
    for b in table(found, "bandwidth"):
        assert b["max_gb_per_s"] >= max(copied[b["name"]]) * 0.999999
    outliers = collections.Counter(r["kind"] for r in table(found, "launch_outliers"))
    slow = {o["id"] for o in counted.operations if o["chosen"] and o["launch"] and
            o["launch"][1] - o["launch"][0] > 50000}
    late = {o["id"] for o in counted.operations if o["chosen"] and o["launch"] and
            o["start"] - o["launch"][1] > 100000}
    assert (outliers["slow call"], outliers["late kernel"]) == (min(len(slow), 1000), min(len(late), 1000))


@real
@pytest.mark.parametrize("path", REAL, ids=lambda path: path.name)
def test_operators_against_an_independent_count(path):
    counted = Counted(path)
    delays, spans = collections.defaultdict(list), collections.defaultdict(list)
    for x in counted.join():
        operations = x["operations"]
        if x["is_operator"]:
            first = min(operations, key=lambda o: (o["launch"][0], o["start"]))
            delays[x["name"]].append(max(0, first["start"] - x["begin"]))
        elif not any(y["name"] == x["name"] and y["end"] >= x["end"] and not y["is_operator"] for y in x["around"]):
            spans[x["name"]].append((len(operations), sum(o["end"] - o["start"] for o in operations),
                                     max(o["end"] for o in operations) - min(o["start"] for o in operations)))
    found = report("--only", "delay,annotations,annotation_kernels", path)
    assert {d["operator"]: (d["calls"], d["min_ns"], d["max_ns"]) for d in table(found, "delay")} == {
        name: (len(values), min(values), max(values)) for name, values in delays.items()}
    assert {a["annotation"]: (a["count"], a["operations"], a["gpu_ns"], a["span_ns"])
            for a in table(found, "annotations")} == {
        name: (len(values), *(sum(each) for each in zip(*values))) for name, values in spans.items()}
    assert sum(k["sum_ns"] for k in table(found, "annotation_kernels")) == sum(
        o["end"] - o["start"] for o in counted.operations if o["chosen"])


class RandomTrace:
    """Rows of nested operators and annotations of two threads, with launches on three streams."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.rows, self.correlation, self.end = [], 0, collections.Counter()
        length = self.random.randint(20, 1500)
        if self.random.random() < 0.5:
            self.rows += [step(1, 0, length // 2, 99), step(2, length // 2 + 3, length // 3, 99)]
        for thread in (42, 43):
            self.put_calls(thread, 0, length, 0)
        self.random.shuffle(self.rows)

    def put_calls(self, thread, at, end, depth):
        while at < end - 4:
            if self.random.random() < 0.45 and depth < 5:
                inner = min(end - 1, at + self.random.randint(5, 120))
                make = self.random.choice([cpu_op, cpu_op, annotation])
                self.rows.append(make(self.random.choice(["a", "b", "c"]), at, inner - at, thread))
                self.put_calls(thread, at + 1, inner, depth + 1)
                at = inner + self.random.randint(0, 3)
            else:
                at += self.put_launch(thread, at, min(self.random.choice([1, 3, 60]), end - at - 1))

    def put_launch(self, thread, at, length):
        self.correlation += 1
        stream = self.random.choice([7, 8, 20])
        start = max(self.end[stream] + self.random.choice([0, 1, 40]), at + self.random.choice([1, 5, 200]))
        self.end[stream] = start + self.random.choice([0, 1, 4, 30])
        if self.random.random() < 0.95:
            self.rows.append(row("cuda_runtime", "cudaLaunchKernel", self.correlation, at, length, thread, cbid=211))
        kind, name = self.random.choice([("kernel", "k"), ("kernel", "q"), ("gpu_memcpy", "Memcpy HtoD")])
        self.rows.append(operation(kind, name, self.correlation, start, self.end[stream], stream))
        self.rows[-1]["args"]["bytes"] = self.random.choice([0, 100, 5000])
        return length + self.random.randint(0, 20)


@pytest.mark.parametrize("seed", range(10))
def test_random_traces_against_an_independent_count(tmp_path, seed):
    path = tmp_path / "t.json.gz"
    with gzip.open(path, "wt") as f:
        json.dump({"schemaVersion": 1, "traceEvents": RandomTrace(seed).rows}, f)
    test_streams_and_counters_against_an_independent_count(path)
    test_operators_against_an_independent_count(path)
