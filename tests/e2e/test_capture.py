"""Records events of every kind, and compares name, times and args of each with the truth."""
import collections
import json
import re

import pytest

import harness
from harness import check_trace
from tiers import cupti_versions

EVERYTHING = ("context stream kernel:5 copy memset event sync graph:3 blocking stream:0 kernel:2 copy "
              "memset syncall")


@pytest.mark.sanitize
def test_everything_once(go):
    run = go(EVERYTHING, log="warn")
    assert (run.status, run.stdout.split()[-1], run.said()) == (0, "done", [])
    check_trace(run, run.trace())


def test_kinds_that_the_scenario_has(go):
    """Makes sure that the tests above test something: the scenario has operations of every kind."""
    run = go(EVERYTHING)
    kinds = collections.Counter(op["kind"] for op in run.operations())
    assert kinds["kernel"] >= 17 and kinds["memcpy"] >= 8 and kinds["memset"] >= 5
    assert sum(1 for op in run.operations() if op["graph"]) == 12


def test_full_kinds_through_the_driver_api(go):
    run = go(EVERYTHING, api="all", log="warn")
    trace = run.trace()
    check_trace(run, trace)
    names = {row["name"] for row in trace.of("cuda_driver")}
    assert {"cuLaunchKernel", "cuGraphLaunch", "cuStreamSynchronize"} <= {
        re.sub(r"_(v\d+|ptsz)$", "", name) for name in names}


def test_default_filter_leaves_getters_out(go):
    names = {row["name"] for row in go(EVERYTHING).trace().of("cuda_driver", "cuda_runtime")}
    assert not [name for name in names if re.match(r"cu(da)?(Ctx)?Get|cuDeviceGet|cuModuleGet", name)]


def test_synchronization_rows(go):
    """Each wait has one row. Its times are inside the times of the call that waited."""
    run = go("context stream kernel:2 event sync syncall")
    trace = run.trace()
    calls = {call["corr"]: call for call in run.truth_of("call")}
    rows = trace.of("cuda_sync")
    kinds = collections.Counter(row["name"] for row in rows)
    waits = collections.Counter(wait["kind"] for wait in run.truth_of("wait"))
    assert kinds["Stream Sync"] >= 1 and kinds["Context Sync"] == 1
    assert kinds["Event Sync"] == waits["event_sync"] + waits["event_query"]
    assert kinds["Stream Wait Event"] == 1
    for row in rows:
        call = calls[row["args"]["correlation"]]
        assert call["start"] <= row["start"] <= row["end"] <= call["end"]
        if row["name"] in ("Stream Wait Event", "Event Sync"):
            record = calls[row["args"]["wait_on_cuda_event_record_corr_id"]]
            assert record["name"].startswith(("cuEventRecord", "cudaEventRecord"))
        if row["name"] == "Context Sync":
            assert row["args"]["stream"] == -1


def changed(row, part, key):
    """Returns a copy of the row with another value for the key."""
    value = {**row, **row["args"]}[key]
    other = value + 1 if isinstance(value, int) else "another"
    return {**row, part: {**row[part], key: other}} if part == "args" else {**row, key: other}


@pytest.mark.parametrize("version", cupti_versions(["12.6", "13.0"]))
def test_a_false_wait_is_noticed(go, version):
    """Tests waits_differ(): it notices a changed arg in any row, a surplus row, and a missing
    row."""
    run = go("context stream kernel:3 event query copy sync syncall", detail="full",
             sim=["--cupti", version])
    trace = run.trace()
    assert not harness.waits_differ(run, [trace]), harness.waits_differ(run, [trace])
    assert len(trace.of("cuda_sync")) >= 7
    for at, row in enumerate(trace.events):
        if row.get("cat") != "cuda_sync":
            continue
        others = [changed(row, "args", key) for key in row["args"]]
        others += [changed(row, "", key) for key in ("name", "pid", "tid", "start", "end")]
        others += [{**row, "args": {name: value for name, value in row["args"].items() if name != key}}
                   for key in row["args"] if key != "correlation"]
        for other in [*others, {**row, "cat": "none"}]:
            trace.events[at] = other
            assert harness.waits_differ(run, [trace]), (row, other)
        trace.events[at] = row
        launched = {**row["args"], "correlation": trace.of("kernel")[0]["args"]["correlation"]}
        trace.events.append({**row, "args": launched})
        assert harness.waits_differ(run, [trace])
        trace.events.pop()


