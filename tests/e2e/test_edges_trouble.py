"""Runs `syncline edges` on files that are not traces, and on traces that are damaged, malicious or
endless. The tool reports the problem and uses bounded memory."""
import gzip
import json
import os
import random
import re
import subprocess
import sys
import time

import pytest
import zstandard

from edges_tool import edges, launch, pairs, row, stream_sync, write
from test_tool import TOOL, check, damage, frames, one_line, problems, run


@pytest.mark.parametrize("content, words", [
    (b"", "empty"),
    (b"hello world", "not a Kineto trace"),
    (b"{}", "without traceEvents"),
    (b"\x28\xb5\x2f\xfd garbage", "damaged"),
    (b"\x1f\x8b garbage", "damaged"),
])
@pytest.mark.sanitize
def test_not_a_trace(content, words, tmp_path):
    path = tmp_path / "thing"
    path.write_bytes(content)
    assert words in one_line(run("edges", path, status=2)[1])


def test_wrong_usage(tmp_path):
    assert "PATH is missing" in one_line(run("edges", status=2)[1])
    assert "did you mean stream_sync?" in one_line(run("edges", "-k", "stream_snyc", "x", status=2)[1])
    for option, value in (("--min-wait", "5m"), ("--min-wait", "-5"), ("--step", "x"), ("--step", "3..1"),
                          ("--top", "0"), ("--top", "many")):
        assert f"{option} {value} is not valid: give a" in one_line(
            run("edges", option, value, "x", status=2)[1])
    assert "No such file" in one_line(run("edges", tmp_path / "none", status=2)[1])


