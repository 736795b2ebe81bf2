"""Tests how much of the disk traces use, and what happens to windows that cannot be written."""
import pathlib
import shutil
import subprocess

import harness
import pytest

TIME = "time:20ms/40ms"


def sizes(out: pathlib.Path) -> dict[str, int]:
    """Returns the size in bytes of each file below a folder, by name."""
    return {path.name: path.stat().st_size for path in out.rglob("*") if path.is_file()}


def said_of_disk(run: harness.Run) -> list[str]:
    """Returns syncline's lines. A flood on a busy machine may also lose events, which one line reports."""
    return [line for line in run.said() if "events were dropped in all" not in line]


def test_run_ends_its_window_at_the_limit(go):
    """SYNCLINE_DISK=1MiB with the window `run`. The window ends with valid files of at most 1 MiB and an
    eighth, one line reports this, and the job continues."""
    run = go("context stream kernel sync recording ended sync status", disk="1MiB", log="warn",
             timeout=300)
    assert (run.status, run.stdout.splitlines()[-1]) == (0, "done"), run.stderr
    (said,) = said_of_disk(run)
    assert "SYNCLINE_DISK" in said and "the window ends here" in said
    (path,) = run.files()
    checked = subprocess.run([harness.TOOL, "check", path], capture_output=True, text=True,
                             check=False)
    assert "valid and complete Kineto trace" in checked.stdout.splitlines()[0]
    assert "state 1 " in run.stdout  # armed: nothing is recorded any more
    assert 9 << 17 >= sum(sizes(run.out).values()) >= 1 << 19
    assert not [name for name in sizes(run.out) if name.endswith(".part")]


@pytest.mark.parametrize("small_disk", ["16m"], indirect=True)
def test_a_flood_does_not_fill_the_disk(go, small_disk):
    """A file system that a flood of kernels would fill in less time than lies between two looks at the clock.
    The window ends with complete files, and almost 5 % of the file system stay free."""
    run = go("context stream kernel sync recording ended sync", compression="none", chakra="raw", log="warn",
             output=str(small_disk / "out"), timeout=300)
    assert (run.status, run.stdout.splitlines()[-1]) == (0, "done"), run.stderr
    (said,) = said_of_disk(run)
    assert "of the file system are free" in said and "the window ends here" in said
    assert sorted(sizes(small_disk)) == ["1.0.et", "1.pt.trace.json"]
    assert shutil.disk_usage(small_disk).free > (16 << 20) * 3 // 100


def test_old_windows_are_deleted_at_the_limit(go):
    """Windows by time exceed the limit. syncline deletes the oldest windows, but keeps the first window, the
    newest windows, and a file that another program changed. The trace counts the deleted windows."""
    run = go("context stream " + "kernel sync sleep:10 " * 30 + "windows:3 append deleted sync",
             window=TIME, lead_in="0", disk="2MiB", log="warn", timeout=300)
    assert run.status == 0, run.stderr
    (said,) = said_of_disk(run)
    assert "SYNCLINE_DISK" in said and "the oldest windows are deleted" in said
    windows = sorted({name.split("Z")[0] for name in sizes(run.out)})  # names sort by time
    changed = [name for name in sizes(run.out) if name.startswith(windows[1])]  # its .et is deleted
    assert len(changed) == 1 and changed[0].endswith(".pt.trace.json.zst"), changed
    traces = [harness.Trace(path) for path in run.files() if path.name not in changed]
    numbers = [trace.object["syncline"]["window"] for trace in traces]
    assert numbers == sorted(numbers) and numbers[0] == 1 and numbers[-1] > 10
    assert max(trace.counters["windows_deleted"] for trace in traces) > 0


def test_windows_on_a_full_disk(go, small_disk):
    """A disk that is full from the start on: one line, no file, and every window is counted."""
    (small_disk / "filler").write_bytes(b"x" * 256 * 1024)
    run = go("context kernel:50 sync " + "sleep:50 kernel:50 sync " * 20, window=TIME,
             lead_in="0", log="warn", output=str(small_disk / "out"))
    assert (run.status, run.stdout) == (0, "done\n")
    assert len(run.said()) == 1, run.stderr
    assert not sizes(small_disk / "out")
