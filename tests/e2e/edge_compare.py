"""Compares the edges that syncline found with the edges that the simulator's truth requires (edge_truth.py).

A destination is `unsure` if its call overlaps a conflicting call of another thread, so that the
records fit several orders. Unsure destinations are counted separately. Their edges must fit one of
these orders and have the right times, and may have the basis `overlapping`. A destination is
`blurred` if a graph was launched on a stream that no record names, and that launch may have
conflicted with the destination's call. Edges of a blurred destination may also have the basis
`overlapping`, and are otherwise checked like all edges."""
import collections
import dataclasses
import itertools

import harness
from edge_truth import GUESSED, INFERRED, NONE, STALLS, RECORDED, Destination, Truth, edge_of

# kinds of waits for a whole context. If streams are unknown, some of their edges are missing and
# counted
OF_A_CONTEXT = {"device_sync", "context_sync"}
# kinds of waits that have no record. So when records are lost, missing edges of these kinds are not
# counted
UNCOUNTED = {"legacy_default", "graph"}
# Each of these reasons can explain only missing edges of the listed kinds. All other reasons can explain
# missing edges of any kind.
EXPLAINS = {
    "ambiguous": GUESSED,  # the context of a free is ambiguous
    "flag_unknown": {"legacy_default"},
    # The record of an event is missing, or the launch of an operation has no record. Edges of later
    # operations may be missing, too.
    "no_record": {"event_sync", "event_query", "stream_wait", "legacy_default", "graph"},
    "graph_inside": set(),
}
TICK_NS = 1000


def printed(edge: dict) -> tuple:
    """Returns the edge of one line of `syncline edges --json` as a tuple that can be compared with edge_of()."""
    return (edge["kind"], edge["src_correlation"], edge["src_stream"], edge["src_device"],
            edge["dst_correlation"], edge["dst_point"], edge["dst_stream"], edge["wait_ns"],
            edge["wake_ns"])


@dataclasses.dataclass
class Outcome:
    wrong: list[str] = dataclasses.field(default_factory=list)
    right: int = 0  # number of correct edges
    # number of correct edges of each kind
    kinds: collections.Counter = dataclasses.field(default_factory=collections.Counter)
    unsure: int = 0  # number of destinations whose calls overlap other calls
    left_out: list["LeftOut"] = dataclasses.field(default_factory=list)
    unreleased: list[str] = dataclasses.field(default_factory=list)  # waits without a releasing edge


@dataclasses.dataclass
class LeftOut:
    """A call, or a set of GPU operations, that lacks edges which it must have."""
    text: str
    reasons: frozenset[str]  # each of these reasons can explain the missing edges


def why_left_out(truth: Truth, corr: int, kinds: set[str], lost: collections.Counter) -> frozenset[str]:
    reasons = {reason for reason in lost if kinds & EXPLAINS.get(reason, kinds)}
    unknown = {follow["corr"] for follow in truth.nameless_follows()} | truth.placeless_launches()
    if any(truth.began(before) <= truth.began(corr) for before in unknown):
        reasons |= {"no_record"} & set(lost)
    return frozenset(reasons)


def unexplained(left_out: list[LeftOut], lost: collections.Counter) -> list[LeftOut]:
    """Returns the left-out destinations that no counter explains. Each count in `lost` explains one
    destination. By Hall's theorem, all destinations are explained unless there is a group of
    reasons whose total count is lower than the number of destinations that only this group can
    explain."""
    groups = collections.Counter(out.reasons for out in left_out)
    for size in range(1, len(groups) + 1):
        for some in itertools.combinations(groups, size):
            reasons = frozenset().union(*some)
            if sum(groups[group] for group in some) > sum(lost[reason] for reason in reasons):
                return [out for out in left_out if out.reasons in some]
    return []


