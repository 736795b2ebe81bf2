"""tests/run.sh leaves out stages as its options say, and prints what it left out. It runs in a tree of its
own, where all commands do nothing, except that the build takes some CPU time."""
import json
import shutil
import subprocess

import pytest

TORCH = "torch-2.11"


@pytest.fixture
def tree(repo, tmp_path):
    def script(path, text):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("#!/bin/sh\n" + text)
        path.chmod(0o755)

    (tmp_path / "tests").mkdir()
    for name in "run.sh", "report.py":
        shutil.copy(repo / "tests" / name, tmp_path / "tests")
    script(tmp_path / "tests" / "setup.sh", "sl_setup() { :; }\n")
    script(tmp_path / "tests" / "venv.sh", "echo true\n")  # in place of a Python interpreter
    script(tmp_path / "bin" / "cmake", "i=0\nwhile [ $i -lt 50000 ]; do i=$((i + 1)); done\n")
    script(tmp_path / "bin" / "ctest", "")
    (tmp_path / "build" / "venv" / TORCH).mkdir(parents=True)
    (tmp_path / "build" / "venv" / TORCH / ".complete").touch()
    return tmp_path


def stages(tree, *options):
    """Returns the names of the stages, and the lines printed after them except the line with the times."""
    result = subprocess.run([tree / "tests" / "run.sh", "--only", "any", *options], text=True,
                            env={"PATH": f"{tree / 'bin'}:/usr/bin:/bin"}, capture_output=True,
                            check=True)
    progress, said = result.stdout.split("] done\n")
    lines = said.splitlines()
    assert "CPU seconds in" in lines[-2]
    del lines[-2]
    return [line.split("] ")[1].split()[0] for line in progress.splitlines() if "] " in line], lines


def test_with_pytorch(tree):
    names, said = stages(tree)
    assert names == ["build-release", "unit-release", "python", "library", "e2e-release", TORCH]
    assert said == ["6 passed, 0 failed"]
    times = json.loads((tree / "build" / "test-logs" / "times.json").read_text())
    assert [stage["stage"] for stage in times["stages"]] == names
    assert times["stages"][0]["cpu_s"] > 0
    assert times["cpu_s"] == pytest.approx(sum(stage["cpu_s"] for stage in times["stages"]), abs=0.1)


def test_a_pattern_fetches_no_pytorch(tree):
    (tree / "build" / "venv" / TORCH / ".complete").unlink()
    names, said = stages(tree)
    assert TORCH not in names
    assert said == [
        "left out: the tests that run PyTorch (--only takes what is there: tests/venv.sh torch-2.11)",
        "5 passed, 0 failed"]


def test_without_pytorch(tree):
    names, said = stages(tree, "--without-torch")
    assert names == ["build-release", "unit-release", "python", "library", "e2e-release"]
    assert said == [
        "left out: the tests that run PyTorch (--without-torch)", "5 passed, 0 failed"]
