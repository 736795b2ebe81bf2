"""Tests the causes and remedies that `syncline report` names: that they are true, and that they fit."""
import json

import pytest

from edges_tool import launch, operation, row, write
from test_report import cpu_op, nccl, rank_trace, report, step, table
from test_report_numbers import many_ranks, screen


def finding(found: dict, name: str) -> dict:
    (one,) = [each for each in found["findings"] if each["id"] == name]
    return one


def test_the_late_rank_is_that_for_which_the_chosen_rank_waits(tmp_path):
    """All wait for rank 17, and rank 17 for none."""
    many_ranks(tmp_path, 20)
    paths = sorted(tmp_path.iterdir())
    assert "rank-late" not in {each["id"] for each in report("--rank", "17", *paths)["findings"]}
    late = finding(report("--rank", "3", *paths), "rank-late")
    assert "100 % of it is waiting for rank 17" in late["text"]
    assert late["advice"] == "see what holds rank 17 up: --rank 17"


def test_a_rank_that_others_wait_for_waits_for_another(tmp_path):
    """Rank 1 waits for rank 0 in step 1, and rank 0 longer for rank 1 in step 2."""
    args = {"Collective name": "allreduce", "In msg nelems": 64, "Out msg nelems": 64, "Group size": 2,
            "dtype": "Float", "Process Group Name": "0", "Process Group Ranks": "[0, 1]"}
    for rank, (first, second) in enumerate([(80, 120), (50, 190)]):
        rows = [step(1, 0, 99), *launch(1, 2, 5, 10), *nccl(2, 15, first, 100, **args),
                step(2, 100, 99), *launch(3, 102, 105, 110), *nccl(4, 111, second, 200, **args)]
        (tmp_path / f"{rank}.json").write_text(json.dumps({
            "baseTimeNanoseconds": 10**18, "distributedInfo": {"rank": rank, "world_size": 2}, "traceEvents": rows}))
    paths = sorted(tmp_path.iterdir())
    for chosen, expected in [(["--rank", "1"], "rank 0"), (["--rank", "0"], "rank 1"), ([], "rank 1"),
                             (["--steps", "1"], "rank 0")]:
        assert f"waiting for {expected}" in finding(report(*chosen, *paths), "rank-late")["text"]
