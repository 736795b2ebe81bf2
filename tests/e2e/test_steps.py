"""Tests the rows of a job's steps, and windows that begin and end with steps. Also tests ranges and marks of
the public API. tests/torch tests the steps of PyTorch."""
import re
import sys

import harness
import pytest


def steps_of(trace: harness.Trace) -> list[dict]:
    return sorted((row for row in trace.of("user_annotation")
                   if row["name"].startswith("ProfilerStep#")), key=lambda row: row["start"])


def names(rows: list[dict]) -> list[str]:
    return [row["name"] for row in rows]


@pytest.mark.sanitize
def test_rows_of_steps(go):
    """Each step's row ends 2 ns before the next step's row begins, because torch-tb-profiler drops rows that
    touch. The launches of a step are inside its row."""
    run = go("context step " + "kernel:2 sync step " * 5 + "kernel sync", log="warn")
    assert run.status == 0 and run.said() == []
    trace = run.trace()
    rows = steps_of(trace)
    assert names(rows) == [f"ProfilerStep#{n}" for n in range(1, 6)]
    assert len({row["tid"] for row in rows}) == 1
    assert all(a["end"] + 2 == b["start"] for a, b in zip(rows, rows[1:]))
    starts = [row["start"] for row in trace.of("cuda_runtime", "cuda_driver")
              if "Launch" in row["name"]]
    assert [sum(row["start"] <= at < row["end"] for at in starts) for row in rows] == [2] * 5


@pytest.mark.sanitize
def test_windows_of_steps(go):
    """The windows have steps 1 to 3, 21 to 23 and 41 to 43, with exactly the operations launched in them. On a
    busy machine a window is missed if enabling takes too long."""
    run = go("context " + "kernel:2 sync sleep:10 step " * 50, window="steps:3/20", log="warn")
    assert run.status == 0 and run.said() == []
    traces = run.traces()
    for trace in traces:
        rows, meta = steps_of(trace), trace.object["syncline"]
        first = meta["first_step"]
        assert first in (1, 21, 41)
        assert names(rows) == [f"ProfilerStep#{first + n}" for n in range(3)]
        assert (rows[0]["start"], rows[-1]["end"] + 2) == (meta["opened_ns"], meta["closed_ns"])
        assert len(trace.of("kernel")) == 6
    assert traces[0].object["syncline"]["first_step"] == 1


def test_a_window_of_steps_that_are_shorter_than_a_look(go):
    """Many steps are shorter than the recorder's checks. The window still has exactly the first five steps."""
    run = go("context kernel sync " + "step kernel sync " * 60, window="steps:5/100")
    (trace,) = run.traces()
    assert names(steps_of(trace)) == [f"ProfilerStep#{n}" for n in range(1, 6)]
    assert len(trace.of("kernel")) == 5


def test_windows_of_steps_without_a_pause(go):
    """Each step is due, and a window whose predecessor is not complete is missed. Each step is recorded whole or
    not at all, and one line says that some are left out."""
    run = go("context " + "kernel:2 sync sleep:20 step " * 30, window="steps:1/1", log="warn")
    (line,) = run.said()
    assert "steps:1/1" in line and "SYNCLINE_WINDOW=run" in line
    traces = sorted(run.traces(), key=lambda trace: trace.object["syncline"]["window"])
    assert len(traces) >= 2
    numbers = []
    for trace in traces:
        rows = steps_of(trace)
        numbers += [int(row["name"].split("#")[1]) for row in rows]
        if trace is not traces[-1]:  # the end of the process may have closed the last file
            assert len(rows) == 1 and len(trace.of("kernel")) == 2
    assert len(set(numbers)) == len(numbers)


def test_windows_of_steps_that_never_come(go):
    run = go("context kernel:3 sync", window="steps:3/20", log="warn")
    assert run.status == 0 and run.files() == []
    (line,) = run.said()
    assert "no training step was detected" in line


def test_dump(go):
    """dump() closes the current file, which is complete, and recording continues in the next file."""
    run = go("context kernel:3 sync dump windows:1 sleep:300 kernel:4 sync dump status", log="warn")
    assert re.findall(r"dump (-?\d+)", run.stdout) == ["0", "0"]
    first, *rest = sorted(run.traces(), key=lambda trace: trace.object["syncline"]["window"])
    assert len(first.of("kernel")) == 3
    assert sum(len(trace.of("kernel")) for trace in rest) == 4


WORK = """
import ctypes, pathlib, time
cuda = ctypes.CDLL("libcuda.so.1")
assert cuda.cuInit(0) == 0
import syncline
context, memory = ctypes.c_void_p(), ctypes.c_uint64()
assert cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0) == 0
assert cuda.cuCtxSetCurrent(context) == 0
assert cuda.cuMemAlloc_v2(ctypes.byref(memory), ctypes.c_size_t(4096)) == 0
def work(times):
    for _ in range(times):
        assert cuda.cuMemsetD8Async(memory, ctypes.c_ubyte(0), ctypes.c_size_t(64), None) == 0
    assert cuda.cuCtxSynchronize() == 0
def wait_until(is_so):
    until = time.monotonic() + 60
    while not is_so(syncline.status()) and time.monotonic() < until:
        time.sleep(0.01)
work(3)
"""

DUMPS = WORK + """
print(syncline.dump())
wait_until(lambda status: status["windows_completed"])
print(pathlib.Path(syncline.status()["last_file"]).name, flush=True)
work(4)
"""


