"""Runs the checks of PyTorch jobs for a real GPU (tests/gpu) on the simulated GPU. The checks must pass
there."""
import json
import subprocess

import harness
import pytest
from conftest import REPO


@pytest.mark.full(seconds=40)
def test_rehearsal(torch):
    if torch.cupti.startswith("12"):
        pytest.skip("the rehearsal is with the newest CUDA")
    out = torch.tmp / "results"
    out.mkdir()
    done = subprocess.run([torch.python, REPO / "tests" / "gpu" / "checks.py", "--build",
                           harness.BUILD, "--out", out, "--simulated", "--only", "torch",
                           "--budget", "460"],
                          text=True, capture_output=True, check=False, timeout=500,
                          env=harness.environment())
    results = json.loads((out / "results.json").read_text())
    failed = [entry for entry in results["results"] if entry["outcome"] == "fail"]
    assert not failed, json.dumps(failed, indent=1)
    assert done.returncode == 0, done.stderr
    passed = {entry["name"] for entry in results["results"] if entry["outcome"] == "pass"}
    for mode in ("train", "launch", "graph"):
        assert {f"{mode}: launches name their operator", f"{mode}: steps",
                f"{mode}: waits name their line",
                f"{mode}: the operators that torch.profiler sees"} <= passed
