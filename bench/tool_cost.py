"""What benchmarks of `syncline` commands share: the cost of a command, and the table."""
import json
import os
import subprocess
import sys
import time

ROUNDS = 3


class Cost:
    """CPU time, wall time in s and peak memory in MB of one run."""

    def __init__(self, command, output=subprocess.DEVNULL):
        began = time.monotonic()
        child = subprocess.Popen([str(word) for word in command], stdout=output, stderr=subprocess.DEVNULL)
        _, status, usage = os.wait4(child.pid, 0)
        self.wall = time.monotonic() - began
        child.returncode = os.waitstatus_to_exitcode(status)
        if child.returncode not in (0, 1):
            sys.exit(f"{' '.join(child.args[:2])} failed with status {child.returncode}")
        self.cpu = usage.ru_utime + usage.ru_stime
        self.peak = usage.ru_maxrss * 1024 / 1e6


def least(command, rounds=ROUNDS):
    costs = [Cost(command) for _ in range(rounds)]
    best = min(costs, key=lambda cost: cost.cpu)
    best.wall = min(cost.wall for cost in costs)
    return best


class Table:
    """Prints the rows of a benchmark, and appends them to a file of JSON lines."""

    def __init__(self, bench, path):
        self.bench, self.path = bench, path

    def row(self, metric, value, unit, goal=None, at_least=False, against=None):
        met = None if goal is None else value >= goal if at_least else value <= goal
        mark = "" if goal is None else f"{'>=' if at_least else '<='} {goal:g}"
        print(f"  {metric:46} {value:10.2f}  {unit:8} {mark:>8}  {'' if met is None else 'yes' if met else 'NO':4}"
              f"  {against or ''}", flush=True)
        if self.path:
            with open(self.path, "a", encoding="utf-8") as f:
                f.write(json.dumps({"bench": self.bench, "metric": metric, "value": round(value, 4), "unit": unit,
                                    "goal": goal, "met": met, "against": against}) + "\n")