def compare(truth: Truth, edges: list[dict], lost: collections.Counter, whole: bool,
            window: tuple[int, int]) -> Outcome:
    """Compares all edges of a run. `whole`: no record was lost and the whole run was recorded, so only edges
    inside graphs may be missing. `window`: only calls and operations that began in this time span are
    expected."""
    out = Outcome()
    # If earlier work or a record is missing, it is not known which operation was the oldest of a queue.
    # (0 stands for the record of CUPTI's final flush, which is never delivered.)
    if ((truth.lost_ops | truth.lost_calls) - {0}
            or any(op["queued"] < window[0] for op in truth.ops.values())):
        for to in (to for to in truth.destinations if to.kind in STALLS):
            to.may, to.must = to.may + to.must, []
    found = collections.defaultdict(list)
    for edge in edges:
        if may_have_staged(truth, edge) or may_have_loaded(truth, edge):
            continue
        found[edge["dst_correlation"], edge["dst_point"], edge["dst_stream"]
              if edge["dst_point"] == "start" else None].append(edge)
    wanted = collections.defaultdict(list)
    for to in truth.destinations:
        wanted[to.corr, "end" if to.stream is None else "start", to.stream].append(to)
    for key in sorted(set(found) | set(wanted), key=str):
        one(out, truth, key, wanted.get(key, []), found.get(key, []), whole, window, lost)
    counted = sum(n for reason, n in lost.items() if reason != "graph_inside")
    # In `ambiguous`, syncline counts frees whose context is unknown. It also counts each
    # overlapping call whose order is unknown, at most once.
    expected = lost["ambiguous"] if len(truth.contexts) > 1 else min(lost["ambiguous"], out.unsure)
    expected += lost["cycle"] if out.unsure else 0  # syncline may have used another order of the overlapping calls
    expected += lost["no_record"] if truth.placeless_launches() else 0
    if len(out.unreleased) > sum(lost.values()):
        out.wrong.append(f"released by none of the edges, more often than is counted: {out.unreleased[:4]}")
    if bad := unexplained(out.left_out, lost):
        out.wrong.append(f"left out: {len(bad)} waits have no edges, what is counted does not explain "
                         f"them: {dict(lost)}; {[each.text for each in bad[:4]]}")
    if whole and counted > expected:
        out.wrong.append(f"everything was there, but edges were left out: {dict(lost)}")
    return out


def may_have_loaded(truth: Truth, edge: dict) -> bool:
    """Says whether the edge is one of a load of a module before which the thread was descheduled. By its
    record the load had begun while the source was pending, but the simulator looked only when it had ended."""
    correlation = edge["dst_correlation"]
    told, call = truth.stalls_told.get(correlation & 0xffffffff), truth.calls.get(correlation)
    return (edge["kind"] == "module_load" and told is not None and call is not None
            and not any(to.corr == correlation and to.kind == "module_load" for to in truth.destinations)
            and any(op["corr"] == edge["src_correlation"] and told < op["end"] <= call["end"]
                    for op in truth.ops.values()))


def may_have_staged(truth: Truth, edge: dict) -> bool:
    """Says whether the edge is an inferred one of an asynchronous copy from pageable memory. On a real GPU
    such a call may wait for earlier work. In the simulator it never does, but its thread may be descheduled
    meanwhile, and the records are the same. Then the source must have ended during the call, and the copy
    must have begun during the call."""
    if (edge["kind"], edge["basis"], edge["dst_point"]) != ("copy", "inferred", "end"):
        return False
    call = truth.calls.get(edge["dst_correlation"])
    return (call is not None
            and any(op["corr"] == edge["dst_correlation"] and op["start"] < call["end"]
                for op in truth.ops.values())
            and any(op["corr"] == edge["src_correlation"] and call["start"] < op["end"] <= call["end"]
                    for op in truth.ops.values()))


