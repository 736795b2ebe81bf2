"""Tests CUPTI's two interfaces: the process-wide interface, and, from CUPTI 13.2 on, a subscriber
of syncline's own. From 13.4 on, a subscriber's records contain only the fields that syncline reads.
Both interfaces give the same traces, and other clients work beside both."""
import collections
import json
import re
import subprocess

import pytest

import harness
import player
from test_neighbour import NEIGHBOUR, kernels_outside, play
from tiers import cupti_versions

STEPS = "context stream kernel:30 copy event sync graph:2 blocking stream:0 kernel:5 memset syncall"
NEWER = ["13.2", "13.3", "13.4", "13.5"]
CHOOSING = ["13.4", "13.5"]  # syncline chooses fields only in these CUPTI versions
SUBSCRIBER = harness.BUILD / "tests" / "e2e" / "subscriber"


def subscriptions(run):
    return [line["what"] for line in run.log if line["what"] in ("subscribed", "unsubscribed")]


def chosen(run):
    """Returns a dictionary. The keys are the kinds whose fields were chosen. The values are two
    sizes in bytes: of a record with the chosen fields, and of a complete record."""
    return {line["kind"]: (line["bytes"], line["whole_bytes"])
            for line in run.log if line["what"] == "chosen"}


# Ids and times, and args computed from them, which differ in every run.
IDS = {"correlation", "graph id", "graph node id", "wait_on_cuda_event_record_corr_id",
       "wait_on_context_record_corr_id", "cuda_event_sync_id", "memory bandwidth (GB/s)"}
WAITED = {"wait_kind", "wait_ns", "wake_ns", "released_by", "wait_basis", "sync_edges"}


def content(trace):
    """Returns all events without values that differ between runs. Only the presence of ids is checked. Waits
    are not compared."""
    return collections.Counter(
        (e["ph"], e.get("cat"), e["name"], *(
            (key, "" if key in IDS else repr(value))
            for key, value in sorted(e.get("args", {}).items()) if key not in WAITED))
        for e in trace.events if e.get("cat") not in ("overhead", "sync") and e["ph"] in "Xsf")


def check_said(run, version, api):
    """Checks that syncline printed nothing. The exception is a subscriber of CUPTI 13.2: there
    syncline prints that CUPTI hides dropped records."""
    if version == "13.2" and api != "v1":
        (line,) = run.said()
        assert "does not report dropped records to subscribers" in line
    else:
        assert run.said() == []


@pytest.mark.sanitize
@pytest.mark.parametrize("detail", ["default", "full"])
@pytest.mark.parametrize("version", cupti_versions(NEWER))
def test_the_same_traces_from_both(go, version, detail):
    traces = []
    for api, expected in (("v1", []), ("v2-whole", ["subscribed"]), ("v2", ["subscribed"])):
        run = go(STEPS.replace("syncall", "peer syncall"), log="warn", cupti_api=api, detail=detail,
                 sim=["--cupti", version, "--devices", "2"])
        assert (run.status, subscriptions(run)) == (0, expected)
        check_said(run, version, api)
        harness.check_trace(run, run.trace())
        traces.append(run.trace())
        assert not traces[-1].counters["cupti_errors"]
        assert bool(chosen(run)) == (api == "v2" and version in CHOOSING)
    assert content(traces[0]) == content(traces[1]) == content(traces[2])


