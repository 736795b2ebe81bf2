"""Reads a Kineto trace, and checks rules that every trace must follow."""

import collections
import gzip
import json
import re

GPU_CATEGORIES = ("kernel", "gpu_memcpy", "gpu_memset")
CPU_CATEGORIES = ("cuda_runtime", "cuda_driver")

# Calls that always enqueue a GPU operation, unless they fail or are captured into a graph.
LAUNCHES = re.compile(r"^(cudaLaunchKernel|cudaLaunchKernelExC|cudaLaunchCooperativeKernel"
                      r"|cuLaunchKernel|cuLaunchKernelEx|cuLaunchCooperativeKernel"
                      r"|cu(da)?GraphLaunch|cu(da)?Memcpy.*Async|cu(da)?Memset.*)(_v\d+|_ptsz)*$")


def ns(us):
    """Converts a time with three decimals to integer ns."""
    return round(us * 1000)


class Trace:
    def __init__(self, path):
        opener = gzip.open if str(path).endswith(".gz") else open
        with opener(path, "rt", encoding="utf-8") as file:
            self.top = json.load(file)
        self.base_ns = self.top["baseTimeNanoseconds"]
        self.events = self.top["traceEvents"]
        rows = [e for e in self.events if e.get("ph") == "X"]
        self.gpu = [e for e in rows if e["cat"] in GPU_CATEGORIES]
        self.cpu = [e for e in rows if e["cat"] in CPU_CATEGORIES]
        self.syncs = [e for e in rows if e["cat"] == "cuda_sync"]
        self.kernels = [e for e in self.gpu if e["cat"] == "kernel"]
        self.copies = [e for e in self.gpu if e["cat"] == "gpu_memcpy"]
        self.memsets = [e for e in self.gpu if e["cat"] == "gpu_memset"]
        self.operators = [e for e in rows if e["cat"] == "cpu_op"]
        self.annotations = [e for e in rows if e["cat"] == "user_annotation"]

    def begin_ns(self, event):
        """Returns the start in CLOCK_REALTIME."""
        return self.base_ns + ns(event["ts"])

    def end_ns(self, event):
        return self.begin_ns(event) + ns(event["dur"])

    def kernel_counts(self):
        return collections.Counter(e["name"] for e in self.kernels)

    def operator_counts(self):
        return collections.Counter(e["name"] for e in self.operators)

    def sync_counts(self):
        return collections.Counter(e["name"] for e in self.syncs)

    def counters(self):
        """Returns the library's counters, which are in the file's header or in a metadata event."""
        found = [self.top]
        while found:
            value = found.pop()
            if isinstance(value, dict):
                if "dropped_ring" in value:
                    return value
                found += [v for k, v in value.items() if k != "traceEvents"]
        for event in reversed(self.events):  # or the counters are in a metadata event at the end of the file
            if "dropped_ring" in event.get("args", {}):
                return event["args"]
        raise AssertionError("the file carries no loss counters")


def lost_operators(trace):
    """Returns how many operators and ranges were lost because the recorder thread was too slow on a
    busy machine."""
    return int(trace.counters().get("ranges_lost", 0))


def _examples(items, limit=3):
    return "; ".join(map(str, items[:limit])) + (f" … {len(items)} in all" if len(items) > limit
                                                 else "")


def nothing_lost(trace):
    lost = {name: int(value) for name, value in trace.counters().items()
            if (name.startswith("dropped") or name in ("names_lost", "records_invalid", "records_no_time",
                                                       "undelivered_at_exit"))
            and int(value) != 0}
    assert not lost, f"loss counters: {lost}"


def one_call_per_correlation(trace):
    count = collections.Counter(e["args"]["correlation"] for e in trace.cpu)
    twice = [c for c, n in count.items() if n > 1]
    assert not twice, f"correlation ids with several CPU rows: {_examples(twice)}"


def every_operation_has_its_call(trace):
    calls = {e["args"]["correlation"] for e in trace.cpu}
    orphans = [e["name"] for e in trace.gpu if e["args"]["correlation"] not in calls]
    assert not orphans, f"GPU operations without a call: {_examples(orphans)}"
    return f"{len(trace.gpu)} operations"


