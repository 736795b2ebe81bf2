"""Runs `syncline convert --to chakra` as a user does, on traces of torch.profiler, on generated
traces, and on damaged and malicious traces."""
import collections
import gzip
import json
import os
import pathlib
import resource
import subprocess

import pytest
import zstandard

import chakra
import chakra_replay
import harness
from real_traces import TRACES, real

NAMES = ["cuda_event_sync", "simple_add", "nccl_3steps", "two_ranks.rank-0", "two_ranks.rank-1"]


def run(trace, out, *options, status=0, **more) -> subprocess.CompletedProcess:
    done = subprocess.run([harness.TOOL, "convert", trace, "--to", "chakra", "-o", out, *options],
                          capture_output=True, text=True, timeout=120, **more)
    assert done.returncode == status, done.stderr
    return done


def convert(trace, tmp_path, *options, status=0) -> chakra.Et:
    out = tmp_path / "out.0.et"
    run(trace, out, "--force", *options, status=status)
    return chakra.Et(out)


def slice_(category, name, tid, ts, dur, **args):
    return {"ph": "X", "cat": category, "name": name, "pid": 1, "tid": tid, "ts": ts, "dur": dur,
            "args": {key.replace("_", " "): value for key, value in args.items()}}


def write(path: pathlib.Path, rows: list[dict], **header) -> pathlib.Path:
    path.write_text(json.dumps({**header, "traceEvents": rows}))
    return path


# Tests with real traces

@real
@pytest.mark.sanitize
@pytest.mark.parametrize("name", NAMES)
def test_every_edge_is_a_dependency(tmp_path, name):
    trace = TRACES / f"{name}.json.gz"
    et = convert(trace, tmp_path)
    assert not chakra.broken(et)
    told = subprocess.run([harness.TOOL, "edges", "--json", trace], check=True, timeout=60,
                          capture_output=True, text=True).stdout
    edges = [json.loads(line) for line in told.splitlines()]
    assert edges
    gpu, waits = collections.defaultdict(list), collections.defaultdict(list)
    for node in et.gpu:
        gpu[node.correlation].append(node)
    for node in et.cpu:
        if node.name.endswith(".wait"):
            waits[node.correlation].append(node)
    for edge in edges:
        sources = {n.id for n in gpu[edge["src_correlation"]]}
        to = (waits if edge["dst_point"] == "end" else gpu)[edge["dst_correlation"]]
        assert any(sources & set(node.deps) for node in to), edge


@real
@pytest.mark.parametrize("name", NAMES)
def test_every_row_is_there_with_its_own_time(tmp_path, name):
    """Each GPU operation has one node. The nodes of a CPU row together cover the part of the row in
    which no inner row runs."""
    trace = TRACES / f"{name}.json.gz"
    et = convert(trace, tmp_path)
    rows = json.loads(gzip.decompress(trace.read_bytes()))["traceEvents"]
    operations = collections.Counter(
        (r["args"]["correlation"], r["args"]["stream"], round(r["dur"] * 1000)) for r in rows
        if r["ph"] == "X" and r.get("cat") in ("kernel", "gpu_memcpy", "gpu_memset"))
    assert operations == collections.Counter((n.correlation, n.attr["stream"], n.duration)
                                             for n in et.gpu)
    calls = {r["args"]["correlation"] for r in rows if r.get("cat") in ("cuda_runtime", "cuda_driver")
             and r["ph"] == "X"}
    assert calls == {n.correlation for n in et.cpu if n.correlation}
    ids = {r["args"]["Record function id"] for r in rows if r["ph"] == "X"
           and r.get("args", {}).get("Record function id") and r["dur"]}
    # A row that inner rows cover completely has no node.
    assert len(ids - {n.attr["rf_id"] for n in et.cpu if "rf_id" in n.attr}) <= len(ids) / 50


@real
@pytest.mark.sanitize
def test_collectives_of_a_real_trace(tmp_path):
    trace = TRACES / "nccl_3steps.json.gz"
    et = convert(trace, tmp_path)
    rows = json.loads(gzip.decompress(trace.read_bytes()))["traceEvents"]
    size = {"Float": 4, "Long": 8}
    kind = {"allreduce": 0, "broadcast": 5}
    wanted = {r["args"]["correlation"]: (kind[r["args"]["Collective name"]],
                                         r["args"]["In msg nelems"] * size[r["args"]["dtype"]])
              for r in rows if r.get("cat") == "kernel" and "Collective name" in r["args"]}
    assert len(wanted) == 21
    nodes = {n.correlation: n for n in et.gpu if n.type == chakra.COLL}
    assert {c: (n.attr["comm_type"], n.attr["comm_size"]) for c, n in nodes.items()} == wanted
    assert {n.attr["pg_name"] for n in nodes.values()} == {""}
    assert not list(tmp_path.glob("*.json")), "all ranks are no group"


