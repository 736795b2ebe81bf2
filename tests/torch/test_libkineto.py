"""Runs every job under torch.profiler, and plays the recorded run to syncline. The two traces agree, except
for the differences listed in docs/kineto-compatibility.md."""
import pathlib
import re
import subprocess
import sys

import harness
import pytest
from conftest import REPO
from test_jobs import ONE_PROCESS, UNPROFILED

REPLAY = REPO / "tests" / "replay"
sys.path.insert(0, str(REPLAY))

import libkineto  # noqa: E402

DOC = REPO / "docs" / "kineto-compatibility.md"
RANKS = ("collectives", "ddp", "fsdp")


def profiled(syncs):
    return [pathlib.Path(__file__).with_name("under_profiler.py"), "theirs-%p.json", syncs]


def play(torch, recording, **environment) -> pathlib.Path:
    """Returns syncline's trace of the recording."""
    out = recording.parent / f"ours-{recording.stem}"
    result = subprocess.run(
        [REPLAY / "run", "--build", harness.BUILD, "--cupti", torch.cupti, recording],
        capture_output=True, text=True, timeout=120, check=False, env=harness.environment(
            {"SYNCLINE_OUTPUT": str(out), "CUDA_INJECTION64_PATH": str(harness.LIBRARY),
             "SYNCLINE_API": "all", "SYNCLINE_DETAIL": "full", "SYNCLINE_LOG": "warn",
             "SYNCLINE_CHAKRA": "off", **environment}))
    assert (result.returncode, result.stdout, result.stderr) == (0, "", "")
    (trace,) = out.rglob("*.pt.trace.json.zst")
    return trace


def listed() -> set[str]:
    return set(re.findall(r"^### `([a-z-]+)`", DOC.read_text(), re.MULTILINE))


def check_same(theirs, ours, recording):
    differences, known, _ = libkineto.compare(theirs, ours, recording)
    assert not differences, f"{len(differences)} differences:\n" + "\n".join(differences[:10])
    assert +known and set(+known) <= listed()
    return known


@pytest.mark.full(seconds=4)
@pytest.mark.parametrize("name", UNPROFILED)
def test_job(torch, name):
    folder = torch.tmp / "1"
    job = ONE_PROCESS[name]
    run = torch.job(name, *job.arguments, under=profiled("1"), inject=False,
                    sim=[*job.sim, "--record", str(folder / "recording")])
    assert run.status == 0, run.stderr
    (theirs,) = folder.glob("theirs-*.json")
    check_same(theirs, play(torch, folder / "recording"), folder / "recording")


@pytest.mark.full(seconds=13)
@pytest.mark.parametrize("ranks", [2, 4])
@pytest.mark.parametrize("name", RANKS)
def test_ranks(torch, name, ranks):
    folder = torch.tmp / "1"
    run = torch.ranks(name, ranks, under=profiled("1"), inject=False,
                      sim=["--record", str(folder / "%p")])
    assert run.status == 0, run.stderr[-4000:]
    found = sorted(folder.glob("theirs-*.json"))
    assert len(found) == ranks
    for theirs in found:
        rank = libkineto.kineto.load(theirs)["distributedInfo"]["rank"]
        recording = folder / re.fullmatch(r"theirs-(\d+)", theirs.stem)[1]
        ours = play(torch, recording, RANK=str(rank), WORLD_SIZE=str(ranks))
        check_same(theirs, ours, recording)


@pytest.mark.full(seconds=3.3)
def test_without_syncs(torch):
    folder = torch.tmp / "1"
    torch.job("peers", under=profiled("0"), inject=False,
              sim=["--devices", "2", "--record", str(folder / "recording")])
    (theirs,) = folder.glob("theirs-*.json")
    check_same(theirs, play(torch, folder / "recording"), folder / "recording")


# Two streams wait for an event, and only one of the streams has work later.
IDLE = """
import torch
x = torch.ones(8, device="cuda")
event = torch.cuda.Event()
event.record()
idle, late = torch.cuda.Stream(), torch.cuda.Stream()
idle.wait_event(event)
late.wait_event(event)
with torch.cuda.stream(late):
    x + 1
torch.cuda.synchronize()
"""


@pytest.mark.full(seconds=3.2)
def test_a_stream_that_only_waits(torch):
    (torch.tmp / "idle.py").write_text(IDLE)
    folder = torch.tmp / "1"
    torch.job(str(torch.tmp / "idle"), under=profiled("1"), inject=False,
              sim=["--record", str(folder / "recording")])
    (theirs,) = folder.glob("theirs-*.json")
    known = check_same(theirs, play(torch, folder / "recording"), folder / "recording")
    assert known["waits-of-idle-streams"] == 1


# The first correlation id of the run. It is so high that ids exceed 2^32 during the job.
SOON_FULL = 2**32 - 100


