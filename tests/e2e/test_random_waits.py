"""Runs random programs on the simulated GPU and compares every edge with the truth. If a seed
fails, the test prints the seed and the shrunk program. Store the program in programs/waits/ to make
it a test case."""
import collections
import pathlib
import sys

import pytest

import edge_compare
import edge_truth
import harness
import random_program
import random_waits
from tiers import SEED

BATCH = 25
SHOWN = 5  # the number of errors that are printed
KEPT = sorted((pathlib.Path(__file__).parent / "programs" / "waits").glob("*.steps"))


def fail(name: str, program: random_program.Program, wrong: list[str]):
    """Fails the test. Prints the errors in short lines at the end of the log, because people read
    the end of a long log first."""
    smaller, again = random_waits.shrink(program, tries=2, seconds=60)
    lines = [f"seed {name} fails; {'shrunk, it' if again else 'it did not fail again, and'} is:",
             *random_waits.to_text(smaller).splitlines(),
             f"repeat it: SL_TEST_BUILD={harness.BUILD} {sys.executable} {random_waits.__file__} {name}",
             "(or, in place of the seed: --shrink SEED makes the program small, --steps FILE runs the above)",
             *(line[:250] for line in (again or wrong)[:SHOWN])]
    pytest.fail("\n".join(lines), pytrace=False)


def test_a_program_that_fails_becomes_small(monkeypatch):
    """Shrinking a program keeps the parts that make it fail. In this test a program counts as
    failing if records are shuffled and a copy precedes an event record."""
    def fails(program, tries, kind=""):
        verbs = [step.split()[1] for step in program.steps]
        bad = "--cupti-shuffle" in program.sim and "copy" in verbs and "record" in verbs[verbs.index("copy"):]
        return ["false: an edge"] if bad else []

    monkeypatch.setattr(random_waits, "fails", fails)
    whole = next(program for program in map(random_program.program, range(1, 100))
                 if len(program.steps) > 60 and len(program.sim) > 6 and fails(program, 1))
    smaller, wrong = random_waits.shrink(whole)
    assert wrong == ["false: an edge"]
    assert [step.split()[1] for step in smaller.steps] == ["copy", "record"]
    assert [word for word in smaller.sim if word.startswith("--")] in (["--cupti-shuffle"],
                                                                      ["--devices", "--cupti-shuffle"])


def run_batch(tmp_path, seeds):
    """Returns the number of edges that were compared, and the number of waits whose edges were not
    compared exactly because their calls overlap others."""
    right = unsure = 0
    for seed in seeds:
        folder = tmp_path / str(seed)
        folder.mkdir()
        program = random_program.program(seed)
        outcome = random_waits.check(program, folder)
        if outcome.wrong:
            fail(str(seed), program, outcome.wrong)
        right += outcome.right
        unsure += outcome.unsure
    return right, unsure


def check_batch(tmp_path, first):
    right, unsure = run_batch(tmp_path, range(first, first + BATCH))
    assert right > 5 * BATCH and unsure < 2 * right


@pytest.mark.parametrize("first", range(SEED, SEED + 100, BATCH))
def test_programs_of_this_commit(tmp_path, first):
    check_batch(tmp_path, first)


@pytest.mark.full(seconds=4.4)
@pytest.mark.parametrize("first", range(1, 301, BATCH))
def test_random_programs(tmp_path, first):
    check_batch(tmp_path, first)


def test_what_the_programs_do():
    """The generated programs often contain each kind of wait that makes no record of its own."""
    steps = collections.Counter()
    for seed in range(1, 301):
        for step in random_program.program(seed).steps:
            _, verb, *args = step.split()
            steps[verb, "host" if verb == "set" and args[1] == "0" and args[4] == "1" else ""] += 1
    assert all(steps[what] > 60 for what in [("unload", ""), ("reset", ""), ("free", ""), ("set", "host"),
                                             ("copy", ""), ("launch", "")]), steps


