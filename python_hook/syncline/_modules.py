"""Records each forward pass of a module as a range (SYNCLINE_MODULES=1). The range of a submodule
is named by the path of the submodule in the outermost module, such as `layers.0.linear`. In this
file a submodule is called a part. Uses PyTorch's global hooks, on the threads that run the
modules."""
import os
import sys
import threading
import weakref

from . import _library

# After this many listings in which a module was not found among the parts, the parts are not listed
# again.
_MISSES = 16


class _Names:
    """The names of the parts of an outermost module. A part is looked up by its id() while it
    exists, because modules may define __eq__ and __hash__ in their own way."""

    def __init__(self, root):
        self._known = {}  # id -> weak reference to the part, and the name of its range
        self._misses = 0
        self._list(root)

    def _list(self, root):
        try:
            for path, part in root.named_modules():
                self._add(part, path)
        except Exception:  # the program may override named_modules()
            pass

    def _add(self, part, path):
        key = id(part)
        kind = type(part).__name__
        text = f"nn.Module: {path} ({kind})" if path else f"nn.Module: {kind}"
        part = weakref.ref(part, lambda _: self._known.pop(key, None))
        self._known[key] = part, text.encode("utf-8", "replace")

    def has(self, part):
        return id(part) in self._known

    def of(self, part, root):
        """Returns the name of a part. Lists the parts again if this part is new, because the
        program may add parts at any time."""
        if not self.has(part) and self._misses < _MISSES:
            self._list(root)
            self._misses += not self.has(part)
        if not self.has(part):
            self._add(part, "")
        return self._known[id(part)][1]


class _Running(threading.local):
    def __init__(self):
        self.depth = 0
        # weak reference to the outermost module that is running, and the names of its parts
        self.root, self.names = lambda: None, None


_running = _Running()
_names = {}  # id of an outermost module -> weak reference to it, and its names


def _name_of(part):
    """Returns the name of a part of the running outermost module. Errors are caught, because
    listing the parts may run code of the program."""
    try:
        return _running.names.of(part, _running.root())
    except Exception:  # noqa: BLE001 - no error of this file may reach the job
        return b"nn.Module"


def _names_under(root):
    key = id(root)
    if key not in _names:
        _names[key] = weakref.ref(root, lambda _: _names.pop(key, None)), _Names(root)
    return _names[key][1]


def _is_inside(root, frame):
    """Returns whether this frame is inside a call of `root`. A call of `root` has a frame of the
    same PyTorch function whose `self` is `root`."""
    code = frame.f_code
    while frame.f_back is not None:
        frame = frame.f_back
        if frame.f_code is code and frame.f_locals.get("self") is root:
            return True
    return False


def _leave_what_was_cut(part, frame):
    """Closes the ranges of a forward pass that ended by KeyboardInterrupt or SystemExit, for which
    PyTorch calls no hook. The interrupted pass is noticed when the next pass begins. A pass is a
    new pass if it begins outside of every call of the outermost module (because modules may call
    themselves and each other), and if its module is the outermost module or is not one of its
    parts."""
    root = _running.root()
    if root is not None and (part is not root and _running.names.has(part) or
                             _is_inside(root, frame)):
        return
    for _ in range(_running.depth):
        _library.call("sl_range_pop")
    _running.depth = 0


def _attach(module):
    compiler = getattr(getattr(module, "torch", None), "compiler", None)
    is_compiling = getattr(compiler, "is_compiling", lambda: False)

    def before(part, args):
        if is_compiling():
            return
        if _running.depth:
            _leave_what_was_cut(part, sys._getframe(1))
        if _running.depth == 0:
            _running.root, _running.names = weakref.ref(part), _names_under(part)
        _running.depth += 1
        _library.call("sl_range_push", _name_of(part))

    def after(part, args, output):
        if is_compiling() or _running.depth == 0:
            return
        _running.depth -= 1
        _library.call("sl_range_pop")

    module.register_module_forward_pre_hook(before)
    module.register_module_forward_hook(after, always_call=True)


_is_wanted = os.environ.get("SYNCLINE_MODULES", "").lower() in ("1", "on", "yes", "true")
HOOKS = {"torch.nn.modules.module": _attach} if _is_wanted else {}
