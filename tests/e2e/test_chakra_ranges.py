"""Tests NVTX ranges in the Chakra file of a running job. Each part of a range that no inner row
covers is a node of the range's thread. The file equals the file that `convert` makes from the
Kineto file."""
import pytest

import chakra
import chakra_replay
import harness
from chakra_live import check_live
from test_chakra_online import check, the_et
from test_chakra_replay import BOUND, window_end
from test_nvtx import RANGES, main_thread


@pytest.fixture
def ranges(tmp_path):
    """Returns a function that runs steps of programs/ranges: ranges("context push:a kernel pop sync") returns
    a harness.Run."""
    def start(steps: str, *, sim=None, **options) -> harness.Run:
        return harness.run(tmp_path, RANGES, *[s.replace("_", " ") for s in steps.split()],
                           sim=sim, log="warn", **options)
    return start


def own_time(et: chakra.Et, name: str) -> int:
    return sum(node.duration for node in et.nodes if node.name == name)


@pytest.mark.sanitize
def test_a_range_has_its_own_time(ranges):
    run = ranges("context kernel push:outer kernel:2 sleep:20 push:inner sleep:30 kernel sync pop "
                 "sleep:10 pop kernel sync")
    et, trace = the_et(run), run.trace()
    assert not chakra.broken(et)
    pieces = [node for node in et.nodes if node.name in ("outer", "inner")]
    assert {node.attr["tid"] for node in pieces} == {main_thread(run)}
    assert not any("correlation" in node.attr for node in pieces)
    for name, sleeps in (("outer", 30), ("inner", 30)):
        row = next(e for e in trace.events if e["name"] == name and e["cat"] == "user_annotation")
        assert sleeps * 10**6 <= own_time(et, name) < row["end"] - row["start"]
    # Calls inside the ranges are unchanged. Each call is in order and has its operation.
    launches = {n.correlation for n in et.cpu if n.name == "cuLaunchKernel"}
    assert launches == {n.correlation for n in et.gpu} and len(launches) == 5
    assert trace.counters["chakra_edges"] == trace.counters["edges"] > 0
    assert not any(trace.counters[f"chakra_{what}"] for what in
                   ("edges_left_out", "rows_left_out", "no_launch", "failed"))
    assert check(et.path).returncode == 0
    ends = chakra_replay.replay(et)
    recorded = max(node.end for node in et.nodes)
    assert abs(window_end(ends) - recorded) <= BOUND * recorded


def test_a_name_that_is_no_utf8(ranges):
    """A range's name is not UTF-8. The invalid byte is replaced, because readers of protobuf reject a whole
    file with such a name."""
    run = ranges("context kernel push:na\udcffme kernel pop sync")  # \udcff is Python's form of the byte 0xff
    et = the_et(run)
    assert not chakra.broken(et) and own_time(et, "na?me") > 0
    assert check(et.path).returncode == 0


STEPS = {
    "nested": "context kernel push:a kernel push:b kernel pop push:b kernel sync pop pop kernel sync",
    "domains that overlap": "context kernel push:one sleep:2 domain:other push:two sleep:2 domain: "
                            "pop sleep:2 kernel domain:other pop sync sleep:2 kernel sync",
    # These ranges last longer than the writer holds events, so the writer writes their first nodes
    # before their ends are known.
    "long": "context kernel push:epoch sleep:1500 push:step kernel:3 sync sleep:1500 kernel:2 sync pop "
            "push:step kernel sync pop sleep:1500 pop kernel sync",
    "numbers": "context kernel push:step_0 kernel pop push:step_1 kernel pop push:epoch_3_batch_17 "
               "kernel pop sync",
    "wide and full": "context kernel wide:wörld€ kernel pop full:look kernel pop sync",
    "no thread's own": "context kernel start:any push:mine kernel pop end deferred lock:it kernel sync",
    "workers": "context kernel worker:push:w+kernel:3+sync+pop push:main kernel worker:push:v+kernel+pop+sync "
               "sync pop",
    "not ended": "context kernel push:a kernel push:b kernel sync",
    "empty": "context kernel push:a pop push:b pop kernel push:c pop sync",
    "many": "context kernel push:around many:2000 kernel sync many:2000 pop sync",
}


@pytest.mark.parametrize("steps", STEPS.values(), ids=STEPS)
def test_as_converted_from_the_kineto_file(ranges, tmp_path, steps):
    run = ranges(steps)
    et = the_et(run)
    assert not chakra.broken(et)
    assert len(check_live(run.out, tmp_path)) == 1


@pytest.mark.parametrize("lead_in", ["0", "200ms"])
def test_a_window_cuts_ranges(ranges, tmp_path, lead_in):
    run = ranges("context kernel push:outer kernel push:inner begin sleep:500 kernel sync pop push:more "
                 "kernel sync stop windows:1 pop pop kernel sync begin sleep:500 kernel sync stop windows:2",
                 window="demand", lead_in=lead_in)
    ets = [chakra.Et(path) for path in run.files("*.et.zst")]
    assert {n.name for n in ets[0].nodes} >= {"outer", "inner", "more"}
    assert not {n.name for n in ets[1].nodes} & {"outer", "inner", "more"}
    assert not any(chakra.broken(et) for et in ets)
    assert len(check_live(run.out, tmp_path)) == 2


def test_off(ranges):
    run = ranges("context kernel push:a kernel pop sync", nvtx="off")
    et = the_et(run)
    assert not chakra.broken(et) and "a" not in {n.name for n in et.nodes}
