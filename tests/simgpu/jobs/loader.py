"""A DataLoader with forked workers and pinned memory, feeding copies that overlap the work."""
import torch
from torch.utils.data import DataLoader, Dataset


class Numbers(Dataset):
    def __len__(self):
        return 512

    def __getitem__(self, index):
        return torch.full((256,), float(index)), index


def main():
    torch.cuda.init()  # the workers are forked from a process that uses the GPU
    model = torch.nn.Linear(256, 8).cuda()
    loader = DataLoader(Numbers(), batch_size=32, num_workers=2, pin_memory=True,
                        multiprocessing_context="fork", prefetch_factor=2)
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


main()
