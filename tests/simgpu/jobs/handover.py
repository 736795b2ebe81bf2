"""Trains during and after torch.profiler sessions, without a pause between a session and the
training that follows. Prints the start and end of each session, and exports the trace of the
session.

    handover.py MODE FOLDER    plain, methods, schedule, error, autograd, cpu, nvtx, export, nested
"""
import sys
import time

import torch
from torch import nn
from torch.profiler import ProfilerActivity, profile, schedule

MODE, FOLDER = sys.argv[1:]
BOTH = [ProfilerActivity.CPU, ProfilerActivity.CUDA]
model = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 8)).cuda()
optimizer = torch.optim.AdamW(model.parameters())
batch = torch.randn(32, 64).pin_memory()
traces = 0


def step():
    loss = model(batch.cuda(non_blocking=True)).sum()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss.item()


def export(session):
    global traces
    session.export_chrome_trace(f"{FOLDER}/{traces}.json")
    traces += 1


def timed(body):
    begin = time.time_ns()
    body()
    print("session", begin, time.time_ns())


def plain():
    with profile(activities=BOTH) as p:
        step()
        step()
    return p


def methods():
    p = profile(activities=BOTH)
    p.start()
    step()
    p.stop()
    return p


def scheduled():
    with profile(activities=BOTH, schedule=schedule(wait=1, warmup=1, active=1, repeat=2),
                 on_trace_ready=export) as p:
        for _ in range(7):
            step()
            p.step()


def error():
    try:
        with profile(activities=BOTH):
            step()
            raise ValueError("in the session")
    except ValueError as caught:
        print(caught)


def autograd():
    with torch.autograd.profiler.profile(use_device="cuda") as p:
        step()
    return p


def cpu():
    with profile(activities=[ProfilerActivity.CPU]):
        step()


def nvtx():
    with torch.autograd.profiler.emit_nvtx():
        step()


def nested():
    """PyTorch does not support a session inside a session. One of the two fails, and the place of
    the failure varies."""
    try:
        with profile(activities=BOTH):
            step()
            with profile(activities=BOTH):
                step()
            step()
    except RuntimeError as caught:
        print(caught)


step()
if MODE == "schedule":
    timed(scheduled)
elif MODE in ("error", "cpu", "nvtx", "nested"):
    for _ in range(2):
        timed({"error": error, "cpu": cpu, "nvtx": nvtx, "nested": nested}[MODE])
        step()
elif MODE == "export":
    sessions = []
    timed(lambda: sessions.append(plain()))
    step()
    export(sessions[0])
    timed(lambda: sessions.append(plain()))
    step()
    export(sessions[1])
else:
    for _ in range(2):
        sessions = []
        body = {"plain": plain, "methods": methods, "autograd": autograd}[MODE]
        timed(lambda: sessions.append(body()))
        step()
        export(sessions[0])
step()
torch.cuda.synchronize()
print(f"handover: {MODE}")
