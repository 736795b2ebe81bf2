"""Tests PyTorch's operators. Only CUDA_INJECTION64_PATH is set. syncline's operators equal
torch.profiler's operators in the same session, matched by record function id. Both traces assign
each launch to the same operator."""
import collections
import json
import pathlib

import harness
import pytest
from test_jobs import ONE_PROCESS, RANKS, UNPROFILED
from tiers import full_but

UNDER = pathlib.Path(__file__).with_name("under_profiler.py")
# The args in which torch.profiler writes inputs. A collective also has further args.
INPUTS = ["Input Dims", "Input type", "Input Strides", "Concrete Inputs"]
COLLECTIVE = ["Collective name", "dtype", "In msg nelems", "Out msg nelems", "Group size",
              "Process Group Name", "Process Group Description", "Process Group Ranks", "Rank"]
SEQUENCE = ["Sequence number", "Fwd thread id"]
# Each file has ids of its own (docs/kineto-compatibility.md).
DIFFERENT = {"External id", "Ev Idx"}


def whole(events: list[dict], *cats: str) -> dict[int, dict]:
    """Returns the rows by record function id."""
    return {e["args"]["Record function id"]: e for e in events
            if e["ph"] == "X" and e.get("cat") in cats and e["args"].get("Record function id")}


def parents(rows: dict[int, dict], start, end) -> dict[int, int]:
    """Returns for each row the innermost other row of its thread around it."""
    found = {}
    for thread in {e["tid"] for e in rows.values()}:
        stack: list[tuple] = []
        own = [(start(e), -end(e), i) for i, e in rows.items() if e["tid"] == thread]
        for begin, minus_end, i in sorted(own):
            while stack and stack[-1][0] <= begin:
                stack.pop()
            found[i] = stack[-1][1] if stack else 0
            stack.append((-minus_end, i))
    return found


def compare(ours: harness.Trace, theirs: list[dict]) -> None:
    mine, its, lost = whole(ours.events, "cpu_op"), whole(theirs, "cpu_op"), ours.lost()
    assert its, "torch.profiler has no operators"
    # torch.profiler records the thread that started the profiler, and autograd's threads. syncline records
    # all threads, from the first CUDA call on.
    first = min(mine)
    late = {i: e for i, e in its.items() if i >= first}
    missing = set(late) - set(mine)
    assert late and len(missing) <= lost, [late[i]["name"] for i in missing][:10]
    threads = {row["tid"] for row in late.values()}
    its_first, its_last = min(its), max(its)
    surplus = {i for i, row in mine.items() if row["tid"] in threads and its_first < i < its_last}
    assert surplus <= set(its), [mine[i]["name"] for i in surplus - set(its)][:10]
    late = {i: e for i, e in late.items() if i in mine}
    for i, row in late.items():
        want, have = row["args"], mine[i]["args"]
        assert (mine[i]["name"], mine[i]["tid"]) == (row["name"], row["tid"])
        for key in {*INPUTS, *SEQUENCE, *COLLECTIVE, *(want.keys() & have.keys())} - DIFFERENT:
            assert have.get(key) == want.get(key), (row["name"], key, have, want)
    common = {i: mine[i] for i in late}
    assert parents(common, lambda e: e["start"], lambda e: e["end"]) == \
        parents(late, lambda e: e["ts"], lambda e: e["ts"] + e["dur"])
    scopes, its_scopes = whole(ours.events, "user_annotation"), whole(theirs, "user_annotation")
    its_late = {i for i in its_scopes if i >= first}
    assert len(its_late - set(scopes)) <= lost
    assert all(scopes[i]["name"] == its_scopes[i]["name"] for i in its_late & set(scopes))


def theirs_of(path: pathlib.Path) -> list[dict]:
    events = json.loads(path.read_text())["traceEvents"]
    for e in events:
        if e["ph"] == "X":
            # Exact whole nanoseconds.
            e["ts"], e["dur"] = round(e["ts"] * 1000), round(e["dur"] * 1000)
    return events


@pytest.mark.parametrize("name", full_but(["mlp", "threads"], UNPROFILED, seconds=3.6))
def test_same_as_profiler(torch, name):
    theirs, job = torch.tmp / "theirs.json", ONE_PROCESS[name]
    run = torch.job(name, *job.arguments, under=[UNDER, theirs, "shapes"], ops="full", sim=job.sim)
    assert run.status == 0, run.stderr
    compare(run.trace(), theirs_of(theirs))


