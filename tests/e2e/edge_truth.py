"""Computes from the simulator's truth which edges a run must have.

For every waiting call and every GPU operation, the simulator records which operations had to
complete before. The expected numbers (`wait_ns`, `wake_ns`, `released`) are computed from the times
of calls and operations by the definitions in docs/sync-edges.md, not by syncline's code.

Each possible edge is in one of three classes:
- demanded: an edge from every operation in the set that a wait waits for, except edges with a wait
  of 0 to streams that an earlier wait of the thread covers;
- allowed: edges to operations that precede a demanded source (true, but redundant), and edges with a wait
  of 0 that depend on facts without a record (work of destroyed streams, waits before the window);
- false: all other edges.

If several threads use the same stream, event or executable graph at the same time, records do not
determine the order. The destinations are then `unsure`. A graph may be launched on a stream that no
record names. A destination is `blurred` if it would be unsure for another launch stream of the
graph. A blurred destination must have the same edges, but syncline need not report these edges as
`exact`."""
import collections
import dataclasses

import harness

GUESSED = {"free", "implicit"}  # no record names the context of these waits
STALLS = {"queue_full", "module_load"}  # waits of calls that enqueue work
MODULE_LOAD_NS = 20_000  # a load has an edge only to work that was still pending for this time
INFERRED = GUESSED | STALLS
OVERHEADS = {4 << 16, 6 << 16}  # CUPTI's records that show such waits: module loading, command buffer full
QUERIES = {"event_query", "stream_query"}  # a query does not wait, even if an operation ends while the query runs
UNRECORDED = INFERRED | {"copy", "memset"}  # waits for which CUPTI makes no record
NONE = 0xffffffff  # stands for a missing stream or event
LEGACY = 7
RECORDED = ("kernel", "memcpy", "memset")


@dataclasses.dataclass
class Destination:
    """A call that waits, or a GPU operation, with the edges that it must have and may have."""
    kind: str
    corr: int
    thread: int
    start: int
    end: int
    stream: int | None = None  # the stream of a GPU operation; None for a call
    must: list[tuple] = dataclasses.field(default_factory=list)
    may: list[tuple] = dataclasses.field(default_factory=list)
    covered: list[tuple] = dataclasses.field(default_factory=list)  # edges that an earlier wait covers
    # ids of operations that the GPU had to run before the sources of the edges in `must`
    behind: set[int] = dataclasses.field(default_factory=set)
    free: int = 0  # time from which the destination waits only for its sources, in ns
    unsure: bool = False  # the destination's call overlaps conflicting calls
    blurred: bool = False  # the records do not show whether the destination is unsure
    bereft: bool = False  # the record that shows the wait was lost
    nameless: bool = False  # the destination's call has no record, so syncline uses times of other records


@dataclasses.dataclass
class Action:
    """A call, with the streams and events whose state it reads and changes."""
    corr: int
    thread: int
    start: int
    end: int
    reads: set = dataclasses.field(default_factory=set)
    writes: set = dataclasses.field(default_factory=set)
    # further streams and events that the call may read and change
    anywhere: set = dataclasses.field(default_factory=set)
    ops: list = dataclasses.field(default_factory=list)
    untold: bool = False  # one of the call's operations has no record of its end
    waits: bool = False
    record: bool = False
    unsure: bool = False  # the call overlaps a conflicting call
    tainted: bool = False  # the call depends on an unsure call


