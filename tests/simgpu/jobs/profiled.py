"""Training under torch.profiler, in the modes that users select. Exports a trace.

    profiled.py MODE FILE     plain, schedule, everything (shapes, stacks, memory, syncs), cuda, twice,
                              observed (with PyTorch's execution trace of the same steps, FILE.et.json)
"""
import sys

import torch
from torch import nn
from torch.profiler import (ExecutionTraceObserver, ProfilerActivity, profile, record_function,
                            schedule)

MODE, FILE = sys.argv[1:]
model = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 8)).cuda()
optimizer = torch.optim.AdamW(model.parameters())
batch = torch.randn(32, 64).pin_memory()
side = torch.cuda.Stream()


def step():
    with record_function("train step"):
        x = batch.cuda(non_blocking=True)
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            torch.zeros(1 << 16, device="cuda")
        torch.cuda.current_stream().wait_stream(side)
        loss = model(x).sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        loss.item()
        torch.cuda.synchronize()


def run(steps, **options):
    options.setdefault("activities", [ProfilerActivity.CPU, ProfilerActivity.CUDA])
    with profile(**options) as session:
        for _ in range(steps):
            step()
            session.step()
    return session


step()
if MODE == "schedule":
    run(6, schedule=schedule(wait=2, warmup=1, active=2, repeat=1),
        on_trace_ready=lambda session: session.export_chrome_trace(FILE))
elif MODE == "everything":
    sync = torch._C._profiler._ExperimentalConfig(enable_cuda_sync_events=True)
    run(3, record_shapes=True, with_stack=True, profile_memory=True, with_flops=True,
        experimental_config=sync).export_chrome_trace(FILE)
elif MODE == "observed":
    observer = ExecutionTraceObserver().register_callback(f"{FILE}.et.json")
    run(3, record_shapes=True, execution_trace_observer=observer).export_chrome_trace(FILE)
elif MODE == "cuda":
    run(3, activities=[ProfilerActivity.CUDA]).export_chrome_trace(FILE)
elif MODE == "twice":
    run(2)
    step()
    run(3).export_chrome_trace(FILE)
else:
    run(3).export_chrome_trace(FILE)
print(f"profiled: {MODE}")
