"""Makes a dump of the CUPTI buffers of a run (docs/cupti-dump.md) and plays the dump. The trace of
the replay equals the trace of the run."""
import random
import re

import pytest

from harness import in_default_filter
from player import chunks, play, played

import compare  # `import player` has added the folder of compare.py to sys.path
import kineto
from tiers import cupti_versions

STEPS = ("context stream kernel:5 copy event blocking sync query memset graph:2 sleep:300 "
         "threads:3 stream:0 kernel sync syncall")


def check_replayed_dump(tmp_path, run, dump):
    assert (run.status, run.said()) == (0, [])
    assert oct(dump.stat().st_mode)[-3:] == "600"
    (tmp_path / "again").mkdir()
    again = play(tmp_path / "again", dump, log="error", api="all")
    assert (again.status, again.stderr) == (0, "")
    (second,) = again.files("*.pt.trace.json.zst")
    (first,) = run.files("*.pt.trace.json.zst")
    difference = compare.difference(kineto.load(first), kineto.load(second))
    assert not difference, difference


@pytest.mark.sanitize
@pytest.mark.parametrize("version", cupti_versions(["12.0", "13.0", "13.5"]))
def test_dump_and_replay(go, tmp_path, version):
    """The replayed trace equals the run's trace in every row."""
    dump = tmp_path / "run.dump"
    run = go(STEPS, sim=["--cupti", version, "--nested-driver"], log="error", api="all",
             dump_cupti=str(dump))
    check_replayed_dump(tmp_path, run, dump)
    kinds = [kind for kind, _ in chunks(dump)]
    assert kinds[0] == 1 and kinds[-1] == 6 and {2, 3, 4} <= set(kinds)


@pytest.mark.parametrize("trouble", [
    ["--cupti-drop", "0.1"], ["--cupti-no-time", "0.3"], ["--cupti-shuffle", "--cupti-late", "0.1"],
    ["--cupti-twice", "0.2"], ["--devices", "2"]])
def test_dump_of_a_run_with_trouble(go, tmp_path, trouble):
    """Records that were lost, incomplete or delivered twice in the run are also lost, incomplete or delivered
    twice in the replay."""
    dump = tmp_path / "run.dump"
    steps = STEPS + " peer syncall" if "--devices" in trouble else STEPS
    run = go(steps, sim=[*trouble, "--seed", "4"], log="error", api="all", dump_cupti=str(dump))
    check_replayed_dump(tmp_path, run, dump)


@pytest.mark.parametrize("at, version", [("1", "13.0"), ("60", "13.0"), ("60", "12.1")])
def test_dump_of_two_clocks(go, tmp_path, at, version):
    """Another client replaces CUPTI's clock by the tick counter, as torch.profiler does. The dump
    says how ticks are converted to times, and the replay has the same times as the run."""
    dump = tmp_path / "run.dump"
    run = go("context kernel:40 syncall sleep:1300 kernel:40 copy syncall", log="error", api="all",
             dump_cupti=str(dump),
             sim=["--cupti", version, "--cupti-clock", at, "--cupti-buffer-records", "8"])
    assert not run.trace().counters["records_other_clock"]
    check_replayed_dump(tmp_path, run, dump)


def without(path, *kinds):
    """Writes a copy of the dump without the chunks of these kinds, and returns its path."""
    data = path.read_bytes()
    kept = [kind.to_bytes(8, "little") + len(chunk).to_bytes(8, "little") + chunk
            for kind, chunk in chunks(path) if kind not in kinds]
    out = path.with_suffix(".less")
    out.write_bytes(data[:64] + b"".join(kept))
    return out


def test_dump_with_times_that_cannot_be_placed(go, tmp_path):
    """The dump has ticks, but the chunk that says how ticks are converted to times was removed. One
    line reports how many records have unknown times."""
    dump = tmp_path / "run.dump"
    run = go("context kernel:40 syncall sleep:600 kernel:40 syncall", api="all",
             dump_cupti=str(dump), sim=["--cupti-clock", "60", "--cupti-buffer-records", "8"])
    again = play(tmp_path, without(dump, 7), log="error", api="all")
    assert again.status == 0
    (said,) = again.stderr.splitlines()
    count, of_all = re.match(r"replay: (\d+) of (\d+) records have times of another clock than "
                             "CLOCK_REALTIME, and the dump does not say what that was: they are not "
                             "in the trace", said).groups()
    trace = again.trace()
    assert 0 < int(count) < int(of_all)
    assert trace.counters["outside_window"] == int(count)
    assert len(trace.of("kernel")) < len(run.trace().of("kernel")) == 80


