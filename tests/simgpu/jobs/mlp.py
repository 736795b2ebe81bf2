"""Trains an MLP with AdamW. Pinned batches are copied without blocking. The loss is read every ten
steps.

    mlp.py [STEPS]
"""
import sys

import torch
from torch import nn

STEPS = int(sys.argv[1]) if len(sys.argv) > 1 else 20


def main():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 256), nn.GELU(),
                          nn.Linear(256, 10)).cuda()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    loss_of = nn.CrossEntropyLoss()
    images = torch.randn(128, 64).pin_memory()
    labels = torch.randint(0, 10, (128,)).pin_memory()
    read = 0
    for step in range(STEPS):
        x = images.cuda(non_blocking=True)
        y = labels.cuda(non_blocking=True)
        optimizer.zero_grad(set_to_none=True)
        loss = loss_of(model(x), y)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        if step % 10 == 9:
            loss.item()
            read += 1
    torch.cuda.synchronize()
    print(f"mlp: {STEPS} steps, loss read {read} times")


main()
