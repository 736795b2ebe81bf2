"""The checks themselves: each invariant must notice the fault it is there for."""

import copy
import gzip
import json
import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import kineto_trace  # noqa: E402
from suite import Skip, Suite  # noqa: E402


def row(cat, name, ts, dur, **args):
    return {"ph": "X", "cat": cat, "name": name, "pid": 1, "tid": 2, "ts": ts, "dur": dur,
            "args": args}


def gpu(name, ts, dur, correlation):
    return row("kernel", name, ts, dur, correlation=correlation, device=0, context=1, stream=7)


def flow(ph, ident):
    return {"ph": ph, "cat": "ac2g", "id": ident, "pid": 1, "tid": 2, "ts": 1.0, "name": "ac2g"}


GOOD = {
    "baseTimeNanoseconds": 1000, "syncline": {"dropped_ring": 0, "names_lost": 0},
    "traceEvents": [
        {"ph": "M", "name": "process_name", "pid": 1, "tid": 0, "ts": 0, "args": {"name": "a"}},
        row("cuda_runtime", "cudaLaunchKernel", 10.0, 5.0, correlation=1),
        row("cuda_runtime", "cudaLaunchKernel", 16.0, 5.0, correlation=2),
        gpu("first", 20.0, 10.5, 1), gpu("second", 30.5, 10.0, 2),
        flow("s", 1), flow("f", 1), flow("s", 2), flow("f", 2),
    ],
}


def read(tmp_path, change=None):
    content = copy.deepcopy(GOOD)
    if change:
        change(content, content["traceEvents"])
    path = tmp_path / "trace.json.gz"
    with gzip.open(path, "wt") as file:
        json.dump(content, file)
    return kineto_trace.Trace(path)


def test_good_trace_passes_all(tmp_path):
    trace = read(tmp_path)
    for invariant in kineto_trace.INVARIANTS:
        invariant(trace)
    assert trace.begin_ns(trace.kernels[1]) == 31500


def dropped(content, _):
    content["syncline"]["dropped_ring"] = 1


def no_counters(content, _):
    del content["syncline"]


def second_call(_, events):
    events.append(row("cuda_driver", "cuLaunchKernel", 11.0, 2.0, correlation=1))


def no_call(_, events):
    del events[2]


def no_operation(_, events):
    del events[4]


def too_early(_, events):
    events[3]["ts"] = 9.0


def overlap(_, events):
    events[4]["ts"] = 30.4


def out_of_order(_, events):
    events[3]["ts"], events[4]["ts"] = 31.0, 20.0


def negative(_, events):
    events[1]["dur"] = -1.0


def loose_flow(_, events):
    events.pop()


def nameless(_, events):
    events.pop(0)


@pytest.mark.parametrize("change, invariant", [
    (dropped, kineto_trace.nothing_lost),
    (no_counters, kineto_trace.nothing_lost),
    (second_call, kineto_trace.one_call_per_correlation),
    (no_call, kineto_trace.every_operation_has_its_call),
    (no_operation, kineto_trace.every_launch_has_its_operation),
    (too_early, kineto_trace.operations_follow_their_launch),
    (overlap, kineto_trace.streams_do_not_overlap),
    (out_of_order, kineto_trace.streams_do_not_overlap),
    (negative, kineto_trace.no_negative_times),
    (loose_flow, kineto_trace.flows_join_launch_and_operation),
    (nameless, kineto_trace.process_is_named_first),
])
def test_faults_are_noticed(tmp_path, change, invariant):
    with pytest.raises(AssertionError):
        invariant(read(tmp_path, change))


def test_captured_launches_have_no_operation(tmp_path):
    def capture(_, events):
        events += [row("cuda_runtime", "cudaStreamBeginCapture", 100.0, 1.0, correlation=10),
                   row("cuda_runtime", "cudaLaunchKernel", 102.0, 1.0, correlation=11),
                   row("cuda_runtime", "cudaStreamEndCapture", 104.0, 1.0, correlation=12)]

    def one_more(content, events):
        capture(content, events)
        events.append(row("cuda_runtime", "cudaLaunchKernel", 106.0, 1.0, correlation=13))

    kineto_trace.every_launch_has_its_operation(read(tmp_path, capture))
    with pytest.raises(AssertionError):
        kineto_trace.every_launch_has_its_operation(read(tmp_path, one_more))


def test_a_failing_check_does_not_stop_others(tmp_path):
    def breaks():
        raise OSError("disk on fire")

    def does_not_apply():
        raise Skip("no such thing here")

    suite = Suite(budget_s=60)
    suite.begin("Group")
    assert not suite.check("breaks", breaks)
    assert not suite.check("does not apply", does_not_apply)
    assert suite.check("works", lambda: "fine")
    suite.fact("number", 3, "us")
    suite.write(tmp_path, {"simulated": True})
    results = json.loads((tmp_path / "results.json").read_text())
    assert results["summary"] == {"pass": 1, "fail": 1, "skip": 1, "fact": 1}
    text = (tmp_path / "results.md").read_text()
    assert "rehearsal" in text and "disk on fire" in text and "| Group | 1 | 1 | 1 | 1 |" in text


def test_no_time_left():
    suite = Suite(budget_s=0)
    assert not suite.check("late", lambda: None)
    assert suite.count("skip") == 1
