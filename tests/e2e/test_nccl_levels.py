"""What windows record about NCCL's collectives changes while the job runs: sl_collectives(), syncline.collectives(),
sl_status(), sl_dump(), and a mask that somebody else sets."""
import collections
import json
import os
import sys

import pytest

import harness
import test_nccl

CALLS = 0x1e06  # CollApi, P2pApi, KernelLaunch, Coll, P2p, CeColl


def said_by(run):
    """Returns the JSON lines that the program has printed."""
    return [json.loads(line) for line in run.stdout.splitlines()]


def test_level_changes_in_a_window(tmp_path):
    """The mask is 0 outside windows, and a new level counts at once. No call opens a window."""
    run = test_nccl.go(tmp_path, "init", "status", "all", "level=0", "open", "status", "all", "sync", "level=1", "status",
                       "all", "sync", "level=0", "all", "sync", "level=1", "close", "status", "level=4", "level=-1",
                       window="demand", lead_in="0s")
    assert said_by(run) == [{"level": 1, "copies": [[22809, 1, 0, 0]]}, 0,
                            {"level": 0, "copies": [[22809, 0, 0, 0]]}, 0,
                            {"level": 1, "copies": [[22809, 1, CALLS, 0]]}, 0, 0,
                            {"level": 1, "copies": [[22809, 1, 0, 0]]}, -22, -22]
    trace = run.trace()
    described = [row for row in trace.of("kernel") if test_nccl.described(row)]
    assert len(trace.of("kernel")) == 3 * 18 and len(described) == 18
    trace.events = [row for row in trace.events if row.get("cat") != "kernel" or row in described]
    assert {row["args"]["NCCL number"] for row in described if "NCCL number" in row["args"]} == {2}
    assert test_nccl.check(run, trace) == 18


def test_dump_has_the_collectives_before_it(tmp_path):
    run = test_nccl.go(tmp_path, "init", "open", "all", "sync", "dump", "all", "sync", "close", window="demand",
                       lead_in="0s")
    assert [test_nccl.check(run, trace) for trace in run.traces()] == [18, 18]


def test_dump_has_half_done_collectives(tmp_path):
    """A call whose group is still open has no kernel yet. The file has the call, and the next file has the kernel."""
    run = test_nccl.go(tmp_path, "init", "open", "half:dump", "sync", "close", window="demand", lead_in="0s")
    first, second = run.traces()
    assert [row["name"] for row in first.of("user_annotation") if row["name"] == "ncclAllReduce"] == ["ncclAllReduce"]
    assert not first.of("kernel") and len(second.of("kernel")) == 2


def test_eight_threads_change_everything(tmp_path):
    run = test_nccl.go(tmp_path, "init", "storm", "level=1", "open", "all", "sync", "close", window="demand",
                       lead_in="0s")
    last = max(run.files(), key=lambda path: int(path.name.split(".")[0]))
    assert test_nccl.check(run, harness.Trace(last)) == 18


@pytest.mark.parametrize("nccl", ["2.31", "2.29"])
def test_somebody_else_sets_the_mask(tmp_path, nccl):
    """NCCL's RAS client asks for all events. The level stays, and other events are dropped. One line says it."""
    asked = 0xffff
    steps = ["foreign"] * (nccl == "2.31") + ["all", "sync", "status"]
    run = harness.run(tmp_path, sys.executable, test_nccl.PROGRAM, "open", "init", *steps, python="0", window="demand",
                      lead_in="0s", log="info", SYNCLINE_NCCL="calls",
                      sim=["--cuda", "13", "--devices", "2", "--nccl", nccl, "--nccl-ras", hex(asked)])
    assert run.status == 0, run.stderr
    is_foreign = nccl == "2.31"
    version = {"2.31": 23102, "2.29": 22907}[nccl]
    assert said_by(run) == [{"level": 1, "copies": [[version, 1, asked if is_foreign else CALLS, int(is_foreign)]]}]
    assert sum("mask was set to" in line for line in run.said()) == is_foreign
    assert test_nccl.check(run, run.trace(), nccl) == 18


@pytest.mark.parametrize("nccl", ["2.28", "2.31"])
def test_sample(tmp_path, nccl):
    """Every third collective of each function is described, the same on both ranks, and whole."""
    run = test_nccl.go(tmp_path, "init", *["all"] * 7, nccl=nccl, SYNCLINE_NCCL_SAMPLE="3")
    trace = run.trace()
    assert trace.object["syncline"]["nccl_sample"] == 3
    assert len(trace.of("kernel")) == 7 * 18
    kept = [row for row in trace.of("kernel") if test_nccl.described(row)]
    assert len(kept) == 3 * 18
    for rank in (0, 1):
        calls = collections.Counter(row["args"]["NCCL call"] for row in kept if row["args"]["Comm rank"] == rank)
        assert set(calls.values()) == {3} and len(calls) == 9
    assert {row["args"]["NCCL number"] for row in kept if "NCCL number" in row["args"]} == {0, 3, 6}
    trace.events = [row for row in trace.events if row.get("cat") != "kernel" or row in kept]
    assert test_nccl.check(run, trace, nccl) == 3 * 18


