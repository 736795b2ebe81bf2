"""Python in the process: how syncline's package is imported, and that the job is not affected. If a
test needs PyTorch, it uses a small stand-in for PyTorch; tests/torch uses the real PyTorch."""
import os
import pathlib
import shutil
import subprocess
import sys

import harness
import pytest
from test_python_lines import EVERY_PYTHON, PYTHONS, each_python

HERE = pathlib.Path(__file__).resolve().parent
HOME = harness.LIBRARY.parent / "syncline"

CUDA = """\
import ctypes, sys
cuda = ctypes.CDLL("libcuda.so.1")
assert cuda.cuInit(0) == 0
"""
# The interpreter runs the queued import before the first line of this code.
REPORT = """\
print("torch" in sys.modules, sys.exc_info(), "_hook" in repr(sorted(sys.modules)))
print([p for p in sys.path if "syncline" in p])
"""


def python(tmp: pathlib.Path, code: str, *flags, interpreter=sys.executable, **options):
    script = tmp / "job.py"
    script.write_text(code)
    return harness.run(tmp, interpreter, *flags, script, **options)


pythons = each_python("interpreter")


@pythons
def test_every_python_that_there_is(tmp_path, interpreter):
    code = CUDA + ("import syncline\nprint('syncline._hook' in sys.modules, syncline.status()['state'])\n"
                   "with syncline.range('r'):\n    syncline.step()\n"
                   "syncline.mark('m')\nprint(sys.exc_info())\n")
    run = python(tmp_path, code, interpreter=interpreter, log="debug")
    assert (run.status, run.stdout) == (0, "True armed\n(None, None, None)\n"), run.stderr
    assert not [line for line in run.said() if line.startswith("syncline: Python")], run.stderr
    # Debian's Python has its own sitecustomize.
    told = []
    for prefix in ([], [harness.TOOL, "run"]):
        early = harness.run(tmp_path, *prefix, interpreter, "-c",
                            "import sys; print(bool({'syncline._hook', '_syncline._hook'} & {*sys.modules}), "
                            "getattr(sys.modules.get('sitecustomize'), '__file__', None))", inject=False)
        told.append((early.status, early.stdout.split(), early.stderr))
    (_, (_, own), _), ours = told
    assert ours == (0, ["True", own], "")


WITHOUT_LOCK = {v.split()[0]: path for v, path in EVERY_PYTHON.items() if v not in PYTHONS}


@pytest.mark.parametrize("version", WITHOUT_LOCK)
def test_python_without_a_lock_is_left_alone(tmp_path, version):
    """This Python has no global lock (GIL). syncline records GPU work but does not import its
    package, and logs this at level debug."""
    code = CUDA + ("cuda.cuCtxSynchronize()\nfor _ in range(1000): pass\n"
                   "print([name for name in sys.modules if 'syncline' in name], sys.exc_info())\n")
    for prefix, inject in (([], True), ([harness.TOOL, "run"], False)):
        for log in ("info", "debug"):
            script = tmp_path / "job.py"
            script.write_text(code)
            run = harness.run(tmp_path, *prefix, WITHOUT_LOCK[version], script, inject=inject, log=log)
            assert (run.status, run.stdout) == (0, "[] (None, None, None)\n"), run.stderr
            said = [line for line in run.said() if "Python without the GIL is not supported" in line]
            assert len(said) == (log == "debug"), run.stderr


@pytest.mark.parametrize("flags", [[], ["-I"], ["-S"], ["-E"], ["-I", "-S"]], ids=" ".join)
def test_the_one_variable_is_enough(tmp_path, flags):
    code = CUDA + "import os\nsys.path = [p for p in sys.path]\n" + REPORT
    run = python(tmp_path, code, *flags, log="debug")
    assert run.status == 0, run.stderr
    assert run.stdout == "False (None, None, None) True\n[]\n"
    assert not [line for line in run.said() if line.startswith("syncline: Python")], run.stderr