# All fields of all records have different values, so that the test notices if two fields are
# swapped.
RECORDED = """syncline-replay 1
device device=0 capability=9,0 sms=132 warp=32 threads=1024,2048 blocks=32 registers=65536,65536 \
shared=49152,233472 name=H
context at=100 pid=5 tid=6 device=0 context=1 null_stream=7
stream at=100 pid=5 tid=6 context=1 stream=13 priority=-2 flags=2
runtime at=1000 pid=5 tid=6 corr=11 cbid=211 start=900 end=1000
kernel at=1000 pid=5 tid=6 corr=11 start=1500 end=2500 context=1 stream=13 graph=3 node=12884901889 \
priority=-4 channel=21,1 grid=2,3,4 block=32,5,6 cluster=2,1,3 regs=77 static=1024 dynamic=2048 name=one
runtime at=3000 pid=5 tid=6 corr=12 cbid=41 start=2900 end=3000 result=1
memcpy at=3000 pid=5 tid=6 corr=12 start=3500 end=4500 context=1 stream=13 channel=22,2 bytes=6543 \
kind=1 src=2 dst=3
memcpy at=3000 pid=5 tid=6 corr=12 start=4600 end=4700 context=1 stream=13 channel=23,2 bytes=7654 \
kind=10 src=3 dst=3 from=0,1 to=1,2
memset at=3000 pid=5 tid=6 corr=12 start=4800 end=4900 context=1 stream=13 channel=24,2 bytes=8765 \
value=201 memory=5
runtime at=5000 pid=5 tid=6 corr=13 cbid=135 start=4900 end=5000
event at=5000 pid=5 tid=6 corr=13 context=1 stream=13 event=9 sync_id=31
runtime at=6000 pid=5 tid=6 corr=14 cbid=137 start=5900 end=6000
sync at=6000 pid=5 tid=6 corr=14 type=1 context=1 stream=4294967295 event=9 sync_id=31 start=5910 end=5990
"""
FULL = {"static shared memory": 1024, "dynamic shared memory": 2048, "shared memory": 3072,
        "cluster": [2, 1, 3], "channel": 21, "channel type": 1, "priority": -4,
        "registers per thread": 77, "grid": [2, 3, 4], "block": [32, 5, 6], "graph id": 3}


@pytest.mark.parametrize("version", cupti_versions(NEWER))
def test_every_field_from_both(tmp_path, version):
    """The same records are played through both interfaces. The rows are identical in every digit."""
    path, traces = tmp_path / "recording", []
    path.write_text(re.sub(r"\b(at|start|end)=(\d+)", lambda match: (
        f"{match[1]}={1_700_000_000 * 10**9 + int(match[2])}"), RECORDED))
    for api in ("v1", "v2-whole", "v2"):
        (tmp_path / api).mkdir()
        run = player.play(tmp_path / api, path, cupti=version, cupti_api=api, api="all",
                          detail="full", log="warn")
        check_said(run, version, api)
        traces.append([e for e in run.trace().events if e.get("cat") not in (None, "overhead", "sync")
                       and e["ph"] in "Xsf"])
        # The id of the process is removed. The args of waits are removed for a subscriber of CUPTI
        # 13.2, because there syncline finds no edges.
        for event in traces[-1]:
            if event["cat"] == "cuda_runtime" or event["ph"] == "s":
                event["pid"] = 0
            if version == "13.2":
                event["args"] = {key: value for key, value in event.get("args", {}).items()
                                 if key not in WAITED}
    assert traces[0] == traces[1] == traces[2]
    (kernel,) = [e for e in traces[0] if e["cat"] == "kernel"]
    assert {key: kernel["args"].get(key) for key in FULL} == FULL
    assert [e["args"]["channel"] for e in traces[0] if "channel" in e.get("args", {})] == [21, 22, 23]
    assert [e["args"]["value"] for e in traces[0] if e["cat"] == "gpu_memset"] == [201]


@pytest.mark.parametrize("version", cupti_versions(["12.6", "13.0", "13.1"]))
def test_older_versions_have_only_one(go, version):
    run = go(STEPS, sim=["--cupti", version], log="warn")
    assert (run.said(), subscriptions(run)) == ([], [])
    asked = go(STEPS, sim=["--cupti", version], log="warn", cupti_api="v2")
    (said,) = asked.said()
    assert "lacks the subscriber interface of CUPTI 13.2: using SYNCLINE_CUPTI_API=v1" in said
    harness.check_trace(asked, asked.trace())


@pytest.mark.parametrize("version", cupti_versions(CHOOSING))
def test_records_have_the_fields_that_are_read(go, version):
    """Records contain only the fields that syncline reads. With api="all" syncline does not enable
    calls by a list."""
    run = go(STEPS, sim=["--cupti", version], api="all")
    own, whole = chosen(run)["kernel"]
    assert own <= whole * 0.6
    assert all(own <= whole for own, whole in chosen(run).values())
    assert {"kernel", "memcpy", "memset", "runtime", "driver", "sync", "cuda_event", "context",
            "stream", "overhead"} <= set(chosen(run))
    harness.check_trace(run, run.trace())


