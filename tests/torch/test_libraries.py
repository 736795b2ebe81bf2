"""The stand-ins have what PyTorch imports: no more is promised, and no less."""
import subprocess
import sys

import harness
from conftest import REPO

GENERATE = REPO / "tests" / "simgpu" / "libraries" / "generate.py"


def generate(*arguments) -> str:
    return subprocess.run([sys.executable, GENERATE, *map(str, arguments)], check=True,
                          stdout=subprocess.PIPE, text=True).stdout


def test_list_is_current(torch):
    cuda = torch.cupti.split(".")[0]
    assert generate(torch.libraries) == (GENERATE.parent / f"symbols-cuda{cuda}.txt").read_text()


def test_nothing_is_missing(torch):
    folder = harness.BUILD / "tests" / "simgpu"
    cuda = torch.cupti.split(".")[0]
    places = [folder / "lib", folder / "lib" / f"cuda{cuda}", folder / "cupti" / torch.cupti]
    assert generate("--missing", torch.libraries, ":".join(map(str, places))) == ""


def test_what_is_not_simulated_says_so(torch):
    script = torch.tmp / "solve.py"
    script.write_text("import torch\n"
                      "try:\n"
                      "    torch.linalg.eigh(torch.eye(600, device='cuda'))\n"
                      "except RuntimeError:\n"
                      "    print('refused')\n")
    run = torch.run(torch.python, script, inject=False)
    assert (run.status, run.stdout) == (0, "refused\n"), run.stderr
    assert "is not simulated" in run.stderr
