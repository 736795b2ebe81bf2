"""Waits of PyTorch's that are no operator: while one of these functions runs, the library knows the
line of the program that called it. On the threads that call them."""
import functools
import sys

from . import _library


def _waiting(original, begin, end):
    @functools.wraps(original)
    def waiting(*args, **kwargs):
        begin()
        try:
            return original(*args, **kwargs)
        finally:
            end()

    return waiting


def _wrap(owner, *names):
    """Those that this PyTorch has. What torch.compile looks for by name it finds as before."""
    begin, end = _library.function("sl_site_begin"), _library.function("sl_site_end")
    if begin is None or end is None:
        return
    begin.restype = end.restype = None
    for name in names:
        original = vars(owner).get(name)
        if callable(original):
            setattr(owner, name, _waiting(original, begin, end))


def _wrap_when_loaded(owner, *names):
    _library.when_loaded(lambda: _wrap(owner, *names))


def _attach_functions(_cuda):
    # torch.cuda.synchronize() itself stays: it calls this one by its name.
    _wrap_when_loaded(sys.modules["torch._C"], "_cuda_synchronize", "_accelerator_synchronizeDevice",
                      "_cuda_emptyCache")


def _attach_classes(streams):
    _wrap_when_loaded(streams.Stream, "synchronize", "query")
    _wrap_when_loaded(streams.Event, "synchronize", "query")


def _attach_distributed(distributed):
    # DistributedDataParallel's forward pass reads its own timers with it: the first ten steps, then
    # one of a hundred. A PyTorch may be built without all of this.
    if hasattr(distributed, "Logger"):
        _wrap_when_loaded(distributed.Logger, "set_runtime_stats_and_log")


HOOKS = {"torch.cuda": _attach_functions, "torch.cuda.streams": _attach_classes,
         "torch.distributed": _attach_distributed}
