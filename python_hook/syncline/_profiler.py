"""Hands CUPTI over to torch.profiler before it prepares a session, and takes it back when the
session is over, before the job's next line. Without this module, the library notices torch.profiler
by its calls of CUPTI, and takes CUPTI back some 20 ms after the last of them. Runs on the thread
that profiles, which waits meanwhile.

This also applies to a session that records only CPU operators, because libkineto then records CUDA
calls, too.
"""
import functools

from . import _library


def _hand_over():
    _library.call("sl_hand_over", blocks=True)


def _take_back():
    _library.call("sl_take_back", blocks=True)


def _attach(module):
    """Wraps autograd's `profile`, which torch.profiler.profile creates for each of its cycles."""
    session_class = module.profile
    prepare, stopped = session_class._prepare_trace, module._run_on_profiler_stop

    @functools.wraps(prepare)
    def _prepare_trace(self, *args, **kwargs):
        is_prepared = False
        _hand_over()
        try:
            result = prepare(self, *args, **kwargs)
            is_prepared = True
            return result
        finally:
            if not is_prepared:
                _take_back()

    # Called in __exit__ after the session has stopped, so our functions are not in its Python trace.
    @functools.wraps(stopped)
    def _run_on_profiler_stop(*args, **kwargs):
        _take_back()
        return stopped(*args, **kwargs)

    session_class._prepare_trace = _prepare_trace
    module._run_on_profiler_stop = _run_on_profiler_stop


HOOKS = {"torch.autograd.profiler": _attach}