@pytest.mark.parametrize("again", [[], ["missing: a"]])
def test_a_failure_ends_with_what_is_wrong(monkeypatch, again):
    program = random_program.program(7)
    monkeypatch.setattr(random_waits, "shrink", lambda *args, **options: (program, again))
    with pytest.raises(pytest.fail.Exception) as failure:
        fail("7", program, ["false: b" + "x" * 1000] + ["false: c"] * 100)
    lines = failure.value.msg.splitlines()
    end = len(lines) - (len(again) or SHOWN)
    assert [line.split()[0] for line in lines[end:]] == ["missing:"] * len(again) + ["false:"] * (not again) * SHOWN
    assert max(map(len, lines[end:])) <= 250
    assert "tests/e2e/random_waits.py 7" in lines[end - 2]
    assert random_waits.from_text("\n".join(lines[1:end - 2])) == program


@pytest.mark.long(seconds=17)
@pytest.mark.parametrize("first", range(301, 10001, 100))
def test_many_random_programs(tmp_path, first):
    right, unsure = run_batch(tmp_path, range(first, first + 100))
    # `unsure / right` was 0.3 to 0.5, also on a busy machine.
    assert right > 5 * 100 and unsure < right


@pytest.mark.sanitize
@pytest.mark.parametrize("seed", range(1, 11))
def test_under_sanitizers(tmp_path, seed):
    run_batch(tmp_path, [seed])


@pytest.mark.parametrize("path", KEPT, ids=lambda path: path.stem)
def test_kept_programs(tmp_path, path):
    """Each of these programs failed once."""
    for attempt in range(3):
        folder = tmp_path / str(attempt)
        folder.mkdir()
        outcome = random_waits.check(random_waits.from_text(path.read_text()), folder)
        assert not outcome.wrong, "\n".join(outcome.wrong)


def test_threads_that_stop_between_a_calls_id_and_its_stamp(tmp_path):
    """A thread is preempted between taking a call's correlation id and its start time. Ids are then not in
    the order of enqueue, and the edges are still right."""
    part = ["{0} wait 2 {1} 0", "{0} kernel 2 1", "{0} sleep 60", "{0} kernel 0 1", "{0} record {1} 0 0",
            "{0} sleep 60"]
    threads = "".join("".join(line + "\n" for line in part).format(thread, event)
                      for _ in range(60) for thread, event in ((0, 0), (1, 1), (2, 0)))
    steps = ("# sim --stamp-late 0.0005\n0 use 0\n0 stream 2 0\n0 event 0\n0 event 1\n* meet\n"
             "1 use 0\n2 use 0\n" + threads)
    outcome = random_waits.check(random_waits.from_text(steps), tmp_path)
    assert not outcome.wrong, "\n".join(outcome.wrong)
    assert outcome.kinds["legacy_default"] > 50


def test_what_has_no_record_does_not_stand_for_what_may_have_come_before_it():
    """A stream waits for an event that another thread records at the same time, so the order of the
    two is unknown. Then the stream gets a stream-ordered free, which makes no record, and a kernel.
    The kernel's edges are uncertain too, because the free does not replace the tail."""
    stream, event = {(1, 13)}, {("event", 1)}
    actions = [edge_truth.Action(1, 100, 0, 10, writes=event, record=True),
               edge_truth.Action(2, 200, 5, 15, reads=event | stream, writes=stream),
               edge_truth.Action(3, 200, 20, 25, stream, stream, ops=[{"kind": "free"}]),
               edge_truth.Action(4, 200, 30, 35, stream, stream, ops=[{"kind": "kernel"}]),
               edge_truth.Action(5, 200, 40, 45, stream, stream, ops=[{"kind": "kernel"}])]
    assert edge_truth.tainted(actions) == {1, 2, 3, 4}