def _captured(trace):
    """Returns the correlation ids of calls made on a thread during its stream capture. Such calls create
    graph nodes and enqueue no operation."""
    captured, capturing = set(), collections.Counter()
    for event in sorted(trace.cpu, key=lambda e: e["ts"]):
        thread = event["tid"]
        if re.match(r"cu(da)?StreamBeginCapture", event["name"]):
            capturing[thread] += 1
        elif re.match(r"cu(da)?StreamEndCapture", event["name"]):
            capturing[thread] -= 1
        elif capturing[thread] > 0:
            captured.add(event["args"]["correlation"])
    return captured


def every_launch_has_its_operation(trace):
    operations = {e["args"]["correlation"] for e in trace.gpu} | _captured(trace)
    launches = [e for e in trace.cpu if LAUNCHES.match(e["name"])]
    without = [e["name"] for e in launches if e["args"]["correlation"] not in operations]
    assert not without, f"{len(without)} launches without an operation: {_examples(without)}"
    return f"{len(launches)} launches"


def operations_follow_their_launch(trace):
    call = {e["args"]["correlation"]: e for e in trace.cpu}
    early = [(e["name"], ns(call[c]["ts"]) - ns(e["ts"])) for e in trace.gpu
             if (c := e["args"]["correlation"]) in call and ns(e["ts"]) < ns(call[c]["ts"])]
    assert not early, f"operations that start before their launch (name, ns): {_examples(early)}"


def streams_do_not_overlap(trace):
    """Checks that each operation of a stream begins after the previous operation has ended. Graph nodes are
    left out, because branches of a graph run at the same time and may all name the launch stream."""
    streams = collections.defaultdict(list)
    for event in trace.gpu:
        if not event["args"].get("graph id"):
            key = (event["args"]["device"], event["args"]["context"], event["args"]["stream"])
            streams[key].append((ns(event["ts"]), ns(event["ts"]) + ns(event["dur"]),
                                 event["args"]["correlation"], event["name"]))
    overlaps, disorder = [], []
    for key, operations in streams.items():
        operations.sort()
        for before, after in zip(operations, operations[1:]):
            if after[0] < before[1] - 2:  # each of the two times may be off by one in the last digit
                overlaps.append((key, before[3], after[3], before[1] - after[0]))
            if after[2] < before[2]:
                disorder.append((key, before[2], after[2]))
    assert not overlaps, f"overlaps in a stream (…, ns): {_examples(overlaps)}"
    assert not disorder, f"later launch runs first in a stream: {_examples(disorder)}"
    return f"{len(streams)} streams"


def no_negative_times(trace):
    bad = [(e["name"], e["ts"], e["dur"]) for e in trace.gpu + trace.cpu + trace.syncs
           if e["dur"] < 0 or e["ts"] <= 0]
    assert not bad, f"impossible times: {_examples(bad)}"


def flows_join_launch_and_operation(trace):
    starts, ends = collections.Counter(), collections.Counter()
    for event in trace.events:
        if event.get("cat") == "ac2g":
            (starts if event["ph"] == "s" else ends)[event["id"]] += 1
    doubled = [i for i, n in starts.items() if n != 1]
    loose = sorted(set(starts) ^ set(ends))
    assert not doubled, f"flow ids that start twice: {_examples(doubled)}"
    assert not loose, f"flows with one end: {_examples(loose)}"
    calls = {e["args"]["correlation"] for e in trace.cpu}
    expected = {e["args"]["correlation"] for e in trace.gpu} & calls
    assert len(starts) == len(expected), f"{len(starts)} flows for {len(expected)} launches"
    return f"{len(starts)} flows"


def process_is_named_first(trace):
    first = trace.events[0]
    assert first["ph"] == "M" and first["name"] == "process_name", f"first event: {first}"


INVARIANTS = (nothing_lost, one_call_per_correlation, every_operation_has_its_call,
              every_launch_has_its_operation, operations_follow_their_launch,
              streams_do_not_overlap, no_negative_times, flows_join_launch_and_operation,
              process_is_named_first)
