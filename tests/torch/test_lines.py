"""Tests the source lines of waiting calls in the trace and in `syncline edges --summary`. Only
CUDA_INJECTION64_PATH is set."""
import collections
import json
import re
import subprocess

import harness
import pytest
from conftest import JOBS
from tiers import full_but

JOB = JOBS / "lines.py"
# Number of a line in the job -> the word in the comment at the line's end.
MARKS = {number: found[1] for number, line in enumerate(JOB.read_text().splitlines(), 1)
         if (found := re.search(r"# waits: (\w+)$", line))}
SLOW = ("--kernel", "*=4ms")  # long enough that a wait without a line is noticed


def lines_of(trace):
    """Returns for each line the durations of its waits for the GPU. On a busy machine the GPU may be done
    before a call, which then does not wait."""
    waits = {}
    for call in trace.of("cuda_runtime", "cuda_driver"):
        if "wait_kind" in call["args"]:
            waits.setdefault(call["args"].get("wait_at"), []).append(call["args"]["wait_ns"])
    return waits


def mark_of(line):
    place, function = line.split(" ", 1)
    path, number = place.rsplit(":", 1)
    assert path == str(JOB) and int(number) in MARKS, line
    return MARKS[int(number)], function


@pytest.mark.parametrize("before, options", full_but(
    [([], {})], [([], {}), ([], {"python": "0"}), ([harness.TOOL, "run", "--"], {})], seconds=3.9),
                         ids=["variable", "without-python", "run"])
def test_every_line_that_waits_is_named(torch, before, options):
    """The trace names every marked line. The job runs without the Python package, and under
    `syncline run`, where PyTorch is imported before the library is loaded."""
    run = torch.job("lines", before=before, inject=not before, sim=SLOW, **options)
    assert run.status == 0 and run.stdout == "done\n", run.stderr
    trace = run.trace()
    waits = lines_of(trace)
    assert not [ns for ns in waits.pop(None, ()) if ns > 1_000_000]
    told = dict(mark_of(line) for line in waits)
    wanted = set(MARKS.values())
    if "accelerator" not in told:  # some versions of PyTorch lack this operation
        wanted.discard("accelerator")
    assert set(told) == wanted
    assert told["item"] == "item" and told["thread"] == "thread.<locals>.run"
    assert told["backward"] == "Doubled.backward"
    # The summary of the file names the same lines as the trace.
    text = subprocess.run([harness.TOOL, "edges", "--summary", "--json", trace.path], check=True,
                          stdout=subprocess.PIPE, text=True).stdout
    groups = {group["name"]: group for group in json.loads(text)["by_line"]}
    for line, all_ns in waits.items():
        waited = [ns for ns in all_ns if ns]
        assert not waited or groups[line]["waits"] >= len(waited)
        assert not waited or groups[line]["total_ns"] >= sum(waited)
        assert all(source["name"] for source in groups.get(line, {}).get("sources", ()))
    # Each of these lines ends with a copy, but the time is spent on kernels.
    for line, group in groups.items():
        if line and mark_of(line)[0] in ("item", "cpu", "nonzero", "truth"):
            longest = max(group["sources"], key=lambda source: source["longest_ns"])
            assert longest["longest_ns"] < 1_000_000 or not longest["name"].startswith("Mem"), line


@pytest.mark.full(seconds=3.8)
def test_a_pytorch_that_lies_elsewhere(torch, tmp_path):
    """PyTorch is in another folder, for example after `pip install --target`. The folder's name does not show
    that its files are a library. The waiting lines are still lines of the program."""
    packages = tmp_path / "packages"
    packages.mkdir()
    for path in torch.libraries.parents[1].iterdir():
        (packages / path.name).symlink_to(path)
    run = torch.run(torch.python, "-S", JOB, sim=SLOW, PYTHONPATH=str(packages))
    assert run.status == 0 and run.stdout == "done\n", run.stderr
    told = {mark_of(line)[0] for line in lines_of(run.trace()) if line}
    assert {"item", "thread", "backward"} <= told


