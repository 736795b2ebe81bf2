"""Runs `syncline edges` on generated files with unusual ids, graphs, events, contexts and names."""
import gzip
import json
import pathlib

import pytest

import chakra
from edges_tool import edges, launch, operation, row, stream_sync, write
from test_tool import check, run


def test_ids_that_wrap(tmp_path):
    """Correlation ids wrap around at 32 bits, as in PyTorch's files. The edge is still found."""
    rows = launch(4294967295, 10, 15, 60) + stream_sync(3, 20, 46)
    found, _ = edges(write(tmp_path / "t", rows))
    assert [(e["src_correlation"], e["dst_correlation"], e["wait_ns"]) for e in found] == [
        (4294967295, 3, 40000)]


def test_launches_of_graphs_without_ids_of_nodes(tmp_path):
    """The nodes of a graph have no ids, as in PyTorch's files. All operations of the graph's
    launch, on several streams, count as nodes of the graph."""
    rows = [*launch(50, 1, 3, 9, stream=20), row("cuda_runtime", "cudaGraphLaunch", 54, 140, 5, 42, cbid=311),
            operation("kernel", "a", 54, 145, 170, 20), operation("kernel", "b", 54, 146, 190, 13),
            *stream_sync(55, 150, 50, stream=20)]
    found, lost = edges(write(tmp_path / "t", rows))
    assert sorted((e["kind"], e["src_correlation"], e["src_name"], e["dst_correlation"], e["wait_ns"],
                   e["released"]) for e in found) == [
        ("graph", 50, "k50", 54, 0, False), ("stream_sync", 54, "a", 55, 20000, False),
        ("stream_sync", 54, "b", 55, 40000, True)]
    # The operation before b on stream 13 is not in the file.
    assert lost == {"graph_inside": 1, "before_window": 1}


@pytest.mark.parametrize("how", ["event_sync", "stream_sync"])
def test_a_graph_on_a_stream_that_has_nothing_else(tmp_path, how):
    """No record says on which stream the graph was launched, so stream 20 may be the launch stream or a
    branch. A wait for stream 20, or for an event recorded there, may include b on the other stream. The wait
    for a is certain, but b may have released it."""
    waits = stream_sync(61, 35, 65, 20) if how == "stream_sync" else [
        row("cuda_runtime", "cudaEventRecord", 60, 30, 1, 42, cbid=135),
        row("cuda_runtime", "cudaEventSynchronize", 61, 35, 65, 42, cbid=137),
        row("cuda_sync", "Event Sync", 61, 36, 64, -1, device=0, context=1, stream=-1, wait_on_stream=20,
            wait_on_cuda_event_record_corr_id=60, wait_on_cuda_event_id=4)]
    found, lost = edges(write(tmp_path / "t", [
        row("cuda_runtime", "cudaGraphLaunch", 54, 10, 5, 42, cbid=311), operation("kernel", "a", 54, 20, 30, 20),
        operation("kernel", "b", 54, 21, 90, 13), *waits]))
    assert [(e["src_name"], e["basis"], e["released"]) for e in found] == [("a", "exact", False)]
    assert lost["no_record"] >= 1 and lost["graph_inside"] == 1


def elsewhere(rows):
    """Moves the GPU rows to another device and context."""
    for each in rows:
        if each["cat"] == "kernel":
            each["args"].update(device=1, context=2)
    return rows


def stream_wait(correlation, ts, stream, record, recorded_on):
    return [row("cuda_runtime", "cudaStreamWaitEvent", correlation, ts, 1, 42, cbid=147),
            row("cuda_sync", "Stream Wait Event", correlation, ts, 1, stream, device=0, context=1,
                stream=stream, wait_on_stream=recorded_on, wait_on_cuda_event_record_corr_id=record,
                wait_on_cuda_event_id=4)]