@pytest.mark.parametrize("value", ["off", "of"])  # an invalid value counts as 0
def test_switched_off(tmp_path, value):
    run = python(tmp_path, CUDA + REPORT, python=value)
    assert run.stdout == "False (None, None, None) False\n[]\n"


def test_an_exception_that_is_being_handled_stays(tmp_path):
    code = ("import ctypes, sys\ntry:\n    1 / 0\nexcept ZeroDivisionError:\n"
            "    ctypes.CDLL('libcuda.so.1').cuInit(0)\n"
            "    print(sys.exc_info()[0].__name__, 'syncline._hook' in sys.modules)\n"
            "print(sys.exc_info(), getattr(sys, 'last_value', None))\n")
    run = python(tmp_path, code, log="warn")
    assert (run.stdout, run.stderr) == ("ZeroDivisionError True\n(None, None, None) None\n", "")


@pytest.mark.parametrize("home", ["nothing", "broken"])
def test_a_package_that_cannot_be_used(tmp_path, home):
    folder = tmp_path / "home" / "python" / "syncline"
    folder.mkdir(parents=True)
    if home == "broken":
        (folder / "_boot.py").write_text("raise SystemError('broken on purpose')\n")
    code = CUDA + "print('goes on', sys.exc_info())\n"
    quiet = python(tmp_path, code, home=str(tmp_path / "home"), log="warn")
    assert (quiet.status, quiet.stdout, quiet.stderr) == (0, "goes on (None, None, None)\n", "")
    run = python(tmp_path, code, home=str(tmp_path / "home"), log="debug")
    said = [line for line in run.said() if "Python: " in line]
    assert len(said) == 1 and ("broken on purpose" if home == "broken" else "not found beside") in said[0]


def test_a_module_of_the_jobs_that_has_the_name(tmp_path):
    """The job has its own module called `syncline`. The job imports its own module, before or after CUDA is
    initialised, also under `syncline run`. Our package has another name."""
    (tmp_path / "syncline.py").write_text("mine = 'the job\\'s own'\n")
    script = tmp_path / "job.py"
    for first, last in (("import syncline\n", ""), ("", "import syncline\n")):
        script.write_text(first + CUDA + last + "print(syncline.mine, '_syncline._hook' in sys.modules)\n")
        for prefix in ([], [harness.TOOL, "run"]):
            run = harness.run(tmp_path, *prefix, sys.executable, script, inject=not prefix)
            assert run.stdout == "the job's own True\n", run.stderr


@pythons
def test_there_is_one_package_whatever_its_name(tmp_path, interpreter):
    """A job without a module called `syncline` runs under `syncline run`. The job can import our
    package, also if the job removed our folder from its path. The job then has the same modules as
    the hooks."""
    code = ("import sys\nprint(sys.path[-1])\n"
            "if sys.argv[1] == 'scrubbed':\n    sys.path.pop()\n    " + "\n    ".join(CUDA.splitlines()) +
            "\nimport syncline, syncline._library\nprint(*('syncline._' + name in sys.modules and\n"
            "      sys.modules['syncline._' + name] is sys.modules['_syncline._' + name]\n"
            "      for name in ('hook', 'library', 'steps')), syncline._library.__name__)\n" + CUDA +
            "import pickle\nsyncline.step()\n"
            "print(syncline.status()['state'], sum('syncline' in type(f).__module__ for f in sys.meta_path),\n"
            "      pickle.loads(pickle.dumps(syncline.range)) is syncline.range)\n")
    script = tmp_path / "job.py"
    script.write_text(code)
    for path in ("whole", "scrubbed"):
        run = harness.run(tmp_path, harness.TOOL, "run", interpreter, script, path, inject=False)
        assert run.stdout == (f"{HOME / 'python'}\nTrue True True _syncline._library\n"
                              "armed 1 True\n"), run.stderr


