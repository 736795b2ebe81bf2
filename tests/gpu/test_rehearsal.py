"""Runs all checks on the simulated GPU. The checks must pass there, and the results must name the simulated
GPU."""

import json
import os
import pathlib
import subprocess
import sys

import pytest

HERE = pathlib.Path(__file__).resolve().parent
BUILD = os.environ.get("SYNCLINE_BUILD", HERE.parents[1] / "build" / "release")


def test_checks_pass_on_the_simulated_gpu(tmp_path):
    done = subprocess.run([sys.executable, HERE / "checks.py", "--build", BUILD, "--out", tmp_path,
                           "--simulated", "--only", "samples", "--only", "library", "--only", "dumps"],
                          text=True,
                          capture_output=True, check=False, timeout=500)
    results = json.loads((tmp_path / "results.json").read_text())
    failed = [entry for entry in results["results"] if entry["outcome"] == "fail"]
    assert not failed, json.dumps(failed, indent=1)
    assert done.returncode == 0, done.stderr
    assert results["machine"]["simulated"] is True
    assert results["summary"]["pass"] > 80
    dumps = {path.name for path in (tmp_path / "dumps").glob("*.dump.gz")}
    assert {"graph.dump.gz", "train_like.dump.gz"} <= dumps
    assert {name.replace(".dump.", ".pt.trace.json.") for name in dumps} == {
        path.name for path in (tmp_path / "dumps").glob("*.pt.trace.json.gz")}
    assert (tmp_path / "results.md").read_text().startswith("# Checks on a simulated GPU")


def test_without_a_gpu_it_says_so(tmp_path):
    clean = {k: v for k, v in os.environ.items() if k != "LD_LIBRARY_PATH"}
    probe = subprocess.run([pathlib.Path(BUILD) / "samples/probe_gpu"], env=clean,
                           capture_output=True, check=False)
    if probe.returncode == 0:
        pytest.skip("there is a GPU here")
    done = subprocess.run([sys.executable, HERE / "checks.py", "--build", BUILD, "--out", tmp_path],
                          env=clean, text=True, capture_output=True, check=False)
    assert done.returncode == 1 and "--simulated" in done.stderr
    assert "Traceback" not in done.stderr


def test_wrong_use():
    run = HERE / "run.sh"
    assert "--prebuilt" in subprocess.run([run, "--help"], text=True, capture_output=True,
                                          check=True).stdout
    assert subprocess.run([run, "--nonsense"], capture_output=True, check=False).returncode == 2
