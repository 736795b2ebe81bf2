"""Makes each of torch.distributed's eighteen calls, and prints a line of JSON for each call of each rank:
what the call was made with. Needs torchrun and an even number of ranks."""
import json
import sys

import torch
import torch.distributed as dist


def main():
    dist.init_process_group("nccl")
    rank, size = dist.get_rank(), dist.get_world_size()
    torch.cuda.set_device(rank)
    last, peer, device = size - 1, rank ^ 1, torch.device("cuda", rank)

    def made(_, call, message_size, root=None, peer=None, group=None, dtype="Float", batch=None):
        """Reports a call that was made. `batch` is equal for the members of a batch."""
        sys.stdout.write(json.dumps({
            "rank": rank, "call": call, "size": message_size, "root": root, "peer": peer,
            "group": group or list(range(size)), "dtype": dtype, "batch": batch}) + "\n")
        sys.stdout.flush()

    def floats(count):
        return torch.ones(count, device=device)

    def parts(count):
        return [floats(count) for _ in range(size)]

    made(dist.all_reduce(floats(10)), "all_reduce", 40)
    made(dist.all_reduce(floats(6).bfloat16(), async_op=True).wait(), "all_reduce", 12, dtype="BFloat16")
    made(dist.broadcast(floats(11), src=last), "broadcast", 44, root=last)
    made(dist.reduce(floats(12), dst=last), "reduce", 48, root=last)
    made(dist.all_gather(parts(3), floats(3)), "all_gather", 12 * size)
    made(dist.all_gather_into_tensor(floats(5 * size), floats(5)), "all_gather_into_tensor", 20 * size)
    made(dist.reduce_scatter(floats(7), parts(7)), "reduce_scatter", 28 * size)
    made(dist.reduce_scatter_tensor(floats(9), floats(9 * size)), "reduce_scatter_tensor", 36 * size)
    made(dist.all_to_all(parts(13), parts(13)), "all_to_all", 52 * size)
    made(dist.all_to_all_single(floats(2 * size), floats(2 * size)), "all_to_all_single", 8 * size)
    # Rank r sends r + 1 elements to each rank.
    counts = [r + 1 for r in range(size)]
    made(dist.all_to_all_single(floats(sum(counts)), floats(size * counts[rank]), output_split_sizes=counts,
                                input_split_sizes=[counts[rank]] * size),
         "all_to_all_single", 4 * size * counts[rank])
    made(dist.gather(floats(4), parts(4) if rank == last else None, dst=last), "gather", 16 * size, root=last)
    made(dist.scatter(floats(8), parts(8) if rank == 0 else None, src=0), "scatter", 32 * size, root=0)
    made(dist.barrier(), "barrier", 0, dtype="Byte")
    if rank < peer:
        made(dist.send(floats(21), dst=peer), "send", 84, peer=peer)
        made(dist.recv(floats(22), src=peer), "recv", 88, peer=peer)
        made(dist.isend(floats(23), dst=peer).wait(), "isend", 92, peer=peer)
    else:
        made(dist.recv(floats(21), src=peer), "recv", 84, peer=peer)
        made(dist.send(floats(22), dst=peer), "send", 88, peer=peer)
        made(dist.irecv(floats(23), src=peer).wait(), "irecv", 92, peer=peer)
    batches(dist, made, floats, peer, device, size)

    group = [rank & ~1, rank | 1]
    pair = [dist.new_group([first, first + 1]) for first in range(0, size, 2)][rank // 2]
    made(dist.all_reduce(floats(71), group=pair), "all_reduce", 284, group=group)
    made(dist.broadcast(floats(72), src=group[1], group=pair), "broadcast", 288, root=group[1], group=group)
    try:  # The simulated GPU computes nothing here, so that the receivers cannot unpickle the object.
        dist.broadcast_object_list([{"a": 1}], src=0)
    except EOFError:
        pass
    made(None, "broadcast_object_list", None, root=0)
    torch.cuda.synchronize()
    dist.destroy_process_group()


def batches(dist, made, floats, peer, device, size):
    """Makes calls that share a kernel."""
    one, other = floats(31), torch.ones(32, device=device, dtype=torch.int64)
    for _ in range(2):
        works = dist.batch_isend_irecv([dist.P2POp(dist.isend, one, peer),
                                        dist.P2POp(dist.irecv, torch.empty_like(one), peer),
                                        dist.P2POp(dist.isend, other, peer),
                                        dist.P2POp(dist.irecv, torch.empty_like(other), peer)])
        for work in works:
            work.wait()
        for call, count, dtype in (("isend", 124, "Float"), ("irecv", 124, "Float"),
                                   ("isend", 256, "Long"), ("irecv", 256, "Long")):
            made(None, call, count, peer=peer, dtype=dtype, batch=id(works))
    with dist._coalescing_manager(device=device):
        dist.all_reduce(floats(41))
        dist.all_reduce(floats(42))
    made(None, "all_reduce", 4 * (41 + 42))
    with dist._coalescing_manager(device=device, async_ops=True) as works:
        dist.all_gather_into_tensor(floats(51 * size), floats(51))
        dist.all_gather_into_tensor(floats(52 * size), floats(52))
    works.wait()
    made(None, "all_gather_into_tensor", 4 * (51 + 52) * size)
    with dist._coalescing_manager(device=device):
        dist.reduce_scatter_tensor(floats(61), floats(61 * size))
        dist.reduce_scatter_tensor(floats(62), floats(62 * size))
    made(None, "reduce_scatter_tensor", 4 * (61 + 62) * size)


main()
