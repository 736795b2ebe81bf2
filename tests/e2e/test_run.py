"""Tests `syncline run`. The command behaves as without syncline, and the Python package is active
from the start of Python. A small stand-in replaces PyTorch."""
import ast
import pathlib
import signal
import subprocess
import sys
import time

import harness
import pytest

RUN = [str(harness.TOOL), "run"]
# Stand-ins for the parts of PyTorch that the hook uses, which count their calls.
TORCH = {
    "__init__.py": "import torch.optim.optimizer, torch.nn.modules.module, torch.autograd.profiler\n"
                   "import torch.utils.data.dataloader\n__version__ = '2.99'\n",
    "optim/__init__.py": "", "nn/__init__.py": "", "nn/modules/__init__.py": "",
    "nn/modules/module.py": "", "autograd/__init__.py": "", "utils/__init__.py": "",
    "utils/data/__init__.py": "",
    "optim/optimizer.py": "hooks = []\nregister_optimizer_step_post_hook = hooks.append\n"
                          "class SGD:\n    def step(self):\n"
                          "        for hook in hooks: hook(self, (), {})\n",
    "autograd/profiler.py": "class profile:\n    def _prepare_trace(self): print('prepared')\n"
                            "def _run_on_profiler_stop(): print('stopped')\n",
    "utils/data/dataloader.py": "class _BaseDataLoaderIter:\n    left = 3\n"
                                "    def __next__(self):\n        self.left -= 1\n"
                                "        if self.left < 0:\n            raise StopIteration\n"
                                "        return self.left\n",
}


@pytest.fixture
def torch(tmp_path) -> pathlib.Path:
    """Returns a folder with a stand-in for PyTorch."""
    folder = tmp_path / "site"
    for name, text in TORCH.items():
        path = folder / "torch" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


def both(tmp: pathlib.Path, command: list, told=3, **variables):
    """Runs the command with and without `syncline run`. Fails if the results differ. Compares the
    first `told` values of the tuple (status, stdout, stderr)."""
    env = harness.environment({"SYNCLINE_OUTPUT": str(tmp / "out"), **variables})
    results = []
    for prefix in ([], RUN):
        done = subprocess.run([*prefix, *map(str, command)], capture_output=True, text=True, env=env,
                              cwd=tmp, check=False)
        results.append((done.returncode, done.stdout, done.stderr))
    assert results[0][:told] == results[1][:told]
    return results[1]


