"""A small PyTorch training job, which the checks on a real GPU record and measure.

    torch_job.py [--mode train|launch|graph] [--steps N] [--profiler FILE]

train: an attention block trained with AdamW; pinned batches are copied on a side stream, and loss.item()
is called in each step. launch: many tiny kernels, so that launches limit the speed. graph: a captured
forward pass that is replayed. --profiler runs the same steps under torch.profiler (CUDA and CPU activity)
and writes FILE. The result is printed on stdout and is the same in every run. The time of the steps is
printed on stderr."""

import argparse
import contextlib
import sys
import time

import torch


class Block(torch.nn.Module):
    def __init__(self, width=256, heads=4):
        super().__init__()
        self.attention = torch.nn.MultiheadAttention(width, heads, batch_first=True)
        self.mlp = torch.nn.Sequential(torch.nn.Linear(width, 4 * width), torch.nn.GELU(),
                                       torch.nn.Linear(4 * width, width))
        self.norm = torch.nn.LayerNorm(width)

    def forward(self, x):
        x = x + self.attention(x, x, x, need_weights=False)[0]
        return self.norm(x + self.mlp(x))


def make_train():
    model = Block().cuda()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    copies = torch.cuda.Stream()
    batch = torch.randn(16, 64, 256).pin_memory()

    def step():
        with torch.cuda.stream(copies):
            x = batch.to("cuda", non_blocking=True)
        torch.cuda.current_stream().wait_stream(copies)
        x.record_stream(torch.cuda.current_stream())
        optimizer.zero_grad()
        loss = (model(x) - x).square().mean()
        loss.backward()
        optimizer.step()
        return loss.item()

    return step


def make_launch():
    x = torch.zeros(64, device="cuda")

    def step():
        for _ in range(500):
            x.add_(1)
        torch.cuda.synchronize()
        return x[0].item()

    return step


def make_graph():
    model = Block().cuda().eval()
    x = torch.randn(16, 64, 256, device="cuda")
    warm_up = torch.cuda.Stream()
    warm_up.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(warm_up), torch.no_grad():
        for _ in range(3):
            model(x)
    torch.cuda.current_stream().wait_stream(warm_up)
    graph = torch.cuda.CUDAGraph()
    with torch.no_grad(), torch.cuda.graph(graph):
        y = model(x)

    def step():
        for _ in range(20):
            graph.replay()
        torch.cuda.synchronize()
        return y.mean().item()

    return step


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--mode", choices=("train", "launch", "graph"), default="train")
    parser.add_argument("--steps", type=int, default=30)
    parser.add_argument("--profiler", metavar="FILE")
    options = parser.parse_args()

    torch.manual_seed(0)
    step = {"train": make_train, "launch": make_launch, "graph": make_graph}[options.mode]()
    for _ in range(3):
        step()
    torch.cuda.synchronize()

    profiler = contextlib.nullcontext()
    if options.profiler:
        profiler = torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU,
                                                      torch.profiler.ProfilerActivity.CUDA])
    with profiler:
        begin = time.perf_counter()
        for _ in range(options.steps):
            result = step()
        torch.cuda.synchronize()
        ms = 1e3 * (time.perf_counter() - begin)
    if options.profiler:
        profiler.export_chrome_trace(options.profiler)
    print(f"{ms:.3f} ms, {ms / options.steps:.3f} ms a step", file=sys.stderr)
    print(f"torch_job: {options.mode}, {options.steps} steps, result {result:.3f}")


if __name__ == "__main__":
    main()