@pytest.mark.parametrize("theirs, edge", [(20, True), (13, False), (7, False)])
def test_an_event_recorded_in_another_context(tmp_path, theirs, edge):
    """torch.profiler's rows name the event's stream but not its context. The edge is found if only
    one context has a stream of that number. Its basis is `inferred`, because the first operation of
    stream 14 may have waited for work that was not recorded."""
    rows = [*launch(1, 10, 15, 30, stream=13), *elsewhere(launch(2, 13, 16, 90, stream=theirs)),
            row("cuda_runtime", "cudaEventRecord", 3, 16, 1, 42, cbid=135),
            *stream_wait(4, 18, 14, 3, theirs), *launch(5, 20, 92, 95, stream=14)]
    found, lost = edges(write(tmp_path / "t", rows))
    assert [(e["kind"], e["src_correlation"], e["src_device"], e["dst_correlation"], e["wait_ns"],
             e["basis"]) for e in found] == [("stream_wait", 2, 1, 5, 68000, "inferred")] * edge
    del lost["before_window"]  # for the first operation of the legacy stream
    assert lost == ({} if edge else {"ambiguous": 1})


def test_a_wait_on_a_device_that_kineto_did_not_know_yet(tmp_path):
    """Kineto writes device 0 in a wait's row until Kineto has seen a kernel of the wait's context. This
    happens in most jobs' first buffer. The tool finds the right device."""
    rows = [*launch(1, 10, 15, 60), *stream_sync(2, 20, 46), *launch(3, 70, 75, 120, stream=13),
            row("cuda_runtime", "cudaEventRecord", 4, 73, 1, 42, cbid=135),
            *stream_wait(5, 75, 7, 4, 13), *launch(6, 80, 122, 130),
            row("cuda_runtime", "cudaDeviceSynchronize", 7, 90, 46, 42, cbid=165),
            row("cuda_sync", "Context Sync", 7, 91, 44, -1, device=1, context=1, stream=-1)]
    told = edges(write(tmp_path / "zero", rows))  # in the first file all rows are on GPU 0
    for each in rows:
        if each["cat"] == "kernel":
            each["args"]["device"] = 1  # in the second file only the last wait has the right device
    found, lost = edges(write(tmp_path / "one", rows))
    assert {(e["kind"], e["src_correlation"], e["dst_correlation"]) for e in found} == {
        ("stream_sync", 1, 2), ("stream_wait", 3, 6), ("device_sync", 3, 7), ("device_sync", 6, 7)}
    assert (found, lost) == ([{**e, "src_device": 1} for e in told[0]], told[1])


def peer_copy(correlation, ts, start, end, stream):
    """Returns a copy between GPUs, whose row has no `device` and no `context` in Kineto's files."""
    return [row("cuda_runtime", "cudaMemcpyPeerAsync", correlation, ts, 2, 42, cbid=161),
            row("gpu_memcpy", "Memcpy PtoP (Device -> Device)", correlation, start, end - start,
                stream, fromDevice=0, inDevice=0, toDevice=1, fromContext=1, inContext=1,
                toContext=2, stream=stream, bytes=4096)]


def test_a_copy_between_devices(tmp_path):
    """A copy between devices runs on its stream, after that stream's earlier operations."""
    path = write(tmp_path / "t", [*launch(1, 10, 15, 60), *peer_copy(2, 14, 61, 90, 7),
                                  *stream_sync(3, 20, 76)])
    (edge,), _ = edges(path)
    assert (edge["src_correlation"], edge["wait_ns"], edge["wake_ns"]) == (2, 70000, 6000)
    assert "member_missing" not in {each["id"] for each in check(path)["problems"]}


def test_several_devices_without_rows_of_synchronization(tmp_path):
    """A device synchronization has no row, so its device is unknown. The tool assumes the device
    that the thread used last, but only if no work of another device can have released the wait."""
    def sync(correlation, ts, end):
        return row("cuda_runtime", "cudaDeviceSynchronize", correlation, ts, end - ts, 42, cbid=165)

    rows = [*launch(1, 10, 15, 60), sync(2, 20, 66), *elsewhere(launch(3, 70, 75, 120)), sync(4, 80, 126),
            *launch(5, 200, 205, 300), *elsewhere(launch(6, 203, 208, 250)), sync(7, 220, 306)]
    found, lost = edges(write(tmp_path / "t", rows))
    assert [(e["src_correlation"], e["dst_correlation"], e["wait_ns"], e["basis"]) for e in found] == [
        (1, 2, 40000, "inferred"), (3, 4, 40000, "inferred")]
    assert lost["ambiguous"] == 1


