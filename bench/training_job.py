"""One training run for bench/training.py: warms up, trains STEPS steps under the profiler of MODE,
and writes its results. With `turns` for STEPS (bench/in_turns) each line of its input is a number of
steps to train. The program answers each line with a list that has the CPU time of each step in ns.

    training_job.py JOB MODE STEPS FOLDER
"""
import ctypes
import json
import os
import pathlib
import re
import sys
import time

import torch
from torch import nn
from torch.profiler import ProfilerActivity, profile

JOB, MODE, STEPS, FOLDER = sys.argv[1], sys.argv[2], sys.argv[3], pathlib.Path(sys.argv[4])
WARM_UP = 5
# Seconds in which the profiler finishes its pending work.
SETTLE_S = 0.6
# Names of the threads that belong to the profiler. All other threads belong to the job.
OWN = ("syncline-cupti", "syncline-write")
NOT_THE_JOBS = (*OWN, "idle-client", "cupti-worker", "simgpu")


def mlp():
    model = nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 256), nn.GELU(),
                          nn.Linear(256, 10)).cuda()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    images = torch.randn(128, 64).pin_memory()
    labels = torch.randint(0, 10, (128,)).pin_memory()

    def step():
        optimizer.zero_grad(set_to_none=True)
        loss = nn.functional.cross_entropy(model(images.cuda(non_blocking=True)),
                                           labels.cuda(non_blocking=True))
        loss.backward()
        optimizer.step()
        loss.item()
    return step


def transformer():
    layer = nn.TransformerEncoderLayer(128, 4, 512, batch_first=True, norm_first=True)
    model = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False).cuda()
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4)
    scaler = torch.amp.GradScaler("cuda")
    tokens = torch.randn(8, 64, 128).pin_memory()

    def step():
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            loss = model(tokens.cuda(non_blocking=True)).square().mean()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
    return step


def clocks():
    """Returns the ids of the CPU clocks of all threads, as two lists: the profiler's threads and
    the job's threads."""
    own, job = [], []
    for task in pathlib.Path("/proc/self/task").iterdir():
        name = (task / "comm").read_text().strip()
        clock = (~int(task.name) << 3) | 6  # 6 sets the bits CPUCLOCK_PERTHREAD and CPUCLOCK_SCHED
        if name.startswith(OWN):
            own.append(clock)
        elif not name.startswith(NOT_THE_JOBS):
            job.append(clock)
    return own, job


def cpu(ids):
    return sum(map(time.clock_gettime_ns, ids))


def resident_kib():
    """Returns the peak memory of this program in KiB. getrusage() would include the peak of the
    parent."""
    status = pathlib.Path("/proc/self/status").read_text()
    return int(re.search(r"VmHWM:\s+(\d+)", status)[1])


def spent(action):
    """Calls action(). Returns the process CPU time and the wall time that the call took, in ns."""
    began = time.process_time_ns(), time.perf_counter_ns()
    action()
    return time.process_time_ns() - began[0], time.perf_counter_ns() - began[1]


def end_window():
    """Ends the recording window, and waits until syncline's file is complete."""
    ctypes.CDLL(os.environ["CUDA_INJECTION64_PATH"]).sl_stop()
    while not list(FOLDER.glob("out/*/*/*.json.zst")):
        time.sleep(0.001)


def timed_steps(step, count, job):
    """Runs `count` steps. Returns the CPU time of each step in ns, summed over the threads whose
    clocks are in `job`."""
    steps = [cpu(job)]
    for _ in range(count):
        step()
        steps.append(cpu(job))
    return [b - a for a, b in zip(steps, steps[1:])]


def in_turns(step):
    _, job = clocks()
    for line in sys.stdin:
        print(timed_steps(step, int(line), job), flush=True)


def one_run(step):
    result = {"job": JOB, "mode": MODE, "steps": int(STEPS)}
    session = None
    if MODE.startswith("kineto"):
        cpu_ops = [ProfilerActivity.CPU] if "cpu" in MODE else []
        session = profile(activities=[*cpu_ops, ProfilerActivity.CUDA],
                          record_shapes="shapes" in MODE, with_stack="stack" in MODE)
        result["start"] = spent(session.start)
    own, job = clocks()
    own_began = cpu(own)
    result["from_ns"] = time.time_ns()
    result["step_cpu_ns"] = timed_steps(step, int(STEPS), job)
    torch.cuda.synchronize()
    result["until_ns"] = time.time_ns()
    if session:
        name = "trace.json.gz" if MODE.endswith("gz") else "trace.json"
        result["stop"] = spent(session.stop)
        result["export"] = spent(lambda: session.export_chrome_trace(str(FOLDER / name)))
    elif MODE.startswith("syncline"):
        time.sleep(SETTLE_S)
        result["stop"] = spent(end_window)
    result["own_cpu_ns"] = cpu(own) - own_began
    result["resident_kib"] = resident_kib()
    (FOLDER / "result.json").write_text(json.dumps(result))


def main():
    torch.manual_seed(0)
    step = {"mlp": mlp, "transformer": transformer}[JOB]()
    for _ in range(WARM_UP):
        step()
    torch.cuda.synchronize()
    time.sleep(SETTLE_S)
    if STEPS == "turns":
        in_turns(step)
    else:
        one_run(step)


main()
