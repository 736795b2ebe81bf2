"""Records a PyTorch job and compares it with torch.profiler's trace of the same job."""

import collections
import pathlib
import re
import sys

import kineto_trace as invariants
from check_samples import same_result
from machine import ROOT
from suite import Skip

JOB = str(ROOT / "tests/gpu/torch_job.py")
FEW, MANY = 10, 30
WARM_UP = 3  # steps that the job makes before the requested steps
WAITS = ".item()"  # a text in a source line that waits for the GPU in each step


def have_torch(machine):
    """Returns PyTorch's version. Raises Skip if PyTorch or CUDA is missing."""
    asked = machine.run([sys.executable, "-c", "import torch; print(torch.__version__, "
                         "torch.cuda.is_available())"])
    if asked.status != 0 or "True" not in asked.stdout:
        raise Skip(f"no PyTorch with CUDA here: {asked.stdout.strip()}")
    return asked.stdout.split()[0]


def job(mode, steps, *more):
    return [sys.executable, JOB, "--mode", mode, "--steps", str(steps), *more]


def per_step(many, few):
    """Returns how often each name occurs in one step. Computes this from two runs that differ only
    in the number of steps."""
    more = collections.Counter(many)
    more.subtract(few)
    return {name: n / (MANY - FEW) for name, n in more.items() if n}


def same_names(ours, theirs, what, lost=0):
    """Checks that each name occurs equally often per step in syncline's and torch.profiler's trace.
    `lost` records in all may be missing."""
    wrong = {name: (ours.get(name, 0), theirs.get(name, 0)) for name in {*ours, *theirs}
             if ours.get(name, 0) != theirs.get(name, 0)}
    missed = sum(abs(a - b) for a, b in wrong.values()) * (MANY - FEW)
    assert missed <= lost, f"{what} a step (ours, theirs): {dict(list(wrong.items())[:5])}"
    return f"{sum(ours.values()):.0f} {what} a step of {len(ours)} names"


def launches_name_their_operator(trace):
    """Checks that each GPU operation names the operator around its launch. Operations of replayed graphs name
    no operator."""
    operators = {e["args"]["External id"]: e for e in trace.operators}
    calls = {e["args"]["correlation"]: e for e in trace.cpu}
    wrong, named = [], 0
    for event in trace.gpu:
        call, ident = calls[event["args"]["correlation"]], event["args"].get("External id")
        around = operators.get(ident)
        if "GraphLaunch" in call["name"]:
            assert ident is None, f"{event['name']} of a replay is in operator {ident}"
        elif around and around["tid"] == call["tid"] and \
                trace.begin_ns(around) <= trace.begin_ns(call) and \
                trace.end_ns(call) <= trace.end_ns(around):
            named += 1
        else:
            wrong.append(f"{event['name']} of {call['name']}: {around and around['name']}")
    lost = invariants.lost_operators(trace)
    assert len(wrong) <= lost, f"{len(wrong)} in no operator, or in a wrong one: {wrong[0]}"
    assert named, "no launch is in an operator"
    return f"{named} operations of the GPU in {len(operators)} operators, {lost} lost"


def steps_are_those_of_the_optimizer(trace, steps):
    """Checks the number of steps. The first step is missing, because its beginning is unknown. A job without
    an optimizer has no steps."""
    names = {e["name"] for e in trace.annotations if re.fullmatch(r"ProfilerStep#\d+", e["name"])}
    assert len(names) == steps, f"{len(names)} steps, expected {steps}"
    return f"{len(names)} steps"


def waits_name_their_line(trace, path, text):
    """Checks that each wait of the main thread names a line of the job, and that every line that
    contains `text` is named."""
    lines = pathlib.Path(path).read_text(encoding="utf-8").splitlines()
    waits = [e for e in trace.cpu if e["args"].get("wait_ns") and e["tid"] == e["pid"]]
    places = collections.Counter(e["args"].get("wait_at", "no line") for e in waits)
    without = places.pop("no line", 0)
    assert without <= invariants.lost_operators(trace), f"{without} of {len(waits)} have no line"
    named = []
    for place in places:
        file, number = place.split(" ")[0].rsplit(":", 1)
        assert file == path, f"a wait at {place}, not in the job"
        named.append(lines[int(number) - 1].strip())
    assert any(text in line for line in named), f"no wait at a line with {text}: {named}"
    return f"{len(waits)} waits at {len(named)} lines"


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

    suite.check(f"{mode}: launches name their operator", launches_name_their_operator, traces[0])
    suite.check(f"{mode}: steps", steps_are_those_of_the_optimizer, traces[0],
                WARM_UP + MANY - 1 if mode == "train" else 0)
    suite.check(f"{mode}: waits name their line", waits_name_their_line, traces[0], JOB, WAITS)

    file = machine.out / f"torch-profiler-{mode}.json"

    def profiled():
        run = machine.run(job(mode, FEW, "--profiler", str(file)))
        assert run.status == 0, run.stderr[-500:]

    def same_as_torch_profiler(counts, what, lost=0):
        theirs = {n: c / FEW for n, c in counts(invariants.Trace(file)).items()}
        return same_names(per_step(*map(counts, traces)), theirs, what, lost)

    if suite.check(f"{mode}: torch.profiler alone", profiled):
        suite.check(f"{mode}: the kernels that torch.profiler sees", same_as_torch_profiler,
                    invariants.Trace.kernel_counts, "kernels")
        suite.check(f"{mode}: the operators that torch.profiler sees", same_as_torch_profiler,
                    invariants.Trace.operator_counts, "operators",
                    sum(map(invariants.lost_operators, traces)))


def beside_torch_profiler(suite, machine):
    """Runs torch.profiler and syncline in one process. This function only reports the results and
    does not check them."""
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
