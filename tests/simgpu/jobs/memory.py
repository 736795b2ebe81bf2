"""Trains a net that creates and frees tensors, so that the allocator reserves, releases and again
reserves memory. Prints the statistics of the allocator.
PYTORCH_CUDA_ALLOC_CONF selects the allocator."""
import torch
from torch import nn

STEPS = 4
LARGE = 12 << 20  # number of floats of a tensor that is larger than one request of the allocator to the device


def large_ones_keep_what_they_have():
    """Checks the contents of large tensors. Each of them uses several segments, and parts of these
    segments were used before."""
    for number in range(3):
        here = torch.arange(LARGE + number, dtype=torch.float32)
        there = here.cuda()
        same = torch.equal(there.clone().cpu(), here)
        print(f"memory: {there.numel()} floats are {'the same' if same else 'others'}")
        del there
        torch.cuda.empty_cache()


def main():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 10)).cuda()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    images, labels = torch.randn(128, 64), torch.randint(0, 10, (128,))
    for _ in range(STEPS):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(images.cuda()), labels.cuda())
        loss.backward()
        optimizer.step()
        loss.item()
    print(f"memory: {STEPS} steps")
    large_ones_keep_what_they_have()
    torch.cuda.synchronize()
    kept = torch.cuda.memory_allocated(), torch.cuda.memory_reserved()
    print("memory:", *kept, torch.cuda.max_memory_allocated())
    torch.cuda.reset_peak_memory_stats()
    print("memory: peak", torch.cuda.max_memory_allocated())


main()
