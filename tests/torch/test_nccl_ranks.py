"""Several ranks with NCCL's profiler: each kernel of NCCL says which collective it is, as PyTorch and the job's own
script say it, and `syncline collectives` matches the ranks."""
import collections
import json
import subprocess

import harness
import pytest
from conftest import JOBS
from test_ops import UNDER
from test_ranks import matched, per_rank

# PyTorch's call -> NCCL's function. Calls that PyTorch makes of sends and receives have several.
FUNCTIONS = {
    "all_reduce": {"AllReduce"}, "barrier": {"AllReduce"}, "broadcast": {"Broadcast"},
    "broadcast_object_list": {"Broadcast"}, "reduce": {"Reduce"},
    "all_gather": {"AllGather", "Broadcast", "mixed"}, "all_gather_into_tensor": {"AllGather"},
    "reduce_scatter": {"ReduceScatter", "Reduce", "mixed"}, "reduce_scatter_tensor": {"ReduceScatter"},
    "send": {"Send"}, "recv": {"Recv"}, "isend": {"Send"}, "irecv": {"Recv"},
}
IN_MESSAGES = {"AlltoAll", "Gather", "Scatter", "Send", "Recv", "mixed"}
# NCCL counts the elements that one rank gives, or gets if it gives a part to each.
COUNTED = {"AllReduce": "In msg nelems", "Broadcast": "In msg nelems", "Reduce": "In msg nelems",
           "AllGather": "In msg nelems", "ReduceScatter": "Out msg nelems"}


def kernels_of(trace) -> list[dict]:
    """Returns the args of NCCL's kernels. NCCL's sizes come from the launching call, because a kernel that PyTorch
    describes has PyTorch's."""
    calls = {row["args"]["correlation"]: row["args"] for row in trace.of("cuda_driver", "cuda_runtime")}
    found = [row["args"] for row in sorted(trace.of("kernel"), key=lambda row: (row["args"]["correlation"], row["ts"]))
             if "ncclDevKernel" in row["name"]]
    return [{**{name: value for name, value in calls[args["correlation"]].items() if name.startswith("NCCL")}, **args}
            for args in found]


def check_kernel(args: dict, rank: int):
    """Compares what NCCL and PyTorch say about a kernel."""
    assert args.get("NCCL call") in FUNCTIONS.get(args["Call"], IN_MESSAGES), args
    ranks = json.loads(args["Process Group Ranks"])
    # A communicator of a message has two ranks.
    assert args["Comm ranks"] in (len(ranks), 2)
    if args["Comm ranks"] == len(ranks):
        assert args["Comm rank"] == ranks.index(rank)
    if args.get("NCCL calls in kernel", 1) == 1 and args["NCCL call"] in COUNTED and args["Call"] != "barrier":
        assert args["NCCL count"] == args[COUNTED[args["NCCL call"]]], args
    if "NCCL root" in args and "Root Rank" in args:
        assert ranks[args["NCCL root"]] == args["Root Rank"]


def check_numbers(traces, with_sizes):
    """Each function of a communicator is numbered in order, and equally on all its ranks."""
    numbers = collections.defaultdict(dict)
    for rank, (_, trace) in enumerate(traces):
        for args in kernels_of(trace):
            if "NCCL number" in args:
                numbers[args["Comm"], args["NCCL call"]].setdefault(rank, []).append(
                    (args["NCCL number"], with_sizes and args["NCCL bytes"]))
    for of_ranks in numbers.values():
        first = next(iter(of_ranks.values()))
        assert all(of_rank == first for of_rank in of_ranks.values())
        assert [number for number, _ in first] == list(range(first[0][0], first[0][0] + len(first)))
    return numbers


def check(run, torch, ranks: int, with_sizes=True):
    assert run.status == 0, run.stderr[-4000:]
    traces = per_rank(run, torch.tmp / "1")
    assert len(traces) == ranks
    for rank, (_, trace) in enumerate(traces):
        for args in kernels_of(trace):
            check_kernel(args, rank)
        assert trace.counters["nccl_odd_events"] == trace.counters["nccl_unjoined"] == 0
    assert check_numbers(traces, with_sizes)
    return traces


@pytest.mark.full(seconds=9)
@pytest.mark.parametrize("job, ranks", [("ddp", 2), ("ddp", 4), ("fsdp", 2), ("fsdp", 4), ("calls", 2), ("calls", 4)])
def test_each_kernel_has_its_collective(torch, job, ranks):
    run = torch.ranks(job, ranks, nccl="calls")
    # On the simulated GPU, the receivers of an object list do not know its size.
    check(run, torch, ranks, with_sizes=job != "calls")
    found = json.loads(subprocess.run([harness.TOOL, "collectives", "--json", run.out], capture_output=True, text=True,
                                      check=False).stdout)
    assert (found["absent_ranks"], len(found["problems"])) == ([], job == "calls")
    assert not sum(file["undescribed"] for file in found["files"])
    if job != "calls":  # there, messages and batches have no numbers
        assert found["not_recorded"] == 0 and all(row["timed"] == row["count"] for row in found["collectives"])