def test_dump_played_to_other_options(go, tmp_path):
    """A dump of all kinds is played to a client that enables fewer kinds. The client gets only records of
    these kinds."""
    dump = tmp_path / "run.dump"
    run = go(STEPS, log="error", api="all", dump_cupti=str(dump))
    less = play(tmp_path, dump, kinds="kernel,runtime,driver", log="warn")
    assert (less.status, less.stderr) == (0, "")
    trace = less.trace()
    assert {e.get("cat") for e in trace.events if e["ph"] == "X"} == {"kernel", "cuda_driver"}
    assert not compare.difference(kineto.load(trace.path), kineto.load(trace.path))
    assert "missing" in compare.difference(*map(kineto.load, (run.trace().path, trace.path)))
    assert {e["name"] for e in trace.of("cuda_driver")} == {
        e["name"] for e in run.trace().of("cuda_driver") if in_default_filter(e["name"])}


def test_dump_of_a_killed_process(go, tmp_path):
    """The process was killed, so the dump's last chunk is truncated. All whole chunks are played."""
    dump = tmp_path / "run.dump"
    run = go("context kernel:5 sync sleep:700 kill", dump_cupti=str(dump))
    assert run.status < 0 and 6 not in [kind for kind, _ in chunks(dump)]
    data = dump.read_bytes()
    dump.write_bytes(data + data[64:80] + b"cut")
    assert len(played(tmp_path, dump).of("kernel")) == 5


def test_damaged_dumps(go, tmp_path):
    """The dump's buffers contain damaged bytes. The process does not crash, and its trace is
    readable. (A sanitizer may report an access through a damaged pointer.)"""
    dump = tmp_path / "run.dump"
    go("context kernel:20 copy event sync graph:3 syncall", dump_cupti=str(dump))
    data = dump.read_bytes()
    for seed in range(6):
        rolls = random.Random(seed)
        damaged = bytearray(data)
        for _ in range(10 ** (seed // 2)):
            damaged[rolls.randrange(64, len(data))] = rolls.choice([0, 255, rolls.randrange(256)])
        path = tmp_path / f"{seed}.dump"
        path.write_bytes(damaged)
        (tmp_path / str(seed)).mkdir(exist_ok=True)
        run = play(tmp_path / str(seed), path, log="error")
        assert run.status in (0, 1)
        for trace in run.traces():
            assert trace.object["traceEvents"]


def test_dump_in_a_job_of_several_processes(go, tmp_path):
    """Several processes write dumps. If the name contains %p, each process has its own file. Otherwise only
    the first process writes the file."""
    for _ in range(2):
        assert go("context kernel sync", dump_cupti=f"{tmp_path}/%p.dump").status == 0
    assert len(list(tmp_path.glob("*.dump"))) == 2
    one = tmp_path / "one"
    assert go("context kernel:3 sync", dump_cupti=str(one)).status == 0
    before = one.read_bytes()
    run = go("context kernel:4 sync", dump_cupti=str(one), log="warn")
    assert run.status == 0 and len(run.trace().of("kernel")) == 4
    (said,) = run.said()
    assert str(one) in said and "exists and is not overwritten" in said and "%p" in said
    assert one.read_bytes() == before


def test_dump_of_a_fork(go, tmp_path):
    """A forked child adds nothing to its parent's dump."""
    dump = tmp_path / "run.dump"
    run = go("context kernel:2 fork kernel:3 sync", dump_cupti=str(dump), log="warn")
    assert run.status == 0 and not run.said()
    assert [kind for kind, _ in chunks(dump)].count(6) == 1
    assert len(played(tmp_path, dump).of("kernel")) == 5


@pytest.mark.parametrize("path", ["/nowhere/dump", "/proc/dump"])
def test_dump_that_cannot_be_written(go, path):
    run = go("context kernel:2 sync", dump_cupti=path, log="warn")
    assert run.status == 0 and len(run.trace().of("kernel")) == 2
    (said,) = run.said()
    assert said.startswith(f"syncline: SYNCLINE_DUMP_CUPTI: cannot create {path}: ") and "not affected" in said


def test_dump_of_another_version(go, tmp_path):
    dump = tmp_path / "run.dump"
    go("context kernel sync", dump_cupti=str(dump), sim=["--cupti", "12.9"])
    run = play(tmp_path, dump, cupti="13.0")
    assert run.status == 1 and "the dump is of CUPTI 12.9" in run.stderr and not run.files()
    assert len(play(tmp_path, dump, cupti="12.9").trace().of("kernel")) == 1