@pytest.mark.full(seconds=9.5)
@pytest.mark.parametrize("name", RANKS)
def test_same_as_profiler_in_ranks(torch, name):
    if name == "fsdp" and torch.minor < 6:
        pytest.skip("this PyTorch has the FSDP of before")
    theirs = torch.tmp / "theirs-%p.json"
    run = torch.ranks(name, 2, under=[UNDER, theirs, "shapes"], ops="full")
    assert run.status == 0, run.stderr
    for trace in run.traces():
        if not trace.of("cpu_op"):
            continue
        pid = trace.of("cpu_op")[0]["pid"]
        compare(trace, theirs_of(torch.tmp / f"theirs-{pid}.json"))
        assert any("Collective name" in e["args"] for e in trace.of("cpu_op"))


def test_compiled_regions_and_subclasses(torch):
    """A compiled region has a row with its name and its operators inside. If a tensor subclass runs operators
    inside an operator, the inner operators are inside that operator's row. Launches belong to the inner
    operators."""
    trace = torch.job("regions").trace()
    rows = whole(trace.events, "cpu_op", "user_annotation")
    inside = parents(rows, lambda e: e["start"], lambda e: e["end"])

    def above(i: int) -> list[int]:
        return [inside[i], *above(inside[i])] if inside[i] else []

    def around(i: int) -> list[str]:
        return [rows[j]["name"] for j in (i, *above(i))]

    regions = {e["name"] for e in rows.values() if e["name"].startswith("Torch-Compiled Region")}
    # PyTorch 2.4 gives all regions the same name.
    assert len(regions) == (2 if torch.minor > 4 else 1), regions
    relus = [around(i) for i, e in rows.items() if e["name"] == "aten::relu"]
    assert {name for stack in relus for name in stack if name in regions} == regions
    outer = {j for i in rows if rows[i]["name"] == "aten::relu"
             for j in above(i) if rows[j]["name"] == "aten::relu"}
    launched = {e["args"].get("External id") for e in trace.of("cuda_runtime", "cuda_driver")}
    assert len(outer) >= 3 and not {i & 0xffffffff for i in outer} & launched
    items = [around(i) for i, e in rows.items() if e["name"] == "aten::_local_scalar_dense"]
    assert ["aten::_local_scalar_dense", "aten::item"] in items


def launches(events: list[dict], rows_of) -> list[tuple[str, str | None]]:
    """Returns the GPU operations in the order of their launches, each with its operator."""
    ops = {e["args"]["External id"]: e["name"] for e in events
           if e["ph"] == "X" and e.get("cat") == "cpu_op"}
    rows = sorted(rows_of, key=lambda e: e["args"]["correlation"])
    return [(e["cat"] + (e["name"] if e["cat"] == "kernel" else ""),
             ops.get(e["args"].get("External id"))) for e in rows]


@pytest.mark.parametrize("name", full_but(
    ["mlp"], ["mlp", "transformer", "convnet", "streams", "syncs"], seconds=5.6))
def test_kernels_and_their_operators(torch, name):
    """Each operation is assigned to the same operator by syncline and by torch.profiler, in two
    runs. These jobs launch the same operations in each run, and only one thread launches at a
    time."""
    path = torch.tmp / "theirs.json"
    assert torch.job(name, under=[UNDER, path, "0"], inject=False).status == 0
    its = [e for e in json.loads(path.read_text())["traceEvents"] if e["ph"] == "X"]
    kinds = ("kernel", "gpu_memcpy", "gpu_memset")
    theirs = launches(its, [e for e in its if e.get("cat") in kinds])
    trace = torch.job(name).trace()
    ours = launches(trace.events, trace.of(*kinds))
    assert [kernel for kernel, _ in ours] == [kernel for kernel, _ in theirs]
    pairs = [(mine, its_op) for (_, mine), (_, its_op) in zip(ours, theirs)]
    # Operations from before syncline attached to PyTorch have no operator.
    began = next(i for i, (mine, _) in enumerate(pairs) if mine)
    assert began < len(pairs) // 4
    assert sum(mine != its_op for mine, its_op in pairs[began:]) <= trace.lost()
    for call in trace.of("cuda_runtime", "cuda_driver"):
        assert call["args"].get("External id", 1) > 0


