"""syncline releases CUPTI exactly when torch.profiler starts a session. syncline's trace has all operations
launched before and after the session. The session's trace has all operations launched in the session."""
import json
import re

import harness
import pytest
from test_neighbour import GPU, content, of_truth
from tiers import full_but

# The name that emit_nvtx gives an operator's range.
OP_TEXT = re.compile(r"(.+?)(?:, seq = \d+)?, op_id = (\d+)")


def play(torch, mode, **options):
    folder = torch.tmp / f"{mode}-{options.get('inject', True)}"
    folder.mkdir()
    run = torch.job("handover", mode, folder, **options)
    assert run.status == 0, run.stderr
    assert run.stdout.endswith(f"handover: {mode}\n")
    traces = [json.loads(path.read_text())["traceEvents"] for path in sorted(folder.glob("*.json"))]
    return run, traces


def sessions_of(run) -> list[tuple[int, int]]:
    lines = [line.split() for line in run.stdout.splitlines()]
    return [(int(line[1]), int(line[2])) for line in lines if line[0] == "session"]


def other_lines(run) -> list[str]:
    return [line for line in run.stdout.splitlines() if not line.startswith("session")]


# mode -> number of gaps in syncline's trace
MODES = {"plain": 2, "methods": 2, "error": 2, "autograd": 2, "cpu": 2, "export": 2, "schedule": 2}


@pytest.mark.parametrize("mode", full_but(["schedule"], MODES, seconds=6.3))
def test_to_the_call(torch, mode):
    bare, without = play(torch, mode, inject=False)
    run, traces = play(torch, mode, log="warn")
    assert run.said() == []
    assert other_lines(run) == other_lines(bare)
    assert [content(events) for events in traces] == [content(events) for events in without]
    theirs = set().union(*(of_truth(run, events) for events in traces)) if traces else set()
    trace = run.trace()
    gaps = trace.object["syncline"]["gaps"]
    assert len(gaps) == MODES[mode] == trace.counters["handovers"]
    sessions = sessions_of(run)
    for begin, end in gaps:
        assert any(first <= begin and end <= last for first, last in sessions)
    calls = {call["corr"]: call for call in run.truth_of("call")}
    wanted = {op["corr"] for op in run.truth_of("op") if op["kind"] in ("kernel", "memcpy", "memset")
              and not any(calls[op["corr"]]["end"] > first and calls[op["corr"]]["start"] < last
                          for first, last in sessions)}
    ours = {row["args"]["correlation"] for row in trace.of(*GPU)}
    assert len(wanted) >= 20 and wanted <= ours, "what was launched outside the sessions is missing"
    assert not ours & theirs, "both have the same operation"
    inside = {corr for corr in ours if any(begin < calls[corr]["start"] < end for begin, end in gaps)}
    assert not inside


@pytest.mark.full(seconds=6.4)
def test_ranges_of_autograd_need_no_cupti(torch):
    """emit_nvtx does not use CUPTI, so syncline continues. The trace has each operator twice: as an operator
    and as the NVTX range."""
    bare, _ = play(torch, "nvtx", inject=False)
    run, _ = play(torch, "nvtx", log="warn")
    assert other_lines(run) == other_lines(bare) and run.said() == []
    trace = run.trace()
    assert trace.counters["handovers"] == 0
    harness.check_trace(run, trace)
    for begin, end in sessions_of(run):
        ops = {(row["tid"], row["name"], row["args"]["Record function id"])
               for row in trace.of("cpu_op", "user_annotation") if begin < row["start"] < end
               and row["args"].get("Record function id")}
        ranges = {(row["tid"], text[1], int(text[2])) for row in trace.of("user_annotation")
                  if begin < row["start"] < end and (text := OP_TEXT.fullmatch(row["name"]))}
        assert len(ops) > 100 and len(ops ^ ranges) <= trace.lost(), ops ^ ranges


@pytest.mark.full(seconds=6)
def test_a_session_inside_a_session(torch):
    """A session starts inside another session. PyTorch behaves as without syncline. syncline takes
    CUPTI back after the outer session."""
    bare, _ = play(torch, "nested", inject=False)
    run, _ = play(torch, "nested", log="warn")
    assert other_lines(run) == other_lines(bare) and run.said() == []
    trace = run.trace()
    last = max(row["start"] for row in trace.of("kernel"))
    assert last > trace.object["syncline"]["gaps"][-1][1], "syncline did not come back"


@pytest.mark.full(seconds=3.2)
def test_without_the_hook_it_is_seen_all_the_same(torch):
    """Without the hook, only the import slots notice torch.profiler. Both traces are complete, and syncline's
    gap is a little longer."""
    run, traces = play(torch, "plain", python="off", log="warn")
    assert run.said() == []
    theirs = set().union(*(of_truth(run, events) for events in traces))
    trace = run.trace()
    assert trace.counters["handovers"] >= 1 and theirs
    assert not {row["args"]["correlation"] for row in trace.of(*GPU)} & theirs
