"""Runs the checks of PyTorch jobs for a real GPU (tests/gpu) on the simulated GPU. The checks must pass
there."""
import json
import subprocess

import harness
import pytest
from conftest import REPO


def rehearse(torch, group: str) -> set[str]:
    """Runs a group of checks, and returns the names of those that passed. None may fail."""
    if torch.cupti.startswith("12"):
        pytest.skip("the rehearsal is with the newest CUDA")
    out = torch.tmp / "results"
    out.mkdir()
    done = subprocess.run([torch.python, REPO / "tests" / "gpu" / "checks.py", "--build",
                           harness.BUILD, "--out", out, "--simulated", "--only", group,
                           "--budget", "460"],
                          text=True, capture_output=True, check=False, timeout=500,
                          env=harness.environment())
    results = json.loads((out / "results.json").read_text())
    failed = [entry for entry in results["results"] if entry["outcome"] == "fail"]
    assert not failed, json.dumps(failed, indent=1)
    assert done.returncode == 0, done.stderr
    return {entry["name"] for entry in results["results"] if entry["outcome"] == "pass"}


@pytest.mark.full(seconds=40)
def test_rehearsal(torch):
    passed = rehearse(torch, "torch")
    for mode in ("train", "launch", "graph"):
        assert {f"{mode}: launches name their operator", f"{mode}: steps",
                f"{mode}: waits name their line",
                f"{mode}: the operators that torch.profiler sees"} <= passed


@pytest.mark.full(seconds=50)
def test_rehearsal_of_nccl(torch):
    passed = rehearse(torch, "nccl")
    for where in ("2 ranks on 2 GPUs", "2 ranks on 1 GPU"):
        assert {f"{where}: {what}" for what in ("each kernel has its collective", "numbers agree", "the command")} <= passed
    assert {"abort: the aborted collective and the later ones are described", "DDP: each kernel has its collective",
            "events: a KernelLaunch holds its kernel's launch", "cost by size: ran"} <= passed
