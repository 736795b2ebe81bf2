"""Trains with fully_shard, which gathers parameters and scatters gradients layer by layer.
Needs torchrun."""
import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard

STEPS = 5


def main():
    dist.init_process_group("nccl")
    rank = dist.get_rank()
    torch.cuda.set_device(rank)
    torch.manual_seed(0)
    layer = nn.TransformerEncoderLayer(64, 4, 256, batch_first=True, dropout=0.0)
    model = nn.TransformerEncoder(layer, 3, enable_nested_tensor=False).cuda()
    policy = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
    for block in model.layers:
        fully_shard(block, mp_policy=policy)
    fully_shard(model, mp_policy=policy)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    for _ in range(STEPS):
        loss = model(torch.randn(4, 16, 64, device="cuda")).float().square().mean()
        loss.backward()
        norm = nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
    norm.full_tensor().item()
    if rank == 0:
        shard = next(iter(model.parameters())).to_local().shape[0]
        print(f"fsdp: {STEPS} steps on {dist.get_world_size()} ranks, first shard has {shard} rows")
    dist.barrier()
    dist.destroy_process_group()


main()