@pytest.mark.parametrize("nccl", ["2.28", "2.31"])
def test_collectives_alone(tmp_path, nccl):
    """Without kernels, each launch is a row on a track of its own, with the args of its kernel."""
    program = ["init", "range", "all", "group", "sync", "all"]
    for name in ("whole", "alone"):
        (tmp_path / name).mkdir()
    whole = test_nccl.go(tmp_path / "whole", *program, nccl=nccl).trace()
    alone = test_nccl.go(tmp_path / "alone", *program, nccl=nccl, SYNCLINE_KINDS="collectives").trace()
    assert {row.get("cat") for row in alone.events if row.get("ph") == "X"} <= {"user_annotation", "Trace", None}
    rows = [row for row in alone.of("user_annotation") if "NCCL call" in row["args"]]
    assert {alone.metadata("thread_name")[row["pid"], row["tid"]].endswith(" (NCCL)") for row in rows} == {True}
    others = [row for row in alone.of("user_annotation") if row not in rows]
    assert all(row["args"].get("domain") == "NCCL" for row in others) and others

    def args(row):
        return sorted((name, str(value)) for name, value in test_nccl.described(row).items()
                      if name != "Comm")  # the hash differs from run to run
    assert sorted(map(args, rows)) == sorted(map(args, whole.of("kernel")))
    assert all(row["name"] == "nccl" + ("Group" if "NCCL calls in kernel" in row["args"] else row["args"]["NCCL call"])
               for row in rows)


@pytest.mark.parametrize("kinds, level, is_said", [
    ("kernel,collectives", "calls", True), ("kernel,collectives", "off", False),
    ("kernel,driver,collectives", "calls", False), ("collectives", "calls", False)])
def test_kernels_without_driver_calls(tmp_path, kinds, level, is_said):
    """NCCL describes the driver calls that launch its kernels. Without them one line says what to add."""
    run = test_nccl.go(tmp_path, "init", "all", log="info", SYNCLINE_KINDS=kinds, SYNCLINE_NCCL=level)
    assert sum("add driver" in line for line in run.said()) == is_said
    assert any(map(test_nccl.described, run.trace().of("kernel"))) == ("driver" in kinds)


@pytest.mark.parametrize("nccl", ["2.28", "2.31"])
def test_channels_can_hurt(tmp_path, nccl):
    """Before 2.31, channels need 1 GiB of /dev/shm. Otherwise they are refused. One line says what they cost."""
    shm = os.statvfs("/dev/shm")
    is_refused = nccl == "2.28" and shm.f_bavail * shm.f_frsize < 1 << 30
    run = test_nccl.go(tmp_path, "open", "init", "status", "all", "level=3", "status", "level=1", "status", nccl=nccl,
                       window="demand", lead_in="0s", log="info", SYNCLINE_NCCL="channels")
    version, channels = {"2.28": 22809, "2.31": 23102}[nccl], 0 if is_refused else 64
    assert said_by(run) == [{"level": 2, "copies": [[version, 1 if is_refused else 2, CALLS | channels, 0]]}, 0,
                            {"level": 3, "copies": [[version, 3, CALLS | channels | 24, 0]]}, 0,
                            {"level": 1, "copies": [[version, 1, CALLS, 0]]}]
    lines = [line for line in run.said() if "channels of kernels" in line]
    assert len(lines) == 1
    assert ("less than 1 GiB" if is_refused else "crashes" if nccl == "2.28" else "slower") in lines[0]


def test_python(tmp_path):
    """syncline.collectives() sets the level, also for a block. It never raises an exception. One line names the levels
    if there is no such level."""
    program = tmp_path / "job.py"
    program.write_text("import ctypes\nctypes.CDLL('libcudart.so.13').cudaFree(None)\nimport syncline\n"
                       "level = lambda: syncline.status()['collectives']\n"
                       "print(level())\n"
                       "with syncline.collectives('off') as asked:\n"
                       "    print(bool(asked), level())\n"
                       "    with syncline.collectives('loud') as asked:\n"
                       "        print(bool(asked), level())\n"
                       "        for wrong in ('loud', 3, None, [], 'x' * 99): syncline.collectives(wrong)\n"
                       "print(level(), bool(syncline.collectives('off')), level(), syncline.status()['nccl'])\n")
    run = harness.run(tmp_path, sys.executable, program, sim=["--cuda", "13"], SYNCLINE_NCCL="calls",
                      PYTHONPATH=str(harness.REPO / "python_hook"))
    assert run.status == 0, run.stderr
    assert run.stdout.split() == "calls True off False off calls True off []".split()
    lines = [line for line in run.stderr.splitlines() if "changes nothing" in line]
    assert len(lines) == 5 and lines[0].startswith("syncline: syncline.collectives() got 'loud', which ")
    assert all(line.endswith("the level is off, calls, channels or network") for line in lines)
    for line, got in zip(lines, ("'loud'", "type int", "type NoneType", "type list", "'" + "x" * 40 + "'"), strict=True):
        assert got in line