def test_a_wait_that_names_no_record(tmp_path):
    """A wait names no event record. The tool does not use the record that another wait for the
    event names, because the event may have been recorded again in between."""
    rows = [*launch(1, 10, 15, 60, 13), row("cuda_runtime", "cudaEventRecord", 2, 13, 1, 42, cbid=135)]
    for correlation, args in [(3, {"wait_on_cuda_event_record_corr_id": 2}), (4, {}),
                              (5, {"wait_on_cuda_event_record_corr_id": -1})]:
        rows += [row("cuda_runtime", "cudaEventSynchronize", correlation, correlation * 20, 18, 42, cbid=137),
                 row("cuda_sync", "Event Sync", correlation, correlation * 20, 18, -1, device=0, context=1,
                     stream=-1, wait_on_stream=13, wait_on_cuda_event_id=4, **args)]
    found, lost = edges(write(tmp_path / "t", rows))
    assert [(e["kind"], e["src_correlation"], e["dst_correlation"]) for e in found] == [("event_sync", 1, 3)]
    assert lost == {"no_record": 2}


def query(kind, cbid, name, correlation, ts, dur, **args):
    return [row("cuda_runtime", name, correlation, ts, dur, 42, cbid=cbid),
            row("cuda_sync", kind, correlation, ts, dur, -1, device=0, context=1, **args)]


def test_queries(tmp_path):
    """Operations ended while a query ran. The query has an edge with `wait_ns` 0."""
    rows = [*launch(1, 10, 15, 60, 13), row("cuda_runtime", "cudaEventRecord", 2, 13, 1, 42, cbid=135),
            *query("Event Sync", 138, "cudaEventQuery", 3, 58, 5, stream=-1, wait_on_stream=13,
                   wait_on_cuda_event_record_corr_id=2, wait_on_cuda_event_id=4),
            *launch(4, 70, 75, 90, 13), *query("Stream Sync", 132, "cudaStreamQuery", 5, 86, 6, stream=13)]
    path = write(tmp_path / "t", rows)
    assert [(e["kind"], e["src_correlation"], e["dst_correlation"], e["wait_ns"], e["wake_ns"], e["released"],
             e["basis"]) for e in edges(path)[0]] == [
        ("event_query", 1, 3, 0, 3000, False, "inferred"), ("stream_query", 4, 5, 0, 2000, False, "inferred")]
    summary = json.loads(run("edges", "--json", "--summary", path)[0])
    assert (summary["waits"], summary["total_ns"], summary["longest"]) == (0, 0, [])


@pytest.mark.parametrize("ends", [(160, 170), (160, 155)])
def test_a_copy_in_a_graph(tmp_path, ends):
    """A graph contains a copy to pageable memory. The graph's launch does not wait for the copy,
    whether the copy had completed at the launch's return or not."""
    end, returned = ends
    rows = [*launch(1, 100, 105, 150, 20), row("cuda_runtime", "cudaGraphLaunch", 2, 110, returned - 110, 42, cbid=311),
            operation("kernel", "a", 2, 151, 152, 20),
            operation("gpu_memcpy", "Memcpy DtoH (Device -> Pageable)", 2, 153, end, 20)]
    assert edges(write(tmp_path / "t", rows)) == ([], {})


@pytest.mark.parametrize("memory, waits", [("Pinned", [("memset", 2, 2, 110000)]), ("Device", [])])
def test_memsets(tmp_path, memory, waits):
    """A memset of pinned host memory makes the call wait. A memset of device memory does not make it wait."""
    rows = [*launch(1, 10, 15, 100), row("cuda_runtime", "cudaMemset", 2, 20, 115, 42, cbid=49),
            operation("gpu_memset", f"Memset ({memory})", 2, 103, 130)]
    found, _ = edges(write(tmp_path / "t", rows))
    assert [(e["kind"], e["src_correlation"], e["dst_correlation"], e["wait_ns"])
            for e in found] == waits


