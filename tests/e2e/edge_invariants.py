"""Checks rules that every set of edges must follow. The rules do not need the simulator's truth, so they
apply to any file:

- a source had completed when the wait returned (within one tick of the GPU's clock), and its launch had
  begun by then;
- there are no cycles: no operation waits for a later operation of its own thread or stream;
- no wait is longer than the call that waited."""
import collections
import graphlib
import typing
from collections.abc import Callable, Iterable

import harness

TICK_NS = 1000


class Span(typing.NamedTuple):
    """A GPU operation on its stream, or a call on its thread; times in ns."""
    correlation: int
    lane: tuple
    start: int
    end: int


class Spans:
    """All calls and GPU operations of a file."""

    def __init__(self, calls: Iterable[Span], operations: Iterable[Span]):
        """`lane` is (thread,) for a call, and (device, context, stream) for an operation."""
        self.calls = {call.correlation: call for call in calls}
        # a list, because the launch of a graph has several operations on one stream
        self.operations = collections.defaultdict(list)
        for op in operations:
            self.operations[op.correlation, op.lane[-1]].append(op)

    def source(self, edge: dict) -> list[Span]:
        """Returns the operations with the correlation id of the edge's source. Returns an empty
        list if the source was enqueued before the file begins."""
        return self.operations.get((edge["src_correlation"], edge["src_stream"]), [])

    def destination(self, edge: dict) -> list[Span]:
        if edge["dst_point"] == "start":
            return self.operations.get((edge["dst_correlation"], edge["dst_stream"]), [])
        return [self.calls[edge["dst_correlation"]]] if edge["dst_correlation"] in self.calls else []


def of_rows(rows: Iterable[dict], times: Callable[[dict], tuple[int, int]]) -> Spans:
    """Collects the spans of a trace's rows. `times` returns the start and end of a row in ns."""
    calls, operations = [], []
    for row in rows:
        args = row.get("args", {})
        if row.get("cat") in ("cuda_runtime", "cuda_driver"):
            calls.append(Span(args["correlation"], (row["tid"],), *times(row)))
        elif row.get("cat") in ("kernel", "gpu_memcpy", "gpu_memset"):
            operations.append(Span(args["correlation"], (args["device"], args["context"], args["stream"]),
                                   *times(row)))
    return Spans(calls, operations)


def of_trace(trace: harness.Trace) -> Spans:
    return of_rows(trace.events, lambda row: (row["start"], row["end"]))


def contradictions(edges: list[dict], spans: Spans) -> list[str]:
    """Returns a message for each rule that an edge breaks."""
    return [*_times(edges, spans), *_cycles(edges, spans), *_long_waits(edges, spans)]


def _times(edges: list[dict], spans: Spans) -> Iterable[str]:
    for edge in edges:
        sources, destinations = spans.source(edge), spans.destination(edge)
        if not destinations:
            continue
        over = max(to.start if edge["dst_point"] == "start" else to.end for to in destinations)
        if sources and min(op.end for op in sources) > over + TICK_NS:
            yield f"late: the source ended after the wait: {edge}"
        launch = spans.calls.get(edge["src_correlation"])
        if launch and launch.start > over:
            yield f"late: the source was launched after the wait: {edge}"


def _cycles(edges: list[dict], spans: Spans) -> Iterable[str]:
    """Reports cycles. All operations of one launch on one stream count as one node here.
    (Dependencies between these operations are checked only by the comparison with the truth.)"""
    order = graphlib.TopologicalSorter()
    lanes = collections.defaultdict(list)
    for call in spans.calls.values():
        order.add((call.correlation, "end"), (call.correlation, "begin"))
        lanes[call.lane].append(call)
    for calls in lanes.values():
        calls.sort(key=lambda call: call.start)
        for before, call in zip(calls, calls[1:]):
            if before.end <= call.start:  # the earlier call has returned, so it does not enclose this call
                order.add((call.correlation, "begin"), (before.correlation, "end"))
    streams = collections.defaultdict(list)
    for key, ops in spans.operations.items():
        order.add(key, (key[0], "begin"))
        streams[ops[0].lane].append((ops[0].start, key))
    for ops in streams.values():
        ops.sort()
        for (_, before), (_, key) in zip(ops, ops[1:]):
            order.add(key, before)
    for edge in edges:
        source = edge["src_correlation"], edge["src_stream"]
        if edge["dst_point"] == "end":
            order.add((edge["dst_correlation"], "end"), source)
        elif edge["src_correlation"] != edge["dst_correlation"]:
            order.add((edge["dst_correlation"], edge["dst_stream"]), source)
    try:
        order.prepare()
    except graphlib.CycleError as error:
        yield f"cycle: {error.args[1]}"


def _long_waits(edges: list[dict], spans: Spans) -> Iterable[str]:
    waited = collections.Counter()
    for edge in edges:
        if edge["dst_point"] == "end" and edge["released"] and edge["dst_correlation"] in spans.calls:
            waited[spans.calls[edge["dst_correlation"]].lane] += edge["wait_ns"]
    for lane, wait in waited.items():
        calls = [call for call in spans.calls.values() if call.lane == lane]
        ran = max(call.end for call in calls) - min(call.start for call in calls)
        if wait > ran:
            yield f"long: thread {lane[0]} waited {wait} ns of {ran}"