def test_dump_from_python(tmp_path):
    """syncline.dump() closes a complete file while the job continues into the next one."""
    script = tmp_path / "job.py"
    script.write_text(DUMPS)
    run = harness.run(tmp_path, sys.executable, script, log="warn")
    assert (run.status, run.said()) == (0, []), run.stderr
    first, *rest = sorted(run.traces(), key=lambda trace: trace.object["syncline"]["window"])
    assert run.stdout == f"True\n{first.path.name}\n"
    assert len(first.of("gpu_memset")) == 3
    assert sum(len(trace.of("gpu_memset")) for trace in rest) == 4


DUMPS_AT_WORK = WORK + """
work(3)
print(syncline.dump())
until = time.monotonic() + 60
while syncline.status()["window"] < 2 and time.monotonic() < until:
    work(1)
    time.sleep(0.001)
work(4)
"""


def test_dump_in_the_middle_of_work(tmp_path):
    """dump() is called while kernels run. Nothing is recorded until the first file is complete. All other
    operations are in the two files."""
    script = tmp_path / "job.py"
    script.write_text(DUMPS_AT_WORK)
    run = harness.run(tmp_path, sys.executable, script, log="warn")
    assert (run.status, run.said(), run.stdout) == (0, [], "True\n"), run.stderr
    traces = sorted(run.traces(), key=lambda trace: trace.object["syncline"]["window"])
    first, second = traces
    closed, opened = first.object["syncline"]["closed_ns"], second.object["syncline"]["opened_ns"]
    assert closed < opened
    ids = {row["args"]["correlation"] for trace in traces for row in trace.of("gpu_memset")}
    calls = {call["corr"]: call for call in run.truth_of("call")}
    for op in run.operations():
        if calls[op["corr"]]["start"] < closed or calls[op["corr"]]["start"] >= opened:
            assert op["corr"] in ids


STARTS = WORK + """
print(syncline.stop(), syncline.start(), syncline.start(), flush=True)
wait_until(lambda status: (status["state"], status["window"]) == ("recording", 2))
work(4)
"""


def test_start_right_behind_a_stop_from_python(tmp_path):
    """start() is called while the last window is closing. The next window opens after that. start() returns
    that the window was requested."""
    script = tmp_path / "job.py"
    script.write_text(STARTS)
    run = harness.run(tmp_path, sys.executable, script, log="warn", lead_in="0")
    assert (run.status, run.said()) == (0, []), run.stderr
    assert run.stdout == "True True False\n"
    traces = sorted(run.traces(), key=lambda trace: trace.object["syncline"]["window"])
    assert [len(trace.of("gpu_memset")) for trace in traces] == [3, 4]


TURNS = WORK + """
import asyncio, threading
shared = syncline.range("shared")
async def request(name, turns):
    with syncline.range(name):
        for _ in range(turns):
            work(1)
            await asyncio.sleep(0)
        with shared:
            work(1)
async def serve():
    await asyncio.gather(request("short", 1), request("long", 3))
asyncio.run(serve())
def parts():
    with syncline.range("elsewhere"):
        yield
generator = parts()
next(generator)
with syncline.range("there"):
    other = threading.Thread(target=list, args=[generator])
    other.start()
    other.join()
work(2)
"""


def test_ranges_of_coroutines_that_take_turns(tmp_path):
    """Two coroutines and two threads have overlapping ranges. Each ends its own range, whichever began later."""
    script = tmp_path / "job.py"
    script.write_text(TURNS)
    run = harness.run(tmp_path, sys.executable, script, log="warn")
    assert (run.status, run.said()) == (0, []), run.stderr
    trace = run.trace()
    rows = {row["name"]: row for row in trace.of("user_annotation")}
    assert set(rows) == {"short", "long", "shared", "elsewhere", "there"}
    assert not any(key.startswith("cut") for row in rows.values() for key in row["args"])
    assert rows["short"]["start"] < rows["long"]["start"] < rows["short"]["end"] < rows["long"]["end"]
    assert rows["elsewhere"]["start"] < rows["there"]["start"] < rows["elsewhere"]["end"]
    assert rows["elsewhere"]["end"] < rows["there"]["end"]
    starts = [row["start"] for row in trace.of("cuda_driver") if "Memset" in row["name"]]
    inside = {name: sum(row["start"] <= at < row["end"] for at in starts) for name, row in rows.items()}
    assert inside["short"] == 3 and inside["long"] == 5 and inside["elsewhere"] == 0
    assert {row["name"] for row in trace.of("gpu_user_annotation")} == {"short", "long", "shared"}


@pytest.mark.parametrize("nvtx", ["1", "0"])
def test_ranges_and_marks(go, nvtx):
    """With and without NVTX, the program pops one range too many, and never ends another range."""
    run = go("pop context pop push:a push:b kernel sync pop mark:m pop pop push:open kernel sync",
             nvtx=nvtx, log="warn")
    assert run.status == 0 and run.said() == []
    trace = run.trace()
    rows = {row["name"]: row for row in trace.of("user_annotation")}
    assert set(rows) == {"a", "b", "open"}
    assert rows["a"]["start"] <= rows["b"]["start"] <= rows["b"]["end"] <= rows["a"]["end"]
    assert rows["a"]["args"]["domain"] == "syncline"
    assert {row["name"] for row in trace.of("gpu_user_annotation")} == {"a", "b", "open"}
    assert [e["name"] for e in trace.events if e["ph"] == "i" and e.get("cat") == "user_annotation"
            or e["name"] == "m"] == ["m"]
