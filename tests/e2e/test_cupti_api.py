"""CUPTI's two interfaces: that of the whole process, and a subscriber of our own from 13.2. The same
traces from both, and room for others beside either."""
import collections

import pytest

import harness
from test_neighbour import NEIGHBOUR, kernels_outside, play

STEPS = "context stream kernel:30 copy event sync graph:2 blocking stream:0 kernel:5 memset syncall"
NEWER = ["13.2", "13.3", "13.4", "13.5"]


def subscriptions(run):
    return [line["what"] for line in run.log if line["what"] in ("subscribed", "unsubscribed")]


def content(trace):
    """Everything but times and ids, which no two runs share."""
    return collections.Counter(
        (e["ph"], e.get("cat"), e["name"], *(repr(e.get("args", {}).get(key)) for key in (
            "cbid", "result", "device", "context", "stream", "bytes", "grid", "block", "priority",
            "registers per thread", "shared memory", "cuda_sync_kind", "wait_on_stream")))
        for e in trace.events if e.get("cat") not in ("overhead", "sync") and e["ph"] in "Xsf")


@pytest.mark.sanitize
@pytest.mark.parametrize("version", NEWER)
def test_the_same_traces_from_both(go, version):
    traces = []
    for api, expected in (("v1", []), ("v2", ["subscribed"])):
        run = go(STEPS, sim=["--cupti", version], log="warn", cupti_api=api)
        assert (run.status, run.said(), subscriptions(run)) == (0, [], expected)
        harness.check_trace(run, run.trace())
        traces.append(run.trace())
    assert content(traces[0]) == content(traces[1])
    assert not traces[1].counters["cupti_errors"]


@pytest.mark.parametrize("version", ["12.6", "13.0", "13.1"])
def test_older_versions_have_only_one(go, version):
    run = go(STEPS, sim=["--cupti", version], log="warn")
    assert (run.said(), subscriptions(run)) == ([], [])
    asked = go(STEPS, sim=["--cupti", version], log="warn", cupti_api="v2")
    (said,) = asked.said()
    assert "has no subscribers of CUPTI 13.2: SYNCLINE_CUPTI_API=v1 is used" in said
    harness.check_trace(asked, asked.trace())


@pytest.mark.parametrize("trouble", ["--cupti-shuffle --cupti-late 0.02", "--cupti-per-thread-buffers 0",
                                     "--cupti-twice 0.3", "--nested-driver --cupti-overhead"])
def test_in_trouble(go, trouble):
    run = go(STEPS + " sleep:200", sim=["--cupti", "13.3", *trouble.split()], log="warn",
             cupti_api="v2")
    traces = run.traces()
    assert not harness.operations_differ(run, traces), harness.operations_differ(run, traces)
    assert not harness.calls_differ(run, traces), harness.calls_differ(run, traces)


def test_dropped_records_are_counted(go):
    """Which the older call would not tell of."""
    run = go(STEPS, sim=["--cupti", "13.3", "--cupti-drop", "0.2", "--seed", "3"], cupti_api="v2")
    dropped = [line for line in run.log if line["what"] == "dropped"]
    assert dropped and run.trace().counters["dropped_cupti"] == len(dropped)


def test_windows(go):
    """Kinds go off and on again."""
    run = go("context kernel:3 start sleep:50 kernel:6 sync stop windows:1 kernel:2 start sleep:50 "
             "kernel:4 sync stop windows:2", sim=["--cupti", "13.3"], window="demand",
             lead_in="10ms", cupti_api="v2")
    traces = sorted(run.traces(), key=lambda trace: trace.path.name)
    assert [len(trace.of("kernel")) for trace in traces] == [6, 4]


@pytest.mark.parametrize("version", ["13.0", "13.3"])
def test_linked_with_cupti_means_the_older_one(tmp_path, version):
    """They do not mix: what is linked with CUPTI makes the older calls."""
    run = harness.run(tmp_path, NEIGHBOUR, "context", "kernel:3", sim=["--cupti", version])
    assert subscriptions(run) == []
    assert len(run.trace().of("kernel")) == 3


def test_alone_the_newer_one(go):
    run = go(STEPS, sim=["--cupti", "13.5"])
    assert subscriptions(run) == ["subscribed"]


@pytest.mark.sanitize
@pytest.mark.parametrize("version", NEWER)
def test_an_older_client_comes_later(tmp_path, version):
    """It would be refused beside our subscriber, which is given up for it."""
    run = play(tmp_path, "context kernel:5 clock register enable kernel:7 disable flush told "
                         "sleep:400 kernel:4", sim=["--cupti", version], cupti_api="v2")
    assert (run.stdout, run.said()) == ("kernels 7 calls some strangers 0\ndone\n", [])
    assert subscriptions(run) == ["subscribed", "unsubscribed"]
    trace = run.trace()
    ours, outside = kernels_outside(run, trace)
    assert ours == outside and len(ours) == 9
    assert len(trace.object["syncline"]["gaps"]) == 1


def test_an_older_client_was_there(tmp_path):
    """Our subscriber is refused; who holds CUPTI is said."""
    run = play(tmp_path, "register enable context kernel:7 disable flush told",
               sim=["--cupti", "13.3"], cupti_api="v2")
    assert run.stdout == "kernels 7 calls some strangers 0\ndone\n"
    (said,) = run.said()
    assert "another profiler holds CUPTI (CUPTI)" in said and "nothing is recorded" in said
    assert run.files() == []


FUNCTIONS = ["cuptiSubscribe_v2", "cuptiActivityRegisterCallbacks_v2", "cuptiActivityEnable_v2",
             "cuptiActivityEnableRuntimeApi_v2", "cuptiActivityEnableDriverApi_v2",
             "cuptiActivityGetNextRecord_v2", "cuptiActivityGetNumDroppedRecords_v2",
             "cuptiActivitySetAttribute_v2", "cuptiActivityGetAttribute_v2", "cuptiGetTimestamp_v2"]


@pytest.mark.parametrize("call", [0, 1, 2])
@pytest.mark.parametrize("function", FUNCTIONS)
def test_cupti_function_fails(go, function, call):
    run = go("context kernel:10 sync sleep:300 kernel:5 sync return:3", log="warn", cupti_api="v2",
             sim=["--cupti", "13.3", "--fail", f"{function}:{call}:999"])
    assert (run.status, run.stdout) == (3, "done\n")
    failed = [line for line in run.log if line["what"] == "failed"]
    if not failed:
        assert len(run.trace().of("kernel")) == 15
    elif function not in ("cuptiActivityGetNextRecord_v2", "cuptiGetTimestamp_v2"):
        assert run.said(), f"{function} failed and nothing was said"
