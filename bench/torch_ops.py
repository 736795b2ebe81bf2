"""What the observer costs an operator: many small ones on the CPU, of which most is overhead anyway.
And what `with syncline.range(...)` and syncline.step() cost in a window.

    torch_ops.py [TURNS]

With syncline in the process and no window open, in a window (the observer as SYNCLINE_OPS has it),
and under torch.profiler without and with shapes, in turns, so that what disturbs the machine
disturbs all. Prints an object of JSON, nanoseconds an operator: the least of many rounds."""
import contextlib
import ctypes
import json
import os
import pathlib
import sys
import time

import torch
from torch.profiler import ProfilerActivity, profile

OPS, ROUNDS, TURNS = 40, 200, 5
# Until the collector has opened the window, and enabled the observer.
OPENS_S = 1


def least(rounds: int, run) -> float:
    """Nanoseconds of one of the OPS that run() makes."""
    best = 1e9
    for _ in range(rounds):
        start = time.perf_counter_ns()
        run()
        best = min(best, (time.perf_counter_ns() - start) / OPS)
        time.sleep(0.0005)  # what was recorded is read meanwhile, as on another processor
    return best


def cost(rounds: int) -> float:
    a, b = torch.ones(4, 4), torch.ones(4, 4)

    def run():
        for _ in range(OPS):
            a.add_(b)  # one operator, with none inside it

    return least(rounds, run)


def cost_of_ranges(of) -> float:
    def run():
        for _ in range(OPS):
            with of("forward"):
                pass

    return least(ROUNDS // 4, run)


def cost_of_steps(step) -> float:
    def run():
        for _ in range(OPS):
            step()

    return least(ROUNDS // 4, run)


def under_profiler(shapes: bool) -> float:
    with profile(activities=[ProfilerActivity.CPU], record_shapes=shapes, acc_events=True):
        return cost(ROUNDS)


@contextlib.contextmanager
def window(library: ctypes.CDLL):
    library.sl_start()
    time.sleep(OPENS_S)
    yield
    library.sl_stop()
    time.sleep(0.3)


def in_window(library: ctypes.CDLL) -> float:
    with window(library):
        return cost(ROUNDS)


def others(library: ctypes.CDLL, syncline) -> dict[str, float]:
    """What is told by calls of the user's, above an empty `with` and an empty function."""
    with window(library):
        ranges = cost_of_ranges(contextlib.nullcontext)
        steps = cost_of_steps(lambda: None)
        return {"range": cost_of_ranges(syncline.range) - ranges,
                "record_function": cost_of_ranges(torch.profiler.record_function) - ranges,
                "step": cost_of_steps(syncline.step) - steps}


def main():
    turns = int(sys.argv[1]) if len(sys.argv) > 1 else TURNS
    torch.set_num_threads(1)
    torch.ones(1, device="cuda").item()  # the GPU is used: there is a file
    library = ctypes.CDLL(os.environ["CUDA_INJECTION64_PATH"])
    library.sl_stop()
    time.sleep(0.3)
    modes = {"bare": lambda: cost(ROUNDS), "syncline": lambda: in_window(library),
             "profiler": lambda: under_profiler(False), "shapes": lambda: under_profiler(True)}
    sys.path.insert(0, str(pathlib.Path(library._name).parent / "syncline" / "python"))
    import syncline
    rounds = [{mode: measure() for mode, measure in modes.items()} | others(library, syncline)
              for _ in range(turns)]
    print(json.dumps({mode: round(min(r[mode] for r in rounds), 1) for mode in rounds[0]}))


main()
