"""Runs a PyTorch program under torch.profiler, from its first line to its last.

    under_profiler.py TRACE SYNCS PROGRAM [ARGUMENT]...

TRACE is where the trace goes (%p becomes the process id). SYNCS 1: waits and CUDA events too.
"""
import os
import runpy
import sys

import torch
from torch.profiler import ProfilerActivity, profile


def main():
    trace, syncs, *sys.argv = sys.argv[1:]
    config = torch._C._profiler._ExperimentalConfig(enable_cuda_sync_events=syncs == "1")
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA],
                 experimental_config=config) as session:
        runpy.run_path(sys.argv[0], run_name="__main__")
    session.export_chrome_trace(trace.replace("%p", str(os.getpid())))


main()
