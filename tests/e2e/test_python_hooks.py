"""Tests the Python package together with hooks of other tools, and in interrupted programs. Stand-ins replace
the parts of PyTorch that the package hooks. Runs with each installed version of Python."""
import json
import pathlib
import subprocess

import harness
import pytest
from test_python_lines import each_python

PACKAGE = harness.LIBRARY.parent / "syncline" / "python"

pytestmark = each_python("interpreter")


def told(tmp: pathlib.Path, interpreter, code: str) -> list:
    """Runs the code and returns the list `told` that it filled. The code must print nothing."""
    script = tmp / "job.py"
    script.write_text("import json, sys\nsys.path.append(sys.argv[1])\ntold = []\n" + code +
                      "\nprint(json.dumps(told))\n")
    done = subprocess.run([interpreter, script, PACKAGE], capture_output=True, text=True, cwd=tmp,
                          env=harness.environment(), check=False)
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    return json.loads(done.stdout)


# A loader like the loaders of wrapt and ddtrace. It sets its own methods as attributes of the
# instance, and forwards other attributes to the wrapped loader.
CHAINED = """
import importlib.machinery
from syncline import _imports
class Chained:
    def __init__(self, loader):
        self.loader = loader
        self.create_module, self.exec_module = loader.create_module, self.run
    def run(self, module):
        self.loader.exec_module(module)
        told.append("their hook")
FORWARDS
class Finder:
    @staticmethod
    def find_spec(name, path=None, target=None):
        spec = importlib.machinery.PathFinder.find_spec(name, path, target)
        if name == "waited":
            spec.loader = Chained(spec.loader)
        return spec
sys.meta_path.insert(0, Finder)
_imports.when_imported("waited", lambda module: told.append("ours " + module.value))
import waited
told.append(waited.__loader__.exec_module == waited.__loader__.run)
"""


@pytest.mark.parametrize("forwards", ["", "    def __getattr__(self, name):\n"
                                          "        return getattr(self.loader, name)\n"],
                         ids=["wrapt", "ddtrace"])
def test_a_loader_with_a_hook_of_another_tools(tmp_path, interpreter, forwards):
    (tmp_path / "waited.py").write_text("value = 'whole'\n")
    assert told(tmp_path, interpreter, CHAINED.replace("FORWARDS\n", forwards)) == [
        "their hook", "ours whole", True]


def test_a_loader_that_is_asked_for_two_modules(tmp_path, interpreter):
    """One loader loads two modules. Each is reported under its own name. A module that was only
    searched and not imported is not reported."""
    code = """
import importlib.machinery, importlib.util
from syncline import _imports
class Loader:
    def create_module(self, spec): return None
    def exec_module(self, module): module.value = module.__name__
loader = Loader()
class Finder:
    @staticmethod
    def find_spec(name, path=None, target=None):
        return importlib.machinery.ModuleSpec(name, loader) if name in ("one", "two") else None
sys.meta_path.append(Finder)
for name in ("one", "two"):
    _imports.when_imported(name, lambda module, name=name: told.append((name, module.value)))
importlib.util.find_spec("one")
import two
told.append(sorted(vars(loader)))
import one
told.append(sorted(vars(loader)))
"""
    assert told(tmp_path, interpreter, code) == [["two", "two"], [], ["one", "one"], []]


def test_the_finder_behind_ours_is_asked(tmp_path, interpreter):
    """Our finder calls the finders after it in sys.meta_path, also for the import after which no
    callback waits any more."""
    code = """
import types
from syncline import _imports
class Behind:
    @staticmethod
    def find_spec(name, path=None, target=None):
        told.append(name)
sys.meta_path.insert(0, Behind)
class Spec:
    _initializing = True
late = types.ModuleType("late")
late.__spec__ = Spec()
sys.modules["late"] = late
_imports.when_imported("late", lambda module: told.append("ours"))
Spec._initializing = False
try:
    import nothing_of_this_name
except ImportError:
    pass
"""
    assert told(tmp_path, interpreter, code) == ["ours", "nothing_of_this_name"]


def test_a_module_that_another_thread_finds(tmp_path, interpreter):
    """While the hook checks which callbacks wait, another thread imports a module for which a callback waits."""
    code = """
from syncline import _imports
class Name(str):
    def __hash__(self):
        _imports._waiting.pop("other", None)
        return str.__hash__(self)
_imports.when_imported("first", None)
_imports._waiting[Name("second")] = []
_imports._waiting["other"] = []
_imports._waiting["last"] = []
told.append(_imports._finder.find_spec("nothing"))
"""
    assert told(tmp_path, interpreter, code) == [None]


