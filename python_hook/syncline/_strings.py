"""Records PyTorch operators if there is no observer for this PyTorch version. This module turns on
PyTorch's own profiler in a mode in which the profiler pushes an NVTX range for each operator. The
library parses the range's text (collect/torch/nvtx_fallback.h).

PyTorch turns its profiler on for each thread separately. Autograd's threads inherit the profiler
from the thread that calls backward(). On threads that the program starts, this module turns the
profiler on. A thread can have only one profiler. So this module turns its profiler off before a
profiler of the program begins, and on again after the program's profiler has ended.
"""
import atexit
import functools
import os
import sys
import threading

from . import _library, _say

_FULL = 2  # value of sl_hook_ops() that asks for operators with shapes


class _Mine(threading.local):
    is_on = False
    handed_over = False  # True: a profiler of the program has replaced ours


_mine = _Mine()
_profiler = None  # the module torch.autograd.profiler
_mode = 0
_begin = _end = None  # PyTorch's functions that begin and end a profiler


def _is_any_on():
    return sys.modules["torch.autograd"]._profiler_enabled()


def _come():
    """Turns our profiler on for this thread, unless another profiler is on. Does not use
    emit_nvtx(), which would wait for the GPU."""
    if not _mode:
        return
    if _is_any_on():
        _mine.handed_over = not _mine.is_on
        return
    config = _profiler.ProfilerConfig(_profiler.ProfilerState.NVTX, _mode == _FULL, False, False, False,
                                      False, _profiler._ExperimentalConfig())
    _begin(config, set())
    _mine.is_on, _mine.handed_over = True, False


def _come_quietly():
    """Like _come(), but raises no exception, because code of the program calls it."""
    try:
        _come()
    except Exception as error:  # noqa: BLE001 - no error of this file may reach the job
        _say.miss("operators", error)


def _go(handed_over):
    if _mine.is_on:
        _mine.is_on, _mine.handed_over = False, handed_over
        _end()


def _go_quietly(handed_over=False):
    """Turns our profiler off, because a profiler of the program begins, or because a thread or the
    program ends. If our profiler stayed on, PyTorch would warn or crash."""
    try:
        _go(handed_over)
    except Exception as error:  # noqa: BLE001
        _say.miss("operators", error)


def _beginning(original):
    @functools.wraps(original)
    def begin(*args, **kwargs):
        _go_quietly(handed_over=True)
        try:
            return original(*args, **kwargs)
        except BaseException:
            if _mine.handed_over:
                _come_quietly()
            raise

    return begin


def _ending(original):
    @functools.wraps(original)
    def end(*args, **kwargs):
        try:
            return original(*args, **kwargs)
        finally:
            if _mine.handed_over:
                _come_quietly()

    return end


def _stand_aside():
    """Wraps PyTorch's functions that begin and end a profiler, in each module that has them."""
    for name in ("torch._C._autograd", "torch.autograd", "torch.autograd.profiler",
                 "torch.autograd.profiler_legacy"):
        module = sys.modules.get(name) or getattr(sys.modules.get("torch._C"), name.split(".")[-1], None)
        for suffix in ("", "_legacy"):
            for prefix, around in (("_enable_profiler", _beginning), ("_disable_profiler", _ending)):
                original = vars(module).get(prefix + suffix) if module else None
                if original is not None:
                    setattr(module, prefix + suffix, around(original))


def _follow_threads():
    """Turns our profiler on in threads that the program starts from now on."""
    original = threading.Thread._bootstrap_inner

    @functools.wraps(original)
    def _bootstrap_inner(self):
        _come_quietly()
        try:
            original(self)
        finally:
            _go_quietly()

    threading.Thread._bootstrap_inner = _bootstrap_inner


def _look_after_fork():
    """Turns our profiler and its hooks off in a forked child."""
    global _mode
    _mode = 0
    _go_quietly()


def look():
    """Turns our profiler on if the library asks for operators as NVTX ranges. The library calls
    this function again after it has found PyTorch."""
    global _mode, _begin, _end
    if _profiler is None or _mode:
        return
    mode = _library.call("sl_hook_ops")
    if mode <= 0:
        return
    is_first = _begin is None
    if is_first:
        autograd = sys.modules["torch.autograd"]
        _begin, _end = autograd._enable_profiler, autograd._disable_profiler
    _mode = mode
    try:
        _come()
    except BaseException:
        _mode = 0
        raise
    if is_first:  # a forked child has the hooks of its parent already
        _stand_aside()
        _follow_threads()
        atexit.register(_go_quietly)
        os.register_at_fork(after_in_child=_look_after_fork)
    # The library has logged that the observer is missing; this line completes that message.
    _say.say("debug", "operators of PyTorch "
             f"{sys.modules['torch'].__version__} are recorded through its NVTX ranges")


def _attach(module):
    global _profiler
    _profiler = module
    look()


HOOKS = {"torch.autograd.profiler": _attach}