@real
def test_backward_passes_of_a_real_trace(tmp_path):
    """The first node of a backward pass depends on the calling thread, and the calling thread's
    next node depends on the last node of the pass. This happens three times, because there are
    three steps. No other dependency connects threads."""
    et = convert(TRACES / "nccl_3steps.json.gz", tmp_path)
    threads = collections.Counter(n.attr["tid"] for n in et.cpu if n.name.startswith("ProfilerStep#"))
    (main, _), = threads.most_common(1)
    there, back = [], []
    for node in et.cpu:
        for parent in (et.by_id[d] for d in node.deps):
            if parent.cpu and parent.attr["tid"] != node.attr["tid"]:
                (back if node.attr["tid"] == main else there).append((parent, node))
    assert len(there) == len(back) == 3
    assert all(node.name.startswith("autograd::") and parent.attr["tid"] == main
               and parent.end == node.start for parent, node in there)
    assert all(parent.end == node.start for parent, node in back)


@real
def test_shapes_of_a_real_trace(tmp_path):
    trace = TRACES / "two_ranks.rank-0.json.gz"
    et = convert(trace, tmp_path)
    rows = json.loads(gzip.decompress(trace.read_bytes()))["traceEvents"]
    wanted = {(r["name"], json.dumps(r["args"]["Input Dims"]), json.dumps(r["args"]["Input type"]))
              for r in rows if r["ph"] == "X" and "Input Dims" in r.get("args", {})}
    found = {(n.name, json.dumps(json.loads(n.proto.inputs.shapes)),
              json.dumps(json.loads(n.proto.inputs.types)))
             for n in et.cpu if n.proto.HasField("inputs")}
    assert found <= wanted and len(found) > 0.95 * len(wanted)


# Tests with generated traces

def operator_rows():
    """Returns the rows of an operator, of an operator inside it, and of a launch inside that.
    Autograd runs on a second thread."""
    return [slice_("user_annotation", "ProfilerStep#1", 10, 0, 200, Record_function_id=1),
            slice_("cpu_op", "outer", 10, 10, 50, Record_function_id=2, Sequence_number=9),
            slice_("cpu_op", "inner", 10, 20, 20, Record_function_id=3),
            slice_("cuda_runtime", "cudaLaunchKernel", 10, 25, 5, cbid=211, correlation=7),
            slice_("kernel", "k", 7, 40, 300, device=0, context=1, stream=7, correlation=7),
            slice_("cpu_op", "autograd::engine::evaluate_function: OuterBackward", 11, 80, 40,
                   Record_function_id=4, Sequence_number=9, Fwd_thread_id=1),
            slice_("cpu_op", "after", 10, 150, 10, Record_function_id=5)]


