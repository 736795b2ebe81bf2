"""Tests unusual PyTorch jobs and environments. Only CUDA_INJECTION64_PATH is set. Each job behaves
as without syncline, and its file is complete."""
import os

import harness
import pytest
from test_jobs import check_operators, check_passes, told
from tiers import full_but

# Exceptions in the program, on a thread, in a backward function on autograd's thread, and in an operator.
EXCEPTIONS = """
import threading, torch
class Fails(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.clone()
    @staticmethod
    def backward(ctx, gradient):
        raise KeyError("backward")
a = torch.ones(8, device="cuda", requires_grad=True)
for fails in (lambda: Fails.apply(a).sum().backward(),
              lambda: a + torch.ones(3, device="cuda")):
    try:
        fails()
    except (KeyError, RuntimeError) as error:
        print(type(error).__name__, str(error)[:20])
def work():
    a.sinh()
    raise ValueError("thread")
thread = threading.Thread(target=work)
thread.start()
thread.join()
a.cosh().sum().backward()
torch.cuda.synchronize()
raise IndexError("the job's last word")
"""
# Signal handlers run at any moment. One handler raises an exception, and another ends the job.
SIGNALS = """
import os, signal, sys, torch
ticks = 0
def tick(*_):
    global ticks
    ticks += 1
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGALRM, tick)
signal.signal(signal.SIGTERM, lambda *_: sys.exit(7))
a = torch.ones(8, 8, device="cuda")
signal.setitimer(signal.ITIMER_REAL, 0.002, 0.002)
while ticks < 50:
    torch.sinh(a @ a).sum().item()
signal.setitimer(signal.ITIMER_REAL, 0)
try:
    os.kill(os.getpid(), signal.SIGINT)
    while True:
        a.cosh()
except KeyboardInterrupt:
    print("interrupted")
torch.cosh(a)
torch.cuda.synchronize()
os.kill(os.getpid(), signal.SIGTERM)
while True:
    a.mul_(1)
"""
# While Python ends, it stops a daemon thread, an exit handler runs GPU work, and an object is freed
# very late.
SHUTDOWN = """
import atexit, sys, threading, time, torch
a = torch.ones(8, device="cuda")
has_begun = threading.Event()
def serve():
    a.sinh()
    has_begun.set()
    while True:
        time.sleep(0.001)
threading.Thread(target=serve, daemon=True).start()
has_begun.wait()
@atexit.register
def last():
    a.cosh()
    torch.cuda.synchronize()
    print("last")
class Late:
    def __init__(self, tensor):
        self.tensor = tensor
    def __del__(self):
        self.tensor.tan()
late = Late(a)
sys.exit(5)
"""
# The child of a process that uses CUDA ends like a normal program.
FORK = """
import os, sys, torch
a = torch.ones(8, device="cuda", requires_grad=True)
a.sinh().sum().backward()
torch.cuda.synchronize()
child = os.fork()
if child == 0:
    print(torch.ones(3).tan().shape)
    try:
        torch.ones(1, device="cuda")
    except RuntimeError as error:
        print(str(error)[:40])
    sys.exit(9)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
a.cosh().sum().backward()
torch.cuda.synchronize()
"""
JOBS = {"exceptions": (EXCEPTIONS, 1, set()), "signals": (SIGNALS, 7, set()),
        "shutdown": (SHUTDOWN, 5, set()), "fork": (FORK, 0, {"aten::tan"})}


@pytest.mark.parametrize("name", full_but(["signals"], JOBS, seconds=3.9))
def test_as_bare(torch, name):
    text, status, not_ours = JOBS[name]
    job = torch.tmp / "job.py"
    job.write_text(text)
    bare = torch.run(torch.python, job, inject=False)
    run = torch.run(torch.python, job)
    assert bare.status == status, bare.stderr
    assert told(run) == told(bare)
    assert [line.split()[1] for line in run.said()] == ["recording", "wrote"]
    trace = run.trace()
    harness.check_trace(run, trace)
    check_passes(trace.path)
    check_operators(trace, "")
    names = {row["name"] for row in trace.of("cpu_op")}
    assert {"aten::sinh", "aten::cosh"} <= names and not names & not_ours