def test_forward_and_backward(torch):
    """Arrows connect a forward operator with autograd's backward function for it."""
    theirs = torch.tmp / "theirs.json"
    trace = torch.job("mlp", under=[UNDER, theirs, "shapes"]).trace()

    def arrows(events, ops, start):
        ends = collections.defaultdict(dict)
        at = {(e["tid"], start(e)): i for i, e in sorted(ops.items(), reverse=True)}
        for e in events:
            if e.get("cat") == "fwdbwd":
                ends[e["id"]][e["ph"]] = at.get((e["tid"], start(e)))
        return {(pair["s"], pair["f"]) for pair in ends.values() if len(pair) == 2}

    its = theirs_of(theirs)
    for e in its:
        if e["ph"] in "sf":
            e["ts"] = round(e["ts"] * 1000)
    mine = arrows(trace.events, whole(trace.events, "cpu_op"), lambda e: e["start"])
    theirs_arrows = arrows(its, whole(its, "cpu_op"), lambda e: e["ts"])
    first = min(whole(trace.events, "cpu_op"))
    late = {(s, f) for s, f in theirs_arrows if s and f and s >= first}
    assert late and late <= mine


def test_main_thread_waits_all_along(torch, tmp_path):
    """Python's main thread runs no bytecode while other threads work. Operators are recorded
    nevertheless."""
    job = tmp_path / "parked.py"
    job.write_text("""
import threading
import torch
def work():
    a = torch.ones(64, 64, device="cuda")
    for _ in range(200):
        a = torch.relu(a @ a)
    torch.cuda.synchronize()
t = threading.Thread(target=work)
t.start()
t.join()
print("parked")
""")
    run = torch.run(torch.python, job)
    assert (run.status, run.stdout) == (0, "parked\n"), run.stderr
    names = collections.Counter(e["name"] for e in run.trace().of("cpu_op"))
    assert names["aten::mm"] > 100 and names["aten::relu"] > 100


@pytest.mark.full(seconds=6.4)
@pytest.mark.parametrize("python", ["1", "0"])
def test_off_is_nothing(torch, python):
    bare, run = torch.job("mlp", inject=False), torch.job("mlp", ops="off", python=python, log="debug")
    assert (run.status, run.stdout) == (0, bare.stdout)
    assert not run.trace().of("cpu_op")
    assert "slots for waits of PyTorch" not in run.stderr


@pytest.mark.full(seconds=6.1)
def test_unknown_version(torch):
    """There is no observer for this PyTorch. One line reports this, and the job is not affected."""
    nowhere = torch.tmp / "home"
    nowhere.mkdir()
    bare = torch.job("mlp", inject=False)
    run = torch.job("mlp", home=str(nowhere), python="0")
    assert (run.status, run.stdout) == (0, bare.stdout)
    assert run.stderr.count("no operator observer for PyTorch 2.") == 1
    assert run.trace().of("kernel")


def test_windows(torch, tmp_path):
    """Operators are not recorded between windows. Each window's file has the operators that began in the
    window."""
    job = tmp_path / "windows.py"
    job.write_text("""
import ctypes, os, time, torch
lib = ctypes.CDLL(os.environ["CUDA_INJECTION64_PATH"])
a = torch.ones(8, device="cuda")
for step in range(3):
    a.mul_(2)
    if step == 1:
        lib.sl_start()
        time.sleep(0.5)
        for _ in range(50):
            a.add_(1)
        torch.cuda.synchronize()
        lib.sl_stop()
        time.sleep(0.5)
torch.cuda.synchronize()
""")
    run = torch.run(torch.python, job, window="demand", lead_in="0")
    assert run.status == 0, run.stderr
    names = collections.Counter(e["name"] for e in run.trace().of("cpu_op"))
    assert names["aten::add_"] == 50 and names["aten::mul_"] == 0


