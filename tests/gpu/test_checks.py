"""Tests the checks of this folder. Each check must fail for a trace with the fault that the check
looks for."""

import copy
import gzip
import json
import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import check_nccl  # noqa: E402
import check_torch  # noqa: E402
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


JOB_LINES = "import torch\nloss.item()\n"


def torch_trace(tmp_path, change=None):
    """Writes a trace with two steps. Both launches are in operators, and the second operator waits."""
    def in_operators(content, events):
        events += [row("cpu_op", "aten::add", 9.0, 7.0, **{"External id": 5}),
                   row("cpu_op", "aten::item", 16.0, 5.5, **{"External id": 6}),
                   row("user_annotation", "ProfilerStep#1", 9.0, 7.0),
                   row("user_annotation", "ProfilerStep#2", 16.0, 7.0)]
        events[3]["args"]["External id"], events[4]["args"]["External id"] = 5, 6
        events[1]["tid"] = events[2]["tid"] = events[-4]["tid"] = events[-3]["tid"] = 1
        events[2]["args"].update(wait_ns=100, wait_at=f"{tmp_path}/job.py:2 main")
        if change:
            change(content, events)

    (tmp_path / "job.py").write_text(JOB_LINES)
    return read(tmp_path, in_operators)


def check_torch_trace(tmp_path, trace):
    check_torch.launches_name_their_operator(trace)
    check_torch.steps_are_those_of_the_optimizer(trace, 2)
    check_torch.waits_name_their_line(trace, f"{tmp_path}/job.py", ".item()")


def test_a_good_trace_of_pytorch(tmp_path):
    check_torch_trace(tmp_path, torch_trace(tmp_path))
    assert check_torch.same_names({"aten::add": 2.0}, {"aten::add": 2.0}, "operators")


def without_operator(_, events):
    del events[3]["args"]["External id"]


def operator_of_another_time(_, events):
    events[3]["args"]["External id"] = 6


def operator_of_another_thread(_, events):
    events[-4]["tid"] = 2


def no_operators(_, events):
    del events[-4:-2]


def step_too_many(_, events):
    events.append(row("user_annotation", "ProfilerStep#3", 23.0, 1.0))


def no_line(_, events):
    del events[2]["args"]["wait_at"]


def line_of_pytorchs(_, events):
    events[2]["args"]["wait_at"] = "/torch/functional.py:2 item"


def another_line(_, events):
    events[2]["args"]["wait_at"] = events[2]["args"]["wait_at"].replace(":2", ":1")


@pytest.mark.parametrize("change", [
    without_operator, operator_of_another_time, operator_of_another_thread, no_operators,
    step_too_many, no_line, line_of_pytorchs, another_line])
def test_faults_in_a_trace_of_pytorch_are_noticed(tmp_path, change):
    with pytest.raises(AssertionError):
        check_torch_trace(tmp_path, torch_trace(tmp_path, change))


def test_other_operators_than_torch_profilers_are_noticed():
    for ours in ({"aten::add": 1.0}, {"aten::add": 2.0, "aten::mul": 1.0}, {}):
        with pytest.raises(AssertionError):
            check_torch.same_names(ours, {"aten::add": 2.0}, "operators")
    # Rows may be missing if the file's counters report as many lost records.
    few_lost = check_torch.MANY - check_torch.FEW
    assert check_torch.same_names({"aten::add": 1.0}, {"aten::add": 2.0}, "operators", few_lost)


NCCL_KERNEL = {"NCCL call": "Broadcast", "NCCL count": 10, "NCCL dtype": "ncclFloat32", "NCCL bytes": 40,
               "NCCL root": 1, "Comm ranks": 4, "Comm rank": 2}
NCCL_CALL = {"what": ["Broadcast"], "count": 10, "dtype": "ncclFloat32", "root": 1, "before": 21000, "after": 31500}


def check_nccl_kernel(tmp_path, args, call):
    def change(_, events):
        events[3]["args"].update(args)

    trace = read(tmp_path, change)
    check_nccl.check_kernel(trace, trace.kernels[0], call, 2)


def test_kernel_of_a_collective(tmp_path):
    check_nccl_kernel(tmp_path, NCCL_KERNEL, NCCL_CALL)
    for key, other in (("NCCL call", "Reduce"), ("NCCL count", 11), ("NCCL dtype", "ncclInt8"), ("NCCL bytes", 10),
                       ("NCCL root", 0), ("Comm rank", 0)):
        with pytest.raises(AssertionError):
            check_nccl_kernel(tmp_path, {**NCCL_KERNEL, key: other}, NCCL_CALL)
    for key, other in (("before", 21001), ("after", 31499)):
        with pytest.raises(AssertionError):
            check_nccl_kernel(tmp_path, NCCL_KERNEL, {**NCCL_CALL, key: other})


def event(do, ident, kind=None, parent=0, tid=1):
    return {"do": do, "at": 0, "id": ident, "tid": tid, "type": kind, "parent": parent}


def test_order_of_nccls_events():
    g, call, launch, coll = check_nccl.GROUP_API, check_nccl.COLL_API, check_nccl.LAUNCH, check_nccl.COLL
    good = [event("start", 1, g), event("start", 2, call, 1), event("stop", 2), event("start", 3, launch, 1),
            event("stop", 3), event("start", 4, coll, 2), event("stop", 4), event("stop", 1), event("stop", 2)]
    facts = check_nccl.order_of_events(good)
    assert facts["Coll on the thread of its call"] == facts["stopped again, or never started"] == 1
    late = check_nccl.order_of_events([*good[:1], event("stop", 1), event("start", 3, launch, 1)])
    assert late["KernelLaunch after the end of its group"] == 1
    for bad in ([*good[:3], event("start", 3, launch, 2)],
                [*good[:4], event("start", 5, launch, 1)],
                [*good[:4], event("stop", 3, tid=2)],
                [*good[:4], event("start", 4, coll, 2)],
                [*good[:3], event("start", 4, coll, 1)]):
        with pytest.raises(AssertionError):
            check_nccl.order_of_events(bad)


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
