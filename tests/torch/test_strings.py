"""No observer exists for this version of PyTorch, so operators are read from PyTorch's own NVTX ranges. The
rows equal the observer's rows in all facts that the ranges' texts contain."""
import collections
import json
import pathlib

import harness
import pytest
from test_jobs import check_passes
from test_lines import MARKS, SLOW, lines_of, mark_of
from test_ops import RANKS, UNDER, parents
from tiers import full_but

MISSING = "no operator observer for PyTorch 2."


def hidden(tmp: pathlib.Path) -> str:
    """Returns a SYNCLINE_HOME with the Python package and without observers."""
    home = tmp / "home"
    home.mkdir()
    (home / "python").symlink_to(harness.LIBRARY.parent / "syncline" / "python")
    return str(home)


def tree(trace) -> list[collections.Counter]:
    """Returns the operators of each thread: names, sequence numbers, and the operator around each."""
    rows = {e["args"]["Record function id"]: e for e in trace.of("cpu_op")}
    above = parents(rows, lambda e: e["start"], lambda e: e["end"])
    threads = collections.defaultdict(collections.Counter)
    for i, row in rows.items():
        around = rows.get(above[i])
        threads[row["tid"]][row["name"], row["args"].get("Sequence number"),
                            around and around["name"]] += 1
    return sorted(threads.values(), key=lambda ops: sorted(ops.items(), key=str))


def check_same(ours, observers) -> None:
    lost = ours.lost() + observers.lost()
    mine, its = tree(ours), tree(observers)
    if not lost:
        assert mine == its
    assert sum(map(len, mine)) and len(mine) == len(its)
    common = sum((sum(mine, collections.Counter()) & sum(its, collections.Counter())).values())
    assert common >= max(sum(ops.total() for ops in mine), sum(ops.total() for ops in its)) - 2 * lost


def without_observer(run) -> None:
    """Checks that only the one additional line about the missing observer was printed."""
    assert run.status == 0, run.stderr
    assert run.stderr.count(MISSING) == 1
    assert sorted(line.split()[1] for line in run.said()) == ["no", "recording", "wrote"], run.stderr
    assert "callback" not in run.stderr  # PyTorch's warning about a profiler that was not ended


@pytest.mark.parametrize("name", full_but(
    ["threads"], ["mlp", "convnet", "recurrent", "streams", "threads", "ranges", "graphs"], seconds=9))
def test_same_as_the_observer(torch, name):
    bare = torch.job(name, inject=False)
    run = torch.job(name, home=hidden(torch.tmp))
    without_observer(run)
    assert run.stdout == bare.stdout
    ops = {e["args"]["External id"]: e["name"] for e in run.trace().of("cpu_op")}
    assert any(ops.get(e["args"].get("External id")) for e in run.trace().of("kernel"))
    if torch.minor < 4:
        return  # there is no observer for this old version
    its = torch.job(name)
    check_same(run.trace(), its.trace())
    if not run.trace().lost() + its.trace().lost():
        kinds = ("user_annotation", "fwdbwd")
        assert collections.Counter((e["cat"], e["name"]) for e in run.trace().events
                                   if e.get("cat") in kinds) == \
            collections.Counter((e["cat"], e["name"]) for e in its.trace().events
                                if e.get("cat") in kinds)


@pytest.mark.full(seconds=6.1)
def test_shapes(torch):
    trace = torch.job("mlp", home=hidden(torch.tmp), ops="full").trace()
    its = torch.job("mlp", ops="full").trace()

    def dims(trace):
        """Returns the input sizes of operators whose inputs are tensors and numbers. Lists of tensors are
        written in another form."""
        return {(e["name"], json.dumps(e["args"]["Input Dims"])) for e in trace.of("cpu_op")
                if e["name"] in ("aten::addmm", "aten::mm", "aten::relu", "aten::t")}

    assert dims(trace) and dims(trace) == dims(its)


def test_lines_that_wait(torch):
    run = torch.job("lines", home=hidden(torch.tmp), sim=SLOW)
    without_observer(run)
    waits = lines_of(run.trace())
    assert not [ns for ns in waits.pop(None, ()) if ns > 1_000_000]
    told = {mark_of(line)[0] for line in waits}
    assert set(MARKS.values()) - told <= {"accelerator"}  # some versions of PyTorch lack this operator


def test_off(torch):
    run = torch.job("mlp", home=hidden(torch.tmp), ops="off")
    assert run.status == 0 and not run.trace().of("cpu_op")
    assert MISSING not in run.stderr