def test_threads_and_processes_in_quotes(tmp_path):
    rows = launch(10, 10, 15, 60) + stream_sync(11, 20, 46)
    wanted = edges(write(tmp_path / "t", rows))
    assert len(wanted[0]) == 1
    for each in rows:
        each.update(pid=str(each["pid"]), tid=str(each["tid"]))
    assert edges(write(tmp_path / "q", rows)) == wanted


def test_what_stands_nowhere_is_null(tmp_path):
    rows = launch(10, 10, 15, 60) + stream_sync(11, 20, 46)
    del rows[1]["name"]
    (edge,), _ = edges(write(tmp_path / "t", rows))
    assert edge["src_name"] is None and edge["dst_stream"] is None


def without_device(rows, pid):
    for each in rows:
        if each["cat"] == "kernel":
            del each["args"]["device"]
            each["pid"] = pid
    return rows


def devices_of(et):
    header, nodes = et.header.get("device"), et.gpu
    return {node.attr.get("device", header) for node in nodes}


@pytest.mark.sanitize
@pytest.mark.parametrize("pid, device", [(3, 3), ("3", 3), (4711, None), (-1, None), ("GPU", None)])
def test_operations_that_name_no_device(tmp_path, pid, device):
    """Rows without a `device` arg. If the row's pid is the number of a GPU, the pid is the device. Otherwise
    the device is unknown. Waits find their operations in both cases."""
    rows = without_device(launch(10, 10, 15, 60) + launch(13, 20, 62, 66, stream=13), pid)
    path = write(tmp_path / "t", rows + stream_wait(12, 18, 13, 11, 7) + stream_sync(14, 30, 46, stream=13))
    found, _ = edges(path)
    assert [(e["src_correlation"], e["dst_correlation"], e["src_device"], e["wait_ns"]) for e in found] == [
        (10, 13, device, 38000), (13, 14, device, 36000)]
    text = run("edges", path)[0]
    shown = "?" if device is None else device
    assert f"for k10 on {shown}/7\n" in text and f"for k13 on {shown}/13\n" in text
    assert f" k13 on {shown}/13\n" in text
    run("convert", path, "--to", "chakra", "-o", tmp_path / "t.et")
    assert devices_of(chakra.Et(tmp_path / "t.et")) == {device}
    assert "valid" in run("check", tmp_path / "t.et")[0]


def test_a_device_that_another_operation_names(tmp_path):
    """One operation of a context names its device. All other operations of the context are on the same
    device."""
    rows = without_device(launch(10, 10, 15, 60), "GPU") + stream_sync(11, 20, 46)
    rows += launch(12, 70, 75, 80, stream=13)
    rows[-1]["args"]["device"] = 2
    for some in (rows, rows[::-1]):
        path = write(tmp_path / "t", some)
        (edge,), _ = edges(path)
        assert (edge["src_correlation"], edge["src_device"]) == (10, 2)
        run("convert", path, "--to", "chakra", "--force", "-o", tmp_path / "t.et")
        assert devices_of(chakra.Et(tmp_path / "t.et")) == {2}


def test_devices_of_which_one_is_unknown(tmp_path):
    rows = without_device(launch(10, 10, 15, 60), "GPU") + launch(12, 70, 75, 80, stream=13)
    rows[1]["args"].update(context=3)
    rows[-1]["args"].update(device=2, context=4)
    path = write(tmp_path / "t", rows)
    run("convert", path, "--to", "chakra", "-o", tmp_path / "first.et")
    rows = launch(1, 1, 2, 3) + rows  # the header names the device of the first operation
    run("convert", write(path, rows), "--to", "chakra", "-o", tmp_path / "later.et")
    assert devices_of(chakra.Et(tmp_path / "first.et")) == {None, 2}
    assert devices_of(chakra.Et(tmp_path / "later.et")) == {0, -1, 2}


