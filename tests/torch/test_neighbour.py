"""syncline and torch.profiler in one process. CUPTI serves only one of the two profilers at a time.
torch.profiler's traces are the same as without syncline. syncline's trace has all other operations, and
lists this time as a gap."""
import collections
import json
import re

import harness
import pytest
from tiers import full_but

GPU = ("kernel", "gpu_memcpy", "gpu_memset")
CALLS = ("cuda_runtime", "cuda_driver")
# Allowed error of record times after torch.profiler has made the tick counter CUPTI's clock. syncline
# converts ticks to its own clock.
CLOCK_NS = 20_000


def play(torch, mode, *, inject=True, **options):
    """Returns the run and torch.profiler's traces, in order."""
    folder = torch.tmp / f"{mode}-{'with' if inject else 'without'}"
    folder.mkdir()
    run = torch.job("neighbour", mode, folder, inject=inject, **options)
    assert run.status == 0, run.stderr
    assert run.stdout.endswith(f"neighbour: {mode}\n")
    assert not [line for line in run.log if line["what"] == "misuse"]
    return run, [json.loads(path.read_text())["traceEvents"]
                 for path in sorted(folder.glob("*.json"))]


def content(events):
    """Returns the content of a torch.profiler trace without times and ids, which differ in every run."""
    names = collections.Counter()
    for e in events:
        if e["ph"] in "sf":
            names["flow", e["ph"], e["cat"]] += 1
        elif e["ph"] == "X" and e.get("cat") not in ("overhead", "Trace"):
            args = e["args"]
            name = re.sub(r"0x[0-9a-f]+", "", e["name"])  # removes addresses of Python objects
            names[e["cat"], name, *(json.dumps(args.get(key)) for key in (
                "device", "stream", "bytes", "grid", "block", "registers per thread", "cbid",
                "Input Dims"))] += 1
    return names


def of_truth(run, events):
    """Returns the correlation ids of the GPU rows. Checks that each row is an operation of the run."""
    ops = collections.Counter(
        (op["corr"], harness.demangled(op["name"]) if op["kind"] == "kernel" else op["kind"])
        for op in run.truth_of("op") if op["kind"] in ("kernel", "memcpy", "memset"))
    rows = collections.Counter(
        (e["args"]["correlation"], e["name"] if e["cat"] == "kernel" else e["cat"][4:])
        for e in events if e["ph"] == "X" and e.get("cat") in GPU)
    assert not rows - ops
    return {corr for corr, _ in rows}


def check_ours(run, theirs, gaps, left=()):
    """Checks that syncline's trace has every operation launched outside its gaps, and no operation
    that torch.profiler has. `left`: lines of the simulator's log about records that CUPTI had not
    delivered when the process ended. (The exit does not wait long for late records.)"""
    trace = run.trace()
    stated = trace.object["syncline"].get("gaps", [])
    assert len(stated) == gaps and trace.counters["handovers"] == gaps
    markers = [e["name"] for e in trace.events if e["ph"] == "i" and "CUPTI" in e["name"]]
    first = min(row["start"] for row in trace.of(*CALLS))
    pairs = ["CUPTI handed over", "CUPTI taken back"] * sum(begin > first for begin, _ in stated)
    # If a gap began before the first row, it has no marker at its start.
    assert markers in (pairs, ["CUPTI taken back", *pairs])
    # If a thread launches while kinds are switched, its operation may be in either trace.
    spans = [(begin - 1_000_000, end + 1_000_000) for begin, end in stated]
    calls = {call["corr"]: call for call in run.truth_of("call")}

    def is_outside(corr):
        call = calls[corr]
        return all(call["end"] < begin or call["start"] > end for begin, end in spans)

    def is_inside(corr):
        call = calls[corr]
        return any(call["start"] > begin and call["end"] < end for begin, end in stated)

    ops = [op for op in run.truth_of("op") if op["kind"] in ("kernel", "memcpy", "memset")]
    assert all(is_inside(corr) for corr in theirs)
    rows = collections.Counter((row["args"]["correlation"], row["start"] and row["name"])
                               for row in trace.of(*GPU))
    wanted = collections.Counter()
    for op in ops:
        if is_outside(op["corr"]):
            wanted[op["corr"], harness.expected_operation(op)[1]] += 1
    assert not wanted - rows, "operations outside the gaps are missing"
    assert not {corr for corr, _ in rows} & theirs, "both have the same operation"
    assert not [corr for corr, _ in rows if is_inside(corr)]
    asked = {harness.plain(line["kind"]) for line in run.log if line["what"] == "enabled"}
    expected = {corr for corr, call in calls.items()
                if harness.plain(call["name"]) in asked and is_outside(corr)}
    found = [row["args"]["correlation"] for row in trace.of(*CALLS)]
    assert len(found) == len(set(found)) and expected <= set(found)
    # Times are right before and after the gap, although CUPTI's clock was changed.
    truth = {op["corr"]: op for op in ops if not op["graph"]}
    for row in trace.of(*GPU):
        op = truth[row["args"]["correlation"]]
        assert abs(row["start"] - op["start"]) < CLOCK_NS, row
        assert abs(row["end"] - row["start"] - (op["end"] - op["start"])) < 1000, row
    for name in ("foreign_buffers", "dropped_cupti", "records_other_clock"):
        assert trace.counters[name] == 0, name
    # A hand-over loses no record. Only at the exit a buffer may stay undelivered, and syncline
    # counts its records.
    undelivered = trace.counters["undelivered_at_exit"]
    assert trace.counters["undelivered_buffers"] <= undelivered <= len(left)
    return trace, wanted


