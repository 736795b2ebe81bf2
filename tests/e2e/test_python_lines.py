"""Tests the source lines of Python code (runtime/collect/python/frames) on every installed Python.
These are the Python that runs the tests, all Pythons on the PATH, those of pyenv, and those whose
paths are in SL_TEST_PYTHONS (separated by colons). Without --full, only the oldest and the newest
are tested."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import harness
from tiers import full_but

PROGRAM = Path(__file__).parent / "programs" / "python_lines.py"
PROBE = harness.BUILD / "tests" / "e2e" / "python_probe.so"
CASES = [
    "one_each", "libraries", "paths", "again", "long", "tables", "threads", "many", "interpreters",
]  # fmt: skip


def version_of(python):
    asked = subprocess.run(
        [python, "-c", "import sys, ctypes; print(sys.version)"],
        capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    return asked.stdout.strip()


def find_pythons():
    folders = [Path(p) for p in os.environ["PATH"].split(":") if p and "shims" not in p]
    folders += sorted((Path.home() / ".pyenv" / "versions").glob("3.*/bin"))
    found = [Path(p) for p in os.environ.get("SL_TEST_PYTHONS", "").split(":") if p]
    found += [Path(sys.executable)]
    found += [
        folder / f"python3.{minor}"
        for folder in folders
        for minor in range(9, 17)
        if (folder / f"python3.{minor}").exists()
    ]
    versions = {}
    for python in found:
        version = version_of(str(python))
        if version and tuple(map(int, version.split(".")[:2])) >= (3, 9):
            versions.setdefault(version, str(python))
    return versions


EVERY_PYTHON = find_pythons()
# Free-threaded builds are left out, because their frames have another layout, which syncline does
# not read.
PYTHONS = {v: path for v, path in EVERY_PYTHON.items() if "free-threading" not in v}


def each_python(argument):
    """Parametrizes a test by interpreter. Without --full, the test runs only on the oldest and the newest."""
    ordered = sorted(PYTHONS, key=lambda v: [int(n) for n in re.findall(r"\d+", v)[:3]])
    kept = [PYTHONS[ordered[0]], PYTHONS[ordered[-1]]]
    return pytest.mark.parametrize(
        argument, full_but(kept, PYTHONS.values(), seconds=0.3), ids=[v.split()[0] for v in PYTHONS]
    )


pythons = each_python("python")


def ask(python, case, *options):
    ran = subprocess.run(
        [python, *options, str(PROGRAM), str(PROBE), case],
        capture_output=True, text=True, check=False, timeout=300,
        env=os.environ | {"PYTHONIOENCODING": "utf-8"},
    )  # fmt: skip
    assert ran.returncode == 0, (ran.returncode, ran.stderr[-2000:])
    begin, *rest = ran.stdout.splitlines()
    assert begin == "begin\t0"
    return rest


def marks():
    lines = PROGRAM.read_text(encoding="utf-8").split("\n")
    return {
        line.split("# at: ")[1]: number for number, line in enumerate(lines, 1) if "# at: " in line
    }


def check(python, case, *options):
    at, told = marks(), ask(python, case, *options)
    for line in told:
        mark, _, answer = line.partition("\t")
        if mark in at:
            assert answer.startswith(f"{PROGRAM}:{at[mark]} "), line
        elif mark == "elsewhere":
            assert answer == "None"
        else:
            assert answer == mark
    return told


@pytest.mark.parametrize("case", CASES)
@pythons
def test_the_line_is_the_one_that_asked(python, case):
    check(python, case)


@pythons
def test_functions_have_their_names(python):
    names = dict(line.split("\t") for line in ask(python, "one_each"))
    for name in ("function", "recursion", "generator", "coroutine", "loop", "grün", "наружу"):
        assert names[name].endswith(f" {name}")
    assert names["module"].endswith(" one_each")
    qualified = int(version_of(python).split(".")[1]) >= 11
    for mark, name, full in (
        ("Thing.named", "named", "Thing.named"),
        ("inner", "inner", "closure.<locals>.inner"),
    ):
        assert names[mark].split(" ")[1] == (full if qualified else name)


@pythons
def test_options_of_python_change_nothing(python):
    for options in (["-X", "importtime"], ["-O"], ["-X", "dev"], ["-I", "-S"], ["-X", "tracemalloc"]):
        assert len(check(python, "one_each", *options)) > 25


@pythons
def test_as_many_callers_as_are_wanted(python):
    at, (line,) = marks(), ask(python, "depth")
    first, second, third = line.split(" < ")
    assert [x.split(" ")[0].split(":")[0] for x in (first, second, third)] == [str(PROGRAM)] * 3
    assert second.endswith("middle") and first.endswith("inner")
    assert third.startswith(f"{PROGRAM}:{at['outer']} ")


@pythons
def test_threads_that_run_when_python_ends(python):
    for _ in range(5):
        ask(python, "at_the_end")
