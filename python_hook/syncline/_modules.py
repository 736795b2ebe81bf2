"""Forward passes of modules as ranges (SYNCLINE_MODULES=1), named as the outermost module names its
parts. PyTorch's global hooks; on the threads that run the modules."""
import os
import threading
import weakref

from . import _library


class _Running(threading.local):
    def __init__(self):
        self.depth = 0
        self.names = {}  # id of a module -> the range's name, for the outermost one and its parts


_running = _Running()
_names = weakref.WeakKeyDictionary()  # outermost module -> names


def _name(module, path=""):
    kind = type(module).__name__
    return (f"nn.Module: {path} ({kind})" if path else f"nn.Module: {kind}").encode("utf-8", "replace")


def _names_under(root):
    names = _names.get(root)
    if names is None:
        names = _names[root] = {id(part): _name(part, path) for path, part in root.named_modules()}
    return names


def _attach(module):
    compiler = getattr(getattr(module, "torch", None), "compiler", None)
    is_compiling = getattr(compiler, "is_compiling", lambda: False)

    def before(part, args):
        if is_compiling():
            return
        if _running.depth == 0:
            _running.names = _names_under(part)
        _running.depth += 1
        _library.call("sl_range_push", _running.names.get(id(part)) or _name(part))

    def after(part, args, output):
        if is_compiling() or _running.depth == 0:
            return
        _running.depth -= 1
        _library.call("sl_range_pop")

    module.register_module_forward_pre_hook(before)
    module.register_module_forward_hook(after, always_call=True)


_is_wanted = os.environ.get("SYNCLINE_MODULES", "").lower() in ("1", "on", "yes", "true")
HOOKS = {"torch.nn.modules.module": _attach} if _is_wanted else {}
