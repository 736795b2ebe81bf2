"""A job of several ranks that makes collectives of NCCL, which the checks on a real GPU record and measure.

    nccl_ranks.py --mode calls|graph|abort|cost|train [--ranks N] [--calls PREFIX]

Starts the ranks and waits for them. Rank r uses GPU r modulo the number of GPUs, so that two ranks may
share a GPU: NCCL then takes each rank for a host of its own (NCCL_HOSTID), because it refuses two ranks of
one host on one GPU.

calls: each function of torch.distributed, in several sizes, groups, batches and threads. graph: captured
collectives, which are replayed. abort: a collective that one rank never calls, and whose group is aborted.
cost: many all_reduce of each of several sizes. train: DistributedDataParallel.

--calls PREFIX writes PREFIX-RANK.jsonl: a line for each kernel of NCCL, in order, which says what it was
made for and between which times (CLOCK_REALTIME, ns) it ran. What the ranks print on stdout is the same in
every run, except for cost, which prints the time of each size in us."""

import argparse
import json
import os
import pathlib
import socket
import subprocess
import sys
import threading
import time

SIZES = (1 << 10, 1 << 18, 1 << 22)  # bytes
COST_SIZES = tuple(1 << power for power in range(10, 28, 3))
REPLAYS, CAPTURED = 10, 3


def start_ranks(options):
    """Returns the first status of the ranks that is not 0, or 0. Prints their output in the order of ranks."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    ranks = []
    for rank in range(options.ranks):
        environment = {"RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": str(options.ranks),
                       "LOCAL_WORLD_SIZE": str(options.ranks), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
        ranks.append(subprocess.Popen([sys.executable, *sys.argv], env={**os.environ, **environment}, text=True,
                                      stdout=subprocess.PIPE, stderr=subprocess.PIPE))
    # A thread for each rank reads its output, because a full pipe would stop the rank and with it all others.
    texts = [None] * len(ranks)

    def read(at):
        texts[at] = ranks[at].communicate()

    readers = [threading.Thread(target=read, args=(at,)) for at in range(len(ranks))]
    for reader in readers:
        reader.start()
    for reader in readers:
        reader.join()
    for out, error in texts:
        sys.stdout.write(out)
        sys.stderr.write(error)
    return next((rank.returncode for rank in ranks if rank.returncode), 0)


class Rank:
    """What all modes need: this rank's device, and the file of its calls."""

    def __init__(self, torch, dist, calls):
        self.torch, self.dist = torch, dist
        self.rank, self.size = dist.get_rank(), dist.get_world_size()
        self.file = open(f"{calls}-{self.rank}.jsonl", "w", encoding="utf-8") if calls else None

    def floats(self, count):
        return self.torch.ones(count, device="cuda")

    def made(self, what, call, **facts):
        """Makes the call, waits for the GPU, and writes what was made."""
        before = time.time_ns()
        call()
        self.torch.cuda.synchronize()
        self.write(what, before, **facts)

    def write(self, what, before, **facts):
        if self.file:
            self.file.write(json.dumps({"what": what, "before": before, "after": time.time_ns(), **facts}) + "\n")
            self.file.flush()


def collectives(job, size, group=None):
    """Makes each function once. A list of functions stands for any of them: it depends on the version of PyTorch
    which one it calls."""
    dist, n = job.dist, job.size
    count = size // 4
    part = count // n
    x, parts, whole = job.floats(count), job.floats(part), job.floats(part * n)
    last, facts = n - 1, {"dtype": "ncclFloat32"}
    job.made(["AllReduce"], lambda: dist.all_reduce(x, group=group), count=count, **facts)
    job.made(["Broadcast"], lambda: dist.broadcast(x, src=last, group=group), count=count, root=last, **facts)
    job.made(["Reduce"], lambda: dist.reduce(x, dst=last, group=group), count=count, root=last, **facts)
    job.made(["AllGather"], lambda: dist.all_gather_into_tensor(whole, parts, group=group), count=part, **facts)
    job.made(["ReduceScatter"], lambda: dist.reduce_scatter_tensor(parts, whole, group=group), count=part, **facts)
    job.made(["AlltoAll", "Send", "Recv", "mixed"],
             lambda: dist.all_to_all_single(job.floats(part * n), whole, group=group))
    job.made(["Gather", "Send", "Recv", "mixed"], lambda: dist.gather(
        parts, [job.floats(part) for _ in range(n)] if job.rank == last else None, dst=last, group=group))
    job.made(["Scatter", "Send", "Recv", "mixed"], lambda: dist.scatter(
        parts, [job.floats(part) for _ in range(n)] if job.rank == 0 else None, src=0, group=group))


def messages(job):
    """Ranks 0 and 1 send to each other."""
    dist = job.dist
    if job.rank < 2:
        peer = 1 - job.rank
        x = job.floats(1000)
        first, second = ("Send", "Recv") if job.rank == 0 else ("Recv", "Send")
        for what in (first, second):
            call = dist.send if what == "Send" else dist.recv
            job.made([what], lambda call=call: call(x, peer), count=1000, dtype="ncclFloat32", peer=peer)
        y = job.floats(1000)
        job.made(["mixed"], lambda: [work.wait() for work in dist.batch_isend_irecv(
            [dist.P2POp(dist.isend, x, peer), dist.P2POp(dist.irecv, y, peer)])])


