"""Trains a small network with DistributedDataParallel. The last rank prepares its batches more slowly than
the others, which therefore wait for it in each step.

    CUDA_INJECTION64_PATH=.../libsyncline.so torchrun --nproc-per-node 2 samples/train_ddp.py [--steps N]

The script does not use syncline itself.
"""

import argparse
import os
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

WIDTH, BATCH = 512, 64
SLOW_S = 0.03  # the last rank's additional time to prepare a batch


def batch_of(rank):
    if rank == dist.get_world_size() - 1:
        time.sleep(SLOW_S)
    return torch.randn(BATCH, WIDTH)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=10, help="training steps (10)")
    options = parser.parse_args()
    rank, devices = int(os.environ["RANK"]), torch.cuda.device_count()
    if int(os.environ["LOCAL_WORLD_SIZE"]) > devices:
        # NCCL refuses two ranks of one host on one GPU, so that each rank poses as a host.
        os.environ["NCCL_HOSTID"] = f"rank{rank}"
        os.environ["NCCL_MULTI_RANK_GPU_ENABLE"] = "1"  # from NCCL 2.30 on
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]) % devices)
    dist.init_process_group("nccl")
    torch.manual_seed(0)
    model = DistributedDataParallel(nn.Sequential(
        nn.Linear(WIDTH, 2 * WIDTH), nn.GELU(), nn.Linear(2 * WIDTH, 2 * WIDTH), nn.GELU(),
        nn.Linear(2 * WIDTH, 1)).cuda(), bucket_cap_mb=2)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    for _ in range(options.steps):
        loss = model(batch_of(rank).cuda()).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        dist.all_reduce(loss.detach())
    torch.cuda.synchronize()
    if rank == 0:
        print(f"{options.steps} steps on {dist.get_world_size()} ranks")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
