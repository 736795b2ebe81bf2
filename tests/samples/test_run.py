"""tests/run.sh leaves out what it is told to, and says so. It runs in a tree of its own, where all
that it calls does nothing."""
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
    shutil.copy(repo / "tests" / "run.sh", tmp_path / "tests")
    script(tmp_path / "tests" / "setup.sh", "sl_setup() { :; }\n")
    script(tmp_path / "tests" / "venv.sh", "echo true\n")  # for Python
    for command in "cmake", "ctest":
        script(tmp_path / "bin" / command, "")
    (tmp_path / "build" / "venv" / TORCH).mkdir(parents=True)
    (tmp_path / "build" / "venv" / TORCH / ".complete").touch()
    return tmp_path


def stages(tree, *options):
    """Names of the stages, and what was said behind them."""
    result = subprocess.run([tree / "tests" / "run.sh", "--only", "any", *options], text=True,
                            env={"PATH": f"{tree / 'bin'}:/usr/bin:/bin"}, capture_output=True,
                            check=True)
    progress, said = result.stdout.split("] done\n")
    return [line.split("] ")[1].split()[0] for line in progress.splitlines() if "] " in line], said


def test_with_pytorch(tree):
    names, said = stages(tree)
    assert names == ["build-release", "unit-release", "python", "library", "e2e-release", TORCH]
    assert said == "6 passed, 0 failed\n"


def test_a_pattern_fetches_no_pytorch(tree):
    (tree / "build" / "venv" / TORCH / ".complete").unlink()
    names, said = stages(tree)
    assert TORCH not in names
    assert said.splitlines() == [
        "left out: the tests that run PyTorch (--only takes what is there: tests/venv.sh torch-2.11)",
        "5 passed, 0 failed"]


def test_without_pytorch(tree):
    names, said = stages(tree, "--without-torch")
    assert names == ["build-release", "unit-release", "python", "library", "e2e-release"]
    assert said.splitlines() == [
        "left out: the tests that run PyTorch (--without-torch)", "5 passed, 0 failed"]
