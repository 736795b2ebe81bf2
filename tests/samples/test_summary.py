"""Runs samples/summary.py on a trace whose numbers were computed by hand."""

import gzip
import json
import pathlib
import subprocess
import sys

SUMMARY = pathlib.Path(__file__).resolve().parents[2] / "samples/summary.py"


def row(cat, name, ts, dur, tid=1, **args):
    return {"ph": "X", "cat": cat, "name": name, "pid": 0, "tid": tid, "ts": ts, "dur": dur,
            "args": args}


# Two streams of GPU 0, in us: gemm 100-300 and 400-500 on one, a copy 250-450 on the other. The GPU is busy
# 100-500, of 1000 us from the first call to the end of the last.
EVENTS = [
    row("cuda_runtime", "cudaLaunchKernel", 0, 5, tid=11, correlation=1),
    row("cuda_runtime", "cudaMemcpyAsync", 10, 400, tid=11, correlation=2),
    row("cuda_runtime", "cudaLaunchKernel", 420, 5, tid=11, correlation=3),
    row("cuda_runtime", "cudaStreamSynchronize", 450, 60, tid=11, correlation=4),
    row("cuda_runtime", "cudaStreamSynchronize", 600, 400, tid=12, correlation=5),
    row("cuda_runtime", "cudaStreamWaitEvent", 550, 3, tid=11, correlation=6),
    row("kernel", "gemm", 100, 200, tid=7, correlation=1, device=0, stream=7),
    row("gpu_memcpy", "Memcpy DtoH (Device -> Pageable)", 250, 200, tid=13, correlation=2, device=0,
        stream=13),
    row("kernel", "gemm", 400, 100, tid=7, correlation=3, device=0, stream=7),
]


def summary(path):
    return subprocess.run([sys.executable, SUMMARY, path], text=True, capture_output=True,
                          check=False)


def write(path, events):
    with gzip.open(path, "wt") as file:
        json.dump({"traceEvents": events}, file)
    return path


def line(output, first_word):
    found = [text.split() for text in output.splitlines() if text.split()[:1] == [first_word]]
    assert len(found) == 1, output
    return found[0]


def test_numbers(tmp_path):
    done = summary(write(tmp_path / "t.json.gz", EVENTS))
    assert done.returncode == 0, done.stderr
    assert "GPU busy, of 1.000 ms" in done.stdout
    assert "GPU 0  40.0 %  0.400 ms  0.300 ms  0.200 ms        2" in done.stdout
    assert line(done.stdout, "gemm") == ["gemm", "2", "0.300", "ms", "0.150", "ms", "100.0", "%"]


def test_no_trace(tmp_path):
    (tmp_path / "broken.json.gz").write_bytes(b"\x1f\x8b nonsense")
    done = summary(tmp_path / "broken.json.gz")
    assert done.returncode == 1 and "no readable Kineto trace" in done.stderr
    assert "Traceback" not in done.stderr
    assert summary(tmp_path / "missing.json").returncode == 1


def test_empty_trace(tmp_path):
    done = summary(write(tmp_path / "t.json.gz", []))
    assert done.returncode == 1 and "no GPU work" in done.stderr


# Two steps, in us: 0-400 and 400-1000. The GPU's busy time 100-500 is 300 us in the first and 100 us in the
# second.
STEPS = [
    row("user_annotation", "ProfilerStep#7", 0, 400, tid=11),
    row("user_annotation", "ProfilerStep#8", 400, 600, tid=11),
]


def test_steps_and_lines_and_operators(tmp_path):
    events = EVENTS + STEPS + [
        row("cuda_runtime", "cudaStreamSynchronize", 300, 50, tid=12, correlation=8, wait_ns=30000,
            wait_at="train.py:12 accuracy"),
        row("cuda_runtime", "cudaStreamSynchronize", 900, 50, tid=12, correlation=9, wait_ns=10000,
            wait_at="train.py:12 accuracy"),
        row("cuda_runtime", "cudaStreamSynchronize", 960, 20, tid=12, correlation=10, wait_ns=1000),
        row("cuda_runtime", "cudaStreamSynchronize", 985, 5, tid=12, correlation=11, wait_ns=0),
        # linear takes 100 us. 60 of them are in addmm, and 10 of those are in another operator.
        row("cpu_op", "aten::linear", 0, 100, tid=11),
        row("cpu_op", "aten::addmm", 20, 60, tid=11),
        row("cpu_op", "aten::as_strided", 30, 10, tid=11),
        row("cpu_op", "aten::addmm", 500, 70, tid=11),
    ]
    done = summary(write(tmp_path / "t.json.gz", events))
    assert done.returncode == 0, done.stderr
    assert line(done.stdout, "ProfilerStep#7") == \
        "ProfilerStep#7 0.400 ms 75.0 % 0.030 ms 1 1".split()
    assert line(done.stdout, "ProfilerStep#8") == \
        "ProfilerStep#8 0.600 ms 16.7 % 0.011 ms 2 1".split()
    assert line(done.stdout, "train.py:12") == \
        "train.py:12 accuracy 2 0.040 ms 0.020 ms".split()
    assert "not known" in done.stdout
    own = done.stdout.split("Top operators")[1].splitlines()[2:5]
    assert [text.split()[:4] for text in own] == [["aten::addmm", "2", "0.120", "ms"],
                                                  ["aten::linear", "1", "0.040", "ms"],
                                                  ["aten::as_strided", "1", "0.010", "ms"]]


def test_what_is_not_in_a_trace_has_no_table(tmp_path):
    done = summary(write(tmp_path / "t.json.gz", EVENTS))
    for title in ("Steps", "by source line", "Top operators"):
        assert title not in done.stdout


def test_many_steps_are_counted(tmp_path):
    steps = [row("user_annotation", f"ProfilerStep#{i}", 10 * i, 10, tid=11) for i in range(50)]
    done = summary(write(tmp_path / "t.json.gz", EVENTS + steps))
    assert "and 44 more" in done.stdout