# A stand-in that calls a module's hooks as PyTorch does. After a KeyboardInterrupt no hooks run,
# not even hooks that were registered with always_call.
MODULES = """
import gc, weakref
from syncline import _library, _modules
def call(what, name=b"."):
    told.append({"sl_range_push": name.decode().replace("nn.Module: ", ""), "sl_range_pop": "."}[what])
_library.call = call
class torch:
    before, after = [], []
    register_module_forward_pre_hook = before.append
    @staticmethod
    def register_module_forward_hook(hook, always_call):
        torch.after.append(hook)
class Module:
    def __init__(self, **parts):
        self.parts = parts
    def named_modules(self, path=""):
        yield path, self
        for name, part in self.parts.items():
            yield from part.named_modules(f"{path}.{name}".strip("."))
    def __call__(self, value):
        for hook in torch.before: hook(self, (value,))
        try:
            result = self.forward(value)
            for hook in torch.after: hook(self, (value,), result)
            return result
        except Exception:
            for hook in torch.after: hook(self, (value,), None)
            raise
    def forward(self, value):
        for part in self.parts.values(): value = part(value)
        return value
class Leaf(Module):
    def forward(self, value):
        if isinstance(value, type): raise value("in the middle")
        return value
class Deep(Module):
    def forward(self, value):
        return self.parts["leaf"](value if value else self(value + 1))
_modules._attach(torch)
def attempt(model, value):
    try:
        model(value)
    except BaseException as error:
        told.append(type(error).__name__)
"""


def test_a_forward_pass_that_is_interrupted(tmp_path, interpreter):
    """An exception interrupts a forward pass. Its open ranges are closed when the next, unrelated pass
    begins, and the model is not kept alive."""
    code = MODULES + """
model = Module(a=Module(leaf=Leaf()))
attempt(model, ValueError)
attempt(model, KeyboardInterrupt)
model(0)
attempt(model, SystemExit)
other = Module(leaf=Leaf())
other(0)
attempt(model, KeyboardInterrupt)
gone = weakref.ref(model)
del model
gc.collect()
told.append(gone() is None)
other(0)
"""
    one = ["Module", "a (Module)", "a.leaf (Leaf)"]
    two = ["Module", "leaf (Leaf)"]
    assert told(tmp_path, interpreter, code) == [
        *one, ".", ".", ".", "ValueError",
        *one, "KeyboardInterrupt", ".", ".", ".", *one, ".", ".", ".",
        *one, "SystemExit", ".", ".", ".", *two, ".", ".",
        *one, "KeyboardInterrupt", True, ".", ".", ".", *two, ".", "."]


def test_a_module_that_calls_itself_and_strangers(tmp_path, interpreter):
    code = MODULES + """
deep = Deep(leaf=Leaf())
deep(0)
class Calls(Module):
    def forward(self, value):
        return Leaf()(value)
Calls()(0)
"""
    assert told(tmp_path, interpreter, code) == [
        "Deep", "Deep", "leaf (Leaf)", ".", ".", "leaf (Leaf)", ".", ".", "Calls", "Leaf", ".", "."]


def test_a_module_whose_class_has_no_name(tmp_path, interpreter):
    """Reading the class's name raises an exception. The forward pass continues, and its range has a
    substitute name."""
    code = MODULES + """
class Nameless(type):
    @property
    def __name__(cls):
        raise RuntimeError("it has none")
class Odd(Leaf, metaclass=Nameless):
    pass
model = Module(odd=Odd())
told.append(model(7))
told.append(Odd()(8))
"""
    assert told(tmp_path, interpreter, code) == ["Module", "nn.Module", ".", ".", 7, "nn.Module", ".", 8]


def test_what_raises_in_ours_is_not_the_jobs(tmp_path, interpreter):
    """Errors in the package do not reach the job. In this test ctypes refuses a call of the
    library, and the package's profiler raises an error when it ends."""
    code = """
import os
import syncline
from syncline import _library, _strings
os.environ["SYNCLINE_LOG"] = "off"
def refuse(*args):
    raise RuntimeError("not this time")
_library._found["sl_step"] = _library._found["sl_hook_range_begin"] = _library._found["sl_start"] = refuse
syncline.step()
with syncline.range("forward"):
    told.append(syncline.start())
_strings._end, _strings._mine.is_on = refuse, True
told.append(_strings._beginning(lambda: "theirs begins")())
"""
    assert told(tmp_path, interpreter, code) == [False, "theirs begins"]