def test_what_a_destroyed_stream_ran_is_told_by_time():
    """A thread is preempted between a call's id and its start time. Meanwhile a kernel with a
    higher id is launched and ends on a stream that is then destroyed. The thread's wait may have an
    edge from that kernel."""
    def call(corr, thread, start, end):
        return {"t": "call", "domain": "driver", "name": "cu", "corr": corr, "thread": thread, "start": start,
                "end": end, "result": 0}

    place = {"context": 1, "stream": 13}
    kernel = {"t": "op", "id": 1, "kind": "kernel", "corr": 20, "thread": 2, "device": 0, "graph": 0, "node": 0,
              "start": 110, "end": 150, "finished": True, "after": [], **place}
    wait = {"t": "wait", "kind": "context_sync", "corr": 10, "thread": 1, "context": 1, "stream": edge_truth.NONE,
            "event": edge_truth.NONE, "start": 201, "end": 209, "result": 0, "released": 0, "sources": []}
    streams = [{"t": "object", "kind": "stream", "created": created, "flags": 2, **place}
               for created in (True, False)]
    for start, may in ((200, [20]), (90, [])):
        lines = [*streams, call(10, 1, start, 210), call(20, 2, 100, 105), kernel, wait]
        to, = [to for to in edge_truth.Truth(lines, []).destinations if to.kind == "context_sync"]
        assert [edge[1] for edge in to.may] == may and not to.must


def test_what_a_failed_run_left_is_kept(tmp_path):
    program = random_waits.from_text("# sim --devices 2\n0 use 0\n0 kernel 0 20\n")
    outcome, kept = random_waits.check_and_keep(program, "right", tmp_path / "kept")
    assert not outcome.wrong and not kept and not (tmp_path / "kept").exists()
    program.sim += ["--fail", "nonsense"]  # the simulator refuses this option
    outcome, kept = random_waits.check_and_keep(program, "wrong", tmp_path / "kept")
    assert outcome.wrong and kept.parent == tmp_path / "kept"
    assert random_waits.from_text((kept / "steps").read_text()) == program
    assert (kept / "wrong").read_text().startswith("exit status")


def test_operations_that_end_while_a_query_runs(tmp_path):
    """Operations end while a query runs. No call waited for these operations, so the edges have a wait of
    0."""
    poll = "0 equery 0 0\n" * 60 + "0 squery 2 0\n" * 10
    steps = "0 use 0\n0 stream 2 1\n0 event 0\n" + ("0 kernel 2 30\n0 record 0 2 0\n" + poll) * 60
    outcome = random_waits.check(random_waits.from_text(steps), tmp_path)
    assert not outcome.wrong, "\n".join(outcome.wrong)
    assert outcome.kinds["event_query"] > 30


def test_full_queues_and_loaded_modules(tmp_path):
    """Launches wait for room in a queue of 4 operations, and for all work before they load a module. The
    comparison notices each of these edges that is missing."""
    module = "0 kernel 3 900\n0 module 8 0\n0 first 8 2 20\n0 unload 8\n"
    steps = ("# sim --queue-depth 4 --module-load\n0 use 0\n0 stream 2 1\n0 stream 3 1\n"
             + ("0 kernel 2 300\n" * 9 + "0 copy 2 0 1 1 64 1\n0 csync 0\n" + module) * 10)
    program = random_waits.from_text(steps)
    (tmp_path / "steps").write_text(program.text())
    run = harness.run(tmp_path, random_waits.PROGRAM, tmp_path / "steps", sim=program.sim)
    edges, lost = random_waits.edges_of(run.trace())

    def compared(edges):
        truth = edge_truth.Truth(run.truth, run.log)
        return edge_compare.compare(truth, edges, lost, False, (0, 1 << 64))

    outcome = compared(edges)
    assert not outcome.wrong, "\n".join(outcome.wrong)
    assert outcome.kinds["queue_full"] > 5 and outcome.kinds["module_load"] > 2
    for kind in edge_truth.STALLS:
        assert compared([edge for edge in edges if edge["kind"] != kind]).wrong


# Tests of the comparison: it notices wrong edges

# The first kernel is long, so that even on a busy machine each call waits for the work after that kernel.
STEPS = """# sim --devices 1
0 use 0
0 stream 2 1
0 stream 3 1
0 event 0
0 kernel 2 20000
0 record 0 2 0
0 wait 3 0 0
0 kernel 3 20
0 ssync 3 0
0 kernel 2 60
0 kernel 3 20
0 csync 0
"""


@pytest.fixture(scope="module")
def example(tmp_path_factory):
    folder = tmp_path_factory.mktemp("example")
    (folder / "steps").write_text(STEPS)
    run = harness.run(folder, random_waits.PROGRAM, folder / "steps")
    assert run.status == 0, run.stderr
    trace = run.trace()
    edges, lost = random_waits.edges_of(trace)
    about = trace.object["syncline"]
    return edge_truth.Truth(run.truth, run.log), edges, lost, (about["opened_ns"], about["closed_ns"])


