"""A simulator can replay syncline's Chakra files. The longest path through the dependencies
reproduces the recorded times, including the times at which the CPU waits for the GPU. If kernels
are made longer, the replay ends later by as much as the real program.

The end of each step and of the window must be within 1 % of the time since the window's start. The end of
each operation must be within 20 us plus 1 %."""
import bisect
import collections
import json
import math
import pathlib
import subprocess
from decimal import Decimal

import pytest

import chakra
import chakra_replay
import edges_tool
import harness
import host_times
from real_traces import TRACES, real

GPU = ("kernel", "gpu_memcpy", "gpu_memset")
CALLS = ("cuda_runtime", "cuda_driver")
BOUND, OPERATION_NS = 0.01, 20000
NOT_READY = 600  # result of a query that found unfinished work
HTOD, LAUNCH_NS = 1, 5000  # constants of the simulated GPU

# Ten rounds in which the CPU waits 2 ms for the GPU, then works for 8 ms.
WAITS_A_FIFTH = "context stream " + " ".join(["long:2 sync sleep:8"] * 10)
SAMPLES = {
    "train_like": ["train_like", "--steps", "12"],
    "two_threads": ["two_threads"],
    "streams_and_waits": ["streams_and_waits"],
    "waits_a_fifth": ["scenario", *WAITS_A_FIFTH.split()],
}
# Further programs whose recorded times are replayed: a graph with dependencies between its nodes, and two
# devices.
REPLAYED = {**SAMPLES, "graph": ["graph"], "peer_copy": ["peer_copy"]}
# The kernels run for one second in total, and there are few calls. So the load of the machine
# hardly changes the total time.
WAITS_MOST = ["scenario", "context", "stream", *["long:100", "long:100", "sync", "sleep:50"] * 5]


def convert(trace: pathlib.Path, tmp: pathlib.Path, *options) -> chakra.Et:
    out = tmp / "converted.0.et"
    subprocess.run([harness.TOOL, "convert", trace, "--to", "chakra", "-o", out, *options],
                   check=True, capture_output=True, timeout=120)
    return chakra.Et(out)


def record(tmp: pathlib.Path, command: list[str], *sim: str, **options: str) -> harness.Run:
    program, *arguments = command
    path = harness.SCENARIO if program == "scenario" else harness.BUILD / "samples" / program
    tmp.mkdir()
    run = harness.run(tmp, path, *arguments, sim=list(sim), **options)
    assert run.status == 0, run.stderr
    return run


def record_sample(tmp: pathlib.Path, name: str) -> harness.Run:
    options = {"graph_edges": "1"} if name == "graph" else {}
    return record(tmp, REPLAYED[name], "--devices", "2", **options)


def held_up(et: chakra.Et, run: harness.Run) -> dict[int, int]:
    """Returns a map from nodes to the delays, in ns, that a busy machine causes and that no record
    shows. There are four causes. A thread wakes late in a copy from pageable memory, so the thread
    enqueues the copy late. A graph launch enqueues a node late. A thread is preempted inside a
    launch. A host function between two operations runs late. A delay is returned only if the
    operation waited for no other operation, according to the simulator's truth."""
    ops = run.truth_of("op")
    returned = {call["corr"]: call["end"] for call in run.truth_of("call")}
    woke = {wait["corr"] for wait in run.truth_of("wait") if wait["kind"] == "copy"}
    host = {op["id"]: op["end"] for op in ops if op["kind"] == "host"}
    late = {(op["corr"], op["start"]) for op in ops
            if op["start"] in [host.get(s["op"]) for s in op["after"]] or
            (op["graph"] or op["corr"] in woke and op["copy_kind"] == HTOD or
             op["start"] < returned[op["corr"]]) and op["start"] == op["queued"] + LAUNCH_NS}
    base = et.header["clock_base_ns"]
    return {node.id: max(0, node.start - node.delay - max(et.by_id[d].end for d in node.deps))
            for node in et.gpu if node.deps and (node.correlation, node.start + base) in late}


