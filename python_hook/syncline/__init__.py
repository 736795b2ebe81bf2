"""The API of syncline for Python programs: functions that mark steps and ranges, open and close
windows, and return the profiler's state.

If libsyncline.so is not in the process, every call does nothing. So a program may keep its calls
even when it is not profiled. No call is slow or raises an exception.

    import syncline

    for batch in batches:
        with syncline.range("forward"):
            ...
        syncline.step()

No job needs these calls: syncline finds steps by itself if there is an optimizer or a DataLoader.
"""
import errno
import functools
import os
import sys
import types
from _thread import get_ident as _get_ident

# _boot.py may have loaded the modules of this package under the name _syncline. The package then
# uses these modules under both names, so that each module exists only once.
for _name in [name for name in sys.modules if name.startswith("_syncline.")]:
    sys.modules.setdefault(__name__ + _name[len("_syncline"):], sys.modules[_name])

from . import _library, _say  # noqa: E402

__all__ = ["collectives", "dump", "mark", "range", "start", "status", "step", "stop"]

# names of the states of sl_status(), in their order
_STATES = ("passive", "armed", "lead-in", "recording", "draining")

# names of enum sl_collectives_level, in their order
_LEVELS = ("off", "calls", "channels", "network")

# co_flags of a generator, a coroutine, an asynchronous generator
_GENERATOR, _COROUTINE, _ASYNC_GENERATOR = 0x20, 0x80, 0x200
_AWAITED_GENERATOR = 0x100  # set by types.coroutine


def _text(name):
    try:
        return str(name).encode("utf-8", "replace")
    except Exception:  # str() failed, so the type's name is used
        return type(name).__name__.encode("utf-8", "replace")


def _is_compiling():
    """Returns whether torch.compile is tracing this call. Nothing is recorded during tracing,
    because our calls must not become part of the compiled graph."""
    ask = getattr(getattr(sys.modules.get("torch"), "compiler", None), "is_compiling", None)
    return ask is not None and ask()


def _call(name, *args):
    return _library.NOTHING if _is_compiling() else _library.call(name, *args)


def _resume(within, body):
    """Runs a generator or coroutine. The range `within` is open while the generator or coroutine
    runs, and closed while it is suspended."""
    step, value = body.send, None
    while True:
        with within:
            try:
                told = step(value)
            except StopIteration as end:
                return end.value
            finally:
                value = None  # avoids a reference cycle through an error's traceback
        try:
            step, value = body.send, (yield told)
        except GeneratorExit:
            with within:
                body.close()
            raise
        except BaseException as error:
            step, value = body.throw, error


class _Awaitable:
    def __init__(self, within, body):
        self._parts = _resume(within, body)

    def __await__(self):
        return self._parts


def step():
    """Ends a step of the job and begins the next one. From the first call on, only these calls
    define steps; optimizers and DataLoaders no longer count."""
    _call("sl_step")


class range:  # noqa: A001 - named like torch.cuda.nvtx.range
    """A named range of the calling thread, as a context manager or as a decorator.

        with syncline.range("forward"):
            ...

        @syncline.range("load")
        def load(path): ...

    If several coroutines alternate on a thread, each coroutine ends its own range. If a decorated
    generator or coroutine is suspended, its range ends, and a new range begins when it continues. A
    decorated asynchronous generator gets no range.
    """

    # There is no __init__, because PyTorch 2.4 breaks a graph at a context manager that has an
    # __init__.
    def __new__(cls, name):
        self = super().__new__(cls)
        self._name = _text(name)
        self._open = []  # (thread, number) of each open range; one object may open several
        return self

    def __getnewargs__(self):  # used by copy and pickle
        return (self._name.decode(),)

    def __enter__(self):
        if not _is_compiling():
            number = _library.call("sl_hook_range_begin", self._name)
            if number > 0:
                self._open.append((_get_ident(), number))
        return self

    def __exit__(self, *exception):
        if not _is_compiling() and self._open:
            _library.call("sl_hook_range_end", self._take())
        return False

    def _take(self):
        """Removes and returns the number of the last range that this thread began. If this thread
        began no range, because a generator of another thread continues on this thread, removes the
        other thread's range."""
        begun = self._open
        try:
            if len(begun) == 1:
                return begun.pop()[1]
            thread = _get_ident()
            mine = [one for one in begun if one[0] == thread] or begun
            last = mine[-1]
            begun.remove(last)
        except (LookupError, ValueError):  # another thread has removed the entry in the meantime
            return 0
        return last[1]

    def __call__(self, function):
        kind = getattr(getattr(function, "__code__", None), "co_flags", 0)
        if kind & _ASYNC_GENERATOR:
            return function
        if kind & _COROUTINE:
            async def inside(*args, **kwargs):
                return await _Awaitable(self, function(*args, **kwargs))
        elif kind & _GENERATOR:
            def inside(*args, **kwargs):
                return (yield from _resume(self, function(*args, **kwargs)))

            if kind & _AWAITED_GENERATOR:
                inside = types.coroutine(inside)
        else:
            def inside(*args, **kwargs):
                if _is_compiling():
                    return function(*args, **kwargs)
                with self:
                    return function(*args, **kwargs)

        return functools.wraps(function)(inside)


