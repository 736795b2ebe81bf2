"""Loads the package into a job. The library (collect/python/boot.c) runs this file by its path once
CUDA is initialised; our sitecustomize.py runs it when the interpreter starts.

sys.path is not changed. The package is named `syncline`, or `_syncline` if the job has its own
module `syncline`. When the interpreter starts, the script's folder is not on sys.path yet. Because
this file then cannot find out whether the job has a module `syncline`, it names the package
`_syncline`. A later `import syncline` finds the job's module. If the job has none, the import loads
the package again as `syncline`; both names share the same modules (__init__.py).
"""
import importlib.util
import os
import sys

NAME, OTHER_NAME = "syncline", "_syncline"


def _find(name):
    """Looks for the module that the job would import under this name. Returns whether the module
    exists, and its file."""
    if name in sys.modules:
        return True, getattr(sys.modules[name], "__file__", None)
    try:
        spec = importlib.util.find_spec(name)
    except (ImportError, ValueError, AttributeError):
        return True, None
    return spec is not None, spec and spec.origin


def _is_ours(file):
    return file is not None and os.path.exists(os.path.join(os.path.dirname(file), "_hook.py"))


def _load(name, folder):
    """Loads our package under this name."""
    spec = importlib.util.spec_from_file_location(
        name, os.path.join(folder, "__init__.py"), submodule_search_locations=[folder])
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        sys.modules.pop(name, None)
        raise


def _choose(folder, is_early):
    """Chooses the package's name. If the job has no module `syncline`, also loads the package under
    the name `syncline`."""
    if is_early and NAME not in sys.modules:
        return OTHER_NAME
    is_known, file = _find(NAME)
    if not is_known:
        _load(NAME, folder)
    is_free = not is_known or _is_ours(file)
    return NAME if is_free and OTHER_NAME not in sys.modules else OTHER_NAME


def start(is_early=False):
    """Installs the hooks. Returns "", or the reason why they are not installed."""
    if sys.version_info < (3, 9):
        return "Python before 3.9 is not supported: steps are not recorded"
    folder = os.path.dirname(os.path.abspath(__file__))
    name = _choose(folder, is_early)
    if name == OTHER_NAME and name not in sys.modules:
        _load(name, folder)
    return importlib.import_module(name + "._hook").start()
