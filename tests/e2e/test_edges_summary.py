"""Tests `syncline edges` on jobs of several files, the options that select waits, and a summary of rows that
come late. The test generates the files. tests/torch/test_jobs.py recounts the summaries of PyTorch jobs."""
import fcntl
import json
import os
import pty
import struct
import subprocess
import termios

import pytest

import harness
import summary_recount
from edges_tool import edges, launch, operation, row, stream_sync
from test_edges_lines import name, op, own_wait, python, step, write
from test_tool import run

OWN = {"generator": "syncline 0.1", "syncEdges": 1, "baseTimeNanoseconds": 0}


def thread_name(tid, text):
    return {"ph": "M", "name": "thread_name", "pid": 42, "tid": tid, "ts": 0, "args": {"name": text}}


# A summary of rows that come late

def late_rows():
    """Returns the rows of a job whose forward pass (100,000 kernels) and backward pass run on two threads. The
    rows of the backward thread come first. The copy of `.item()` waits for all of them. A second `.item()`
    waits for copies on another stream, whose rows are late too."""
    def gpu(cat, number, start, dur, stream):
        text = "gemm" if cat == "kernel" else "Memcpy DtoH"
        return (f'{{"ph":"X","cat":"{cat}","name":"{text}","pid":0,"tid":{stream},'
                f'"ts":{start}.000,"dur":{dur}.000,"args":{{"correlation":{number},"device":0,'
                f'"context":1,"stream":{stream}}}}}')

    def wait(number, start, end, stream, line):
        call = row("cuda_runtime", "cudaMemcpyAsync", number, 0, 0, 42, cbid=41, wait_kind="copy",
                   wait_ns=(end - start) * 1000, wake_ns=1000, wait_at=line)
        edge = {"ph": "M", "name": "sync_edge", "pid": 42, "tid": 42, "args": {
            "kind": "copy", "src_correlation": number, "src_name": 1, "src_stream": stream,
            "src_device": 0, "dst_correlation": number, "dst_name": "cudaMemcpyAsync", "dst_thread": 42,
            "dst_stream": None, "dst_point": "end", "wait_ns": (end - start) * 1000, "wake_ns": 1000,
            "released": True, "basis": "exact"}}
        text = json.dumps(call).replace('"ts": 0, "dur": 0', f'"ts":{start}.000,"dur":{end + 1 - start}.000')
        return [text, json.dumps(edge)]

    yield json.dumps(name(1, "Memcpy DtoH"))
    yield from (gpu("gpu_memcpy", 200000 + i, 300000 + 2 * i, 1, 7) for i in range(3000))
    yield gpu("gpu_memcpy", 900000, 306000, 1, 7)
    yield gpu("gpu_memcpy", 900002, 306001, 1, 7)
    yield gpu("gpu_memcpy", 900001, 400000, 10, 8)
    yield from (gpu("kernel", i + 1, 100000 + 2 * i, 2, 7) for i in range(100000))
    yield from (gpu("gpu_memcpy", 700000 + i, 390000 + 2 * i, 2, 8) for i in range(5000))
    yield gpu("kernel", 800000, 380000, 9999, 8)
    yield from wait(900000, 150000, 306001, 7, "train.py:7 step")
    yield from wait(900001, 380000, 400010, 8, "eval.py:8 step")
    # This wait is so short that copies took most of it.
    yield from wait(900002, 299990, 306002, 7, "late.py:9 step")


@pytest.mark.full(seconds=3)
def test_a_hundred_thousand_late_rows(tmp_path):
    path = tmp_path / "t.json"
    head = json.dumps({"schemaVersion": 1, **OWN})[:-1]
    path.write_text(head + ', "traceEvents": [\n' + ",\n".join(late_rows()) + "\n]}")
    summary = summary_recount.check(harness.Trace(path))
    assert {g["name"]: [s["name"] for s in g["sources"]] for g in summary["by_line"]} == {
        "train.py:7 step": ["gemm"], "eval.py:8 step": ["Memcpy DtoH"],
        "late.py:9 step": ["Memcpy DtoH"]}


# The members of each edge