def test_groups_are_told_of_once(tmp_path, interpreter):
    """A job has many process groups. Each group is reported once, not again with each new group. A new group
    is reported even if it has the address of a deleted one."""
    code = """
import types
from syncline import _distributed, _library
sys.modules["torch"] = types.ModuleType("torch")
def call(what, text):
    told.append([group["pg_name"] for group in json.loads(text)["pg_config"]])
_library.call = call
class Group:
    def size(self): return 8192
    def rank(self): return 0
class world:
    default_pg, group_count = None, 0
    pg_map, pg_names, pg_group_ranks, pg_backend_config = {}, {}, {}, {}
class c10d:
    _world = world
    @staticmethod
    def _update_default_pg(group):
        world.default_pg = group
    @staticmethod
    def _new_group_with_tag(name, is_ours=True):
        if is_ours:
            add(name)
def add(name):
    group = Group()
    world.pg_map[group], world.pg_names[group] = ("nccl", None), name
    world.pg_group_ranks[group] = [0]
    return group
def end():
    world.pg_map.clear()
    world.pg_names.clear()
    c10d._update_default_pg(None)
_distributed._attach(c10d)
for _ in range(2):
    c10d._update_default_pg(add("0"))
    c10d._new_group_with_tag("1")
    for _ in range(9):
        c10d._new_group_with_tag("2", is_ours=False)
    gone = list(world.pg_map)[1]
    del world.pg_map[gone], world.pg_names[gone], gone
    c10d._new_group_with_tag("3")
    c10d._new_group_with_tag("4", is_ours=False)
    end()
"""
    assert told(tmp_path, interpreter, code) == [["0"], ["0", "1"], ["0", "3"]] * 2


def test_an_error_does_not_keep_what_it_went_through(tmp_path, interpreter):
    """A cancelled coroutine frees its local variables with its last reference. This test runs with
    a range of syncline, which must not keep the traceback of the exception."""
    code = """
import asyncio, gc, weakref
import syncline
class Tensor: pass
@syncline.range("wait")
async def wait():
    tensor = Tensor()
    refs.append(weakref.ref(tensor))
    await asyncio.sleep(60)
async def main():
    task = asyncio.ensure_future(wait())
    await asyncio.sleep(0)
    task.cancel()
    try:
        await task
    except asyncio.CancelledError:
        told.append("cancelled")
@syncline.range("numbers")
def numbers():
    tensor = Tensor()
    refs.append(weakref.ref(tensor))
    while True:
        try:
            yield
        except KeyError:
            pass
refs = []
gc.disable()
asyncio.run(main())
its = numbers()
next(its)
its.throw(KeyError())
del its
told.extend(ref() is None for ref in refs)
"""
    assert told(tmp_path, interpreter, code) == ["cancelled", True, True]


def test_a_generator_that_is_awaited(tmp_path, interpreter):
    code = """
import asyncio, types
import syncline
@syncline.range("old")
@types.coroutine
def old(value):
    yield
    return value
async def main():
    told.append(await old(7))
asyncio.run(main())
told.append(list(old(8)))
"""
    assert told(tmp_path, interpreter, code) == [7, [None]]


LOOKS = """
import ctypes, sys, time
sys.path.append(sys.argv[1])
import syncline
from syncline import _library
looks, original = 0, _library._open
def look():
    global looks
    looks += 1
    original()
_library._open = look
began = time.monotonic_ns()
for _ in range(2000):
    syncline.step()
    syncline.mark("m")
    with syncline.range("r"):
        pass
print(1 <= looks <= 1 + (time.monotonic_ns() - began) // _library._PATIENCE_NS)
looks = 0
syncline.start(), syncline.status()
print(looks)
"""


def test_without_the_library_calls_hardly_look_for_it(tmp_path, interpreter):
    """If the library is not loaded, functions that programs call often stop searching for it after
    a few calls. Other functions search at each call."""
    script = tmp_path / "job.py"
    script.write_text(LOOKS)
    done = subprocess.run([interpreter, script, harness.REPO / "python_hook"], capture_output=True, text=True,
                          env=harness.environment(), check=False)
    assert (done.stdout, done.stderr) == ("True\n2\n", "")
