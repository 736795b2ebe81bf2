"""Records random programs (tests/e2e/random_program.py) and checks that no edge contradicts the times of
the GPU. The real GPU does not tell which work a call waited for, so this finds only edges that are
impossible."""

import collections
import sys

from kineto_trace import ns
from machine import ROOT

sys.path.append(str(ROOT / "tests" / "e2e"))
import random_program  # noqa: E402  pylint: disable=wrong-import-position

PROGRAMS = 200
TICK_NS = 1000  # the GPU's clock


def steps_of(program):
    """Returns the program without its failing calls, some of which crash a real driver."""
    return "".join(f"{step}\n" for step in program.steps if step.split()[1] != "bad")


def edges(trace):
    """Yields (edge, end of the wait in ns): the edges of calls, and those of operations."""
    calls = {e["args"]["correlation"]: e for e in trace.cpu}
    for call in trace.cpu:
        for edge in call["args"].get("sync_edges", []):
            yield edge, trace.end_ns(calls[call["args"]["correlation"]])
    for row in trace.events:
        if row.get("name") == "sync_edge":
            yield row["args"], trace.base_ns + ns(row["ts"])


def contradictions(trace):
    """Returns the number of edges, and a text for each edge whose source ended after the wait."""
    ends = collections.defaultdict(list)
    for op in trace.gpu:
        ends[op["args"]["correlation"], op["args"]["stream"]].append(trace.end_ns(op))
    found = [(edge, end) for edge, end in edges(trace)]
    return len(found), [
        f"{edge['kind']} from {edge['src_correlation']}: {min(sources) - end} ns after the wait"
        for edge, end in found
        if (sources := ends.get((edge["src_correlation"], edge["src_stream"])))
        and min(sources) > end + TICK_NS]


def check_programs(suite, machine):
    program, file = machine.program("random_waits"), machine.out / "random.steps"
    total, wrong, failed = 0, [], []
    for seed in range(1, PROGRAMS + 1):
        if suite.seconds_left() < 30:
            break
        made = random_program.program(seed)
        file.write_text(steps_of(made), encoding="utf-8")
        options = {f"SYNCLINE_{name.upper()}": value for name, value in made.syncline.items()}
        run = machine.record([program, str(file)], options)
        if run.status:
            bare = [machine.run([program, str(file)]).status for _ in range(3)]
            failed.append(f"program {seed}: status {run.status}, bare {bare}")
            continue
        for path in run.files("*.pt.trace.json.zst"):
            count, texts = contradictions(machine.read(path))
            total += count
            wrong += [f"program {seed}: {text}" for text in texts]
    suite.fact("random programs that failed", len(failed), "; ".join(failed))
    suite.fact("random programs", seed, f"{total} edges")
    assert not wrong, f"{len(wrong)} impossible edges: {wrong[:5]}"


def check_all(suite, machine):
    suite.begin("Random programs")
    suite.check("no edge contradicts the times", check_programs, suite, machine)
