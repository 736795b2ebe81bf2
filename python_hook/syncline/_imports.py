"""Who waits for a module: called when the program has imported it, or at once if it has already.

One finder stands in front of the others from then on. For exactly the names that are waited for it
asks the others, and has the loader that they give call us after the module's code has run. The loader
stays what it was in all other respects. (The finder stays, too: importlib walks along sys.meta_path
as it is, and would pass over the one behind it.)
"""
import contextlib
import sys

_waiting = {}  # name -> functions


def _is_whole(module):
    """Not in the middle of its own import."""
    return not getattr(getattr(module, "__spec__", None), "_initializing", False)


def when_imported(name, function):
    """Calls function(module), now or later, on the thread that imports it. It must not raise."""
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
    """Those that were in the middle of their import when they were asked for."""
    for name in list(_waiting):
        module = sys.modules.get(name)
        if module is not None and _is_whole(module):
            _tell(name, module)


def _watch(loader, name):
    """Has `loader` call us once its module's code has run. One that is a class serves all modules of
    its kind, and is left alone; so is one that takes no attributes. What they load is seen at a later
    import. What it has of its own, and not from its class, may be another tool's hook (wrapt's)."""
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
            if any(waited in sys.modules for waited in tuple(_waiting)):  # other threads import, too
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
