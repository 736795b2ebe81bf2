#!/usr/bin/env python3
"""Measures the CPU time of `syncline pipeline` against `syncline check`, on a made job of four stages with 20 kernels
and operators in each phase (ZB-H1, 64 micro-batches). The goal is 1.6 times.
30 iterations have 1.6 million events."""
import argparse
import pathlib
import resource
import subprocess
import sys
import tempfile

REPO = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(REPO / "tests" / "e2e"))
import schedules

GOAL = 1.6
LENGTHS = {"F": 1_000_000, "B": 1_000_000, "W": 1_000_000, "O": 400_000}


def rows_of(pipeline, stage):
    """Returns the rows of a stage. Each first kernel of a phase is replaced by many with operators."""
    rows, many, n = schedules.rows_of(pipeline, stage), [], 10**6
    calls = {row["args"]["correlation"]: row for row in rows if row["cat"] == "cuda_runtime"}
    for row in rows:
        if not row["name"].startswith("gemm"):
            continue
        call = calls[row["args"]["correlation"]]
        for k in range(20):
            n += 1
            many.append({**call, "ts": call["ts"] + .05 * k, "dur": .04, "args": {"correlation": n, "cbid": 211}})
            many.append({**row, "ts": row["ts"] + 10 * k, "dur": 8, "args": {**row["args"], "correlation": n}})
            many.append({**call, "cat": "cpu_op", "name": "aten::addmm", "ts": call["ts"] + .05 * k - .001, "dur": .045,
                         "args": {"External id": n, "Sequence number": n}})
    return rows + many


def cpu_s(*command) -> float:
    """Returns the least CPU time of five runs."""
    times = []
    for _ in range(5):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        times.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return min(times)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tool", default=str(REPO / "build" / "release" / "tools" / "syncline"))
    parser.add_argument("--iterations", type=int, default=30)
    options = parser.parse_args()
    tool = options.tool
    pipeline = schedules.Pipeline(schedules.zb_h1(4, 64), LENGTHS, iterations=options.iterations)
    with tempfile.TemporaryDirectory() as folder:
        events = 0
        for rank in range(4):
            rows = rows_of(pipeline, rank)
            events += len(rows)
            schedules.write(pathlib.Path(folder) / f"{rank}.pt.trace.json", rows, rank=rank, world=4, host="abcd"[rank],
                            offset=rank * 10**9)
        check, both = cpu_s(tool, "check", folder), {
            "pipeline": cpu_s(tool, "pipeline", folder),
            "pipeline --json --svg --html": cpu_s(tool, "pipeline", "--json", "--svg", f"{folder}/out.svg", "--html",
                                                  f"{folder}/out.html", folder)}
    print(f"{events} events: check {check:.2f} s of CPU time")
    worst = max(both.values()) / check
    for name, seconds in both.items():
        print(f"{name:30} {seconds:.2f} s, {seconds / check:.2f} times check")
    print(f"goal: at most {GOAL} times: {'reached' if worst <= GOAL else 'MISSED'}")
    sys.exit(worst > GOAL)


if __name__ == "__main__":
    main()
