"""The simulated libraries have exactly the symbols that PyTorch imports."""
import subprocess
import sys

import harness
import pytest
from conftest import REPO

GENERATE = REPO / "tests" / "simgpu" / "libraries" / "generate.py"


def generate(*arguments) -> str:
    return subprocess.run([sys.executable, GENERATE, *map(str, arguments)], check=True,
                          stdout=subprocess.PIPE, text=True).stdout


def test_list_has_all(torch):
    """The stored list has every symbol that this version of PyTorch imports. The list covers
    several versions."""
    cuda = torch.cupti.split(".")[0]
    kept = (GENERATE.parent / f"symbols-cuda{cuda}.txt").read_text().splitlines()
    assert len(kept) == len(set(kept))
    assert set(generate(torch.libraries).splitlines()) <= set(kept)


def test_nothing_is_missing(torch):
    folder = harness.BUILD / "tests" / "simgpu"
    cuda = torch.cupti.split(".")[0]
    places = [folder / "lib", folder / "lib" / f"cuda{cuda}", folder / "cupti" / torch.cupti]
    assert generate("--missing", torch.libraries, ":".join(map(str, places))) == ""


@pytest.mark.full(seconds=2)
@pytest.mark.parametrize("what", ["torch.linalg.eigh(torch.eye(600, device='cuda'))",
                                  "torch.sparse.mm(torch.eye(64).to_sparse().cuda(), torch.eye(64).cuda())"])
def test_what_is_not_simulated_says_so(torch, what):
    script = torch.tmp / "solve.py"
    script.write_text("import torch\n"
                      "try:\n"
                      f"    {what}\n"
                      "except RuntimeError:\n"
                      "    print('refused')\n")
    run = torch.run(torch.python, script, inject=False)
    assert (run.status, run.stdout) == (0, "refused\n"), run.stderr
    assert "is not simulated" in run.stderr


LAYERS = """
import torch
import torch.nn.functional as F
from torch import nn

def image(channels=8, *size):
    return torch.randn(2, channels, *(size or (8, 8)), device="cuda", requires_grad=True)

for layer, input in (
        (nn.Conv1d(8, 16, 3), image(8, 32)), (nn.Conv3d(8, 16, 3), image(8, 8, 8, 8)),
        (nn.ConvTranspose2d(8, 16, 3), image()), (nn.Conv2d(8, 8, 3, groups=8), image()),
        (nn.GroupNorm(2, 8), image()), (nn.InstanceNorm2d(8), image()), (nn.MaxPool2d(2), image()),
        (nn.AdaptiveAvgPool2d(1), image()), (nn.LSTMCell(16, 32), torch.randn(4, 16, device="cuda")),
        (nn.TransformerEncoderLayer(16, 4, batch_first=True), torch.randn(2, 5, 16, device="cuda"))):
    out = layer.cuda()(input)
    (out[0] if isinstance(out, tuple) else out).sum().backward()
for dtype in (torch.float16, torch.bfloat16, torch.float32):
    heads = [torch.randn(2, 4, 16, 64, device="cuda", dtype=dtype, requires_grad=True) for _ in "qkv"]
    F.scaled_dot_product_attention(*heads, is_causal=True).sum().backward()
x = torch.randn(1000, device="cuda")
x.sort(), x.topk(5), x.cumsum(0), x.median(), torch.searchsorted(x, x)
torch.randperm(100, device="cuda"), torch.multinomial(torch.ones(10, device="cuda"), 3)
torch.fft.irfft(torch.fft.rfft(x)), F.interpolate(image(), scale_factor=2, mode="bilinear")
weight = nn.Parameter(torch.ones(8, device="cuda"))
for kind in (torch.optim.SGD, torch.optim.Adam, torch.optim.RMSprop, torch.optim.Adagrad):
    weight.sum().backward()
    nn.utils.clip_grad_norm_([weight], 1.0)
    kind([weight], lr=0.1).step()
torch.cuda.synchronize()
print("all of it ran")
"""

COMPILED = """
import sys
import torch

f = torch.compile(lambda x: (x * 2 + 1).relu(), backend=sys.argv[1])
try:
    for _ in range(3):
        f(torch.ones(8, device="cuda", requires_grad=True))
    torch.cuda.synchronize()
    print("compiled")
except Exception as error:
    print(type(error).__name__)
"""


def run_script(torch, text, *arguments, **options):
    script = torch.tmp / "script.py"
    script.write_text(text)
    return torch.run(torch.python, script, *arguments, **options)


@pytest.mark.full(seconds=3.2)
def test_what_models_are_made_of(torch):
    """Runs models of common layers. The trace of each model has all its launches and kernels."""
    run = run_script(torch, LAYERS)
    assert (run.status, run.stdout) == (0, "all of it ran\n"), run.stderr
    assert "not simulated" not in run.stderr
    harness.check_trace(run, run.trace())


@pytest.mark.full(seconds=5.6)
@pytest.mark.parametrize("backend, said", [("eager", "compiled"), ("aot_eager", "compiled"),
                                           ("cudagraphs", "compiled"), ("inductor", "TritonMissing")])
def test_compiled(torch, backend, said):
    """Compiles with several backends. inductor needs Triton, which the environment lacks, so PyTorch raises
    its own error."""
    run = run_script(torch, COMPILED, backend)
    assert (run.status, run.stdout) == (0, f"{said}\n"), run.stderr
    if said == "compiled":
        harness.check_trace(run, run.trace())


def test_memory_for_other_processes_is_refused(torch):
    run = run_script(torch, "import torch\n"
                            "try:\n"
                            "    torch.ones(4, device='cuda').untyped_storage()._share_cuda_()\n"
                            "except RuntimeError as error:\n"
                            "    print(str(error).splitlines()[0])\n", inject=False)
    assert (run.status, run.stdout) == (0, "CUDA error: operation not supported\n"), run.stderr
    assert "simgpu: cudaIpcGetMemHandle is not simulated" in run.stderr