def one(out: Outcome, truth: Truth, key, to: list[Destination], found: list[dict], whole: bool, window,
        lost: collections.Counter):
    """Compares the edges of one call, or of the operations that one call enqueued on one stream."""
    must = collections.Counter(edge for d in to for edge in d.must)
    # If an earlier wait covered this source, the edge is not required. But that wait's edges may
    # have been left out, and then the edge may be there.
    may = collections.Counter(edge for d in to for edge in d.may + ([] if whole else d.covered))
    out.wrong += [text for edge in found for text in misnamed(truth, to, edge)]
    have = collections.Counter(printed(edge) for edge in found)
    # CUPTI writes a call's record when the call returns, so a call is in the window of its return.
    inside = all(window[0] <= d.start and (d.start if d.stream is not None else d.end) < window[1]
                 for d in to)
    if any(d.unsure for d in to):
        out.unsure += 1
        out.wrong += [f"impossible at {key}: {edge}" for edge in have
                      if not any(d.nameless or is_possible(truth, d, edge) for d in to)]
        # Two rules can give an edge from the same source. The order of the calls decides which kind is
        # reported.
        sure = {printed(edge) for edge in found if edge["basis"] == "exact"}
        allowed = {edge[1:] for d in to for edge in d.must + d.may + d.covered}
        out.wrong += [f"exact at {key}, which overlaps others: {edge}" for edge in sure
                      if edge[1:] not in allowed
                      and not any(d.nameless or says_nothing_new(truth, d, edge) for d in to)]
        out.wrong += [f"released and exact at {key}, which overlaps others: {edge}" for edge in found
                      if whole and edge["released"] and edge["basis"] == "exact"
                      and any(wanted[7] > edge["wait_ns"] for d in to for wanted in d.must)]
        return
    if not to and truth.broken and {edge["kind"] for edge in found} <= GUESSED:
        # a reset does not wait for a broken context, but the reset's record does not show that the context is
        # broken
        return
    if not to and found:
        out.wrong.append(f"false: nobody waits here: {found}")
        return
    for edge in found:
        wanted = {"inferred" if edge["kind"] in INFERRED else "exact"}
        if not whole and any(comes_after_unseen(truth, d, window) for d in to):
            wanted.add("inferred")
        if any(d.blurred for d in to):
            wanted.add("overlapping")
        if edge["basis"] not in wanted:
            out.wrong.append(f"basis of {edge}")
    if any(d.nameless for d in to):
        if wrong := {edge[1] for edge in have} - sources(truth, to):
            out.wrong.append(f"false at {key}: from {sorted(wrong)}")
        return
    false = have - (must + may)
    marked = {printed(edge) for edge in found if edge["basis"] == "inferred" and not whole}
    for edge in list(false):
        if any(says_nothing_new(truth, d, edge) for d in to):
            del false[edge]
        elif told := by_another_rule(truth, to, edge) or (edge in marked and by_who_saw_less(
                truth, to, edge, window)):
            must -= collections.Counter({told: false.pop(edge)})
    if not whole:
        # Edges with a wait of 0 may be missing if their source completed before the window or
        # before a loss.
        must = collections.Counter({edge: n for edge, n in must.items() if edge[7]})
    missing = must - have if not any(d.bereft for d in to) else collections.Counter()
    if false:
        out.wrong.append(f"false at {key}: {sorted(false)}; wanted {sorted(must)}, allowed {sorted(may)}")
    elif (missing and inside and any(edge["released"] for edge in found) and to[0].kind not in INFERRED
          and is_partly_told(to, have, missing)):
        out.wrong.append(f"missing at {key}: {sorted(missing)}; there is {sorted(have)}")
    elif missing and inside and not (truth.lossy and {edge[0] for edge in missing} <= UNCOUNTED):
        out.left_out.append(LeftOut(f"at {key}: {sorted(missing)}",
                                    why_left_out(truth, to[0].corr, {edge[0] for edge in missing}, lost)))
    out.right += sum(have.values())
    out.kinds.update(edge[0] for edge in have.elements())
    if have and len(to) == 1:  # of a graph's launch, each node has its own releasing source
        released(out, key, found)


def misnamed(truth: Truth, to: list[Destination], edge: dict) -> list[str]:
    """Returns a message for each name or thread in the edge that differs from the truth. If a call has no
    record, neither its name nor its thread can be known."""
    def named(correlation, stream):
        return {harness.expected_operation(op)[1] for op in truth.ops.values()
                if op["kind"] in RECORDED and (op["corr"], op["stream"]) == (correlation, stream)}

    call = truth.calls.get(edge["dst_correlation"])
    lost = call and any(d.nameless for d in to) or edge["dst_correlation"] & NONE in truth.lost_calls
    names = {None} if lost else set()
    threads = {None, call["thread"]} if lost else {call["thread"]} if call else set()
    if edge["dst_point"] == "start":
        names = named(edge["dst_correlation"], edge["dst_stream"])
    elif call:
        names |= {harness.plain(call["name"])}
    wrong = {"src_name": edge["src_name"] not in named(edge["src_correlation"], edge["src_stream"]),
             "dst_name": (edge["dst_name"] and harness.plain(edge["dst_name"])) not in names,
             "dst_thread": truth.threads_known and edge["dst_thread"] not in threads}
    return [f"{field} of {edge}" for field, is_wrong in wrong.items() if is_wrong]


