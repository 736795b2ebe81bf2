"""Hooks for all tests that pytest runs. The hooks measure the CPU time of each test, and check the
pytest marks that assign tests to tiers (tests/pytest.ini)."""
import itertools
import os
import resource

import pytest


def pytest_addoption(parser):
    parser.addoption("--one-case", action="store_true", help="of a test with several cases run one, "
                     "another for each SL_TEST_SEED")


def _cpu_s() -> float:
    """Returns the CPU time of this process and of its ended children, with their own children."""
    return sum(usage.ru_utime + usage.ru_stime for usage in
               map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)))


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item):
    item.cpu_began_s = _cpu_s()


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    """Writes the CPU time into the JUnit file, for tests/report.py."""
    if call.when == "teardown":
        item.user_properties.append(("cpu_s", round(_cpu_s() - item.cpu_began_s, 3)))
    yield


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    for item in items:
        for mark in item.iter_markers("full"):
            if set(mark.kwargs) != {"seconds"}:
                raise pytest.UsageError(f"{item.nodeid}: full(seconds=...) wants the measured CPU seconds")


@pytest.hookimpl(trylast=True, specname="pytest_collection_modifyitems")
def pytest_keep_one_case(config, items):
    """pytest calls this hook after -m and -k have removed tests."""
    if not config.getoption("--one-case"):
        return
    seed = int(os.environ.get("SL_TEST_SEED", "1"))
    tests = [list(cases) for _, cases in itertools.groupby(items, lambda item: item.nodeid.partition("[")[0])]
    kept = [cases[seed % len(cases)] for cases in tests]
    config.hook.pytest_deselected(items=[item for item in items if item not in kept])
    items[:] = kept
