"""Makes calls of torch.distributed about which syncline and monitor_collectives.py differ. Needs torchrun and
two ranks."""
import sys

import torch
import torch.distributed as dist


def main():
    dist.init_process_group("nccl")
    rank = dist.get_rank()
    torch.cuda.set_device(rank)
    one = torch.ones(10).cuda()
    dist.all_reduce(one, group=dist.group.WORLD)
    with dist._coalescing_manager(device=one.device):
        dist.all_reduce(one)
        dist.all_reduce(one)
    try:
        dist.recv(one)
    except RuntimeError as error:
        print("recv:", type(error).__name__, file=sys.stderr)
    torch.cuda.synchronize()
    dist.destroy_process_group()


main()
