"""Tests PyTorch's NVTX ranges on the CPU, on the GPU (including launches of autograd's thread), and at the
waiting calls. Only CUDA_INJECTION64_PATH is set."""
import pytest

import harness
from tiers import full_but

STEPS = 3


def rows(trace: harness.Trace, cat: str, name: str) -> list[dict]:
    return sorted((e for e in trace.of(cat) if e["name"] == name), key=lambda e: e["start"])


@pytest.mark.parametrize("beside", full_but([["beside"]], [[], ["beside"]], seconds=3.5),
                         ids=["alone", "beside"])
def test_ranges_of_a_training_step(torch, beside):
    run = torch.job("ranges", *beside, log="warn")
    assert run.status == 0 and f"done {STEPS}" in run.stdout and not run.said()
    trace = run.trace()
    launches = {e["args"]["correlation"]: e for e in trace.of("cuda_runtime", "cuda_driver")}
    operations = trace.of("kernel", "gpu_memcpy", "gpu_memset")
    assert len({launches[o["args"]["correlation"]]["tid"] for o in operations
                if o["args"]["correlation"] in launches}) == 2  # the main thread and autograd's thread
    for step in range(STEPS):
        (outer,) = rows(trace, "user_annotation", f"step {step}")
        for name in ("forward", "backward", "optimizer", "wait"):
            cpu = rows(trace, "user_annotation", name)[step]
            gpu = rows(trace, "gpu_user_annotation", name)[step]
            assert outer["start"] <= cpu["start"] and cpu["end"] <= outer["end"]
            # A launch by any thread during the range counts for the range, even if the launching thread has a
            # range of its own.
            own = [o for o in operations if o["args"]["correlation"] in launches and
                   cpu["start"] <= launches[o["args"]["correlation"]]["start"] < cpu["end"]]
            assert gpu["start"] == min(o["start"] for o in own)
            assert gpu["end"] == max(o["end"] for o in own)
    assert len(rows(trace, "user_annotation", "prefetch")) == len(beside)
    assert not rows(trace, "gpu_user_annotation", "prefetch")
    waits = [e for e in launches.values() if e["args"].get("wait_in") == "wait"]
    assert len(waits) == STEPS


@pytest.mark.full(seconds=7.1)
def test_the_result_is_the_same_without(torch):
    bare, run = torch.job("ranges", inject=False), torch.job("ranges", nvtx="0")
    assert bare.stdout == run.stdout == f"done {STEPS}\n"
    assert not rows(run.trace(), "user_annotation", "forward")