class Truth:
    def __init__(self, lines: list[dict], log: list[dict], inside_graphs=False):
        """`log`: the simulator's log of recorded and lost records. `inside_graphs`: a subscriber received the
        dependencies between graph nodes."""
        self.inside_graphs = inside_graphs
        lost = [line for line in log if line.get("what") in harness.LOST]
        self.lossy = bool(lost)
        self.lost_ops = {line["op"] for line in lost}
        self.lost_calls = {line["correlation"] for line in lost}
        self.threads_known = not any(line.get("what") == "failed" and
                                     line["function"] == "cuptiSetThreadIdType" for line in log)
        self.calls: dict[int, dict] = {}
        for call in (line for line in lines if line["t"] == "call"):
            known = self.calls.get(call["corr"])
            if not known or call["domain"] == "runtime":
                self.calls[call["corr"]] = call
        self.ops = {op["id"]: op for op in lines if op["t"] == "op"}
        self.waits = [line for line in lines if line["t"] == "wait"]
        # calls whose wait for room in a queue, or for a module, CUPTI recorded, and when the record began
        self.stalls_told = {line["correlation"]: line["start"] for line in log
                            if line.get("what") == "overhead" and line["type"] in OVERHEADS}
        self._find_unrecorded(log)
        self.records = [line for line in lines if line["t"] == "event"]
        self.follows = [line for line in lines if line["t"] == "follow"]
        self.flags = {(line["context"], line["stream"]): line["flags"] for line in lines
                      if line["t"] == "object" and line["kind"] == "stream" and line["created"]}
        self.destroyed = {(line["context"], line["stream"]) for line in lines
                          if line["t"] == "object" and line["kind"] == "stream" and not line["created"]}
        self.before: dict[int, dict] = {}  # operation -> the previous operation on its stream
        last: dict[tuple, dict] = {}
        for _, op in sorted(self.ops.items()):
            place = place_of(op)
            if place in last:
                self.before[op["id"]] = last[place]
            if op["kind"] in RECORDED:
                last[place] = op
        # operation -> all operations that precede it, directly or not
        self.ancestors: dict[int, set[int]] = {}
        for id_, op in sorted(self.ops.items()):
            links = {link["op"] for link in op["after"]}
            self.ancestors[id_] = links.union(*(self.ancestors.get(link, set()) for link in links))
        self.broken = any(700 <= call["result"] <= 720 for call in self.calls.values())
        self.contexts = {line["context"] for line in [*self.ops.values(), *self.waits]}
        self.destinations = self._calls() + self._operations()
        self._taint()
        self._lose()
        self._stray()

    def _find_unrecorded(self, log: list[dict]):
        """Finds the operations, waits and calls whose kind of record was turned off."""
        spans = collections.defaultdict(list)  # kind or name of a call -> [from, until]
        for line in log:
            if line.get("what") == "enabled":
                spans[harness.plain(line["kind"])].append([line["ns"], 1 << 64])
            elif line.get("what") == "disabled":
                for span in spans[harness.plain(line["kind"])]:
                    span[1] = min(span[1], line["ns"])

        def recorded(call, *kinds):
            return call and any(begin <= call["start"] and call["end"] < end
                                for kind in kinds for begin, end in spans[kind])

        self.lost_ops |= {op["id"] for op in self.ops.values()
                          if not recorded(self.calls.get(op["corr"]), op["kind"])}
        self.lost_calls |= {wait["corr"] & NONE for wait in self.waits if wait["kind"] not in UNRECORDED
                            and not recorded(self.calls.get(wait["corr"]), "sync")}
        self.unrecorded_calls = {corr for corr, call in self.calls.items() if not recorded(
            call, call["domain"], harness.plain(call["name"]))}

    def _lose(self):
        """Marks the destinations whose names or threads cannot be known because the record that carries them
        was lost."""
        behind = {op["id"] for op in self.ops.values()
                  if op["id"] in self.lost_ops or self.lost_ops & {link["op"] for link in op["after"]}}
        gone = self.lost_calls | {self.ops[id_]["corr"] & NONE for id_ in behind}
        gone |= {wait["corr"] & NONE for wait in self.waits
                 if self.lost_ops & {link["op"] for link in wait["sources"]}}
        for to in self.destinations:
            to.nameless = to.corr in self.unrecorded_calls
            to.bereft = to.nameless or to.corr & NONE in gone

    def _stray(self):
        """Marks each free for which syncline may assume a wrong context as unsure. No record has
        the context of a free, so syncline assumes the context in which the thread was last
        active."""
        used = sorted([(line["corr"], line["thread"], line["context"]) for line in self.ops.values()]
                      + [(line["corr"], self.calls[line["corr"]]["thread"], line["context"])
                         for line in self.records if line["corr"] in self.calls]
                      + [(line["corr"], line["thread"], line["context"]) for line in self.waits
                         if line["stream"] == line["event"] == NONE])
        of = {wait["corr"]: wait for wait in self.waits if wait["kind"] in GUESSED}
        for to in self.destinations:
            if to.kind in GUESSED:
                before = [place for corr, thread, place in used if thread == to.thread and corr < to.corr
                          and corr not in of]
                to.unsure |= len(self.contexts) > 1 and before[-1:] != [of[to.corr]["context"]]

    def _members(self, links: list[dict]) -> list[dict]:
        """Returns the operations of a set. An operation that makes no record (a stream-ordered free) is
        replaced by the operations that precede it."""
        found = []
        for link in links:
            op = self.ops[link["op"]]
            if op["kind"] in RECORDED:
                found.append(link)
                continue
            found += [member if link["via"] == "stream" else {**member, "via": link["via"]}
                      for member in self._members(op["after"])]
        newest: dict[tuple, dict] = {}
        for link in found:
            place = place_of(self.ops[link["op"]])
            if place not in newest or newest[place]["op"] < link["op"]:
                newest[place] = link
        return list(newest.values())

    # ---- the edges of calls ----

    def _calls(self) -> list[Destination]:
        found = []
        covered = collections.defaultdict(dict)  # thread -> stream -> last awaited operation
        maybe = collections.defaultdict(dict)
        for wait in sorted(self.waits, key=lambda line: line["corr"]):
            call = self.calls.get(wait["corr"])
            if not call or call["result"] != 0 or wait["result"] != 0:
                continue
            thread = call["thread"]
            to = Destination(wait["kind"], wait["corr"], thread, call["start"], call["end"])
            members = self._members(wait["sources"])
            to.free = call["start"]
            to.behind = set().union(*(self.ancestors[link["op"]] for link in members))
            for link in members:
                op = self.ops[link["op"]]
                edge = edge_of(wait["kind"], op, wait["corr"], "end", call["start"], call["end"])
                place = place_of(op)
                if wait["kind"] in STALLS:
                    told = self.stalls_told.get(wait["corr"] & NONE, wait["start"])
                    least = MODULE_LOAD_NS if wait["kind"] == "module_load" else 0
                    if op["end"] > told:
                        (to.must if op["end"] > max(wait["start"], told + least) else to.may).append(edge)
                elif wait["kind"] in INFERRED:
                    if op["end"] > call["start"]:
                        to.must.append(edge)
                elif op["id"] in to.behind:
                    to.may.append(edge)
                elif op["end"] > call["start"]:
                    to.must.append(edge)
                elif covered[thread].get(place, 0) >= op["id"]:
                    to.covered.append(edge)
                elif maybe[thread].get(place, 0) >= op["id"] or place in self.destroyed:
                    to.may.append(edge)
                else:
                    to.must.append(edge)
            if wait["stream"] == wait["event"] == NONE:
                to.may += self._gone(wait, call)
            if wait["kind"] in STALLS:
                self._stall(to, wait, call)
            sure = wait["kind"] not in INFERRED
            for link in members:
                op = self.ops[link["op"]]
                known = (covered if sure else maybe)[thread]
                known[place_of(op)] = max(known.get(place_of(op), 0), op["id"])
            found.append(to)
        return found

    def _stall(self, to: Destination, wait: dict, call: dict):
        """Adds the edges that a call may have that waited before it enqueued work. Only edges of a call whose
        wait was recorded, and that enqueued a recorded operation and waited for nothing else, are required. A
        wait for a node of a graph is not required: of several streams in a graph, another may count."""
        if (wait["corr"] & NONE not in self.stalls_told
                or any(self.ops[link["op"]]["graph"] for link in wait["sources"])
                or not any(op["corr"] == wait["corr"] and op["kind"] in RECORDED and not op["graph"]
                           for op in self.ops.values())
                or any(other["corr"] == wait["corr"] and other is not wait for other in self.waits)):
            to.may += to.must
            to.must = []
        # The operation that ended last may make no record. Then another one of the stream may fit.
        to.may += [edge_of(wait["kind"], op, wait["corr"], "end", call["start"], call["end"])
                   for op in self.ops.values() if wait["kind"] == "queue_full" and op["corr"] < wait["corr"]
                   and place_of(op) == (wait["context"], wait["stream"])
                   and wait["start"] < op["end"] <= wait["end"]]

    def began(self, corr: int) -> tuple[int, int]:
        """Returns a key that orders calls by start time. Correlation ids may be in a different order."""
        return self.calls[corr]["start"], corr

    def _is_before(self, a: dict, b: dict) -> bool:
        return self.began(a["corr"]) < self.began(b["corr"])

    def nameless_follows(self) -> list[dict]:
        """Returns the stream waits whose event record syncline cannot know: the record was lost, or
        CUPTI is older than 12.8 and the event was recorded in another context."""
        found = []
        for follow in self.follows:
            of = [r for r in self.records if r["event"] == follow["event"] and self._is_before(r, follow)]
            if of and (of[-1]["context"] != follow["context"] or of[-1]["corr"] & NONE in self.lost_calls):
                found.append(follow)
        return found

    def placeless_launches(self) -> set[int]:
        """Returns the graph launches of which no recorded operation ran on the launch stream. No
        record names the stream of such a launch."""
        nodes = [op for op in self.ops.values() if op["graph"] and op["kind"] in RECORDED]
        return {op["corr"] for op in nodes} - {op["corr"] for op in nodes if self._on_launch_stream(op)
                                               and op["id"] not in self.lost_ops}

    def _gone(self, wait: dict, call: dict) -> list[tuple]:
        """Returns edges to work that the simulator no longer lists when the call waits. This is work of
        streams that were destroyed after they had completed, of graphs launched on destroyed streams, and of
        events that destroyed streams had waited for. No record says that a stream was destroyed, so syncline
        may report these edges."""
        awaited = set()
        for follow in self.follows:
            if (follow["context"], follow["stream"]) in self.destroyed and self._is_before(follow, wait):
                records = [r for r in self.records if r["event"] == follow["event"]
                           and self._is_before(r, follow)]
                awaited.update(op["op"] for r in records[-1:] for op in r["ops"])
        last = {}
        for op in self.ops.values():
            place = place_of(op)
            branch = place not in self.flags and place[1] != LEGACY
            here = (branch or place in self.destroyed) and place[0] == wait["context"]
            over = here and op["end"] <= wait["start"]
            if (over or op["id"] in awaited) and self._is_before(op, wait):
                last[place] = max(op, last.get(place, op), key=lambda op: op["id"])
        return [edge_of(wait["kind"], op, wait["corr"], "end", call["start"], call["end"])
                for op in last.values()]

    # ---- the edges of GPU operations ----

    def _operations(self) -> list[Destination]:
        found = []
        for op in self.ops.values():
            call = self.calls.get(op["corr"])
            if op["kind"] not in RECORDED or not op["finished"] or not call:
                continue
            free = max(call["end"], self.before[op["id"]]["end"] if op["id"] in self.before else 0)
            to = Destination("operation", op["corr"], call["thread"], op["start"], op["end"],
                             op["stream"])
            members = self._members(op["after"])
            to.free = free
            to.behind = set().union(*(self.ancestors[link["op"]] for link in members))
            for link in members:
                source = self.ops[link["op"]]
                if op["graph"] and source["corr"] == op["corr"] and not self.inside_graphs:
                    continue  # a dependency inside the graph
                if place_of(source) == place_of(op):
                    continue
                kind = link["via"]
                if kind == "stream" or (op["graph"] and not self._on_launch_stream(op)):
                    kind = "graph"
                edge = edge_of(kind, source, op["corr"], "start", free, op["start"], op["stream"])
                ended = source["end"] <= free
                optional = source["id"] in to.behind or (
                    ended and place_of(source) in self.destroyed)
                (to.may if optional else to.must).append(edge)
            found.append(to)
        return found

    def _on_launch_stream(self, op: dict) -> bool:
        return op["stream"] == LEGACY or place_of(op) in self.flags

    # ---- destinations whose order is not certain, because calls overlap ----

    def _actions(self) -> list[Action]:
        actions: dict[int, Action] = {}

        def act(corr):
            call = self.calls.get(corr)
            if call and corr not in actions:
                actions[corr] = Action(corr, call["thread"], call["start"], call["end"])
            return actions.get(corr)

        for op in self.ops.values():
            if action := act(op["corr"]):
                self._enqueues(action, op["context"], op["stream"])
                action.ops.append(op)
                action.untold |= op["id"] in self.lost_ops
                if op["graph"]:  # launches of one executable graph follow each other
                    action.reads.add(("graph", op["graph"]))
                    action.writes.add(("graph", op["graph"]))
        for line in self.follows:
            if action := act(line["corr"]):
                self._enqueues(action, line["context"], line["stream"])
                action.reads.add(("event", line["event"]))
        for line in self.records:
            if action := act(line["corr"]):
                self._looks(action, line["context"], line["stream"])
                action.writes.add(("event", line["event"]))
                action.record = True
        for line in self.waits:
            if action := act(line["corr"]):
                action.waits = True
                if line["event"] != NONE:
                    action.reads.add(("event", line["event"]))
                elif line["stream"] != NONE:
                    self._looks(action, line["context"], line["stream"])
                else:
                    action.reads.add(("all", line["context"]))
        # A thread can be preempted after it takes a correlation id and before it reads the start
        # time, so ids and times can have different orders.
        return sorted(actions.values(), key=lambda action: (action.start, action.corr))

    def _looks(self, action, context, stream):
        """Adds the streams whose state a wait for a stream reads: the stream itself, and the
        streams that are ordered with it through the legacy default stream."""
        action.reads.add((context, stream))
        if stream == LEGACY:
            action.reads.add(("blocking", context))
        elif self.flags.get((context, stream)) == 1:
            action.reads.add((context, LEGACY))

    def _enqueues(self, action, context, stream):
        self._looks(action, context, stream)
        action.writes |= {(context, stream), ("all", context)}
        if self.flags.get((context, stream)) == 1:
            action.writes.add(("blocking", context))

    def _taint(self):
        actions = self._actions()
        unsure = tainted(actions)
        placeless = self.placeless_launches()  # the operations of these launches may be on any stream
        places = {x for a in actions for x in a.reads | a.writes if x[0] not in ("all", "event", "graph")}
        blurred = set()
        if placeless:
            actions = self._actions()
            for a in actions:
                a.anywhere = places if a.corr in placeless else set()
            blurred = tainted(actions)
        for to in self.destinations:
            to.unsure = to.corr in unsure
            to.blurred = to.corr in blurred