@pytest.mark.parametrize("device", [65535, 65536, 70000, 2**32])
@pytest.mark.parametrize("which", [1, 3])
def test_numbers_that_no_device_has(tmp_path, which, device):
    rows = launch(10, 10, 15, 60) + stream_sync(11, 20, 46)
    rows[which]["args"]["device"] = device
    path = write(tmp_path / "t", rows)
    out, error = run("edges", "--json", path, status=1)
    assert '"exact"' not in out and "1 with impossible ids or times" in error
    assert bool(out) == (which == 3)  # 3: the wait's row is left out, but its call has an edge
    assert "device has more than 16 bits" in run("check", path)[0]


def test_names_come_through(tmp_path):
    rows = launch(10, 10, 15, 60) + stream_sync(11, 20, 46)
    rows[1]["name"] = 'f<"\u00fc\\\n\U0001f600' + "x" * 300 + '">'
    path = write(tmp_path / "t", rows)
    assert edges(path)[0][0]["src_name"] == rows[1]["name"]
    assert "..." in run("edges", path)[0]


ATEN = ("void at::native::(anonymous namespace)::multi_tensor_apply_kernel<at::native::(anonymous namespace)::"
        "TensorListMetadata<4>, at::native::(anonymous namespace)::{}<float, 4>>(at::native::(anonymous "
        "namespace)::TensorListMetadata<4>, at::native::(anonymous namespace)::{}<float, 4>)")
FILL = ("void at::native::vectorized_elementwise_kernel<4, at::native::{}<float>, std::array<char*, 1ul>>(int, "
        "at::native::{}<float>, std::array<char*, 1ul>)")


def test_long_names_can_be_told_apart(tmp_path):
    """PyTorch kernels have long names that differ only near the end. Shortened names still differ; --json has
    the whole names."""
    names = [ATEN.format("FusedAdamMathFunctor", "FusedAdamMathFunctor"),
             ATEN.format("UnaryOpFunctor", "UnaryOpFunctor"),
             FILL.format("FillFunctor", "FillFunctor"), FILL.format("AUnaryFunctor", "AUnaryFunctor")]
    rows = []
    for number, name in enumerate(names):
        at = 100 * number
        rows += launch(10 + 2 * number, at + 10, at + 15, at + 60)
        rows[-1]["name"] = name
        rows += stream_sync(11 + 2 * number, at + 20, 46)
    path = write(tmp_path / "t", rows)
    assert [edge["src_name"] for edge in edges(path)[0]] == names
    for text, ends in (
            (run("edges", path)[0], ("...MathFunctor<float, 4>>", "...ryOpFunctor<float, 4>>",
                                     "4, FillFunctor<float>>", " AUnaryFunctor<float>>")),
            (run("edges", "--summary", path)[0], (
                "amMathFunctor<float, 4>>", "UnaryOpFunctor<float, 4>>",
                " vectorized_elementwise_kernel<4, FillFunctor<float>>",
                " vectorized_elementwise_kernel<4, AUnaryFunctor<float>>"))):
        for end in ends:
            assert end in text, text
        assert " multi_tensor_apply_ker" in text
        assert "at::native" not in text and "anonymous" not in text


@pytest.mark.sanitize
def test_letters_that_are_escaped(tmp_path):
    """Letters are escaped in the members by which the tool recognises the kind of a row. The tool
    finds the same edges as without escapes."""
    rows = launch(10, 10, 15, 60) + stream_sync(11, 20, 46) + [
        row("cuda_runtime", "cudaMemcpyAsync", 12, 70, 40, 42, cbid=41),
        operation("gpu_memcpy", "Memcpy DtoH (Device -> Pageable)", 12, 75, 100)]
    path = write(tmp_path / "t", rows)
    plain = path.read_text()
    wanted = edges(path)
    assert {e["kind"] for e in wanted[0]} == {"stream_sync", "copy"}
    for word in ("kernel", "cuda_sync", "X", "cat", "ph", "args", "correlation", "stream"):
        escaped = "".join(f"\\u{ord(letter):04x}" for letter in word)
        assert f'"{word}"' in plain
        path.write_text(plain.replace(f'"{word}"', f'"{escaped}"'))
        assert edges(path) == wanted, word
        assert set(check(path)["categories"]) == {"kernel", "gpu_memcpy", "cuda_runtime", "cuda_sync"}, word
    path.write_text(plain.replace("->", "-\\u003e"))  # Go's JSON library writes `>` in this way
    assert [e["kind"] for e in edges(path)[0]] == [e["kind"] for e in wanted[0]]


