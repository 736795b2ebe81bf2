"""Training loops of several kinds. Each iteration launches a different number of kernels, so that a
trace shows which iterations it contains.

    steps.py MODE [STEPS]   plain, gan, critic, amp, accumulate, several, backward, inference, own, scopes,
                            schedule, api
"""
import inspect
import sys
import time

import torch
from torch import nn
from torch.profiler import profile, schedule
from torch.utils.data import DataLoader, TensorDataset

MODE = sys.argv[1]
STEPS = int(sys.argv[2]) if len(sys.argv) > 2 else 6
torch.manual_seed(0)


def model():
    return nn.Linear(16, 16).cuda()


def sgd(module):
    return torch.optim.SGD(module.parameters(), lr=0.1)


def backward(module, factor=1.0):
    (module(torch.ones(4, 16, device="cuda")).sum() * factor).backward()


first, second = model(), model()
one, two = sgd(first), sgd(second)
if MODE == "plain":
    for _ in range(STEPS):
        backward(first)
        one.step()
elif MODE == "gan":
    for _ in range(STEPS):
        for module, optimizer in ((first, one), (second, two)):
            backward(module)
            optimizer.step()
elif MODE == "critic":  # a GAN whose first network steps five times per iteration
    for number in range(STEPS):
        backward(first)
        one.step()
        if number % 5 == 4:
            backward(second)
            two.step()
elif MODE == "several":  # one of the optimizers is used only sometimes
    for number in range(STEPS):
        backward(first)
        one.step()
        if number % 3 == 0:
            backward(second)
            two.step()
elif MODE == "backward":  # one optimizer per parameter; its step runs when the parameter's gradient is ready
    layers = nn.Sequential(*(model() for _ in range(60)))
    for parameter in layers.parameters():
        parameter.register_post_accumulate_grad_hook(
            lambda parameter, its=torch.optim.SGD([parameter], lr=0.1): its.step())
    for _ in range(STEPS):
        backward(layers)
elif MODE == "amp":
    scaler = torch.amp.GradScaler("cuda", init_scale=1.0)
    for number in range(STEPS):
        one.zero_grad()
        scaler.scale(first(torch.ones(4, 16, device="cuda")).sum()).backward()
        scaler.unscale_(one)
        if number % 2:  # imitates an overflow of gradients, so the optimizer's step is skipped
            for found in scaler._per_optimizer_states[id(one)]["found_inf_per_device"].values():
                found.copy_(torch.ones(found.shape))
        scaler.step(one)
        scaler.update()
elif MODE == "accumulate":
    batches = DataLoader(TensorDataset(torch.ones(STEPS * 4, 16)), batch_size=1)
    for number, _ in enumerate(batches):
        backward(first)
        if number % 4 == 3:
            one.step()
elif MODE == "inference":
    batches = DataLoader(TensorDataset(torch.ones(STEPS, 16)), batch_size=1)
    with torch.inference_mode():
        for epoch in range(2):
            for (batch,) in batches:
                first(batch.cuda())
elif MODE == "own":
    for number in range(STEPS):
        with torch.profiler.record_function(f"ProfilerStep#{number}"):
            with torch.cuda.nvtx.range(f"ProfilerStep#{number}"):
                backward(first)
                one.step()
elif MODE == "scopes":
    for number in range(STEPS):
        with torch.profiler.record_function(f"ProfilerStep#{number}"):
            backward(first)
            time.sleep(0.01)
elif MODE == "schedule":  # a torch.profiler session during the middle third of the steps
    # PyTorch versions that have the option acc_events print a warning if it is missing.
    keeps = {"acc_events": True} if "acc_events" in inspect.signature(profile).parameters else {}
    for number in range(STEPS):
        if number == STEPS // 3:
            session = profile(schedule=schedule(wait=2, warmup=2, active=3, repeat=1), **keeps)
            session.start()
        backward(first)
        one.step()
        if STEPS // 3 <= number < STEPS * 2 // 3:
            session.step()
        if number == STEPS * 2 // 3 - 1:
            session.stop()
elif MODE == "api":
    import syncline

    for _ in range(STEPS):
        with syncline.range("forward and backward"):
            backward(first)
        one.step()
        syncline.mark("one more")
        syncline.step()
torch.cuda.synchronize()
print(f"steps: {MODE}")
