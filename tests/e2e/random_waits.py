"""Runs programs of random_program.py, compares their edges with the truth, and shrinks failing programs:

    tests/e2e/random_waits.py SEED...            runs the programs of these seeds and prints errors
    tests/e2e/random_waits.py --shrink SEED      also prints the smallest program that fails the same way
    tests/e2e/random_waits.py --steps FILE       runs the program in FILE (`#` lines are its options)

A rare failure may not recur in thousands of runs. Therefore each failing run is kept in its own
folder: program, trace files, log, truth, and the list of errors. The folder's path is printed. This
folder is in `random_waits/` of the build folder, or in the folder that --keep names."""
import argparse
import collections
import pathlib
import re
import shutil
import sys
import tempfile
import time

import edge_compare
import edge_truth
import harness
import random_program
import trace_files

PROGRAM = harness.BUILD / "tests" / "e2e" / "random_waits"
KEPT = harness.BUILD / "random_waits"


def edges_of(trace: harness.Trace) -> tuple[list[dict], collections.Counter]:
    """Returns the edges that syncline found while the program ran, and for each reason the number
    of edges that it left out."""
    lost = collections.Counter({name.removeprefix("edges_lost_"): count
                                for name, count in trace.counters.items()
                                if count and name.startswith("edges_lost_")})
    # On a busy machine the process may exit before all its records were delivered.
    if undelivered := trace.counters.get("undelivered_at_exit"):
        lost["undelivered_at_exit"] = undelivered
    return trace.edges(), lost


def knows_all(run: harness.Run, trace: harness.Trace) -> bool:
    """Returns whether syncline had all information: no record was lost, no CUPTI function failed,
    and every event record can be identified. (Before CUPTI 12.8, event records of other contexts
    cannot be identified.)"""
    if any(line.get("what") == "failed" and line["function"].startswith("cupti") for line in run.log):
        return False
    contexts = {line["context"] for line in run.truth_of("object") if line["kind"] == "context"}
    return not run.lost() and (len(contexts) == 1 or trace.object["cupti_version"] >= 26)


def check(program: random_program.Program, folder: pathlib.Path) -> edge_compare.Outcome:
    steps = folder / "steps"
    steps.write_text(program.text())
    run = harness.run(folder, PROGRAM, steps, sim=program.sim, **program.syncline)
    if run.status != 0:
        return edge_compare.Outcome(wrong=[f"exit status {run.status}: {run.stderr[-2000:]}"])
    truth = edge_truth.Truth(run.truth, run.log, program.syncline.get("graph_edges") == "1")
    outcome = edge_compare.Outcome()
    outcome.wrong += [f"{path.name} is not complete" for path in run.files() if path.suffix == ".part"]
    traces = run.traces()
    outcome.wrong += trace_files.broken(run, traces)
    for trace in traces:
        edges, lost = edges_of(trace)
        about = trace.object["syncline"]
        whole = ("window" not in program.syncline and knows_all(run, trace)
                 and not lost["undelivered_at_exit"])
        part = edge_compare.compare(truth, edges, lost, whole, (about["opened_ns"], about["closed_ns"]))
        outcome.wrong += part.wrong
        outcome.right += part.right
        outcome.unsure += part.unsure
        outcome.left_out += part.left_out
        outcome.kinds += part.kinds
    return outcome


def check_in_temporary(program: random_program.Program) -> edge_compare.Outcome:
    with tempfile.TemporaryDirectory(prefix="syncline-waits-") as folder:
        return check(program, pathlib.Path(folder))


def check_and_keep(program: random_program.Program, name: str,
                   keep: pathlib.Path) -> tuple[edge_compare.Outcome, pathlib.Path | None]:
    """Runs a program. Returns the outcome, and the folder with the run's files if there was an
    error, or None."""
    with tempfile.TemporaryDirectory(prefix="syncline-waits-") as folder:
        outcome = check(program, pathlib.Path(folder))
        if not outcome.wrong:
            return outcome, None
        (pathlib.Path(folder) / "steps").write_text(to_text(program))
        (pathlib.Path(folder) / "wrong").write_text("".join(line + "\n" for line in outcome.wrong))
        keep.mkdir(parents=True, exist_ok=True)
        kept = pathlib.Path(tempfile.mkdtemp(prefix=f"{name}-", dir=keep))
        shutil.copytree(folder, kept, dirs_exist_ok=True)
        return outcome, kept


