"""Fixtures of the end-to-end tests. The tests use the build in SL_TEST_BUILD (default: build/release)."""
import collections.abc
import dataclasses
import os
import pathlib
import subprocess
import time

import pytest

import harness
import standstill
from standstill import pytest_runtest_protocol  # noqa: F401 - pytest finds this hook by its name


def pytest_configure(config):
    standstill.pytest_configure(config)


def pytest_sessionstart(session):
    for path in (harness.LIBRARY, harness.SCENARIO):
        if not path.exists():
            pytest.exit(f"{path} is not built: cmake --build {harness.BUILD}", returncode=3)


@pytest.fixture
def go(tmp_path: pathlib.Path):
    """Returns a function that runs a scenario: go("context kernel sync", window="run", sim=["--cuda", "12"])
    returns a harness.Run. Each call of that function uses a new folder."""
    count = 0

    def start(steps: str, **options) -> harness.Run:
        nonlocal count
        count += 1
        folder = tmp_path / str(count)
        folder.mkdir()
        return harness.scenario(folder, steps, **options)

    return start


@pytest.fixture
def small_disk(tmp_path, request):
    """Yields an empty file system of 256 KiB, or of the size that is the test's parameter. Mounting needs
    root rights, so the test is skipped without them."""
    folder = tmp_path / "disk"
    folder.mkdir()
    size = getattr(request, "param", "256k")
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "syncline-test", folder],
                             capture_output=True, check=False)
    if mounted.returncode:
        pytest.skip("mounting needs root (and a container that allows it)")
    yield folder
    subprocess.run(["umount", folder], check=True)


@dataclasses.dataclass
class LimitedMemory:
    """A memory cgroup with a limit."""
    command: list[str]  # joins the cgroup and then becomes the command that is appended
    peak: collections.abc.Callable[[], int]  # returns the peak memory use in bytes


@pytest.fixture
def memory_limit():
    """memory_limit(BYTES) returns a LimitedMemory. Only root can make a cgroup."""
    unified, memory = pathlib.Path("/sys/fs/cgroup"), pathlib.Path("/sys/fs/cgroup/memory")
    name = f"syncline-test-{os.getpid()}"
    if (memory / "memory.limit_in_bytes").exists():
        group, limit, peak = memory / name, "memory.limit_in_bytes", "memory.max_usage_in_bytes"
    else:
        group, limit, peak = unified / name, "memory.max", "memory.peak"
    try:
        group.mkdir()
        (group / limit).read_text()
    except OSError:
        if group.exists():
            group.rmdir()
        pytest.skip("a memory cgroup needs root (and a container that allows it)")

    def make(limit_bytes: int) -> LimitedMemory:
        (group / limit).write_text(str(limit_bytes))
        # A shell joins the cgroup and then becomes the program, so that all memory of the program counts.
        join = f'echo $$ > {group / "cgroup.procs"} && exec "$@"'
        return LimitedMemory(["sh", "-c", join, "sh"], lambda: int((group / peak).read_text()))

    yield make
    until = time.monotonic() + 60
    while not _removed(group):  # the kernel removes ended processes late
        assert time.monotonic() < until
        time.sleep(0.01)


def _removed(group: pathlib.Path) -> bool:
    try:
        group.rmdir()
    except OSError:
        return False
    return True
