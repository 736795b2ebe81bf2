"""Tests that all ranks of a job record the same windows: windows of the same steps, or of the same seconds."""
import concurrent.futures
import datetime
import re
import subprocess
import sys

import harness
import pytest


def in_ranks(tmp_path, ranks: int, steps: str, **options) -> list[harness.Run]:
    """Runs the scenario once for each rank, at the same time."""
    def run(rank: int) -> harness.Run:
        folder = tmp_path / str(rank)
        folder.mkdir(parents=True)
        return harness.scenario(folder, steps, RANK=str(rank), LOCAL_RANK=str(rank), WORLD_SIZE=str(ranks),
                                LOCAL_WORLD_SIZE=str(ranks), log="warn", timeout=300, **options)

    with concurrent.futures.ThreadPoolExecutor(ranks) as pool:
        runs = list(pool.map(run, range(ranks)))
    assert [run.status for run in runs] == [0] * ranks
    return runs


def windows_of(run: harness.Run, count: int, period: int) -> list[int]:
    """Returns the first steps of the windows. Checks that each window is due, that it has exactly its steps,
    and that all due windows before the last one are recorded or counted as missed."""
    found, missed = [], 0
    for trace in run.traces():  # the names sort by step
        meta = trace.object["syncline"]
        first, missed = meta["first_step"], missed + trace.counters["windows_missed"]
        assert trace.path.name == f"step-{first:09}.pt.trace.json.zst" and (first - 1) % period == 0
        rows = sorted((row for row in trace.of("user_annotation") if row["name"].startswith("ProfilerStep#")),
                      key=lambda row: row["start"])
        assert [row["name"] for row in rows] == [f"ProfilerStep#{first + n}" for n in range(count)]
        assert (rows[0]["start"], rows[-1]["end"] + 2) == (meta["opened_ns"], meta["closed_ns"])
        found.append(first)
        assert (first - 1) // period + 1 == len(found) + missed, "each due window is recorded or missed"
    return found


def test_two_ranks_record_the_same_steps(tmp_path):
    """If a busy machine makes a rank miss a window, the rank counts the window as missed."""
    runs = in_ranks(tmp_path, 2, "context " + "kernel:2 sync sleep:10 step " * 50 + "kernel sync",
                    window="steps:3/20")
    for run in runs:
        found = windows_of(run, 3, 20)
        assert found[0] == 1 and set(found) <= {1, 21, 41}
        assert all(len(trace.of("kernel")) == 6 for trace in run.traces())


def test_steps_that_are_shorter_than_draining(tmp_path):
    """Steps last 2 ms, so some windows are due while the last one is not complete. These are missed."""
    (run,) = in_ranks(tmp_path, 1, "context " + "kernel sync sleep:2 step " * 400, window="steps:2/10")
    found = windows_of(run, 2, 10)
    assert found[0] == 1
    assert all(len(trace.of("kernel")) == 2 for trace in run.traces())


def test_a_resumed_job_begins_with_the_next_window_that_is_due(tmp_path):
    """The job's first step is 730, so the windows that were due before are neither recorded nor missed."""
    steps = " ".join(f"push:ProfilerStep#{n} kernel sync sleep:10 pop" for n in range(730, 785))
    run = harness.scenario(tmp_path, "context " + steps, window="steps:3/20", log="warn")
    metas = [trace.object["syncline"] for trace in run.traces()]
    firsts, missed = [meta["first_step"] for meta in metas], 0
    assert set(firsts) <= {741, 761, 781}
    for turn, meta in zip([(first - 741) // 20 for first in firsts], metas):
        missed += meta["counters"]["windows_missed"]
        assert turn == firsts.index(meta["first_step"]) + missed


@pytest.fixture
def load():
    """Keeps 16 processes busy."""
    busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(16)]
    yield
    for process in busy:
        process.kill()
        process.wait()


@pytest.mark.full(seconds=100)
def test_four_ranks_record_the_same_steps_on_a_busy_machine(tmp_path, load):
    """If other programs load the machine too, a rank may miss a window, and counts it as missed."""
    due, missed = [1, 51, 101, 151], 0
    for turn in range(10):
        runs = in_ranks(tmp_path / str(turn), 4, "context " + "kernel:2 sync sleep:30 step " * 160,
                        window="steps:3/50")
        for found in [windows_of(run, 3, 50) for run in runs]:
            assert set(found) <= set(due)
            missed += len(due) - len(found)
    assert missed <= 3, "of 160 windows"


EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)


def test_two_ranks_record_the_same_seconds(tmp_path):
    """After the window at the process's start, windows begin at the multiples of the period since the epoch."""
    runs = in_ranks(tmp_path, 2, "context " + "kernel sync sleep:10 " * 250, window="time:200ms/1s",
                    lead_in="100ms")
    for run in runs:
        traces = run.traces()
        for trace in traces:
            meta = trace.object["syncline"]
            name = re.fullmatch(r"(\d{8}T\d{6}\.\d{3})Z\.pt\.trace\.json\.zst", trace.path.name)
            begun = datetime.datetime.strptime(name[1] + "+0000", "%Y%m%dT%H%M%S.%f%z") - EPOCH
            assert begun // datetime.timedelta(milliseconds=1) == meta["opened_ns"] // 10**6
        for trace in traces[1:]:
            meta = trace.object["syncline"]
            due = meta["opened_ns"] // 10**9 * 10**9
            assert meta["opened_ns"] < due + 200 * 10**6, "a busy rank begins late but not after the end"
            assert meta["closed_ns"] <= due + 200 * 10**6
        assert traces