def rows_of(trace: pathlib.Path) -> tuple[int, list[dict]]:
    """Returns the clock's base, and the rows with exact `start` and `end` in ns."""
    text = json.loads(harness.decompress(trace), parse_float=Decimal)
    for row in text["traceEvents"]:
        if row["ph"] == "X" and "cat" in row:
            row["start"] = int(row["ts"] * 1000)
            row["end"] = row["start"] + int(row.get("dur", 0) * 1000)
    return text.get("baseTimeNanoseconds", 0), text["traceEvents"]


def late(et: chakra.Et, ends: dict[int, float], trace: pathlib.Path) -> list[str]:
    """Returns the rows of the Kineto file whose end the replay misses by more than the tolerance."""
    base, rows = rows_of(trace)
    base -= et.header["clock_base_ns"]
    gpu, cpu, steps = (collections.defaultdict(list) for _ in range(3))
    for node in et.nodes:
        if node.name.startswith("ProfilerStep#"):
            steps[node.name].append(ends[node.id])
        elif node.cpu:
            cpu[node.correlation].append(ends[node.id])
        else:
            gpu[node.correlation, node.attr["stream"]].append((node.end, ends[node.id]))
    cpu_ends = sorted((node.end, ends[node.id]) for node in et.cpu)
    ended_at = {(node.attr["tid"], node.end): ends[node.id] for node in et.cpu}
    found, looked_at = [], 0
    for row in rows:
        category = row.get("cat") if row["ph"] == "X" else None
        wanted = row["end"] + base if category else 0
        if category in GPU:
            nodes = gpu[row["args"]["correlation"], row["args"]["stream"]]
            end = next((replayed for recorded, replayed in nodes if recorded == wanted), None)
            slack = OPERATION_NS
        elif category in CALLS and row["args"].get("result") == NOT_READY:
            # A run of queries is one node, which ends with the last query.
            end, slack = ended_at.get((row["tid"], wanted)), OPERATION_NS
            if end is None:
                continue
        elif category in CALLS:
            end, slack = max(cpu[row["args"]["correlation"]], default=None), OPERATION_NS
        elif category == "user_annotation" and row["name"].startswith("ProfilerStep#"):
            end, slack = max(steps[row["name"]], default=None), 0
            # a row of the whole process, as in syncline's files. It ends at the end of the last
            # work on any thread of the process
            if end is None:
                recorded, replayed = cpu_ends[bisect.bisect(cpu_ends, (wanted, math.inf)) - 1]
                end = wanted + replayed - recorded
        else:
            continue
        looked_at += 1
        if end is None or abs(end - wanted) > slack + BOUND * wanted:
            found.append(f"{row['name']} ended at {wanted}, replayed {end}")
    assert looked_at
    return found


def window_end(ends: dict[int, float]) -> float:
    return max(ends.values())


def check_ends(et: chakra.Et, run: harness.Run, trace: pathlib.Path) -> None:
    """Checks that a replay reproduces all recorded ends, and that at most a third of the operations
    need an extra delay for this."""
    held = held_up(et, run)
    assert sum(ns > 0 for ns in held.values()) <= len(et.gpu) // 3, held
    ends = chakra_replay.replay(et, held_up=held)
    assert not late(et, ends, trace)
    recorded = max(node.end for node in et.nodes)
    assert abs(window_end(ends) - recorded) <= BOUND * recorded


def check_replay(run: harness.Run, folder: pathlib.Path) -> None:
    trace = run.trace().path
    et = convert(trace, folder)
    assert not chakra.broken(et)
    check_ends(et, run, trace)


@pytest.mark.sanitize
@pytest.mark.parametrize("name", REPLAYED)
def test_a_replay_gives_the_recorded_times_back(tmp_path, name):
    check_replay(record_sample(tmp_path / "run", name), tmp_path)


TWO_CONTEXTS = ["0 use 0", "0 stream 2 1", "0 context 4 0", "0 stream 3 1"] + [
    "0 use 0", "0 kernel 2 2000", "0 use 4", "0 kernel 3 2000", "0 ssync 2 1", "0 ssync 3 1"] * 30


