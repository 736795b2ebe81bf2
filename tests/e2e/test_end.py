"""Tests how a process ends: which files exist afterwards, and that the program's own exit is unchanged."""
import os
import re
import signal
import subprocess
import time

import pytest

import harness
from harness import check_trace


@pytest.mark.sanitize
@pytest.mark.parametrize("end, status", [("return:0", 0), ("return:3", 3), ("exit:4", 4)])
def test_normal_end_loses_nothing(go, end, status):
    run = go(f"context kernel:20 copy syncall {end}", log="warn")
    assert (run.status, run.stdout, run.said()) == (status, "done\n", [])
    check_trace(run, run.trace())


def test_end_without_synchronising(go):
    """The process exits while a kernel runs. The exit is not delayed, and the file is complete."""
    began = time.monotonic()
    run = go("context kernel:5 syncall long:30000 exit:0")
    assert run.status == 0 and time.monotonic() - began < 15
    trace = run.trace()
    assert len(trace.of("kernel")) >= 5


@pytest.mark.parametrize("end, status", [
    ("_exit:6", 6), ("thread_exit:7", 7),
    ("abort", harness.signal_status(signal.SIGABRT)), ("kill", harness.signal_status(signal.SIGKILL))])
def test_sudden_end_leaves_what_was_flushed(go, end, status):
    """The process is killed after three seconds. Records are on disk about a second after CUPTI
    delivered them, so the .part file has all records of this program."""
    run = go(f"context kernel:20 syncall sleep:3000 {end}")
    assert (run.status, run.stdout) == (status, "done\n")
    (path,) = run.files()
    assert path.name.endswith(".part")
    trace = harness.Trace(path)
    assert len(trace.of("kernel")) == 20
    assert trace.object["job"] == "job"
    checked = subprocess.run([harness.TOOL, "check", path], capture_output=True, text=True, check=False)
    assert ", job job, run " in checked.stdout


@pytest.mark.sanitize
def test_fork_leaves_the_child_alone(go):
    # The leak checker is off. A forked child has only one thread, so memory to which only other
    # threads of the parent have pointers looks leaked.
    run = go("context kernel:5 sync fork kernel:5 sync exit:2", log="warn",
             ASAN_OPTIONS=os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0")
    assert run.status == 2
    assert "child exit 5 signal 0" in run.stdout
    assert re.search(r"child start -\d+", run.stdout), "the child is passive"
    trace = run.trace()
    assert len(trace.of("kernel")) == 10 and run.said() == []
    assert {e["pid"] for e in trace.of("cuda_driver")} == {run.truth_of("process")[0]["pid"]}


@pytest.mark.parametrize("during", ["look", "demangle"])
def test_a_child_can_load_libraries(tmp_path, during):
    """A thread of syncline may be in a call of the dynamic linker when the process forks. glibc
    would then leave the lock of the linker's list locked in the child. The child can load libraries
    nevertheless."""
    run = harness.run(tmp_path, harness.BUILD / "tests/e2e/forks", "libresolv.so.2", during,
                      log="warn")
    assert (run.status, run.stdout, run.said()) == (0, "child 0\n", [])


def test_init_without_a_context_leaves_nothing(go):
    run = go("init status exit:0")
    assert (run.status, run.files()) == (0, [])
    assert not run.out.exists(), "no folder either"


def test_no_thread_before_the_first_use(tmp_path):
    code = ("import ctypes, os; cu = ctypes.CDLL('libcuda.so.1'); assert cu.cuInit(0) == 0;"
            "print(sorted(open(f'/proc/self/task/{t}/comm').read().strip()"
            " for t in os.listdir('/proc/self/task')))")
    run = harness.run(tmp_path, "python3", "-c", code)
    assert run.status == 0, run.stderr
    assert "syncline" not in run.stdout and "sl-" not in run.stdout


def test_library_that_is_disabled(go):
    run = go("context kernel sync status start", enabled="0")
    assert run.status == 0 and run.files() == [] and run.said() == []
    assert "state 0" in run.stdout and "start -19" in run.stdout


def test_unmodified_without_injection(tmp_path):
    run = harness.scenario(tmp_path, "context kernel sync start status", inject=False)
    assert run.stdout.splitlines()[0] == "start -11" and "status -11" in run.stdout
    assert run.files() == []
