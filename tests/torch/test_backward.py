"""Work of autograd's threads counts for the ranges of the thread that called the backward pass."""
import pytest
from tiers import full_but

JOB = """
import sys, threading, torch
from torch.autograd.profiler import record_function
from torch.cuda import nvtx
x = torch.ones(64, 64, device="cuda", requires_grad=True)
gradient = torch.ones(64, 64, device="cuda")
torch.cuda.synchronize()
calls = {
    "record_function": (record_function("of the caller"), lambda y: y.sum().backward()),
    "nvtx": (nvtx.range("of the caller"), lambda y: y.sum().backward()),
    "given gradient": (record_function("of the caller"), lambda y: y.backward(gradient)),
    "checkpoint": (nvtx.range("of the caller"), lambda y: y.sum().backward()),
}
around, backward = calls[sys.argv[1]]
def run(x):
    if sys.argv[1] != "checkpoint":
        return x.exp()
    return torch.utils.checkpoint.checkpoint(torch.exp, x, use_reentrant=True)
def call(y):
    with around:
        backward(y)
        torch.cuda.synchronize()
with record_function("of the graph's maker"), nvtx.range("of the maker's, too"):
    y = run(x)
    torch.cuda.synchronize()
    thread = threading.Thread(target=call, args=(y,))
    thread.start()
    thread.join()
"""


@pytest.mark.parametrize("how", full_but(
    ["record_function", "nvtx"], ["record_function", "nvtx", "given gradient", "checkpoint"], seconds=3))
def test_a_backward_pass_is_its_callers(torch, tmp_path, how):
    """Two threads have open ranges, and autograd launches for a third thread's backward pass. The
    launches count for the ranges of the calling thread, not for the ranges of the thread that made
    the autograd graph. This is also true for a backward pass that is called inside the backward
    pass."""
    job = tmp_path / "job.py"
    job.write_text("import torch.utils.checkpoint\n" + JOB)
    run = torch.run(torch.python, job, how)
    assert run.status == 0, run.stderr
    trace = run.trace()
    calls = {row["args"]["correlation"]: row for row in trace.of("cuda_runtime", "cuda_driver")}
    (caller,) = [row for row in trace.of("user_annotation") if row["name"] == "of the caller"]
    (maker,) = [row for row in trace.of("user_annotation") if row["name"] == "of the graph's maker"]
    of = {"caller": [], "maker": []}
    workers = set()
    for kernel in trace.of("kernel"):
        call = calls[kernel["args"]["correlation"]]
        if call["tid"] == maker["tid"] and call["start"] >= maker["start"]:
            of["maker"].append(kernel)
        elif call["tid"] != maker["tid"]:
            of["caller"].append(kernel)
            workers |= {call["tid"]} - {caller["tid"]}
    assert workers and of["maker"]
    gpu = {row["name"]: (row["start"], row["end"]) for row in trace.of("gpu_user_annotation")}
    spans = {who: (min(k["start"] for k in kernels), max(k["end"] for k in kernels))
             for who, kernels in of.items()}
    assert gpu == {"of the caller": spans["caller"], "of the graph's maker": spans["maker"],
                   "of the maker's, too": spans["maker"]}


OPENED_INSIDE = """
import sys, threading, time, torch
from torch.profiler import record_function
x = torch.ones(64, 64, device="cuda", requires_grad=True)
import syncline
def wait_for(state):
    while syncline.status()["state"] != state:
        time.sleep(0.01)
def start():
    syncline.start()
    wait_for("recording")
    seen = syncline.status()["records"]
    while syncline.status()["records"] <= seen:  # then all is on
        torch.ones(1, device="cuda")
        torch.cuda.synchronize()
        time.sleep(0.01)
class Node(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, opens):
        ctx.opens = opens
        return x.exp()
    @staticmethod
    def backward(ctx, gradient):
        if ctx.opens:
            start()
            gradient = gradient.sin()
        return gradient, None
def call(opens):
    Node.apply(x, opens).sum().backward()
    torch.cuda.synchronize()
def call_in_range(opens):
    with record_function("of the second caller"):
        call(opens)
with record_function("of the first caller"):
    start()
    call(False)
    syncline.stop()
    wait_for("armed")
    thread = threading.Thread(target=call_in_range, args=(True,))
    thread.start()
    thread.join()
"""


def test_a_window_opens_in_a_node_of_another_callers(torch, tmp_path):
    """A window opens while a node of a backward pass runs. The node's start was not recorded, and
    the last recorded operators on autograd's thread had another caller. Launches in the window
    count for the thread that called the running pass."""
    job = tmp_path / "job.py"
    job.write_text(OPENED_INSIDE)
    run = torch.run(torch.python, job, window="demand", lead_in="0")
    assert run.status == 0, run.stderr
    trace = run.traces()[-1]
    (operator,) = [row for row in trace.of("cpu_op") if row["name"] == "aten::sin"]
    (kernel,) = [row for row in trace.of("kernel")
                 if row["args"]["External id"] == operator["args"]["External id"]]
    around = {row["name"] for row in trace.of("gpu_user_annotation")
              if row["start"] <= kernel["start"] and kernel["end"] <= row["end"]}
    assert around == {"of the second caller"}
