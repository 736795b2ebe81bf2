"""Calls functions of libsyncline.so, if it is loaded. This file looks for the library among the
loaded libraries and never loads it. Any thread."""
import os
import sys
import time

_SONAME = "libsyncline.so.0"
NOTHING = -11  # -EAGAIN, which the functions also return before the profiler has started

# Functions that a program calls often. If the library is not loaded, these functions do not search
# for it at each call, because a search takes 30 us. When the library is loaded later, it calls
# look(), unless SYNCLINE_PYTHON=0.
_OFTEN = frozenset(("sl_step", "sl_mark", "sl_range_push", "sl_range_pop", "sl_hook_step",
                    "sl_hook_range_begin", "sl_hook_range_end"))
_PATIENCE_NS = 100_000_000

_found = {}  # name -> function of the library; "quick" and "slow" -> the library itself
_later = []  # functions to call once the library is loaded
_next_look_ns = 0  # time after which a function of _OFTEN may search again, in ns
_is_passive = False  # True in a forked child, or if the program forbids ctypes


def _open():
    """Opens the library twice with ctypes. Calls through the first object keep the GIL, which suits
    functions that return at once. Calls through the second object release the GIL."""
    import ctypes

    mode = os.RTLD_LAZY | os.RTLD_NOLOAD
    _found["quick"] = ctypes.PyDLL(_SONAME, mode=mode)
    _found["slow"] = ctypes.CDLL(_SONAME, mode=mode)


def _look_up(name, blocks):
    found = _found["slow" if blocks else "quick"][name]
    if name in ("sl_hook_range_begin", "sl_hook_range_end"):  # the number of a range has 64 bits
        import ctypes

        found.restype, found.argtypes = {
            "sl_hook_range_begin": (ctypes.c_uint64, [ctypes.c_char_p]),
            "sl_hook_range_end": (ctypes.c_int, [ctypes.c_uint64])}[name]
    return found


def function(name, blocks=False):
    """Returns the library's function of this name. Returns None if the library or the function is
    missing, or if the program forbids ctypes."""
    global _is_passive, _next_look_ns
    found = _found.get(name)
    if found is None and not _is_passive:
        if name in _OFTEN and "slow" not in _found and time.monotonic_ns() < _next_look_ns:
            return None
        try:
            if "slow" not in _found:
                _open()
            found = _found[name] = _look_up(name, blocks)
        except (OSError, AttributeError, ImportError):
            _next_look_ns = time.monotonic_ns() + _PATIENCE_NS
            return None
        except Exception:  # noqa: BLE001 - an audit hook that refuses ctypes may raise anything
            _is_passive = True
            return None
    return found


def when_loaded(act):
    """Calls `act` now if the library is loaded, otherwise after the library was loaded. (Under
    `syncline run`, PyTorch may be imported before the library is loaded.)"""
    _later.append(act)
    look()


def look():
    global _next_look_ns
    _next_look_ns = 0
    while _later and function("sl_status") is not None:
        _later.pop(0)()


def call(name, *args, blocks=False):
    """Calls a function of the library and returns its result: 0, or a negative errno. `args` are
    bytes and ints. Raises no exception, except one that interrupts the job (KeyboardInterrupt)."""
    if _is_passive:
        return NOTHING
    try:
        found = function(name, blocks)
        return NOTHING if found is None else found(*args)
    except Exception:  # noqa: BLE001 - no error of this file may reach the job
        return NOTHING


def status():
    """Returns struct sl_status of syncline.h, or None if the library is not loaded."""
    ask = None if _is_passive else function("sl_status")
    if ask is None:
        return None
    import ctypes

    class Nccl(ctypes.Structure):
        _fields_ = [("version", ctypes.c_int32), ("level", ctypes.c_int32),
                    ("mask", ctypes.c_uint32), ("is_foreign", ctypes.c_int32)]

    class Status(ctypes.Structure):
        _fields_ = [("size", ctypes.c_size_t), ("state", ctypes.c_int32),
                    ("window", ctypes.c_uint32), ("windows_completed", ctypes.c_uint64),
                    ("records", ctypes.c_uint64), ("events_written", ctypes.c_uint64),
                    ("dropped", ctypes.c_uint64), ("memory_bytes", ctypes.c_uint64),
                    ("last_file", ctypes.c_char * 1024), ("reason", ctypes.c_char * 256),
                    ("collectives", ctypes.c_int32), ("nccl_count", ctypes.c_uint32),
                    ("nccl", Nccl * 8)]

    answer = Status(size=ctypes.sizeof(Status))
    return answer if ask(ctypes.byref(answer)) == 0 else None


def look_after_fork():
    """Runs in a forked child. If the library was active in the parent, it does nothing in the
    child, so this module stops calling it. If the library was not active in the parent, it may
    become active in the child, and calls continue."""
    global _is_passive
    found = status() if "ctypes" in sys.modules else None
    _is_passive = found is not None and found.state == 0
