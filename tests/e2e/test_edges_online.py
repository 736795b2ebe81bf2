"""Edges found while the job runs equal the simulator's truth, whatever CUPTI does to the records. Also tests
how the trace shows edges and how `syncline edges` prints edges."""
import collections
import json

import pytest

import edge_compare
import edge_invariants
import edge_truth
import harness
from edges_tool import FIELDS
from test_tool import run as tool
from tiers import cupti_versions

STEPS = ("context stream kernel:30 copy event sync kernel:3 event graph:2 blocking memset sync stream:0 "
         "kernel:5 memset copy syncall kernel:2 event syncall")


def lost(trace: harness.Trace) -> collections.Counter:
    return collections.Counter({name.removeprefix("edges_lost_"): n
                                for name, n in trace.counters.items()
                                if name.startswith("edges_lost_") and n})


def outcome(run: harness.Run, trace: harness.Trace, whole: bool | None = True) -> edge_compare.Outcome:
    """Compares the file's edges with the truth. No edge may be false, and each missing edge must
    have a counted reason. If `whole` is None, records were lost, so edges may be missing without a
    counted reason."""
    assert run.status == 0, run.stderr
    window = trace.object["syncline"]
    out = edge_compare.compare(edge_truth.Truth(run.truth, run.log), trace.edges(), lost(trace), whole=whole,
                               window=(window["opened_ns"], window["closed_ns"]))
    wrong = [line for line in out.wrong if whole is not None or not line.startswith("left out")]
    assert not wrong, "\n".join(wrong[:5])
    assert out.right == trace.counters["edges"] or out.unsure
    assert not edge_invariants.contradictions(trace.edges(), edge_invariants.of_trace(trace))
    check_rows(trace)
    return out


def check_rows(trace: harness.Trace) -> None:
    """Checks that the args of waiting calls, and the arrows, agree with the edges."""
    edges = trace.edges()
    calls = {row["args"]["correlation"]: row for row in trace.of("cuda_runtime", "cuda_driver")}
    released = collections.defaultdict(list)
    for edge in edges:
        if edge["dst_point"] == "end":
            released[edge["dst_correlation"]].append(edge)
    told = {corr: row["args"] for corr, row in calls.items() if "wait_ns" in row["args"]}
    assert set(told) == {corr for corr in released if corr in calls}
    for corr, args in told.items():
        group = released[corr]
        assert args["wait_ns"] == max(edge["wait_ns"] for edge in group)
        assert args["wait_kind"] == group[0]["kind"]
        by = [edge for edge in group if edge["released"]]
        assert [edge["src_correlation"] for edge in by] == \
            ([args["released_by"]] if "released_by" in args else [])
        assert by or args["wait_ns"] == 0 or lost(trace)
        assert args["wake_ns"] == (by or [min(group, key=lambda edge: edge["wake_ns"])])[0]["wake_ns"]
        assert args.get("wait_basis", "exact") == (by or group)[0]["basis"]
    check_arrows(trace, edges, calls)


def check_arrows(trace, edges, calls) -> None:
    """Checks that each edge with a wait above 0 whose source is in the file has one arrow. Both ends of an
    arrow are inside their slices."""
    operations = collections.defaultdict(list)
    for row in trace.of("kernel", "gpu_memcpy", "gpu_memset"):
        operations[row["args"]["correlation"], row["tid"]].append(row)
    wanted = [edge for edge in edges if edge["wait_ns"]
              and (edge["src_correlation"], edge["src_stream"]) in operations]
    tails = {e["id"]: e for e in trace.flows("sync") if e["ph"] == "s"}
    heads = {e["id"]: e for e in trace.flows("sync") if e["ph"] == "f"}
    assert tails.keys() == heads.keys()
    assert len(tails) + len(heads) == len(trace.flows("sync")), "two arrows have the same id"
    assert not tails.keys() & {e["id"] for e in trace.flows()}
    assert len(tails) == len(wanted)

    def around(rows, end):
        return any(row["pid"] == end["pid"] and row["tid"] == end["tid"] and
                   row["start"] <= end["start"] and
                   (end["start"] < row["end"] or row["start"] == row["end"]) for row in rows)

    every = [row for rows in operations.values() for row in rows]
    for id_, tail in tails.items():
        assert tail["start"] <= heads[id_]["start"] and heads[id_]["bp"] == "e"
        assert around(every, tail)
        assert around(every, heads[id_]) or around(calls.values(), heads[id_])