def conflict(a: Action, b: Action) -> bool:
    both = {x for x in a.writes & b.writes if x[0] not in ("all", "blocking")}
    return bool(both or a.reads & b.writes or a.writes & b.reads
                or a.anywhere & (b.reads | b.writes) or b.anywhere & (a.reads | a.writes))


def was_not_waited_for(wait: Action, launch: Action) -> bool:
    """Returns whether all operations of the launch ended after the wait had returned, so that the
    wait was not for them."""
    return bool(wait.waits and not wait.ops and launch.ops and not launch.untold
                and all(op["end"] > wait.end for op in launch.ops))


def tainted(actions: list[Action]) -> set[int]:
    """Returns the calls that overlap a conflicting call, and the calls that depend on the effects of such a
    call."""
    for i, a in enumerate(actions):
        for b in actions[i + 1:]:
            if a.thread == b.thread or a.end <= b.start or b.end <= a.start or not conflict(a, b):
                continue
            if was_not_waited_for(a, b) or was_not_waited_for(b, a):
                continue
            a.unsure = b.unsure = True
    dirty: set = set()
    for a in actions:
        a.tainted = a.unsure or bool(a.reads & dirty)
        written = {x for x in a.writes if x[0] != "all"}
        # Only an operation with a record makes the stream's tail certain again. A stream-ordered
        # free has no record.
        enqueued = any(op["kind"] in RECORDED for op in a.ops)
        if a.unsure or (a.tainted and (a.record or not enqueued)):
            dirty |= written | (a.anywhere if a.unsure else set())
        else:
            dirty -= {x for x in written if x[0] != "blocking"}
            dirty -= {("blocking", x[0]) for x in written if x[1] == LEGACY}
        for context in {x[1] for x in a.writes if x[0] == "all"}:
            # A wait for a context depends on the last operations of all its streams.
            if any(x[0] == context for x in dirty):
                dirty.add(("all", context))
            else:
                dirty.discard(("all", context))
    return {a.corr for a in actions if a.tainted}


def place_of(op: dict) -> tuple[int, int]:
    return op["context"], op["stream"]


def edge_of(kind, op, corr, point, free, end, stream=None) -> tuple:
    """Returns the edge as a tuple: kind, source, destination, wait_ns, wake_ns. Only `released` is missing."""
    last = max(op["end"], free)
    waited = 0 if kind in QUERIES else last - free
    return (kind, op["corr"], op["stream"], op["device"], corr, point, stream, waited,
            max(0, end - last))
