"""Uses PyTorch's wrappers around operators: compiled regions (with backends that need no compiler),
a tensor subclass that intercepts every operator, inference mode."""
import torch
from torch import nn


class Counted(torch.Tensor):
    """Wraps a tensor, and counts the operators that use it."""
    count = 0

    @staticmethod
    def __new__(cls, inside):
        return torch.Tensor._make_wrapper_subclass(cls, inside.size(), strides=inside.stride(),
                                                   dtype=inside.dtype, device=inside.device)

    def __init__(self, inside):
        self.inside = inside

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        Counted.count += 1
        bare = [a.inside if isinstance(a, Counted) else a for a in args]
        return Counted(func(*bare, **(kwargs or {})))


def main():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 32)).cuda()
    x = torch.randn(8, 32, device="cuda")
    for backend in ("eager", "aot_eager"):
        compiled = torch.compile(model, backend=backend)
        for _ in range(3):
            compiled(x).square().sum().backward()
    counted = Counted(x)
    for _ in range(3):
        counted = (counted @ x.t() @ x).relu() + 1
    with torch.inference_mode():
        for _ in range(3):
            model(x).argmax().item()
    torch.cuda.synchronize()
    print(f"regions: {Counted.count} operators counted")


main()