def test_the_package_is_there_for_an_import(tmp_path):
    run = python(tmp_path, CUDA + "import syncline\nprint(syncline.status()['state'])\n")
    assert run.stdout == "armed\n", run.stderr


def test_without_the_library_calls_do_nothing(tmp_path):
    code = ("import sys\nsys.path.append(sys.argv[1])\nimport syncline\n"
            "syncline.step()\nsyncline.mark('m')\n"
            "@syncline.range('r')\ndef f(x):\n    'doc'\n    return x + 1\n"
            "with syncline.range('\\udc80'):\n    print(f(1), f.__doc__)\n"
            "import copy, pickle\nr = syncline.range('\\udc80')\n"
            "with copy.deepcopy(r), pickle.loads(pickle.dumps(r)):\n    pass\n"
            "class Odd:\n    def __str__(self):\n        raise TypeError('no')\n"
            "syncline.mark(Odd())\nwith syncline.range(Odd()):\n    pass\n"
            "print(syncline.start(), syncline.stop(), syncline.dump(), syncline.status())\n")
    script = tmp_path / "job.py"
    script.write_text(code)
    done = subprocess.run([sys.executable, script, HOME / "python"], capture_output=True, text=True,
                          env=harness.environment(), check=False)
    assert (done.stdout, done.stderr) == ("2 doc\nFalse False False None\n", "")


PAUSES = """
import asyncio, sys
sys.path.append(sys.argv[1])
import syncline
from syncline import _library
def call(what, given):
    print({"sl_hook_range_begin": "in", "sl_hook_range_end": "out"}[what])
    return 1
_library.call = call

@syncline.range("numbers")
def numbers(first):
    try:
        while first < 9:
            first = (yield first) or first + 1
    except KeyError as error:
        print("caught", error)
        yield "more"
    return "end"

async def other():
    print("other")

@syncline.range("wait")
async def wait():
    print("waits")
    await asyncio.sleep(0)
    print("goes on")
    raise ValueError("late")

@syncline.range("items")
async def items():
    yield 1

def whole():
    print("returned", (yield from numbers(7)))

async def main():
    print(await asyncio.gather(wait(), other(), return_exceptions=True), wait.__name__)
    print([item async for item in items()])

print(list(numbers(7)), list(whole()))
g = numbers(1)
print(next(g), g.send(5), g.throw(KeyError("k")))
g.close()
print("---")
asyncio.run(main())
"""


def test_ranges_around_what_pauses(tmp_path):
    """A generator or coroutine has a range. The range covers only its own code; the values that it yields and
    receives are unchanged."""
    script = tmp_path / "job.py"
    script.write_text(PAUSES)
    done = subprocess.run([sys.executable, script, HOME / "python"], capture_output=True, text=True,
                          env=harness.environment(), check=False)
    generators, coroutine = done.stdout.split("---\n")
    assert generators.split("\n") == [
        *["in", "out"] * 3, *["in", "out"] * 3, "returned end", "[7, 8] [7, 8]",
        "in", "out", "in", "out", "in", "caught 'k'", "out", "1 5 more", "in", "out", ""]
    assert coroutine.split("\n") == [
        "in", "waits", "out", "other", "in", "goes on", "out",
        "[ValueError('late'), None] wait", "[1]", ""]
    assert not done.stderr


def test_a_child_of_a_fork_is_passive(tmp_path):
    code = CUDA + ("import os, syncline\npid = os.fork()\n"
                   "if pid == 0:\n    print(syncline.start(), syncline.status(), flush=True)\n"
                   "    os._exit(7)\n"
                   "print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))\n")
    run = python(tmp_path, code)
    assert run.stdout == "False None\n7\n", run.stderr


