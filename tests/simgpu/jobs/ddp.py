"""Trains with DistributedDataParallel, which sums gradients over ranks during the backward pass.
Needs torchrun."""
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

STEPS = 10


def main():
    dist.init_process_group("nccl")
    rank = dist.get_rank()
    torch.cuda.set_device(rank)
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(64, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(),
                          nn.Linear(512, 8)).cuda()
    ddp = DistributedDataParallel(model, device_ids=[rank], bucket_cap_mb=1)
    optimizer = torch.optim.AdamW(ddp.parameters(), lr=1e-3)
    for step in range(STEPS):
        loss = ddp(torch.randn(32, 64).cuda(non_blocking=True)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 5 == 4:
            total = loss.detach().clone()
            dist.all_reduce(total)
            total.item()
    with ddp.no_sync():
        ddp(torch.randn(32, 64, device="cuda")).sum().backward()
    ones = torch.ones(4).cuda()
    dist.all_reduce(ones)
    if rank == 0:
        print(f"ddp: {STEPS} steps on {dist.get_world_size()} ranks, ones add up to {ones[0].item()}")
    dist.barrier()
    dist.destroy_process_group()


main()