def mark(name):
    """Puts a mark with this name at the current time on the track of the calling thread."""
    _call("sl_mark", _text(name))


def start():
    """Opens a window (with SYNCLINE_WINDOW=demand, or between other windows). The window opens when
    the lead-in (SYNCLINE_LEAD_IN) is over and the previous window has closed. Returns True if a
    window will open."""
    return _call("sl_start") in (0, -errno.EBUSY)


def stop():
    """Closes the window. Its file is complete some time later (see status()). During the lead-in,
    the file has what was recorded so far. Returns True if a window was open or requested."""
    return _call("sl_stop") == 0


def dump():
    """Ends the window now, so that its file is complete soon. Begins the next window when the file
    is complete. Nothing is recorded between the two windows, for some 20 ms, or longer while a long
    kernel runs. A stop() in that time cancels the next window. Returns True if a window was
    open."""
    return _call("sl_dump") == 0


def _level(number):
    return _LEVELS[number] if 0 <= number < len(_LEVELS) else str(number)


_refused = set()


def _refuse(level):
    """Reports a level that does not exist, each level only once. The job goes on."""
    got = repr(level[:40]) if isinstance(level, str) else f"a value of type {type(level).__name__}"
    if got not in _refused:
        _refused.add(got)
        _say.say("warn", f"syncline.collectives() got {got}, which changes nothing: the level is "
                         f"{', '.join(_LEVELS[:-1])} or {_LEVELS[-1]}")


class collectives:
    """Sets what windows record about NCCL's collectives, in place of SYNCLINE_NCCL: "off",
    "calls", "channels" or "network". A window that is open changes at once. No window is opened.
    The result is true if the level was set. Another level changes nothing, and one line says so. As
    a context manager it sets the former level at the end:

        with syncline.collectives("off"):
            ...

    If the level was "off" when NCCL created its first communicator, NCCL has not loaded syncline's
    plugin, and later levels record nothing; status()["nccl"] is then empty.
    """

    def __new__(cls, level):
        self = super().__new__(cls)
        found = None if _is_compiling() else _library.status()
        self._before = None if found is None else found.collectives
        is_level = isinstance(level, str) and level in _LEVELS
        if found is not None and not is_level:
            _refuse(level)
        self._is_set = is_level and self._set(_LEVELS.index(level))
        return self

    @staticmethod
    def _set(number):
        return _call("sl_collectives", number) == 0

    def __bool__(self):
        return self._is_set

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        if self._is_set and self._before is not None:
            self._set(self._before)
        return False


def _version(number):
    return f"{number // 10000}.{number // 100 % 100}.{number % 100}"


def status():
    """Returns the profiler's state as a dictionary, or None if the profiler is not loaded.

    "state" is one of "passive" (with a "reason"), "armed", "lead-in", "recording", "draining".
    "collectives" is the level asked for. "nccl" has, for each copy of NCCL that has loaded
    syncline's plugin, its "version", the "level" of its windows, NCCL's event "mask" now (0 outside
    windows), and whether it "is_foreign", which means that the mask was not set by syncline but,
    for example, by NCCL's RAS client."""
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
            "reason": found.reason.decode("utf-8", "replace"),
            "collectives": _level(found.collectives),
            "nccl": [{"version": _version(one.version), "level": _level(one.level),
                      "mask": one.mask, "is_foreign": bool(one.is_foreign)}
                     for one in found.nccl[:found.nccl_count]]}
