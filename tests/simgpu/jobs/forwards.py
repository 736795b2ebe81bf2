"""Two threads run the same forward code, so that the operators of both threads have the same
autograd sequence numbers. One thread calls backward while the other thread sleeps."""
import threading
import time

import torch
from torch import nn
from torch.profiler import record_function

STEPS = 4


def forward():
    model = nn.Sequential(nn.Linear(32, 128), nn.Tanh(), nn.Linear(128, 4)).cuda()
    return model(torch.randn(16, 32, device="cuda")).square().mean()


def train(alone, both):
    for _ in range(STEPS - 1):
        forward().backward()
    loss = forward()
    alone.set()
    both.wait()
    with record_function("calls backward"):
        loss.backward()
    torch.ones(3, device="cuda").sum().item()


def sleep(alone, both):
    alone.wait()
    losses = [forward() for _ in range(STEPS)]
    with record_function("sleeps"):
        both.set()
        time.sleep(0.3)
    torch.ones(3, device="cuda").sum().item()
    print("forwards:", len(losses))


def main():
    torch.ones(1, device="cuda").sum().item()  # makes PyTorch load its lazy parts now, outside the compared code
    events = threading.Event(), threading.Event()
    thread = threading.Thread(target=sleep, args=events)
    thread.start()
    train(*events)
    thread.join()


main()
