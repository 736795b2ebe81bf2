#!/usr/bin/env python3
"""Runs end-to-end checks and measurements on a real GPU, or as a rehearsal on the simulated one.

    checks.py --build DIR --out DIR [--simulated] [--budget SECONDS] [--only GROUP]

This program needs only Python's standard library. tests/gpu/run.sh builds syncline and calls this program.
Exit status 1 if a check failed."""

import argparse
import pathlib
import sys

import check_dump
import check_library
import check_nccl
import check_random
import check_samples
import check_torch
import measure
from machine import Machine, NoGpu
from suite import Suite

# The most important groups are first, because the groups that are left when the time budget is used
# up are skipped.
GROUPS = {"samples": check_samples, "library": check_library, "dumps": check_dump,
          "torch": check_torch, "nccl": check_nccl, "measure": measure, "random": check_random}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", required=True, help="the build folder")
    parser.add_argument("--out", required=True, help="a new or empty folder for traces and results")
    parser.add_argument("--simulated", action="store_true", help="on the simulated GPU")
    parser.add_argument("--budget", type=int, default=420, help="seconds for all (420)")
    parser.add_argument("--only", choices=GROUPS, action="append", help="these groups alone")
    options = parser.parse_args()

    out = pathlib.Path(options.out)
    machine = Machine(options.build, out, options.simulated)
    suite = Suite(options.budget)
    try:
        facts = machine.describe()
    except NoGpu as reason:
        sys.exit(f"checks.py: no GPU here ({reason}); --simulated rehearses without one")
    print("\n".join(f"{name}: {value}" for name, value in facts.items()))
    try:
        for name in options.only or GROUPS:
            try:
                GROUPS[name].check_all(suite, machine)
            except Exception as problem:  # pylint: disable=broad-except
                suite.check(f"{name}: ran to its end", _raise, problem)
    finally:
        suite.write(out, facts)
    print(f"\n{suite.count('pass')} passed, {suite.count('fail')} failed, "
          f"{suite.count('skip')} skipped, {suite.count('fact')} facts")
    print(f"Results: {out / 'results.md'}, {out / 'results.json'}")
    sys.exit(1 if suite.count("fail") else 0)


def _raise(problem):
    raise problem


if __name__ == "__main__":
    main()
