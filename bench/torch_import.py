"""Measures the CPU time of `import torch` (disk and other load do not count for syncline), and the
cost of syncline's import finder for any other import. Prints a JSON object: milliseconds,
nanoseconds (0: no finder)."""
import json
import sys
import time

start = time.process_time()
import torch  # noqa: E402, F401 - the measured import

imported_ms = (time.process_time() - start) * 1e3

CALLS, ROUNDS = 100, 200


def least(ask) -> float:
    """Returns the nanoseconds of one of the CALLS."""
    best = 1e9
    for _ in range(ROUNDS):
        begin = time.perf_counter_ns()
        for _ in range(CALLS):
            ask("no_such_module")
        best = min(best, (time.perf_counter_ns() - begin) / CALLS)
    return best


ours = [finder for finder in sys.meta_path if "syncline" in finder.__class__.__module__]
print(json.dumps({"torch": round(imported_ms, 1),
                  "finder": round(least(ours[0].find_spec), 1) if ours else 0}))
