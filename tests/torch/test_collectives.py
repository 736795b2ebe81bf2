"""Compares the args of collectives with the calls that a job made. The job makes each of torch.distributed's
eighteen calls, and reports each call."""
import collections
import itertools
import json
import subprocess

import chakra
import harness
import pytest
from test_chakra import communication
from test_ranks import per_rank
from tiers import full_but

# Rows that describe no collective.
OTHER = ("wait", "init", "broadcastUniqueNCCLID")


def described(args: dict) -> dict:
    """Returns what a row says, with the keys of the job's reports."""
    ranks = json.loads(args["Process Group Ranks"])
    return {"call": args["Call"], "size": args.get("Message size"), "root": args.get("Root Rank"),
            "peer": args.get("Dst Rank", args.get("Src Rank")), "group": ranks, "dtype": args.get("dtype")}


def rows_of(trace, name: str) -> list[dict]:
    """Returns the args of the rows with this name, in the order of time."""
    rows = [row for row in (*trace.of("cpu_op"), *trace.of("kernel")) if row["name"].startswith(name)]
    return [row["args"] for row in sorted(rows, key=lambda row: row["ts"])]


def check_kernels(kernels: list[dict], rows: list[dict], calls: list[dict]):
    """Each kernel has the args of its call's row. The kernel of a batch has the sums of its calls."""
    by_op = {args["External id"]: args for args in rows}
    batches = {key: list(group) for key, group in itertools.groupby(rows, lambda args: args.get("Batch")) if key}
    made = [list(group) for key, group in itertools.groupby(calls, lambda call: call["batch"]) if key]
    assert [len(group) for group in batches.values()] == [len(group) for group in made] == [4, 4]
    assert len(kernels) == len(rows) - 2 * (4 - 1)
    for args in kernels:
        row = by_op[args["External id"]]
        if "Batch" not in args:
            assert described(args) == described(row)
            assert [args.get(key) for key in ("Seq", "Comms Id")] == [row.get(key) for key in ("Seq", "Comms Id")]
            continue
        members = batches.pop(args["Batch"])
        assert members[0]["External id"] == args["Batch"] and row in members
        sizes = {call: sum(m["Message size"] for m in members if m["Call"] == call) for call in ("isend", "irecv")}
        assert (args["Bytes sent"], args["Bytes received"]) == (sizes["isend"], sizes["irecv"]) == (380, 380)
        assert args["Message size"] == 760 and args["Calls"] == 4
        assert args["Call"] == args["Collective name"] == "batch_isend_irecv"
        assert "dtype" not in args and args["Mixed dtypes"] == "Float, Long"
        assert args["Dst Rank"] == args["Src Rank"] == members[0]["Dst Rank"]
        assert args["source"] == members[0]["source"]
    assert not batches


def check_chakra(trace, kernels: int, tmp):
    """Each kernel's node has its size, and `convert` makes the same nodes of the Kineto file."""
    (path,) = trace.path.parent.glob("*.et.zst")
    found = communication(chakra.Et(path))
    assert trace.counters["chakra_comm_unknown"] == 0 and len(found) == kernels
    assert [node[5] for node in found if node[-1] == "BATCH"] == [760, 760]
    made = tmp / f"of-{path.name}"
    subprocess.run([harness.TOOL, "convert", trace.path, "--to", "chakra", "-o", made], check=True)
    assert communication(chakra.Et(made)) == found


@pytest.mark.parametrize("ranks, ops", full_but([(2, "lean")], [(2, "lean"), (2, "full"), (4, "full")], seconds=8))
def test_each_call_is_described(torch, ranks, ops):
    """The rows and kernels of each rank say what the job's calls were made with."""
    run = torch.ranks("calls", ranks, ops=ops)
    assert run.status == 0, run.stderr
    made = [json.loads(line) for line in run.stdout.splitlines()]
    traces = per_rank(run, torch.tmp / "1")
    assert len(traces) == ranks
    ids = collections.defaultdict(set)
    for rank, (_, trace) in enumerate(traces):
        rows = rows_of(trace, "record_param_comms")
        assert not [args for args in rows if args["Collective name"] in OTHER and {"Call", "Seq"} & args.keys()]
        rows = [args for args in rows if args["Collective name"] not in OTHER]
        calls = [call for call in made if call["rank"] == rank]
        # The last call is broadcast_object_list(), which broadcasts the object's length and then its bytes.
        assert calls.pop()["call"] == "broadcast_object_list"
        assert [(args["Call"], args["Root Rank"]) for args in rows[-2:]] == [("broadcast_object_list", 0)] * 2
        assert [described(args) for args in rows[:-2]] == [
            {key: value for key, value in call.items() if key not in ("rank", "batch")} for call in calls]
        check_kernels(rows_of(trace, "ncclDevKernel"), rows, calls)
        check_chakra(trace, len(rows) - 2 * (4 - 1), torch.tmp)
        # The calls of a group are numbered, and so are its messages. A batch has one number.
        numbered = collections.defaultdict(list)
        for args in rows if ops == "full" else []:
            is_p2p = args["Call"] in ("send", "recv", "isend", "irecv")
            numbers = numbered[args["Process Group Name"], is_p2p]
            if not numbers or numbers[-1] != args.get("Batch"):
                numbers.append(args.get("Batch", 0))
            assert args["Seq"] == len(numbers)
            ids[args["Process Group Name"], is_p2p, args["Seq"]].add(args["Comms Id"])
        asynchronous = [args.get("Is asynchronized op") for args in rows[:14]]  # the calls before the first message
        assert asynchronous == ([0, 1] + [0] * 12 if ops == "full" else [None] * 14)
        assert ops == "full" or not any({"Seq", "Comms Id"} & args.keys() for args in rows)
    # All ranks of a call have one id. (PyTorch's hash is weak: a send may have the id of another call.)
    assert all(len(of_call) == 1 for of_call in ids.values())
    collectives = [of_call for (_, is_p2p, _), of_call in ids.items() if not is_p2p]
    assert len(set().union(*collectives)) == len(collectives)
