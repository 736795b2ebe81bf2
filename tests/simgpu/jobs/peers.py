"""Uses two devices: copies between the devices, a model that is split over both, and a synchronize
of each device. Needs --devices 2."""
import torch
from torch import nn


def main():
    first, second = torch.device("cuda:0"), torch.device("cuda:1")
    x = torch.arange(1 << 16, dtype=torch.float32).to(first)
    there = x.to(second, non_blocking=True)
    torch.cuda.synchronize(first)
    torch.cuda.synchronize(second)
    print("peers:", torch.cuda.device_count(), torch.cuda.can_device_access_peer(0, 1),
          int(there.cpu()[-1]))
    front = nn.Linear(64, 128).to(first)
    back = nn.Linear(128, 8).to(second)
    optimizer = torch.optim.SGD([*front.parameters(), *back.parameters()], lr=0.1)
    for _ in range(5):
        optimizer.zero_grad()
        h = front(torch.randn(32, 64, device=first)).relu()
        back(h.to(second)).sum().backward()
        optimizer.step()
    stream = torch.cuda.Stream(device=second)
    with torch.cuda.stream(stream):
        y = torch.ones(1000, device=second) * 2
        y.to(first)
    stream.synchronize()
    for device in range(2):
        torch.cuda.synchronize(device)
    print("peers: memory on both", all(torch.cuda.memory_allocated(d) > 0 for d in (0, 1)))


main()
