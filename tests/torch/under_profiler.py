"""Runs a PyTorch program under torch.profiler, from its first line to its last.

    under_profiler.py TRACE WHAT PROGRAM [ARGUMENT]...

TRACE is the path of the trace (%p becomes the process id). WHAT is 1 (also waits and CUDA events),
shapes (operators with their inputs, in a process that has used the GPU before) or 0 (only the
default activities). The entry "under_profiler" in the trace's header has the PyTorch version, and
says whether waits were recorded."""
import json
import os
import runpy
import sys

import torch
from torch.profiler import ProfilerActivity, profile


def main():
    trace, what, *sys.argv = sys.argv[1:]
    if what == "shapes":
        torch.ones(1, device="cuda").item()
    config = torch._C._profiler._ExperimentalConfig(enable_cuda_sync_events=what == "1")
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA],
                 record_shapes=what == "shapes", experimental_config=config) as session:
        session.add_metadata_json("under_profiler", json.dumps(
            {"torch": torch.__version__, "waits": what == "1"}))
        runpy.run_path(sys.argv[0], run_name="__main__")
    session.export_chrome_trace(trace.replace("%p", str(os.getpid())))


main()
