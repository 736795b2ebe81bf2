"""Tests `syncline edges --summary`: which lines of code wait, for which operation, how often, and
how long per step. The test generates the files, some in torch.profiler's format and some in
syncline's format."""
import json

import pytest

from edges_tool import launch, row, stream_sync
from test_tool import run


def write(path, events, **members):
    path.write_text(json.dumps({"schemaVersion": 1, **members, "traceEvents": events},
                               ensure_ascii=False))
    return path


def step(number, ts, dur):
    return {"ph": "X", "cat": "user_annotation", "name": f"ProfilerStep#{number}", "pid": 42,
            "tid": 42, "ts": ts, "dur": dur, "args": {}}


def python(name, ts, dur):
    return {"ph": "X", "cat": "python_function", "name": name, "pid": 42, "tid": 42, "ts": ts,
            "dur": dur, "args": {"Python id": 1}}


def op(name, ts, dur):
    return {"ph": "X", "cat": "cpu_op", "name": name, "pid": 42, "tid": 42, "ts": ts, "dur": dur}


def waits(at, count, stream=7):
    """Returns the rows of `count` periods of 100 us. In each period a kernel runs, and the thread
    waits for the kernel for 50 us."""
    events = []
    for i in range(count):
        ts = at + 100 * i
        events += launch(ts, ts, ts + 10, ts + 60, stream) + stream_sync(ts + 1, ts + 10, 55, stream)
    return events


def summary_of(path):
    return json.loads(run("edges", "--summary", "--json", path)[0])


# Tests with files of torch.profiler that were made with with_stack=True

@pytest.fixture
def with_stack(tmp_path):
    return write(tmp_path / "t.json", [
        step(1, 0, 500), step(2, 500, 500),
        python("/home/me/project/examples/train.py(10): main", 0, 2000),
        python("torch/utils/_contextlib.py(3): inner", 0, 290),
        python("train.py(30): loss", 50, 200), op("aten::item", 60, 190),
        python("<built-in method item of Tensor object at 0x7f>", 70, 170),
        *waits(100, 1), *waits(300, 5)])


def test_lines_from_the_functions_of_torch_profiler(with_stack):
    summary = summary_of(with_stack)
    assert summary["steps"] == 2
    assert [(g["name"], g["waits"]) for g in summary["by_line"]] == [
        ("/home/me/project/examples/train.py(10): main", 5), ("train.py(30): loss", 1)]
    main = summary["by_line"][0]
    assert main["per_step_ns"] == main["total_ns"] // 2
    assert sorted(s["name"] for s in main["sources"]) == ["k300", "k400", "k500", "k600", "k700"]
    assert sum(s["total_ns"] for s in main["sources"]) == main["total_ns"]
    # The groups by operator, range and step are unchanged.
    assert {g["name"]: g["waits"] for g in summary["by_place"]} == {
        "aten::item": 1, "ProfilerStep#1": 2, "ProfilerStep#2": 3}
    assert {g["name"]: g["waits"] for g in summary["by_step"]} == {
        "ProfilerStep#1": 3, "ProfilerStep#2": 3}
    assert summary["longest"][0]["line"]


def test_the_table_of_lines(with_stack):
    title, first, *sources, second = run("edges", "--summary", with_stack)[0].splitlines()[:6]
    assert title.split()[:4] == ["the", "CPU", "waited", "at"] and "per step" in title
    assert first.split() == ["/home/me/project/examples/train.py(10):", "main", "5/5", "250.000", "us",
                             "125.000", "us", "50.000", "us"]
    assert [line.split()[:4] for line in sources] == [
        ["for", "k300", "50.000", "us"], ["for", "k400", "50.000", "us"], ["for", "3", "others", "150.000"]]
    assert second.split()[:3] == ["train.py(30):", "loss", "1/1"]


def test_a_long_path_keeps_its_end(tmp_path):
    path = write(tmp_path / "t.json",
                 [python("/ö" * 60 + "/train.py(10): main", 0, 500), *waits(100, 1)])
    line = run("edges", "--summary", path)[0].splitlines()[1]
    assert line.startswith("  ...") and "/ö/train.py(10): main  " in line
    assert "per step" not in run("edges", "--summary", path)[0]


