"""Makes the collectives of a model that is split by tensors and by pipeline stages, and prints a line of JSON
for each call: what it was made with. Needs torchrun with 4 ranks: rank r is in stage r / 2, and ranks of a stage
share its tensors."""
import json
import sys

import torch
import torch.distributed as dist

MICROBATCHES = 3


def main():
    dist.init_process_group("nccl")
    rank, size = dist.get_rank(), dist.get_world_size()
    torch.cuda.set_device(rank)
    stage, peer = rank // 2, rank ^ 2
    tensor = [dist.new_group([0, 1]), dist.new_group([2, 3])][stage]
    pipeline = [dist.new_group([0, 2]), dist.new_group([1, 3])][rank % 2]
    pair, column = [rank & 2, rank | 1], [rank & 1, rank | 2]
    x, wide, half = (torch.ones(count, device="cuda") for count in (1000, 2000, 500))

    def made(_, call, nccl, count, size, group, root=None, peer=None):
        """Reports a call. `count` and `size` are NCCL's number of elements, and the message's bytes."""
        sys.stdout.write(json.dumps({"rank": rank, "call": call, "nccl": nccl, "count": count, "size": size,
                                     "group": group, "root": root, "peer": peer,
                                     "line": sys._getframe(1).f_lineno}) + "\n")
        sys.stdout.flush()

    made(dist.broadcast(x, src=pair[1], group=tensor), "broadcast", "Broadcast", 1000, 4000, pair, root=pair[1])
    for _ in range(MICROBATCHES):
        if stage == 1:
            made(dist.recv(x, src=peer, group=pipeline), "recv", "Recv", 1000, 4000, column, peer=peer)
        made(dist.all_gather_into_tensor(wide, x, group=tensor), "all_gather_into_tensor", "AllGather", 1000, 8000, pair)
        made(dist.reduce_scatter_tensor(half, x, group=tensor), "reduce_scatter_tensor", "ReduceScatter", 500, 4000, pair)
        made(dist.all_reduce(half, group=tensor), "all_reduce", "AllReduce", 500, 2000, pair)
        if stage == 0:
            made(dist.send(x, dst=peer, group=pipeline), "send", "Send", 1000, 4000, column, peer=peer)
    made(dist.reduce(half, dst=0), "reduce", "Reduce", 500, 2000, list(range(size)), root=0)
    torch.cuda.synchronize()
    dist.destroy_process_group()


main()
