"""torch.profiler (the libkineto inside PyTorch) on the simulated CUPTI. The traces equal the simulator's
truth for the recorded time."""
import collections
import json

import harness
import sync_rows
import pytest

# The number of the job's steps in the trace.
STEPS = {"plain": 3, "schedule": 2, "everything": 3, "cuda": 3, "twice": 3}


def profile(torch, mode, **options):
    path = torch.tmp / "trace.json"
    run = torch.job("profiled", mode, path, inject=False, **options)
    assert (run.status, run.stdout) == (0, f"profiled: {mode}\n"), run.stderr
    return run, json.loads(path.read_text())["traceEvents"]


def of(events, *cats):
    return [e for e in events if e.get("cat") in cats and e["ph"] == "X"]


def recorded(run, events):
    """Returns the profiler's GPU rows, and the truth's operations with their correlation ids."""
    rows = of(events, "kernel", "gpu_memcpy", "gpu_memset")
    ids = {row["args"]["correlation"] for row in rows}
    return rows, [op for op in run.operations() if op["corr"] in ids]


@pytest.mark.full(seconds=2.9)
@pytest.mark.parametrize("mode", STEPS)
def test_operations(torch, mode):
    run, events = profile(torch, mode)
    rows, ops = recorded(run, events)
    wanted = collections.Counter(
        (op["corr"], op["stream"], op["device"],
         harness.demangled(op["name"]) if op["kind"] == "kernel" else op["kind"]) for op in ops)
    found = collections.Counter(
        (row["args"]["correlation"], row["args"]["stream"], row["args"]["device"],
         row["name"] if row["cat"] == "kernel" else row["cat"].removeprefix("gpu_"))
        for row in rows)
    assert found == wanted
    # Each recorded step is complete. It has the copy to the device, and the matrix products of the forward
    # and backward passes.
    copies = [row for row in rows if "HtoD" in row["name"] and row["args"]["bytes"] == 32 * 64 * 4]
    assert len(copies) == STEPS[mode]
    # torch.profiler's times come from the TSC, whose rate was measured against the wall clock only
    # briefly. So durations agree only approximately.
    lengths = {row["args"]["correlation"]: row["dur"] * 1000 for row in rows}
    for op in ops:
        assert abs(lengths[op["corr"]] - (op["end"] - op["start"])) < 500, op


@pytest.mark.full(seconds=3)
@pytest.mark.parametrize("mode", ["plain", "schedule", "everything", "twice"])
def test_calls_and_flows(torch, mode):
    run, events = profile(torch, mode)
    rows, _ = recorded(run, events)
    calls = {row["args"]["correlation"]: row for row in of(events, "cuda_runtime", "cuda_driver")}
    assert {row["args"]["correlation"] for row in rows} <= set(calls)
    starts = {e["id"] for e in events if e["ph"] == "s" and e.get("cat") == "ac2g"}
    ends = {e["id"] for e in events if e["ph"] == "f" and e.get("cat") == "ac2g"}
    assert {row["args"]["correlation"] for row in rows} <= starts & ends
    for row in rows:
        call = calls[row["args"]["correlation"]]
        assert row["ts"] > call["ts"], "an operation began before it was launched"
        assert "External id" in row["args"], "no link to the operator"
    ops = {e["name"] for e in of(events, "cpu_op")}
    assert {"aten::linear", "aten::addmm", "AddmmBackward0"} & ops
    assert {"train step"} <= {e["name"] for e in of(events, "user_annotation")}


def test_everything(torch):
    run, events = profile(torch, "everything")
    names = collections.Counter(e["name"] for e in of(events, "cuda_sync"))
    assert names["Stream Wait Event"] == 6 and names["Context Sync"] >= 3
    assert names["Stream Sync"] >= 3
    waited = {wait["corr"]: sync_rows.name_of(wait) for wait in run.truth if sync_rows.name_of(wait)}
    for row in of(events, "cuda_sync"):
        assert row["name"] == waited[row["args"]["correlation"]]
    assert of(events, "python_function")
    assert any(e.get("name") == "[memory]" for e in events)
    assert any("Input Dims" in e["args"] for e in of(events, "cpu_op"))


def test_cuda_alone(torch):
    _, events = profile(torch, "cuda")
    assert of(events, "kernel") and not of(events, "cpu_op")
