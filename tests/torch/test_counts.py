"""Some tensors have a size that a kernel computes, such as the result of nonzero(). On the
simulated GPU that size is always 0, whatever the memory contains, because kernels compute nothing.
A job can print tensors of the device and search in them."""
import pytest

JOB = """
import os, torch
def leave_rubbish():
    kept = [torch.full((n,), 0x5a5a5a5a5a5a5a5a).cuda() for n in (1, 64, 1000, 100000) for _ in range(8)]
    torch.cuda.synchronize()
def show(text):
    print(len(str(text)) > 8, flush=True)
model = torch.nn.Linear(64, 64).cuda()
for dtype in (torch.float32, torch.float16, torch.bfloat16, torch.float64, torch.complex64, torch.int32,
              torch.int64, torch.uint8, torch.bool):
    for shape in ((), (1,), (64,), (40, 40), (1500, 1500)):
        leave_rubbish()
        show(torch.ones(shape, device="cuda", dtype=dtype))
leave_rubbish()
loss = model(torch.ones(8, 64, device="cuda")).square().mean()
loss.backward()
show({"loss": loss, "model": list(model.parameters()), "gradient": model.weight.grad})
x, i = torch.ones(64, device="cuda"), torch.arange(64, device="cuda")
# Another branch in the middle of CUB and of Thrust for each.
for find in (lambda: torch.ones(2000, 2000, device="cuda").nonzero(), lambda: x.nonzero(),
             lambda: torch.masked_select(x, x > 0), lambda: x[x > 0], lambda: torch.unique(x),
             lambda: torch.unique(i, return_inverse=True, return_counts=True)[2],
             lambda: torch.unique_consecutive(i, return_counts=True)[1],
             lambda: torch.unique(x.view(8, 8), dim=0), lambda: x.view(8, 8).to_sparse().values(),
             lambda: torch.sparse_coo_tensor(i.view(2, 32), x[:32], (99, 99)).coalesce().values(),
             # behind what the stream cannot have done yet
             lambda: (torch.cuda._sleep(1000000), x.nonzero())[1]):
    leave_rubbish()
    print(find().numel(), flush=True)
os.write(1, b"printed\\n")
"""


@pytest.mark.full(seconds=4.7)
def test_a_job_prints_what_is_on_the_device(torch):
    job = torch.tmp / "job.py"
    job.write_text(JOB)
    for inject in (False, True):
        run = torch.run(torch.python, job, inject=inject, timeout=60)
        assert run.status == 0, run.stderr
        assert run.stdout.splitlines() == ["True"] * 46 + ["0"] * 11 + ["printed"]