def calls(job):
    dist = job.dist
    for size in SIZES:
        collectives(job, size)
    messages(job)
    other = dist.new_group(list(range(job.size)))
    collectives(job, SIZES[0], other)

    # Calls of which none waits for the one before: the launches precede the kernels by far.
    x = job.floats(SIZES[1] // 4)
    before = time.time_ns()
    for _ in range(20):
        dist.all_reduce(x)
    job.torch.cuda.synchronize()
    for _ in range(20):
        job.write(["AllReduce"], before, count=SIZES[1] // 4, dtype="ncclFloat32")

    def coalesced():
        with dist._coalescing_manager(device=x.device):
            dist.all_reduce(x)
            dist.all_reduce(job.floats(100))

    job.made(["AllReduce"], coalesced, calls=2)

    def in_thread():
        job.torch.cuda.set_device(x.device)
        job.made(["AllReduce"], lambda: dist.all_reduce(x, group=other), count=SIZES[1] // 4, dtype="ncclFloat32")

    thread = threading.Thread(target=in_thread)
    thread.start()
    thread.join()
    print(f"calls: rank {job.rank} of {job.size} is done")


def graph(job):
    dist, torch = job.dist, job.torch
    x = job.floats(1 << 16)
    job.made(["AllReduce"], lambda: dist.all_reduce(x), count=1 << 16)
    captured = torch.cuda.CUDAGraph()
    with torch.cuda.graph(captured):
        for _ in range(CAPTURED):
            dist.all_reduce(x)
    for _ in range(REPLAYS):
        before = time.time_ns()
        captured.replay()
        torch.cuda.synchronize()
        for _ in range(CAPTURED):
            job.write(["AllReduce"], before, count=1 << 16, is_replayed=True)
    job.made(["AllReduce"], lambda: dist.all_reduce(x), count=1 << 16)
    print(f"graph: rank {job.rank} replayed {REPLAYS} times")
    # A communicator cannot be destroyed while a graph holds its operations.
    del captured
    torch.cuda.synchronize()


def abort(job):
    dist = job.dist
    doomed = dist.new_group(list(range(job.size)))
    x = job.floats(1 << 16)
    job.made(["AllReduce"], lambda: dist.all_reduce(x, group=doomed), count=1 << 16)
    before = time.time_ns()
    if job.rank == 0:
        dist.all_reduce(x, group=doomed, async_op=True)
        time.sleep(0.3)
    dist.distributed_c10d._abort_process_group(doomed)
    job.torch.cuda.synchronize()
    if job.rank == 0:
        job.write(["AllReduce"], before, count=1 << 16)
    later = dist.new_group(list(range(job.size)))
    y = job.floats(1 << 10)
    job.made(["AllReduce"], lambda: dist.all_reduce(y, group=later), count=1 << 10)
    print(f"abort: rank {job.rank} went on")


def cost(job):
    dist, torch = job.dist, job.torch
    times = {}
    for size in COST_SIZES:
        x = job.floats(size // 4)
        for _ in range(5):
            dist.all_reduce(x)
        torch.cuda.synchronize()
        dist.barrier()
        torch.cuda.synchronize()
        repeats = 100 if size < 1 << 22 else 20
        begin = time.perf_counter()
        for _ in range(repeats):
            dist.all_reduce(x)
        torch.cuda.synchronize()
        times[size] = round(1e6 * (time.perf_counter() - begin) / repeats, 2)
    if job.rank == 0:
        print(json.dumps(times))


def train(job):
    torch = job.torch
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(512, 2048), torch.nn.ReLU(), torch.nn.Linear(2048, 2048),
                                torch.nn.ReLU(), torch.nn.Linear(2048, 64)).cuda()
    ddp = torch.nn.parallel.DistributedDataParallel(model, bucket_cap_mb=4)
    optimizer = torch.optim.AdamW(ddp.parameters(), lr=1e-4)
    batch = torch.randn(256, 512, device="cuda")

    def step():
        optimizer.zero_grad()
        loss = ddp(batch).square().mean()
        loss.backward()
        optimizer.step()
        return loss

    steps = 30
    for _ in range(5):
        step()
    torch.cuda.synchronize()
    begin = time.perf_counter()
    for _ in range(steps):
        loss = step()
    torch.cuda.synchronize()
    ms = 1e3 * (time.perf_counter() - begin)
    if job.rank == 0:
        print(f"{ms:.3f} ms, {ms / steps:.3f} ms a step", file=sys.stderr)
    print(f"train: rank {job.rank}, {steps} steps, loss {loss.item():.3f}")


MODES = {"calls": calls, "graph": graph, "abort": abort, "cost": cost, "train": train}


def run_rank(options):
    # pylint: disable=import-outside-toplevel (the process that starts the ranks needs no PyTorch)
    import torch
    import torch.distributed as dist

    rank = int(os.environ["RANK"])
    if options.ranks > torch.cuda.device_count():
        os.environ["NCCL_HOSTID"] = f"rank{rank}"
        os.environ["NCCL_MULTI_RANK_GPU_ENABLE"] = "1"  # from NCCL 2.30 on
    torch.cuda.set_device(rank % torch.cuda.device_count())
    dist.init_process_group("nccl")
    MODES[options.mode](Rank(torch, dist, options.calls))
    dist.destroy_process_group()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--mode", choices=MODES, default="calls")
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--calls", type=pathlib.Path, metavar="PREFIX")
    options = parser.parse_args()
    if "RANK" in os.environ:
        run_rank(options)
    else:
        sys.exit(start_ranks(options))


if __name__ == "__main__":
    main()
