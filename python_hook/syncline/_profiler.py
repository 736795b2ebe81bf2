"""torch.profiler gets CUPTI before it prepares a session, and syncline has it back when the session
is over, before the job's next call. (Without this it is seen at its calls of CUPTI, and taken back
some milliseconds later.) On the thread that profiles, which waits meanwhile."""
import functools

from . import _library


def _uses_cupti(session):
    activities = getattr(session, "kineto_activities", ())
    return any(getattr(activity, "name", "") == "CUDA" for activity in activities)


def _take_back(session):
    if session.__dict__.pop("_syncline_has_cupti", False):
        _library.call("sl_take_back", blocks=True)


def _attach(module):
    """autograd's `profile` is what a torch.profiler.profile makes for each of its cycles."""
    session_class = module.profile
    prepare, leave = session_class._prepare_trace, session_class.__exit__

    @functools.wraps(prepare)
    def _prepare_trace(self, *args, **kwargs):
        if _uses_cupti(self) and _library.call("sl_hand_over", blocks=True) == 0:
            self._syncline_has_cupti = True
        try:
            return prepare(self, *args, **kwargs)
        except BaseException:
            _take_back(self)
            raise

    @functools.wraps(leave)
    def __exit__(self, *args, **kwargs):
        try:
            return leave(self, *args, **kwargs)
        finally:
            _take_back(self)

    session_class._prepare_trace = _prepare_trace
    session_class.__exit__ = __exit__


HOOKS = {"torch.autograd.profiler": _attach}
