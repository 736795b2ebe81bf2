"""Waits for the GPU in many kinds of places. Each waiting line has the comment `# waits: NAME`. The
kernel before each wait is so long that the line has to wait. The kernels run in the order of the
lines that wait for them."""
import threading
import time

import torch

device = torch.device("cuda")
weight = torch.ones(64, 64, device=device, requires_grad=True)
data = torch.ones(64, 64, device=device)
torch.cuda.synchronize()  # waits: setup
time.sleep(1)  # time for syncline, which looks for PyTorch on its own thread


def work():
    """Enqueues work on the current stream, so that a later line waits."""
    return (data @ data).sum()


def item():
    return work().item()  # waits: item


def to_the_cpu():
    return work().cpu()  # waits: cpu


def nonzero():
    return (data @ data).nonzero()  # waits: nonzero


def truth():
    if work() > 0:  # waits: truth
        return True
    return False


def whole_device():
    work()
    torch.cuda.synchronize()  # waits: device


def accelerator():
    work()
    torch.accelerator.synchronize()  # waits: accelerator


def free():
    torch.empty(1 << 26, device=device)  # large enough for a segment of its own
    work()
    torch.cuda.empty_cache()  # waits: free


def stream():
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        work()
    side.synchronize()  # waits: stream


def event():
    done = torch.cuda.Event()
    work()
    done.record()
    done.synchronize()  # waits: event


def any_stream():
    """Synchronizes a torch.Stream, PyTorch's stream class that is independent of the device
    type."""
    side = torch.Stream(device=device)
    with torch.cuda.stream(torch.cuda.Stream(stream_id=side.stream_id, device_type=side.device_type,
                                             device_index=side.device_index)):
        work()
    side.synchronize()  # waits: any_stream


def any_event():
    done = torch.Event(device=device)
    work()
    done.record()
    done.synchronize()  # waits: any_event


def library():
    """The waiting line must be the line of this file that calls the library, not a line of the
    library."""
    return str(work())  # waits: library


def generator():
    while True:
        yield work().item()  # waits: generator


class Doubled(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        work().item()  # waits: forward
        return x * 2

    @staticmethod
    def backward(ctx, gradient):
        work().item()  # waits: backward
        return gradient * 2


def autograd():
    Doubled.apply(weight).sum().backward()


def hook():
    result = (weight * 2).sum()
    result.register_hook(lambda gradient: gradient + work().item())  # waits: hook
    result.backward()


def annotated():
    with torch.profiler.record_function("mine"):
        work().item()  # waits: annotated


def compiled_part(x):
    return (x @ x).sum() * 2


compiled = torch.compile(compiled_part, backend="eager")


def call_compiled():
    return compiled(data).item()  # waits: compiled


def thread():
    def run():
        work().item()  # waits: thread

    other = threading.Thread(target=run)
    other.start()
    other.join()


for function in (item, to_the_cpu, nonzero, truth, whole_device, free, stream, event, any_stream,
                 any_event, library, autograd, hook, annotated, call_compiled, thread):
    function()
if hasattr(torch, "accelerator"):
    accelerator()
numbers = generator()
for _ in range(3):
    next(numbers)
print("done")