def test_the_line_the_step_the_thread_and_the_time(tmp_path):
    """The steps of recorded edges are known, although the row of a step follows the waits in it."""
    rows = [thread_name(42, "thread 42 (python)"), name(1, "gemm"), name(9, "cudaStreamSynchronize"),
            op("aten::item", 5, 20), *own_wait(101, 10, "a.py:3 f"), step(7, 5, 20), *own_wait(102, 60, None)]
    own = write(tmp_path / "own.json", rows, **OWN)
    foreign = write(tmp_path / "foreign.json", [
        thread_name(42, "thread 42 (python)"), thread_name(7, "stream 7 "), python("a.py(3): f", 8, 50),
        *launch(1, 9, 10, 20), *stream_sync(101, 10, 12), step(7, 5, 20), *launch(102, 59, 60, 70),
        *stream_sync(103, 60, 12)])
    for path, line in ((own, "a.py:3 f"), (foreign, "a.py(3): f")):
        first, second = edges(path)[0]
        assert (first["line"], first["step"], first["ts"]) == (line, "ProfilerStep#7", 10)
        assert (second["line"], second["step"], second["ts"]) == (None, None, 60)
        assert first["dst_thread_name"] == "thread 42 (python)"
        # Text has times since the first slice, as viewers show them.
        lines = run("edges", path)[0].splitlines()
        assert lines[2].split()[0] == "0.000005" and lines[4].split()[0] == "0.000055"
    piped = subprocess.run([harness.TOOL, "edges", "--json", "-"], input=own.read_text(), check=True,
                           capture_output=True, text=True)
    assert json.loads(piped.stdout.splitlines()[0])["step"] is None
    assert "the steps of its edges are not known" in piped.stderr
    piped = subprocess.run([harness.TOOL, "edges", "--step", "7", "-"], input=own.read_text(), check=False,
                           capture_output=True, text=True)
    assert piped.returncode == 2 and "--step needs a file" in piped.stderr


def waits_of_lines(path):
    """Writes a file with five waits of 1 to 5 ms, at three lines and in four steps."""
    rows = [name(1, "gemm"), name(9, "cudaStreamSynchronize")]
    for i, line in enumerate(["a.py:1 f", "b.py:2 g", "a.py:1 f", None, "b.py:22 h"]):
        rows += own_wait(100 + i, 10000 * i, line, wait_ns=(i + 1) * 1_000_000)
        rows.append(step(99 + i, 10000 * i, 9000) if i < 4 else name(3, "x"))
    return write(path, rows, **OWN)


@pytest.mark.parametrize("options, waits", [
    (["-m", "3ms"], [3, 4, 5]), (["--min-wait", "2500us"], [3, 4, 5]), (["-m", "0.0041s"], [5]),
    (["-m", "4000000ns"], [4, 5]), (["-m", "4000000"], [4, 5]), (["--line", "a.py"], [1, 3]),
    (["-l", "py:2"], [2, 5]), (["--line", "b.py:2 g"], [2]), (["--line", "*h"], [5]),
    (["--step", "100"], [2]), (["--step", "100..102"], [2, 3, 4]), (["--step", "103"], []),
    (["--top", "2"], [5, 4]), (["-n", "9", "--line", "a.py"], [3, 1])])
