#!/usr/bin/env python3
"""A short table about a Kineto trace: how busy the GPU was, top kernels.

    samples/summary.py TRACE.json.gz        (or .json; `syncline convert --to kineto-gz` makes one)

Standard library only. Reads the whole file: meant for a demo, not for hours of recording.
"""

import argparse
import collections
import gzip
import json
import sys

GPU_CATEGORIES = ("kernel", "gpu_memcpy", "gpu_memset")
CPU_CATEGORIES = ("cuda_runtime", "cuda_driver")


def load(path):
    opener = gzip.open if path.endswith(".gz") else open
    with opener(path, "rt", encoding="utf-8") as file:
        trace = json.load(file)
    return [e for e in trace["traceEvents"] if e.get("ph") == "X"]


def union_us(intervals):
    """Time covered by at least one of the (begin, end) intervals."""
    covered, reached = 0.0, float("-inf")
    for begin, end in sorted(intervals):
        covered += max(0.0, end - max(begin, reached))
        reached = max(reached, end)
    return covered


def ms(us):
    return f"{us / 1e3:.3f} ms"


def print_table(title, header, rows):
    print(f"\n{title}")
    if not rows:
        print("  none")
        return
    rows = [header] + rows
    widths = [max(len(row[i]) for row in rows) for i in range(len(header))]
    for row in rows:
        cells = [row[0].ljust(widths[0])] + [c.rjust(w) for c, w in zip(row[1:], widths[1:])]
        print("  " + "  ".join(cells).rstrip())


def shorten(name, limit=56):
    return name if len(name) <= limit else name[: limit - 1] + "…"


def print_busy(gpu, begin, end):
    """Per device, the part of the time between the first and the last event that it worked."""
    devices = collections.defaultdict(list)
    for event in gpu:
        devices[event["args"].get("device", event.get("pid"))].append(event)
    rows = []
    for device, events in sorted(devices.items()):
        def covered(category):
            return union_us([(e["ts"], e["ts"] + e["dur"]) for e in events
                             if category is None or e["cat"] == category])
        busy = covered(None)
        streams = {e["args"].get("stream") for e in events}
        rows.append([f"GPU {device}", f"{100 * busy / (end - begin):.1f} %" if end > begin else "-",
                     ms(busy), ms(covered("kernel")), ms(covered("gpu_memcpy")),
                     str(len(streams))])
    print_table(f"GPU busy, of {ms(end - begin)}",
                ["", "busy", "any work", "kernels", "copies", "streams"], rows)


def print_kernels(gpu, limit):
    total = collections.Counter()
    count = collections.Counter()
    for event in gpu:
        if event["cat"] == "kernel":
            total[event["name"]] += event["dur"]
            count[event["name"]] += 1
    everything = sum(total.values()) or 1.0
    rows = [[shorten(name), str(count[name]), ms(us), ms(us / count[name]),
             f"{100 * us / everything:.1f} %"] for name, us in total.most_common(limit)]
    print_table("Top kernels", ["", "count", "total", "mean", "of kernel time"], rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("trace", help="a Kineto trace, .json or .json.gz")
    parser.add_argument("--top", type=int, default=6, help="rows of each table (6)")
    options = parser.parse_args()
    try:
        events = load(options.trace)
    except (OSError, EOFError, ValueError, KeyError) as error:
        sys.exit(f"summary.py: {options.trace} is no readable Kineto trace: {error}")
    gpu = [e for e in events if e.get("cat") in GPU_CATEGORIES]
    timed = gpu + [e for e in events if e.get("cat") in CPU_CATEGORIES]
    if not timed:
        sys.exit(f"summary.py: {options.trace} holds no GPU work and no CUDA call")
    begin = min(e["ts"] for e in timed)
    end = max(e["ts"] + e["dur"] for e in timed)
    print_busy(gpu, begin, end)
    print_kernels(gpu, options.top)


if __name__ == "__main__":
    main()
