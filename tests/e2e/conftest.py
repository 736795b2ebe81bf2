"""Fixtures of the end-to-end tests. The tests use the build in SL_TEST_BUILD (default: build/release)."""
import pathlib
import subprocess

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
def small_disk(tmp_path):
    """Yields an empty file system of 256 KiB. Mounting needs root rights, so the test is skipped
    without them."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256k", "syncline-test", folder],
                             capture_output=True, check=False)
    if mounted.returncode:
        pytest.skip("mounting needs root (and a container that allows it)")
    yield folder
    subprocess.run(["umount", folder], check=True)