def test_calls_are_filtered_by_a_list(go):
    """syncline enables calls by a list, so CUPTI makes no records of the other calls. The older filter is
    not used."""
    run = go(STEPS, sim=["--cupti", "13.4"])
    enabled = {line["kind"] for line in run.log if line["what"] == "enabled"}
    assert "runtime" not in enabled and "driver" not in enabled
    assert any(name.startswith("cuLaunchKernel") for name in enabled)
    assert not any(name.startswith("cuCtxGetCurrent") for name in enabled)
    # Calls that have no name in the headers of this CUPTI version cannot be in the list.
    calls = {name for name in enabled if re.match(r"cu(da)?[A-Z]", name)}
    assert len(calls) > 300 and not [name for name in calls if not harness.in_default_filter(name)]


def test_a_dump_is_of_whole_records(go, tmp_path):
    run = go(STEPS, sim=["--cupti", "13.5"], dump_cupti=str(tmp_path / "dump"))
    assert subscriptions(run) == ["subscribed"] and not chosen(run)
    assert (tmp_path / "dump").stat().st_size > 0


@pytest.mark.sanitize
@pytest.mark.parametrize("version", cupti_versions(["13.3", "13.4"]))
@pytest.mark.parametrize("trouble", ["--cupti-shuffle --cupti-late 0.02", "--cupti-per-thread-buffers 0",
                                     "--cupti-twice 0.3", "--nested-driver --cupti-overhead"])
def test_in_trouble(go, trouble, version):
    run = go(STEPS + " sleep:200", sim=["--cupti", version, *trouble.split()], log="warn",
             cupti_api="v2")
    traces = run.traces()
    assert not harness.operations_differ(run, traces), harness.operations_differ(run, traces)
    assert not harness.calls_differ(run, traces), harness.calls_differ(run, traces)


@pytest.mark.parametrize("version", cupti_versions(["13.3", "13.4"]))
def test_dropped_records_are_counted(go, version):
    """CUPTI drops records of a subscriber. syncline counts the dropped records. The older function of CUPTI
    does not count drops of a subscriber."""
    run = go(STEPS, sim=["--cupti", version, "--cupti-drop", "0.2", "--seed", "3"], cupti_api="v2")
    dropped = [line for line in run.log if line["what"] == "dropped"]
    assert dropped and run.trace().counters["dropped_cupti"] == len(dropped)


@pytest.mark.parametrize("version", cupti_versions(["13.3", "13.4"]))
def test_windows(go, version):
    """Kinds are disabled and enabled again between two windows. Each window has exactly the kernels launched
    in it."""
    run = go("context kernel:3 start sleep:50 kernel:6 sync stop windows:1 kernel:2 start sleep:50 "
             "kernel:4 sync stop windows:2", sim=["--cupti", version], window="demand",
             lead_in="10ms", cupti_api="v2")
    traces = sorted(run.traces(), key=lambda trace: trace.path.name)
    assert [len(trace.of("kernel")) for trace in traces] == [6, 4]


@pytest.mark.parametrize("version", cupti_versions(["13.0", "13.3"]))
def test_linked_with_cupti_means_the_older_one(tmp_path, version):
    """The program is linked with CUPTI. syncline uses the older interface, because a process cannot use both
    interfaces of CUPTI."""
    run = harness.run(tmp_path, NEIGHBOUR, "context", "kernel:3", sim=["--cupti", version])
    assert subscriptions(run) == []
    assert len(run.trace().of("kernel")) == 3


def test_alone_the_newer_one(go):
    run = go(STEPS, sim=["--cupti", "13.5"])
    assert subscriptions(run) == ["subscribed"]


@pytest.mark.sanitize
@pytest.mark.parametrize("version", cupti_versions(NEWER))
def test_an_older_client_comes_later(tmp_path, version):
    """A client of the older interface starts later. CUPTI would refuse this client beside a subscriber, so
    syncline unsubscribes."""
    run = play(tmp_path, "context kernel:5 clock register enable kernel:7 disable flush told "
                         "sleep:400 kernel:4", sim=["--cupti", version], cupti_api="v2")
    assert run.stdout == "kernels 7 calls some strangers 0\ndone\n"
    check_said(run, version, "v2")
    assert subscriptions(run) == ["subscribed", "unsubscribed"]
    trace = run.trace()
    ours, outside = kernels_outside(run, trace)
    assert ours == outside and len(ours) == 9
    assert len(trace.object["syncline"]["gaps"]) == 1


