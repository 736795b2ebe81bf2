"""CUPTI delivers records late, shuffled or repeatedly, drops them, or gives them to another client,
in every version. syncline's events are exactly the events of the truth, without those that the
simulator's log reports as lost."""
import json
import os
import subprocess

import pytest

import harness
from harness import check_trace
from tiers import cupti_versions

STEPS = "context stream kernel:30 copy event sync graph:2 blocking stream:0 kernel:5 memset syncall"


@pytest.mark.parametrize("version", cupti_versions(["12.0", "12.4", "12.6", "12.8", "13.0", "13.3", "13.5"]))
def test_versions(go, version):
    run = go(STEPS, sim=["--cupti", version], log="warn")
    assert (run.status, run.said()) == (0, [])
    check_trace(run, run.trace())


@pytest.mark.parametrize("version", cupti_versions(["12.0", "12.6", "12.8", "13.0"]))
def test_queries_of_unfinished_work_are_no_waits(go, version):
    """CUPTI before 12.8 makes records for queries of unfinished work, and those records lack the result.
    syncline writes no wait for such queries."""
    run = go("context stream query", sim=["--cupti", version])
    assert "unfinished 600 600" in run.stdout
    trace = run.trace()
    queries = [row for row in trace.of("cuda_driver") if row["name"].endswith("Query")]
    assert len(queries) == 4
    waits = {row["args"]["correlation"] for row in trace.of("cuda_sync")}
    assert not waits & {row["args"]["correlation"]
                        for row in sorted(queries, key=lambda row: row["start"])[:2]}
    assert [row["name"] for row in trace.of("cuda_sync")].count("Stream Sync") >= 1


@pytest.mark.sanitize
def test_shuffled_records(go):
    run = go(STEPS, sim=["--cupti-shuffle"], log="warn")
    assert (run.status, run.said()) == (0, [])
    check_trace(run, run.trace())


def test_late_records(go):
    run = go(STEPS + " sleep:2500", sim=["--cupti-late", "1"], log="warn")
    assert (run.status, run.said()) == (0, [])
    check_trace(run, run.trace())


def test_no_buffer_for_a_while(go):
    run = go("context kernel:50 sync sleep:1500 kernel:5 syncall sleep:500",
             sim=["--cupti-hold", "1"], log="warn")
    assert (run.status, run.said()) == (0, [])
    check_trace(run, run.trace())


@pytest.mark.sanitize
def test_records_that_come_twice(go):
    run = go(STEPS, sim=["--cupti-twice", "0.3"])
    assert run.status == 0
    assert [line for line in run.log if line["what"] == "twice"], "the scenario must have some"
    trace = run.trace()
    assert not harness.operations_differ(run, [trace]), harness.operations_differ(run, [trace])
    ids = [row["args"]["correlation"] for row in trace.of("cuda_driver")]
    assert len(ids) == len(set(ids))


def test_dropped_records_are_counted(go):
    run = go(STEPS, sim=["--cupti-drop", "0.2", "--seed", "3"])
    trace = run.trace()
    dropped = [line for line in run.log if line["what"] == "dropped"]
    assert len(dropped) > 5
    assert not harness.operations_differ(run, [trace]), harness.operations_differ(run, [trace])
    assert not harness.calls_differ(run, [trace]), harness.calls_differ(run, [trace])
    assert not harness.waits_differ(run, [trace]), harness.waits_differ(run, [trace])
    assert trace.counters["dropped_cupti"] == len(dropped)


@pytest.mark.parametrize("steps", [
    "context stream kernel:120 copy event sync blocking stream:0 kernel:5 syncall",
    "context threads:8 syncall"])
def test_a_seed_repeats_the_decisions(go, steps):
    """With the same seed, the simulator always makes the same decision for each record, whatever
    the clock and the scheduler do."""
    def fates(seed):
        run = go(steps, sim=["--seed", seed, "--cupti-drop", "0.3", "--cupti-no-time", "0.3"])
        hit = {(line["kind"], line["correlation"]): line["what"] for line in run.log
               if line["what"] in ("dropped", "no-time")}
        return {(op["kind"], op["corr"]): hit.get((op["kind"], op["corr"]))
                for op in run.truth_of("op")}

    first, again, other = fates("7"), fates("7"), fates("8")
    assert {"dropped", "no-time", None} <= set(first.values())
    both = first.keys() & again.keys()
    assert len(both) > 20
    assert {key: first[key] for key in both} == {key: again[key] for key in both}
    assert {key: first[key] for key in both} != {key: other.get(key) for key in both}


def test_records_without_a_time(go):
    run = go(STEPS, sim=["--cupti-no-time", "0.3", "--seed", "5"])
    trace = run.trace()
    lost = [line for line in run.log if line["what"] == "no-time"]
    assert lost and not harness.operations_differ(run, [trace])
    assert trace.counters["records_no_time"] >= len(lost)


