"""Finds traces of real GPUs. These traces are not part of the repository. $SL_TEST_TRACES (default:
shared/traces beside the repository) holds HolisticTraceAnalysis's test data: cuda_event_sync, nccl_3steps,
simple_add, two_ranks.rank-0 and two_ranks.rank-1, each .json.gz. Tests that need missing traces are
skipped."""
import os
import pathlib

import pytest

import harness

TRACES = pathlib.Path(os.environ.get("SL_TEST_TRACES") or harness.REPO.parent / "shared" / "traces")
REAL = sorted(TRACES.glob("*.json.gz"))

real = pytest.mark.skipif(not REAL, reason=f"no real traces in {TRACES}: set SL_TEST_TRACES")