def pieces(et, name):
    return [(n.start // 1000, n.end // 1000) for n in et.cpu if n.name == name]


def test_operators_are_cut_at_what_is_inside_them(tmp_path):
    et = convert(write(tmp_path / "t.json", operator_rows()), tmp_path)
    assert not chakra.broken(et)
    assert pieces(et, "outer") == [(10, 20), (40, 60)]
    assert pieces(et, "inner") == [(20, 25), (30, 40)]
    assert {n.attr["rf_id"] for n in et.cpu if n.name == "outer"} == {2}
    # The calling thread has no nodes while autograd works.
    assert pieces(et, "ProfilerStep#1") == [(0, 10), (60, 80), (120, 150), (160, 200)]
    backward = next(n for n in et.cpu if n.name.startswith("autograd::"))
    before = next(n for n in et.cpu if n.end == 80000 and n.attr["tid"] == 10)
    after = next(n for n in et.cpu if n.start == 120000)
    assert backward.deps == [before.id]
    assert set(after.deps) == {before.id, backward.id}


def test_a_call_inside_an_operator_takes_the_collective_around_it(tmp_path):
    comms = dict(Collective_name="_allgather_base", dtype="BFloat16", In_msg_nelems=100,
                 Out_msg_nelems=400, Group_size=4, Process_Group_Name="mesh_dp",
                 Process_Group_Ranks="[1, 3, 5, 7]")
    rows = [slice_("cpu_op", "record_param_comms", 10, 0, 30, **comms),
            slice_("user_annotation", "nccl:_all_gather_base", 10, 2, 20),
            slice_("cuda_runtime", "cudaLaunchKernelExC", 10, 5, 5, cbid=430, correlation=1),
            slice_("kernel", "ncclDevKernel_AllGather_RING_LL(x)", 7, 20, 9, device=0, context=1,
                   stream=7, correlation=1)]
    et = convert(write(tmp_path / "t.json", rows, distributedInfo={"rank": 1, "world_size": 8}),
                 tmp_path)
    node, = [n for n in et.gpu if n.type == chakra.COLL]
    assert (node.attr["comm_type"], node.attr["comm_size"]) == (2, 200)
    groups = json.loads((tmp_path / "out.comm_groups.json").read_text())
    assert groups == {node.attr["pg_name"]: [1, 3, 5, 7]}
    assert 0 < int(node.attr["pg_name"]) < 2**31
    assert not chakra.broken(et, set(groups))


def test_a_graph_whose_nodes_have_no_ids(tmp_path):
    """Graph nodes have no ids, like in older files of torch.profiler. A wait for the launch stream
    depends on the last operation of the launch on each stream, and not on an arbitrary operation
    with the launch's correlation id."""
    gpu = dict(device=0, context=1)
    rows = [slice_("cuda_runtime", "cudaLaunchKernel", 10, 0, 5, cbid=211, correlation=1),
            slice_("kernel", "before", 7, 8, 10, stream=7, correlation=1, **gpu),
            slice_("cuda_runtime", "cudaGraphLaunch", 10, 10, 5, cbid=311, correlation=2),
            *(slice_("kernel", f"main{i}", 7, 30 + 20 * i, 19, stream=7, correlation=2, **gpu)
              for i in range(6)),
            *(slice_("kernel", f"side{i}", 13, 32 + 30 * i, 29, stream=13, correlation=2, **gpu)
              for i in range(3)),
            slice_("cuda_runtime", "cudaStreamSynchronize", 10, 20, 136, cbid=131, correlation=3),
            slice_("cuda_sync", "Stream Sync", 7, 21, 134, stream=7, correlation=3, **gpu)]
    et = convert(write(tmp_path / "t.json", rows), tmp_path)
    assert not chakra.broken(et)
    wait, = [n for n in et.cpu if n.name == "cudaStreamSynchronize.wait"]
    assert {et.by_id[d].name for d in wait.deps if not et.by_id[d].cpu} == {"main5", "side2"}
    # Only the first operation of the branch depends on the operation that preceded the graph on the
    # launch stream.
    side0, = [n for n in et.gpu if n.name == "side0"]
    assert "before" in {et.by_id[d].name for d in side0.deps}


# Tests of the output file

@pytest.mark.sanitize
@pytest.mark.parametrize("suffix", ["", ".gz", ".zst"])
def test_compressed_by_the_end_of_its_name(tmp_path, suffix):
    trace = write(tmp_path / "t.json", operator_rows())
    out = tmp_path / f"job.0.et{suffix}"
    done = run(trace, out)
    assert ("reads only uncompressed files" in done.stderr) == bool(suffix)
    assert "replays one thread and one stream per rank" in done.stderr
    begins = {"": b"", ".gz": b"\x1f\x8b", ".zst": b"\x28\xb5\x2f\xfd"}[suffix]
    assert out.read_bytes().startswith(begins)
    assert not chakra.broken(chakra.Et(out))
    assert subprocess.run([harness.TOOL, "check", "-q", out], timeout=60).returncode == 0
    assert sorted(p.name for p in tmp_path.iterdir()) == [f"job.0.et{suffix}", "t.json"]


def test_the_rank_is_the_trace_s_or_as_told(tmp_path):
    trace = write(tmp_path / "t.json", operator_rows(), distributedInfo={"rank": 3})
    assert convert(trace, tmp_path).header["rank"] == 3
    assert convert(trace, tmp_path, "--rank", "5").header["rank"] == 5
    unknown = write(tmp_path / "u.json", operator_rows())
    assert "--rank sets another" in run(unknown, tmp_path / "u.et").stderr
    for wrong in ("-1", "x", "", "99999999999"):
        assert "--rank" in run(trace, tmp_path / "w.et", "--rank", wrong, status=2).stderr


def test_errors_are_one_line_and_leave_nothing(tmp_path):
    trace = write(tmp_path / "t.json", operator_rows())
    empty, other = tmp_path / "empty", tmp_path / "other.json"
    empty.write_bytes(b"")
    other.write_text("[1]")
    before = sorted(tmp_path.iterdir())
    for source, out, what in ((tmp_path / "none", tmp_path / "o.et", "none"),
                              (empty, tmp_path / "o.et", "empty"), (other, tmp_path / "o.et", "not a Kineto trace"),
                              (trace, tmp_path, "is a directory"), (trace, trace, "is the input"),
                              (trace, other, "exists"), (trace, "-", "must be a file"), (trace, trace / "o.et", "cannot write")):
        done = run(source, out, status=2)
        assert len(done.stderr.splitlines()) == 1 and what in done.stderr
    assert sorted(tmp_path.iterdir()) == before


def test_a_full_disk_leaves_nothing(tmp_path):
    rows = [slice_("cpu_op", f"op {i}", 10, 10 * i, 5, Record_function_id=i + 1)
            for i in range(5000)]
    trace = write(tmp_path / "t.json", rows)
    done = run(trace, tmp_path / "o.et", status=2,
               preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (100000, 100000)))
    assert "nothing is left behind" in done.stderr
    assert [p.name for p in tmp_path.iterdir()] == ["t.json"]


# Tests with damaged and malicious traces

@pytest.mark.sanitize
def test_a_trace_that_is_cut(tmp_path):
    trace = write(tmp_path / "t.json", operator_rows())
    cut = tmp_path / "cut.json"
    cut.write_bytes(trace.read_bytes()[:-250])
    out = tmp_path / "o.et"
    assert "is truncated or damaged" in run(cut, out, status=1).stderr
    et = chakra.Et(out)
    assert not chakra.broken(et) and any(n.name == "inner" for n in et.cpu)


@pytest.mark.sanitize
def test_rows_without_sense(tmp_path):
    big = 2**63
    rows = operator_rows() + [
        slice_("cpu_op", "no thread", "Spans", 0, 5),
        slice_("cpu_op", "backwards", 10, 30, -5, Record_function_id=-1, Sequence_number=-7),
        slice_("cpu_op", "huge", 10, 30, 1e300, Record_function_id=big),
        slice_("cpu_op", "crossing", 10, 55, 60), slice_("cpu_op", "crossing", 10, 55, 60),
        slice_("cpu_op", "", 10, 58, 1, Input_Dims=[[[[]]]], Input_type=[], Concrete_Inputs=["\u0000"]),
        slice_("cpu_op", "\ud800 \u0001", 12, 58, 1, Input_Dims="text", Fwd_thread_id="x"),
        slice_("cuda_runtime", "cudaLaunchKernel", 10, 62, 3, cbid=211, correlation=7),
        slice_("kernel", "k", 7, 10, 1, device=-1, context=1, stream=7, correlation=7),
        slice_("kernel", "k", 7, 0, 1e9, device=0, context=1, stream=2**31, correlation=2**31),
        slice_("cpu_op", "deep", 13, 0, 1000)]
    rows += [slice_("cpu_op", "deep", 13, i, 1000 - 2 * i) for i in range(1, 400)]
    out = tmp_path / "o.et"
    done = subprocess.run([harness.TOOL, "convert", write(tmp_path / "t.json", rows), "--to",
                           "chakra", "-o", out], capture_output=True, text=True, timeout=60)
    assert done.returncode in (0, 1), done.stderr
    assert not chakra.broken(chakra.Et(out))


@pytest.mark.full(seconds=8.3)
def test_many_threads_and_streams_take_little_memory(tmp_path):
    """A file has 100 000 threads and streams. Memory stays bounded. Only dependencies on the
    previous node of a thread or stream are lost."""
    out, path = tmp_path / "o.et", tmp_path / "t.json.zst"
    rows = []
    for i in range(1, 100001):
        rows += [json.dumps(slice_("cuda_runtime", "cudaLaunchKernel", i, 10 * i, 5, cbid=211,
                                   correlation=i)),
                 json.dumps(slice_("kernel", "k", i, 10 * i + 7, 9, device=0, context=1, stream=i,
                                   correlation=i))]
    path.write_bytes(zstandard.compress(('{"traceEvents":[' + ",\n".join(rows) + "]}").encode(), 1))
    child = subprocess.Popen([harness.TOOL, "convert", path, "--to", "chakra", "-o", out],
                             stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    assert child.returncode == 0
    assert "idle threads and streams were evicted to limit memory" in child.stdout.read()
    assert usage.ru_maxrss < 500 * 1024
    et = chakra.Et(out)
    assert not chakra.broken(et) and len(et.gpu) == 100000


def test_what_is_lost_is_said(tmp_path):
    gpu = dict(device=0, context=1, stream=7)
    rows = [slice_("cpu_op", "deep", 10, i, 1000 - 2 * i) for i in range(60)]
    rows += [slice_("kernel", "its call is not there", 7, 5, 3, correlation=9, **gpu),
             slice_("cuda_runtime", "cudaLaunchKernel", 11, 100, 20, cbid=211, correlation=10),
             slice_("kernel", "early", 7, 105, 3, correlation=10, **gpu)]
    said = run(write(tmp_path / "t.json", rows), tmp_path / "o.et").stdout.splitlines()
    assert said[-3:] == [
        "11 events are nested too deeply: part of their time counts for the enclosing events",
        "1 GPU operations depend on no call: the call is not in the file",
        "1 GPU operations began before their call had ended, 15 us in all: a replay "
        "starts them that much later"]


def test_a_thousand_threads_that_take_turns(tmp_path):
    """A thousand threads have three rows each, which alternate between the threads. No time is
    counted twice, so a replay ends at the time at which the trace ends."""
    rows = []
    for i in range(1, 3001):
        rows += [slice_("cuda_runtime", "cudaLaunchKernel", 1 + i % 1000, 10 * i, 5, cbid=211,
                        correlation=i),
                 slice_("kernel", "k", 7, 10 * i + 6, 3, device=0, context=1, stream=7, correlation=i)]
    et = convert(write(tmp_path / "t.json", rows), tmp_path)
    assert not chakra.broken(et)
    ends = chakra_replay.replay(et)
    assert max(ends.values()) == max(n.end for n in et.nodes)


def own_edge(source, stream, destination, wait_ns=0):
    return {"ph": "M", "name": "sync_edge", "pid": 1, "tid": 10, "args": {
        "kind": "device_sync", "src_correlation": source, "src_name": 1, "src_stream": stream, "src_device": 0,
        "dst_correlation": destination, "dst_name": 1, "dst_thread": 10, "dst_stream": None,
        "dst_point": "end", "wait_ns": wait_ns, "wake_ns": 5, "released": wait_ns > 0, "basis": "exact"}}


@pytest.mark.full(seconds=7.7)
def test_a_wait_for_what_ended_long_ago(tmp_path):
    """The program waits for all streams. One stream has run nothing for 100 000 calls. The converted file
    still has the edge of this stream."""
    last, rows = 100000, []
    for i in range(1, last + 1):
        stream = 9 if i == 1 else 7
        rows += [slice_("cuda_runtime", "cudaLaunchKernel", 10, 10 * i, 5, cbid=211, correlation=i),
                 slice_("kernel", "k", stream, 10 * i + 6, 3, device=0, context=1, stream=stream,
                        correlation=i)]
    rows += [slice_("cuda_runtime", "cudaDeviceSynchronize", 10, 10 * last + 5, 20, cbid=165,
                    correlation=last + 1),
             own_edge(1, 9, last + 1), own_edge(last, 7, last + 1, 4000)]
    et = convert(write(tmp_path / "t.json", rows, generator="syncline 0.1", syncEdges=1), tmp_path)
    assert not chakra.broken(et)
    wait, = [n for n in et.cpu if n.name == "cudaDeviceSynchronize.wait"]
    assert {et.by_id[d].correlation for d in wait.deps if not et.by_id[d].cpu} == {1, last}


def test_the_header_s_texts_are_what_its_json_means(tmp_path):
    path = tmp_path / "t.json"
    path.write_text(json.dumps({"schemaVersion": 1, "host_name": 'h\u00fc"1', "traceEvents": operator_rows()}))
    assert convert(path, tmp_path).header["host"] == 'h\u00fc"1'


@pytest.mark.parametrize("rows", [[], [{"ph": "M", "name": "process_name", "pid": 1, "args": {"name": "x"}}]])
def test_a_trace_without_anything_to_replay(tmp_path, rows):
    done = run(write(tmp_path / "t.json", rows), tmp_path / "o.et", status=1)
    assert "has no nodes, and simulators reject it" in done.stderr