# ---- shrinking of failing programs ----

def fails(program: random_program.Program, tries: int, kind: str = "") -> list[str]:
    """Runs the program up to `tries` times, because times differ between runs and a failure may be
    rare. Returns the messages of the first failure."""
    for _ in range(tries):
        wrong = [line for line in check_in_temporary(program).wrong if line.startswith(kind)]
        if wrong:
            return wrong
    return []


def shrink(program: random_program.Program, tries: int = 4, seconds: float = 600,
           say=lambda text: None) -> tuple[random_program.Program, list[str]]:
    """Shrinks a failing program: removes threads, faults, and shorter and shorter groups of steps,
    as long as the program still fails."""
    until = time.monotonic() + seconds
    wrong = fails(program, tries * 3)
    if not wrong:
        return program, wrong
    kind = wrong[0].split()[0]  # the shrunk program must fail in the same way

    def attempt(steps, sim, options):
        nonlocal program, wrong
        if time.monotonic() > until:
            return
        smaller = random_program.Program(steps, sim, options)
        if found := fails(smaller, tries, kind):
            program, wrong = smaller, found
            say(f"{len(steps)} steps, {' '.join(sim)}")

    for thread in sorted({step.split()[0] for step in program.steps} - {"0", "*"}, reverse=True):
        attempt([s for s in program.steps if s.split()[0] != thread], program.sim, program.syncline)
    options = [o for o in re.split(r" (?=--)", " ".join(program.sim)) if o]
    for option in [o for o in options if not o.startswith("--devices")]:
        attempt(program.steps, [w for o in re.split(r" (?=--)", " ".join(program.sim))
                                if o != option for w in o.split()], program.syncline)
    size = len(program.steps) // 2
    while size:
        at = len(program.steps) - size
        while at >= 0:
            attempt(program.steps[:at] + program.steps[at + size:], program.sim, program.syncline)
            at -= size
        size //= 2
    return program, wrong


# ---- reading and writing of programs ----

def to_text(program: random_program.Program) -> str:
    head = "".join(f"# {' '.join(words)}\n" for words in
                   (["sim", *program.sim], ["syncline", *(f"{k}={v}" for k, v in program.syncline.items())]))
    return head + program.text()


def from_text(text: str) -> random_program.Program:
    program = random_program.Program([], [], {})
    for line in text.splitlines():
        if line.startswith("# sim "):
            program.sim = line.split()[2:]
        elif line.startswith("# syncline "):
            program.syncline = dict(pair.split("=", 1) for pair in line.split()[2:])
        elif line and not line.startswith("#"):
            program.steps.append(line)
    return program


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("seeds", nargs="*", help="N, or N-M")
    parser.add_argument("--shrink", action="store_true")
    parser.add_argument("--steps", type=pathlib.Path)
    parser.add_argument("--keep", type=pathlib.Path, default=KEPT, metavar="FOLDER")
    given = parser.parse_args()
    programs = {}
    for word in given.seeds:
        first, _, last = word.partition("-")
        for seed in range(int(first), int(last or first) + 1):
            programs[str(seed)] = random_program.program(seed)
    if given.steps:
        programs[given.steps.stem] = from_text(given.steps.read_text())
    failed = []
    total, kinds = collections.Counter(), collections.Counter()
    for name, program in programs.items():
        kept = None
        if given.shrink:
            program, wrong = shrink(program, say=lambda text: print(text, file=sys.stderr))
            print(to_text(program), end="")
        else:
            outcome, kept = check_and_keep(program, name, given.keep)
            wrong = outcome.wrong
            total.update(right=outcome.right, unsure=outcome.unsure, left_out=len(outcome.left_out))
            kinds += outcome.kinds
        for line in wrong[:5]:
            print(f"{name}: {line[:600]}")
        if wrong:
            print(f"{name}: {' '.join(program.sim)} {program.syncline or ''}")
        if kept:
            print(f"{name}: kept in {kept}")
        failed += [name] if wrong else []
    print(f"{len(programs)} programs, {len(failed)} failed: {' '.join(failed)}; {dict(total)}\n{dict(kinds)}")
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
