"""Tests when syncline records: the whole run, by time, or on demand. Also tests the public API from C and
through ctypes."""
import re

import pytest

import harness


def numbers(text: str, key: str) -> list[int]:
    return [int(n) for n in re.findall(rf"^{key} (-?\d+)$", text, re.M)]


@pytest.mark.sanitize
def test_demand_records_between_start_and_stop(go):
    run = go("context kernel:3 sync start sleep:300 kernel:5 sync sleep:300 stop windows:1 kernel:7 "
             "sync", window="demand", lead_in="0", log="warn")
    assert run.status == 0 and run.said() == []
    assert numbers(run.stdout, "start") == [0] and numbers(run.stdout, "stop") == [0]
    (trace,) = run.traces()
    assert len(trace.of("kernel")) == 5


def test_demand_many_times(go):
    """Three windows on demand. Each is a complete file with only its own kernels."""
    once = "start sleep:200 kernel:{n} sync sleep:200 stop windows:{w} kernel:2 sync"
    steps = " ".join(once.format(n=n, w=w) for w, n in enumerate((4, 5, 6), 1))
    run = go("context kernel sync " + steps, window="demand", lead_in="0")
    traces = run.traces()
    assert [len(t.of("kernel")) for t in sorted(traces, key=lambda t: t.path.name)] == [4, 5, 6]
    assert [t.object["syncline"]["window"] for t in sorted(traces, key=lambda t: t.path.name)] == \
        [1, 2, 3]


@pytest.mark.parametrize("rank", ["0", "1"])
def test_few_lines_are_logged(go, rank):
    """Rank 0 says where the traces go and how many there are, another rank only the first. The lines of single
    windows are for debugging."""
    once = "start recording kernel:2 sync stop windows:{w} "
    run = go("context " + "".join(once.format(w=w) for w in (1, 2, 3)), window="demand", lead_in="0", log="info",
             RANK=rank, WORLD_SIZE="2")
    first, *others = run.said()
    folder = run.files()[0].parent
    assert first == f"syncline: waiting for start(), then recording rank {rank} of 2 to {folder}"
    # On a busy machine, other lines may say that something was lost.
    assert [line for line in others if "wrote" in line] == [
        f"syncline: wrote 3 windows: `syncline edges --summary {folder.parent}` shows the waits"][int(rank):]


def test_demand_without_start_writes_nothing(go):
    assert go("context kernel:5 sync", window="demand").files() == []


def test_off_records_nothing_and_start_fails(go):
    run = go("context start kernel:5 sync stop status", window="off", log="info")
    assert run.status == 0 and run.files("*") == []
    assert numbers(run.stdout, "start") == [-19] and numbers(run.stdout, "stop") == [-19]
    assert "state 0" in run.stdout and "SYNCLINE_WINDOW=off" in run.stdout
    (line,) = run.said()
    assert "start() failed: SYNCLINE_WINDOW=off records nothing" in line


@pytest.mark.parametrize("window", ["steps:3", "step:3/500", "time:60s/2s", "RUN!", "0"])
def test_an_invalid_window_waits_for_start(go, window):
    run = go("context kernel:3 sync start recording kernel:5 sync stop windows:1 kernel:7 sync",
             window=window, lead_in="0", log="warn", RANK="0", WORLD_SIZE="2")
    assert len(run.trace().of("kernel")) == 5
    (line,) = run.said()
    assert line.startswith(f"syncline: SYNCLINE_WINDOW={window} is ")
    assert line.endswith("; recording waits for start(). Fix the value or unset it.")
    run = go("context kernel:3 sync", window=window, log="warn", RANK="1", WORLD_SIZE="2")
    assert run.files("*") == [] and run.said() == [], "rank 0 speaks for all"