def test_without_lines_there_is_no_table_of_them(tmp_path):
    path = write(tmp_path / "t.json", [op("aten::item", 50, 300), *waits(100, 1)])
    text = run("edges", "--summary", path)[0]
    assert text.splitlines()[1].startswith("CPU waits by kind") and "waited at" not in text
    assert "aten::item" in text
    assert [g["name"] for g in summary_of(path)["by_line"]] == [None]


def test_a_step_with_two_rows_is_one(tmp_path):
    """A step has two rows: an operator and a range, or rows on two threads. It counts once."""
    rows = [step(7, 0, 1000), step(8, 1000, 1000)]
    twice = [*rows, *({**row, "cat": "cpu_op"} for row in rows)]
    once, both = (summary_of(write(tmp_path / f"{i}.json", [*steps, *waits(100, 1)]))
                  for i, steps in enumerate((rows, twice)))
    assert once["steps"] == both["steps"] == 2
    assert once["by_step"] == both["by_step"] and once["by_line"] == both["by_line"]


def test_steps_past_those_that_are_kept_are_said(tmp_path):
    path = write(tmp_path / "t.json", [*(step(i, 1000 * i, 999) for i in range(65538)), *waits(100, 1)])
    out, said = run("edges", "--summary", "--json", path, status=1)
    assert json.loads(out)["steps"] == 65536
    assert "2 steps are past the limit: waits in them count as outside of steps" in said


# Tests with files in syncline's format

def own_wait(correlation, ts, line, source=1, wait_ns=1000, **args):
    waited = {} if line is None else {"wait_at": line}
    return [
        row("cuda_runtime", "cudaStreamSynchronize", correlation, ts, 2, 42, cbid=131,
            wait_kind="stream_sync", wait_ns=wait_ns, wake_ns=5, released_by=source, **waited,
            **args),
        {"ph": "M", "name": "sync_edge", "pid": 42, "tid": 42, "args": {
            "kind": "stream_sync", "src_correlation": source, "src_name": source,
            "src_stream": 7, "src_device": 0, "dst_correlation": correlation, "dst_name": 9,
            "dst_thread": 42, "dst_stream": None, "dst_point": "end", "wait_ns": wait_ns,
            "wake_ns": 5, "released": True, "basis": "exact"}}]


def name(number, text):
    return {"ph": "M", "name": "sync_name", "pid": 42, "tid": 0, "id": number,
            "args": {"name": text}}


def test_own_lines_and_steps(tmp_path):
    """The row of a step follows the rows of the waits inside the step. The summary assigns the
    waits to the step."""
    path = write(tmp_path / "t.json", [
        name(1, "gemm"), name(2, "relu"), name(9, "cudaStreamSynchronize"),
        *own_wait(101, 10, "a.py:3 f"), *own_wait(102, 20, "a.py:3 f", 2, 500),
        step(7, 5, 20),
        *own_wait(103, 30, "a.py:3 f"), *own_wait(104, 35, "b.py:9 g < a.py:4 f", 1, 700),
        *own_wait(105, 60, None), step(8, 25, 20)], generator="syncline 0.1", syncEdges=1)
    summary = summary_of(path)
    assert summary["steps"] == 2
    assert [(g["name"], g["waits"], g["total_ns"], g["per_step_ns"]) for g in summary["by_line"]] == [
        ("a.py:3 f", 3, 2500, 1250), (None, 1, 1000, 0), ("b.py:9 g < a.py:4 f", 1, 700, 350)]
    assert [(s["name"], s["waits"]) for s in summary["by_line"][0]["sources"]] == [
        ("gemm", 2), ("relu", 1)]
    assert {g["name"]: g["total_ns"] for g in summary["by_step"]} == {
        "ProfilerStep#7": 1500, "ProfilerStep#8": 1700, None: 1000}
    steps = {w["dst_correlation"]: (w["step"], w["line"]) for w in summary["longest"]}
    assert steps[101] == ("ProfilerStep#7", "a.py:3 f") and steps[105] == (None, None)
    text = run("edges", "--summary", path)[0]
    assert [line.split() for line in text.splitlines()[1:6]] == [
        ["a.py:3", "f", "3/3", "2.500", "us", "1.250", "us", "1.000", "us"],
        ["for", "gemm", "2.000", "us", "1.000", "us", "1.000", "us"],
        ["for", "relu", "0.500", "us", "0.250", "us", "0.500", "us"],
        ["(no", "line", "known)", "1/1", "1.000", "us", "-", "1.000", "us"],
        ["for", "gemm", "1.000", "us", "-", "1.000", "us"]]
    assert "cudaStreamSynchronize at a.py:3 f" in run("edges", path)[0]


