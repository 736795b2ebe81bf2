"""Training with sessions of torch.profiler, run in the ways in which users run them. Exports the
trace of each session.

    neighbour.py MODE FOLDER    thrice, ended, threads, error, exit, first, warmup, whole,
                                toggled
"""
import atexit
import sys
import threading
import time

import torch
from torch import nn
from torch.profiler import ProfilerActivity, profile, schedule

MODE, FOLDER = sys.argv[1:]
BOTH = [ProfilerActivity.CPU, ProfilerActivity.CUDA]
PAUSE = 0.4  # seconds; after this time syncline uses CUPTI again
both = threading.Barrier(2)


def make_step(size):
    model = nn.Sequential(nn.Linear(size, 2 * size), nn.ReLU(), nn.Linear(2 * size, 8)).cuda()
    optimizer = torch.optim.AdamW(model.parameters())
    batch = torch.randn(32, size).pin_memory()

    def step():
        loss = model(batch.cuda(non_blocking=True)).sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss.item()

    return step


def session(step, number, steps=3):
    with profile(activities=BOTH) as p:
        for _ in range(steps):
            step()
    p.export_chrome_trace(f"{FOLDER}/{number}.json")


def in_thread(number, size):
    step = make_step(size)
    step()
    for turn in range(2):  # alternating, because libkineto allows one session at a time
        both.wait()
        if turn == number:
            session(step, number)
            time.sleep(PAUSE)
    both.wait()
    step()


if MODE in ("first", "whole"):
    # In this mode torch.profiler is active when CUDA starts. The replaced function behaves like
    # PyTorch's check with NVML, which does not call the driver.
    torch.cuda.is_available = lambda: True
    with profile(activities=BOTH) as p:
        step = make_step(64)
        for _ in range(3):
            step()
    p.export_chrome_trace(f"{FOLDER}/0.json")
    if MODE == "whole":
        print("neighbour: whole")
        sys.exit()
    time.sleep(PAUSE)
    step()
elif MODE in ("thrice", "ended"):
    step = make_step(64)
    for number in range(3):
        step()
        session(step, number, steps=number + 1)
        time.sleep(PAUSE)
    step()
    if MODE == "ended":  # with TEARDOWN_CUPTI=1, libkineto finalizes CUPTI once more in this step
        time.sleep(PAUSE)
        step()
elif MODE == "threads":
    threads = [threading.Thread(target=in_thread, args=(n, 64 * (n + 1))) for n in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
elif MODE == "error":
    step = make_step(64)
    step()
    try:
        with profile(activities=BOTH) as p:
            step()
            raise ValueError("in the session")
    except ValueError as error:
        print(error)
    p.export_chrome_trace(f"{FOLDER}/0.json")
    time.sleep(PAUSE)
    step()
    session(step, 1)
    time.sleep(PAUSE)
    step()
elif MODE == "exit":
    step = make_step(64)
    step()
    p = profile(activities=BOTH)
    atexit.register(lambda: (p.stop(), p.export_chrome_trace(f"{FOLDER}/0.json")))
    p.start()
    step()
elif MODE == "toggled":
    # torch.profiler fetches its records long after its last kind was disabled, as it does for jobs with many
    # operators.
    step = make_step(64)
    step()
    for number, pause in enumerate((2 * PAUSE, 11)):
        with profile(activities=BOTH) as p:
            step()
            p.toggle_collection_dynamic(False, [ProfilerActivity.CUDA])
            time.sleep(pause)
            step()
        p.export_chrome_trace(f"{FOLDER}/{number}.json")
        time.sleep(PAUSE)
        step()
elif MODE == "warmup":
    step = make_step(64)
    step()
    with profile(activities=BOTH, schedule=schedule(wait=1, warmup=1, active=2, repeat=1),
                 on_trace_ready=lambda p: p.export_chrome_trace(f"{FOLDER}/0.json")) as p:
        for _ in range(5):
            step()
            time.sleep(PAUSE)
            p.step()
    step()
torch.cuda.synchronize()
if MODE == "thrice":
    time.sleep(2 * PAUSE)  # until CUPTI has delivered all records of the session, even with --cupti-late
print(f"neighbour: {MODE}")