# mode -> number of gaps in syncline's trace
MODES = {"thrice": 3, "threads": 2, "error": 2, "first": 1, "warmup": 1, "toggled": 2}


@pytest.mark.parametrize("mode", full_but(["thrice"], MODES, seconds=7))
def test_both_are_whole(torch, mode):
    bare, without = play(torch, mode, inject=False)
    run, sessions = play(torch, mode, log="warn")
    assert (run.stdout, run.said()) == (bare.stdout, [])
    assert [content(events) for events in sessions] == [content(events) for events in without]
    for events in without:
        assert of_truth(bare, events)
    theirs = set().union(*(of_truth(run, events) for events in sessions))
    trace, wanted = check_ours(run, theirs, MODES[mode])
    last = max(row["start"] for row in trace.of("kernel"))
    assert last > trace.object["syncline"]["gaps"][-1][1], "syncline did not come back"
    assert len(wanted) >= 20


@pytest.mark.full(seconds=7.3)
def test_it_ends_cupti_behind_each_session(torch):
    """TEARDOWN_CUPTI=1: libkineto ends CUPTI at the first CUDA call after a session. syncline has
    taken CUPTI back by then, so this makes another gap. After this gap syncline takes CUPTI back
    again, unless the next session begins earlier. In this test it begins one step later."""
    bare, without = play(torch, "ended", inject=False, TEARDOWN_CUPTI="1")
    run, sessions = play(torch, "ended", log="warn", TEARDOWN_CUPTI="1")
    assert len([line for line in run.log if line["what"] == "finalize"]) == 3
    assert (run.stdout, run.said()) == (bare.stdout, [])
    assert [content(events) for events in sessions] == [content(events) for events in without]
    theirs = set().union(*(of_truth(run, events) for events in sessions))
    gaps = len(run.trace().object["syncline"]["gaps"])
    assert 4 <= gaps <= 6
    trace, _ = check_ours(run, theirs, gaps)
    last = max(row["start"] for row in trace.of("kernel"))
    assert last > trace.object["syncline"]["gaps"][-1][1], "syncline did not come back"


@pytest.mark.full(seconds=7)
def test_graph_edges(torch):
    """libkineto must be CUPTI's subscriber to record the GPU. syncline is the subscriber until
    libkineto needs to subscribe, and then unsubscribes."""
    _, without = play(torch, "error", inject=False)
    run, sessions = play(torch, "error", log="warn", graph_edges="1")
    assert [content(events) for events in sessions] == [content(events) for events in without]
    (said,) = run.said()
    assert "edges between CUDA graph nodes" in said
    check_ours(run, set().union(*(of_truth(run, events) for events in sessions)), 2)


@pytest.mark.full(seconds=6.9)
def test_profiler_that_stops_at_exit(torch):
    """torch.profiler stops when the process exits. syncline's file is complete and states a gap at
    its end, unless syncline took CUPTI back before the exit."""
    _, without = play(torch, "exit", inject=False)
    run, sessions = play(torch, "exit", log="warn")
    assert run.said() == []
    assert [content(events) for events in sessions] == [content(events) for events in without]
    trace, wanted = check_ours(run, of_truth(run, sessions[0]), 1)
    assert len(wanted) >= 20
    assert trace.object["syncline"]["gaps"][0][1] <= trace.object["syncline"]["closed_ns"]


@pytest.mark.full(seconds=7.1)
def test_profiler_that_has_cupti_all_along(torch):
    """torch.profiler owns CUPTI during the whole run. syncline's file has all events that do not need CUPTI,
    and lists this time as a gap."""
    _, without = play(torch, "whole", inject=False)
    run, sessions = play(torch, "whole", log="warn")
    assert run.said() == []
    assert [content(events) for events in sessions] == [content(events) for events in without]
    trace = run.trace()
    assert {"aten::addmm", "AddmmBackward0"} <= {row["name"] for row in trace.of("cpu_op")}
    (gap,) = trace.object["syncline"]["gaps"]
    assert gap[0] < min(row["start"] for row in trace.of("cpu_op") if row["name"] == "aten::addmm")
    theirs = of_truth(run, sessions[0])
    assert theirs and not {row["args"]["correlation"] for row in trace.of(*GPU)} & theirs
    harness.check_flows(trace)