@pytest.mark.parametrize("version", cupti_versions(["13.2", "13.3"]))
def test_edges_where_drops_are_hidden(go, version):
    """CUPTI 13.2 hides dropped records from subscribers. syncline finds no edges there, because they could be
    wrong."""
    run = go("context stream kernel:3 sync blocking kernel:2 sync sleep:300 kernel:2 sync",
             sim=["--cupti", version], cupti_api="v2")
    counters = run.trace().counters
    if version == "13.2":
        assert counters["edges"] == 0 and counters["edges_lost_gave_up"] > 0
    else:
        assert counters["edges"] >= 3 and counters["edges_lost_gave_up"] == 0


def beside(tmp_path, steps, version, trouble=(), **options):
    """Runs syncline beside another subscriber. Returns the run, and the lines that the other subscriber
    printed."""
    run = harness.run(tmp_path, SUBSCRIBER, *steps.split(), sim=["--cupti", version, *trouble],
                      log="warn", **options)
    assert run.status == 0, run.stderr
    return run, run.stdout.splitlines()


@pytest.mark.sanitize
@pytest.mark.parametrize("api", ["v2", "v2-whole"])
@pytest.mark.parametrize("version", cupti_versions(["13.3", "13.4", "13.5"]))
def test_another_subscriber_comes_later(tmp_path, version, api):
    """Another subscriber starts and ends. syncline and the other subscriber get all their records,
    and syncline's trace has no gap."""
    run, said = beside(tmp_path, "context kernel:5 subscribe enable kernel:7 disable flush told "
                                 "unsubscribe kernel:4", version, cupti_api=api)
    assert said == ["subscribed beside 'CUPTI for syncline'",
                    "kernels 7 odd 0 called 'plain_spin_ns'", "done"]
    assert run.said() == []
    trace = run.trace()
    ours, outside = kernels_outside(run, trace)
    assert ours == outside and len(ours) == 16
    assert "gaps" not in trace.object["syncline"] and not trace.counters["foreign_buffers"]


@pytest.mark.sanitize
@pytest.mark.parametrize("version", cupti_versions(["13.3", "13.4", "13.5"]))
def test_another_subscriber_was_there(tmp_path, version):
    run, said = beside(tmp_path, "subscribe enable context kernel:7 disable flush told kernel:4",
                       version)
    assert said == ["subscribed beside ''", "kernels 7 odd 0 called 'plain_spin_ns'", "done"]
    assert run.said() == []
    ours, outside = kernels_outside(run, run.trace())
    assert ours == outside and len(ours) == 11


def check_times(run, trace):
    """Checks that kernels have their true times on the system's clock."""
    true = {op["corr"]: (op["start"], op["end"]) for op in run.truth_of("op")
            if op["kind"] == "kernel"}
    for row in trace.of("kernel"):
        assert (row["start"], row["end"]) == true[row["args"]["correlation"]], row


@pytest.mark.sanitize
@pytest.mark.parametrize("api", ["v2", "v2-whole"])
@pytest.mark.parametrize("version", cupti_versions(["13.3", "13.4", "13.5"]))
@pytest.mark.parametrize("steps", ["subscribe clock enable context", "context subscribe clock enable"])
def test_another_subscriber_has_a_clock_of_its_own(tmp_path, steps, version, api):
    """Another subscriber installs its own clock, before or after the context exists. The times of
    syncline's records stay right, because CUPTI uses the clock of a subscriber only if that is the
    only subscriber."""
    run, said = beside(tmp_path, steps + " kernel:7 noclock kernel:2 disable flush told kernel:3",
                       version, cupti_api=api)
    assert said[1:] == ["kernels 9 odd 0 called 'plain_spin_ns'", "done"]
    assert run.said() == []
    trace = run.trace()
    assert len(trace.of("kernel")) == 12
    check_times(run, trace)


@pytest.mark.parametrize("version", cupti_versions(["13.2", "13.3", "13.4"]))
def test_a_subscriber_alone_has_its_clock(tmp_path, version):
    """Tests the simulator without syncline. If there is only one subscriber, its records have the
    times of its own clock. Records from before the clock was installed keep the earlier clock."""
    run, said = beside(tmp_path, "context subscribe enable kernel:1 clock kernel:7 noclock kernel:2 "
                                 "disable flush told", version, enabled="0")
    told = {"13.2": "kernels 0 odd 1 called ''"}.get(
        version, "kernels 10 odd 0 called 'plain_spin_ns' by ticks 7")
    assert said == ["subscribed beside ''", told, "done"]
    assert run.files() == []