# Tests of every kind of edge with every CUPTI version

@pytest.mark.parametrize("version", cupti_versions(["12.0", "12.6", "12.8", "13.0"]))
@pytest.mark.sanitize
def test_versions(go, version):
    run = go(STEPS, sim=["--cupti", version], log="warn")
    assert run.said() == []
    assert outcome(run, run.trace()).right > 10


@pytest.mark.parametrize("version", cupti_versions(["12.0", "12.8", "13.0"]))
@pytest.mark.parametrize("sample", ["streams_and_waits", "two_threads", "peer_copy", "graph"])
def test_samples(tmp_path, sample, version):
    run = harness.run(tmp_path, harness.BUILD / "samples" / sample,
                      sim=["--cupti", version, "--devices", "2"])
    # Sample peer_copy: a stream waits for an event of another context. Before CUPTI 12.8, no record
    # says in which context the event was recorded.
    whole = sample != "peer_copy" or version != "12.0"
    assert outcome(run, run.trace(), whole).right > 0


# CUPTI delivers records late, shuffled or twice

@pytest.mark.parametrize("steps, sim", [
    (STEPS, ["--cupti-shuffle"]),
    (STEPS + " sleep:4500", ["--cupti-late", "2"]),
    (STEPS + " sleep:4500", ["--cupti-late", "2", "--cupti-shuffle", "--cupti", "12.0"]),
    (STEPS + " sleep:1500 kernel:5 syncall sleep:500", ["--cupti-hold", "1"]),
    (STEPS, ["--cupti-twice", "0.3"]),
    (STEPS, ["--cupti-per-thread-buffers", "1"]),
    (STEPS, ["--correlation-start", "4294967200"]),
    (STEPS, ["--nested-driver", "--cuda", "12"]),
    ("context threads:8 syncall stream kernel:3 sync threads:4 event syncall", ["--cupti-shuffle"]),
])
@pytest.mark.sanitize
def test_trouble(go, steps, sim):
    run = go(steps, sim=sim)
    assert outcome(run, run.trace()).right > 0


@pytest.mark.sanitize
def test_records_late_behind_a_long_kernel(go):
    """A long kernel delays the return of the buffer that also holds the records of other
    operations. All edges are still found."""
    run = go("context stream long:1800 stream kernel:5 copy sync event sleep:300 kernel:2 sync sleep:1000 "
             "syncall kernel sync")
    trace = run.trace()
    assert outcome(run, trace).right >= 5
    longest = max(trace.edges(), key=lambda edge: edge["wait_ns"])
    assert longest["kind"] == "context_sync" and longest["released"]


@pytest.mark.parametrize("sim", [
    ["--cupti-drop", "0.2", "--seed", "3"],
    ["--cupti-drop", "0.02", "--seed", "8"],
    ["--cupti-no-time", "0.2", "--seed", "5"],
    ["--cupti-steal", "60"],
])
def test_after_a_loss_none_is_false(go, sim):
    run = go((STEPS + " sleep:600 ") * 2 + "kernel:3 sync", sim=sim)
    for trace in run.traces():
        outcome(run, trace, whole=None)


def none_false(run: harness.Run, trace: harness.Trace) -> int:
    """Checks with a simple, fast rule that no edge of a call is false. Returns the number of
    edges."""
    assert run.status == 0, run.stderr
    waits = {wait["corr"]: {(s["corr"], s["stream"]): s["end"] for s in wait["sources"]}
             for wait in run.truth_of("wait")}
    starts = {call["corr"]: call["start"] for call in run.truth_of("call")}
    ends = [edge for edge in trace.edges() if edge["dst_point"] == "end"]
    for edge in ends:
        end = waits[edge["dst_correlation"]][edge["src_correlation"], edge["src_stream"]]
        assert edge["wait_ns"] == max(0, end - starts[edge["dst_correlation"]])
    return len(ends)


