"""Calls a function when the program has imported a module, or at once if the module is already
imported.

This file puts one finder in front of sys.meta_path. If a function waits for a module, our finder
gets the module's loader from the other finders. It changes the loader so that the loader calls our
function after the module's code has run. Loaders of other modules are unchanged. The finder is
never removed, because importlib iterates over sys.meta_path and would skip the entry after a
removed one.
"""
import contextlib
import sys

_waiting = {}  # name of a module -> the functions to call after its import


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
    """Changes `loader` so that it calls our function once its module's code has run. Two sorts of
    loaders stay unchanged: a class, which is the loader of all modules of its kind, and an object
    on which no attribute can be set. The import of a module with such a loader is noticed at the
    next import of another module. If the loader object already has an attribute exec_module,
    another tool (such as wrapt) may have set it. So our hook calls that exec_module and then
    restores the attribute."""
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
        if getattr(module, "__name__", None) == name:  # one loader may load several modules
            _tell(name, module)

    with contextlib.suppress(AttributeError, TypeError):
        loader.exec_module = exec_module


class _Finder:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name not in _waiting:
            # tuple() makes a copy, because other threads may import at the same time
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
