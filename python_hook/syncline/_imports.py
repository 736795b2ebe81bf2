"""Calls a function when the program has imported a module, or at once if the module is already
imported.

This file puts one finder in front of sys.meta_path. For an awaited module, the finder gets a loader
from the other finders. The finder changes that loader so that the loader calls us after the
module's code has run. Loaders of other modules are unchanged. The finder is never removed, because
importlib iterates over sys.meta_path and would skip the entry after a removed one.
"""
import contextlib
import sys

_waiting = {}  # name -> functions


def _is_whole(module):
    """Returns whether the module's code has run to its end."""
    return not getattr(getattr(module, "__spec__", None), "_initializing", False)


def when_imported(name, function):
    """Calls function(module) now if the module is imported. Otherwise calls it after the import, on
    the importing thread. The function must not raise."""
    module = sys.modules.get(name)
    if module is not None and _is_whole(module):
        function(module)
        return
    _waiting.setdefault(name, []).append(function)
    if _finder not in sys.meta_path:
        sys.meta_path.insert(0, _finder)


def _tell(name, module):
    for function in _waiting.pop(name, ()):
        function(module)


def _look_for_whole():
    """Calls the functions for modules that were still being imported when when_imported() was called."""
    for name in list(_waiting):
        module = sys.modules.get(name)
        if module is not None and _is_whole(module):
            _tell(name, module)


def _watch(loader, name):
    """Makes `loader` call us once its module's code has run. Two sorts of loaders are left
    unchanged: a class, which serves all modules of its kind, and a loader on which no attribute can
    be set. Modules of such loaders are noticed at a later import. If the loader object already has
    its own exec_module, that may be the hook of another tool (such as wrapt). So our hook calls the
    other exec_module and then restores it."""
    run = getattr(loader, "exec_module", None)
    own = getattr(loader, "__dict__", None)
    if run is None or own is None or isinstance(loader, type):
        return
    is_own = "exec_module" in own

    def exec_module(module):
        with contextlib.suppress(AttributeError, TypeError):
            if is_own:
                loader.exec_module = run
            else:
                del loader.exec_module
        run(module)
        if getattr(module, "__name__", None) == name:  # one loader may serve several modules
            _tell(name, module)

    with contextlib.suppress(AttributeError, TypeError):
        loader.exec_module = exec_module


class _Finder:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name not in _waiting:
            # a copy, because other threads import, too
            if any(waited in sys.modules for waited in tuple(_waiting)):
                _look_for_whole()
            return None
        for finder in sys.meta_path:
            ask = None if finder is _finder else getattr(finder, "find_spec", None)
            spec = ask(name, path, target) if ask else None
            if spec is not None:
                _watch(spec.loader, name)
                return spec
        return None


_finder = _Finder()