def wrong(example, edges):
    truth, _, lost, window = example
    return edge_compare.compare(truth, edges, lost, True, window).wrong


def test_the_comparison_is_satisfied(example):
    _, edges, _, _ = example
    assert not wrong(example, edges)
    assert {"stream_wait", "stream_sync", "context_sync"} == {edge["kind"] for edge in edges}


def test_a_missing_edge_is_noticed(example):
    _, edges, _, _ = example
    for edge in edges:
        assert wrong(example, [other for other in edges if other is not edge]), edge


def waits_of(example, kind):
    """Returns a function that removes all edges of this kind from the run, and then compares the
    run with given counts of left-out edges."""
    truth, edges, _, window = example
    gone = {edge["dst_correlation"] for edge in edges if edge["kind"] == kind}
    rest = [edge for edge in edges if edge["kind"] != kind]
    assert gone and rest
    return lambda **lost: edge_compare.compare(truth, rest, collections.Counter(lost), False, window).wrong


@pytest.mark.parametrize("kind, reasons, others", [
    ("stream_sync", ["before_window", "gave_up"], ["ambiguous", "no_record", "flag_unknown", "graph_inside"]),
    ("stream_wait", ["before_window", "gave_up", "no_record"], ["ambiguous", "flag_unknown"])])
def test_what_is_left_out_needs_its_own_reason(example, kind, reasons, others):
    """Records are lost and edges are missing. The missing edges are not explained by a count that
    belongs to another kind of wait."""
    judged = waits_of(example, kind)
    assert judged()
    for reason in reasons:
        assert not judged(**{reason: 1}), reason
    for reason in others:
        assert judged(**{reason: 99}), reason


def test_a_count_explains_one_wait():
    lost = collections.Counter(no_record=2, gave_up=1)
    event = edge_compare.LeftOut("event", frozenset(["no_record", "gave_up"]))
    stream = edge_compare.LeftOut("stream", frozenset(["gave_up"]))
    assert edge_compare.unexplained([event] * 3, lost) == []
    assert edge_compare.unexplained([event, event, stream], lost) == []
    assert edge_compare.unexplained([event, stream, stream], lost) == [stream, stream]
    assert edge_compare.unexplained([event] * 3 + [stream], lost) == [event] * 3 + [stream]


@pytest.mark.parametrize("field, by", [("wait_ns", 1), ("wake_ns", 1), ("src_correlation", 1),
                                       ("src_stream", 1), ("dst_correlation", 1), ("dst_thread", 1)])
def test_a_false_edge_is_noticed(example, field, by):
    _, edges, _, _ = example
    for i, edge in enumerate(edges):
        assert wrong(example, edges[:i] + [{**edge, field: edge[field] + by}] + edges[i + 1:]), edge


@pytest.mark.parametrize("field, value", [("basis", "overlapping"), ("basis", "inferred"),
                                          ("kind", "implicit"), ("dst_point", "start")])
def test_a_wrong_word_is_noticed(example, field, value):
    _, edges, _, _ = example
    calls = [edge for edge in edges if edge["dst_point"] == "end"]
    for edge in calls:
        assert wrong(example, [other for other in edges if other is not edge] + [{**edge, field: value}])


@pytest.mark.parametrize("point", ["start", "end"])
@pytest.mark.parametrize("field, value", [("src_name", "other"), ("dst_name", "other"), ("src_name", None),
                                          ("dst_name", None), ("dst_thread", None), ("dst_stream", 99)])
def test_a_wrong_name_or_place_is_noticed(example, point, field, value):
    _, edges, _, _ = example
    of_point = [edge for edge in edges if edge["dst_point"] == point]
    assert of_point
    for edge in of_point:
        assert wrong(example, [other for other in edges if other is not edge] + [{**edge, field: value}])


