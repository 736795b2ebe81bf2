"""Completes the files of multiprocessing's children. A forked child leaves by os._exit, which the
library does not notice. Before that, multiprocessing runs a list of finalizers; ours is the last.
"""
import sys

from . import _library

_LAST = -1_000_000  # after the finalizers of the job's queues, pools and folders


def _end():
    _library.call("sl_hook_end", blocks=True)


def watch():
    """Adds the finalizer. Called in each process that is hooked, on any thread; does nothing in a
    process that multiprocessing did not start."""
    process = sys.modules.get("multiprocessing.process")
    util = sys.modules.get("multiprocessing.util")
    if process is not None and util is not None and process.parent_process() is not None:
        util.Finalize(None, _end, exitpriority=_LAST)