@pytest.mark.full(seconds=3.1)
def test_torch_profiler_is_unharmed(torch):
    """PyTorch allows one profiler per thread. The PyTorch profiler that syncline has turned on
    stops while torch.profiler runs, and starts again afterwards."""
    theirs = torch.tmp / "theirs.json"
    job = torch.tmp / "job.py"
    job.write_text(f"""
import torch
a = torch.ones(8, device="cuda", requires_grad=True)
a.sigmoid().sum().backward()
with torch.profiler.profile() as p:
    a.tanh().sum().backward()
p.export_chrome_trace({str(theirs)!r})
with torch.autograd.profiler.emit_nvtx():
    a.exp().sum().backward()
try:
    with torch.autograd.profiler.profile():
        a.cos().sum().backward()
        raise KeyError("inside")
except KeyError as error:
    print(error)
a.abs().sum().backward()
torch.cuda.synchronize()
print("done", torch.autograd._profiler_enabled())
""")
    run = torch.run(torch.python, job, home=hidden(torch.tmp))
    without_observer(run)
    assert run.stdout.startswith("'inside'\ndone "), run.stderr
    its = {e["name"] for e in json.loads(theirs.read_text())["traceEvents"] if e.get("cat") == "cpu_op"}
    assert {"aten::tanh", "TanhBackward0"} <= its
    names = {e["name"] for e in run.trace().of("cpu_op")}
    # emit_nvtx makes ranges with the same texts.
    assert {"aten::sigmoid", "SigmoidBackward0", "aten::exp", "ExpBackward0", "aten::abs",
            "AbsBackward0"} <= names
    assert not names & {"aten::tanh", "aten::cos"}


# A library may call C's exit(). Python does not finalize then, so syncline's package cannot stop
# PyTorch's profiler.
EXIT = """
import ctypes, sys, threading, torch
a = torch.ones(8, device="cuda", requires_grad=True)
def end():
    print("end", flush=True)
    torch.cuda.synchronize()
    ctypes.CDLL(None).exit(3)
class Ends(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        end()
def work():
    a.tan()
    end()
a.sinh().sum().backward()
if sys.argv[1] == "operator":
    Ends.apply(a)
if sys.argv[1] == "thread":
    threading.Thread(target=work).start()
    threading.Event().wait()
end()
"""


@pytest.mark.parametrize("where", full_but(["thread"], ["main", "thread", "operator"], seconds=3))
def test_an_exit_that_python_does_not_see(torch, where):
    """PyTorch warns that a profiler was not stopped. Nothing else happens, and the file is complete."""
    job = torch.tmp / "job.py"
    job.write_text(EXIT)
    bare = torch.run(torch.python, job, where, inject=False)
    run = torch.run(torch.python, job, where, home=hidden(torch.tmp))
    assert (bare.status, bare.stdout, bare.stderr) == (3, "end\n", "")
    assert (run.status, run.stdout) == (3, "end\n"), run.stderr
    own = [line for line in run.stderr.splitlines() if line not in run.said()]
    assert all("callback" in line for line in own), run.stderr
    trace = run.trace()
    check_passes(trace.path)
    names = {e["name"] for e in trace.of("cpu_op")}
    assert {"aten::sinh", "SinhBackward0"} <= names
    assert ("aten::tan" in names) == (where == "thread")


def test_a_pytorch_that_comes_late(torch):
    """PyTorch is imported after CUDA is initialised, from a module of the program. The program has threads,
    forks, and exits early."""
    job = torch.tmp / "job.py"
    job.write_text("""
import ctypes, os, sys, threading, time
assert ctypes.CDLL("libcuda.so.1").cuInit(0) == 0
time.sleep(0.1)
import torch
a = torch.ones(8, device="cuda")
deadline = time.time() + 60
while not torch.autograd._profiler_enabled() and time.time() < deadline:
    a.mul_(2)
    torch.cuda.synchronize()
    time.sleep(0.05)
def work():
    a.sinh()
t = threading.Thread(target=work)
t.start()
t.join()
child = os.fork()
if not child:
    on = torch.autograd._profiler_enabled()
    torch.ones(3).add(1)
    os._exit(on)
print(os.waitpid(child, 0)[1])
a.cosh()
torch.cuda.synchronize()
sys.exit(3)
""")
    run = torch.run(torch.python, job, home=hidden(torch.tmp))
    assert (run.status, run.stdout) == (3, "0\n"), run.stderr
    assert run.stderr.count(MISSING) == 1 and "callback" not in run.stderr
    assert {"aten::sinh", "aten::cosh"} <= {e["name"] for e in run.trace().of("cpu_op")}


@pytest.mark.full(seconds=7.6)
@pytest.mark.parametrize("name", RANKS)
def test_ranks(torch, name):
    run = torch.ranks(name, 2, home=hidden(torch.tmp))
    assert run.status == 0, run.stderr
    for trace in run.traces():
        if trace.of("kernel"):
            assert trace.of("cpu_op")


@pytest.mark.full(seconds=3.1)
def test_under_profiler_from_the_beginning(torch):
    """torch.profiler begins before syncline, whose profiler starts when torch.profiler has ended."""
    theirs = torch.tmp / "theirs.json"
    run = torch.job("mlp", under=[UNDER, theirs, "shapes"], home=hidden(torch.tmp))
    without_observer(run)
    assert json.loads(theirs.read_text())["traceEvents"]
