"""Whose ranges autograd's threads work for: those of the thread that called the backward pass."""
import pytest

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


@pytest.mark.parametrize("how", ["record_function", "nvtx", "given gradient", "checkpoint"])
def test_a_backward_pass_is_its_callers(torch, tmp_path, how):
    """Two threads have ranges all along. What the pass launches counts for those of the one that
    called it, not for those of the one that made the graph; a pass inside the pass, too."""
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
