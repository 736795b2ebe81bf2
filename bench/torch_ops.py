"""What the observer costs an operator: many small ones on the CPU, of which most is overhead anyway.

    torch_ops.py [TURNS]

With syncline in the process and no window open, in a window (the observer as SYNCLINE_OPS has it),
and under torch.profiler without and with shapes, in turns, so that what disturbs the machine
disturbs all. Prints an object of JSON, nanoseconds an operator: the least of many rounds."""
import ctypes
import json
import os
import sys
import time

import torch
from torch.profiler import ProfilerActivity, profile

OPS, ROUNDS, TURNS = 40, 200, 5
# Until the collector has opened the window, and enabled the observer.
OPENS_S = 1


def cost(rounds: int) -> float:
    a, b, best = torch.ones(4, 4), torch.ones(4, 4), 1e9
    for _ in range(rounds):
        start = time.perf_counter_ns()
        for _ in range(OPS):
            a.add_(b)  # one operator, with none inside it
        best = min(best, (time.perf_counter_ns() - start) / OPS)
        time.sleep(0.0005)  # what was recorded is read meanwhile, as on another processor
    return best


def under_profiler(shapes: bool) -> float:
    with profile(activities=[ProfilerActivity.CPU], record_shapes=shapes, acc_events=True):
        return cost(ROUNDS)


def in_window(library: ctypes.CDLL) -> float:
    library.sl_start()
    time.sleep(OPENS_S)
    least = cost(ROUNDS)
    library.sl_stop()
    time.sleep(0.3)
    return least


def main():
    turns = int(sys.argv[1]) if len(sys.argv) > 1 else TURNS
    torch.set_num_threads(1)
    torch.ones(1, device="cuda").item()  # the GPU is used: there is a file
    library = ctypes.CDLL(os.environ["CUDA_INJECTION64_PATH"])
    library.sl_stop()
    time.sleep(0.3)
    modes = {"bare": lambda: cost(ROUNDS), "syncline": lambda: in_window(library),
             "profiler": lambda: under_profiler(False), "shapes": lambda: under_profiler(True)}
    rounds = [{mode: measure() for mode, measure in modes.items()} for _ in range(turns)]
    print(json.dumps({mode: round(min(r[mode] for r in rounds), 1) for mode in modes}))


main()
