"""Measures sl_python_line() in the running Python. bench/python_lines_bench.sh runs this script in
every installed Python."""
import argparse
import ctypes
import json
import sys

CALLS = 200000
GOAL_NS = 100

options = argparse.ArgumentParser()
options.add_argument("probe")
options.add_argument("--json")
options = options.parse_args()
probe = ctypes.CDLL(options.probe)
probe.probe_cost.restype = ctypes.c_double
version = ".".join(map(str, sys.version_info[:2]))


def show(what, ns, goal=GOAL_NS):
    metric = f"{version}: {what}"
    print(f"{metric:44} {ns:14.1f}  {'ns':10} {f'<= {goal}' if goal else '':>12}  "
          f"{('yes' if ns <= goal else 'NO') if goal else ''}")
    if options.json:
        with open(options.json, "a", encoding="utf-8") as file:
            json.dump({"bench": "python_lines", "metric": metric, "value": ns, "unit": "ns",
                       "goal": goal, "met": not goal or ns <= goal, "against": None}, file)
            file.write("\n")


def cost():
    return probe.probe_cost(CALLS)


def library(depth):
    """Returns the cost of a call with `depth` PyTorch frames between the call and the user's
    code."""
    scope = {"probe": probe, "calls": CALLS}
    exec(compile("def call(n):\n    return call(n - 1) if n else probe.probe_cost(calls)",
                 "/x/site-packages/torch/nn/modules/module.py", "exec"), scope)
    return scope["call"](depth - 1)


def long_body(lines):
    scope = {"probe": probe, "calls": CALLS}
    exec(compile("x = [1, 2]\n" * lines + "ns = probe.probe_cost(calls)\n", "long.py", "exec"), scope)
    return scope["ns"]


probe.probe_begin(1)
show("in a function", cost())
show("in a script of 1,000 lines", long_body(1000), goal=0)
show("in PyTorch, 2 frames from the user's", library(2))
show("in PyTorch, 10 frames from the user's", library(10), goal=0)
