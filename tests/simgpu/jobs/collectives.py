"""Runs every collective of torch.distributed, and prints the data that each rank received. Needs
torchrun."""
import torch
import torch.distributed as dist


def show(name, tensor):
    if dist.get_rank() == 0:
        print(name, tensor.flatten().tolist())


def main():
    dist.init_process_group("nccl")
    rank, size = dist.get_rank(), dist.get_world_size()
    torch.cuda.set_device(rank)

    def mine(*values, dtype=torch.float32):
        return torch.tensor(values, dtype=dtype).cuda()

    x = mine(rank + 1.0, 10.0 * (rank + 1))
    dist.all_reduce(x)
    show("all_reduce sum", x)
    for op, dtype in ((dist.ReduceOp.MAX, torch.int64), (dist.ReduceOp.AVG, torch.bfloat16),
                      (dist.ReduceOp.PRODUCT, torch.float64), (dist.ReduceOp.MIN, torch.float16)):
        y = mine(rank + 1, -rank, dtype=dtype)
        dist.all_reduce(y, op=op, async_op=True).wait()
        show(f"all_reduce {op}", y)
    gathered = torch.empty(2 * size).cuda()
    dist.all_gather_into_tensor(gathered, mine(rank, rank + 0.5))
    show("all_gather", gathered)
    part, parted = gathered[:1], gathered[:size]
    dist.reduce_scatter_tensor(part, mine(*(float(rank * size + i) for i in range(size))))
    parts = [torch.empty(1).cuda() for _ in range(size)]
    dist.all_gather(parts, part)
    show("reduce_scatter", torch.cat([p.cpu() for p in parts]))
    b = mine(float(rank), 7.0 * rank)
    dist.broadcast(b, src=size - 1)
    show("broadcast", b)
    dist.reduce(one := mine(float(rank)), dst=0)
    show("reduce", one)
    dist.all_to_all_single(parted, mine(*(float(10 * rank + i) for i in range(size))))
    show("all_to_all", parted)
    if rank == 0:
        dist.send(mine(42.0), dst=1)
        dist.recv(b[:1], src=1)
        show("send and recv", b[:1])
    elif rank == 1:
        dist.recv(b[:1], src=0)
        dist.send(b[:1], dst=0)
    pair = dist.new_group([0, 1])
    if rank < 2:
        dist.all_reduce(one := mine(1.0), group=pair)
        show("all_reduce of a pair", one)
    dist.barrier()
    big = torch.full((1 << 20,), float(rank)).cuda()
    dist.all_reduce(big)
    show("big", big[-2:])
    dist.destroy_process_group()


main()
