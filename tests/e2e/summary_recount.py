"""Recounts `edges --summary` of a file that syncline wrote, by brute force from the rows of the file. Follows
docs/sync-edges-details.md, "What the time was spent on", and shares no code with the tool."""
import collections
import json
import subprocess

import harness

GPU = ("kernel", "gpu_memcpy", "gpu_memset")
CALLS = ("cuda_runtime", "cuda_driver")


class Operations:
    """The GPU operations of a trace, with the predecessors of each."""

    def __init__(self, trace):
        rows = sorted(enumerate(trace.of(*GPU)),
                      key=lambda x: (x[1]["start"], x[1]["args"]["correlation"], x[0]))
        self.rows = [row for _, row in rows]
        self.at = {self.key(row): i for i, row in enumerate(self.rows)}
        self.before = []  # of each operation, the operation of its stream that ended last before
        self.sources = collections.defaultdict(list)
        last = {}
        for i, row in enumerate(self.rows):
            stream = tuple(row["args"].get(name) for name in ("device", "context", "stream"))
            before = last.get(stream)
            self.before.append(before)
            if before is None or self.rows[before]["end"] <= row["end"]:
                last[stream] = i

    @staticmethod
    def key(row):
        args = row["args"]
        return args["correlation"], args.get("graph node id", 0), args["stream"], args["device"]

    def source_of(self, edge):
        return self.at.get((edge["src_correlation"], edge.get("src_node", 0), edge["src_stream"],
                            edge["src_device"]))

    def add(self, edge):
        """Adds an edge between two operations."""
        source = self.source_of(edge)
        ends = [i for key, i in self.at.items() if key[:3] == (
            edge["dst_correlation"], edge.get("dst_node", 0), edge["dst_stream"])] \
            if source is not None else []
        for end in ends:
            if source < end:
                self.sources[end].append(source)

    def behind(self, i):
        """Returns the predecessor that ended last."""
        found = [*self.sources[i], *([] if self.before[i] is None else [self.before[i]])]
        own = self.before[i]
        return max(found, key=lambda x: (self.rows[x]["end"], x == own), default=None)

    def spent_on(self, edge):
        """Returns the name of the operation on which the time of a wait was spent."""
        first = i = self.source_of(edge)
        if edge["dst_point"] == "start" or i is None or self.rows[i]["cat"] == "kernel":
            return edge["src_name"]
        until = self.rows[i]["end"]
        since = until - edge["wait_ns"]
        ran = collections.Counter()
        longest = {}
        while i is not None and self.rows[i]["end"] > since:
            row = self.rows[i]
            ns = min(row["end"], until) - max(row["start"], since)
            if ns > 0:
                ran[row["cat"] == "kernel"] += ns
                if row["cat"] == "kernel":
                    longest[i] = ns
            until = min(until, max(row["start"], since))
            i = self.behind(i)
        if ran[True] <= ran[False]:
            return self.rows[first]["name"]
        return self.rows[max(longest, key=longest.get)]["name"]  # of equal ones, the last


def waits_of(edges):
    """Returns one edge for each wait: the edge that released it, or else the edge with the longest wait."""
    waits = {}
    for edge in edges:
        key = tuple(edge.get(name) for name in
                    ("dst_correlation", "dst_point", "dst_node", "dst_stream"))
        if key not in waits or edge["released"] or (
                not waits[key]["released"] and edge["wait_ns"] > waits[key]["wait_ns"]):
            waits[key] = edge
    return waits.values()


def step_at(trace, ns):
    steps = [row for row in trace.of("user_annotation")
             if row["name"].startswith("ProfilerStep#") and row["start"] <= ns]
    last = max(steps, key=lambda row: row["start"], default=None)
    return last["name"] if last and last["end"] > ns else None


def recount(trace):
    """Returns the tables for waits of the CPU and for waits of the GPU, as table() returns those of the
    tool."""
    operations = Operations(trace)
    calls = {row["args"]["correlation"]: row for row in trace.of(*CALLS)}
    edges = trace.edges(nodes=True)
    sums = {False: collections.defaultdict(lambda: [0, 0]),
            True: collections.defaultdict(lambda: [0, 0])}
    for edge in edges:
        if edge["dst_point"] == "start":
            operations.add(edge)
    for edge in waits_of(edges):
        on_gpu = edge["dst_point"] == "start"
        call = calls.get(edge["dst_correlation"])
        line = call and call["args"].get("wait_at")
        step = step_at(trace, call["start"]) if call else None
        ns = edge["wait_ns"]
        keys = [("all",), ("kind", edge["kind"]), ("source", operations.spent_on(edge)), ("step", step),
                ("place", call and call["args"].get("wait_in"))]
        if not on_gpu:
            keys += [("line", line), ("pair", line, operations.spent_on(edge))]
            keys += [("in steps", line)] if step else []
            sums[on_gpu]["calls", line][0] += 1
        for key in keys if ns else ():
            sums[on_gpu][key][0] += 1
            sums[on_gpu][key][1] += ns
    return {on_gpu: {key: tuple(value) for key, value in tables.items()}
            for on_gpu, tables in sums.items()}


def tables(summary, steps):
    """Returns the tables of a summary of the tool, in the form of recount()."""
    found = {("all",): (summary["waits"], summary["total_ns"])}
    for name in ("kind", "source", "step", "place"):
        for group in summary[f"by_{name}"]:
            found[name, group["name"]] = (group["waits"], group["total_ns"])
    for group in summary.get("by_line", ()):
        found["line", group["name"]] = (group["waits"], group["total_ns"])
        found["calls", group["name"]] = (group["calls"], 0)
        if steps:
            found["per step", group["name"]] = group["per_step_ns"]
        for source in group["sources"]:
            found["pair", group["name"], source["name"]] = (source["waits"], source["total_ns"])
    return found if summary["waits"] else {}


def check(trace):
    """Checks each number of a file's summary. Returns the summary."""
    text = subprocess.run([harness.TOOL, "edges", "--summary", "--json", trace.path], check=True,
                          stdout=subprocess.PIPE, text=True).stdout
    summary = json.loads(text)
    counted = recount(trace)
    steps = summary["steps"]
    cpu = counted[False]
    for key in [key for key in cpu if key[0] == "in steps"]:
        ns = cpu.pop(key)[1]
        if steps:
            cpu["per step", key[1]] = ns // steps
    lines = {key[1] for key in cpu if key[0] == "line"}
    for line in lines if steps else ():
        cpu.setdefault(("per step", line), 0)
    # Lines that never waited are not in the table.
    cpu = {key: value for key, value in cpu.items() if key[0] != "calls" or key[1] in lines}
    assert tables(summary, steps) == cpu
    assert tables(summary["gpu"], 0) == counted[True]
    return summary
