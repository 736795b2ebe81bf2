"""Runs `syncline edges` and `convert` on files whose thread ids are not those of the operating system.
pthread_self() has 47 bits. Kineto may write negative ids for threads that PyTorch does not know, such as
NCCL's watchdog."""
import json

import pytest

import chakra
from edges_tool import edges, launch, row, stream_sync, write
from test_tool import check, problems, run

STRANGE = [1, 42, 2**31 - 1, 2**31, 3000000000, 2**32 - 1, 2**32, 140000000000000, 2**63 - 1,
           0, -1, -1700040960, -2**31, -2**31 - 1, 1 - 2**63]


def waits(correlation, thread, ts=0, stream=7):
    """Returns a launch, its kernel, and a wait of 40 us for the kernel."""
    return (launch(correlation, ts + 10, ts + 15, ts + 60, stream, thread)
            + stream_sync(correlation + 1, ts + 20, 46, stream, thread))


def threads_of(et):
    return {node.correlation: node.attr["tid"] for node in et.cpu if node.correlation}


@pytest.mark.sanitize
def test_each_is_told_as_it_stands(tmp_path):
    rows = [r for i, thread in enumerate(STRANGE) for r in waits(10 * i + 10, thread, 100 * i)]
    path = write(tmp_path / "t", rows)
    found, lost = edges(path)
    assert [(e["dst_correlation"], e["dst_thread"], e["wait_ns"]) for e in found] == [
        (10 * i + 11, thread, 40000) for i, thread in enumerate(STRANGE)]
    assert set(lost) <= {"before_window", "flag_unknown"}
    run("convert", path, "--to", "chakra", "-o", tmp_path / "t.et")
    et = chakra.Et(tmp_path / "t.et")
    assert threads_of(et) == {10 * i + 10 + k: thread for i, thread in enumerate(STRANGE) for k in (0, 1)}
    assert not chakra.broken(et)
    assert "valid" in run("check", tmp_path / "t.et")[0]


@pytest.mark.sanitize
def test_in_quotes_they_are_the_same(tmp_path):
    for thread in STRANGE:
        rows = waits(10, thread)
        rows[2]["tid"] = str(thread)
        (edge,), _ = edges(write(tmp_path / "t", rows))
        assert edge["dst_thread"] == thread


@pytest.mark.parametrize("one, other", [(140000000000000, 140000000000000 + 2**32), (3000000000, 3000000000 - 2**32),
                                        (2**32 + 42, 42), (-1, 2**32 - 1), (0, 2**32)])
def test_two_threads_stay_two(tmp_path, one, other):
    """Calls and ranges of two threads overlap, and their ids are similar. Calls and ranges are
    assigned to the right thread."""
    rows = [row("user_annotation", "range", 0, 1, 200, one), *waits(10, one),
            *waits(20, other, 2, stream=13), *waits(30, one, 100), *waits(40, other, 102, stream=13)]
    path = write(tmp_path / "t", rows)
    found, lost = edges(path)
    assert [(e["src_correlation"], e["dst_thread"], e["wait_ns"], e["basis"]) for e in found] == [
        (10, one, 40000, "exact"), (20, other, 40000, "exact"), (30, one, 40000, "exact"),
        (40, other, 40000, "exact")]
    assert set(lost) <= {"before_window", "flag_unknown"}
    assert run("edges", path)[0].count(" in range") == 2
    run("convert", path, "--to", "chakra", "-o", tmp_path / "t.et")
    et = chakra.Et(tmp_path / "t.et")
    assert threads_of(et) == {10: one, 11: one, 20: other, 21: other, 30: one, 31: one, 40: other, 41: other}
    assert {node.attr["tid"] for node in et.cpu if node.name == "range"} == {one}
    assert not chakra.broken(et)


@pytest.mark.parametrize("thread", ["4.5", "1e30", "-9223372036854775809", '"Spans"', "null", "true"])
def test_what_is_no_thread(tmp_path, thread):
    rows = waits(10, 77777) + waits(20, 42, 100)
    path = write(tmp_path / "t", rows)
    path.write_text(path.read_text().replace("77777", thread))
    out, error = run("edges", "--json", path, status=1)
    assert "2 with impossible ids or times" in error
    assert [edge["dst_thread"] for edge in map(json.loads, out.splitlines())] == [None, 42]
    assert problems(check(path))["row_unusable"]["count"] == 2
    assert "tid is no whole number of 64 bits" in run("check", path)[0]


@pytest.mark.sanitize
def test_more_than_are_kept(tmp_path):
    """The tool keeps ids above 31 bits for 100000 threads, and leaves out the rows of the next such
    thread. Smaller ids need no memory."""
    rows = [row("cpu_op", "op", 0, i / 100, 0.001, 2**40 + i) for i in range(100_001)]
    path = write(tmp_path / "t", rows + waits(10, 2**40 + 99_999, 2000) + waits(20, 2**40 + 100_000, 3000)
                 + waits(30, 43, 4000))
    out, error = run("edges", "--json", path, status=1)
    assert "3 events left out: the file has more than 100000 threads without a system thread id" in error
    assert [edge["dst_thread"] for edge in map(json.loads, out.splitlines())] == [2**40 + 99_999, None, 43]
