"""Events of NCCL's profiler, as NCCL 2.28.9, 2.30.7 and 2.32.3 sent them on an H200, two ranks of PyTorch's calls
(tests/replay/h200): each kernel says which calls it runs, also in the replays of a graph."""
import collections
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


def played(tmp_path, name, **options):
    """Returns the trace, its kernels in order, and the calls that each kernel runs. CUPTI's buffers come at the end,
    because the player takes milliseconds for what NCCL says within microseconds."""
    run = harness.run(tmp_path, sys.executable, PROGRAM, RECORDINGS / f"nccl-{name}.jsonl.gz",
                      sim=["--cuda", "13", "--nccl", "2.25", "--cupti-hold", "60"], python="0", window="run",
                      graph_edges="1", **{"SYNCLINE_NCCL": "calls", **options})
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


@pytest.mark.parametrize("name", ["2.28.9", "2.32.3"])
def test_network(tmp_path, name):
    """Each operation of a proxy thread is a row with its peer, channel and direction, its steps' bytes, and the
    collective that it belongs to. Types of events that the level does not have are dropped."""
    events = recording(name + "-deep")
    starts = {e[3]: e for e in events if e[2] == "start"}
    operations = {n: e for n, e in starts.items() if e[6] == "ProxyOp"}
    ended = {e[3] for e in events if e[2] == "stop"}
    sizes = collections.Counter()
    for e in events:
        if e[2] == "state" and e[4] in (9, 11) and len(e) > 5:
            sizes[starts[e[3]][4]] += e[5]
    expected = []
    for number, e in operations.items():
        task = starts.get(e[4])
        if number in ended:
            expected.append(("send" if e[7]["send"] else "receive", e[7]["peer"], e[7]["channel"], e[7]["steps"],
                             e[7]["chunk"], sizes[number], task and task[7].get("number")))
    trace, _, _ = played(tmp_path, name + "-deep", SYNCLINE_NCCL="network")
    rows = [row for row in trace.of("user_annotation") if "chunk bytes" in row["args"]]
    names = trace.metadata("thread_name")
    assert {names[row["pid"], row["tid"]].endswith(" (NCCL net)") for row in rows} == {True}
    assert sorted(map(repr, expected)) == sorted(
        repr((row["name"], args["peer"], args["channel"], args["steps"], args["chunk bytes"], args["bytes"],
              args.get("NCCL number"))) for row in rows for args in [row["args"]])
    assert all("GPU wait [us]" in row["args"] and "network wait [us]" in row["args"] for row in rows)
    assert all("NCCL call" in row["args"] for row in rows)
    stopped = {e[3] for e in events if e[2] == "state" and e[4] == 22} & ended
    channels = [row for row in trace.of("user_annotation") if row["name"] == "channel"]
    assert {names[row["pid"], row["tid"]].endswith(" (NCCL channels)") for row in channels} == {True}
    assert sorted(starts[n][7]["channel"] for n in stopped) == sorted(row["args"]["channel"] for row in channels)
    assert trace.counters["nccl_odd_events"] == 0
