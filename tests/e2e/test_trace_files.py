"""Tests trace_files.py: it must notice each broken rule."""
import pytest

import edge_invariants
import harness
import random_waits
import trace_files
from edge_invariants import Span

PROGRAM = """0 use 0
0 stream 2 1
0 kernel 2 300
0 ssync 2 1
0 kernel 2 20
0 kernel 0 20
0 csync 0
"""


@pytest.fixture(name="left")
def left_fixture(tmp_path):
    """Returns a run without losses, and its trace."""
    (tmp_path / "steps").write_text(PROGRAM)
    run = harness.run(tmp_path, random_waits.PROGRAM, tmp_path / "steps", compress="none")
    trace = run.trace()
    assert len(trace.edges()) > 2 and not trace_files.broken(run, [trace])
    return run, trace


def kinds(lines):
    return {line.split(": ")[0] for line in lines}


def test_edges_that_are_not_those_of_the_rows(left):
    run, trace = left
    next(row for row in trace.events if "sync_edges" in row.get("args", {}))["args"]["sync_edges"].pop()
    assert "tool" in kinds(trace_files.broken(run, [trace]))


def test_a_file_with_errors(left):
    run, trace = left
    trace.path.write_text(trace.text.decode().replace('"released":true', '"released":false'))
    (line,) = trace_files.checked([trace.path], {"lost"})
    assert "edge_released" in line and trace_files.checked([trace.path], {"edge_released"}) == []
    assert trace_files.broken(run, [harness.Trace(trace.path)])


def test_a_chakra_file_of_another_run(left, tmp_path):
    run, trace = left
    (tmp_path / "other").mkdir()
    (tmp_path / "steps").write_text(PROGRAM.replace("0 csync 0\n", "0 kernel 2 7\n0 csync 0\n"))
    other = harness.run(tmp_path / "other", random_waits.PROGRAM, tmp_path / "steps")
    (path,) = run.files("*.et.zst")
    path.write_bytes(other.files("*.et.zst")[0].read_bytes())
    assert "chakra" in kinds(trace_files.broken(run, [trace]))
    path.unlink()
    assert kinds(trace_files.broken(run, [trace])) == {"chakra"}


# Tests of the rules of edges. The example is a launch, its kernel, and a call that waits for the
# kernel.

CALLS = [Span(1, ("t",), 0, 10_000), Span(2, ("t",), 20_000, 90_000)]
KERNEL = Span(1, (0, 1, 7), 30_000, 80_000)
EDGE = {"src_correlation": 1, "src_stream": 7, "dst_correlation": 2, "dst_point": "end", "dst_stream": None,
        "released": True, "wait_ns": 60_000}


def broken(edge, *operations, calls=()):
    found = edge_invariants.contradictions([EDGE | edge], edge_invariants.Spans([*CALLS, *calls],
                                                                                operations or [KERNEL]))
    return [line.split(":")[0] for line in found]


def test_edges_that_hold():
    assert broken({}) == []
    assert broken({"src_correlation": 9}) == []  # the source was enqueued before the file begins


def test_a_source_that_ends_after_its_wait():
    assert broken({}, KERNEL._replace(end=91_000)) == []  # the source ends after the wait, but by less than a tick
    assert broken({}, KERNEL._replace(end=91_001)) == ["late"]


def test_a_source_that_is_launched_after_its_wait():
    late = Span(3, ("u",), 90_001, 90_002)
    assert broken({"src_correlation": 3}, KERNEL._replace(correlation=3), calls=[late]) == ["late"]


def test_a_cycle():
    """The source of a wait was launched by the next call of the same thread, which is a cycle."""
    calls = [Span(3, ("t",), 90_000, 90_000)]
    assert broken({"src_correlation": 3}, KERNEL._replace(correlation=3), calls=calls) == ["cycle"]


def test_a_cycle_of_operations():
    """Two operations follow each other on a stream. The first waits for the second, which is a cycle."""
    behind = Span(2, KERNEL.lane, 80_000, 80_000)
    edge = {"src_correlation": 2, "dst_correlation": 1, "dst_point": "start", "dst_stream": 7}
    assert "cycle" in broken(edge, KERNEL, behind)


def test_a_thread_that_waits_longer_than_it_ran():
    assert broken({"wait_ns": 90_000}) == []
    assert broken({"wait_ns": 90_001}) == ["long"]
