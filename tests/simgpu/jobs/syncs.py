"""Waits for the GPU in every way that PyTorch has: synchronize, item, cpu, nonzero, printing."""
import torch


def main():
    x = torch.arange(4096, dtype=torch.float32).cuda()
    back = x.cpu()
    pinned = torch.empty(4096, pin_memory=True)
    pinned.copy_(x, non_blocking=True)
    torch.cuda.current_stream().synchronize()
    print("syncs: copied back", bool((back == pinned).all()), int(pinned.sum()))
    y = x.mul(2)
    torch.cuda.synchronize()
    print("item", type(y.sum().item()).__name__, "tolist", len(y[:8].tolist()))
    print("nonzero", y.nonzero().dim(), "masked", y[y > 3].dim(), "unique", y.unique().dim())
    if (y > 0).all():  # calls bool() of a tensor
        print("all true")
    print("repr", repr(y[:2]).startswith("tensor"), "device", y.device)
    event = torch.cuda.Event()
    event.record()
    event.synchronize()
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        z = torch.zeros(1 << 20, device="cuda")
    z.record_stream(torch.cuda.current_stream())
    stream.synchronize()
    print("equal", torch.equal(x, x), "numpy", x[:3].cpu().numpy().tolist())
    del z
    torch.cuda.empty_cache()


main()