@pytest.mark.sanitize
@pytest.mark.parametrize("version", cupti_versions(["13.3", "13.4"]))
def test_another_subscriber_chooses_other_fields(tmp_path, version):
    """Another subscriber chooses fewer fields. CUPTI accepts the choice only after a forced flush
    has delivered the earlier records. A flush by syncline is enough. A buffer that arrives late has
    the fields that were chosen when it was filled."""
    run, said = beside(tmp_path, "context subscribe enable kernel:3 fewer flush fewer kernel:4 "
                                 "disable flush until:7 told kernel:2 sleep:1000", version,
                       trouble=["--cupti-late", "0.05"])
    assert said[1:] == ["not now", "fewer", "kernels 7 odd 0 called 'plain_spin_ns' "
                        "without start 4", "done"]
    assert run.said() == []
    ours, outside = kernels_outside(run, run.trace())
    assert ours == outside and len(ours) == 9


def test_another_subscriber_beside_the_older_calls(tmp_path):
    """syncline uses the older interface, so CUPTI refuses another subscriber. (If syncline uses the
    newer interface, both can record, as the tests above show.)"""
    run, said = beside(tmp_path, "context kernel:5 subscribe kernel:4", "13.4", cupti_api="v1")
    assert said == ["refused beside 'CUPTI'", "done"]
    assert run.said() == [] and len(run.trace().of("kernel")) == 9


def test_another_subscriber_that_wants_to_be_alone(tmp_path):
    """Another subscriber demands exclusive use. If that subscriber started before syncline,
    syncline records nothing and names the subscriber. If it starts after syncline, CUPTI refuses
    it."""
    run, said = beside(tmp_path, "alone enable context kernel:7 disable flush told", "13.4")
    assert said == ["subscribed beside ''", "kernels 7 odd 0 called 'plain_spin_ns'", "done"]
    (line,) = run.said()
    assert "another profiler uses CUPTI (CUPTI for columns)" in line
    assert run.files() == []
    (tmp_path / "later").mkdir()
    later, said = beside(tmp_path / "later", "context alone kernel:3", "13.4")
    assert said == ["refused beside 'CUPTI for syncline'", "done"]
    assert len(later.trace().of("kernel")) == 3


def test_an_older_client_was_there(tmp_path):
    """A client of the older interface started first, so CUPTI refuses syncline's subscriber.
    syncline reports that nothing is recorded, and names the client."""
    run = play(tmp_path, "register enable context kernel:7 disable flush told",
               sim=["--cupti", "13.3"], cupti_api="v2")
    assert run.stdout == "kernels 7 calls some strangers 0\ndone\n"
    (said,) = run.said()
    assert "another profiler uses CUPTI (CUPTI)" in said and "nothing is recorded" in said
    assert run.files() == []


# tests/unit/process/cupti_failures_test.c makes each function of the older interface fail at each
# of its calls.
@pytest.mark.parametrize("function, call", [
    ("cuptiSubscribe_v2", 1), ("cuptiActivitySetAttribute_v2", 1), ("cuptiActivityEnable_v2", 2)])
def test_cupti_function_fails(go, function, call):
    run = go("context kernel:10 sync sleep:300 kernel:5 sync return:3", log="warn", cupti_api="v2",
             sim=["--cupti", "13.4", "--fail", f"{function}:{call}:999"])
    assert (run.status, run.stdout) == (3, "done\n") and run.failed(function)
    if function == "cuptiActivitySetAttribute_v2":  # syncline then uses complete records
        assert len(run.trace().of("kernel")) == 15 and not chosen(run)
    else:
        assert run.said(), f"{function} failed and nothing was said"


def test_their_costs_are_measured(tmp_path):
    """Runs bench/interfaces_bench with the smallest sizes. It prints twelve positive values."""
    bench, rows = harness.BUILD / "bench" / "interfaces_bench", tmp_path / "rows.json"
    if not harness.has_benches():
        pytest.skip("built with -DSYNCLINE_BENCH=OFF")
    subprocess.run([bench, "--launches", "2000", "--rounds", "1", "--json", rows], check=True,
                   capture_output=True, timeout=120)
    found = {row["metric"]: row["value"] for row in map(json.loads, rows.open())}
    assert len(found) == 12 and all(value > 0 for value in found.values())
    assert found["v2, CUPTI's buffers"] < 0.7 * found["v1, CUPTI's buffers"]
    assert found["v2-whole, CUPTI's buffers"] == pytest.approx(found["v1, CUPTI's buffers"], rel=0.01)
