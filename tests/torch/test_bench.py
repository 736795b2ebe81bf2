"""Runs the benchmarks that compare syncline with other profilers, with the smallest sizes. Every
mode of recording runs, and every number is printed."""
import json
import os
import subprocess

import harness
import pytest
from conftest import ENVIRONMENT, REPO

RECORDING = ("syncline", "syncline, all of it", "kineto cuda", "kineto cuda gz", "kineto cpu+cuda",
             "kineto cpu+cuda gz")
NUMBERS = {"step": "us", "memory": "MiB", "callbacks": "ns a record", "own CPU": "ns a row",
           "file": "B a row", "to save": "ms"}


def run(tmp_path, name: str, job: str, rounds: int = 1) -> tuple[list[list[str]], list[dict]]:
    """Runs a benchmark. Returns the cells of the printed table (the head is the first row), and the
    rows of the JSON file."""
    if not harness.has_benches():
        pytest.skip("built with -DSYNCLINE_BENCH=OFF")
    rows = tmp_path / "rows.json"
    done = subprocess.run([REPO / "bench" / name, "--rounds", str(rounds), "--steps", "3", "--job", job,
                           "--build", harness.BUILD, "--json", rows],
                          capture_output=True, text=True, timeout=1500, check=False)
    assert done.returncode == 0, done.stderr
    table = [line.split("|")[1:-1] for line in done.stdout.splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in row] for row in table], list(map(json.loads, rows.open()))


@pytest.mark.full(seconds=25)
@pytest.mark.skipif(ENVIRONMENT != "torch-2.11", reason="the bench has its own environment")
@pytest.mark.parametrize("job", ["mlp", "transformer"])
def test_vs_kineto(tmp_path, job):
    (heads, *cells), rows = run(tmp_path, "vs_kineto", job)
    assert [row[0] for row in cells] == ["bare", "idle", *RECORDING]
    assert {len(row) for row in cells} == {len(heads)}
    found = {(row["metric"], row["unit"]): row["value"] for row in rows}
    for mode in ("bare", "idle", *RECORDING):
        wanted = {n: u for n, u in NUMBERS.items()
                  if mode in RECORDING or n in ("step", "memory") or (mode, n) == ("idle", "callbacks")}
        for name, unit in wanted.items():
            assert (f"{job}, {mode}: {name}", unit) in found
    for mode in RECORDING:
        assert all(found[f"{job}, {mode}: {name}", NUMBERS[name]] > 0
                   for name in ("step", "own CPU", "file", "to save"))
    (saved,) = [row for row in rows if row["metric"] == f"{job}: our file after the stop"]
    assert saved["goal"] == 250 and saved["met"] == (saved["value"] <= 250)
    # Both recorded the same job, so both have rows for the same operations.
    counts = {row[0]: int(row[heads.index("rows")]) for row in cells if row[0] in RECORDING}
    assert counts["syncline"] > 100 and counts["kineto cuda"] > 100
    # By default, syncline also records operators.
    assert counts["syncline, all of it"] > counts["syncline"] + 100
    ratios = {row["metric"]: row for row in rows if row["metric"].startswith(f"{job}: libkineto's")}
    assert {row["goal"] for row in ratios.values()} == {6, 12} and len(ratios) == 4
    plain = ratios[f"{job}: libkineto's plain export / ours, all of it, per row"]["value"]
    assert abs(plain * found[f"{job}, syncline, all of it: own CPU", "ns a row"]
               / found[f"{job}, kineto cpu+cuda: own CPU", "ns a row"] - 1) < 0.01


@pytest.mark.full(seconds=17)
@pytest.mark.skipif(ENVIRONMENT != "torch-2.11", reason="the bench has its own environment")
def test_in_turns(tmp_path):
    table, rows = run(tmp_path, "in_turns", "mlp", rounds=2)
    modes = ("bare", "idle", "again", "syncline", "syncline, all of it")
    assert [row[0] for row in table] == ["", *modes]
    found = {row["metric"]: row for row in rows}
    for mode in modes:
        assert found[f"mlp, {mode}: step"]["value"] > 0
    beside = found["mlp, syncline: beside an idle client"]
    assert beside["goal"] == 2 and beside["met"] == (beside["value"] <= 2)
    # The idle client is not compared with itself, but with a second run of itself.
    assert "mlp, idle: beside an idle client" not in found
    assert "mlp, again: beside an idle client" in found


@pytest.mark.full(seconds=23)
@pytest.mark.skipif(ENVIRONMENT != "torch-2.11", reason="the bench has its own environment")
def test_pytorch(tmp_path):
    """Runs every comparison of bench/pytorch. All modes that record operators record the same
    operators."""
    (heads, *cells), rows = run(tmp_path, "pytorch", "mlp")
    recording = ["syncline", "syncline lean", "syncline full", "kineto cpu+cuda",
                 "kineto cpu+cuda shapes", "kineto cpu+cuda shapes stack"]
    assert [row[0] for row in cells] == ["bare", *recording]
    counts = {row[0]: int(row[heads.index("rows")]) for row in cells[1:]}
    # Operators are additional rows beside the rows from CUPTI.
    assert min(counts["syncline lean"], counts["syncline full"]) > counts["syncline"] > 0
    found = {row["metric"]: row for row in rows}
    ratio = found["mlp: full / torch.profiler with record_shapes"]
    assert ratio["goal"] == 0.5 and ratio["met"] == (ratio["value"] <= 0.5)
    for mode in recording:
        for name, unit in (("own CPU", "ns a row"), ("file", "B a row"), ("to save", "ms")):
            assert found[f"mlp, {mode}: {name}"]["unit"] == unit
            assert found[f"mlp, {mode}: {name}"]["value"] > 0


@pytest.mark.full(seconds=52)
@pytest.mark.skipif(ENVIRONMENT != "torch-2.11", reason="the bench has its own environment")
def test_torch_ops(tmp_path):
    rows = tmp_path / "rows.json"
    done = subprocess.run([REPO / "bench" / "torch_ops_bench.sh", "--turns", "1", "--json", rows],
                          env=os.environ | {"SL_BENCH_BUILD": str(harness.BUILD)},
                          capture_output=True, text=True, timeout=1500, check=False)
    assert done.returncode == 0, done.stderr
    found = {row["metric"]: row for row in map(json.loads, rows.open())}
    assert set(found) == {"observer lean, more an operator", "observer full, more an operator",
                          "torch.profiler, more an operator",
                          "torch.profiler with shapes, more",
                          "observer full / torch.profiler with shapes",
                          "the same of linear", "the same of cat",
                          "NVTX's texts, more an operator", "NVTX's texts, with no window open",
                          "syncline.range(), one", "torch.profiler.record_function(), one",
                          "no window open, more an operator", "SYNCLINE_OPS=off, more in a window",
                          "syncline.step(), one", "import torch, of the processor", "import torch with the variable, more",
                          "import torch under syncline run, more", "the finder, at any other import"}
    # Under `syncline run` the package's import finder is installed, and its cost is measured.
    assert found["the finder, at any other import"]["value"] > 0
    ratio = found["observer full / torch.profiler with shapes"]
    assert ratio["goal"] == 0.5 and ratio["met"] == (ratio["value"] <= 0.5)
