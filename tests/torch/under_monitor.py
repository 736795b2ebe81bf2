"""Runs a PyTorch program with the functions of monitor_rules.py.

    under_monitor.py PROGRAM [ARGUMENT]...

RANKS_PER_NODE replaces the number that torchrun sets."""
import os
import pathlib
import runpy
import sys

RULES = pathlib.Path(__file__).with_name("monitor_rules.py")

if ranks := os.environ.get("RANKS_PER_NODE"):
    os.environ["LOCAL_WORLD_SIZE"] = ranks
sys.argv.pop(0)
# syncline takes the lines of this file for those of a library, so that a call has the program's line.
exec(compile(RULES.read_text(), "<frozen monitor_rules>", "exec"), {"__name__": "monitor_rules"})  # noqa: S102
runpy.run_path(sys.argv[0], run_name="__main__")
