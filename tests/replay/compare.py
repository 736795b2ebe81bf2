#!/usr/bin/env python3
"""Compares two traces of syncline: the trace of a run, and the trace of a replay of the run's dump.

    tests/replay/compare.py TRACE REPLAYED

Compares all slices and arrows to the ns, the names of GPUs and streams, the devices' properties,
and the counters of delivered records. Does not compare the process's id and name, and the overhead
of CUPTI after the window of TRACE had closed. Does not compare sync edges, because some edges
depend on when records arrive. If the traces differ, prints the first differences and exits with
status 1."""
import collections
import json
import sys

import kineto

CPU = ("cuda_runtime", "cuda_driver")
EDGE_ARGS = {"wait_kind", "wait_ns", "wake_ns", "released_by", "wait_basis", "sync_edges"}
COUNTERS = ("records", "records_filtered", "records_no_time", "records_unknown", "records_invalid",
            "dropped_cupti", "gpu_without_call", "call_without_gpu", "not_ready", "nested_dropped",
            "duplicates")


def texts(events):
    return collections.Counter(json.dumps(event, sort_keys=True, default=str) for event in events)


def content(trace, until_ns):
    """Returns everything in a trace that is compared, each item as a text."""
    base = trace["baseTimeNanoseconds"]
    processes = {event["pid"] for event in kineto.rows(trace, *CPU)}
    events = []
    for event in trace["traceEvents"]:
        if event.get("cat") == "sync":
            continue
        row = dict(event)
        if row.get("cat") in CPU and row["ph"] == "X":
            row["args"] = {k: v for k, v in row["args"].items() if k not in EDGE_ARGS}
        if row["pid"] in processes:
            row["pid"] = "the process"
        if row["ph"] in "Xsf":
            row["ts"] = base + round(row["ts"] * 1000)
            if row["ts"] < until_ns:
                events.append(row)
        elif row["ph"] == "M" and row["pid"] != "the process" and row["name"] in (
                "process_labels", "thread_name"):
            events.append({**row, "ts": 0})
    facts = [{counter: trace["syncline"]["counters"][counter]} for counter in COUNTERS]
    devices = trace["deviceProperties"] + trace["syncline"].get("deviceProperties", [])
    return texts([*events, *facts, *devices, {"cupti_version": trace.get("cupti_version")}])


def difference(first, second):
    """Returns "" or the missing and surplus items of the second trace."""
    until_ns = first["syncline"]["closed_ns"]
    want, have = content(first, until_ns), content(second, until_ns)
    missing, surplus = list((want - have).elements()), list((have - want).elements())
    if not missing and not surplus:
        return ""
    return "\n".join([f"{len(missing)} of {want.total()} are missing, {len(surplus)} too much",
                      *(f"missing: {text}" for text in sorted(missing)[:5]),
                      *(f"surplus: {text}" for text in sorted(surplus)[:5])])


def main():
    if "--help" in sys.argv:
        sys.exit(print(__doc__))
    if len(sys.argv) != 3:
        sys.exit(__doc__.strip())
    different = difference(kineto.load(sys.argv[1]), kineto.load(sys.argv[2]))
    print(different or "the same")
    sys.exit(1 if different else 0)


if __name__ == "__main__":
    main()
