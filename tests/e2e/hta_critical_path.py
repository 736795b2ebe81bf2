"""Runs HolisticTraceAnalysis' critical path on each [trace, annotation, instance] of the list on standard input. Prints
the length of each path in ns, and what it is spent on, as JSON. test_critical_path.py runs this program in the
environment of `tests/venv.sh hta`."""
import collections
import contextlib
import json
import sys
import warnings

warnings.simplefilter("ignore")

from hta.trace_analysis import TraceAnalysis  # noqa: E402


def measure(path: str, annotation: str, instance: int) -> dict:
    analysis = TraceAnalysis(trace_files={0: path}, trace_dir="/")
    graph, done = analysis.critical_path_analysis(rank=0, annotation=annotation, instance_id=instance)
    assert done
    parts = collections.Counter()
    for row in graph.get_critical_path_breakdown().itertuples():
        if row.duration > 0:  # HTA counts a negative time as none
            parts[row.bound_by] += round(1000 * row.duration)
    return {"total_ns": sum(parts.values()), "parts": parts}


def main() -> None:
    with contextlib.redirect_stdout(sys.stderr):
        found = [measure(*job) for job in json.load(sys.stdin)]
    json.dump(found, sys.stdout)


if __name__ == "__main__":
    main()