def test_operators_that_run_when_a_window_opens(torch, tmp_path):
    """A window opens while an operator runs. The operator has a row from the window's beginning on, marked as
    truncated. The operator's later kernels name it."""
    job = tmp_path / "spans.py"
    job.write_text("""
import time, torch
a = torch.ones(8, device="cuda", requires_grad=True)
import syncline
class Spans(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        y = x.sin()
        torch.cuda.synchronize()
        syncline.step()
        return y.exp()
for _ in range(60):
    time.sleep(0.02)
    Spans.apply(a)
torch.cuda.synchronize()
""")
    run = torch.run(torch.python, job, window="steps:3/20")
    assert run.status == 0, run.stderr
    cut = 0
    for trace in run.traces():
        meta = trace.object["syncline"]
        spans = sorted((row for row in trace.of("cpu_op") if row["name"] == "Spans"),
                       key=lambda row: row["start"])
        assert len([row for row in trace.of("kernel") if "exp" in row["name"]]) == 3
        assert not any("cut start" in row["args"] for row in spans[1:])
        assert spans[-1]["start"] < meta["closed_ns"] <= spans[-1]["end"]
        if "cut start" not in spans[0]["args"]:  # the operator began before the observer was on
            assert len(spans) == 3
            continue
        cut += 1
        assert len(spans) == 4
        assert spans[0]["start"] == meta["opened_ns"] < spans[0]["end"] <= spans[1]["start"]
        ids = {row["args"]["External id"] for row in trace.of("cpu_op")}
        assert ids >= {row["args"].get("External id") for row in trace.of("kernel")}
    assert cut


def nodes_and_their_operators(trace, graph: str) -> tuple[list, list[list]]:
    """Returns the kind, name and operator of each GPU operation of one of the job's functions. The operations
    of the direct run are in the order of launches. The operations of each replay of the function's graph are
    in the order of nodes."""
    ops = {row["args"]["External id"]: row["name"] for row in trace.of("cpu_op")}
    gpu = trace.of("kernel", "gpu_memcpy", "gpu_memset")
    calls = {row["args"]["correlation"]: row for row in trace.of("cuda_runtime", "cuda_driver")}
    (scope,) = [row for row in trace.of("user_annotation") if row["name"] == f"eager {graph}"]
    eager = [row for row in gpu
             if scope["start"] <= calls[row["args"]["correlation"]]["start"] < scope["end"]]
    eager.sort(key=lambda row: row["args"]["correlation"])
    replays = collections.defaultdict(list)
    for row in gpu:
        if row["args"].get("graph id"):
            replays[row["args"]["correlation"]].append(row)
    its = [sorted(rows, key=lambda row: row["args"]["graph node id"])
           for _, rows in sorted(replays.items())]
    return ([(row["cat"], row["name"], ops[row["args"]["External id"]]) for row in eager],
            [[(row["cat"], row["name"], row["args"].get("captured_by")) for row in rows]
             for rows in (its[0::2] if graph == "step" else its[1::2])])


@pytest.mark.parametrize("api", full_but(["v2"], ["v1", "v2"], seconds=2.9))
def test_replays_name_what_captured_them(torch, api):
    """No operator launches a replayed graph node. Each node names the operator that captured it,
    which is the operator that launches the same operation in a run without capture. The graph has
    copies, memsets, nodes of a second stream, and nodes of autograd's thread."""
    if api == "v2" and torch.cupti.startswith("12"):
        pytest.skip("CUPTI 12 has the older calls alone")
    run = torch.job("captured", graph_edges="1", sim=["--cupti", "13.5"] if api == "v2" else [],
                    cupti_api=api)
    assert (run.status, run.stdout) == (0, "captured: 2 graphs, 3 replays of each\n"), run.stderr
    trace = run.trace()
    for graph in ("step", "infer"):
        eager, replays = nodes_and_their_operators(trace, graph)
        assert len({op for _, _, op in eager}) > 3
        assert replays == [eager] * 3
    by_id = {row["args"]["Record function id"]: row for row in trace.of("cpu_op")}
    captured = [row["args"] for row in trace.of("kernel") if "captured_by" in row["args"]]
    for args in captured:
        op = by_id[args["captured_by_record_function_id"]]
        assert op["name"] == args["captured_by"]
        assert op["args"].get("Sequence number") == args.get("captured_by_sequence_number")
    assert any("captured_by_sequence_number" in args for args in captured)
    assert len({by_id[args["captured_by_record_function_id"]]["tid"] for args in captured}) == 2


@pytest.mark.full(seconds=2.9)
@pytest.mark.parametrize("options", [{}, {"graph_edges": "1", "ops": "off"}], ids=["edges", "ops"])
def test_captures_are_told_where_both_are_asked_for(torch, options):
    """Captures need both CUPTI's subscriber and operators. If the subscriber or the recording of operators is
    off, rows of replays are unchanged."""
    run = torch.job("captured", **options)
    assert run.status == 0, run.stderr
    nodes = [row for row in run.trace().of("kernel") if row["args"].get("graph id")]
    assert nodes and not any("captured_by" in row["args"] for row in nodes)
