"""torch.distributed on the simulated GPU: real processes, real data, and ranks that wait for each other."""
import collections
import itertools
import json
import re
import subprocess

import harness
import pytest
from test_jobs import check_passes
from tiers import full_but


def expected_output(size: int) -> str:
    """Computes what jobs/collectives.py must print."""
    ranks = range(size)
    product = 1
    for r in ranks:
        product *= r + 1

    def floats(*values):
        return str([float(v) for v in values])

    scatter = [sum(r * size + i for r in ranks) for i in ranks]
    return "\n".join([
        "all_reduce sum " + floats(sum(r + 1 for r in ranks), sum(10 * (r + 1) for r in ranks)),
        f"all_reduce RedOpType.MAX [{size}, 0]",
        "all_reduce RedOpType.AVG " + floats(sum(r + 1 for r in ranks) / size, -sum(ranks) / size),
        f"all_reduce RedOpType.PRODUCT [{float(product)}, -0.0]",
        "all_reduce RedOpType.MIN " + floats(1, -(size - 1)),
        "all_gather " + floats(*(r + h for r in ranks for h in (0, 0.5))),
        "reduce_scatter " + floats(*scatter),
        "broadcast " + floats(size - 1, 7 * (size - 1)),
        "reduce " + floats(sum(ranks)),
        "all_to_all " + floats(*(10 * r for r in ranks)),
        "send and recv [42.0]",
        "all_reduce of a pair [2.0]",
        "big " + floats(sum(ranks), sum(ranks)),
    ]) + "\n"


def per_rank(run: harness.Run, folder) -> list[tuple[harness.Run, harness.Trace]]:
    """Returns a run and a trace for each rank, in the order of ranks."""
    found = []
    for path in sorted(run.out.rglob("*.pt.trace.json*")):
        rank, pid = re.search(r"-(\d+)-(\d+)$", path.parent.name).groups()
        own = harness.Run(run.status, "", "", path.parent,
                          harness.json_lines(folder / f"truth-{pid}.jsonl"),
                          harness.json_lines(folder / f"log-{pid}.jsonl"))
        found.append((int(rank), own, harness.Trace(path)))
    return [row[1:] for row in sorted(found, key=lambda row: row[0])]


def matched(folder) -> dict:
    """Returns what `syncline collectives` finds in the traces of all ranks."""
    done = subprocess.run([harness.TOOL, "collectives", "--json", folder], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def collectives(run: harness.Run) -> list[dict]:
    """Returns the collectives, sorted by name and then by end, because the order of collectives on
    different streams may differ between ranks."""
    found = [op for op in run.truth_of("op") if op["kind"] == "kernel" and "ncclDevKernel" in op["name"]]
    return sorted(found, key=lambda op: (op["name"], op["end"]))


@pytest.mark.parametrize("name, size", full_but(
    [("fsdp", 2)], itertools.product(["collectives", "ddp", "fsdp"], [2, 4]), seconds=11))
def test_ranks(torch, name, size):
    run = torch.ranks(name, size)
    assert run.status == 0, run.stderr[-4000:]
    if name == "collectives":
        assert run.stdout == expected_output(size)
    else:
        assert f"on {size} ranks" in run.stdout
    ranks = per_rank(run, torch.tmp / "1")
    assert len(ranks) == size
    for own, trace in ranks:
        harness.check_trace(own, trace)
        check_passes(trace.path)
        assert any("ncclDevKernel" in row["name"] for row in trace.of("kernel"))
    found = matched(run.out)
    assert (found["absent_ranks"], found["conflicts"], found["problems"]) == ([], [], [])
    assert not sum(file["undescribed"] for file in found["files"]) or name == "collectives"
    assert name == "collectives" or sum(row["timed"] for row in found["collectives"]) > 10
    # All ranks have the same collectives, and no collective ends before the last rank has begun it.
    # Collectives of only some ranks are not compared.
    shared = [[op for op in collectives(own) if "SendRecv" not in op["name"]] for own, _ in ranks]
    counts = [collections.Counter(op["name"] for op in ops) for ops in shared]
    assert name == "collectives" or all(count == counts[0] for count in counts)
    for ops in zip(*shared) if name != "collectives" else []:
        assert len({op["end"] for op in ops}) == 1
        assert max(op["start"] for op in ops) < ops[0]["end"]


# Reduces all pairs of 8-bit values. (PyTorch supports no product, average or integer reduction of 8-bit
# values.)
FLOAT8 = """
import os
import torch
import torch.distributed as dist

rank = int(os.environ["RANK"])
torch.cuda.set_device(rank)
dist.init_process_group("nccl")
for dtype in (torch.float8_e4m3fn, torch.float8_e5m2):
    values = torch.arange(256, dtype=torch.uint8).view(dtype)
    a = values.repeat_interleave(256)
    b = values.repeat(256)
    most = torch.finfo(dtype).max
    for op, expected in ((dist.ReduceOp.SUM, a.double() + b.double()),
                         (dist.ReduceOp.MAX, torch.maximum(a.double(), b.double())),
                         (dist.ReduceOp.MIN, torch.minimum(a.double(), b.double()))):
        x = (a if rank == 0 else b).cuda()
        dist.all_reduce(x, op=op)
        known = torch.isfinite(a.double()) & torch.isfinite(b.double())
        found = x.cpu().double()[known]
        expected = expected.clamp(-most, most).to(dtype).double()[known]
        print(dtype, op, len(found) > 50000, bool((found == expected).all()), flush=True)
dist.destroy_process_group()
"""


@pytest.mark.full(seconds=4.8)
def test_sums_of_8_bits(torch):
    (torch.tmp / "float8.py").write_text(FLOAT8)
    run = torch.ranks(torch.tmp / "float8", 2, inject=False)
    assert run.status == 0, run.stderr[-4000:]
    lines = run.stdout.splitlines()
    assert len(lines) == 12 and all(line.endswith("True True") for line in lines), run.stdout
