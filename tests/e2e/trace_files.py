"""Checks rules that the files of every run must follow, without the simulator's truth. The Kineto
file and its Chakra file have the same operations and edges, and each file follows its format.
`syncline check` finds both files valid, and `syncline edges` prints the edges of the Kineto
file."""
import collections
import json
import pathlib
import re
import subprocess

import chakra
import edge_invariants
import harness


def tool(*arguments) -> subprocess.CompletedProcess:
    return subprocess.run([harness.TOOL, *map(str, arguments)], capture_output=True, text=True, timeout=60,
                          check=False)


def window(path: pathlib.Path) -> str:
    """Returns the name of the file's window, which may contain a dot."""
    return re.split(r"\.pt\.trace|\.\d+\.et", path.name)[0]


def broken(run: harness.Run, traces: list[harness.Trace]) -> list[str]:
    """Returns a message for each broken rule of these traces."""
    if not traces and "are lost" in run.stderr and any(line["what"] == "steal" for line in run.log):
        return []  # another client got all records before syncline had a record that is written
    nodes = {window(path): path for path in run.files("*.et*")}
    wrong = [f"chakra: {path.name} is not complete" for path in nodes.values() if path.suffix == ".part"]
    for trace in traces:
        path = nodes.get(window(trace.path))
        if not path:
            wrong.append(f"chakra: none beside {trace.path.name}")
        elif path.suffix != ".part":
            wrong += [f"chakra: {line}" for line in broken_pair(trace, chakra.Et(path))]
        wrong += edges_differ(trace)
        wrong += edge_invariants.contradictions(trace.edges(), edge_invariants.of_trace(trace))
    # The log has the first kind of loss. Only syncline's counter has the second kind: on a busy
    # machine the process may exit before all records have arrived.
    lossy = run.lost() or any(trace.counters["undelivered_at_exit"] for trace in traces)
    may = {"lost"} if lossy else set()
    may |= {"empty"} if any(not trace.counters["chakra_nodes"] for trace in traces) else set()
    return wrong + checked([*(trace.path for trace in traces), *nodes.values()], may)


def broken_pair(trace: harness.Trace, et: chakra.Et) -> list[str]:
    counters = trace.counters
    wrong = chakra.broken(et)
    base = et.header["clock_base_ns"]
    rows = [(row["args"]["correlation"], row["args"]["stream"], row["start"], row["end"])
            for row in trace.of("kernel", "gpu_memcpy", "gpu_memset")]
    operations = [(node.correlation, node.attr["stream"], node.start + base, node.end + base)
                  for node in et.gpu]
    if not counters["chakra_rows_left_out"] and (text := harness.difference(rows, operations)):
        wrong.append(f"operations: {text}")
    if counters["chakra_nodes"] != len(et.nodes):
        wrong.append(f"{len(et.nodes)} nodes, {counters['chakra_nodes']} counted")
    missing = not_dependencies(trace, et)
    if len(missing) > counters["chakra_edges_left_out"]:
        wrong.append(f"{len(missing)} edges are no dependencies, {counters['chakra_edges_left_out']} "
                     f"counted as left out: {missing[:2]}")
    if counters["chakra_edges"] + counters["chakra_edges_left_out"] != counters["edges"]:
        wrong.append(f"{counters['chakra_edges']} of {counters['edges']} edges, "
                     f"{counters['chakra_edges_left_out']} left out")
    return wrong


def not_dependencies(trace: harness.Trace, et: chakra.Et) -> list[dict]:
    """Returns the edges whose two nodes have no dependency in the Chakra file."""
    gpu, waits = collections.defaultdict(set), collections.defaultdict(set)
    for node in et.gpu:
        gpu[node.correlation, node.attr["stream"]].add(node.id)
        waits[node.correlation, node.attr["stream"]].update(node.deps)
    for node in et.cpu:
        if node.name.endswith(".wait"):
            waits[node.correlation, None].update(node.deps)
    return [edge for edge in trace.edges()
            if not gpu[edge["src_correlation"], edge["src_stream"]] & waits[
                edge["dst_correlation"], edge["dst_stream"] if edge["dst_point"] == "start" else None]]


def edges_differ(trace: harness.Trace) -> list[str]:
    """Compares the output of `syncline edges` with the rows of edges, including their order. Returns a
    message if they differ."""
    done = tool("edges", "--json", trace.path)
    if done.returncode != 0:
        return [f"tool: edges: {done.returncode}: {done.stderr}"]
    printed, edges = harness.printed_edges(done.stdout), trace.edges()
    if printed == edges:
        return []
    text = harness.difference([json.dumps(edge, sort_keys=True) for edge in edges],
                              [json.dumps(edge, sort_keys=True) for edge in printed])
    return [f"tool: edges printed are not those of the rows: {text or 'another order'}"]


def checked(paths: list[pathlib.Path], may: set[str]) -> list[str]:
    """Runs `syncline check`. Returns a message for each error whose id is not in `may`."""
    done = tool("check", "--json", *paths)
    if done.returncode not in (0, 1) or len(done.stdout.splitlines()) != len(paths):
        return [f"tool: check: {done.returncode}: {done.stderr}"]
    return [f"tool: check: {told['file']}: {problem}" for told in map(json.loads, done.stdout.splitlines())
            for problem in told["problems"] if problem["severity"] == "error" and problem["id"] not in may]