def test_the_command_is_what_it_is(tmp_path):
    code = ("import sys, os\nprint(sys.argv, sys.flags.isolated, 'x')\n"
            "print('e', file=sys.stderr)\nsys.exit(37)")
    for flags in ([], ["-I"], ["-S"], ["-E"], ["-u", "-B"]):
        status, out, err = both(tmp_path, [sys.executable, *flags, "-c", code, "--help", "a b"])
        assert (status, err) == (37, "e\n") and "['-c', '--help', 'a b']" in out


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
def test_signals_are_the_commands(tmp_path, number):
    # The tests may run in the background of a shell, where SIGINT is ignored.
    child = subprocess.Popen([*RUN, "sleep", "60"], env=harness.environment(), cwd=tmp_path,
                             preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
    while pathlib.Path(f"/proc/{child.pid}/comm").read_text().strip() != "sleep":
        time.sleep(0.01)
    child.send_signal(number)
    assert child.wait(timeout=60) == -number


def test_what_it_says_itself(tmp_path):
    def said(*arguments, **variables):
        done = subprocess.run([*RUN, *arguments], capture_output=True, text=True, cwd=tmp_path,
                              env=harness.environment(variables), check=False)
        return done.returncode, done.stderr.strip()

    assert said("no-such-command")[0] == 127
    (tmp_path / "file").write_text("")
    assert said("./file")[0] == 126
    assert said()[0] == 2 and said("--nonsense")[0] == 2
    assert said("-w", "steps:9/3", "true")[0] == 2
    assert said("-w", "steps:3/9", "--", "true") == (0, "")
    status, text = said("true", CUDA_INJECTION64_PATH="/opt/other.so")
    assert status == 2 and "/opt/other.so" in text
    assert said("true", CUDA_INJECTION64_PATH=str(harness.LIBRARY)) == (0, "")
    assert said(*RUN, "true") == (0, "")  # `syncline run syncline run true`


@pytest.mark.parametrize("shadowed", ["fine", "raises", "exits"])
def test_a_sitecustomize_of_the_jobs_own(tmp_path, shadowed):
    site = tmp_path / "own"
    site.mkdir()
    (site / "sitecustomize.py").write_text("import sys\nprint('own', __name__, __file__)\n" + {
        "fine": "value = 1\n", "raises": "raise RuntimeError('own fault')\n",
        "exits": "sys.exit(3)\n"}[shadowed])
    code = "import sys, sitecustomize\nprint(sitecustomize.value, sitecustomize.__spec__.origin)\n"
    # If a sitecustomize calls exit, Python's error message also names syncline's sitecustomize, so
    # stderr is not compared.
    both(tmp_path, [sys.executable, "-c", code], told=2 if shadowed == "exits" else 3,
         PYTHONPATH=str(site))


def test_without_one_it_is_as_if_there_were_none(tmp_path):
    code = ("import sys\nprint('sitecustomize' in sys.modules, [p for p in sys.path if 'early' in p])\n"
            "try:\n    import sitecustomize\n    print(sitecustomize.__file__)\n"
            "except ImportError as error:\n    print(error)\n")
    both(tmp_path, [sys.executable, "-c", code])


def test_no_permission_to_write(tmp_path, torch):
    """The package's folder is read-only, like an installed package, and the output folder cannot be created.
    The command is not affected."""
    code = f"import sys\nsys.path.append({str(torch)!r})\nimport torch\nprint(torch.__version__)\n"
    both(tmp_path, [sys.executable, "-c", code], SYNCLINE_OUTPUT="/proc/nothing",
         PYTHONDONTWRITEBYTECODE="1")


def play(tmp: pathlib.Path, code: str, torch: pathlib.Path, **options) -> harness.Run:
    script = tmp / "job.py"
    script.write_text(f"import sys\nsys.path.append({str(torch)!r})\n" + code)
    return harness.run(tmp, *RUN, sys.executable, script, inject=False, **options)


CUDA = "import ctypes\nassert ctypes.CDLL('libcuda.so.1').cuInit(0) == 0\n"


def test_pytorch_is_hooked_when_it_is_imported(tmp_path, torch):
    """PyTorch is hooked only when the job imports it. The import itself is unchanged."""
    code = ("print('torch' in sys.modules)\nimport torch\n"
            "print(len(torch.optim.optimizer.hooks), type(torch.__spec__.loader).__name__,\n"
            "      type(torch.__loader__).__name__, vars(torch.__loader__).keys(),\n"
            "      [f for f in sys.meta_path if 'syncline' in type(f).__module__])\n"
            "torch.optim.optimizer.SGD().step()\n"
            "p = torch.autograd.profiler.profile()\np._prepare_trace()\n"
            "torch.autograd.profiler._run_on_profiler_stop()\n"
            "i = torch.utils.data.dataloader._BaseDataLoaderIter()\n"
            "for _ in range(3): next(i)\n"
            "print(next(i, 'end'))\n")
    run = play(tmp_path, code, torch, log="warn")
    out = run.stdout.splitlines()
    assert run.status == 0, run.stderr
    assert out[0] == "False"
    assert out[1].startswith("1 SourceFileLoader SourceFileLoader dict_keys(['name', 'path'])")
    assert out[2:] == ["prepared", "stopped", "end"] and run.stderr == ""


def test_a_pytorch_that_is_not_as_expected(tmp_path, torch):
    """PyTorch lacks parts that the hook expects. syncline prints one line for each missing part, and the job
    continues."""
    (torch / "torch/optim/optimizer.py").write_text("")
    (torch / "torch/autograd/profiler.py").write_text("profile = None\n")
    run = play(tmp_path, "import torch\nprint(torch.__version__)\n", torch, log="warn")
    assert (run.status, run.stdout) == (0, "2.99\n")
    assert len(run.said()) == 2 and all("torch 2.99 is not as syncline expects" in line or
                                        "of an unknown version" in line for line in run.said())
    assert {"steps", "the hand-over to torch.profiler"} == {
        what for what in ("steps", "the hand-over to torch.profiler")
        if any(f": {what} may be missing" in line for line in run.said())}


def test_a_pytorch_that_cannot_be_imported(tmp_path, torch):
    (torch / "torch/__init__.py").write_text("raise ImportError('libcudart is missing')\n")
    code = ("for _ in range(2):\n    try:\n        import torch\n    except ImportError as error:\n"
            "        print(error, 'torch' in sys.modules)\n")
    run = play(tmp_path, code, torch, log="warn")
    assert (run.status, run.stderr) == (0, "")
    assert run.stdout == "libcudart is missing False\n" * 2


def test_pytorch_is_absent(tmp_path):
    code = "try:\n    import torch\nexcept ImportError as error:\n    print(error)\n"
    run = play(tmp_path, code, tmp_path, log="debug")
    assert (run.status, run.stdout, run.stderr) == (0, "No module named 'torch'\n", "")


@pytest.mark.parametrize("method", ["spawn", "fork", "forkserver"])
def test_multiprocessing(tmp_path, torch, method):
    """Child processes behave as without syncline."""
    (tmp_path / "child.py").write_text(
        f"import sys\nsys.path.append({str(torch)!r})\nimport torch\n"
        "def work(n):\n    torch.optim.optimizer.SGD().step()\n    return n * n\n")
    script = tmp_path / "job.py"
    script.write_text("import multiprocessing as mp\nfrom child import work\n"
                      "if __name__ == '__main__':\n"
                      f"    with mp.get_context({method!r}).Pool(2) as pool:\n"
                      "        print(pool.map(work, range(5)))\n")
    status, out, err = both(tmp_path, [sys.executable, script])
    assert (status, out, err) == (0, "[0, 1, 4, 9, 16]\n", "")


def test_steps_of_the_stand_in(tmp_path, torch):
    """Batches of the data loader count as steps until an optimizer steps. Steps of a second optimizer do not
    count."""
    code = (CUDA + "import torch, syncline\n"
            "from syncline import _library\n"
            "told = []\n"
            "_library.call = lambda name, *args, **more: told.append((name, *args)) or 0\n"
            "for epoch in range(2):\n    batches = torch.utils.data.dataloader._BaseDataLoaderIter()\n"
            "    while next(batches, None) is not None: pass\n"
            "print(told)\n"
            "told.clear()\n"
            "a, b = torch.optim.optimizer.SGD(), torch.optim.optimizer.SGD()\n"
            "for _ in range(3):\n    a.step(); b.step()\n"
            "print(told)\ntold.clear()\ndel a\n"
            "for _ in range(2):\n    b.step()\nprint(told)\n")
    run = play(tmp_path, code, torch)
    assert run.status == 0, run.stderr
    # The calls are for three batches, and for the end of an epoch, where the first step of the next
    # epoch begins.
    assert ast.literal_eval(run.stdout.splitlines()[0]) == [("sl_hook_step", 0)] * (3 + 1 + 2 + 1)
    assert ast.literal_eval(run.stdout.splitlines()[1]) == [("sl_hook_step", 1)] * 3
    assert ast.literal_eval(run.stdout.splitlines()[2]) == [("sl_hook_step", 1)] * 2


def test_a_fork_before_cuda(tmp_path):
    """A child process initialises CUDA and is recorded. The parent does not initialise CUDA and is not
    recorded."""
    code = ("import os, sys, ctypes, syncline\n"
            "print(syncline.status(), flush=True)\npid = os.fork()\n"
            "if pid == 0:\n"
            "    assert ctypes.CDLL('libcuda.so.1').cuInit(0) == 0\n"
            "    print(syncline.status()['state'], flush=True)\n"
            "    again = os.fork()\n"
            "    if again == 0:\n"
            "        print(syncline.status(), syncline.start(), flush=True)\n"
            "        os._exit(0)\n"
            "    os.waitpid(again, 0)\n    os._exit(0)\n"
            "os.waitpid(pid, 0)\nprint(syncline.status())\n")
    run = harness.run(tmp_path, *RUN, sys.executable, "-c", code, inject=False, log="warn")
    assert (run.stdout, run.stderr) == ("None\narmed\nNone False\nNone\n", "")


@pytest.mark.parametrize("value", ["off", "of"])  # an invalid value counts as 0
def test_syncline_python_off(tmp_path, value):
    code = ("import sys\nprint([name for name in sys.modules if 'syncline' in name],"
            " [path for path in sys.path if 'early' in path])")
    status, out, _ = both(tmp_path, [sys.executable, "-c", code], SYNCLINE_PYTHON=value)
    assert (status, out) == (0, "[] []\n")


@pytest.mark.parametrize("inject", [True, False], ids=["simulated GPU", "no driver"])
@pytest.mark.parametrize("variables", [{}, {"SYNCLINE_ENABLED": "0"}, {"SYNCLINE_PYTHON": "0"},
                                       {"SYNCLINE_WINDOW": "off"}, {"SYNCLINE_HOME": "/nonexistent"},
                                       {"SYNCLINE_HOME": "relative"}],
                         ids=lambda v: next(iter(v), "default"))
def test_import_at_the_top_of_a_script(tmp_path, variables, inject):
    """The package can be imported and called also in a process that is not recorded. It is the last on the path,
    so a package `syncline` of the job comes first."""
    (tmp_path / "script.py").write_text(
        "import syncline, sys\n"
        "with syncline.range('r'):\n    syncline.mark('m')\nsyncline.step()\n"
        "print(sys.path[-1] == syncline.__path__[0].rpartition('/')[0])\n")
    simulated = [harness.SIMGPU, "--build", harness.BUILD] if inject else []
    done = subprocess.run([*map(str, simulated), *RUN, sys.executable, "script.py"], capture_output=True, text=True,
                          env=harness.environment({"SYNCLINE_OUTPUT": str(tmp_path / "out"), **variables}),
                          cwd=tmp_path, check=False)
    assert (done.returncode, done.stdout) == (0, "True\n"), done.stderr


@pytest.mark.parametrize("window, status", [("steps:3", 2), ("off", 0), ("", 0)])
def test_the_window_option_takes_what_the_variable_takes(window, status):
    run = subprocess.run([*RUN, "-w", window, "true"], capture_output=True, text=True, check=False)
    assert run.returncode == status, run.stderr
    assert ("is not valid" in run.stderr) == (status == 2)
