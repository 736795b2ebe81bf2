"""Compares the args of collectives with the calls that a job made. The job makes each of torch.distributed's
eighteen calls, and reports each call."""
import json

import pytest

from test_ranks import per_rank
from tiers import full_but

# Rows that describe no collective.
OTHER = ("wait", "init", "broadcastUniqueNCCLID")


def described(args: dict) -> dict:
    """Returns what a row says, with the keys of the job's reports."""
    ranks = json.loads(args["Process Group Ranks"])
    return {"call": args["Call"], "size": args.get("Message size"), "root": args.get("Root Rank"),
            "peer": args.get("Dst Rank", args.get("Src Rank")), "group": ranks, "dtype": args.get("dtype")}


@pytest.mark.parametrize("ranks", full_but([2], [2, 4], seconds=8))
def test_each_call_is_described(torch, ranks):
    run = torch.ranks("calls", ranks)
    assert run.status == 0, run.stderr
    made = [json.loads(line) for line in run.stdout.splitlines()]
    traces = per_rank(run, torch.tmp / "1")
    assert len(traces) == ranks
    for rank, (_, trace) in enumerate(traces):
        rows = sorted((row for row in trace.of("cpu_op") if row["name"] == "record_param_comms"),
                      key=lambda row: row["ts"])
        assert not [row for row in rows if row["args"]["Collective name"] in OTHER and "Call" in row["args"]]
        rows = [row["args"] for row in rows if row["args"]["Collective name"] not in OTHER]
        calls = [call for call in made if call["rank"] == rank]
        # The last call is broadcast_object_list(), which broadcasts the object's length and then its bytes.
        assert calls.pop()["call"] == "broadcast_object_list"
        assert [(args["Call"], args["Root Rank"]) for args in rows[-2:]] == [("broadcast", 0)] * 2
        assert [described(args) for args in rows[:-2]] == [
            {key: value for key, value in call.items() if key not in ("rank", "batch")} for call in calls]
        # The kernel of a call has the args of its row.
        by_op = {args["External id"]: args for args in rows}
        kernels = [row["args"] for row in trace.of("kernel") if row["name"].startswith("ncclDevKernel")]
        for args in (args for args in kernels if args.get("External id") in by_op):
            assert described(args) == described(by_op[args["External id"]])
