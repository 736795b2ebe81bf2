"""Selects which cases of a test run in which tier of tests/run.sh (tests/pytest.ini defines the marks)."""
import os

import pytest

# The first seed of random tests. tests/run.sh computes the seed from the commit's hash, so each
# commit tests new seeds.
SEED = int(os.environ.get("SL_TEST_SEED", "1"))


def full_but(kept, cases, seconds):
    """Returns `cases` for parametrize. Without --full, only the cases in `kept` run. Each other case needs
    `seconds` of CPU time."""
    cases = list(cases)
    assert all(case in cases for case in kept), f"{kept} are not all among {cases}"
    return [case if case in kept else
            pytest.param(*(case if isinstance(case, tuple) else [case]),
                         marks=pytest.mark.full(seconds=seconds))
            for case in cases]


def cupti_versions(versions, seconds=0.2):
    """Returns versions for parametrize. Without --full, only two of the versions run: the newest
    CUPTI 12, and CUPTI 13.4 (or the newest CUPTI 13 if 13.4 is not listed)."""
    by_number = sorted(versions, key=lambda version: float(version))
    of_12 = [version for version in by_number if version.startswith("12.")]
    of_13 = [version for version in by_number if version.startswith("13.")]
    return full_but(of_12[-1:] + (["13.4"] if "13.4" in of_13 else of_13[-1:]), versions, seconds)
