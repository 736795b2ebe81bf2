"""Measures the cost of the observer per operator, with many small CPU operators that are mostly
overhead. Also measures `with syncline.range(...)` and syncline.step() in a window.

    torch_ops.py [TURNS]

The modes are measured in turn, so that a disturbance of the machine affects all modes. The modes
are: syncline without an open window, syncline in a window (observer as in SYNCLINE_OPS), and
torch.profiler without and with shapes. If the process does not load the library, the only mode is
"bare". Prints a JSON object with the ns per call, the minimum of many rounds. For a larger call the
key is the mode and the call ("shapes linear")."""
import contextlib
import ctypes
import json
import os
import pathlib
import sys
import time
from collections.abc import Callable

import torch
from torch.profiler import ProfilerActivity, profile

OPS, ROUNDS, TURNS = 40, 200, 5
# Wait until the collector has opened the window and enabled the observer.
OPENS_S = 1


def least(rounds: int, run) -> float:
    """Returns the time of one call in ns, where run() makes OPS calls: the fastest round."""
    best = 1e9
    for _ in range(rounds):
        start = time.perf_counter_ns()
        run()
        best = min(best, (time.perf_counter_ns() - start) / OPS)
        time.sleep(0.0005)  # the collector reads the records now, not while time is measured
    return best


def calls() -> dict[str, Callable]:
    """Returns the measured functions by their name, which the keys of the results have after the
    mode."""
    a, b, bias = torch.ones(4, 4), torch.ones(4, 4), torch.ones(4)
    return {"": lambda: a.add_(b),  # one operator, with no operator inside it
            " linear": lambda: torch.nn.functional.linear(a, b, bias),  # three operators, one of them a view
            " cat": lambda: torch.cat((a, b, a))}  # one operator, with a list of tensors


def cost(mode: str) -> dict[str, float]:
    def run():
        for _ in range(OPS):
            call()

    found = {}
    for name, call in calls().items():
        found[mode + name] = least(ROUNDS // 2 if name else ROUNDS, run)
    return found


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


def under_profiler(mode: str) -> dict[str, float]:
    with profile(activities=[ProfilerActivity.CPU], record_shapes=mode == "shapes", acc_events=True):
        return cost(mode)


@contextlib.contextmanager
def window(library: ctypes.CDLL):
    library.sl_start()
    time.sleep(OPENS_S)
    yield
    library.sl_stop()
    time.sleep(0.3)


def in_window(library: ctypes.CDLL) -> dict[str, float]:
    with window(library):
        return cost("syncline")


def others(library: ctypes.CDLL, syncline) -> dict[str, float]:
    """Returns the cost of user annotations, less the cost of an empty `with` and an empty
    function."""
    with window(library):
        ranges = cost_of_ranges(contextlib.nullcontext)
        steps = cost_of_steps(lambda: None)
        return {"range": cost_of_ranges(syncline.range) - ranges,
                "record_function": cost_of_ranges(torch.profiler.record_function) - ranges,
                "step": cost_of_steps(syncline.step) - steps}


def recorded(path: str, turns: int) -> list[dict[str, float]]:
    """Loads the library at this path, measures all modes `turns` times, and returns the results of
    each time."""
    library = ctypes.CDLL(path)
    library.sl_stop()
    time.sleep(0.3)
    sys.path.insert(0, str(pathlib.Path(library._name).parent / "syncline" / "python"))
    import syncline
    return [cost("bare") | in_window(library) | under_profiler("profiler") | under_profiler("shapes")
            | others(library, syncline) for _ in range(turns)]


def main():
    turns = int(sys.argv[1]) if len(sys.argv) > 1 else TURNS
    torch.set_num_threads(1)
    torch.ones(1, device="cuda").item()  # the GPU is now used, so a file is written
    path = os.environ.get("CUDA_INJECTION64_PATH")
    rounds = recorded(path, turns) if path else [cost("bare") for _ in range(turns)]
    print(json.dumps({mode: round(min(r[mode] for r in rounds), 1) for mode in rounds[0]}))


main()