@pytest.mark.sanitize
def test_cut_file(tmp_path):
    """The file is truncated. The edges of the readable part are printed, and the loss is reported."""
    rows = [r for i in range(1, 200, 2)
            for r in launch(i, i * 100, i * 100 + 5, i * 100 + 60) + stream_sync(i + 1, i * 100 + 10, 60)]
    path = write(tmp_path / "whole", rows)
    whole, _ = edges(path)
    data = path.read_bytes()
    cut = tmp_path / "cut"
    for part in (data[:len(data) // 2], frames(data, 500)[:-700], gzip.compress(data)[:-300]):
        cut.write_bytes(part)
        out, error = run("edges", "--json", cut, status=1)
        assert "is truncated or damaged" in error
        found = [json.loads(line) for line in out.splitlines()]
        assert 0 < len(found) < len(whole) and pairs(found) <= pairs(whole)


@pytest.mark.sanitize
def test_rows_without_sense(tmp_path):
    rows = launch(1, 10, 15, 60) + stream_sync(2, 20, 46) + [
        row("kernel", "no stream", 1, 1, 1), row("kernel", "negative", 3, 70, -5, stream=7),
        row("kernel", "huge", 2**63 - 1, 70, 5, stream=7), row("cuda_sync", "Event Sync", -1, 1, 1),
        row("kernel", "text", "1", "x", 1, stream=[7]), row("cuda_runtime", "again", 2, 21, 1),
        row("kernel", "far", 1, 1e15, 1e15, stream=2**32 - 2), {"ph": "X", "cat": "kernel"},
        {"ph": "X", "cat": "cpu_op", "name": "aten::early", "ts": -5, "dur": 9, "pid": 1, "tid": 1},
        {"ph": "X", "cat": "user_annotation", "name": "r", "ts": 5, "dur": 9, "pid": 1, "tid": "Spans"}]
    out, error = run("edges", "--json", write(tmp_path / "t", rows), status=1)
    assert "7 with impossible ids or times: `syncline check` shows more" in error
    assert "1 events end before they begin" in error
    found = problems(check(tmp_path / "t"))
    assert found["row_unusable"]["count"] + found["correlation_large"]["count"] == 7
    assert "row_unusable  6: events with impossible ids or times" in run("check", tmp_path / "t")[0]
    assert (1, 2) in pairs(json.loads(line) for line in out.splitlines())


@pytest.mark.sanitize
@pytest.mark.parametrize("dur", ["", '"dur": null, ', '"dur": "long", ', '"dur": 1e400, '])
@pytest.mark.parametrize("category", ["kernel", "cuda_runtime", "cuda_sync", "cpu_op"])
def test_rows_without_an_end(tmp_path, category, dur):
    """A row has no `dur`, so its end is unknown, and the row gives no edge. If the row of a wait
    has no `dur`, the tool uses the times of the call."""
    rows = launch(1, 10, 15, 60) + stream_sync(2, 20, 46) + [row("cpu_op", "aten::add", 9, 5, 70, 42)]
    rows += launch(3, 100, 105, 160) + stream_sync(4, 110, 56)
    bad = {"kernel": 1, "cuda_runtime": 2, "cuda_sync": 3, "cpu_op": 4}[category]
    path = write(tmp_path / "t", rows)
    (before, good), _ = edges(path)
    rows[bad]["dur"] = 77777
    assert '"dur": 77777, ' in write(path, rows).read_text()
    path.write_text(path.read_text().replace('"dur": 77777, ', dur))
    out, error = run("edges", "--json", path, status=1)
    found = [json.loads(line) for line in out.splitlines()]
    left = {"cuda_runtime": [{**before, "dst_name": None, "dst_thread": None, "wait_ns": 39000,
                              "place": None, "ts": before["ts"] + 1}],
            "cuda_sync": [{**before, "basis": "inferred"}], "cpu_op": [{**before, "place": None}]}
    assert found == [*left.get(category, []), good]
    assert "1 with impossible ids or times" in error and "cycle" not in error
    out, error = run("convert", path, "--to", "chakra", "-o", tmp_path / "t.et", status=1)
    assert "1 with impossible ids or times" in error
    assert problems(check(path))["row_unusable"]["count"] == 1
    assert "dur is no time" in run("check", path)[0]


@pytest.mark.sanitize
def test_calls_without_numbers(tmp_path):
    """Calls have no `cbid`, as in ROCm's traces. The tool reports that it does not know which of
    these calls waited."""
    rows = launch(1, 10, 15, 60) + stream_sync(2, 20, 46)
    words = "no call has a `cbid`"
    assert words not in run("edges", write(tmp_path / "t", rows))[1]
    del rows[0]["args"]["cbid"]
    assert words not in run("edges", write(tmp_path / "t", rows))[1]
    del rows[2]["args"]["cbid"], rows[3]
    path = write(tmp_path / "t", rows)
    out, error = run("edges", "--json", path)
    assert not out and error.count(words) == 1
    assert run("convert", path, "--to", "chakra", "-o", tmp_path / "t.et")[1].count(words) == 1
    assert not run("edges", write(tmp_path / "t", rows[1:2]))[1]  # a file without calls


def numbers(call, op):
    """Returns wait_ns and wake_ns, computed by the definitions in docs/sync-edges.md."""
    start, end, source = (1000 * us for us in (call["ts"], call["ts"] + call["dur"], op["ts"] + op["dur"]))
    return max(0, source - start), end - max(source, start)


@pytest.mark.sanitize
@pytest.mark.parametrize("seed", range(20))
def test_times_that_go_back(tmp_path, seed):
    """Some operations begin before an earlier operation of their stream, or before their own call.
    If a blocking copy has correct times, it is the only source of its call. No constant corrects the times, so
    they are left as they are."""
    generator = random.Random(seed)
    rows = []
    for i in range(10, 200):
        start = 1000 + 10 * i + generator.choice([3, 3, 3, -500, -1])
        rows += launch(i, 1000 + 10 * i, start, start + 4)
        if generator.random() < 0.3:
            rows[-2].update(name="cudaMemcpyAsync", dur=8)
            rows[-1].update(cat="gpu_memcpy", name="Memcpy DtoH (Device -> Pageable)")
    path = write(tmp_path / "t", rows)
    found, _ = edges(path, status=1)
    assert "not constant" in run("edges", path, status=1)[1] and {edge["basis"] for edge in found} == {"inferred"}
    pairs_of_rows = [(call, op) for call, op in zip(rows[::2], rows[1::2]) if op["cat"] == "gpu_memcpy"]
    copies = {op["args"]["correlation"]: (call, op) for call, op in pairs_of_rows}
    told = {edge["dst_correlation"] for edge in found}
    assert told <= set(copies) and len(told) == len(found)
    assert {id_ for id_, (call, op) in copies.items() if op["ts"] >= call["ts"] - 1} <= told
    for edge in found:
        call, op = copies[edge["src_correlation"]]
        assert (edge["kind"], edge["dst_correlation"]) == ("copy", edge["src_correlation"])
        assert (edge["wait_ns"], edge["wake_ns"]) == numbers(call, op)
    run("convert", path, "--to", "chakra", "-o", tmp_path / "t.et", status=1)


@pytest.mark.sanitize
def test_random_damage(tmp_path):
    generator = random.Random(5)
    rows = [r for i in range(1, 20, 2)
            for r in launch(i, i * 100, i * 100 + 5, i * 100 + 60) + stream_sync(i + 1, i * 100 + 10, 60)]
    good = write(tmp_path / "good", rows).read_bytes()
    path = tmp_path / "t"
    for round_ in range(100):
        data = bytearray([good, frames(good, 600), gzip.compress(good)][round_ % 3])
        damage(data, generator, lambda: generator.choice(
            [b"9", b"-", b"0000000000", b"e9", generator.randbytes(3)]))
        path.write_bytes(data)
        done = subprocess.run([TOOL, "edges", "--json", path], capture_output=True, timeout=60)
        assert done.returncode in (0, 1, 2), (round_, done.stderr)
        for line in done.stdout.splitlines():
            json.loads(line)


PEAK = """
import resource, subprocess, sys
done = subprocess.run(sys.argv[2:])
with open(sys.argv[1], "w") as out:
    print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, file=out)
sys.exit(done.returncode)
"""


def peak_kib(tmp_path, *arguments, status=0):
    """Returns standard output, standard error and the tool's peak memory in KiB. A child process
    inherits the peak of its parent, so the test starts a small process, which starts the tool."""
    note = tmp_path / "peak"
    done = subprocess.run([sys.executable, "-S", "-c", PEAK, note, TOOL, *map(str, arguments)],
                          capture_output=True, text=True, timeout=100, check=False)
    assert done.returncode == status, done.stderr
    return done.stdout, done.stderr, int(note.read_text())


def write_many(path, count, stream_of):
    """Writes `count` launches, and one wait after each thousandth. The calls precede the GPU rows."""
    with zstandard.ZstdCompressor(level=1).stream_writer(open(path, "wb"), closefd=True) as out:
        out.write(b'{"traceEvents":[\n')
        for i in range(1, count + 1):
            out.write(b'{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":4,"tid":4,"ts":%d,'
                      b'"dur":1,"args":{"cbid":211,"correlation":%d}},\n' % (i * 10, 2 * i))
            if i % 1000 == 0:
                out.write(b'{"ph":"X","cat":"cuda_runtime","name":"cudaStreamSynchronize","pid":4,"tid":4,'
                          b'"ts":%d,"dur":6,"args":{"cbid":131,"correlation":%d}},\n' % (i * 10 + 2, 2 * i + 1))
        for i in range(1, count + 1):
            out.write(b'{"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":%d,"dur":3,"args":{'
                      b'"device":0,"context":1,"stream":%d,"correlation":%d}},\n'
                      % (i * 10 + 2, stream_of(i), 2 * i))
            if i % 1000 == 0:
                out.write(b'{"ph":"X","cat":"cuda_sync","name":"Stream Sync","pid":0,"tid":7,"ts":%d,"dur":5,'
                          b'"args":{"device":0,"context":1,"stream":%d,"correlation":%d}},\n'
                          % (i * 10 + 2, stream_of(i), 2 * i + 1))
        out.write(b'{"ph":"M","name":"end"}]}')


@pytest.mark.parametrize("count, streams", [(600000, 8), (300000, 300000)])
def test_memory_is_bounded(tmp_path, count, streams):
    """A file has more rows than fit into the sort, or endlessly many streams. Memory is bounded, and losses
    are counted."""
    path = tmp_path / "t.zst"
    write_many(path, count, lambda i: 7 + i % streams)
    out, error, peak = peak_kib(tmp_path, "edges", "--json", path)
    assert peak < 256 << 10
    wanted = {(2 * i, 2 * i + 1) for i in range(1000, count + 1, 1000)}
    found = pairs(json.loads(line) for line in out.splitlines())
    assert found <= wanted and found
    assert found == wanted or " memory " in error
    if streams == 8:
        assert found == wanted


def test_no_room_for_sorting(tmp_path):
    path = tmp_path / "t.zst"
    write_many(path, 300000, lambda i: 7)
    done = subprocess.run([TOOL, "edges", path], capture_output=True, text=True, timeout=60,
                          env={**os.environ, "TMPDIR": str(tmp_path / "none")}, check=False)
    assert done.returncode == 2
    assert "sorting the events failed: No such file" in one_line(done.stderr)


def test_a_line_without_end(tmp_path):
    """A name has 5 MB or 20 MB. The tool skips and reports the row, and reads all other rows."""
    rows = launch(1, 10, 15, 60) + stream_sync(2, 20, 46) + launch(3, 80, 85, 90)
    rows[4]["name"] = "x" * 5_000_000
    out, error = run("edges", "--json", write(tmp_path / "t", rows), status=1)
    assert "1 too long" in error and len(out.splitlines()) == 1
    rows[4]["name"] = "x" * 20_000_000
    began = time.monotonic()
    out, error = run("edges", "--json", write(tmp_path / "t", rows), status=1)
    assert "is truncated or damaged" in error and len(out.splitlines()) == 1
    assert time.monotonic() - began < 60


@pytest.mark.sanitize
def test_cycles_and_repeated_ids(tmp_path):
    """Two streams wait for each other's later work, and several calls share one id. In the output
    no source ends after the wait that it released. Contradictory waits are counted, and repeated
    ids are reported."""
    def wait(correlation, ts, stream, record, on):
        return [row("cuda_runtime", "cudaStreamWaitEvent", correlation, ts, 1, 42, cbid=147),
                row("cuda_sync", "Stream Wait Event", correlation, ts, 1, stream, device=0, context=1,
                    stream=stream, wait_on_stream=on, wait_on_cuda_event_record_corr_id=record)]

    rows = (launch(1, 10, 15, 900, 13) + wait(3, 12, 14, 2, 13) + launch(4, 14, 20, 800, 14)
            + wait(6, 16, 13, 5, 14) + launch(7, 18, 30, 700, 13) + launch(1, 20, 40, 50, 15)
            + launch(7, 22, 60, 70, 13) + stream_sync(8, 30, 100, 13) + stream_sync(8, 200, 900, 14)
            # The rows below contradict no other row.
            + launch(20, 1200, 1205, 1260, 13) + launch(20, 1210, 1215, 1240, 14)
            + stream_sync(21, 1220, 46, 13) + stream_sync(22, 1270, 6, 14)
            + stream_sync(23, 1280, 6, 13) + stream_sync(23, 1290, 6, 14))
    path = write(tmp_path / "t", rows)
    found, lost = edges(path, status=1)
    assert lost["cycle"] > 0
    assert "4 calls share a correlation id with another call" in run("edges", path, status=1)[1]
    operations = {(r["args"]["correlation"], r["tid"]): r for r in rows if r["cat"] == "kernel"}
    # the first row of each id
    calls = {r["args"]["correlation"]: r for r in reversed(rows) if r["cat"] == "cuda_runtime"}
    assert {(20, 13, 21), (20, 14, 22)} <= {
        (edge["src_correlation"], edge["src_stream"], edge["dst_correlation"]) for edge in found}
    for edge in found:
        call = calls[edge["dst_correlation"]]
        source = operations[edge["src_correlation"], edge["src_stream"]]
        assert source["ts"] + source["dur"] <= call["ts"] + call["dur"]
        assert (edge["wait_ns"], edge["wake_ns"]) == numbers(call, source)


@pytest.fixture(scope="module")
def million_streams(tmp_path_factory):
    path = tmp_path_factory.mktemp("streams") / "t.zst"
    write_many(path, 1000000, lambda i: 7 + i)
    return path


@pytest.mark.full(seconds=3.0)
def test_edges_of_a_million_streams(tmp_path, million_streams):
    out, error, peak = peak_kib(tmp_path, "edges", "--json", million_streams)
    assert peak < 256 << 10
    found = pairs(json.loads(line) for line in out.splitlines())
    wanted = {(2 * i, 2 * i + 1) for i in range(1000, 1000001, 1000)}
    assert found <= wanted and len(found) >= len(wanted) // 10
    assert " memory " in error


@pytest.mark.full(seconds=3.2)
def test_a_million_streams_converted(tmp_path, million_streams):
    et = tmp_path / "t.et"
    out, _, peak = peak_kib(tmp_path, "convert", "--to", "chakra", "-o", et, million_streams)
    assert peak < 256 << 10
    assert "1 000 000 on the GPU" in out
    assert re.search(r"^edges that the trace lacks: .*\bmemory \d", out, re.M)
    out, _, peak = peak_kib(tmp_path, "check", et)
    assert peak < 256 << 10 and "valid" in out


@pytest.mark.full(seconds=1.7)
def test_a_million_streams_checked(tmp_path, million_streams):
    out, _, peak = peak_kib(tmp_path, "check", million_streams)
    assert peak < 256 << 10
    assert "2 002 001" in out and "0 errors" in out


@pytest.fixture(scope="module")
def long_line(tmp_path_factory):
    """Returns a file with a name of two gigabytes. Compressed, the file is small."""
    path = tmp_path_factory.mktemp("line") / "t.zst"
    rows = launch(1, 10, 15, 60) + stream_sync(2, 20, 46)
    with zstandard.ZstdCompressor(level=1).stream_writer(open(path, "wb"), closefd=True) as out:
        out.write(b'{"traceEvents":[\n' + b"".join(json.dumps(r).encode() + b",\n" for r in rows))
        out.write(b'{"ph":"X","cat":"kernel","name":"')
        for _ in range(2048):
            out.write(b"x" * (1 << 20))
        out.write(b'"}]}')
    return path


def test_edges_of_a_line_of_two_gigabytes(tmp_path, long_line):
    """The file is read once in bounded memory, and is reported as damaged."""
    out, error, peak = peak_kib(tmp_path, "edges", "--json", long_line, status=1)
    assert peak < 256 << 10
    assert "is truncated or damaged" in error and pairs(json.loads(line) for line in out.splitlines()) == {(1, 2)}


def test_a_line_of_two_gigabytes_converted(tmp_path, long_line):
    et = tmp_path / "t.et"
    out, error, peak = peak_kib(tmp_path, "convert", "--to", "chakra", "-o", et, long_line, status=1)
    assert peak < 256 << 10
    assert "is truncated or damaged: one value is longer than 16 MiB" in error and "1 synchronization edge" in out
    assert "valid" in run("check", et)[0]


def test_a_line_of_two_gigabytes_checked(tmp_path, long_line):
    out, _, peak = peak_kib(tmp_path, "check", long_line, status=1)
    assert peak < 256 << 10
    assert "json_invalid" in out and "one value is longer than 16 MiB; what follows was not read" in out