def of(trace, cat, name=""):
    """Returns the row in the middle of the rows with this category and name."""
    rows = [e for e in trace["traceEvents"] if e.get("cat") == cat and e["ph"] == "X"
            and name in e["name"]]
    return rows[len(rows) // 2]


def set_arg(cat, name, key, value):
    return lambda trace: of(trace, cat, name)["args"].update({key: value})


def add_to(cat, key, add):
    return lambda trace: of(trace, cat, "cudaLaunchKernel" * (cat == "cuda_runtime")).update(
        {key: of(trace, cat, "cudaLaunchKernel" * (cat == "cuda_runtime"))[key] + add})


def lose(trace):
    trace["traceEvents"].remove(of(trace, "kernel"))


def lose_filtered(trace):
    """Removes a call that libkineto never records."""
    trace["traceEvents"].remove(of(trace, "cuda_runtime", "cudaGetDevice"))


def lose_waits(trace):
    trace["traceEvents"] = [e for e in trace["traceEvents"] if e.get("cat") != "cuda_sync"]


def head(trace):
    """Returns the end of the arrow to a kernel."""
    launch = of(trace, "kernel")["args"]["correlation"]
    return next(e for e in trace["traceEvents"] if e["ph"] == "f" and e.get("id") == launch)


def lose_arrow(trace):
    trace["traceEvents"].remove(head(trace))


def lose_record(trace):
    del of(trace, "cuda_sync", "Stream Wait Event")["args"]["wait_on_stream"]


def take_older_record(trace):
    """Makes a wait name an earlier event record."""
    records = [e["args"]["correlation"] for e in trace["traceEvents"]
               if e.get("cat") == "cuda_runtime" and "EventRecord" in e["name"]]
    wait = of(trace, "cuda_sync", "Stream Wait Event")["args"]
    older = [record for record in records if record < wait["wait_on_cuda_event_record_corr_id"]]
    wait["wait_on_cuda_event_record_corr_id"] = older[-1]


def move_calls(trace):
    """Moves all calls and their arrows to another thread."""
    for e in trace["traceEvents"]:
        if e.get("cat") == "cuda_runtime" or (e.get("cat"), e["ph"]) == ("ac2g", "s"):
            e["tid"] += 1


def add_early_wait(trace):
    """Adds a wait on the last stream, just before that stream's first operation."""
    firsts = {}
    for row in libkineto.kineto.rows(trace, *libkineto.OPERATIONS):
        firsts[row["tid"]] = min(row["ts"], firsts.get(row["tid"], row["ts"]))
    stream = max(firsts, key=firsts.get)
    wait = of(trace, "cuda_sync", "Stream Wait Event")
    unused = max(e["args"]["correlation"] for e in libkineto.kineto.rows(trace, *libkineto.ROWS)) + 1
    trace["traceEvents"].append({
        **wait, "tid": stream, "ts": firsts[stream] - 1, "dur": libkineto.kineto.decimal.Decimal(0),
        "args": {**wait["args"], "stream": stream, "correlation": unused}})


def cut_ids(trace):
    """Cuts ids above 2^32 to the 32 bits that CUPTI reports."""
    for e in trace["traceEvents"]:
        if e.get("cat") in libkineto.ROWS:
            e["args"]["correlation"] &= 2**32 - 1
        elif e.get("cat") == "ac2g":
            e["id"] &= 2**32 - 1


@pytest.mark.full(seconds=3.8)
def test_a_trace_that_differs(torch, monkeypatch):
    """Tests the comparison itself: it finds and names each change of a trace."""
    folder = torch.tmp / "1"
    torch.job("streams", under=profiled("1"), inject=False,
              sim=["--correlation-start", str(SOON_FULL),
                   "--record", str(folder / "recording")])
    (theirs,) = folder.glob("theirs-*.json")
    ours = play(torch, folder / "recording")
    check_same(theirs, ours, folder / "recording")
    assert libkineto.compare(theirs, ours, folder / "recording")[1]["wrapped-ids"]

    def after(change, whose=ours):
        def changed(path):
            trace = load(path)
            if path == whose:
                change(trace)
            return trace

        load = libkineto.kineto.load
        with monkeypatch.context() as patch:
            patch.setattr(libkineto.kineto, "load", changed)
            return libkineto.compare(theirs, ours, folder / "recording")[0]

    wait = ("cuda_sync", "Stream Wait Event")
    for change, says in [
            (lose, "theirs alone: kernel"),
            (lose_filtered, "which ours has not"),
            (lose_waits, "theirs alone: cuda_sync"),
            (lose_arrow, "an arrow 'f'"),
            (lambda trace: head(trace).update(name="x"), "ours alone: 1 arrow 'f' ['x', 'e']"),
            (lambda trace: head(trace).pop("bp"), "ours alone: 1 arrow 'f' ['ac2g', None]"),
            (set_arg("kernel", "", "registers per thread", 255), "'registers per thread': 255"),
            (set_arg("kernel", "", "warps per SM", libkineto.kineto.decimal.Decimal("0.5")),
             "'warps per SM'"),
            (set_arg("cuda_runtime", "cudaLaunchKernel", "unheard", 1), "has 'unheard'"),
            (add_to("cuda_runtime", "ts", 2), "begins"),
            (add_to("kernel", "dur", 1), "ns long in theirs"),
            (add_to("kernel", "name", "x"), "is called"),
            (add_to("cuda_runtime", "tid", 1), "thread"),
            (move_calls, "in the run ("),
            (set_arg(*wait, "wait_on_stream", 99), "waits for {'wait_on_stream': 99"),
            (lose_record, "waits for {'wait_on_cuda_event_record_corr_id'"),
            (take_older_record, "in the run for {'wait_on_stream'"),
            (cut_ids, "comes behind"),
            (lambda trace: trace.pop("trace_id"), "the header has no trace_id"),
            (lambda trace: trace["deviceProperties"][0].update(numSms=1), "numSms is 1")]:
        found = after(change)
        assert found and any(says in text for text in found), (says, found[:3])
    assert any("ours alone: cuda_sync" in text for text in after(lose_waits, whose=theirs))
    assert any("theirs has rows of 'new'" in text for text in after(
        lambda trace: of(trace, "cpu_op").update(cat="new"), whose=theirs))
    if torch.minor > libkineto.LEAVES_EARLY_OUT[1]:
        assert any("ours alone: cuda_sync" in text for text in after(add_early_wait))


def test_the_list_is_current():
    """The list in the documentation has every difference that libkineto.py accepts, and no
    others."""
    source = (REPLAY / "libkineto.py").read_text()
    assert set(re.findall(r'known\["([a-z-]+)"\]', source)) == listed()

