"""Installs the hooks in a job. The hooks have several parts. Each part waits until the job imports
a certain module of PyTorch, and then hooks into that module. Nothing here imports PyTorch, and the
parts do not depend on each other. If this PyTorch lacks something that a part needs, the part logs
one line, and the job continues without that part."""
import atexit
import os
import sys
import time

from . import (_children, _distributed, _imports, _inductor, _library, _modules, _profiler, _say,
               _steps, _strings)

# modules that every version of `import torch` loads
_ALWAYS = ("torch.autograd.profiler", "torch.nn.modules.module", "torch.optim.optimizer")

# longest wait for the files of an interrupted job, in seconds
_FILES_S = 2

_is_started = False


def _attach(what, attach):
    """Returns a function that calls `attach` and reports an exception instead of raising it."""
    def attached(module):
        try:
            attach(module)
        except Exception as error:  # noqa: BLE001 - no error of this file may reach the job
            _say.miss(what, error)

    return attached


def _check(torch):
    missing = [name for name in _ALWAYS if name not in sys.modules]
    if missing:
        _say.miss("steps and operators", "it lacks " + ", ".join(missing))


def _complete_if_interrupted():
    """Completes the open window's files if the program ends by an uncaught KeyboardInterrupt. Python
    then ends itself by SIGINT, so the library's own exit handler does not run."""
    kind = getattr(sys, "last_type", None)
    if not isinstance(kind, type) or not issubclass(kind, KeyboardInterrupt):
        return
    before = _library.status()
    if before is None or _library.call("sl_stop") != 0:
        return
    deadline = time.monotonic() + _FILES_S
    while time.monotonic() < deadline:
        now = _library.status()
        if now is None or now.windows_completed > before.windows_completed:
            return
        time.sleep(0.01)


def start():
    """Installs the hooks. Returns "", or the reason why nothing is hooked. The function may be
    called again in a forked child, which keeps its parent's hooks, and after the library has found
    PyTorch."""
    global _is_started
    if os.environ.get("SYNCLINE_PYTHON", "").lower() not in ("", "1", "on", "yes", "true"):
        return "switched off by SYNCLINE_PYTHON"
    _children.watch()
    if _is_started:
        _attach("steps and operators", lambda _: _library.look())(None)
        _attach("operators", lambda _: _strings.look())(None)
        return ""
    # if the program called the package before the library was loaded, look for the library again
    _attach("steps and operators", lambda _: _library.look())(None)
    _is_started = True
    atexit.register(_attach("files of an interrupted job", lambda _: _complete_if_interrupted()), None)
    os.register_at_fork(after_in_child=_library.look_after_fork)
    for what, hooks in (("steps", _steps.HOOKS), ("the hand-over to torch.profiler", _profiler.HOOKS),
                        ("process groups", _distributed.HOOKS), ("modules", _modules.HOOKS),
                        ("operators", _strings.HOOKS), ("torch.compile graphs", _inductor.HOOKS)):
        for name, attach in hooks.items():
            _imports.when_imported(name, _attach(what, attach))
    _imports.when_imported("torch", _check)
    return ""
