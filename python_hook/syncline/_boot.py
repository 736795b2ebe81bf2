"""How the package gets into a job. Executed by path, from the library (collect/python/boot.c) once
CUDA is initialised, or from our sitecustomize.py at the interpreter's start.

The import path stays as it is. The package is called `syncline`, unless the job has a module of that
name: then ours gets another. At the interpreter's start nobody knows yet (the script's folder is not
on the path), so there it gets the other name, and who imports `syncline` has what the path gives: the
job's module, or the package once more, with the same parts behind it (__init__.py).
"""
import importlib.util
import os
import sys

NAME, OTHER_NAME = "syncline", "_syncline"


def _find(name):
    """Where the job would find this name: (known, file of it)."""
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
    """Ours, under this name."""
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
    """The name that ours has. Where the path has no `syncline` at all there is one from now on."""
    if is_early and NAME not in sys.modules:
        return OTHER_NAME
    is_known, file = _find(NAME)
    if not is_known:
        _load(NAME, folder)
    is_free = not is_known or _is_ours(file)
    return NAME if is_free and OTHER_NAME not in sys.modules else OTHER_NAME


def start(is_early=False):
    """Why nothing will be hooked; "" if all is well."""
    if sys.version_info < (3, 9):
        return "Python before 3.9 is left alone: no steps"
    folder = os.path.dirname(os.path.abspath(__file__))
    name = _choose(folder, is_early)
    if name == OTHER_NAME and name not in sys.modules:
        _load(name, folder)
    return importlib.import_module(name + "._hook").start()
