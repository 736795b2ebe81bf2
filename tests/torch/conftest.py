"""Runs unmodified PyTorch on the simulated GPU. SL_TEST_TORCH is the name of an environment
(tests/venv.sh; default: torch-2.11), or the path of an interpreter with another PyTorch.
SL_TEST_BUILD is the build folder of the tested library, as in tests/e2e."""
import os
import pathlib
import re
import subprocess
import sys

import pytest

REPO = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(REPO / "tests" / "e2e"))

import harness  # noqa: E402
import standstill  # noqa: E402
from standstill import pytest_runtest_protocol  # noqa: E402, F401 - pytest finds this hook by its name

JOBS = REPO / "tests" / "simgpu" / "jobs"
ENVIRONMENT = os.environ.get("SL_TEST_TORCH", "torch-2.11")


def pytest_configure(config):
    standstill.pytest_configure(config)


def pytest_sessionstart(session):
    if not harness.LIBRARY.exists():
        pytest.exit(f"{harness.LIBRARY} is not built: cmake --build {harness.BUILD}", returncode=3)


def interpreter() -> pathlib.Path:
    if "/" in ENVIRONMENT:
        return pathlib.Path(ENVIRONMENT)
    done = subprocess.run([REPO / "tests" / "venv.sh", ENVIRONMENT], check=True,
                          stdout=subprocess.PIPE, text=True)
    return pathlib.Path(done.stdout.strip())


def facts(python: pathlib.Path) -> tuple[str, str]:
    """Returns the version of the interpreter's PyTorch ("2.11.0+cu130"), and the CUDA version for
    which PyPI's PyTorch of this version was built."""
    path = next(python.parents[1].glob("lib/python*/site-packages/torch/version.py"))
    found = dict(re.findall(r"^(__version__|cuda)\b.*? = '(.*)'", path.read_text(), re.MULTILINE))
    return found["__version__"], found["cuda"]


def build_observer(python: pathlib.Path) -> None:
    """Compiles the observer for this version of PyTorch, in the folder where the build tree searches for it.
    Versions before 2.4 have no observer."""
    minor = ".".join(facts(python)[0].split(".")[:2])
    if int(minor.split(".")[1]) < 4:
        return
    sources = [*(REPO / "python_hook" / name for name in
                 ("torch_ops.cpp", "torch_caller.hpp", "build_observers.sh")),
               REPO / "runtime" / "collect" / "torch" / "ops_abi.h",
               REPO / "runtime" / "event" / "op_inputs_format.h"]
    newest = max(p.stat().st_mtime for p in sources)
    built = (REPO / "build" / "observers").glob(f"torch-{minor}*.so")
    if any(path.stat().st_mtime > newest for path in built):
        return
    subprocess.run([REPO / "python_hook" / "build_observers.sh", python], check=True,
                   env={**os.environ, "CXXFLAGS": "-Werror"})


class Torch:
    """The PyTorch environment: its interpreter, and functions that run jobs with this interpreter."""

    def __init__(self, tmp: pathlib.Path):
        self.python = interpreter()
        self.version, self.cupti = facts(self.python)
        self.minor = int(self.version.split(".")[1])
        build_observer(self.python)
        self.tmp = tmp
        self.count = 0

    @property
    def libraries(self) -> pathlib.Path:
        """Returns the folder torch/lib of the installed wheel."""
        return next(self.python.parents[1].glob("lib/python*/site-packages/torch/lib"))

    def run(self, *command, sim: list[str] | None = None, **options) -> harness.Run:
        """Runs a command in a new folder, with the arguments of harness.run()."""
        self.count += 1
        folder = self.tmp / str(self.count)
        folder.mkdir()
        return harness.run(folder, *command, sim=["--cupti", self.cupti, *(sim or [])],
                           OMP_NUM_THREADS="1", **{"timeout": 120, **options})

    def job(self, name: str, *arguments, before=(), under=(), **options) -> harness.Run:
        """Runs the job `name` of tests/simgpu/jobs. `name` may also be a path without .py. `under`
        is a script that runs the job. `before` is put in front of the whole command."""
        return self.run(*before, self.python, *under, JOBS / f"{name}.py", *arguments, **options)

    def ranks(self, name: str, ranks: int, before=(), under=(), sim=(), **options) -> harness.Run:
        """Runs a job under torchrun with one device per rank. Each process has its own truth and
        log, as after processes()."""
        return self.run(*before, self.python.parent / "torchrun", "--nproc-per-node", str(ranks),
                        "--master-port", "0", "--rdzv-backend", "c10d", "--rdzv-endpoint",
                        "localhost:0", *under, JOBS / f"{name}.py",
                        sim=["--devices", str(ranks), *self.processes(), *sim], **options)

    def processes(self) -> list[str]:
        """Returns simulator options for the next run. With these options each process writes its
        own truth (truth-PID.jsonl) and log."""
        folder = self.tmp / str(self.count + 1)
        return ["--truth", str(folder / "truth-%p.jsonl"), "--log", str(folder / "log-%p.jsonl")]


@pytest.fixture
def torch(tmp_path: pathlib.Path) -> Torch:
    return Torch(tmp_path)