def test_streams_of_two_contexts_with_one_number(tmp_path):
    """CUPTI numbers the streams of each context from the start. Two streams with the same number in different
    contexts run concurrently in the replay."""
    steps = tmp_path / "steps"
    steps.write_text("\n".join(TWO_CONTEXTS) + "\n")
    run = harness.run(tmp_path, harness.BUILD / "tests" / "e2e" / "random_waits", steps)
    trace = run.trace()
    assert len({(r["args"]["context"], r["args"]["stream"]) for r in trace.of("kernel")}) == 2
    assert len({r["args"]["stream"] for r in trace.of("kernel")}) == 1
    check_replay(run, tmp_path)


def test_an_operation_whose_call_outlasts_the_window(tmp_path):
    """The call of a copy returned after the window had closed, so the call is not in the file. In a
    replay the copy begins at its recorded time. If the kernel before the copy is made longer, the
    copy begins later."""
    rows = [*edges_tool.launch(1, 10, 15, 60), edges_tool.operation("gpu_memcpy", "Memcpy", 2, 5000, 5100)]
    et = convert(edges_tool.write(tmp_path / "t.json", rows), tmp_path)
    assert not chakra.broken(et)
    ends = chakra_replay.replay(et)
    assert ends == {node.id: node.end for node in et.nodes}
    for factor, later in ((2, 0), (200, 45 * 200 + 15 - 5000)):
        moved = chakra_replay.replay(et, chakra_replay.kernels_longer(factor))
        assert window_end(moved) - window_end(ends) == later * 1000


@real
@pytest.mark.parametrize("name", ["cuda_event_sync", "simple_add", "nccl_3steps"])
def test_a_replay_of_a_real_trace(tmp_path, name):
    trace = TRACES / f"{name}.json.gz"
    et = convert(trace, tmp_path)
    assert not chakra.broken(et)
    ends = chakra_replay.replay(et)
    assert not late(et, ends, trace)


@real
@pytest.mark.parametrize("rank", [0, 1])
def test_a_trace_that_does_not_say_what_streams_waited_for(tmp_path, rank):
    """A trace of 2023 has no synchronization rows. Threads and steps keep their times in a replay.
    Operations on streams run too early, because the file does not have the waits of streams.
    `convert` prints a warning."""
    trace = TRACES / f"two_ranks.rank-{rank}.json.gz"
    out = tmp_path / "t.et"
    told = subprocess.run([harness.TOOL, "convert", trace, "--to", "chakra", "-o", out], check=True,
                          capture_output=True, text=True, timeout=60).stdout
    et = chakra.Et(out)
    assert not chakra.broken(et)
    ends = chakra_replay.replay(et)
    kernels = {row["name"] for row in rows_of(trace)[1] if row.get("cat") in GPU}
    wrong = late(et, ends, trace)
    assert wrong and all(any(line.startswith(name) for name in kernels) for line in wrong)
    assert "later in all than known dependencies explain" in told


@pytest.mark.full(seconds=1.0)
def test_without_sync_edges_a_job_that_waits_ends_early(tmp_path):
    """Without sync edges the CPU does not wait for the GPU in a replay, so the replay ends a tenth
    earlier. On a busy machine the CPU's own time may be so long that the difference is smaller."""
    trace = record(tmp_path / "run", SAMPLES["waits_a_fifth"]).trace()
    et = convert(trace.path, tmp_path)
    whole = window_end(chakra_replay.replay(et))
    without = window_end(chakra_replay.replay(et, keep=chakra_replay.without_sync_edges))
    assert without <= 0.9 * whole


# Predictions of runs with longer kernels