def test_an_interrupt_in_the_middle_is_the_jobs(tmp_path):
    """A signal handler of the job raises while our package is being imported. The job gets its exception."""
    home = tmp_path / "home" / "python" / "syncline"
    home.mkdir(parents=True)
    (home / "_boot.py").write_text("import os, signal\nos.kill(os.getpid(), signal.SIGINT)\n"
                                   "def start(): return ''\n")
    # Python installs no handler if SIGINT is ignored, as for background jobs of a shell.
    code = ("import signal, sys\nsignal.signal(signal.SIGINT, signal.default_int_handler)\n"
            "try:\n" + "".join("    " + line + "\n" for line in CUDA.splitlines()) +
            "    print('not interrupted')\nexcept KeyboardInterrupt:\n    print('interrupted')\n")
    run = python(tmp_path, code, home=str(tmp_path / "home"))
    assert (run.status, run.stdout) == (0, "interrupted\n"), run.stderr


def harm_file(package: pathlib.Path) -> None:
    (package / "_steps.py").chmod(0o666)


def harm_folder(package: pathlib.Path) -> None:
    package.parent.chmod(0o777)


def harm_owner(package: pathlib.Path) -> None:
    if os.getuid() != 0:
        pytest.skip("only root can give a file to another user")
    os.chown(package / "_boot.py", 12345, 12345)


@pytest.mark.parametrize("harm, words", [(harm_file, "_steps.py can be written by every user"),
                                         (harm_folder, "python can be written by every user"),
                                         (harm_owner, "_boot.py belongs to another user")])
def test_a_package_that_others_can_write_is_not_loaded(tmp_path, harm, words):
    """Other users can write to the package's folder and could put code there. syncline does not
    load the package and prints one line that names the folder. The job continues without the
    hooks."""
    home = tmp_path / "home"
    shutil.copytree(HOME / "python", home / "python", ignore=shutil.ignore_patterns("__pycache__"))
    code = CUDA + "import sys\nprint([name for name in sys.modules if name == 'syncline._hook'])\n"
    assert python(tmp_path, code, home=str(home), log="warn").stdout == "['syncline._hook']\n"
    harm(home / "python" / "syncline")
    run = python(tmp_path, code, home=str(home), log="warn")
    assert (run.status, run.stdout) == (0, "[]\n"), run.stderr
    (said,) = run.said()
    assert "_boot.py is not loaded" in said and words in said and "chmod go-w" in said


def test_a_relative_home_is_not_used(tmp_path):
    """SYNCLINE_HOME is a relative path. syncline does not use it, because a user who can write to
    the working directory of the job could put a package there."""
    shutil.copytree(HOME / "python", tmp_path / "home" / "python")
    code = CUDA + "import sys\nprint([name for name in sys.modules if name == 'syncline._hook'])\n"
    run = python(tmp_path, code, home="home", log="warn")
    assert (run.status, run.stdout) == (0, "[]\n"), run.stderr
    (said,) = run.said()
    assert "SYNCLINE_HOME=home is a relative path" in said


@pytest.mark.parametrize("end", ["raise KeyboardInterrupt", "sys.exit(3)", "raise RuntimeError('x')",
                                 "os.kill(os.getpid(), signal.SIGINT)\ntime.sleep(5)"])
def test_files_are_complete_however_python_ends(tmp_path, end):
    """An uncaught exception, sys.exit() and Ctrl-C end the program as without syncline. The files are complete."""
    code = ("import os, signal, sys, time\nsignal.signal(signal.SIGINT, signal.default_int_handler)\n" + WORK +
            end + "\n")
    bare, run = (python(tmp_path, code, inject=inject) for inject in (False, True))
    assert run.status == bare.status and run.status != 0
    assert len(run.trace().of("gpu_memset")) == 1
    assert not [path for path in run.files("*") if path.suffix == ".part"]


def test_a_thread_initialises_cuda_while_the_main_thread_waits(tmp_path):
    """A thread initialises CUDA while the main thread waits for it. The package is imported later, when the
    main thread continues."""
    code = ("import threading\ndef work():\n" +
            "".join("    " + line + "\n" for line in CUDA.splitlines()) +
            "    print('syncline._hook' in sys.modules)\n"
            "t = threading.Thread(target=work)\nt.start()\nt.join()\n"
            "import sys\nprint('syncline._hook' in sys.modules)\n")
    run = python(tmp_path, code)
    assert run.stdout == "False\nTrue\n", run.stderr