def test_no_buffer_left(go):
    """No buffer of syncline is free. CUPTI then gets small discard buffers. If these are used up
    too, further records are lost and counted."""
    run = go("context kernel:60 syncall sleep:600", cupti_memory="8MiB",
             sim=["--cupti-buffer-records", "2", "--cupti-hold", "0.3"])
    trace = run.trace()
    assert [line for line in run.log if line["what"] == "starved"]
    assert not harness.operations_differ(run, [trace]), harness.operations_differ(run, [trace])
    assert not harness.calls_differ(run, [trace]), harness.calls_differ(run, [trace])
    assert trace.counters["dropped_no_buffer"] > 0


def test_unfinished_kernels(go):
    """Another library makes a forced flush. CUPTI delivers the record of a running kernel then,
    without times, and not again later."""
    run = go("context kernel:60 syncall sleep:600", sim=["--cupti-force", "5", "--kernel-factor", "100"])
    trace = run.trace()
    unfinished = [line for line in run.log if line["what"] == "unfinished"]
    assert unfinished and not harness.operations_differ(run, [trace])
    assert trace.counters["records_no_time"] >= len(unfinished)


def test_stolen_callbacks(go):
    """A second client registers its callbacks, so syncline gets no more records. syncline does not
    write to buffers of the other client."""
    run = go("context kernel:40 syncall sleep:2500 kernel:40 syncall", sim=["--cupti-steal", "60"],
             log="warn")
    assert (run.status, run.stdout) == (0, "done\n")
    assert not harness.intrusions(run)
    traces = run.traces()
    assert not [line for line in run.log if line["what"] == "misuse"]
    assert [line for line in run.log if line["what"] == "given"]
    assert not harness.operations_differ(run, traces), harness.operations_differ(run, traces)
    assert not harness.calls_differ(run, traces), harness.calls_differ(run, traces)
    (said,) = run.said()
    assert "records in them are lost" in said and "another profiler" in said
    assert all(t.counters["undelivered_buffers"] for t in traces)


@pytest.mark.sanitize
@pytest.mark.parametrize("at, version", [("1", "13.0"), ("1", "12.1"), ("60", "13.0")])
def test_another_clock(go, at, version):
    """A second client replaces CUPTI's clock by the tick counter, early or late. No record is lost, and all
    rows are on the right threads."""
    run = go("context kernel:40 syncall sleep:600 kernel:40 syncall", log="warn",
             sim=["--cupti", version, "--cupti-clock", at, "--cupti-buffer-records", "8"])
    assert (run.status, run.stdout) == (0, "done\n")
    assert [line["record"] for line in run.log if line["what"] == "clock"] == [int(at)]
    trace = run.trace()
    harness.check_flows(trace)
    harness.correct_clock(run, [trace])
    for differ in harness.operations_differ, harness.calls_differ, harness.waits_differ:
        assert not differ(run, [trace]), differ(run, [trace])
    assert not trace.counters["records_other_clock"]
    (gap,) = trace.object["syncline"]["gaps"]
    assert gap[1] < trace.object["syncline"]["closed_ns"], "CUPTI asks us for buffers again"
    # (On a busy machine the last flush makes overhead records of the flush, which are not
    # delivered.)
    assert "another profiler took CUPTI" in run.said()[0]


def undelivered(run: harness.Run) -> int:
    """Returns the number of records that the simulator did not deliver, or that it delivered to the
    other client in a buffer of syncline."""
    return sum(line["what"] in ("undelivered", "given") for line in run.log)


@pytest.mark.sanitize
@pytest.mark.parametrize("late, version", [("30", "13.0"), ("5", "13.0"), ("5", "12.0")])
def test_records_that_come_after_the_end(go, late, version):
    """CUPTI delivers the records later than an exit waits. The file is complete but has no rows of
    these records. A counter and one line report how many records are missing."""
    run = go("context stream kernel:5 threads:3 sync return:3", log="warn",
             sim=["--cupti", version, "--cupti-late", late])
    assert (run.status, run.stdout) == (3, "done\n")
    trace = run.trace()
    assert trace.of("kernel") == [] and undelivered(run) > 40
    assert trace.counters["undelivered_at_exit"] == undelivered(run)
    (said,) = run.said()
    assert f"the {undelivered(run)} records in them are lost" in said


def test_all_records_stolen(go):
    """A second client registers its callbacks before CUPTI has returned a buffer to syncline. The
    loss is reported."""
    run = go("context kernel:60 sync return:3", sim=["--cupti-steal", "100"], log="warn")
    assert (run.status, run.stdout) == (3, "done\n")
    trace = run.trace()
    # (The number of records in the other client's buffer is unknown.)
    assert 50 <= trace.counters["undelivered_at_exit"] <= undelivered(run)
    (said,) = run.said()
    assert "records in them are lost" in said and "another profiler" in said


@pytest.mark.sanitize
def test_stolen_before_the_first_record(go):
    """A second client registers its callbacks before CUPTI has requested a buffer, so CUPTI never
    requests one from syncline. The window's file is complete and has the gap."""
    run = go("context kernel:60 sync return:3", sim=["--cupti-steal", "1"], log="warn")
    assert (run.status, run.stdout) == (3, "done\n")
    trace = run.trace()
    (gap,) = trace.object["syncline"]["gaps"]
    assert gap == [trace.object["syncline"][key] for key in ("opened_ns", "closed_ns")]
    assert not trace.of("kernel") and trace.counters["handovers"] == 1
    (said,) = run.said()
    assert "another profiler took CUPTI before the first record" in said


