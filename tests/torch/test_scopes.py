"""Tests scopes of record_function(), and some operators. Such scopes and operators may end in another order,
on another thread, or in another window than they began."""
import pytest


def test_scopes_that_are_open_when_a_window_opens(torch, tmp_path):
    """Scopes are open when a window opens. Each scope has a row from the window's beginning on, marked as
    truncated like an NVTX range. The scope's row on the GPU covers the operations launched in the window.
    Operators that are running have no row."""
    job = tmp_path / "scopes.py"
    job.write_text("""
import time, torch
from torch.profiler import record_function
a = torch.ones(8, device="cuda")
import syncline
def wait_for(state):
    while syncline.status()["state"] != state:
        time.sleep(0.01)
class Opens(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        syncline.start()
        wait_for("recording")
        seen = syncline.status()["records"]
        while syncline.status()["records"] <= seen:  # then all is on
            torch.ones(1, device="cuda")
            torch.cuda.synchronize()
            time.sleep(0.01)
        return x.clone()
with record_function("job"):
    with record_function("before"):
        a.mul_(2)
    with record_function("epoch"):
        Opens.apply(a.requires_grad_())
        with record_function("batch"):
            a.exp()
        torch.cuda.synchronize()
    with torch.autograd.profiler.record_function("last"):
        a.sin()
        torch.cuda.synchronize()
        syncline.stop()
        wait_for("armed")
""")
    run = torch.run(torch.python, job, window="demand", lead_in="0")
    assert run.status == 0, run.stderr
    trace = run.trace()
    rows = {row["name"]: row for row in trace.of("user_annotation")}
    assert {name: {key for key in row["args"] if key.startswith("cut")} for name, row in rows.items()} == {
        "job": {"cut start", "cut end"}, "epoch": {"cut start"}, "batch": set(), "last": {"cut end"}}
    opened = trace.object["syncline"]["opened_ns"]
    assert rows["job"]["start"] == rows["epoch"]["start"] == opened
    assert opened < rows["batch"]["start"] < rows["batch"]["end"] < rows["epoch"]["end"]
    gpu = {row["name"]: row for row in trace.of("gpu_user_annotation")}
    (exp,) = [row for row in trace.of("kernel") if "exp" in row["name"]]
    assert gpu["batch"]["start"] == exp["start"] and gpu["batch"]["end"] == exp["end"]
    assert gpu["epoch"]["end"] == exp["end"] < gpu["job"]["end"]
    names = [row["name"] for row in trace.of("cpu_op")]
    assert "Opens" not in names and {"aten::clone", "aten::exp", "aten::sin"} <= set(names)


def test_scopes_of_coroutines_that_take_turns(torch, tmp_path):
    """Coroutines end their scopes in any order. Each scope has its own end, and none stays open."""
    job = tmp_path / "turns.py"
    job.write_text("""
import asyncio, torch
from torch.profiler import record_function
a = torch.ones(8, device="cuda")
async def request(name, waits):
    with record_function(name):
        a.sinh()
        await waits
        a.cosh()
async def serve():
    for _ in range(20):
        over = asyncio.get_running_loop().create_future()
        second = asyncio.create_task(request("second", over))
        await request("first", asyncio.sleep(0))
        over.set_result(None)
        await second
asyncio.run(serve())
a.tanh()
torch.cuda.synchronize()
""")
    run = torch.run(torch.python, job)
    assert run.status == 0, run.stderr
    trace = run.trace()
    rows = sorted(trace.of("user_annotation"), key=lambda row: row["start"])
    assert [row["name"] for row in rows] == ["first", "second"] * 20
    assert not any(key.startswith("cut") for row in rows for key in row["args"])
    for first, second in zip(rows[::2], rows[1::2]):
        assert second["start"] < first["end"] < second["end"]
    (tanh,) = [row for row in trace.of("kernel") if "tanh" in row["name"]]
    assert all(row["end"] < tanh["start"] for row in trace.of("gpu_user_annotation"))


# Scopes begin on one thread and end on another. There are more of them than the maximum depth of
# nested operators.
GENERATOR = """
import threading, torch
from torch.profiler import record_function
a = torch.ones(8, device="cuda")
def parts():
    with record_function("elsewhere"):
        yield a.sinh()
        yield a.cosh()
for _ in range(600):
    generator = parts()
    next(generator)
    thread = threading.Thread(target=list, args=[generator])
    thread.start()
    thread.join()
for _ in range(50):
    a.tanh()
a.sum().item()
"""
FORK = """
import torch
a = torch.ones(8, 8, device="cuda")
@torch.jit.script
def inside(x):
    for _ in range(5):
        x = x @ x
    return x
@torch.jit.script
def elsewhere(x):
    return torch.jit.wait(torch.jit.fork(inside, x)) + 1
for _ in range(600):
    elsewhere(a)
for _ in range(50):
    a.tanh()
a.sum().item()
"""


@pytest.mark.parametrize("text, cat", [(GENERATOR, "user_annotation"), (FORK, "cpu_op")],
                         ids=["generator", "fork"])
def test_what_ends_on_another_thread(torch, tmp_path, text, cat):
    """A generator's scope ends on another thread, or a TorchScript function waits for a fork. The
    scope has its row, and later operators and source lines of the thread are correct."""
    job = tmp_path / "job.py"
    job.write_text(text)
    run = torch.run(torch.python, job)
    assert run.status == 0, run.stderr
    trace = run.trace()
    lost = trace.lost()
    rows = [row for row in trace.of(cat) if row["name"] == "elsewhere"]
    assert 600 - lost <= len(rows) <= 600
    assert sum("cut end" in row["args"] for row in rows) <= lost
    ops = {row["args"]["External id"]: row["name"] for row in trace.of("cpu_op")}
    launchers = [ops.get(row["args"].get("External id")) for row in trace.of("kernel")
                 if "tanh" in row["name"]]
    assert len(launchers) == 50 and launchers.count("aten::tanh") >= 50 - lost
    lines = [row["args"].get("wait_at", "") for row in trace.of("cuda_runtime")
             if row["name"] == "cudaStreamSynchronize"]
    assert lines[-1] == f"{job}:{len(text.splitlines())} <module>"