def test_starved_of_buffers(go):
    run = go(STEPS + " kernel:20000 syncall sleep:600 kernel:5 sync", cupti_memory="1M")
    none_false(run, run.trace())


@pytest.mark.parametrize("options", [{"memory": "16M"}, {"memory": "16M", "detail": "full"}])
@pytest.mark.sanitize
def test_the_smallest_memory(go, options):
    run = go(STEPS, log="warn", chakra="off", **options)
    assert run.said() == []
    assert outcome(run, run.trace()).right > 10


@pytest.mark.full(seconds=2.7)
def test_more_than_memory_holds(go):
    """Many operations are enqueued after a long kernel, which delays all records. Operations that
    do not fit into memory are dropped and counted, and no edge is false."""
    run = go("context stream long:1500 stream " + "kernel:500 sync " * 60 + "sleep:1200 syncall "
             + "kernel:3 sync sleep:700 " * 3, memory="16M", timeout=120)
    trace = run.trace()
    assert none_false(run, trace) > 0
    assert trace.counters["edges_lost_memory"] > 0 and trace.counters["edges_lost_gave_up"] == 0


# Tests of windows

def test_window_that_opens_while_work_is_pending(go):
    """Operations that were enqueued in the lead-in release waits in the window. These operations
    are sources of edges but have no rows."""
    run = go("context stream kernel:3 sync start sleep:150 kernel:2 long:700 sleep:400 sync kernel:2 "
             "event sync syncall stop windows:1", window="demand", lead_in="300ms")
    (trace,) = run.traces()
    assert outcome(run, trace, whole=False).right >= 3
    (longest,) = [edge for edge in trace.edges() if edge["wait_ns"] > 50_000_000]
    assert longest["released"]
    kernels = {row["args"]["correlation"] for row in trace.of("kernel")}
    assert longest["src_correlation"] not in kernels
    (call,) = [row for row in trace.of("cuda_driver")
               if row["args"].get("released_by") == longest["src_correlation"]]
    assert call["args"]["wait_ns"] == longest["wait_ns"]


def test_without_a_lead_in_nothing_is_guessed(go):
    run = go("context stream kernel:3 long:500 start sleep:100 syncall kernel:2 sync sleep:100 stop "
             "windows:1", window="demand", lead_in="0")
    (trace,) = run.traces()
    assert not outcome(run, trace, whole=False).wrong
    assert trace.counters["edges_lost_before_window"] > 0
    assert [edge["kind"] for edge in trace.edges()] == ["stream_sync"]
    text = tool("check", "--verbose", trace.path)[0]
    shown = [line.split() for line in text.splitlines() if "edges_lost_" in line]
    assert {words[0].removeprefix("edges_lost_"): int(words[1]) for words in shown} == lost(trace)


def test_window_after_window(go):
    """Kinds are off between windows. In the second window, operations from the first window are no
    sources any more, but the flags of streams are still known."""
    once = ("start sleep:250 kernel:4 event sync stream:0 kernel:2 copy syncall stream kernel sync "
            "sleep:100 stop windows:{w} kernel:2 sync ")
    run = go("context stream kernel sync " + "".join(once.format(w=w) for w in (1, 2, 3)),
             window="demand", lead_in="100ms")
    traces = sorted(run.traces(), key=lambda t: t.path.name)
    assert len(traces) == 3
    for trace in traces:
        assert outcome(run, trace, whole=False).right >= 3


def test_windows_back_to_back(go):
    run = go("context stream " + "kernel:5 copy event sync sleep:30 " * 30, window="time:200ms/200ms")
    traces = run.traces()
    assert len(traces) >= 3
    for trace in traces:
        outcome(run, trace, whole=False)
    spans = [(window["opened_ns"], window["closed_ns"]) for window in
             (trace.object["syncline"] for trace in traces)]
    waits = [wait for wait in run.truth_of("wait") if wait["kind"] == "event_sync" and
             any(begin <= wait["start"] and wait["end"] < end for begin, end in spans)]
    found = [edge for trace in traces for edge in trace.edges() if edge["kind"] == "event_sync"]
    assert len(found) + sum(lost(trace).total() for trace in traces) >= len(waits) > 10