def test_own_waits_of_gpu_operations_count_for_the_step_of_their_launch(tmp_path):
    edge = {"kind": "stream_wait", "src_correlation": 1, "src_name": 1, "src_stream": 7, "src_device": 0,
            "dst_correlation": 111, "dst_name": 2, "dst_thread": None, "dst_stream": 8,
            "dst_point": "start", "wait_ns": 300, "wake_ns": 5, "released": True, "basis": "exact"}
    path = write(tmp_path / "t.json", [
        name(1, "gemm"), name(2, "relu"), name(9, "cudaStreamSynchronize"),
        *own_wait(110, 10, "a.py:3 f"), *launch(111, 15, 26, 40, stream=8),
        {"ph": "M", "name": "sync_edge", "pid": 0, "tid": 8, "args": edge},
        step(7, 5, 20)], generator="syncline 0.1", syncEdges=1)
    summary = summary_of(path)
    assert summary["total_ns"] == 1000 and summary["gpu"]["total_ns"] == 300
    assert {g["name"]: g["total_ns"] for g in summary["by_step"]} == {"ProfilerStep#7": 1000}
    assert {g["name"]: g["total_ns"] for g in summary["gpu"]["by_step"]} == {"ProfilerStep#7": 300}
    wait, = summary["gpu"]["longest"]
    assert wait["ts"] == 26 and wait["dst_name"] == "relu"


# Waits that a copy released. The summary names the operation on which the time was spent.

def blocking_copy(correlation, ts, dur, start, end, stream=7, name="Memcpy DtoH (Device -> Pageable)"):
    """Returns the rows of a blocking copy, like `.item()` and `.cpu()` make. The call returns when its own
    copy has completed."""
    return [row("cuda_runtime", "cudaMemcpyAsync", correlation, ts, dur, 42, cbid=41),
            row("gpu_memcpy", name, correlation, start, end - start, stream, device=0, context=1,
                stream=stream, bytes=4)]


def sources(summary):
    line, = summary["by_line"]
    return [(s["name"], s["waits"], s["total_ns"]) for s in line["sources"]]


def test_a_wait_for_a_copy_was_spent_on_the_kernel_before(tmp_path):
    path = write(tmp_path / "t.json", [
        python("train.py(30): loss", 0, 2000),
        *launch(100, 10, 20, 300), *blocking_copy(101, 15, 300, 301, 305),  # .item()
        *launch(102, 400, 410, 411), *blocking_copy(103, 405, 600, 411, 1000),  # a large `.cpu()`
        *launch(104, 1100, 1110, 1400),  # an `.item()` from pinned memory
        *blocking_copy(105, 1105, 3, 1401, 1405, name="Memcpy DtoH (Device -> Pinned)"),
        *stream_sync(106, 1110, 300)])
    summary = summary_of(path)
    assert sources(summary) == [("Memcpy DtoH (Device -> Pageable)", 1, 595000),
                                ("k104", 1, 295000), ("k100", 1, 290000)]
    assert {s["name"]: s["total_ns"] for s in summary["by_source"]} == {
        "Memcpy DtoH (Device -> Pageable)": 595000, "k104": 295000, "k100": 290000}
    # The edges themselves still name the copy as their source.
    released = [json.loads(line) for line in run("edges", "--json", path)[0].splitlines()]
    assert {e["dst_correlation"]: e["src_correlation"] for e in released if e["released"]} == {
        101: 101, 103: 103, 106: 105}
    longest = {w["dst_correlation"]: w for w in summary["longest"]}
    assert longest[101]["src_correlation"] == 101 and longest[101]["spent_on"] == "k100"
    assert longest[101]["src_name"] == "Memcpy DtoH (Device -> Pageable)"
    text = run("edges", "--summary", path)[0]
    assert "Memcpy DtoH (Device -> Pinned)" not in text and "k100" in text