def test_default_stream_keeps_cuptis_id(go):
    kernels = go("context stream:0 kernel:2 syncall").trace().of("kernel")
    assert {(k["tid"], k["args"]["stream"]) for k in kernels} == {(7, 7)}


def test_peer_copy(go):
    run = go("context peer sync", sim=["--devices", "2"])
    trace = run.trace()
    (copy,) = trace.of("gpu_memcpy")
    args = copy["args"]
    assert (args["fromDevice"], args["toDevice"], args["bytes"]) == (0, 1, 65536)
    assert copy["name"] == "Memcpy PtoP (Device -> Device)"
    assert not harness.operations_differ(run, [trace])
    assert len(trace.object["deviceProperties"]) == 2


@pytest.mark.sanitize
def test_threads(go):
    run = go("context threads:8 syncall", log="warn")
    trace = run.trace()
    check_trace(run, trace)
    assert len({row["tid"] for row in trace.of("cuda_driver")}) == 9
    assert run.said() == []


def test_header_of_the_file(go):
    run = go("context kernel sync", RANK="3", WORLD_SIZE="8", LOCAL_RANK="3")
    trace = run.trace()
    assert list(trace.object)[:2] == ["schemaVersion", "deviceProperties"]
    assert trace.object["distributedInfo"]["rank"] == 3
    assert trace.object["distributedInfo"]["world_size"] == 8
    lines = trace.text.decode().splitlines()
    ranks = [line for line in lines if re.search(r'"rank":\s+(\d+)', line)]
    assert len(ranks) == 1 and lines.index(ranks[0]) < next(
        i for i, line in enumerate(lines) if '"traceEvents"' in line)
    assert trace.base % (7889238 * 10**9) == 0
    (device,) = trace.object["deviceProperties"]
    assert device["id"] == 0 and device["numSms"] > 0


@pytest.mark.parametrize("told, job, rank, world_size", [
    ({}, "local", 0, 1),
    ({"TORCHELASTIC_RUN_ID": "my run", "RANK": "3", "WORLD_SIZE": "8"}, "my_run", 3, 8),
    ({"RAY_JOB_ID": "02000000"}, "02000000", 0, 1),
    ({"JOBSET_NAME": "llama", "JOB_COMPLETION_INDEX": "2"}, "llama", 2, 3)],
    ids=["nothing", "torchrun", "Ray", "Kubernetes"])
def test_who_it_is_by_the_launchers_word(go, told, job, rank, world_size):
    """The variables SYNCLINE_* for job and rank are not set. Path and file have the job and the
    rank from the launcher's variables."""
    run = go("context kernel sync", SYNCLINE_JOB="", **told)
    trace = run.trace()
    host = trace.path.parent
    assert (host.parent.name, host.name.split("-")[-2]) == (job, str(rank))
    assert trace.object["job"] == trace.object["syncline"]["job"] == job
    info = trace.object["distributedInfo"]
    assert (info["rank"], info["world_size"], info["backend"]) == (rank, world_size, "unknown")


def test_names_of_processes_threads_and_streams(go):
    run = go("context stream kernel sync", RANK="0")
    trace = run.trace()
    (kernel,) = trace.of("kernel")
    pid = run.truth_of("process")[0]["pid"]
    processes = trace.metadata("process_name")
    assert "scenario" in processes[(pid, 0)]
    labels = trace.metadata("process_labels")
    assert (labels[(pid, 0)], labels[(0, 0)]) == ("CPU", "GPU 0")
    threads = trace.metadata("thread_name")
    assert f"stream {kernel['tid']}" in threads[(0, kernel["tid"])]
    assert threads[(pid, pid)].startswith("thread ")


def test_names_are_demangled(go):
    names = {k["name"] for k in go("context kernel:2 sync").trace().of("kernel")}
    assert names == {"void layers::linear_spin_ns<float, 4>(unsigned long long)", "plain_spin_ns"}


@pytest.mark.parametrize("compression, suffix", [("zstd", ".json.zst"), ("zstd:-5", ".json.zst"),
                                                 ("gzip", ".json.gz"), ("none", ".json")])
def test_compression(go, compression, suffix):
    run = go("context kernel:10 copy sync", compression=compression, log="warn")
    trace = run.trace()
    assert trace.path.name.endswith(".pt.trace" + suffix)
    assert trace.path.stat().st_mode & 0o777 == 0o600
    assert run.said() == []
    check_trace(run, trace)


def test_detail_lean_drops_arrows(go):
    run = go("context kernel:3 copy sync", detail="lean")
    trace = run.trace()
    assert trace.flows() == []
    assert not harness.operations_differ(run, [trace])
    assert "memory bandwidth (GB/s)" not in json.dumps(trace.of("gpu_memcpy"))


