"""samples/summary.py against a trace whose numbers were worked out by hand."""

import gzip
import json
import pathlib
import subprocess
import sys

SUMMARY = pathlib.Path(__file__).resolve().parents[2] / "samples/summary.py"


def row(cat, name, ts, dur, tid=1, **args):
    return {"ph": "X", "cat": cat, "name": name, "pid": 0, "tid": tid, "ts": ts, "dur": dur,
            "args": args}


# Two streams of GPU 0, in us: gemm 100-300 and 400-500, a copy 250-450 beside them. Any work:
# 100-500, of the 1000 us from the first call to the end of the last.
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