def test_a_wait_for_a_copy_that_waited_for_another_stream(tmp_path):
    """The copy's stream waits for an event recorded after a kernel. The time was spent on the
    kernel."""
    stream_wait = [
        row("cuda_runtime", "cudaStreamWaitEvent", 102, 14, 1, 42, cbid=147),
        row("cuda_sync", "Stream Wait Event", 102, 14, 1, 8, device=0, context=1, stream=8,
            cuda_sync_kind="Stream Wait Event", wait_on_stream=7,
            wait_on_cuda_event_record_corr_id=101, wait_on_cuda_event_id=1)]
    events = [python("train.py(30): loss", 0, 2000), *launch(100, 10, 20, 300),
              row("cuda_runtime", "cudaEventRecord", 101, 13, 1, 42, cbid=135),
              *blocking_copy(103, 16, 300, 301, 305, stream=8)]
    assert sources(summary_of(write(tmp_path / "1.json", [*events, *stream_wait]))) == [
        ("k100", 1, 289000)]
    assert sources(summary_of(write(tmp_path / "2.json", events))) == [
        ("Memcpy DtoH (Device -> Pageable)", 1, 289000)]


def test_own_waits_for_copies(tmp_path):
    """The tool reads syncline's own files without sorting the rows. It finds the same operations on
    which time was spent as in other files."""
    def operation(cat, name, correlation, start, end, stream):
        return row(cat, name, correlation, start, end - start, stream, device=0, context=1,
                   stream=stream)

    def edge(kind, source, source_stream, destination, wait_ns, **args):
        return {"ph": "M", "name": "sync_edge", "pid": 0 if "dst_stream" in args else 42, "tid": 42,
                "args": {"kind": kind, "src_correlation": source, "src_name": 1,
                         "src_stream": source_stream, "src_device": 0,
                         "dst_correlation": destination, "dst_name": 2, "dst_thread": 42,
                         "dst_stream": None, "dst_point": "end", "wait_ns": wait_ns, "wake_ns": 5,
                         "released": wait_ns > 0, "basis": "exact", **args}}

    path = write(tmp_path / "t.json", [
        operation("kernel", "gemm", 1, 10, 900, 20), operation("kernel", "relu", 2, 10, 700, 7),
        operation("gpu_memcpy", "Memcpy DtoH", 3, 901, 902, 7),
        operation("kernel", "small", 4, 910, 911, 7), operation("gpu_memcpy", "Memcpy DtoH", 5, 911, 990, 7),
        name(1, "Memcpy DtoH"), name(2, "cudaMemcpyAsync"), name(3, "gemm"),
        row("cuda_runtime", "cudaMemcpyAsync", 3, 100, 810, 42, wait_kind="copy", wait_ns=802000,
            wake_ns=5, wait_at="a.py:3 f"),
        edge("legacy_default", 1, 20, 3, 100000, dst_stream=7, dst_point="start", src_name=3,
             dst_name=1),
        edge("copy", 3, 7, 3, 802000),
        row("cuda_runtime", "cudaMemcpyAsync", 5, 905, 90, 42, wait_kind="copy", wait_ns=85000,
            wake_ns=5, wait_at="a.py:3 f"),
        edge("copy", 5, 7, 5, 85000)], generator="syncline 0.1", syncEdges=1)
    summary = summary_of(path)
    assert sources(summary) == [("gemm", 1, 802000), ("Memcpy DtoH", 1, 85000)]
    # If a GPU operation waited, the time was spent on the source of its edge.
    assert {s["name"]: s["total_ns"] for s in summary["by_source"]} == {
        "gemm": 802000, "Memcpy DtoH": 85000}
    assert {s["name"]: s["total_ns"] for s in summary["gpu"]["by_source"]} == {"gemm": 100000}
