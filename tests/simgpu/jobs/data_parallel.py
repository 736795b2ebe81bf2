"""Trains with nn.DataParallel. One process has two devices. For each device there is a thread and a
replica of the model. NCCL runs on the default streams. Needs --devices 2."""
import torch
from torch import nn
from torch.cuda import comm, nccl

STEPS = 5
DEVICES = range(2)


def show(name, tensors):
    print("data_parallel:", name, [tensor.flatten()[:3].tolist() for tensor in tensors])


def main():
    own = [torch.full((1000,), device + 1.0).to(device) for device in DEVICES]
    show("broadcast", comm.broadcast(own[1], [1, 0]))
    nccl.all_reduce(own)
    show("all_reduce", own)
    show("reduce_add", [comm.reduce_add(own, destination=1)])
    streams = [torch.cuda.Stream(device) for device in DEVICES]
    for device in DEVICES:
        streams[device].wait_stream(torch.cuda.current_stream(device))
    nccl.all_reduce(own, streams=streams)
    for stream in streams:
        stream.synchronize()
    show("all_reduce on streams", own)

    model = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 8)).cuda()
    parallel = nn.DataParallel(model, device_ids=list(DEVICES))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(STEPS):
        optimizer.zero_grad()
        out = parallel(torch.randn(32, 64).cuda())
        out.sum().backward()
        optimizer.step()
    for device in DEVICES:
        torch.cuda.synchronize(device)
    print(f"data_parallel: {STEPS} steps, {tuple(out.shape)} gathered")


main()