class WhatIf:
    """Two runs, the second with kernels twice as long, and a prediction of the second run from the
    trace of the first run. The prediction uses the CPU's own times of the second run."""

    def __init__(self, folder: pathlib.Path, name: str):
        runs = [record(folder / factor, SAMPLES[name], "--kernel-factor", factor) for factor in ("5", "10")]
        once, self.twice = (host_times.Host(run) for run in runs)
        self.same = host_times.same_calls(once, self.twice)
        self.et = convert(runs[0].trace().path, folder)
        self.host = host_times.of_other_run(self.et, self.same, once, self.twice)
        self.begin = once.begin - self.et.header["clock_base_ns"]
        self.grew = (self.twice.end - self.twice.begin) / (once.end - once.begin)

    def duration(self, node: chakra.Node) -> float:
        return self.host.get(node.id, chakra_replay.kernels_longer(2)(node))

    def off(self, keep=chakra_replay.everything) -> float:
        """Returns the largest error of a call's or operation's predicted end, as a fraction of the run's
        time."""
        replayed = chakra_replay.replay(self.et, self.duration, lambda parent, node: keep(
            parent, node) and (parent.cpu or not node.cpu or not host_times.is_free(node.name)))
        ends = collections.defaultdict(list)
        for node in self.et.nodes:
            if node.correlation in self.same:
                corr = self.same[node.correlation]["corr"]
                ends[(corr,) if node.cpu else (corr, node.attr["stream"])].append(
                    replayed[node.id] - self.begin)
        worst = 0
        for key, end in self.twice.ends().items():
            if key[:2] not in ends:
                continue
            predicted = max(ends[key]) if len(key) == 1 else sorted(ends[key[:2]])[key[2]]
            worst = max(worst, abs(predicted - (end - self.twice.begin)))
        return worst / (self.twice.end - self.twice.begin)


GROWS = 1.1  # the second run must be longer by this factor; otherwise kernels are too small a part of the run


@pytest.fixture(scope="module", params=SAMPLES)
def what_if(request, tmp_path_factory) -> WhatIf:
    """Makes up to three attempts, and returns the first in which kernels take most of the time. On
    a busy machine the CPU's own time may take most of it."""
    for _ in range(3):
        tried = WhatIf(tmp_path_factory.mktemp("what-if"), request.param)
        if tried.grew > GROWS:
            break
    return tried


@pytest.mark.full(seconds=0.7)  # compares with the host's own time, which varies with the load
def test_what_if_kernels_took_twice_as_long(what_if):
    """Predicts a run with kernels twice as long, and compares it with such a run on the simulated GPU."""
    assert what_if.grew > GROWS
    assert what_if.off() <= 0.03


def what_if_alone(folder: pathlib.Path) -> tuple[float, float, float]:
    """Returns three numbers: the duration of a run with kernels twice as long, relative to the
    first run; the relative error of its predicted end with sync edges; and that error without sync
    edges. The prediction uses only the first run's trace."""
    folder.mkdir()
    once, twice = (convert(record(folder / factor, WAITS_MOST, "--kernel-factor", factor).trace().path,
                               folder / factor) for factor in ("1", "2"))
    real = max(node.end for node in twice.nodes)
    longer = chakra_replay.kernels_longer(2)
    off, without = (abs(window_end(chakra_replay.replay(once, longer, *keep)) / real - 1)
                    for keep in ((), (chakra_replay.without_sync_edges,)))
    return real / max(node.end for node in once.nodes), off, without


@pytest.mark.full(seconds=0.3)  # compares with the host's own time, which varies with the load
def test_what_if_from_the_trace_alone(tmp_path):
    """Predicts from the trace alone, without the CPU's times of the second run. The CPU's own time
    varies from run to run, so one good prediction in six tries is enough."""
    for i in range(6):
        grew, off, without = what_if_alone(tmp_path / str(i))
        if grew > 1.7 and off <= 0.03:
            break
    assert grew > 1.7 and off <= 0.03
    assert without > 0.03


def waited(et: chakra.Et, node: chakra.Node) -> int:
    """Returns how long the thread waited for the GPU before the node."""
    return node.start - max([et.by_id[d].end for d in node.deps if et.by_id[d].cpu], default=node.start)


@pytest.mark.full(seconds=0.1)  # compares with the host's own time, which varies with the load
def test_what_if_stands_on_the_sync_edges(what_if):
    """The prediction fails without sync edges, and also without the edges of the longest tenth of the waits."""
    assert what_if.off(chakra_replay.without_sync_edges) > 0.03
    waits = sorted(what_if.et.cpu, key=lambda node: -waited(what_if.et, node))
    waits = [node for node in waits if waited(what_if.et, node) and not host_times.is_free(node.name)]
    missing = {node.id for node in waits[:len(waits) // 10 + 1]}
    assert what_if.off(lambda parent, node: parent.cpu or node.id not in missing) > 0.03
