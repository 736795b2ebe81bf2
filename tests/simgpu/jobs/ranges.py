"""Training that marks each step and each part of a step with a range of torch.cuda.nvtx. The
backward pass runs on autograd's thread. With the argument "beside", another thread has an open
range during the whole training."""
import sys
import threading

import torch
from torch.cuda import nvtx

STEPS = 3

begun, done = threading.Event(), threading.Event()


def prefetch():
    with nvtx.range("prefetch"):
        begun.set()
        done.wait()


torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.ReLU(), torch.nn.Linear(64, 8)).cuda()
if sys.argv[1:] == ["beside"]:
    threading.Thread(target=prefetch).start()
    begun.wait()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(STEPS):
    with nvtx.range(f"step {step}"):
        with nvtx.range("forward"):
            loss = model(torch.randn(32, 64, device="cuda")).sum()
        with nvtx.range("backward"):
            loss.backward()
        with nvtx.range("optimizer"):
            optimizer.step()
            optimizer.zero_grad()
        with nvtx.range("wait"):
            loss.item()
done.set()
print("done", STEPS)