SUB = f"""\
import sys
if sys.version_info >= (3, 13):
    import _interpreters as interpreters
    sub = interpreters.create("legacy")
else:
    import _xxsubinterpreters as interpreters
    sub = interpreters.create(isolated=False)
interpreters.run_string(sub, '''{CUDA}for i in range(1000): pass
print('syncline._hook' in sys.modules)
''')
interpreters.destroy(sub)
for i in range(1000): pass
print('syncline._hook' in sys.modules, sys.version_info >= (3, 12))
"""


@pythons
def test_a_subinterpreter_is_left_alone(tmp_path, interpreter):
    """A sub-interpreter initialises CUDA. The package is imported only into the main interpreter.
    Before 3.12, Python runs the queued import in the interpreter that holds the lock. If this is
    the sub-interpreter, nothing is imported, and a line of level debug reports this."""
    for library in ("CDLL", "PyDLL"):
        run = python(tmp_path, SUB.replace("CDLL", library), interpreter=interpreter, log="debug")
        assert run.status == 0, run.stderr
        in_sub, in_main, asks_main = run.stdout.split()
        assert in_sub == "False"
        assert in_main == ("True" if library == "CDLL" else asks_main)
        said = [line for line in run.said() if "not recorded in sub-interpreters" in line]
        assert len(said) == (in_main == "False"), run.stderr


@pytest.mark.parametrize("own", ["fine", "raises"])
def test_a_sitecustomize_of_the_jobs_own(tmp_path, own):
    """The job has its own sitecustomize and does not use `syncline run`. Python runs the job's
    sitecustomize once, as without syncline."""
    site = tmp_path / "own"
    site.mkdir()
    (site / "sitecustomize.py").write_text("import sys\nprint('own', __file__)\n" + {
        "fine": "value = 1\n", "raises": "raise RuntimeError('own fault')\n"}[own])
    code = CUDA + "print(getattr(sys.modules.get('sitecustomize'), 'value', None))\n"
    script = tmp_path / "job.py"
    script.write_text(code)
    # The simulated GPU is started by a Python script, so the variable is set only for the job.
    command = ["env", f"PYTHONPATH={site}", sys.executable, script]
    runs = [harness.run(tmp_path, *command, inject=inject, log="debug") for inject in (False, True)]
    assert [(run.status, run.stdout) for run in runs] == [
        (0, f"own {site}/sitecustomize.py\n{1 if own == 'fine' else None}\n")] * 2, runs[1].stderr
    its = [[line for line in run.stderr.splitlines() if line not in run.said()] for run in runs]
    assert its[0] == its[1] and ("own fault" in "".join(its[0])) == (own == "raises")
    assert not [line for line in runs[1].said() if line.startswith("syncline: Python")]


WORK = CUDA + """\
context, memory = ctypes.c_void_p(), ctypes.c_uint64()
assert cuda.cuCtxCreate_v2(ctypes.byref(context), 0, 0) == 0
assert cuda.cuMemAlloc_v2(ctypes.byref(memory), ctypes.c_size_t(64)) == 0
def work():
    assert cuda.cuMemsetD8_v2(memory, 1, ctypes.c_size_t(64)) == 0
    assert cuda.cuCtxSynchronize() == 0
work()
"""


def both(tmp: pathlib.Path, code: str, **options) -> harness.Run:
    """Runs the code with and without syncline. Both runs end the same way, and the trace has the two memsets
    of work()."""
    bare, run = (python(tmp, code, inject=inject, **options) for inject in (False, True))
    assert bare.status == 0 and bare.stderr == "", bare.stderr
    assert (run.status, run.stdout) == (bare.status, bare.stdout), run.stderr
    assert [line for line in run.stderr.splitlines() if line not in run.said()] == []
    assert len(run.trace().of("gpu_memset")) == 2
    return run