def test_collectives_name_their_line(torch):
    job = (JOBS / "ddp.py").read_text().splitlines()
    run = torch.ranks("ddp", 2)
    assert run.status == 0, run.stderr
    for path in run.out.rglob("*.pt.trace.json*"):
        rows = [row["args"] for row in harness.Trace(path).of("cpu_op")
                if row["name"] == "record_param_comms"]
        for collective in ("allreduce", "barrier"):
            called = {f"{JOBS / 'ddp.py'}:{number} main" for number, line in enumerate(job, 1)
                      if f"dist.{collective.replace('allr', 'all_r')}(" in line}
            # Autograd starts the collectives of gradients without Python code. (PyTorch 2.15 writes
            # all_reduce.)
            assert called == {args["source"] for args in rows if "source" in args
                              and args["Collective name"].replace("_", "") == collective}


@pytest.mark.full(seconds=10)
def test_collectives_of_pytorchs_own_code_have_no_line(torch):
    """fully_shard starts collectives in the backward pass, in Python code that no line of the job called.
    These collectives have no line."""
    if torch.minor < 6:
        pytest.skip("this PyTorch has the FSDP of before")
    scatter, gather = (("reduceScatterSingleImpl", "allGatherSingleImpl") if torch.minor >= 15 else
                       ("_reduce_scatter_base", "_allgather_base"))
    path = JOBS / "fsdp.py"
    calls = {f"{path}:{number} main": line for number, line in enumerate(path.read_text().splitlines(), 1)}
    run = torch.ranks("fsdp", 2)
    assert run.status == 0, run.stderr
    for file in run.out.rglob("*.pt.trace.json*"):
        rows = [row["args"] for row in harness.Trace(file).of("cpu_op")
                if row["name"] == "record_param_comms"]
        sources = collections.defaultdict(set)
        for args in rows:
            sources[args["Collective name"]].add(args.get("source"))
        assert set().union(*sources.values()) - {None} <= set(calls), sources
        assert None in sources[scatter] and None in sources[gather], sources
        gathered = [calls[line] for line in sources[gather] - {None}]
        assert [line for line in gathered if "model(torch.randn(" in line], sources


# A thread of syncline attaches to PyTorch soon after the first CUDA call.
SHORT = """
import time, torch
def outer():
    return inner()
def inner():
    return torch.ones(1, device="cuda").item()
for _ in range(300): outer(), time.sleep(0.01)
"""


def test_callers_too_and_none(torch):
    run = torch.run(torch.python, "-c", SHORT, source_depth="3")
    assert set(lines_of(run.trace())) - {None} == {
        "<string>:6 inner < <string>:4 outer < <string>:7 <module>"}
    run = torch.run(torch.python, "-c", SHORT, source_depth="0")
    assert set(lines_of(run.trace())) == {None}


INDUCTOR = """
import operator, os, sys
os.environ.update(TORCHINDUCTOR_CACHE_DIR=sys.argv[1], TORCHINDUCTOR_COMPILE_THREADS="1")
import torch
library = torch.library.Library("jobs", "DEF")
library.define("up(Tensor x) -> Tensor")
library.impl("up", operator.methodcaller("to", "cuda"), "CPU")  # no function of the job's
torch.library.register_fake("jobs::up", torch.empty_like)
compiled = torch.compile(lambda x: torch.ops.jobs.up(x @ x), fullgraph=True)
busy = torch.ones(64, 64, device="cuda")
for _ in range(3):
    busy @ busy
    compiled(busy.cpu())
"""


@pytest.mark.full(seconds=5.2)
def test_code_of_inductors_is_nobodys(torch):
    """Code generated by inductor waits. The trace names the job's line that called the compiled
    code, wherever the folder of inductor's cache is."""
    job, cache = torch.tmp / "job.py", torch.tmp / "cache"
    job.write_text(INDUCTOR)
    run = torch.run(torch.python, job, cache, sim=SLOW)
    assert run.status == 0, run.stderr
    assert list(cache.rglob("*.py")), "there must be code of its"
    waits = lines_of(run.trace())
    assert waits and {line.split(":")[0] for line in waits if line} == {str(job)}


