"""Tests standstill.py: if a test fails while the machine stands still, it is run again. Other
failing tests are not run again."""
import select
import signal
import subprocess
import sys
import time

import harness
import pytest
import standstill_watch

CONFTEST = """
import sys
sys.path.insert(0, {folder!r})
import standstill
from standstill import pytest_configure, pytest_runtest_protocol
standstill.stood_still = lambda since, disk_s: {still}
"""
# This test fails the first time. Its fixture is set up again for the second run.
TEST = """
import pathlib, pytest
runs = pathlib.Path(__file__).with_name("runs")
@pytest.fixture
def count():
    with runs.open("a") as file:
        file.write("x")
    return len(runs.read_text())
def test_second(count):
    assert count == 2
def test_other():
    pass
"""


@pytest.mark.parametrize("still, outcome, status, runs", [
    ("True", "2 passed, 1 warning", 0, "xx"), ("False", "1 failed, 1 passed", 1, "x")])
def test_run_again(tmp_path, still, outcome, status, runs):
    (tmp_path / "conftest.py").write_text(
        CONFTEST.format(folder=str(harness.REPO / "tests" / "e2e"), still=still))
    (tmp_path / "test_it.py").write_text(TEST)
    done = subprocess.run([sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", tmp_path],
                          capture_output=True, text=True, check=False)
    assert (done.returncode, (tmp_path / "runs").read_text()) == (status, runs), done.stdout
    assert outcome in done.stdout
    assert ("test_second failed while the machine stood still: run again" in done.stdout) == (status == 0)


def test_the_watcher_notices():
    began, said = time.monotonic(), []
    watcher = subprocess.Popen([sys.executable, standstill_watch.__file__], stdout=subprocess.PIPE)
    try:
        while not said and time.monotonic() < began + 60:
            time.sleep(0.5)  # gives the watcher time to start
            watcher.send_signal(signal.SIGSTOP)
            time.sleep(1)
            watcher.send_signal(signal.SIGCONT)
            said, _, _ = select.select([watcher.stdout], [], [], 0.5)
        assert said and began < float(watcher.stdout.readline()) <= time.monotonic()
    finally:
        watcher.kill()
        watcher.communicate()
