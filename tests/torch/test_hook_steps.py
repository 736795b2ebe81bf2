"""The steps of a PyTorch job, with only the one environment variable set."""
import harness
import pytest
from test_neighbour import GPU
from tiers import full_but


def steps_of(trace: harness.Trace) -> list[dict]:
    return sorted((row for row in trace.of("user_annotation")
                   if row["name"].startswith("ProfilerStep#")), key=lambda row: row["start"])


def numbers(trace: harness.Trace) -> list[int]:
    return [int(row["name"].split("#")[1]) for row in steps_of(trace)]


def play(torch, mode, *arguments, **options) -> harness.Run:
    options["PYTHONPATH"] = str(harness.LIBRARY.parent / "syncline" / "python")
    bare = torch.job("steps", mode, *arguments, inject=False, **options)
    run = torch.job("steps", mode, *arguments, log="warn", **options)
    assert (run.status, run.stdout, run.said()) == (0, bare.stdout, []) == (0, f"steps: {mode}\n", [])
    return run


# mode -> the numbers of the steps in the trace. The first optimizer step ends step 0, which is not
# in the trace because its beginning is unknown. This is also true if the job reports steps itself,
# because the optimizer's first step comes before the job's first report.
STEPS = {"plain": range(1, 6), "gan": range(1, 6), "several": range(1, 6), "amp": range(1, 6),
         "critic": range(1, 6), "accumulate": range(1, 6), "backward": range(1, 6), "inference": range(12),
         "api": range(1, 6)}


@pytest.mark.parametrize("mode", full_but(["plain", "amp"], STEPS, seconds=6.5))
def test_steps(torch, mode):
    trace = play(torch, mode).trace()
    assert numbers(trace) == list(STEPS[mode])
    rows = steps_of(trace)
    assert all(a["end"] + 2 == b["start"] for a, b in zip(rows, rows[1:]))
    calls = {row["args"]["correlation"]: row for row in trace.of("cuda_runtime", "cuda_driver")}
    starts = [calls[op["args"]["correlation"]]["start"] for op in trace.of(*GPU)]
    counts = [sum(row["start"] <= at < row["end"] for at in starts) for row in rows]
    assert min(counts) > 0
    if mode in ("plain", "gan", "accumulate", "backward", "api"):
        assert len(set(counts[1:])) == 1, "steps are alike"
    if mode == "api":
        assert sum(row["name"] == "forward and backward"
                   for row in trace.of("user_annotation")) == 6
        assert sum(e["name"] == "one more" for e in trace.events) == 6


def test_the_jobs_own_steps_are_not_doubled(torch):
    trace = play(torch, "own").trace()
    assert sorted(set(numbers(trace))) == list(range(6))
    assert len({(row["name"], row["tid"]) for row in steps_of(trace)}) == 6
    assert not any("called" in row["args"] for row in steps_of(trace))


@pytest.mark.parametrize("python", full_but(["on"], ["on", "off"], seconds=3.3))
def test_windows_of_the_jobs_own_steps(torch, python):
    """The job marks its steps only with record_function(). These scopes are also observed between
    windows, so windows of steps open. Step 0 is in no file. Each file has the steps of its window
    with all operators."""
    run = torch.job("steps", "scopes", "80", window="steps:3/20", python=python, log="warn")
    assert (run.status, run.said()) == (0, [])
    traces = sorted(run.traces(), key=lambda trace: trace.object["syncline"]["window"])
    assert 2 <= len(traces) <= 4
    for trace in traces:
        meta, rows = trace.object["syncline"], steps_of(trace)
        first = numbers(trace)[0]
        assert first >= 20 * meta["window"] - 19 and first > 0
        assert numbers(trace) == [first, first + 1, first + 2]
        assert meta["opened_ns"] <= rows[0]["start"] and rows[-1]["end"] <= meta["closed_ns"]
        assert not any({"cut start", "cut end"} & set(row["args"]) for row in rows)
        ops = [sum(row["start"] <= op["start"] < row["end"] for op in trace.of("cpu_op"))
               for row in rows]
        assert ops[0] == ops[1] == ops[2] > 5


@pytest.mark.full(seconds=6.6)
def test_a_session_of_torch_profilers_goes_on_counting(torch):
    """A session of torch.profiler counts its steps from 0 in the middle of the job. The trace still has each
    step number only once."""
    trace = play(torch, "schedule", "30").trace()
    rows = steps_of(trace)
    assert len(set(numbers(trace))) == len(rows) and numbers(trace) == sorted(numbers(trace))
    theirs = [row for row in rows if "called" in row["args"]]
    assert [row["args"]["called"] for row in theirs] == [f"ProfilerStep#{n}" for n in range(11)]
    before = [row for row in rows if row["end"] <= theirs[0]["start"]]
    behind = [row for row in rows if row["start"] >= theirs[-1]["end"]]
    assert len(before) == 9 and len(behind) >= 6
    assert len(before) + len(theirs) + len(behind) == len(rows)


@pytest.mark.parametrize("mode", full_but(
    ["plain"], ["plain", "gan", "amp", "accumulate", "inference", "api"], seconds=6.6))
def test_windows_of_steps(torch, mode):
    """A job of sixty steps records three steps out of every twenty. Each file has exactly the complete steps
    of its window."""
    run = play(torch, mode, "60", window="steps:3/20")
    traces = sorted(run.traces(), key=lambda trace: trace.object["syncline"]["window"])
    if len(traces) > 1 and not steps_of(traces[-1]):
        traces.pop()  # the window opened when the job's last step ended
    launched = {line["corr"]: line["start"] for line in run.truth_of("call")}
    epochs = 2 if mode == "inference" else 1
    assert 1 <= len(traces) <= 3 * epochs
    if mode in ("plain", "api"):
        assert numbers(traces[0]) == [1, 2, 3]
    for trace in traces:
        meta = trace.object["syncline"]
        rows, first = steps_of(trace), numbers(trace)[0]
        cut = trace is traces[-1] and first + 2 >= 60 * epochs  # the job ended in this window
        wanted = range(first, min(first + 3, 60 * epochs))
        assert first > 0 and numbers(trace) == list(wanted)
        # The optimizer's first step was counted. The first step that the job reports itself starts
        # the current step again.
        may_be_late = mode == "api" and trace is traces[0]
        assert rows[0]["start"] == meta["opened_ns"] or may_be_late and rows[0]["start"] > meta["opened_ns"]
        assert rows[-1]["end"] + 2 == meta["closed_ns"] or cut and rows[-1]["end"] < meta["closed_ns"]
        calls = {row["args"]["correlation"]: row for row in trace.of("cuda_runtime", "cuda_driver")}
        for op in trace.of(*GPU):
            call = calls.get(op["args"]["correlation"])
            # A step's last kernels may still run when the next step begins. These kernels are in the file of
            # the window in which they began.
            if not call:
                assert op["start"] >= meta["opened_ns"] > launched[op["args"]["correlation"]]
            else:
                assert meta["opened_ns"] <= call["start"] < meta["closed_ns"]
        if mode == "api":
            ops = [sum(row["start"] <= op["start"] < row["end"] for op in trace.of("cpu_op")) for row in rows]
            assert ops[0] == ops[1] == ops[2] > 5