def test_requested_windows_of_a_job_without_steps(go):
    """stop() cancels the lead-in to the first step, and start() then records a window. No step was due."""
    run = go("context kernel stop start recording kernel sync stop windows:1", window="steps:2/4", lead_in="0")
    assert run.trace().object["syncline"]["window"] == 1
    assert not [line for line in run.said() if "missed" in line]
    assert "no training step was detected" in run.said()[-1]


def test_an_empty_window_is_the_default(go):
    run = go("context kernel:3 sync", window="", kinds="", chakra="", ops="", log="warn")
    assert len(run.trace().of("kernel")) == 3 and run.said() == []


@pytest.mark.parametrize("kinds, lines", [("none", 0), ("off", 0), ("kernel,gemm", 1)])
def test_without_kinds_the_program_alone_is_recorded(go, kinds, lines):
    run = go("context push:outer kernel:3 sync pop mark:here sleep:50", kinds=kinds, log="warn")
    trace = run.trace()
    assert trace.of("kernel", "cuda_driver", "cuda_runtime", "gpu_memcpy", "cuda_sync") == []
    assert "outer" in {row["name"] for row in trace.of("user_annotation")}
    assert len(run.said()) == lines
    if lines:
        assert "no GPU work and no CUDA calls are recorded" in run.said()[0]


def test_answers_of_the_api(go):
    run = go("start context start kernel sync stop stop windows:1 status", window="run")
    starts, stops = numbers(run.stdout, "start"), numbers(run.stdout, "stop")
    assert starts[0] == -11, "-EAGAIN: no library before CUDA is initialised"
    assert starts[1] in (0, -114), "0 or -EALREADY: the run's window is open or opening"
    assert stops[0] == 0 and stops[1] in (-114, -16)
    assert "completed 1" in run.stdout


def test_stop_and_start_again_in_a_run(go):
    run = go("context kernel:3 sync sleep:200 stop windows:1 kernel:9 sync start sleep:300 kernel:4 "
             "sync", window="run", lead_in="0")
    traces = sorted(run.traces(), key=lambda t: t.path.name)
    assert [len(t.of("kernel")) for t in traces] == [3, 4]


def test_window_open_at_exit_is_completed(go):
    run = go("context start sleep:300 kernel:6 sync exit:0", window="demand", lead_in="0")
    assert len(run.trace().of("kernel")) == 6


def test_time_windows(go):
    """200 ms of every second are recorded. Each file is complete, and none is longer than 200 ms. All files
    together have fewer kernels than the program launched."""
    run = go("context " + "kernel:5 sync sleep:50 " * 50, window="time:200ms/1s", lead_in="100ms")
    traces = run.traces()
    written = sum(len(t.of("kernel")) for t in traces)
    assert 0 < written < 250
    for trace in traces:
        times = [e["start"] for e in trace.of("kernel")]
        meta = trace.object["syncline"]
        if not times:
            continue  # on a busy machine a window may begin late, or the process may end just after its begin
        assert meta["opened_ns"] <= min(times) and max(times) <= meta["closed_ns"]


def test_timed_windows_without_events_have_no_file(go):
    """The process is idle for two seconds. The windows in that time leave no file, of either format."""
    run = go("context " + "kernel sync sleep:10 " * 40 + "sleep:2000 " + "kernel sync sleep:10 " * 40,
             window="time:100ms/200ms", lead_in="0", log="warn")
    traces = run.traces()
    assert traces and all(trace.of("kernel", "cuda_driver", "cuda_runtime", "cuda_sync") for trace in traces)
    assert len(run.files("*.et.zst")) == len(traces)


