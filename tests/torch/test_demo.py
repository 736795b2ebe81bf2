"""Runs samples/demo.sh --torch and samples/ddp.sh as a new user would, and checks what they print."""
import re
import subprocess

import pytest
from conftest import ENVIRONMENT, REPO


@pytest.mark.full(seconds=10.5)
@pytest.mark.skipif(ENVIRONMENT != "torch-2.11", reason="the demo has its own environment")
def test_demo(tmp_path):
    done = subprocess.run([REPO / "samples" / "demo.sh", "--torch", "--simulated", "--steps", "5"],
                          cwd=tmp_path, capture_output=True, text=True, timeout=500, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    tables = done.stdout.split("[5/5]")[1]
    steps = re.findall(r"^  ProfilerStep#(\d+) +\d[\d.]* ms +\d[\d.]* % +\d[\d.]* ms +(\d+) +(\d+)$",
                       tables, re.MULTILINE)
    # The optimizer's first call ends step 0, which is not recorded because its beginning is
    # unknown.
    assert [int(number) for number, _, _ in steps] == [1, 2, 3, 4]
    assert all(int(waits) > 0 and int(launches) > 50 for _, waits, launches in steps)
    script = (REPO / "samples" / "train_transformer.py").read_text().splitlines()
    lines = {int(n): function for n, function in re.findall(r"train_transformer\.py:(\d+) (\w+)", tables)}
    made_to_wait = {(function, script[number - 1].strip()) for number, function in lines.items()}
    assert ("accuracy", "guesses = logits.argmax(dim=-1).cpu()") in made_to_wait
    # On a slow machine, other lines may wait too.
    assert {function for function, _ in made_to_wait} <= {"main", "train_step", "accuracy"}
    assert all(".cuda()" in line or ".cpu()" in line or ".item()" in line for _, line in made_to_wait)
    for title in ("GPU busy, of", "Top operators", "Top kernels", "the CPU waited at"):
        assert title in tables
    assert re.search(r"^  aten::\w+ +\d+ ", tables, re.MULTILINE)


@pytest.mark.full(seconds=9)
@pytest.mark.skipif(ENVIRONMENT != "torch-2.11", reason="the sample has its own environment")
def test_ddp(tmp_path):
    done = subprocess.run([REPO / "samples" / "ddp.sh", "--simulated", "--steps", "4"], cwd=tmp_path,
                          capture_output=True, text=True, timeout=500, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "4 steps on 2 ranks" in done.stdout
    # The command can be run as it is printed.
    assert re.search(r"^ +CUDA_INJECTION64_PATH=/.*/tests/simgpu/run --devices 2 /.*python", done.stdout, re.MULTILINE)
    table = done.stdout.split("[4/4]")[1]
    assert "2 files of ranks 0,1; the job has 2 ranks" in table
    rows = [line.split() for line in table.splitlines() if line.startswith("default_pg 0,1 all_reduce")]
    # The loss, and buckets of gradients.
    assert {tuple(row[3:5]) for row in rows} >= {("4", "B"), ("4", "MiB")}
    # All are matched by NCCL's numbers, also outside of steps.
    assert all(int(row[5]) == int(row[6]) >= 3 for row in rows) and "not timed" not in table
    assert "rank 1:" in table and list(tmp_path.iterdir()) == []