def test_selected(tmp_path, options, waits):
    path = waits_of_lines(tmp_path / "t.json")
    assert [e["wait_ns"] // 1_000_000 for e in edges(path, *options)[0]] == waits
    summary = json.loads(run("edges", "--summary", "--json", *options, path)[0])
    if options[0] not in ("--top", "-n"):
        assert summary["total_ns"] == sum(waits) * 1_000_000
        # Times per step are those per selected step.
        assert summary["steps"] == ({"100": 1, "100..102": 3, "103": 0}.get(options[1], 4))
    shown = sum(" ms  stream_sync " in line for line in run("edges", *options, path)[0].splitlines())
    assert shown == len(waits)


def test_top_of_a_summary(tmp_path):
    text = run("edges", "--summary", "--top", "1", waits_of_lines(tmp_path / "t.json"))[0]
    lines = [line for line in text.splitlines() if line.startswith("  ")]
    assert len([line for line in lines if "py:" in line and "for" not in line]) == 2  # and among the longest
    assert sum("(all others)" in line for line in lines) == 2


def test_executions_that_waited(tmp_path):
    """Of ten calls at a line, three found their work completed."""
    rows = [name(1, "gemm"), name(9, "cudaStreamSynchronize")]
    for i in range(10):
        rows += own_wait(100 + i, 100 * i, "a.py:1 f", wait_ns=0 if i % 4 == 0 else 1000)
    path = write(tmp_path / "t.json", rows, **OWN)
    group, = json.loads(run("edges", "--summary", "--json", path)[0])["by_line"]
    assert (group["waits"], group["calls"]) == (7, 10)
    assert " 7/10 " in run("edges", "--summary", path)[0]


# Jobs

def write_job(folder, nccl_us):
    """Writes two windows for each rank. `nccl_us`: for each rank, how long its NCCL kernels run."""
    for rank, us in enumerate(nccl_us):
        for window in (1, 2):
            path = folder / f"host-{rank}-{100 + rank}"
            path.mkdir(exist_ok=True, parents=True)
            rows = [operation("kernel", "ncclDevKernel_AllReduce", 1, 0, us), name(1, "gemm"),
                    name(9, "cudaStreamSynchronize"), step(window, 0, 50),
                    *own_wait(100, 10, f"a.py:{rank} f", wait_ns=1000 * (window + rank)),
                    *own_wait(101, 30, "b.py:9 g", wait_ns=10)]
            write(path / f"{window}.pt.trace.json", rows, **OWN,
                  distributedInfo={"rank": rank, "world_size": len(nccl_us)})
    return folder


def test_a_job(tmp_path):
    job = write_job(tmp_path / "job", [90, 10])
    *files, together = [json.loads(line) for line in
                        run("edges", "--summary", "--json", job)[0].splitlines()]
    assert [(f["rank"], f["total_ns"]) for f in files] == [
        (0, 1010), (0, 2010), (1, 2010), (1, 3010)]
    assert together["slowest_rank"] == 1 and together["steps"] == 4
    for key in ("waits", "total_ns"):
        assert together[key] == sum(f[key] for f in files)
    assert [(g["name"], g["waits"], g["total_ns"], g["per_step_ns"]) for g in together["by_line"]] == [
        ("a.py:1 f", 2, 5000, 1250), ("a.py:0 f", 2, 3000, 750), ("b.py:9 g", 4, 40, 10)]
    text = run("edges", "--summary", job)[0]
    lines = [line.split() for line in text.splitlines()]
    assert lines[1] == ["0", "host-0-100/1", "2", "1.010", "us", "1.010", "us", "-", "90.000", "us"]
    assert lines[5][:4] == ["all", "8", "8.040", "us"]
    assert "The slowest is rank 1: its NCCL kernels ran 10.000 us on average" in text
    # Its summary has both windows, and no line of the other rank.
    after = text.split("Its summary:")[1]
    assert "a.py:1 f" in after and "a.py:0 f" not in after and "in host-1-101/2" in after
    # Without a difference between NCCL kernels, the rank that waited longest is the slowest.
    text = run("edges", "--summary", write_job(tmp_path / "even", [50, 49]))[0]
    assert "The slowest is rank 1: it waited longest for its GPU, 5.020 us" in text


def test_the_longest_waits_of_a_job(tmp_path):
    job = write_job(tmp_path / "job", [90, 10])
    found = [json.loads(line) for line in run("edges", "--json", "-n", 3, job)[0].splitlines()]
    assert [(e["wait_ns"], e["file"].rsplit("/", 2)[1]) for e in found] == [
        (3000, "host-1-101"), (2000, "host-0-100"), (2000, "host-1-101")]
    text = run("edges", "-n", 3, job)[0]
    assert [line.split() for line in text.splitlines() if line.split()[:1] == ["in"]] == [
        ["in", "host-1-101/2"], ["in", "host-0-100/2"], ["in", "host-1-101/1"]]
    assert "8 edges, 8 of them selected, the 3 longest shown" in text


# The screen

def on_terminal(columns, *args):
    """Returns what the tool prints on a terminal of this width."""
    main, side = pty.openpty()
    fcntl.ioctl(side, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
    process = subprocess.Popen([harness.TOOL, *map(str, args)], stdout=side, stderr=subprocess.DEVNULL)
    os.close(side)
    text = b""
    try:
        while part := os.read(main, 1 << 16):
            text += part
    except OSError:  # the other side is closed
        pass
    assert process.wait() == 0
    os.close(main)
    return text.decode()


def test_text_fits_the_screen(tmp_path):
    long = "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>>" * 3
    line = "/home/someone/with/ä/long/path/" * 4 + "train.py:212 Trainer.train_step.<locals>.closure"
    rows = [name(1, long), name(9, long), *own_wait(101, 10, line, wait_ns=123_456_789_012),
            op(long, 5, 10), step(7, 5, 20), *own_wait(102, 10, None), *own_wait(103, 40, "a.py:3 f")]
    (tmp_path / "job").mkdir()
    for number in (1, 2):
        write(tmp_path / "job" / f"a-very-long-name-of-a-file-of-a-job-{number}.pt.trace.json", rows, **OWN)
    one = tmp_path / "job" / "a-very-long-name-of-a-file-of-a-job-1.pt.trace.json"
    # The messages name files in full.
    for options in (["--summary", one], ["--summary", tmp_path / "job"], [one], ["-n", 9, tmp_path / "job"]):
        for columns, wide in ((100, 100), (80, 80), (60, 80), (500, 200)):
            for text in on_terminal(columns, "edges", *options).splitlines():
                assert len(text) <= wide or str(tmp_path) in text, text
        for text in run("edges", *options)[0].splitlines():
            assert len(text) <= 100 or str(tmp_path) in text, text
    assert "path/train.py:212 Trainer.train_step.<locals>.closure" in on_terminal(150, "edges", one)


def test_names_cannot_control_the_terminal(tmp_path):
    folder = tmp_path / "\x1b[31mjob"
    write_job(folder, [10, 10])
    rows = [name(1, "gemm\x9b31m"), name(9, "x"), *own_wait(101, 10, "a\u202e.py:1 f")]
    write(folder / "x.pt.trace.json", rows, **OWN)
    for options in (["--summary"], ["-n", 9], []):
        text, error = run("edges", *options, folder)
        assert not set("\x1b\x9b\u202e") & set(text + error)