@pytest.mark.parametrize("point", ["start", "end"])
def test_who_released_is_noticed(example, point):
    _, edges, _, _ = example
    of_point = [edge for edge in edges if edge["dst_point"] == point]
    assert any(edge["released"] for edge in of_point)
    for edge in of_point:
        assert wrong(example, [other for other in edges if other is not edge]
                     + [{**edge, "released": not edge["released"]}])


def test_an_operation_behind_unseen_work_must_be_marked(tmp_path):
    """A kernel follows work that was not recorded on its stream. That work may delay the kernel, so
    the times of the kernel's edge are allowed only if the edge is `inferred`. Whether the work
    delays the kernel depends on timing, so the test repeats the run until it does."""
    program = random_waits.from_text((KEPT[0].parent / "behind_unseen_work.steps").read_text())
    (tmp_path / "steps").write_text(program.text())
    for attempt in range(20):
        folder = tmp_path / str(attempt)
        folder.mkdir()
        run = harness.run(folder, random_waits.PROGRAM, tmp_path / "steps", **program.syncline)
        edges, lost = random_waits.edges_of(run.trace())
        about = run.trace().object["syncline"]
        truth = edge_truth.Truth(run.truth, run.log)

        def judged():
            window = (about["opened_ns"], about["closed_ns"])
            return edge_compare.compare(truth, edges, lost, False, window).wrong

        assert not judged()
        marked = [edge for edge in edges if edge["basis"] == "inferred"]
        for edge in marked:
            edge["basis"] = "exact"
        if judged():
            return
    pytest.fail("no run had an operation behind unseen work whose numbers are wrong for an exact edge")


def test_a_query_that_waited_is_noticed(tmp_path):
    """The truth is changed so that the query's operation ended during the query. An edge with a wait above 0
    is then wrong."""
    (tmp_path / "steps").write_text("0 use 0\n0 stream 2 1\n0 kernel 2 20\n0 ssync 2 0\n0 squery 2 0\n")
    run = harness.run(tmp_path, random_waits.PROGRAM, tmp_path / "steps")
    lines, trace = run.truth, run.trace()
    edges, lost = random_waits.edges_of(trace)
    about = trace.object["syncline"]
    query = next(line for line in lines if line["t"] == "wait" and line["kind"] == "stream_query")
    call = next(line for line in lines if line["t"] == "call" and line["corr"] == query["corr"])
    kernel = next(line for line in lines if line["t"] == "op")
    kernel["end"] = call["start"] + 1
    told = {"kind": "stream_query", "src_correlation": kernel["corr"], "src_stream": kernel["stream"],
            "src_device": 0, "src_name": harness.expected_operation(kernel)[1], "dst_correlation": call["corr"],
            "dst_point": "end", "dst_stream": None, "dst_name": call["name"], "dst_thread": call["thread"],
            "released": False, "wait_ns": 0, "wake_ns": call["end"] - kernel["end"], "basis": "exact"}

    def judged(**numbers):
        found = [edge for edge in edges if edge["dst_correlation"] != call["corr"]] + [{**told, **numbers}]
        window = (about["opened_ns"], about["closed_ns"])
        return [line for line in edge_compare.compare(edge_truth.Truth(lines, run.log), found, lost, True,
                                                      window).wrong if f"({call['corr']}, 'end'" in line]

    assert not judged()
    assert judged(wait_ns=1) and judged(released=True) and judged(wait_ns=1, released=True)


# Tests of edge_truth.py: it finds out for which calls the records do not show the order

GRAPH = """0 use 0
0 stream 2 1
0 stream 3 1
0 begin 2
0 kernel 2 20
0 end 2 8
0 launch 8 2 0
0 launch 8 3 0
0 csync 0
"""


def test_launches_of_one_graph_at_the_same_time(tmp_path):
    """Two threads launch one graph at the same time on different streams. One launch waits for the other, but
    no record says which. The test changes the truth's second launch to another thread and to the first's
    times."""
    (tmp_path / "steps").write_text(GRAPH)
    run = harness.run(tmp_path, random_waits.PROGRAM, tmp_path / "steps")
    lines = run.truth
    first, second = (line for line in lines if line["t"] == "call" and line["name"] == "cuGraphLaunch")

    def unsure():
        return {to.corr for to in edge_truth.Truth(lines, run.log).destinations if to.unsure}

    assert not unsure()
    second.update(thread=first["thread"] + 1, start=first["start"], end=first["end"])
    assert {first["corr"], second["corr"]} <= unsure()