def test_killed(go):
    """The process is killed. Rows are on disk about a second after their delivery, except calls
    whose sources had not been found yet. The edges that were written are consistent."""
    run = go("context stream " + "kernel:5 sync event sleep:100 " * 20 + "sleep:1500 kernel sync kill")
    assert run.status == harness.signal_status(9)
    (path,) = run.files("*.trace.json*.part")
    trace = harness.Trace(path)
    found = edge_compare.compare(edge_truth.Truth(run.truth, run.log), trace.edges(), collections.Counter(),
                                 whole=False, window=(0, trace.events[-1].get("start", 0)))
    assert not [line for line in found.wrong if "left out" not in line and "missing" not in line]
    assert len(trace.edges()) >= 20
    check_rows(trace)


# Tests of options that turn edges off

def test_lean_has_no_arrows(go):
    trace = go(STEPS, detail="lean").trace()
    assert trace.edges() and not trace.flows("sync")
    assert any("wait_ns" in row["args"] for row in trace.of("cuda_driver"))


def test_without_synchronization_records(go):
    run = go(STEPS, kinds="kernel,memcpy,memset,runtime,driver", log="info")
    trace = run.trace()
    assert {edge["kind"] for edge in trace.edges()} <= {"copy", "memset", "free", "legacy_default",
                                                       "graph"}
    assert any("sync edges only for copies and frees" in line for line in run.said())


# Tests of edges inside graphs

INSIDE = """0 use 0
0 stream 2 1
0 stream 3 1
0 event 0
0 event 1
0 begin 2
0 kernel 2 30
0 record 0 2 0
0 wait 3 0 0
0 kernel 3 60
0 kernel 2 20
0 record 1 3 0
0 wait 2 1 0
0 kernel 2 5
0 end 2 0
0 launch 0 2 0
0 launch 0 2 0
0 csync 0
"""


@pytest.fixture(name="inside")
def inside_fixture(tmp_path):
    """Returns a function that runs a graph with a side stream twice. That function returns the run,
    the trace, and the edges between operations of the same launch."""
    def run(sim=(), **options):
        (tmp_path / "steps").write_text(INSIDE)
        done = harness.run(tmp_path, harness.BUILD / "tests" / "e2e" / "random_waits", tmp_path / "steps",
                           sim=sim, **options)
        assert done.status == 0, done.stderr
        trace = done.trace()
        return done, trace, [edge for edge in trace.edges()
                             if edge["src_correlation"] == edge["dst_correlation"]]
    return run


@pytest.mark.sanitize
@pytest.mark.parametrize("cupti", cupti_versions(["12.0", "13.0", "13.5"]))
def test_inside_a_graph(inside, cupti):
    """Each launch has the edge of the fork and the edge of the join. No edge is left out."""
    run, trace, edges = inside(["--cupti", cupti], graph_edges="1")
    by = {op["id"]: op for op in run.truth_of("op")}
    wanted = sorted((by[link["op"]]["stream"], op["stream"], op["corr"]) for op in by.values()
                    for link in op["after"] if link["corr"] == op["corr"]
                    and by[link["op"]]["stream"] != op["stream"])
    assert len(wanted) == 4
    assert sorted((e["src_stream"], e["dst_stream"], e["dst_correlation"]) for e in edges) == wanted
    assert {e["kind"] for e in edges} == {"graph"}
    assert trace.counters["edges_lost_graph_inside"] == 0
    assert not edge_compare.compare(edge_truth.Truth(run.truth, run.log, True), trace.edges(), lost(trace),
                                    True, (0, 1 << 63)).wrong


def test_inside_a_graph_unasked(inside):
    _, trace, edges = inside()
    assert not edges and trace.counters["edges_lost_graph_inside"] == 2


def test_inside_a_graph_beside_another_subscriber(inside):
    """Another tool is CUPTI's subscriber and stays the subscriber. Missing edges inside graphs are
    counted, and syncline prints the reason once."""
    run, trace, edges = inside(["--fail", "cuptiSubscribe:1:39"], graph_edges="1", log="warn")
    assert not edges and trace.counters["edges_lost_graph_inside"] == 2
    (said,) = run.said()
    assert "cuptiSubscribe" in said and "CUDA graph nodes are not recorded, only counted" in said
    assert trace.of("kernel")