@pytest.mark.parametrize("mode", full_but(
    ["everything"], ["plain", "schedule", "everything", "cuda", "twice"], seconds=7))
def test_every_way_to_profile(torch, mode):
    """torch.profiler records shapes, stacks, memory, synchronization and schedules in the same way as without
    syncline. Python stacks also have the few functions that run after an optimizer step."""
    traces = {}
    for inject in (False, True):
        path = torch.tmp / f"{inject}.json"
        run = torch.job("profiled", mode, path, inject=inject, log="warn")
        assert (run.status, run.stdout, run.said()) == (0, f"profiled: {mode}\n", [])
        traces[inject] = json.loads(path.read_text())["traceEvents"]
    rows, without = content(traces[True]), content(traces[False])
    assert not without - rows
    assert {key[0] for key in rows - without} <= {"python_function"}
    assert sum((rows - without).values()) <= 3 * 12
    of_truth(run, traces[True])
    harness.check_flows(run.trace())


@pytest.mark.full(seconds=6.6)
def test_profiler_in_trouble(torch):
    """CUPTI delivers late and shuffled records during a hand-over. Both traces are right."""
    _, without = play(torch, "thrice", inject=False)
    run, sessions = play(torch, "thrice", log="warn",
                         sim=["--cupti-shuffle", "--cupti-late", "0.1", "--seed", "5"])
    # libkineto does not wait for late records. libkineto's trace may lack rows, but has no surplus rows.
    theirs = set()
    for events, whole in zip(sessions, without):
        theirs |= of_truth(run, events)
        assert not {key[:2] for key in content(events)} - {key[:2] for key in content(whole)}
    # The exit waits at most 30 ms on an idle machine, less than CUPTI's delay. The undelivered
    # records are then only records of CUPTI's own overhead, because each delivery creates one more
    # such record.
    left = [line for line in run.log if line["what"] == "undelivered"]
    assert {line["kind"] for line in left} <= {"overhead"}
    check_ours(run, theirs, len(run.trace().object["syncline"]["gaps"]), left)


@pytest.mark.full(seconds=6.9)
def test_not_foreseen_before_our_first_record(torch):
    """SYNCLINE_HANDOVER=0, and torch.profiler starts before syncline has a record. torch.profiler's
    trace is complete. syncline's trace says that nothing was recorded."""
    _, without = play(torch, "first", inject=False)
    run, sessions = play(torch, "first", log="warn", handover="0")
    (taken,) = run.said()
    assert "another profiler took CUPTI" in taken
    rows, whole = content(sessions[0]), content(without[0])
    assert not whole - rows, "torch.profiler lacks what it has without syncline"
    trace = run.trace()
    assert not trace.of(*GPU) and trace.counters["handovers"] == 1
    assert trace.object["syncline"]["gaps"] == [
        [trace.object["syncline"][key] for key in ("opened_ns", "closed_ns")]]


@pytest.mark.full(seconds=7.1)
def test_not_foreseen(torch):
    """SYNCLINE_HANDOVER=0: torch.profiler replaces syncline's CUPTI callbacks while syncline
    records. Nothing crashes. All operations that begin after CUPTI returned syncline's buffers are
    in torch.profiler's trace. syncline prints the time from which it records nothing."""
    bare, without = play(torch, "warmup", inject=False)
    run, sessions = play(torch, "warmup", log="warn", handover="0")
    assert run.stdout == bare.stdout
    taken, *lost = run.said()
    assert "another profiler took CUPTI" in taken
    assert all("records in them are lost" in line for line in lost)
    rows = content(sessions[0])
    whole = content(without[0])
    assert not whole - rows, "torch.profiler lacks what it has without syncline"
    extra = {key[0] for key in rows - whole}
    assert extra <= {"cuda_runtime", "cuda_driver", "cuda_sync", "flow"}, "kinds that ours has on"
    assert not harness.intrusions(run), "calls of ours that would end its session"
    trace = run.trace()
    ((begin, end),) = trace.object["syncline"]["gaps"]
    assert end == trace.object["syncline"]["closed_ns"] and trace.counters["handovers"] == 1
    calls = {call["corr"]: call for call in run.truth_of("call")}
    kernels = {row["args"]["correlation"] for row in trace.of("kernel")}
    assert kernels >= {op["corr"] for op in run.truth_of("op") if op["kind"] == "kernel"
                       and calls[op["corr"]]["end"] < begin - 1_000_000}
    assert not [corr for corr in kernels if calls[corr]["start"] > begin + 500_000_000]
