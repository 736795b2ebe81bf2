"""The tests use the build in SL_TEST_BUILD, which is a CMake build folder (default: build/release)."""
import os
import pathlib

import pytest

REPO = pathlib.Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def build() -> pathlib.Path:
    return pathlib.Path(os.environ.get("SL_TEST_BUILD", REPO / "build" / "release"))


@pytest.fixture(scope="session")
def library(build: pathlib.Path) -> pathlib.Path:
    path = build / "runtime" / "libsyncline.so"
    assert path.exists(), f"{path} is not built: cmake --build {build}"
    return path.resolve()


@pytest.fixture(scope="session")
def repo() -> pathlib.Path:
    return REPO
