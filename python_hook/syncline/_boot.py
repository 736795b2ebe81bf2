"""Loads the package into a job. The library (collect/python/boot.c) runs this file by its path once
CUDA is initialised; our sitecustomize.py runs it when the interpreter starts.

The import path does not change. The package is called `syncline`, unless the job has a module of
that name: then the package is called `_syncline`. When the interpreter starts, the script's folder
is not on the path yet, so it is unknown whether the job has such a module. Then the package is
always called `_syncline`. `import syncline` finds what the path gives: the job's module, or the
package once more, which shares the same modules (__init__.py).
"""
import importlib.util
import os
import sys

NAME, OTHER_NAME = "syncline", "_syncline"


def _find(name):
    """Where the job would find a module of this name: (is it known, its file)."""
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
    """Chooses the package's name. If the path has no `syncline`, also loads the package as that."""
    if is_early and NAME not in sys.modules:
        return OTHER_NAME
    is_known, file = _find(NAME)
    if not is_known:
        _load(NAME, folder)
    is_free = not is_known or _is_ours(file)
    return NAME if is_free and OTHER_NAME not in sys.modules else OTHER_NAME


def start(is_early=False):
    """Returns why nothing will be hooked, or "" if all is well."""
    if sys.version_info < (3, 9):
        return "Python before 3.9 is not supported: steps are not recorded"
    folder = os.path.dirname(os.path.abspath(__file__))
    name = _choose(folder, is_early)
    if name == OTHER_NAME and name not in sys.modules:
        _load(name, folder)
    return importlib.import_module(name + "._hook").start()
