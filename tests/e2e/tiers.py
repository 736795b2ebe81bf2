"""Which cases of a test run in which tier of tests/run.sh (the marks are in tests/pytest.ini)."""
import os

import pytest

# The first seed of random tests. tests/run.sh takes it from the commit's hash, so that each commit
# tries new ones.
SEED = int(os.environ.get("SL_TEST_SEED", "1"))


def full_but(kept, cases, seconds):
    """For parametrize: `cases`, of which only those in `kept` run without --full. The others take so
    many CPU seconds each."""
    cases = list(cases)
    assert all(case in cases for case in kept), f"{kept} are not all among {cases}"
    return [case if case in kept else
            pytest.param(*(case if isinstance(case, tuple) else [case]),
                         marks=pytest.mark.full(seconds=seconds))
            for case in cases]