PROFILED = sorted((pathlib.Path(__file__).parent / "profiler_traces").glob("*.json.gz"))


@pytest.mark.parametrize("path", PROFILED, ids=lambda path: path.name.removesuffix(".json.gz"))
def test_versions_of_torch_profiler(tmp_path, path):
    """Runs on traces of several versions of torch.profiler. No edge is false. If the file does not
    say for which record of an event a wait was, the wait has no edge and is counted."""
    found, lost = edges(path)
    trace = json.loads(gzip.decompress(path.read_bytes()))
    rows = {row["args"]["correlation"] for row in trace["traceEvents"]
            if row.get("cat") in ("kernel", "gpu_memcpy", "gpu_memset")}
    true = {(source, call) for call, _, sources in trace["waits"] for source in sources
            if source in rows}
    ours = {(e["src_correlation"], e["dst_correlation"]) for e in found if e["dst_point"] == "end"}
    assert ours <= true and len(ours) >= 8
    of_events = {call for call, kind, _ in trace["waits"] if kind.startswith("event")}
    missing = {call for _, call in true - ours if call in of_events}
    assert len({call for _, call in true - ours}) <= sum(lost.values())
    assert missing and lost["no_record"] >= len(missing)
    run("convert", path, "--to", "chakra", "-o", tmp_path / "t.et")
    run("check", tmp_path / "t.et")


@pytest.mark.parametrize("name, cbid, dur, is_missed", [
    ("cudaLaunchKernel", 211, 5, True), ("cudaGraphLaunch", 311, 5, True), ("cudaMemsetAsync", 51, 5, True),
    ("cudaMemsetAsync", 51, 0.9, False), ("cudaMemcpyAsync", 41, 2, False)])
def test_a_launch_without_the_row_of_its_operation(tmp_path, name, cbid, dur, is_missed):
    """A launch has no row for its operation, and a later wait may have waited for this operation.
    Until the stream's tail is known again, edges are `inferred` and counted. A memset of 0 bytes
    correctly has no row, so it does not have this effect."""
    path = write(tmp_path / "t", [
        *launch(1, 0, 2, 5, 13), *launch(2, 5, 8, 40, 13), row("cuda_runtime", name, 3, 10, dur, 42, cbid=cbid),
        *stream_sync(4, 20, 200, 13), *launch(5, 230, 235, 300, 13), *stream_sync(6, 240, 66, 13)])
    found, lost = edges(path)
    assert [(e["src_correlation"], e["dst_correlation"], e["wait_ns"], e["basis"]) for e in found] == [
        (2, 4, 20000, "inferred" if is_missed else "exact"), (5, 6, 60000, "exact")]
    assert lost == ({"no_record": 1} if is_missed else {})


def test_a_launch_under_capture_has_no_row(tmp_path):
    rows = [row("cuda_runtime", name, 3 + i, 10 + 6 * i, 5, 42, cbid=cbid) for i, (name, cbid) in enumerate(
        [("cudaStreamBeginCapture", 315), ("cudaLaunchKernel", 211), ("cudaStreamEndCapture", 319)])]
    found, lost = edges(write(tmp_path / "t", [*launch(1, 0, 2, 5, 13), *launch(2, 5, 8, 140, 13), *rows,
                                               *stream_sync(6, 40, 106, 13)]))
    assert [(e["src_correlation"], e["dst_correlation"], e["basis"]) for e in found] == [(2, 6, "exact")]
    assert lost == {}