# Programs that lack what a hook normally uses: an optimizer without weak references, a module
# loader without attributes, a program that forbids ctypes.
SLOTTED_OPTIMIZER = """
import torch
class Slotted:
    __slots__ = ("param_groups", "state")
    def __init__(self, parameters):
        self.param_groups, self.state = [{"params": list(parameters)}], {}
    def step(self):
        for parameter in self.param_groups[0]["params"]:
            parameter.data.sub_(parameter.grad)
model = torch.nn.Linear(4, 4).cuda()
optimizer, scaler = Slotted(model.parameters()), torch.amp.GradScaler()
for _ in range(4):
    scaler.scale(model(torch.ones(2, 4, device="cuda")).sum()).backward()
    scaler.step(optimizer)
    scaler.update()
print("trained")
"""
SLOTTED_LOADER = """
import importlib.machinery, sys
class Loader:
    __slots__ = ("loader",)
    def __init__(self, loader):
        self.loader = loader
    def create_module(self, spec):
        return self.loader.create_module(spec)
    def exec_module(self, module):
        self.loader.exec_module(module)
class Finder:
    @staticmethod
    def find_spec(name, path=None, target=None):
        spec = importlib.machinery.PathFinder.find_spec(name, path, target)
        if spec and name.startswith("torch") and spec.origin.endswith(".py"):
            spec.loader = Loader(spec.loader)
        return spec
sys.meta_path.insert(0, Finder)
import torch
torch.ones(1, device="cuda")
torch.cuda.synchronize()
import torch.distributed.distributed_c10d, torch._inductor.output_code
print("imported")
"""
AUDITED = """
import sys, torch
torch.cuda.init()
def refuse(event, _):
    if event.startswith("ctypes."):
        raise RuntimeError(event)
model = torch.nn.Linear(4, 4).cuda()
optimizer = torch.optim.SGD(model.parameters())
sys.addaudithook(refuse)
for _ in range(4):
    model(torch.ones(2, 4, device="cuda")).sum().backward()
    optimizer.step()
print("trained")
"""


@pytest.mark.parametrize("before", full_but([[]], [[], [harness.TOOL, "run", "--"]], seconds=5),
                         ids=["variable", "run"])
@pytest.mark.parametrize("text, steps", full_but(
    [(SLOTTED_OPTIMIZER, 3)], [(SLOTTED_OPTIMIZER, 3), (SLOTTED_LOADER, 0), (AUDITED, None)], seconds=5),
                         ids=["optimizer", "loader", "audited"])
def test_a_program_that_hooks_do_not_fit(torch, text, steps, before):
    job = torch.tmp / "job.py"
    job.write_text(text)
    bare = torch.run(torch.python, job, inject=False)
    run = torch.run(*before, torch.python, job, inject=not before)
    assert bare.status == 0, bare.stderr
    assert told(run) == told(bare)
    found = [row for row in run.trace().of("user_annotation") if row["name"].startswith("ProfilerStep#")]
    # (The number of steps before the program forbade ctypes varies.)
    assert steps is None or len(found) == steps


@pytest.mark.full(seconds=6)
@pytest.mark.parametrize("trouble", ["a file", "no right"])
def test_where_nothing_can_be_written(torch, trouble):
    """The output folder cannot be written. One line reports this with the folder's name, and the job is
    not affected."""
    folder = torch.tmp / "theirs"
    before = []
    if trouble == "a file":
        folder.write_text("in the way")
    else:
        folder.mkdir(mode=0o555)
        # Root ignores permissions unless it drops that capability.
        before = ["setpriv", "--bounding-set=-dac_override"] if os.getuid() == 0 else []
    bare = torch.job("mlp", before=before, inject=False)
    run = torch.job("mlp", before=before, output=str(folder), log="warn")
    assert bare.status == 0, bare.stderr
    assert told(run) == told(bare)
    (line,) = run.said()
    assert "cannot write" in line and str(folder) in line and "job is not affected" in line
