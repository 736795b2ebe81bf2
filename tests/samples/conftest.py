"""The tests use the build in SYNCLINE_BUILD (a CMake build folder; default: build/release)."""

import os
import pathlib

import pytest

REPO = pathlib.Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def build() -> pathlib.Path:
    return pathlib.Path(os.environ.get("SYNCLINE_BUILD", REPO / "build" / "release"))


@pytest.fixture(scope="session")
def repo() -> pathlib.Path:
    return REPO
