"""The ranks and process groups in the files of a distributed job."""
import json
import subprocess

import harness
import pytest
from tiers import full_but


@pytest.mark.parametrize("window", full_but(["steps:2/4"], ["run", "steps:2/4"], seconds=8.1))
def test_process_groups(torch, window):
    """Process groups are in the header. If the header was written before the groups existed, the
    groups are at the file's end."""
    run = torch.ranks("ddp", 2, window=window, log="warn")
    assert run.status == 0 and run.said() == [], run.stderr
    traces = run.traces()
    assert {trace.object["distributedInfo"]["rank"] for trace in traces} == {0, 1}
    assert len({trace.object["run_id"] for trace in traces}) == 1
    for trace in traces:
        info = trace.object["syncline"].get("distributedInfo", trace.object["distributedInfo"])
        assert (info["backend"], info["world_size"]) == ("nccl", 2)
        assert info["rank"] == trace.object["distributedInfo"]["rank"]
        assert info["pg_count"] == len(info["pg_config"]) >= 1
        group = info["pg_config"][0]
        assert group["ranks"] == [0, 1] and group["pg_size"] == 2 and group["pg_desc"]
        assert info["nccl_version"] != "unknown"
        if window != "run":
            assert "distributedInfo" not in trace.object["syncline"]


# torch.distributed tells torch.profiler the groups when a session begins. If there are no groups yet,
# libkineto derives the groups from the collectives.
GROUPS = """
import os
import torch
import torch.distributed as dist
from torch.profiler import profile

rank = int(os.environ["RANK"])
torch.cuda.set_device(rank)
def session(name, first):
    with profile() as recorded:
        first()
        dist.all_reduce(torch.ones(1, device="cuda"))
        torch.cuda.synchronize()
    recorded.export_chrome_trace(f"{name}-{rank}.json")
session("before", lambda: dist.init_process_group("nccl"))
dist.new_group([0], group_desc="one")
dist.new_group([1, 0], group_desc="both")
session("after", lambda: None)
dist.destroy_process_group()
"""


@pytest.mark.full(seconds=8.1)
def test_process_groups_as_libkineto_says_them(torch):
    (torch.tmp / "groups.py").write_text(GROUPS)
    run = torch.ranks(str(torch.tmp / "groups"), 2, log="warn")
    assert run.status == 0 and run.said() == [], run.stderr
    traces = run.traces()
    assert len(traces) == 2
    for trace in traces:
        # (If the header was written after the last group was created, the header has all groups.)
        ours = trace.object["syncline"].get("distributedInfo", trace.object["distributedInfo"])
        before, after = (
            json.loads((torch.tmp / "1" / f"{name}-{ours['rank']}.json").read_text()).get("distributedInfo")
            for name in ("before", "after"))
        assert ours == after
        first = ours["pg_config"][0]
        as_text = {**first, "ranks": json.dumps(first["ranks"])}
        # (PyTorch 2.4 and 2.15 write no groups. 2.7, 2.9, 2.11 and 2.13 write groups.)
        assert before == (None if torch.minor in (4, 15) else
                          {**ours, "pg_count": 1, "pg_config": [as_text], "nccl_version": "unknown"})


@pytest.mark.full(seconds=6.7)
def test_names_of_modules(torch):
    """SYNCLINE_MODULES=1: ranges are nested as the modules are, and the job's result is unchanged."""
    bare = torch.job("mlp", inject=False)
    run = torch.job("mlp", modules="1", log="warn")
    assert (run.status, run.stdout, run.said()) == (0, bare.stdout, [])
    rows = [row for row in run.trace().of("user_annotation") if row["name"].startswith("nn.Module")]
    outer = [row for row in rows if row["name"] == "nn.Module: Sequential"]
    assert len(outer) == 20
    inner = [row for row in rows if row["name"] == "nn.Module: 0 (Linear)"]
    assert all(any(o["start"] <= row["start"] and row["end"] <= o["end"] for o in outer)
               for row in inner) and len(inner) == 20


def test_names_of_modules_that_come_and_go(torch):
    bare = torch.job("modules", inject=False)
    run = torch.job("modules", modules="1", log="warn")
    assert (run.status, run.stdout, run.said()) == (0, bare.stdout, [])
    rows = [row for row in run.trace().of("user_annotation") if row["name"].startswith("nn.Module")]
    names = [row["name"][11:] for row in sorted(rows, key=lambda row: row["start"])]
    assert names == [
        "Net", "encoder (Linear)", "ReLU", "Identity",
        "Net", "encoder (Sequential)", "encoder.0 (Linear)", "encoder.1 (Tanh)", "ReLU", "Identity",
        "Net", "encoder (Identity)", "ReLU", "decoder (Sequential)", "decoder.0 (Linear)",
        "decoder.1 (Tanh)",
        "Head"]


# Each child tells its rank to init_process_group() alone, after its first CUDA call.
SPAWNED = """
import sys
import torch
import torch.distributed as dist
import torch.multiprocessing as mp

def child(rank, store):
    torch.cuda.set_device(rank)
    torch.ones(4, device="cuda").sum().item()
    dist.init_process_group("gloo", init_method="file://" + store, rank=rank, world_size=2)
    total = torch.ones(4)
    dist.all_reduce(total)
    assert total.tolist() == [2.0] * 4
    total.cuda().sum().item()
    dist.destroy_process_group()

if __name__ == "__main__":
    mp.spawn(child, (sys.argv[1],), nprocs=2)
"""


@pytest.mark.full(seconds=11)
def test_ranks_of_spawned_processes(torch):
    """The children of mp.spawn have no rank in their environment. Their files have the rank that
    torch.distributed has, and one run id."""
    (torch.tmp / "spawned.py").write_text(SPAWNED)
    run = torch.job(str(torch.tmp / "spawned"), torch.tmp / "store", sim=["--devices", "2", *torch.processes()])
    assert run.status == 0, run.stderr
    done = subprocess.run([harness.TOOL, "check", "--json", run.out], capture_output=True, text=True,
                          check=False)
    files = [json.loads(line) for line in done.stdout.splitlines()]
    assert sorted(file["rank"] for file in files if "rank" in file) == [0, 1], done.stderr
    assert len({file["run"] for file in files}) == 1 and len(files) == 4
    for trace in run.traces():
        info = trace.object["distributedInfo"]
        assert (info["backend"], info["world_size"]) == ("gloo", 2)
        assert info["pg_config"][0]["ranks"] == [0, 1]
