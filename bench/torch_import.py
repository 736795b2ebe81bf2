"""Measures the CPU time of `import torch`, in ms, which leaves out the time of disks and of other
load. Also measures what syncline's import finder costs for any other import, in ns, or 0 without a
finder. Prints both as a JSON object."""
import json
import sys
import time

start = time.process_time()
import torch  # noqa: E402, F401 - this import is measured

imported_ms = (time.process_time() - start) * 1e3

CALLS, ROUNDS = 100, 200


def least(ask) -> float:
    """Returns the time of one call in ns: the fastest round of CALLS calls."""
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
