"""Trains with a DataLoader that has forked or spawned workers and pinned memory. The copies of
batches overlap with GPU work. Usage: loader.py [fork|spawn]"""
import sys

import torch
from torch.utils.data import DataLoader, Dataset


class Numbers(Dataset):
    def __len__(self):
        return 512

    def __getitem__(self, index):
        return torch.full((256,), float(index)), index


def main():
    method = sys.argv[1] if len(sys.argv) > 1 else "fork"
    torch.cuda.init()  # workers are forked from a process that uses the GPU
    model = torch.nn.Linear(256, 8).cuda()
    loader = DataLoader(Numbers(), batch_size=32, num_workers=2, pin_memory=True,
                        multiprocessing_context=method, prefetch_factor=2)
    copies = torch.cuda.Stream()
    total, batches = 0, 0
    for _ in range(2):
        for rows, indices in loader:
            with torch.cuda.stream(copies):
                x = rows.cuda(non_blocking=True)
                i = indices.cuda(non_blocking=True)
            torch.cuda.current_stream().wait_stream(copies)
            x.record_stream(torch.cuda.current_stream())
            model(x).sum().backward()
            total += int(i.cpu().sum())
            batches += 1
    print(f"loader: {batches} batches, {rows.is_pinned()}, indices add up to {total}")


if __name__ == "__main__":  # a spawned worker also reads this file
    main()