def test_turns_that_are_skipped_are_counted(go):
    """A window ends when the next one is due, and completing its file takes some time. The turns that are over
    by then are counted in the next file."""
    run = go("context " + "kernel sync sleep:2 " * 400, window="time:10ms/10ms", lead_in="0", log="warn")
    traces = run.traces()
    metas = [trace.object["syncline"] for trace in traces][1:]  # a turn may have begun in the first window
    for before, after in zip(metas, metas[1:]):
        opened = after["opened_ns"] // 10**7
        due = [turn for turn in range(before["closed_ns"] // 10**7, opened)
               if turn * 10**7 >= before["closed_ns"]]
        # windows without an event have no file, and are not missed
        if after["window"] == before["window"] + 1:
            assert after["counters"]["windows_missed"] == len(due)


@pytest.mark.sanitize
@pytest.mark.parametrize("end", ["stop windows:1 kernel:7 sync", "exit:0"])
def test_a_window_that_ends_before_its_lead_in(go, end):
    """The program stops the window, or ends, in the lead-in. What was recorded since the kinds were on is kept,
    and the file says that the lead-in was short."""
    run = go("context kernel:2 sync start lead_in " + "kernel sync sleep:10 " * 50 + end, window="demand",
             lead_in="10s", log="warn")
    assert (run.status, run.said()) == (0, []), run.stderr
    assert numbers(run.stdout, "start") == [0] and numbers(run.stdout, "stop") == [0] * ("stop" in end)
    trace = run.trace()
    meta = trace.object["syncline"]
    assert meta["lead_in"] == "short"
    inside = {op["corr"] for op in run.operations()
              if op["kind"] == "kernel" and meta["opened_ns"] <= op["start"] < meta["closed_ns"]}
    assert inside == {row["args"]["correlation"] for row in trace.of("kernel")} and inside
    run = go("context kernel:2 sync start recording kernel:5 sync stop windows:1", window="demand",
             lead_in="50ms", log="warn")
    assert "lead_in" not in run.trace().object["syncline"]


@pytest.mark.parametrize("before", [True, False])
def test_ctypes(tmp_path, before):
    """The exported functions are called by name, before and after CUDA has loaded the library."""
    ask = "ctypes.CDLL('libsyncline.so.0', mode=os.RTLD_NOLOAD)"
    first = (f"try: {ask}\nexcept OSError: print('not loaded')\n" if before else "")
    code = ("import ctypes, os, time\n" + first +
            "cu = ctypes.CDLL('libcuda.so.1')\nassert cu.cuInit(0) == 0\n"
            f"sl = {ask}\n"
            "class Status(ctypes.Structure):\n"
            "    _fields_ = [('size', ctypes.c_size_t), ('state', ctypes.c_int32),"
            " ('window', ctypes.c_uint32)] + [('n%d' % i, ctypes.c_uint64) for i in range(5)]"
            " + [('file', ctypes.c_char * 1024), ('reason', ctypes.c_char * 256)]\n"
            "s = Status(size=ctypes.sizeof(Status))\n"
            "print('status', sl.sl_status(ctypes.byref(s)), s.state, s.reason)\n"
            "print('start', sl.sl_start())\n"
            "print('null', sl.sl_status(None))\n")
    run = harness.run(tmp_path, "python3", "-c", code, window="demand")
    assert run.status == 0, run.stderr
    assert ("not loaded" in run.stdout) == before
    assert "status 0 1" in run.stdout, "armed"
    assert numbers(run.stdout, "start") == [0] and numbers(run.stdout, "null") == [-22]


def test_a_demand_that_never_came(go):
    """The first line says that recording waits, the last one that nothing was recorded and why. A job that
    called start() has no such line."""
    run = go("context kernel:3 sync", window="demand")
    assert run.status == 0 and run.files() == []
    first, last = run.said()
    assert "waiting for start(), then recording to " in first
    assert "nothing was recorded" in last and "syncline.start()" in last
    run = go("context kernel:3 sync", window="RUN", kinds="off")
    _, first, last = run.said()  # no line advises to add kinds
    assert "waiting for start(), because SYNCLINE_WINDOW is not valid" in first
    assert "nothing was recorded: SYNCLINE_WINDOW is not valid" in last
    run = go("context start sleep:300 kernel:3 sync stop windows:1", window="demand", lead_in="0")
    assert not [line for line in run.said() if "nothing was recorded" in line]
