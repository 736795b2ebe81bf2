"""Completes the files of multiprocessing's children. A forked child leaves by os._exit, which the
library does not notice. multiprocessing runs a list of finalizers before that; ours is the last on
it."""
import sys

from . import _library

_LAST = -1_000_000  # behind queues, pools and folders of the job's


def _end():
    _library.call("sl_hook_end", blocks=True)


def watch():
    """Adds the finalizer. Called in each process that is hooked, on any thread; does nothing in a
    process that multiprocessing did not start."""
    process = sys.modules.get("multiprocessing.process")
    util = sys.modules.get("multiprocessing.util")
    if process is not None and util is not None and process.parent_process() is not None:
        util.Finalize(None, _end, exitpriority=_LAST)