PLACELESS = """0 use 0
0 stream 2 1
0 stream 3 1
0 begin 2
0 kernel 2 20
0 end 2 8
0 kernel 3 200000
0 launch 8 2 0
0 ssync 3 0
0 csync 0
"""


def test_a_graph_launched_nobody_knows_where_during_a_wait(tmp_path):
    """A graph is launched during a wait, and none of its nodes runs on its launch stream, which may be the
    awaited stream. The test gives the launch another thread and the times of the wait."""
    (tmp_path / "steps").write_text(PLACELESS)
    run = harness.run(tmp_path, random_waits.PROGRAM, tmp_path / "steps", sim=["--graph-own-streams"])
    lines, trace = run.truth, run.trace()
    edges, lost = random_waits.edges_of(trace)
    about = trace.object["syncline"]
    launch, wait = (next(line for line in lines if line["t"] == "call" and line["name"] == name)
                    for name in ("cuGraphLaunch", "cuStreamSynchronize"))
    node = next(line for line in lines if line["t"] == "op" and line["corr"] == launch["corr"])

    def judged(basis, wait_ns=0):
        truth = edge_truth.Truth(lines, run.log)
        to = next(to for to in truth.destinations if to.corr == wait["corr"])
        found = [{**edge, "basis": basis, "wait_ns": edge["wait_ns"] + wait_ns}
                 if edge["dst_correlation"] == wait["corr"] else edge for edge in edges]
        window = (about["opened_ns"], about["closed_ns"])
        return to, edge_compare.compare(truth, found, lost, False, window).wrong

    # A graph was launched before a wait, so the wait may have waited for the graph. The edge from the kernel
    # is not marked as released.
    assert lost["no_record"]
    assert [edge["released"] for edge in edges if edge["dst_correlation"] == wait["corr"]] == [False]
    edges = [edge for edge in edges if edge["dst_correlation"] != wait["corr"]]
    kernel = next(line for line in lines if line["t"] == "op" and line["corr"] != launch["corr"])
    edges.append({"kind": "stream_sync", "src_correlation": kernel["corr"], "src_stream": kernel["stream"],
                  "src_device": 0, "dst_correlation": wait["corr"], "dst_point": "end", "dst_stream": None,
                  "src_name": harness.expected_operation(kernel)[1], "dst_name": wait["name"],
                  "dst_thread": wait["thread"], "released": True, "wait_ns": kernel["end"] - wait["start"],
                  "wake_ns": wait["end"] - kernel["end"]})
    to, wrong = judged("overlapping")
    assert not to.blurred and wrong
    launch.update(thread=wait["thread"] + 1, start=wait["start"], end=wait["start"] + 1)
    for basis in ("overlapping", "exact"):
        to, wrong = judged(basis)
        assert to.blurred and not to.unsure and not wrong
        assert judged(basis, wait_ns=1)[1]
    node["end"] = wait["end"] + 1  # the call did not wait for the node
    to, wrong = judged("overlapping")
    assert not to.blurred and wrong
    # the node's record has no times
    run.log.append({"what": "no-time", "correlation": node["corr"], "op": node["id"]})
    to, wrong = judged("overlapping")
    assert to.blurred and not wrong


def test_a_free_in_a_context_without_work(tmp_path):
    """A thread frees memory in a context without work. The thread's last launch was in another context, and
    no record says that the thread changed contexts."""
    (tmp_path / "steps").write_text("0 use 0\n0 kernel 0 20\n0 use 1\n0 alloc 8 1 0\n0 free 8 1\n0 use 0\n"
                                    "0 alloc 9 1 0\n0 free 9 1\n")
    run = harness.run(tmp_path, random_waits.PROGRAM, tmp_path / "steps", sim=["--devices", "2"])
    frees = [to for to in edge_truth.Truth(run.truth, run.log).destinations if to.kind == "free"]
    assert [to.unsure for to in sorted(frees, key=lambda to: to.corr)] == [True, False]
