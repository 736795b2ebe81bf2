"""Runs `syncline edges` on a file. Also makes rows for test files: launches, waits, operations."""
import collections
import json

import harness
from test_tool import run

FIELDS = ["kind", "src_correlation", "src_name", "src_stream", "src_device", "dst_correlation",
          "dst_name", "dst_point", "dst_thread", "dst_stream", "wait_ns", "wake_ns", "released",
          "basis", *harness.OF_OTHER_ROWS]


def edges(path, *options, status=0):
    """Returns the edges that the tool prints, and for each reason the number of edges that were
    left out."""
    out, error = run("edges", "--json", *options, path, status=status)
    lost = collections.Counter()
    for line in error.splitlines():
        if "edges left out: " in line:
            for part in line.split("edges left out: ")[1].split(", "):
                lost[part.split()[0]] = int(part.split()[1])
    found = [json.loads(line) for line in out.splitlines()]
    assert all(list(edge) == FIELDS for edge in found)
    return found, lost


def pairs(found):
    return {(e["src_correlation"], e["dst_correlation"]) for e in found}


def row(cat, name, correlation, ts, dur, tid=7, **args):
    return {"ph": "X", "cat": cat, "name": name, "pid": 42, "tid": tid, "ts": ts, "dur": dur,
            "args": {"correlation": correlation, **args}}


def operation(cat, name, correlation, start, end, stream=7):
    return row(cat, name, correlation, start, end - start, stream, device=0, context=1, stream=stream)


def launch(correlation, ts, start, end, stream=7, thread=42, **args):
    """Returns the rows of a call of 2 us and of the kernel launched by the call."""
    return [row("cuda_runtime", "cudaLaunchKernel", correlation, ts, 2, thread, cbid=211),
            row("kernel", f"k{correlation}", correlation, start, end - start, stream, device=0,
                context=1, stream=stream, **args)]


def stream_sync(correlation, ts, dur, stream=7, thread=42):
    return [row("cuda_runtime", "cudaStreamSynchronize", correlation, ts, dur, thread, cbid=131),
            row("cuda_sync", "Stream Sync", correlation, ts + 1, dur - 1, stream, device=0, context=1,
                stream=stream, cuda_sync_kind="Stream Sync")]


def write(path, rows):
    path.write_text(json.dumps({"schemaVersion": 1, "traceEvents": rows}))
    return path
