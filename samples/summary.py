#!/usr/bin/env python3
"""Short tables about a Kineto trace: steps, the share of time in which the GPU was busy, waits by
line, operators, kernels.

    samples/summary.py TRACE.json.gz        (or .json; `syncline convert --to kineto-gz` makes one)

Needs only Python's standard library. The script loads the whole file into memory, so it suits a
demo, not a recording of hours.
"""

import argparse
import bisect
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
    """Returns the total time, in us, that the (begin, end) intervals cover. Time in which intervals
    overlap counts once."""
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
    """For each device, prints the share of time in which the device was busy, from the first event
    to the last event."""
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


def step_of(starts, steps, ts):
    """Returns the step at a start time, or None outside of all steps."""
    at = bisect.bisect_right(starts, ts) - 1
    if at < 0 or ts >= steps[at]["ts"] + steps[at]["dur"]:
        return None
    return at


def print_steps(steps, gpu, calls, limit):
    """For each step, prints the time in which the GPU was busy, and the time in which the CPU
    waited for a GPU."""
    starts = [e["ts"] for e in steps]
    work, waited, launched = ([[] for _ in steps] for _ in range(3))
    for event in gpu:
        # An operation may continue in the next step. Each step counts only the part of the
        # operation that is inside the step.
        begin, end = event["ts"], event["ts"] + event["dur"]
        for at in range(max(0, bisect.bisect_right(starts, begin) - 1), len(steps)):
            if starts[at] >= end:
                break
            work[at].append((max(begin, starts[at]), min(end, starts[at] + steps[at]["dur"])))
    for call in calls:
        at = step_of(starts, steps, call["ts"])
        if at is not None:
            waited[at].append(call["args"].get("wait_ns", 0) / 1e3)
            launched[at].append(call["name"])
    rows = []
    for at, step in enumerate(steps):
        busy = union_us([(b, e) for b, e in work[at] if e > b])
        rows.append([step["name"], ms(step["dur"]), f"{100 * busy / step['dur']:.1f} %",
                     ms(sum(waited[at])), str(sum(w > 0 for w in waited[at])),
                     str(sum("Launch" in name for name in launched[at]))])
    left = len(rows) - limit
    rows = rows[:limit] + ([[f"and {left} more"] + [""] * 5] if left > 0 else [])
    print_table("Steps", ["", "time", "GPU busy", "CPU waited for it", "waits", "launches"], rows)


def print_lines(calls, steps, limit):
    """Prints the lines of the job's code that make the CPU wait for the GPU. The column `per step`
    counts only waits inside a step."""
    starts = [e["ts"] for e in steps]
    total, count, inside = (collections.Counter() for _ in range(3))
    for call in calls:
        wait = call["args"].get("wait_ns", 0) / 1e3
        if wait > 0:
            place = call["args"].get("wait_at") or call["args"].get("wait_in") or "not known"
            total[place] += wait
            count[place] += 1
            inside[place] += wait if step_of(starts, steps, call["ts"]) is not None else 0
    rows = [[shorten(place, 72), str(count[place]), ms(us),
             ms(inside[place] / len(steps)) if steps else "-"]
            for place, us in total.most_common(limit)]
    print_table("CPU waits for the GPU, by source line", ["", "waits", "total", "per step"], rows)


def print_operators(operators, limit):
    """Prints operators by self time, which excludes the time of the operators that an operator
    calls."""
    own, count = collections.Counter(), collections.Counter()
    threads = collections.defaultdict(list)
    for event in operators:
        threads[event["tid"]].append(event)
    for events in threads.values():
        stack = []
        for event in sorted(events, key=lambda e: (e["ts"], -e["dur"])):
            while stack and stack[-1]["ts"] + stack[-1]["dur"] <= event["ts"]:
                stack.pop()
            if stack:
                own[stack[-1]["name"]] -= event["dur"]
            own[event["name"]] += event["dur"]
            count[event["name"]] += 1
            stack.append(event)
    rows = [[shorten(name), str(count[name]), ms(us), ms(us / count[name])]
            for name, us in own.most_common(limit)]
    print_table("Top operators, CPU time of their own", ["", "count", "total", "mean"], rows)


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
    calls = [e for e in events if e.get("cat") in CPU_CATEGORIES]
    operators = [e for e in events if e.get("cat") == "cpu_op"]
    steps = sorted((e for e in events if e.get("cat") == "user_annotation" and e["dur"] > 0 and
                    e["name"].startswith("ProfilerStep#")), key=lambda e: e["ts"])
    print_busy(gpu, begin, end)
    if steps:
        print_steps(steps, gpu, calls, options.top)
    if any("wait_at" in e["args"] for e in calls):
        print_lines(calls, steps, options.top)
    if operators:
        print_operators(operators, options.top)
    print_kernels(gpu, options.top)


if __name__ == "__main__":
    main()
