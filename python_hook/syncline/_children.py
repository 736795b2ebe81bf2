"""Completes the trace files of child processes that multiprocessing starts. Such a child ends by
os._exit(), so the library's exit handler does not run. Before os._exit(), multiprocessing runs a
list of finalizers. Our finalizer is the last in the list.
"""
import sys

from . import _library

_LAST = -1_000_000  # priority, below that of the job's queues, pools and folders


def _end():
    _library.call("sl_hook_end", blocks=True)


def watch():
    """Adds the finalizer. Called in each hooked process, on any thread. Does nothing in a process
    that multiprocessing did not start."""
    process = sys.modules.get("multiprocessing.process")
    util = sys.modules.get("multiprocessing.util")
    if process is not None and util is not None and process.parent_process() is not None:
        util.Finalize(None, _end, exitpriority=_LAST)
