"""Events of NCCL's profiler, as NCCL 2.28.9, 2.30.7 and 2.32.3 sent them on an H200, two ranks of PyTorch's calls
(tests/replay/h200): each kernel says which calls it runs, also in the replays of a graph."""
import gzip
import json
import sys

import pytest

import harness

PROGRAM = harness.REPO / "tests" / "e2e" / "programs" / "nccl_events.py"
RECORDINGS = harness.REPO / "tests" / "replay" / "h200"


def recording(name):
    with gzip.open(RECORDINGS / f"nccl-{name}.jsonl.gz", "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def played(tmp_path, name):
    """Returns the trace, its kernels in order, and the calls that each kernel runs. CUPTI's buffers come at the end,
    because the player takes milliseconds for what NCCL says within microseconds."""
    run = harness.run(tmp_path, sys.executable, PROGRAM, RECORDINGS / f"nccl-{name}.jsonl.gz",
                      sim=["--cuda", "13", "--nccl", "2.25", "--cupti-hold", "60"], SYNCLINE_NCCL="calls", python="0", window="run",
                      graph_edges="1")
    assert run.status == 0, run.stderr
    trace = run.trace()
    kernels = sorted(trace.of("kernel"), key=lambda row: float(row["ts"]))
    calls = [json.loads(line) for line in run.stdout.splitlines() if line.startswith("[")]
    return trace, kernels, calls


def of_event(events, number, kind):
    return next(e[7] for e in events if e[2] == "start" and e[3] == number and e[6] == kind)


@pytest.mark.parametrize("name", ["2.28.9-calls", "2.30.7-calls", "2.32.3-calls", "2.28.9-deep", "2.32.3-deep",
                                  "2.28.9-graph", "2.30.7-graph", "2.32.3-graph"])
def test_each_kernel_names_its_calls(tmp_path, name):
    events = {e[3]: e for e in recording(name) if e[2] == "start"}
    tasks = {}
    for e in events.values():
        if e[6] in ("Coll", "P2p"):
            tasks.setdefault(e[4], e)
    trace, kernels, calls = played(tmp_path, name)
    assert trace.counters["nccl_odd_events"] == trace.counters["nccl_unjoined"] == 0
    plain = [row for row in kernels if "graph node id" not in row["args"]]
    replayed = [row for row in kernels if "graph node id" in row["args"]]
    assert len(kernels) == len(calls)
    for row, numbers in zip(plain + replayed, calls):
        args, apis = row["args"], [events[n][7] for n in numbers]
        funcs = {api["func"] for api in apis}
        assert args["NCCL call"] == (funcs.pop() if len(funcs) == 1 else "mixed")
        if len(numbers) == 1:
            task = tasks[numbers[0]][7]
            assert args["NCCL count"] == apis[0]["count"]
            assert args["NCCL bytes"] > 0
            if "algo" in task:
                assert (args["Algorithm"], args["Protocol"]) == (task["algo"], task["proto"])
                assert args["Channels"] == task["channels"]
            else:
                assert args["NCCL peer"] == task["peer"]
        else:
            assert args["NCCL calls in kernel"] == len(numbers)