def test_last_flush_that_never_returns(go):
    """The flush at the exit hangs. The process still ends, and the records from before are in the
    file."""
    run = go("context kernel:20 syncall sleep:600 kernel:7 sync return:3", sim=["--cupti-hang"],
             log="warn")
    assert (run.status, run.stdout) == (3, "done\n")
    trace = run.trace()
    missing = undelivered(run)
    assert len(trace.of("kernel")) >= 20
    assert trace.counters["undelivered_at_exit"] == missing
    assert len(run.said()) == (missing > 0)


CLOSEFDS = harness.BUILD / "tests" / "e2e" / "closefds"


def check_part(part):
    """Checks the .part file that remains of a lost file: if it is not empty, `convert` can complete
    it."""
    kind = "chakra" if ".et" in part.name else "kineto"
    whole = part.with_name(part.name + ".whole")
    result = subprocess.run([harness.TOOL, "convert", part, "--to", kind, "-o", whole],
                            capture_output=True, text=True, check=False)
    assert result.returncode in (0, 1) or part.stat().st_size == 0, result.stderr
    if result.returncode == 1:
        assert ("is a valid trace" if kind == "kineto" else "kept: the ") in result.stderr


@pytest.mark.parametrize("window", ["run", "time:60ms/100ms"])
def test_host_that_closes_all_descriptors(tmp_path, window):
    """The program calls closefrom(3) at any moment and opens its own files. syncline writes no byte to the
    program's files and closes none of them."""
    out = tmp_path / "out"
    env = {"SYNCLINE_OUTPUT": str(out), "SYNCLINE_JOB": "job", "SYNCLINE_WINDOW": window,
           "SYNCLINE_LEAD_IN": "0", "SYNCLINE_LOG": "warn",
           "SYNCLINE_DUMP_CUPTI": str(tmp_path / "dump"), "CUDA_INJECTION64_PATH": str(harness.LIBRARY)}
    # The simulator is started without options for truth and log, so it has no open files that the
    # program could close.
    result = subprocess.run([harness.SIMGPU, "--build", harness.BUILD, CLOSEFDS, "24"],
                            capture_output=True, text=True, timeout=300, cwd=tmp_path,
                            env=harness.environment(env), check=False)
    run = harness.Run(result.returncode, result.stdout, result.stderr, out, [], [])
    assert (run.status, run.stdout) == (0, "files 100 changed 0 broken 0\n"), run.stderr
    for line in ("program closed or replaced the descriptor of a trace file", "SYNCLINE_DUMP_CUPTI"):
        assert sum(line in said for said in run.said()) == 1, run.stderr
    assert [path for path in run.files() if path.suffix == ".part"]
    # In the window of the last file no descriptors were closed. The counter files_lost in this file
    # includes the earlier files.
    last = max(run.traces(), key=lambda trace: trace.object["syncline"]["window"])
    assert last.counters["files_lost"] > 0 and (last.of("kernel") or window != "run")
    for trace in run.traces():
        told = json.loads(subprocess.run([harness.TOOL, "check", "--json", trace.path],
                                         capture_output=True, check=False).stdout)
        # (The ring may overflow on a busy machine.)
        assert not [problem for problem in told["problems"]
                    if problem["severity"] == "error" and problem["id"] != "lost"], told
    for part in run.files("*.part"):
        check_part(part)


@pytest.mark.full(seconds=4.1)
@pytest.mark.sanitize
def test_busy_machine(go):
    """Busy threads occupy all processors while the process ends. Nothing is lost."""
    busy = [subprocess.Popen(["sh", "-c", "while :; do :; done"])
            for _ in range(2 * len(os.sched_getaffinity(0)))]
    try:
        for _ in range(5):
            run = go("context threads:8 return:3", log="warn")
            assert (run.status, run.stdout, run.said()) == (3, "done\n", [])
            check_trace(run, run.trace())
    finally:
        for process in busy:
            process.kill()
            process.wait()


def test_slow_first_enabling_does_not_hold_up_start(go):
    """The first call that enables kernels may take seconds. sl_start() returns at once
    nevertheless."""
    run = go("context start kernel sync sleep:1500 kernel:3 sync stop windows:1",
             sim=["--cupti-enable-stall", "1"], window="demand", lead_in="0")
    assert run.status == 0 and "windows 1" in run.stdout
    launch = min(c["start"] for c in run.truth_of("call") if c["name"].startswith("cuLaunchKernel"))
    enabled = next(line["ns"] for line in run.log
                   if line["what"] == "enabled" and line["kind"] == "kernel")
    assert launch < enabled, "the caller of sl_start() waited for CUPTI"
    assert len(run.traces()[0].of("kernel")) == 3
