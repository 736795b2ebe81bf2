"""A PyTorch job under the library, judged by torch.profiler on the same job."""

import collections
import subprocess
import sys

import kineto_trace as invariants
from check_samples import same_result
from machine import ROOT
from suite import Skip

JOB = str(ROOT / "tests/gpu/torch_job.py")
FEW, MANY = 10, 30


def have_torch(machine):
    """Raises Skip where the job cannot run."""
    if machine.simulated:
        raise Skip("PyTorch does not run on the simulated GPU yet")
    asked = subprocess.run([sys.executable, "-c", "import torch; print(torch.__version__, "
                            "torch.cuda.is_available())"], text=True, capture_output=True,
                           timeout=120, check=False)
    if asked.returncode != 0 or "True" not in asked.stdout:
        raise Skip(f"no PyTorch with CUDA here: {asked.stdout.strip()}")
    return asked.stdout.split()[0]


def job(mode, steps, *more):
    return [sys.executable, JOB, "--mode", mode, "--steps", str(steps), *more]


def per_step(many, few):
    """Kernels a step, from two runs that differ only in their number of steps."""
    more = collections.Counter(many.kernel_counts())
    more.subtract(few.kernel_counts())
    return {name: n / (MANY - FEW) for name, n in more.items() if n}


def check_mode(suite, machine, mode):
    bare = machine.run(job(mode, MANY))
    watched, shorter = machine.record(job(mode, MANY)), machine.record(job(mode, FEW))
    suite.check(f"{mode}: same status and output as bare", same_result, bare, watched)
    traces = []
    suite.check(f"{mode}: complete traces",
                lambda: traces.extend(machine.traces(watched) + machine.traces(shorter)))
    if len(traces) != 2:
        return
    for invariant in invariants.INVARIANTS:
        suite.check(f"{mode}: {invariant.__name__.replace('_', ' ')}", invariant, traces[0])

    def same_kernels_as_torch_profiler():
        file = machine.out / f"torch-profiler-{mode}.json"
        run = machine.run(job(mode, FEW, "--profiler", str(file)))
        assert run.status == 0, run.stderr[-500:]
        theirs = {n: c / FEW for n, c in invariants.Trace(file).kernel_counts().items()}
        ours = per_step(*traces)
        wrong = {name: (ours.get(name, 0), theirs.get(name, 0)) for name in {*ours, *theirs}
                 if ours.get(name, 0) != theirs.get(name, 0)}
        assert not wrong, f"kernels a step (ours, theirs): {dict(list(wrong.items())[:5])}"
        return f"{sum(ours.values()):.0f} kernels a step of {len(ours)} names"

    suite.check(f"{mode}: the kernels that torch.profiler sees", same_kernels_as_torch_profiler)


def beside_torch_profiler(suite, machine):
    """Both in one process: today's state of living together, no more than noted."""
    file = machine.out / "torch-profiler-beside.json"
    run = machine.record(job("train", FEW, "--profiler", str(file)))
    theirs = len(invariants.Trace(file).kernels) if file.exists() else "no file"
    suite.fact("torch.profiler beside syncline: status", run.status)
    suite.fact("torch.profiler beside syncline: kernels in its trace", theirs)
    for path in run.files("*.zst"):
        suite.fact("torch.profiler beside syncline: kernels in ours", len(machine.read(path).kernels))


def check_all(suite, machine):
    suite.begin("PyTorch")
    if not suite.check("PyTorch is here", have_torch, machine):
        return
    for mode in ("train", "launch", "graph"):
        suite.check(f"{mode}: ran", check_mode, suite, machine, mode)
    suite.check("beside torch.profiler: ran", beside_torch_profiler, suite, machine)
