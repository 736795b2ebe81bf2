"""Repeats tests that failed while the machine stood still.

On a shared machine, a virtual processor or the disk may stop for seconds. Some of syncline's
deadlines are shorter than such a stop. For example, a process that exits has two seconds. If a test
fails during such a stop, it is run once more, with a warning. If a test fails without a stop, it
counts as failed.

The hooks of this file are imported by the conftest.py of the end-to-end tests and of the PyTorch
tests. Unit tests do not need them, because they use a fake clock."""
import pathlib
import subprocess
import sys
import threading
import time

import pytest
from _pytest.runner import runtestprotocol

import standstill_watch
from standstill_watch import LATE_S, STEP_S

_late: list[float] = []  # ends of the stops, as standstill_watch.py printed them


def _waited_for_the_disk_s() -> float:
    """Returns the seconds since boot in which at least one process waited for the disk, or 0 if the
    kernel does not report this time."""
    try:
        some, _ = pathlib.Path("/proc/pressure/io").read_text().splitlines()
    except (OSError, ValueError):
        return 0
    return int(some.partition("total=")[2]) / 1e6


def stood_still(since: float, disk_s: float) -> bool:
    return _waited_for_the_disk_s() - disk_s > LATE_S or any(when > since for when in _late)


def _note(lines) -> None:
    for line in lines:
        _late.append(float(line))


def pytest_configure(config):
    watcher = subprocess.Popen([sys.executable, standstill_watch.__file__], stdout=subprocess.PIPE, text=True)
    threading.Thread(target=_note, args=[watcher.stdout], daemon=True).start()
    config.add_cleanup(watcher.kill)


def _run(item, nextitem):
    since, disk_s = time.monotonic(), _waited_for_the_disk_s()
    reports = runtestprotocol(item, nextitem=nextitem, log=False)
    # the watcher reports a stop after this time at the latest
    time.sleep(STEP_S if any(report.failed for report in reports) else 0)
    return reports, stood_still(since, disk_s)


def pytest_runtest_protocol(item, nextitem):
    item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    reports, still = _run(item, nextitem)
    if still and any(report.failed for report in reports):
        item.warn(pytest.PytestWarning(f"{item.name} failed while the machine stood still: run again"))
        item._initrequest()  # pytest sets up the fixtures again
        reports, _ = _run(item, nextitem)
    for report in reports:
        item.ihook.pytest_runtest_logreport(report=report)
    item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    return True