@pytest.mark.full(seconds=9)
def test_tensor_and_pipeline_groups(torch):
    """What the trace says equals what the script did: sizes, roots, peers, numbers, lines."""
    run = torch.ranks("parallel", 4, nccl="calls")
    traces = check(run, torch, 4)
    made = [json.loads(line) for line in run.stdout.splitlines()]
    for rank, (_, trace) in enumerate(traces):
        calls = [call for call in made if call["rank"] == rank]
        kernels = kernels_of(trace)
        assert [{
            "rank": rank, "call": args["Call"], "nccl": args["NCCL call"], "count": args["NCCL count"],
            "size": args["Message size"], "group": json.loads(args["Process Group Ranks"]),
            "root": args.get("Root Rank"), "peer": args.get("Dst Rank", args.get("Src Rank")),
            "line": int(args["source"].split(":")[1].split()[0])} for args in kernels] == calls
        assert all(args["source"].startswith("parallel.py:") or "/parallel.py:" in args["source"] for args in kernels)
        assert [args["NCCL peer"] for args in kernels if "NCCL peer" in args] == [int(rank < 2)] * 3
    found = matched(run.out)
    assert (found["problems"], found["not_recorded"]) == ([], 0)
    # 2 tensor groups with 10 collectives each, 2 pairs with 3 messages each, and the reduce of all.
    assert found["matched"] == 2 * 10 + 2 * 3 + 1
    assert sum(row["timed"] for row in found["collectives"]) == found["matched"]
    groups = sorted(tuple(group["ranks"]) for group in found["groups"])
    assert groups == [(0, 1), (0, 1, 2, 3), (0, 2), (1, 3), (2, 3)]


@pytest.mark.full(seconds=6)
def test_a_slow_rank_is_found(torch):
    run = torch.run(torch.python, JOBS / "late.py", sim=["--devices", "3"], nccl="calls")
    assert run.status == 0 and run.stdout == "[0, 0, 0]\n", run.stderr[-4000:]
    found = matched(run.out)
    assert (found["absent_ranks"], found["problems"], found["not_recorded"]) == ([], [], 0)
    (row,) = [row for row in found["collectives"] if row["bytes_from"] == 2048]
    late = {last["rank"]: last["count"] for last in row["last"]}
    assert row["timed"] == 6 and late[1] >= 5


@pytest.mark.full(seconds=6)
def test_a_killed_rank_leaves_the_others_whole_and_is_named(torch):
    run = torch.run(torch.python, JOBS / "late.py", "killed", sim=["--devices", "3"], nccl="calls")
    assert run.stdout == "[0, -9, 0]\n", run.stderr[-4000:]
    whole = sorted(run.out.rglob("*.pt.trace.json.zst"))
    assert len(whole) == 2
    for path in whole:
        subprocess.run([harness.TOOL, "check", path], check=True, capture_output=True)
    done = subprocess.run([harness.TOOL, "collectives", run.out], capture_output=True, text=True, check=False)
    assert done.returncode == 1 and "only a part of a file of rank 1 was read" in done.stdout
    # What the killed rank had not written yet is not missing, and the others are reported.
    assert "default_pg 0-2 all_reduce" in done.stdout and "do not agree" not in done.stdout


@pytest.mark.full(seconds=12)
def test_kernels_say_what_they_say_in_torch_profiler(torch):
    """Every arg of a kernel that both files have is equal, except for times and ids of the run."""
    of_a_run = {"External id", "correlation", "context", "queued"}
    run = torch.ranks("calls", 2, nccl="calls", ops="full")
    traces = per_rank(run, torch.tmp / "1")
    theirs = torch.tmp / "theirs-%p.json"
    assert torch.ranks("calls", 2, under=[UNDER, theirs, "shapes"], inject=False).status == 0
    found = [json.loads(path.read_text()) for path in torch.tmp.glob("theirs-*.json")]
    by_rank = {trace["distributedInfo"]["rank"]: trace["traceEvents"] for trace in found}
    for rank, (_, trace) in enumerate(traces):
        ours = kernels_of(trace)
        its = sorted((e["args"] for e in by_rank[rank] if e.get("cat") == "kernel" and "ncclDevKernel" in e["name"]),
                     key=lambda args: args["correlation"])
        assert len(ours) == len(its)
        compared = 0
        for mine, want in zip(ours, its):
            both = (mine.keys() & want.keys()) - of_a_run
            # harness.Trace keeps the text of a number that is not whole.
            assert {key: str(mine[key]) for key in both} == {key: str(want[key]) for key in both}
            compared += "Collective name" in both
        assert compared == len(ours) - 5  # Kineto does not describe the kernels of batches and coalesced calls