TRACED = """
import torch
import torch._dynamo

def function(x, stream, event):
    y = x * 2
    torch.cuda.synchronize()
    stream.synchronize()
    event.query()
    return (y + 1).sum()

graphs = []

def backend(module, inputs):
    graphs.append([(node.op, str(getattr(node.target, "__qualname__", node.target)))
                   for node in module.graph.nodes])
    return module.forward

stream, event = torch.cuda.Stream(), torch.cuda.Event()
event.record()
x = torch.ones(3, device="cuda")
print(torch.compile(function, backend=backend)(x, stream, event).item())
print(graphs)
print([len(breaks) for breaks in torch._dynamo.utils.counters["graph_break"]])
print(torch.cuda.synchronize.__name__, torch.cuda.Stream.synchronize.__name__,
      torch.cuda.Stream.synchronize.__doc__)
"""


@pytest.mark.full(seconds=7.8)
def test_compile_traces_as_before(torch):
    # PyTorch 2.4 itself fails on an event that is created outside.
    job = TRACED if torch.minor > 4 else TRACED.replace("    event.query()\n", "")
    bare = torch.run(torch.python, "-c", job, inject=False)
    ours = torch.run(torch.python, "-c", job)
    assert bare.status == ours.status == 0, ours.stderr
    assert "mul" in bare.stdout and ours.stdout == bare.stdout


TRACED_RANK = """
import torch
import torch._dynamo
import torch.distributed as dist

dist.init_process_group("nccl", store=dist.HashStore(), rank=0, world_size=1)
ddp = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(8, 8).cuda(), device_ids=[0])
graphs = []

def backend(module, inputs):
    graphs.append([str(node.target) for node in module.graph.nodes])
    return module.forward

def function(x):
    return ddp(x) * 2

for compiled in (torch.compile(ddp, backend=backend), torch.compile(function, backend=backend)):
    for _ in range(3):
        compiled(torch.ones(4, 8, device="cuda")).sum().backward()
print(graphs)
print([reason.splitlines()[0] for reason in torch._dynamo.utils.counters["graph_break"]])
print(dist.Logger.set_runtime_stats_and_log.__doc__)
torch.cuda.synchronize()
dist.destroy_process_group()
"""


@pytest.mark.full(seconds=8.1)
def test_compile_traces_a_rank_as_before(torch):
    """The forward pass of DistributedDataParallel reads its timers."""
    bare = torch.run(torch.python, "-c", TRACED_RANK, inject=False)
    ours = torch.run(torch.python, "-c", TRACED_RANK)
    assert bare.status == ours.status == 0, ours.stderr
    assert "mul" in bare.stdout and ours.stdout == bare.stdout
    timers = [call["args"] for call in ours.trace().of("cuda_runtime")
              if call["name"].startswith("cudaEventSynchronize") and "wait_kind" in call["args"]]
    assert timers and all("wait_at" in args for args in timers)


PROFILED = """
import sys, torch
from torch._C._profiler import _ExperimentalConfig
from torch.profiler import profile
weight = torch.ones(64, 64, device="cuda")
def step():
    return (weight @ weight).sum().item()
with profile(with_stack=True,
             experimental_config=_ExperimentalConfig(enable_cuda_sync_events=True)) as session:
    for _ in range(3):
        step()
session.export_chrome_trace(sys.argv[1])
"""


@pytest.mark.full(seconds=3.2)
def test_functions_of_torch_profiler(torch):
    """torch.profiler's files have functions without line numbers. The summary names the function."""
    job, trace = torch.tmp / "job.py", torch.tmp / "trace.json"
    job.write_text(PROFILED)
    run = torch.run(torch.python, job, trace, inject=False, sim=("--kernel", "*=50ms"))
    assert run.status == 0, run.stderr
    text = subprocess.run([harness.TOOL, "edges", "--summary", "--json", trace], check=True,
                          stdout=subprocess.PIPE, text=True).stdout
    names = {group["name"] for group in json.loads(text)["by_line"]}
    assert len(names) == 1 and names.pop().endswith("job.py(6): step")
