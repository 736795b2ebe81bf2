"""Hands CUPTI over to torch.profiler before torch.profiler prepares a session. Takes CUPTI back
when the session is over, before the job's next line. Without this module, the library notices
torch.profiler by its calls of CUPTI, and takes CUPTI back some 20 ms after the last call. Runs on
the thread that starts and stops the session. That thread waits for the hand-over.

CUPTI is also handed over for a session that records only CPU operators, because libkineto records
CUDA calls in such a session, too.
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

    # __exit__ of `profile` calls this function after the session has stopped, so that functions of
    # syncline are not in the session's Python trace.
    @functools.wraps(stopped)
    def _run_on_profiler_stop(*args, **kwargs):
        _take_back()
        return stopped(*args, **kwargs)

    session_class._prepare_trace = _prepare_trace
    module._run_on_profiler_stop = _run_on_profiler_stop


HOOKS = {"torch.autograd.profiler": _attach}
