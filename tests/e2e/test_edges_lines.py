"""`syncline edges --summary`: which line of the code makes the CPU wait, for what, how often, how long
per step; on made files of both kinds."""
import json

import pytest

from test_edges_tool import launch, row, stream_sync
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
    """Of each 100 us: a kernel, and a wait for it that takes 50 us."""
    events = []
    for i in range(count):
        ts = at + 100 * i
        events += launch(ts, ts, ts + 10, ts + 60, stream) + stream_sync(ts + 1, ts + 10, 55, stream)
    return events


def summary_of(path):
    return json.loads(run("edges", "--summary", "--json", path)[0])


# torch.profiler's, made with_stack

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
    # Operators, ranges and steps are what they were.
    assert {g["name"]: g["waits"] for g in summary["by_place"]} == {
        "aten::item": 1, "ProfilerStep#1": 2, "ProfilerStep#2": 3}
    assert {g["name"]: g["waits"] for g in summary["by_step"]} == {
        "ProfilerStep#1": 3, "ProfilerStep#2": 3}
    assert summary["longest"][0]["line"]


def test_the_table_of_lines(with_stack):
    title, first, second, *_ = run("edges", "--summary", with_stack)[0].splitlines()
    assert title.split()[:4] == ["the", "CPU", "waited", "at"] and "per step" in title
    assert first.split()[:3] == ["/home/me/project/examples/train.py(10):", "main", "5"]
    assert first.endswith(" and 4 more") and "250.000 us" in first and "125.000 us" in first
    assert second.split()[:3] == ["train.py(30):", "loss", "1"] and second.endswith(" k100")


def test_a_long_path_keeps_its_end(tmp_path):
    path = write(tmp_path / "t.json",
                 [python("/ö" * 60 + "/train.py(10): main", 0, 500), *waits(100, 1)])
    line = run("edges", "--summary", path)[0].splitlines()[1]
    assert line.startswith("  ...") and "/ö/train.py(10): main  " in line
    assert "per step" not in run("edges", "--summary", path)[0]


def test_without_lines_there_is_no_table_of_them(tmp_path):
    path = write(tmp_path / "t.json", [op("aten::item", 50, 300), *waits(100, 1)])
    text = run("edges", "--summary", path)[0]
    assert text.splitlines()[1].startswith("by kind") and "waited at" not in text
    assert "aten::item" in text
    assert [g["name"] for g in summary_of(path)["by_line"]] == [None]


# Our own

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
    """Rows of steps come behind those of the waits in them."""
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
    assert "(no line known)" in text and "gemm and 1 more" in text
    assert "cudaStreamSynchronize at a.py:3 f" in run("edges", path)[0]
