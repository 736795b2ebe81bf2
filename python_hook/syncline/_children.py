"""Children of multiprocessing: forked ones leave by os._exit, of which the library hears nothing. What
multiprocessing does before that, it does from a list of its own, and we are the last on it."""
import sys

from . import _library

_LAST = -1_000_000  # behind queues, pools and folders of the job's


def _end():
    _library.call("sl_hook_end", blocks=True)


def watch():
    """In each process that is hooked, on any thread: nothing in one that multiprocessing has not made."""
    process = sys.modules.get("multiprocessing.process")
    util = sys.modules.get("multiprocessing.util")
    if process is not None and util is not None and process.parent_process() is not None:
        util.Finalize(None, _end, exitpriority=_LAST)
