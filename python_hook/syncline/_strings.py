"""PyTorch's operators where there is no observer for its version: its own profiler is told to give
NVTX a range for each, whose text the library takes apart (collect/torch/nvtx_fallback.h).

That profiler is a thread's own. Autograd's threads take it over from the thread that calls backward();
those that the program starts get it here. The program's own profilers find none of it: each may be
the only one of its thread, so ours goes before theirs begins, and is back when it has ended.
"""
import atexit
import functools
import os
import sys
import threading

from . import _library, _say

_FULL = 2  # sl_hook_ops(): with shapes


class _Mine(threading.local):
    is_on = False
    handed_over = False  # for the program's own


_mine = _Mine()
_profiler = None  # torch.autograd.profiler
_mode = 0
_begin = _end = None  # PyTorch's own functions


def _is_any_on():
    return sys.modules["torch.autograd"]._profiler_enabled()


def _come():
    """On this thread, unless there is another. Not emit_nvtx(): that waits for the GPU."""
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
    """Where the program's own code would see an exception."""
    try:
        _come()
    except Exception as error:  # noqa: BLE001 - whatever it is, it is not the job's
        _say.miss("operators", error)


def _go(handed_over):
    if _mine.is_on:
        _mine.is_on, _mine.handed_over = False, handed_over
        _end()


def _go_quietly(handed_over=False):
    """A profiler of the program's begins; or a thread ends, or the program: PyTorch complains of a
    profiler that is left to itself, and may crash over it."""
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
    """Around whatever begins and ends a profiler, by each name that it goes by."""
    for name in ("torch._C._autograd", "torch.autograd", "torch.autograd.profiler",
                 "torch.autograd.profiler_legacy"):
        module = sys.modules.get(name) or getattr(sys.modules.get("torch._C"), name.split(".")[-1], None)
        for suffix in ("", "_legacy"):
            for prefix, around in (("_enable_profiler", _beginning), ("_disable_profiler", _ending)):
                original = vars(module).get(prefix + suffix) if module else None
                if original is not None:
                    setattr(module, prefix + suffix, around(original))


def _follow_threads():
    """Those that the program starts from now on."""
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
    """A child is left alone."""
    global _mode
    _mode = 0
    _go_quietly()


def look():
    """Does the library want them by now? Called again when it has found out."""
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
    if is_first:  # a forked child has these from its parent
        _stand_aside()
        _follow_threads()
        atexit.register(_go_quietly)
        os.register_at_fork(after_in_child=_look_after_fork)
    # Of the library's one line that says what is missing, this is the end.
    _say.say("debug", f"operators of PyTorch {sys.modules['torch'].__version__} come by its ranges of NVTX's")


def _attach(module):
    global _profiler
    _profiler = module
    look()


HOOKS = {"torch.autograd.profiler": _attach}
