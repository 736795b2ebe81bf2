"""Runs a training step directly, captures the step, and replays it. The kernels are the same each
time. The captured graphs share no memory. Each graph is replayed three times, alternating with the
other graphs."""
import torch
from torch import nn


def main():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(64, 64), nn.LayerNorm(64), nn.Linear(64, 64)).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    x = torch.randn(32, 64, device="cuda")
    side = torch.cuda.Stream()

    def step():
        here = torch.cuda.current_stream()
        side.wait_stream(here)
        with torch.cuda.stream(side):
            aside = (x @ x.t()).relu()
            kept = torch.empty_like(x).copy_(x)
            kept.zero_()
        out = model(x)
        out.square().mean().backward()
        here.wait_stream(side)
        optimizer.step()
        return out.sum() + aside.sum()

    def infer():
        with torch.inference_mode():
            return torch.softmax(model(x), dim=1).argmax(dim=1)

    warm = torch.cuda.Stream()
    warm.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(warm):
        for _ in range(3):
            optimizer.zero_grad(set_to_none=True)
            step()
            infer()
    torch.cuda.synchronize()
    graphs = []
    for work in (step, infer):
        optimizer.zero_grad(set_to_none=True)
        with torch.profiler.record_function(f"eager {work.__name__}"):
            with torch.cuda.stream(warm):
                work()
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        optimizer.zero_grad(set_to_none=True)
        with torch.cuda.graph(graph):
            work()
        graphs.append(graph)
    for _ in range(3):
        for graph in graphs:
            with torch.profiler.record_function("replay"):
                graph.replay()
    torch.cuda.synchronize()
    print("captured: 2 graphs, 3 replays of each")


main()