def test_pytorch_is_absent(tmp_path):
    """PyTorch is not installed. syncline records everything else, and prints no warning."""
    run = both(tmp_path, WORK + "try:\n    import torch\nexcept ImportError as error:\n"
                                "    print(error)\nwork()\n")
    assert run.stdout == "No module named 'torch'\n"
    assert [line.split()[1] for line in run.said()] == ["recording", "wrote"]


# The parts of PyTorch that syncline uses in every version, and the parts that it calls if there is no
# observer.
TORCH = {
    "__init__.py": """\
import ctypes, os
ctypes.CDLL(os.path.join(os.path.dirname(__file__), "lib", "libtorch_cpu.so"), mode=os.RTLD_GLOBAL)
from .version import __version__
import torch.autograd.profiler, torch.nn.modules.module, torch.optim.optimizer
""",
    "autograd/__init__.py": """\
is_on = False
def _enable_profiler(config, activities):
    global is_on
    is_on = True
def _disable_profiler():
    global is_on
    is_on = False
def _profiler_enabled():
    return is_on
""",
    "autograd/profiler.py": """\
class ProfilerConfig:
    def __init__(self, *facts): pass
class ProfilerState: NVTX = 1
class _ExperimentalConfig: pass
class profile:
    def _prepare_trace(self): pass
def _run_on_profiler_stop(): pass
""",
    "nn/__init__.py": "", "nn/modules/__init__.py": "", "nn/modules/module.py": "",
    "optim/__init__.py": "",
    "optim/optimizer.py": "def register_optimizer_step_post_hook(hook): pass\n",
}


def build_torch(folder: pathlib.Path, version: str) -> None:
    """Builds a stand-in for PyTorch that claims this version and has an empty libtorch_cpu."""
    for name, text in {**TORCH, "version.py": f"__version__ = '{version}'\n"}.items():
        path = folder / "torch" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (folder / "torch" / "lib").mkdir()
    library = folder / "torch" / "lib" / "libtorch_cpu.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-x", "c", "-Wl,-soname,libtorch_cpu.so", "-o", library,
                    "/dev/null"], check=True)


@pytest.mark.parametrize("version", ["1.13.1+cu117", "2.3.1", "2.99.0+cu140", "3.0.0a0+git1234567"])
@pytest.mark.parametrize("order", ["before", "after"])
def test_a_pytorch_too_old_or_too_new_for_an_observer(tmp_path, version, order):
    """There is no observer for this version of PyTorch. One line reports that the observer is
    missing and that operators are recorded by NVTX ranges instead. PyTorch is imported before or
    after CUDA is initialised."""
    build_torch(tmp_path / "site", version)
    load = f"import sys\nsys.path.append({str(tmp_path / 'site')!r})\nimport torch\n"
    wait = ("import os, time\ndeadline = time.time() + 60\n"
            "while 'CUDA_INJECTION64_PATH' in os.environ and not torch.autograd.is_on:\n"
            "    time.sleep(0.01)\n    assert time.time() < deadline\n")
    run = both(tmp_path, (load + WORK if order == "before" else WORK + load) + wait +
               "print(torch.__version__)\nwork()\n")
    assert run.stdout == version + "\n"
    missing = [line for line in run.said() if "no operator observer" in line]
    assert len(missing) == 1 and f" PyTorch {version} " in missing[0], run.stderr
    assert "PyTorch's NVTX ranges" in missing[0]
    assert f"build_observers.sh --out {HOME.resolve()}/observers, or" in missing[0]
    assert sorted(line.split()[1] for line in run.said() if line not in missing) == [
        "recording", "wrote"], run.stderr


