"""Captures a training step in a CUDA graph, with side streams inside the capture, and replays the
graph."""
import torch
from torch import nn


def main():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 64)).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    x = torch.randn(32, 64, device="cuda")
    warm = torch.cuda.Stream()
    warm.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(warm):
        for _ in range(3):
            optimizer.zero_grad(set_to_none=True)
            model(x).square().mean().backward()
            optimizer.step()
    torch.cuda.current_stream().wait_stream(warm)

    graph = torch.cuda.CUDAGraph()
    side = torch.cuda.Stream()
    optimizer.zero_grad(set_to_none=True)
    with torch.cuda.graph(graph):
        here = torch.cuda.current_stream()
        side.wait_stream(here)
        with torch.cuda.stream(side):
            aside = (x @ x.t()).relu()
            kept = torch.empty_like(x).copy_(x)
        out = model(x)
        out.square().mean().backward()
        here.wait_stream(side)
        both = out.sum() + aside.sum()
        optimizer.step()
    for step in range(10):
        x.copy_(torch.full((32, 64), float(step)))
        graph.replay()
    torch.cuda.synchronize()
    both.item()
    print(f"graphs: 10 replays, kept {kept[0, 0].item()}")


main()
