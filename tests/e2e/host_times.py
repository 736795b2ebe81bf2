"""Replaces the CPU's times in a recorded run by the CPU's times in another run of the same program.

On a busy machine, the CPU's times of two runs differ by more than the allowed error of a
prediction. The simulator's truth has for both runs how long each call took without its wait for the
GPU, and how long the thread took between calls. A replay of one run can therefore use the CPU's
times of the other run. The waits and the GPU's times are still taken from the trace, so the
prediction tests the sync edges."""
import collections

import harness
from chakra import Et, Node

KINDS = ("kernel", "memcpy", "memset")
NOT_READY = 600
CUT_NS = 20000  # if a launch takes longer than this after the enqueue, a busy machine has delayed it


def is_free(name: str) -> bool:
    """Returns whether the call frees memory. The waits of such a call are inferred from operations
    that ended during the call, and in another run other operations end during the call. So the
    call's whole duration counts as time of the CPU."""
    return "Free" in name


class Host:
    """Calls and waits of a run, taken from the truth only."""

    def __init__(self, run: harness.Run):
        # The number of unsuccessful queries depends on timing, so the time of these queries counts
        # as time of the CPU.
        recorded = {corr: call for corr, call in run.calls().items() if call["result"] != NOT_READY}
        self.recorded = recorded
        self.ops = {op["id"]: op for op in run.truth_of("op")}
        self.launched = collections.defaultdict(list)
        for op in self.ops.values():
            self.launched[op["corr"]].append(op)
        self.sources = {wait["corr"]: [self.ops[s["op"]] for s in wait["sources"]]
                        for wait in run.truth_of("wait") if wait["result"] == 0}
        self.threads = collections.defaultdict(list)
        for call in sorted(recorded.values(), key=lambda call: call["start"]):
            self.threads[call["thread"]].append(call)
        self.begin = min(call["start"] for call in recorded.values())
        self.end = max([call["end"] for call in recorded.values()]
                       + [op["end"] for op in self.ops.values()])

    def ends(self) -> dict[tuple, int]:
        """Returns the end of each call, and of each operation by its call and stream."""
        found = {(corr,): call["end"] for corr, call in self.recorded.items()}
        found.update({(op["corr"], op["stream"], n): op["end"] for ops in self.launched.values()
                      for n, op in enumerate(sorted(ops, key=lambda op: op["start"]))
                      if op["kind"] in KINDS})
        return found

    def by_names(self) -> list[list[dict]]:
        """Returns the list of calls of each thread. The lists are sorted by the names of their
        calls, so that their order is the same in every run."""
        return sorted(self.threads.values(), key=lambda calls: [call["name"] for call in calls])

    def enqueued_ns(self, call: dict) -> int:
        """If the call lasted for more than CUT_NS after its operation was enqueued, returns the
        time of the enqueue. Otherwise returns the call's end."""
        queued = [op["queued"] for op in self.launched[call["corr"]]]
        if queued and call["corr"] not in self.sources and min(queued) + CUT_NS < call["end"]:
            return max(call["start"], min(queued))
        return call["end"]


def same_calls(first: Host, other: Host) -> dict[int, dict]:
    """Returns a dictionary from each correlation id in the first run to the same call in the other run."""
    same = {}
    for mine, theirs in zip(first.by_names(), other.by_names(), strict=True):
        assert [call["name"] for call in mine] == [call["name"] for call in theirs]
        same.update({one["corr"]: two for one, two in zip(mine, theirs)})
    return same


def of_other_run(et: Et, same: dict[int, dict], first: Host, other: Host) -> dict[int, int]:
    """Returns the durations that the CPU nodes of `et`, a trace of the run `first`, had in the run
    `other`."""
    lanes = collections.defaultdict(list)
    for node in et.cpu:
        lanes[et.lane(node)].append(node)
    found = {}
    offset = first.begin - et.header["clock_base_ns"]
    for nodes in lanes.values():
        _thread(nodes, same, other, other.begin - offset, found)
    return found


def _thread(nodes: list[Node], same: dict[int, dict], other: Host, at: int, found: dict[int, int]):
    """Finds the durations of the nodes of one thread, and adds them to `found`. `at` is the time in
    the other run up to which all time has been assigned to nodes."""
    gap, i = None, 0
    while i < len(nodes):
        if nodes[i].correlation not in same:
            gap = gap or nodes[i]
            found[nodes[i].id] = 0
            i += 1
            continue
        pieces = [n for n in nodes[i:i + 3] if n.correlation == nodes[i].correlation]
        call = same[pieces[0].correlation]
        found.update(_call(pieces, call, other))
        found[(gap or pieces[0]).id] += call["start"] - at
        at = other.enqueued_ns(call) if len(pieces) == 1 else call["end"]
        gap, i = None, i + len(pieces)


def _call(pieces: list[Node], call: dict, other: Host) -> dict[int, int]:
    """Returns durations for the nodes of one call. NAME lasts until the enqueue. NAME.wait lasts from the end
    of the awaited operations until the enqueue, if the enqueue is later. The last node gets the rest of
    the call."""
    took = {piece.id: 0 if is_free(call["name"]) else piece.duration for piece in pieces}
    first, last = pieces[0].id, pieces[-1].id
    own = other.launched[call["corr"]]
    enqueued = max(call["start"], min((op["queued"] for op in own), default=call["start"]))
    sources = other.sources.get(call["corr"], [])
    waits = next((piece.id for piece in pieces if piece.name.endswith(".wait")), None)
    if not sources or is_free(call["name"]):
        took[last] = other.enqueued_ns(call) - call["start"]
        if first != last and not is_free(call["name"]):
            took[first], took[last] = enqueued - call["start"], call["end"] - enqueued
        return took
    over = max(call["start"], *(op["end"] for op in sources))
    took[last] = call["end"] - over
    if waits not in (None, last):
        took[waits] = max(0, enqueued - over)
        took[last] -= took[waits]
    elif own and first != last:
        took[first] = enqueued - call["start"]
    return took