def is_partly_told(to: list[Destination], have: collections.Counter,
                   missing: collections.Counter) -> bool:
    """Returns whether only some of a destination's required edges were found. Graph nodes on one
    stream are several destinations with the same key here, so the edge of one node may be found
    while the edge of another node is missing."""
    if len(to) == 1:
        return bool(have)
    return any(missing.keys() & set(d.must) and have.keys() & set(d.must + d.may) for d in to)


def possible_frees(truth: Truth, to: Destination, point: str) -> set[int]:
    """Returns all times at which the destination could have continued, over every order that its stream's
    operations may have had."""
    if point == "end":
        return {to.free}
    returned = truth.calls[to.corr]["end"]
    return {to.free, returned} | {max(returned, op["end"]) for op in truth.ops.values()
                                  if op["stream"] == to.stream and op["queued"] <= to.start}


def is_possible(truth: Truth, to: Destination, edge: tuple) -> bool:
    """Returns whether the edge is correct for at least one order of the overlapping calls. The
    source must have been enqueued and completed before the wait returned (within one tick between
    the GPU's and the host's clock). The edge's times must match the times of source and
    destination."""
    point = edge[5]
    last = to.start if point == "start" else to.end
    return any(edge == edge_of(edge[0], op, to.corr, point, free, last, to.stream)
               for op in truth.ops.values()
               if op["corr"] == edge[1] and op["end"] <= last + TICK_NS and op["queued"] <= last
               for free in possible_frees(truth, to, point))


def says_nothing_new(truth: Truth, to: Destination, edge: tuple) -> bool:
    """Returns whether the edge's source precedes another source of the same destination. Such an
    edge is redundant but true. It can occur if the record of the other source was lost."""
    point, last = edge[5], to.start if edge[5] == "start" else to.end
    frees = possible_frees(truth, to, point) if truth.lost_ops else {to.free}
    return any(edge == edge_of(edge[0], truth.ops[id_], to.corr, point, free, last, to.stream)
               for id_ in to.behind for free in frees)


def by_another_rule(truth: Truth, to: list[Destination], edge: tuple) -> tuple | None:
    """Returns the required `stream_wait` edge that syncline reports as `legacy_default`, because the record
    of the stream wait was lost. Returns None if there is no such edge."""
    same = ("stream_wait", *edge[1:])
    told = truth.lossy and edge[0] == "legacy_default" and any(same in d.must for d in to)
    return same if told else None


def comes_after_unseen(truth: Truth, to: Destination, window: tuple[int, int]) -> bool:
    """Returns whether the destination is a GPU operation whose predecessor on its stream was not
    recorded or does not exist. A call that began before the window may enqueue until it returns."""
    since = max((call["end"] for call in truth.calls.values() if call["start"] < window[0]), default=0)
    ops = [op for op in truth.ops.values() if (op["corr"], op["stream"]) == (to.corr, to.stream)]
    before = [truth.before.get(op["id"]) for op in ops]
    return any(not op or op["id"] in truth.lost_ops or truth.lossy or
               truth.calls[op["corr"]]["start"] < max(window[0], since) for op in before)


def by_who_saw_less(truth: Truth, to: list[Destination], edge: tuple, window) -> tuple | None:
    """Returns the required edge if the found edge differs only in its times, because syncline did not see the
    destination's predecessor on the stream. Otherwise returns None."""
    for d in to:
        if comes_after_unseen(truth, d, window) and is_possible(truth, d, edge):
            for wanted in d.must + d.may:
                if wanted[:7] == edge[:7]:
                    return wanted
    return None


def sources(truth: Truth, to: list[Destination]) -> set[int]:
    """Returns the correlation ids of all operations that had to complete before the destination,
    directly or through other operations."""
    return {edge[1] for d in to for edge in d.must + d.may + d.covered} | {
        truth.ops[id_]["corr"] for d in to for id_ in d.behind}


def released(out: Outcome, key, found: list[dict]):
    """Checks that exactly the source with the longest wait is marked `released`. If no time was spent
    waiting, no source may be marked. If some of the awaited work is unknown, none is marked, either."""
    longest = max(edge["wait_ns"] for edge in found)
    marked = [edge for edge in found if edge["released"]]
    if longest and not marked:
        out.unreleased.append(f"at {key}: {found}")
    elif (len(marked) != (longest > 0)) or (marked and marked[0]["wait_ns"] != longest):
        out.wrong.append(f"released at {key}: {found}")
