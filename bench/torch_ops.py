"""What the observer costs an operator: many small ones on the CPU, of which most is overhead anyway.

    torch_ops.py bare | syncline | profiler | profiler-shapes

Prints nanoseconds an operator: the least of many rounds. `syncline` is as SYNCLINE_OPS has it."""
import sys
import time

import torch
from torch.profiler import ProfilerActivity, profile

OPS, ROUNDS = 200, 60


def cost() -> float:
    a, b, best = torch.ones(4, 4), torch.ones(4, 4), 1e9
    for _ in range(ROUNDS):
        start = time.perf_counter_ns()
        for _ in range(OPS):
            a.add_(b)  # one operator, with none inside it
        best = min(best, (time.perf_counter_ns() - start) / OPS)
        time.sleep(0.002)  # what was recorded is read meanwhile, as on another processor
    return best


def main():
    torch.set_num_threads(1)
    mode = sys.argv[1]
    if mode == "syncline":
        torch.ones(1, device="cuda").item()  # the GPU is used: there is a file
    if mode.startswith("profiler"):
        with profile(activities=[ProfilerActivity.CPU], record_shapes=mode == "profiler-shapes"):
            print(cost())
    else:
        print(cost())


main()