def build_slow_observer(home: pathlib.Path) -> None:
    """Makes a SYNCLINE_HOME with a slow observer for PyTorch 2.99."""
    (home / "observers").mkdir(parents=True)
    (home / "python").symlink_to(HOME / "python")
    subprocess.run(["cc", "-shared", "-fPIC", "-I", HERE.parents[1] / "runtime", "-o",
                    home / "observers" / "torch-2.99.so", HERE / "programs" / "slow_observer.c"],
                   check=True)


@pytest.mark.parametrize("window", ["time:60ms/200ms", "time:100ms/100ms", "demand"])
def test_operators_are_told_all_of_a_window(tmp_path, window):
    """Windows open and close in several modes, and the observer takes long to turn recording on and
    off. Recording is turned on before each window opens and off after the window has closed, and is
    off between windows."""
    build_torch(tmp_path / "site", "2.99.0")
    build_slow_observer(tmp_path / "home")
    run = python(tmp_path, f"import sys\nsys.path.append({str(tmp_path / 'site')!r})\nimport torch\n" +
                 WORK + "import syncline, time\n"
                 "for turn in range(300):\n"
                 "    if turn % 100 == 50:\n        syncline.start()\n"
                 "    if turn % 100 == 90:\n"
                 # (Without this loop, the window could be stopped before the recorder has opened
                 # it.)
                 "        while syncline.status()['state'] != 'recording':\n            time.sleep(0.001)\n"
                 "        syncline.stop()\n"
                 "    work()\n    time.sleep(0.004)\n",
                 home=str(tmp_path / "home"), window=window, lead_in="20ms")
    assert run.status == 0, run.stderr
    told = [(what, int(ns)) for what, ns in map(str.split, run.stdout.splitlines())]
    assert [what for what, _ in told] == [("on", "off")[i % 2] for i in range(len(told))]
    spans = [(on, off) for (_, on), (_, off) in zip(told[::2], told[1::2] + [("off", 1 << 63)])]
    windows = [(int(t.object["syncline"]["opened_ns"]), int(t.object["syncline"]["closed_ns"]))
               for t in run.traces()]
    # The recorder finds PyTorch some time after its import. Windows that open before that time have
    # no operators.
    windows = [times for times in windows if times[0] >= spans[0][0]]
    assert len(windows) >= 2
    for opened, closed in windows:
        assert [span for span in spans if span[0] <= opened and closed <= span[1]], (windows, spans)


def build_embedding(program: pathlib.Path, *options) -> None:
    if not shutil.which("python3-config"):
        pytest.skip("no Python to embed: no python3-config (Debian: python3-dev)")
    flags = subprocess.run(["python3-config", "--includes", "--ldflags", "--embed"],
                           capture_output=True, text=True, check=True).stdout.split()
    built = subprocess.run(["cc", *options, "-I", HERE.parents[1] / "include", "-o", program,
                            HERE / "programs" / "embed.c", *flags, "-ldl"],
                           capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr


def test_a_program_that_embeds_python(tmp_path):
    """A program embeds Python and starts the interpreter before or after CUDA. If the interpreter
    starts after CUDA, the package is imported when the next window opens."""
    program = tmp_path / "embed"
    build_embedding(program)
    for order, hooked in (("before", ["True"]), ("after", ["False", "True"]), ("never", [])):
        folder = tmp_path / order
        folder.mkdir()
        run = harness.run(folder, program, order, window="demand")
        assert run.status == 0, run.stderr
        assert run.stdout == "".join(f"hooked {word}\n" for word in hooked) + "end\n"


def test_one_that_says_it_has_no_lock(tmp_path):
    """The embedded Python claims to be a free-threaded build. The package is not imported, and a debug
    message says why."""
    program = tmp_path / "embed"
    build_embedding(program, "-DFREE_THREADED", "-rdynamic")
    run = harness.run(tmp_path, program, "before", log="debug")
    assert (run.status, run.stdout) == (0, "hooked False\nend\n"), run.stderr
    assert sum("Python without the GIL is not supported" in line for line in run.said()) == 1