OWN = """0 use 0
0 stream 2 1
0 stream 3 1
0 begin 2
0 kernel 2 5000
0 end 2 0
0 kernel 2 5
0 kernel 3 5
0 ssync 3 0
0 launch 0 2 0
0 ssync 2 0
0 launch 0 2 0
0 csync 0
0 kernel 2 5
0 ssync 2 0
"""


def test_a_graph_on_streams_of_its_own(tmp_path):
    """No record says on which stream a graph was launched. Of waits for the launch stream it is not known
    what released them, of waits for the context it is."""
    (tmp_path / "steps").write_text(OWN)
    run = harness.run(tmp_path, harness.BUILD / "tests" / "e2e" / "random_waits", tmp_path / "steps",
                      sim=["--graph-own-streams"])
    assert run.status == 0, run.stderr
    trace, truth = run.trace(), edge_truth.Truth(run.truth, run.log)
    waits = [wait["corr"] for wait in run.truth_of("wait") if wait["kind"] in ("stream_sync", "context_sync")]
    edges = {corr: [edge for edge in trace.edges() if edge["dst_correlation"] == corr] for corr in waits}
    known, behind_graph, context, last = waits
    assert len(truth.placeless_launches()) == 2
    for wait in (known, last):  # on a busy machine the work may end before the wait begins
        assert edges[wait] and any(e["released"] for e in edges[wait]) == any(e["wait_ns"] for e in edges[wait])
    assert not any(e["released"] for e in edges[behind_graph])
    assert [(e["basis"], e["src_correlation"] in truth.placeless_launches()) for e in edges[context]
            if e["released"]] == [("exact", True)]
    assert trace.counters["edges_lost_no_record"]
    assert not edge_compare.compare(truth, trace.edges(), lost(trace), True, (0, 1 << 63)).wrong


# Tests of the output of `syncline edges`

def printed(path):
    return harness.printed_edges(tool("edges", "--json", path)[0])


def key(edge):
    return json.dumps(edge, sort_keys=True)


@pytest.mark.parametrize("steps", [
    STEPS, "context stream " + "kernel:2 event sync copy " * 5 + "syncall",
    "context threads:6 syncall kernel sync"])
@pytest.mark.sanitize
def test_the_tool_gives_the_same(go, tmp_path, steps):
    """`syncline edges` prints the same edges in two cases: it reads the edges from their rows, or it computes
    the edges from a file without these rows."""
    trace = go(steps).trace()
    edges = trace.edges()
    assert printed(trace.path) == edges
    whole = [json.loads(line) for line in tool("edges", "--json", trace.path)[0].splitlines()]
    assert all(list(edge) == FIELDS for edge in whole)
    assert all(edge["ts"] and edge["dst_thread_name"] for edge in whole)
    bare = tmp_path / "bare.json"
    bare.write_text("\n".join(line for line in trace.text.decode().splitlines()
                              if '"sync_edge"' not in line and '"syncEdges"' not in line))
    worked_out, error = printed(bare), tool("edges", "--json", bare)[1]
    assert not harness.difference([key(e) for e in worked_out if e["wait_ns"]],
                                  [key(e) for e in edges if e["wait_ns"]
                                   and (e["dst_correlation"] in {w["dst_correlation"] for w in worked_out}
                                        or "before_window" not in error)])


def test_summary_counts_waits(go):
    trace = go(STEPS).trace()
    waited = [edge for edge in trace.edges() if edge["released"]]
    summary = json.loads(tool("edges", "--summary", "--json", trace.path)[0])
    for found, point in ((summary, "end"), (summary["gpu"], "start")):
        wait_ns = [edge["wait_ns"] for edge in waited if edge["dst_point"] == point]
        assert wait_ns and (found["waits"], found["total_ns"]) == (len(wait_ns), sum(wait_ns))


def test_check_holds_the_file_to_its_edges(go, tmp_path):
    trace = go(STEPS).trace()
    text, error = tool("check", trace.path)
    assert "0 errors, 0 warnings" in text and not error
    bad = tmp_path / "bad.json"
    bad.write_text(trace.text.decode().replace('"released":true', '"released":false'))
    assert "edge_released" in tool("check", bad, status=1)[0]
