"""syncline in a Python program: mark steps and ranges, open and close windows, ask how it stands.

Nothing here needs the profiler: where libsyncline.so is not in the process, every call does nothing.
So a program may keep its calls, profiled or not. Nothing is slow, and nothing raises.

    import syncline

    for batch in batches:
        with syncline.range("forward"):
            ...
        syncline.step()

A job needs none of this: steps are found by themselves where there is an optimizer or a DataLoader.
"""
import functools
import os

from . import _library

__all__ = ["dump", "mark", "range", "start", "status", "step", "stop"]

# What sl_status() calls its states, in their order.
_STATES = ("passive", "armed", "lead-in", "recording", "draining")


def step():
    """Ends a step of the job, and begins the next one. Who calls it decides what a step is: neither
    optimizers nor DataLoaders count from then on."""
    _library.call("sl_step")


class range:  # noqa: A001 - as torch.cuda.nvtx calls it
    """A named range of the calling thread, as a context manager or as a decorator.

        with syncline.range("forward"):
            ...

        @syncline.range("load")
        def load(path): ...
    """

    def __init__(self, name):
        self._name = str(name).encode("utf-8", "replace")

    def __enter__(self):
        _library.call("sl_range_push", self._name)
        return self

    def __exit__(self, *exception):
        _library.call("sl_range_pop")
        return False

    def __call__(self, function):
        @functools.wraps(function)
        def inside(*args, **kwargs):
            with self:
                return function(*args, **kwargs)

        return inside


def mark(name):
    """A moment of the calling thread, with a name."""
    _library.call("sl_mark", str(name).encode("utf-8", "replace"))


def start():
    """Opens a window (SYNCLINE_WINDOW=demand, or a pause between others). True if one will open."""
    return _library.call("sl_start") == 0


def stop():
    """Closes the window; its file is complete some time later (status()). True if there was one."""
    return _library.call("sl_stop") == 0


def dump():
    """The window ends here and the next one begins, so that what was recorded up to now is in a
    complete file soon. True if there was one."""
    return _library.call("sl_dump") == 0


def status():
    """How the profiler stands, as a dictionary; None where it is not in the process.

    "state" is one of "passive" (with a "reason"), "armed", "lead-in", "recording", "draining"."""
    found = _library.status()
    if found is None:
        return None
    state = found.state
    return {"state": _STATES[state] if 0 <= state < len(_STATES) else str(state),
            "window": found.window,
            "windows_completed": found.windows_completed,
            "records": found.records,
            "events_written": found.events_written,
            "dropped": found.dropped,
            "memory_bytes": found.memory_bytes,
            "last_file": os.fsdecode(found.last_file),
            "reason": found.reason.decode("utf-8", "replace")}