def test_kinds_option(go):
    trace = go(EVERYTHING, kinds="kernel").trace()
    assert trace.of("kernel") and not trace.of("gpu_memcpy", "gpu_memset", "cuda_sync", "cuda_driver")


@pytest.mark.parametrize("start", [2**32 - 25, 2**32 - 40])
def test_correlation_ids_wrap(go, start):
    run = go(EVERYTHING, sim=["--correlation-start", str(start)], log="warn")
    assert max(op["corr"] for op in run.operations()) > 2**32
    check_trace(run, run.trace())
    assert run.said() == []


def test_bandwidth_of_copies(go):
    for copy in go("context copy copy sync").trace().of("gpu_memcpy"):
        exact = copy["args"]["bytes"] / (copy["end"] - copy["start"])
        assert float(copy["args"]["memory bandwidth (GB/s)"]) == pytest.approx(exact, abs=0.001)


def test_a_second_run_does_not_overwrite(go):
    """Two runs have the same host, rank and process id, which happens in containers. The second run leaves
    the files of the first unchanged."""
    first = go("context kernel sync")
    before = {path: path.read_bytes() for path in first.files()}
    second = go("context kernel:2 sync", output=str(first.out))
    after = second.files()
    assert len(after) == 2 and all(path.read_bytes() == data for path, data in before.items())


@pytest.mark.sanitize
@pytest.mark.parametrize("cupti", cupti_versions(["12.0", "12.9", "13.0", "13.5"]))
def test_runtime_api(tmp_path, cupti):
    """The runtime API of CUDA 12 and 13 calls the driver API under the same correlation id. Only the outer
    call has a row."""
    run = harness.run(tmp_path, harness.RUNTIME_CALLS, cupti[:2],
                      sim=["--cupti", cupti, "--nested-driver"], log="warn")
    assert (run.status, run.stdout, run.said()) == (0, f"runtime {cupti[:2]}\n", [])
    trace = run.trace()
    check_trace(run, trace)
    assert {row["name"] for row in trace.of("cuda_runtime")} >= {"cudaLaunchKernel", "cudaGraphLaunch"}
    runtime = {row["args"]["correlation"] for row in trace.of("cuda_runtime")}
    assert not runtime & {row["args"]["correlation"] for row in trace.of("cuda_driver")}
    assert trace.counters["nested_dropped"] > 10


def test_what_nvcc_compiled(tmp_path):
    program = harness.BUILD / "samples" / "runtime_api"
    if not program.exists():
        pytest.skip("no nvcc when this was built")
    run = harness.run(tmp_path, program, sim=["--nested-driver"], log="warn")
    assert (run.status, run.said()) == (0, [])
    trace = run.trace()
    check_trace(run, trace)
    assert {row["name"] for row in trace.of("cuda_runtime")} >= {"cudaLaunchKernel"}


@pytest.mark.sanitize
def test_what_cupti_itself_costs(go):
    """Every OVERHEAD record has a row, on a track of process -1. The exception is the record of the
    final flush, which CUPTI never delivers."""
    run = go("context kernel:5 sync", sim=["--cupti-overhead"])
    rows = run.trace().of("overhead")
    made = [(line["start"], line["end"]) for line in run.log if line["what"] == "overhead"]
    lost = [line for line in run.lost() if line["kind"] == "overhead"]
    found = [(row["start"], row["end"]) for row in rows]
    assert set(found) <= set(made) and len(found) == len(made) - len(lost)
    assert {"Activity Buffer Request", "Lazy Function Loading"} <= {row["name"] for row in rows}
    assert sum(row["name"] == "Lazy Function Loading" for row in rows) == 5
    assert {row["pid"] for row in rows} == {-1}
    assert go("context kernel:5 sync", sim=["--cupti-overhead"],
              kinds="kernel,driver").trace().of("overhead") == []


def test_event_waits_name_their_records(tmp_path):
    """Two threads record events and wait for them, in files with many compressed frames. Every wait
    has the id of its event record, even if a frame ended between the two."""
    run = harness.run(tmp_path, harness.BUILD / "samples" / "train_like", "--steps", "300")
    assert run.status == 0, run.stderr
    waits = [e for e in run.trace().of("cuda_sync")
             if e["name"] in ("Stream Wait Event", "Event Sync")]
    assert len(waits) > 2000
    assert [e for e in waits if "wait_on_cuda_event_record_corr_id" not in e["args"]] == []
