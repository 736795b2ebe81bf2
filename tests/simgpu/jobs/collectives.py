"""Every collective of torch.distributed, on data that shows whether it arrived. Under torchrun."""
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
        work = dist.all_reduce(y, op=op, async_op=True)
        work.wait()
        show(f"all_reduce {op}", y)
    gathered = torch.empty(2 * size).cuda()
    dist.all_gather_into_tensor(gathered, mine(rank, rank + 0.5))
    show("all_gather", gathered)
    part = torch.empty(1).cuda()
    dist.reduce_scatter_tensor(part, mine(*(float(rank * size + i) for i in range(size))))
    parts = [torch.empty(1).cuda() for _ in range(size)]
    dist.all_gather(parts, part)
    show("reduce_scatter", torch.cat([p.cpu() for p in parts]))
    b = mine(float(rank), 7.0 * rank)
    dist.broadcast(b, src=size - 1)
    show("broadcast", b)
    r = mine(float(rank))
    dist.reduce(r, dst=0)
    show("reduce", r)
    out = torch.empty(size).cuda()
    dist.all_to_all_single(out, mine(*(float(10 * rank + i) for i in range(size))))
    show("all_to_all", out)
    if rank == 0:
        dist.send(mine(42.0), dst=1)
    elif rank == 1:
        dist.recv(b[:1], src=0)
        dist.send(b[:1], dst=0)
    if rank == 0:
        dist.recv(b[:1], src=1)
        show("send and recv", b[:1])
    pair = dist.new_group([0, 1])
    if rank < 2:
        z = mine(1.0)
        dist.all_reduce(z, group=pair)
        show("all_reduce of a pair", z)
    dist.barrier()
    big = torch.full((1 << 20,), float(rank)).cuda()
    dist.all_reduce(big)
    show("big", big[-2:])
    dist.destroy_process_group()


main()
