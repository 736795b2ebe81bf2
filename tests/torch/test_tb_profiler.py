"""torch-tb-profiler reads what syncline writes: it finds the steps and the kernel time of the file's own rows."""
import collections
import gzip
import json
import subprocess

import pytest

import harness
from conftest import REPO
from test_edges_anew import old_form


def report(path) -> dict:
    made = subprocess.run([REPO / "tests" / "venv.sh", "tb"], check=True, stdout=subprocess.PIPE, text=True)
    done = subprocess.run([made.stdout.strip(), REPO / "tests" / "torch" / "tb_report.py", path],
                          capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    assert "should not intersect" not in done.stdout + done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def convert(path, out):
    subprocess.run([harness.TOOL, "convert", path, "--to", "kineto-gz", "-o", out], check=True, capture_output=True)
    return out


def live(torch):
    path = torch.tmp / "live.json.gz"
    path.write_bytes(torch.job("transformer", compression="gzip").trace().path.read_bytes())
    return path


def converted(torch):
    return convert(torch.job("transformer").trace().path, torch.tmp / "converted.json.gz")


def of_an_older_version(torch):
    """The steps touch, and edges are metadata."""
    members = json.loads(torch.job("transformer").trace().text)
    for row in members["traceEvents"]:
        if row["name"].startswith("ProfilerStep#"):
            row["dur"] = round(row["dur"] + 0.002, 3)
    path = torch.tmp / "old.json"
    path.write_text(json.dumps(old_form(members)))
    return convert(path, torch.tmp / "old.json.gz")


@pytest.mark.parametrize("make", [live, converted, of_an_older_version])
@pytest.mark.full(seconds=9)
def test_steps_and_kernels(torch, make):
    path = make(torch)
    rows = json.loads(gzip.decompress(path.read_bytes()))["traceEvents"]
    steps = {row["name"].split("#")[1]: row["dur"] for row in rows if row["name"].startswith("ProfilerStep#")}
    kernels = collections.defaultdict(list)
    for row in rows:
        if row.get("cat") == "kernel":
            kernels[row["name"]].append(row["dur"])
    found = report(path)
    assert len(steps) == 9 and kernels
    assert found["kernels"].keys() == kernels.keys()
    for name, durations in kernels.items():
        count, total = found["kernels"][name]
        assert count == len(durations) and total == pytest.approx(sum(durations), abs=0.001)
    assert found["steps"].keys() == steps.keys()
    # torch-tb-profiler lengthens a step whose GPU work ends later.
    assert all(found["steps"][number] >= duration - 0.01 for number, duration in steps.items())
