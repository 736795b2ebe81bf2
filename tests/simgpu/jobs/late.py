"""Rank 1 is late at each of five all_reduce, until the others have begun to wait. Then every rank of a second
group makes three more; with `killed`, rank 1 dies instead of the second of them, and the others end. Starts three
ranks itself."""
import os
import signal
import subprocess
import sys
import tempfile

RANKS, LATE = 3, 1


def rank_of(path, is_killed):
    import torch
    import torch.distributed as dist

    rank = int(os.environ["RANK"])
    store = dist.FileStore(path, RANKS)
    torch.cuda.set_device(rank)
    dist.init_process_group("nccl", store=dist.PrefixStore("job", store), rank=rank, world_size=RANKS)
    x = torch.ones(1000, device="cuda")
    dist.all_reduce(x)
    for step in range(5):
        torch.cuda.synchronize()
        if rank == LATE:
            store.wait([f"{step}-{other}" for other in range(RANKS) if other != LATE])
        before = torch.cuda.Event()
        before.record()
        dist.all_reduce(x)
        while rank != LATE and not before.query():
            pass
        store.set(f"{step}-{rank}", "waits")
    torch.cuda.synchronize()
    dist.all_reduce(x[:10])
    torch.cuda.synchronize()
    if is_killed:
        store.set(f"end-{rank}", "")
        store.wait([f"end-{other}" for other in range(RANKS)])
        if rank == LATE:
            os.kill(os.getpid(), signal.SIGKILL)
        sys.exit(0)
    dist.destroy_process_group()


def main():
    if "RANK" in os.environ:
        rank_of(sys.argv[1], "killed" in sys.argv)
        return
    with tempfile.TemporaryDirectory() as folder:
        ranks = [subprocess.Popen([sys.executable, __file__, f"{folder}/store", *sys.argv[1:]],
                                  env={**os.environ, "RANK": str(rank), "WORLD_SIZE": str(RANKS)}) for rank in range(RANKS)]
        print([rank.wait() for rank in ranks])


main()
